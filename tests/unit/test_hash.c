/* The table of numbers by hash, and growing arrays, against lists searched from end to end. */

#include "base/hash.h"
#include "base/vec.h"
#include "harness.h"

#define KEY_CNT  97
#define STEP_CNT 40000

/* Keys with few different hashes, so that they collide. */
static uint64_t hash_of(uint32_t key)
{
	return (uint64_t)(key % 13) * 0x100000001ull;
}

struct entry {
	uint32_t key, item;
};

static void compare(const struct hash *h, const struct entry *entries, uint32_t cnt, uint32_t key)
{
	uint32_t idx = 0;

	for (uint32_t at = 0, item; hash_next(h, hash_of(key), &at, &item); idx++) {
		while (idx < cnt && hash_of(entries[idx].key) != hash_of(key))
			idx++;
		CHECK(idx < cnt && entries[idx].item == item);
	}
	while (idx < cnt && hash_of(entries[idx].key) != hash_of(key))
		idx++;
	CHECK(idx == cnt);
}

TEST(entries_are_found_in_the_order_they_were_added)
{
	static struct entry entries[512];
	uint32_t cnt = 0, next_item = 0;
	struct hash h = { 0 };

	srandom(1);
	for (int i = 0; i < STEP_CNT; i++) {
		uint32_t key = (uint32_t)random() % KEY_CNT;

		if (cnt < 512 && random() % 512 > cnt) {
			entries[cnt++] = (struct entry){ key, next_item };
			CHECK(!hash_add(&h, hash_of(key), next_item++));
		} else if (cnt) {
			uint32_t gone = (uint32_t)random() % cnt;

			CHECK(hash_remove(&h, hash_of(entries[gone].key), entries[gone].item));
			CHECK(!hash_remove(&h, hash_of(entries[gone].key), entries[gone].item));
			cnt--;
			memmove(&entries[gone], &entries[gone + 1],
				(cnt - gone) * sizeof(*entries));
		}
		CHECK(h.cnt == cnt);
		compare(&h, entries, cnt, key);
	}
	hash_clear(&h);
	compare(&h, entries, 0, 1);
	hash_release(&h);
	compare(&h, entries, 0, 1);
}

TEST(bytes_of_every_length_and_place_have_hashes_of_their_own)
{
	unsigned char bytes[40] = { 0 };
	uint64_t seen[40 * 9];
	size_t cnt = 0;

	for (size_t len = 0; len < sizeof(bytes); len++) {
		seen[cnt++] = hash_bytes(bytes, len);
		for (size_t bit = 0; len && bit < 8; bit++) {
			bytes[len - 1] ^= 1u << bit;
			seen[cnt++] = hash_bytes(bytes, len);
			bytes[len - 1] ^= 1u << bit;
		}
	}
	for (size_t i = 0; i < cnt; i++) {
		for (size_t k = 0; k < i; k++)
			CHECK(seen[i] != seen[k]);
	}
	CHECK(hash_bytes("netfgraph", 9) == hash_bytes("netfgraph.", 9));
}

TEST(an_array_grows_by_doubling_and_keeps_what_it_has)
{
	uint32_t *items = NULL;
	size_t cap = 0, move_cnt = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		size_t before = cap;

		CHECK(!VEC_RESERVE(items, cap, (size_t)i + 1));
		move_cnt += before != cap;
		items[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		CHECK(items[i] == i);
	CHECK(cap == 131072 && move_cnt == 14);
	CHECK(VEC_RESERVE(items, cap, SIZE_MAX / 4) == -ENOMEM);
	CHECK(cap == 131072 && items[99999] == 99999);
	free(items);
}
