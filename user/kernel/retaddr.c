#include "kernel/retaddr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "nfg_abi.h"

struct caller {
	uint64_t addr;
	char *name;
	size_t len;
	bool is_told;
};

struct retaddr {
	struct ksym_text *texts; /* by address */
	size_t text_cnt;
	struct caller *callers;
	size_t caller_cnt;
	size_t caller_cap;
	struct hash by_addr; /* of callers */
	bool is_hidden;
	retaddr_stack stack; /* NULL: there are no stacks but those added */
	void *stack_ctx;
};

int retaddr_new(struct retaddr **out, const struct ksyms *ks)
{
	struct retaddr *cs = calloc(1, sizeof(*cs));

	if (!cs)
		return -ENOMEM;
	if (ks && ksyms_texts(ks, &cs->texts, &cs->text_cnt)) {
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
	for (size_t i = 0; i < cs->caller_cnt; i++)
		free(cs->callers[i].name);
	free(cs->callers);
	hash_release(&cs->by_addr);
	free(cs->texts);
	free(cs);
}

/* NULL: there is none */
static struct caller *find(const struct retaddr *cs, uint64_t addr)
{
	for (uint32_t at = 0, item; hash_next(&cs->by_addr, hash_u64(addr), &at, &item);) {
		if (cs->callers[item].addr == addr)
			return &cs->callers[item];
	}
	return NULL;
}

/* NULL: no memory */
static struct caller *add(struct retaddr *cs, uint64_t addr, struct text name)
{
	struct caller *caller;
	char *copy = strndup(name.ptr, name.len);

	if (!copy || VEC_RESERVE(cs->callers, cs->caller_cap, cs->caller_cnt + 1) ||
	    hash_add(&cs->by_addr, hash_u64(addr), (uint32_t)cs->caller_cnt)) {
		free(copy);
		return NULL;
	}
	caller = &cs->callers[cs->caller_cnt++];
	*caller = (struct caller){ .addr = addr, .name = copy, .len = strlen(copy) };
	return caller;
}

int retaddr_add(struct retaddr *cs, uint64_t addr, struct text name)
{
	if (!addr || find(cs, addr))
		return 0;
	return add(cs, addr, name) ? 0 : -ENOMEM;
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

static bool is_frame(uint64_t addr)
{
	return addr >> 62 == 1;
}

/* The frames of a stack become known together. */
static struct caller *get_frame(struct retaddr *cs, uint64_t key)
{
	const uint32_t nr = (uint32_t)(key >> 8);
	uint64_t addrs[NFG_STACK_FRAMES];
	uint32_t cnt = 0;

	if (cs->stack && !find(cs, RETADDR_FRAME(nr, 0)))
		cnt = cs->stack(cs->stack_ctx, nr, addrs);
	for (uint32_t i = 0; i < cnt; i++) {
		char buf[640];

		write_name(cs, addrs[i], buf, sizeof(buf));
		if (!add(cs, RETADDR_FRAME(nr, i), text_from(buf)))
			return NULL;
	}
	return find(cs, key);
}

/* NULL: address 0, which nothing returns to, a frame that there is not, or no memory */
static struct caller *get(struct retaddr *cs, uint64_t addr)
{
	struct caller *caller = find(cs, addr);
	char buf[640];

	if (caller || !addr)
		return caller;
	if (is_frame(addr))
		return get_frame(cs, addr);
	write_name(cs, addr, buf, sizeof(buf));
	return add(cs, addr, text_from(buf));
}

struct text retaddr_get(struct retaddr *cs, uint64_t addr)
{
	const struct caller *caller = get(cs, addr);

	return caller ? (struct text){ caller->name, caller->len } : (struct text){ 0 };
}

bool retaddr_tell(struct retaddr *cs, uint64_t addr, struct text *name)
{
	struct caller *caller = get(cs, addr);

	*name = (struct text){ 0 };
	if (!caller)
		return false;
	*name = (struct text){ caller->name, caller->len };
	if (caller->is_told)
		return false;
	caller->is_told = true;
	return true;
}

void retaddr_untell(struct retaddr *cs)
{
	for (size_t i = 0; i < cs->caller_cnt; i++)
		cs->callers[i].is_told = false;
}

void retaddr_follow(struct retaddr *cs, retaddr_stack stack, void *ctx)
{
	cs->stack = stack;
	cs->stack_ctx = ctx;
}

bool retaddr_frame(struct retaddr *cs, uint32_t nr, uint32_t idx, struct text *name)
{
	*name = retaddr_get(cs, RETADDR_FRAME(nr, idx));
	return name->len;
}
