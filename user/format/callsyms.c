#include "format/callsyms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define ARENA_BYTES 65536

struct arena {
	struct arena *next;
	size_t used;
	size_t cap;
	char bytes[];
};

/* Bytes that stay until the callsyms go. NULL: no memory */
static char *arena_get(struct callsyms *syms, size_t len)
{
	struct arena *arena = syms->arena;

	len = (len + 7) & ~(size_t)7;
	if (!arena || arena->cap - arena->used < len) {
		size_t cap = len > ARENA_BYTES ? len : ARENA_BYTES;

		arena = malloc(sizeof(*arena) + cap);
		if (!arena)
			return NULL;
		*arena = (struct arena){ .next = syms->arena, .cap = cap };
		syms->arena = arena;
	}
	arena->used += len;
	return arena->bytes + arena->used - len;
}

/*
 * The table is asked for every row that begins a call. With struct hash and hash_bytes, whose seed protects from
 * chosen names, a profile takes a tenth more instructions; here a file with chosen names slows down only its own
 * report.
 */
static uint64_t hash_text(uint64_t hash, struct text text)
{
	const char *p = text.ptr;
	size_t len = text.len;
	uint64_t word;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&word, p, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	word = len;
	for (size_t i = 0; i < len; i++)
		word = word << 8 | (unsigned char)p[i];
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static struct callsym **slot_of(struct callsym **slots, size_t slot_cnt, struct text name,
				struct text module)
{
	uint64_t hash = hash_text(0, name);
	size_t idx = (module.len ? hash_text(hash, module) : hash) & (slot_cnt - 1);

	while (slots[idx] &&
	       (!text_equal(slots[idx]->name, name) || !text_equal(slots[idx]->module, module)))
		idx = (idx + 1) & (slot_cnt - 1);
	return &slots[idx];
}

static int slots_grow(struct callsyms *syms)
{
	size_t cnt = syms->slot_cnt ? syms->slot_cnt * 2 : 256;
	struct callsym **slots = calloc(cnt, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < syms->cnt; i++)
		*slot_of(slots, cnt, syms->items[i]->name, syms->items[i]->module) = syms->items[i];
	free(syms->slots);
	syms->slots = slots;
	syms->slot_cnt = cnt;
	return 0;
}

static const struct callsym *add(struct callsyms *syms, struct text name, struct text module)
{
	struct callsym *sym;
	char *bytes;

	if ((syms->cnt * 2 >= syms->slot_cnt && slots_grow(syms)) ||
	    VEC_RESERVE(syms->items, syms->cap, syms->cnt + 1))
		return NULL;
	bytes = arena_get(syms, sizeof(*sym) + name.len + module.len);
	if (!bytes)
		return NULL;
	sym = (struct callsym *)(void *)bytes;
	bytes += sizeof(*sym);
	sym->name = text_keep(bytes, name);
	sym->module = text_keep(bytes + name.len, module);
	sym->id = (uint32_t)syms->cnt;
	syms->items[syms->cnt++] = sym;
	*slot_of(syms->slots, syms->slot_cnt, name, module) = sym;
	return sym;
}

const struct callsym *callsyms_get(struct callsyms *syms, struct text name, struct text module)
{
	const struct callsym *sym = NULL;

	if (syms->slot_cnt)
		sym = *slot_of(syms->slots, syms->slot_cnt, name, module);
	return sym ? sym : add(syms, name, module);
}

void callsyms_release(struct callsyms *syms)
{
	while (syms->arena) {
		struct arena *arena = syms->arena;

		syms->arena = arena->next;
		free(arena);
	}
	free(syms->items);
	free(syms->slots);
	*syms = (struct callsyms){ 0 };
}
