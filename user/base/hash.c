#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define SLOT_CNT_MIN 16u
#define SLOT_CNT_MAX (1u << 31)

static uint64_t seed(void)
{
	static uint64_t value;
	const void *bytes;

	if (value)
		return value;
	bytes = (const void *)getauxval(AT_RANDOM); /* 16 random bytes from the kernel */
	if (bytes)
		memcpy(&value, bytes, sizeof(value));
	return value;
}

/* The finalizer of MurmurHash3, with the seed mixed in before and after. */
static uint64_t hash_mix(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

uint64_t hash_u64(uint64_t key)
{
	return hash_mix(hash_mix(key + seed()) ^ seed());
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
	uint64_t hash = hash_mix(seed() ^ len);
	const unsigned char *ptr = bytes;
	uint64_t word = 0;

	for (; len >= sizeof(word); len -= sizeof(word), ptr += sizeof(word)) {
		memcpy(&word, ptr, sizeof(word));
		hash = hash_mix(hash + word);
	}
	word = 0;
	memcpy(&word, ptr, len);
	return hash_mix(hash_mix(hash + word) ^ seed());
}

static void hash_put(struct hash_slot *slots, uint32_t slot_cnt, uint32_t at, struct hash_slot slot)
{
	while (slots[at & (slot_cnt - 1)].item)
		at++;
	slots[at & (slot_cnt - 1)] = slot;
}

/* Moves each run of used slots in order, so that equal keys keep their order. */
static int hash_grow(struct hash *h, uint32_t slot_cnt)
{
	struct hash_slot *slots = calloc(slot_cnt, sizeof(*slots));
	uint32_t first = 0;

	if (!slots)
		return -ENOMEM;
	while (first < h->slot_cnt && h->slots[first].item)
		first++;
	for (uint32_t i = 0; i < h->slot_cnt; i++) {
		const struct hash_slot *slot = &h->slots[(first + i) & (h->slot_cnt - 1)];

		if (slot->item)
			hash_put(slots, slot_cnt, slot->hash, *slot);
	}
	free(h->slots);
	h->slots = slots;
	h->slot_cnt = slot_cnt;
	return 0;
}

int hash_reserve(struct hash *h, uint32_t cnt)
{
	uint32_t slot_cnt = SLOT_CNT_MIN;

	while (slot_cnt / 2 < cnt && slot_cnt < SLOT_CNT_MAX)
		slot_cnt *= 2;
	return slot_cnt > h->slot_cnt ? hash_grow(h, slot_cnt) : 0;
}

int hash_add(struct hash *h, uint64_t hash, uint32_t item)
{
	if (h->cnt >= h->slot_cnt / 2 && hash_grow(h, h->slot_cnt ? h->slot_cnt * 2 : SLOT_CNT_MIN))
		return -ENOMEM;
	hash_put(h->slots, h->slot_cnt, (uint32_t)hash,
		 (struct hash_slot){ .hash = (uint32_t)hash, .item = item + 1 });
	h->cnt++;
	return 0;
}

/* Removed entries leave no tombstone: the entries that follow are inserted again, in order. */
bool hash_remove(struct hash *h, uint64_t hash, uint32_t item)
{
	uint32_t mask = h->slot_cnt - 1, found;
	uint32_t at = 0;

	do {
		if (!hash_next(h, hash, &at, &found))
			return false;
	} while (found != item);
	at = (uint32_t)hash + at - 1;
	h->slots[at & mask].item = 0;
	h->cnt--;
	for (at++; h->slots[at & mask].item; at++) {
		struct hash_slot slot = h->slots[at & mask];

		h->slots[at & mask].item = 0;
		hash_put(h->slots, h->slot_cnt, slot.hash, slot);
	}
	return true;
}

void hash_clear(struct hash *h)
{
	if (h->slots)
		memset(h->slots, 0, h->slot_cnt * sizeof(*h->slots));
	h->cnt = 0;
}

void hash_release(struct hash *h)
{
	free(h->slots);
	*h = (struct hash){ 0 };
}
