#ifndef NFG_BASE_HASH_H
#define NFG_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * hash_u64 - a number whose every bit depends on all bits of @key and on a per-run seed; so no file can be crafted with
 * keys that collide.
 */
uint64_t hash_u64(uint64_t key);

/* hash_bytes - the same for @len bytes at @bytes; the result also depends on @len. */
uint64_t hash_bytes(const void *bytes, size_t len);

/* Item numbers by the hash of their keys; the owner keeps the items in an array. Zeroed: empty. */
struct hash {
	struct hash_slot {
		uint32_t hash; /* the lower half, which chooses the slot too */
		uint32_t item; /* item number + 1; 0: a free slot, which ends a search */
	} * slots;
	uint32_t slot_cnt; /* 0 or a power of two, at least twice cnt */
	uint32_t cnt;
};

/* hash_reserve - make room for @cnt entries in total; an estimate will do. Return: 0 or -ENOMEM. */
int hash_reserve(struct hash *h, uint32_t cnt);

/* hash_add - add item number @item (< UINT32_MAX). Return: 0 or -ENOMEM. The same key may be added again. */
int hash_add(struct hash *h, uint64_t hash, uint32_t item);

/* hash_remove - remove one entry with that hash and item. Return: whether there was one. */
bool hash_remove(struct hash *h, uint64_t hash, uint32_t item);

/* hash_clear - empty it, keeping its memory. */
void hash_clear(struct hash *h);
void hash_release(struct hash *h);

/*
 * hash_next - iterate over the items with @hash, in the order they were added; the caller compares keys:
 *
 *	for (uint32_t at = 0, item; hash_next(h, hash, &at, &item);)
 *		if (items[item].key == key)
 *			return &items[item];
 */
static inline bool hash_next(const struct hash *h, uint64_t hash, uint32_t *at, uint32_t *item)
{
	while (*at < h->slot_cnt) {
		const struct hash_slot *slot = &h->slots[(hash + *at) & (h->slot_cnt - 1)];

		if (!slot->item)
			return false;
		++*at;
		if (slot->hash == (uint32_t)hash) {
			*item = slot->item - 1;
			return true;
		}
	}
	return false;
}

#endif
