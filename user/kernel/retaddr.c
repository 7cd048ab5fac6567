#include "kernel/retaddr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "nfg_abi.h"

struct addr_name {
	uint64_t addr;
	char *name;
	size_t len;
	bool is_told;
};

struct retaddr {
	struct ksym_text *texts; /* by address */
	size_t text_cnt;
	struct addr_name *names;
	size_t name_cnt;
	size_t name_cap;
	struct hash by_addr; /* of names */
	bool is_hidden;
	retaddr_stack stack; /* NULL: there are no stacks but those added */
	void *stack_ctx;
};

int retaddr_new(struct retaddr **out, const struct ksyms *ks)
{
	struct retaddr *ra = calloc(1, sizeof(*ra));

	if (!ra)
		return -ENOMEM;
	if (ks && ksyms_texts(ks, &ra->texts, &ra->text_cnt)) {
		retaddr_free(ra);
		return -ENOMEM;
	}
	ra->is_hidden = ra->text_cnt && !ra->texts[ra->text_cnt - 1].addr;
	if (ra->is_hidden)
		ra->text_cnt = 0;
	*out = ra;
	return 0;
}

bool retaddr_is_hidden(const struct retaddr *ra)
{
	return ra->is_hidden;
}

void retaddr_free(struct retaddr *ra)
{
	if (!ra)
		return;
	for (size_t i = 0; i < ra->name_cnt; i++)
		free(ra->names[i].name);
	free(ra->names);
	hash_release(&ra->by_addr);
	free(ra->texts);
	free(ra);
}

/* NULL: there is none */
static struct addr_name *find(const struct retaddr *ra, uint64_t addr)
{
	for (uint32_t at = 0, item; hash_next(&ra->by_addr, hash_u64(addr), &at, &item);) {
		if (ra->names[item].addr == addr)
			return &ra->names[item];
	}
	return NULL;
}

/* NULL: no memory */
static struct addr_name *add(struct retaddr *ra, uint64_t addr, struct text name)
{
	struct addr_name *added;
	char *copy = strndup(name.ptr, name.len);

	if (!copy || VEC_RESERVE(ra->names, ra->name_cap, ra->name_cnt + 1) ||
	    hash_add(&ra->by_addr, hash_u64(addr), (uint32_t)ra->name_cnt)) {
		free(copy);
		return NULL;
	}
	added = &ra->names[ra->name_cnt++];
	*added = (struct addr_name){ .addr = addr, .name = copy, .len = strlen(copy) };
	return added;
}

int retaddr_add(struct retaddr *ra, uint64_t addr, struct text name)
{
	if (!addr || find(ra, addr))
		return 0;
	return add(ra, addr, name) ? 0 : -ENOMEM;
}

/*
 * The last function that begins at or before @addr; text_cnt when there is none. Of several names at one
 * place the first one, as the kernel does (get_symbol_pos).
 */
static size_t text_before(const struct retaddr *ra, uint64_t addr)
{
	size_t low = 0;
	size_t high = ra->text_cnt;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (ra->texts[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	while (low > 1 && ra->texts[low - 2].addr == ra->texts[low - 1].addr)
		low--;
	return low ? low - 1 : ra->text_cnt;
}

static bool is_of_same(const struct ksym_text *a, const struct ksym_text *b)
{
	return !a->module || !b->module ? a->module == b->module : !strcmp(a->module, b->module);
}

/*
 * Where the function ends: where the next one begins, which may have several names at one place. The last function of
 * the kernel or of a module is assumed to end with its page.
 */
static uint64_t end_of(const struct retaddr *ra, size_t idx)
{
	const struct ksym_text *text = &ra->texts[idx];
	uint64_t page_end = (text->addr | 4095) + 1;

	while (idx < ra->text_cnt && ra->texts[idx].addr == text->addr)
		idx++;
	return idx < ra->text_cnt && is_of_same(text, &ra->texts[idx]) ? ra->texts[idx].addr
								       : page_end;
}

static void write_name(const struct retaddr *ra, uint64_t addr, char *buf, size_t cap)
{
	size_t idx = text_before(ra, addr);
	const struct ksym_text *text;

	if (idx == ra->text_cnt || addr >= end_of(ra, idx)) {
		snprintf(buf, cap, "%s", ra->text_cnt ? "bpf_trampoline" : "?");
		return;
	}
	text = &ra->texts[idx];
	snprintf(buf, cap, "%s+0x%" PRIx64 "/0x%" PRIx64 "%s%s%s", text->name, addr - text->addr,
		 end_of(ra, idx) - text->addr, text->module ? " [" : "",
		 text->module ? text->module : "", text->module ? "]" : "");
}

static bool is_frame(uint64_t addr)
{
	return addr >> 62 == 1;
}

/* The frames of a stack become known together. */
static struct addr_name *get_frame(struct retaddr *ra, uint64_t key)
{
	const uint32_t nr = (uint32_t)(key >> 8);
	uint64_t addrs[NFG_STACK_FRAMES];
	uint32_t cnt = 0;

	if (ra->stack && !find(ra, RETADDR_FRAME(nr, 0)))
		cnt = ra->stack(ra->stack_ctx, nr, addrs);
	for (uint32_t i = 0; i < cnt; i++) {
		char buf[640];

		write_name(ra, addrs[i], buf, sizeof(buf));
		if (!add(ra, RETADDR_FRAME(nr, i), text_from(buf)))
			return NULL;
	}
	return find(ra, key);
}

/* NULL: address 0, which nothing returns to, a frame that there is not, or no memory */
static struct addr_name *get(struct retaddr *ra, uint64_t addr)
{
	struct addr_name *found = find(ra, addr);
	char buf[640];

	if (found || !addr)
		return found;
	if (is_frame(addr))
		return get_frame(ra, addr);
	write_name(ra, addr, buf, sizeof(buf));
	return add(ra, addr, text_from(buf));
}

struct text retaddr_get(struct retaddr *ra, uint64_t addr)
{
	const struct addr_name *found = get(ra, addr);

	return found ? (struct text){ found->name, found->len } : (struct text){ 0 };
}

bool retaddr_get_new(struct retaddr *ra, uint64_t addr, struct text *name)
{
	struct addr_name *found = get(ra, addr);

	*name = (struct text){ 0 };
	if (!found)
		return false;
	*name = (struct text){ found->name, found->len };
	if (found->is_told)
		return false;
	found->is_told = true;
	return true;
}

void retaddr_forget_given(struct retaddr *ra)
{
	for (size_t i = 0; i < ra->name_cnt; i++)
		ra->names[i].is_told = false;
}

void retaddr_follow(struct retaddr *ra, retaddr_stack stack, void *ctx)
{
	ra->stack = stack;
	ra->stack_ctx = ctx;
}

bool retaddr_frame(struct retaddr *ra, uint32_t nr, uint32_t idx, struct text *name)
{
	*name = retaddr_get(ra, RETADDR_FRAME(nr, idx));
	return name->len;
}
