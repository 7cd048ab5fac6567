#include "kernel/retaddr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

struct caller {
	uint64_t addr; /* 0: an empty slot */
	char *name;
	size_t len;
	bool is_told;
};

struct retaddr {
	struct ksym_text *texts; /* by address */
	size_t text_cnt;
	struct caller *slots; /* open addressing */
	size_t slot_cnt;      /* a power of two */
	size_t caller_cnt;
	bool is_hidden;
};

int retaddr_new(struct retaddr **out, const struct ksyms *ks)
{
	struct retaddr *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return -ENOMEM;
	cs->slot_cnt = 8;
	cs->slots = calloc(cs->slot_cnt, sizeof(*cs->slots));
	if (!cs->slots || (ks && ksyms_texts(ks, &cs->texts, &cs->text_cnt))) {
		retaddr_free(cs);
		return -ENOMEM;
	}
	cs->is_hidden = cs->text_cnt && !cs->texts[cs->text_cnt - 1].addr;
	if (cs->is_hidden)
		cs->text_cnt = 0;
	*out = cs;
	return 0;
}

bool retaddr_is_hidden(const struct retaddr *cs)
{
	return cs->is_hidden;
}

void retaddr_free(struct retaddr *cs)
{
	if (!cs)
		return;
	for (size_t i = 0; cs->slots && i < cs->slot_cnt; i++)
		free(cs->slots[i].name);
	free(cs->slots);
	free(cs->texts);
	free(cs);
}

static struct caller *slot_of(struct caller *slots, size_t slot_cnt, uint64_t addr)
{
	size_t idx = hash_u64(addr) & (slot_cnt - 1);

	while (slots[idx].addr && slots[idx].addr != addr)
		idx = (idx + 1) & (slot_cnt - 1);
	return &slots[idx];
}

static int grow(struct retaddr *cs)
{
	size_t slot_cnt = cs->slot_cnt * 2;
	struct caller *slots = calloc(slot_cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < cs->slot_cnt; i++) {
		if (cs->slots[i].addr)
			*slot_of(slots, slot_cnt, cs->slots[i].addr) = cs->slots[i];
	}
	free(cs->slots);
	cs->slots = slots;
	cs->slot_cnt = slot_cnt;
	return 0;
}

int retaddr_add(struct retaddr *cs, uint64_t addr, struct text name)
{
	struct caller *slot;
	char *copy;

	if (!addr || slot_of(cs->slots, cs->slot_cnt, addr)->addr)
		return 0;
	if (cs->caller_cnt * 2 >= cs->slot_cnt && grow(cs))
		return -ENOMEM;
	copy = strndup(name.ptr, name.len);
	if (!copy)
		return -ENOMEM;
	slot = slot_of(cs->slots, cs->slot_cnt, addr);
	*slot = (struct caller){ .addr = addr, .name = copy, .len = strlen(copy) };
	cs->caller_cnt++;
	return 0;
}

/*
 * The last function that begins at or before @addr; text_cnt when there is none. Of several names at one
 * place the first one, as the kernel does (get_symbol_pos).
 */
static size_t text_before(const struct retaddr *cs, uint64_t addr)
{
	size_t low = 0;
	size_t high = cs->text_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (cs->texts[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	while (low > 1 && cs->texts[low - 2].addr == cs->texts[low - 1].addr)
		low--;
	return low ? low - 1 : cs->text_cnt;
}

static bool is_of_same(const struct ksym_text *a, const struct ksym_text *b)
{
	return !a->module || !b->module ? a->module == b->module : !strcmp(a->module, b->module);
}

/*
 * Where the function ends: where the next one begins, which may have several names at one place. The last one
 * of the kernel or of a module is not known to go on behind its page.
 */
static uint64_t end_of(const struct retaddr *cs, size_t idx)
{
	const struct ksym_text *text = &cs->texts[idx];
	uint64_t page_end = (text->addr | 4095) + 1;

	while (idx < cs->text_cnt && cs->texts[idx].addr == text->addr)
		idx++;
	return idx < cs->text_cnt && is_of_same(text, &cs->texts[idx]) ? cs->texts[idx].addr
								       : page_end;
}

static void write_name(const struct retaddr *cs, uint64_t addr, char *buf, size_t cap)
{
	size_t idx = text_before(cs, addr);
	const struct ksym_text *text;

	if (idx == cs->text_cnt || addr >= end_of(cs, idx)) {
		snprintf(buf, cap, "%s", cs->text_cnt ? "bpf_trampoline" : "?");
		return;
	}
	text = &cs->texts[idx];
	snprintf(buf, cap, "%s+0x%" PRIx64 "/0x%" PRIx64 "%s%s%s", text->name, addr - text->addr,
		 end_of(cs, idx) - text->addr, text->module ? " [" : "",
		 text->module ? text->module : "", text->module ? "]" : "");
}

bool retaddr_tell(struct retaddr *cs, uint64_t addr, struct text *name)
{
	struct caller *slot;

	*name = retaddr_get(cs, addr);
	slot = slot_of(cs->slots, cs->slot_cnt, addr);
	if (!slot->addr || slot->is_told)
		return false;
	slot->is_told = true;
	return true;
}

struct text retaddr_get(struct retaddr *cs, uint64_t addr)
{
	const struct caller *slot = slot_of(cs->slots, cs->slot_cnt, addr);
	char buf[640];

	if (!slot->addr) {
		write_name(cs, addr, buf, sizeof(buf));
		if (retaddr_add(cs, addr, (struct text){ buf, strlen(buf) }))
			return (struct text){ 0 };
		slot = slot_of(cs->slots, cs->slot_cnt, addr);
	}
	return (struct text){ slot->name, slot->len };
}

void retaddr_untell(struct retaddr *cs)
{
	for (size_t i = 0; i < cs->slot_cnt; i++)
		cs->slots[i].is_told = false;
}
