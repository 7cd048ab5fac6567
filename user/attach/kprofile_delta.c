#include "attach/kprofile_delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "format/hist.h"
#include "nfg_hist.h"

struct told_func {
	struct profile_sums sums; /* without buckets */
	uint64_t buckets[NFG_HIST_CNT];
};

struct told_pair {
	uint32_t key;
	uint64_t call_cnt;
	uint64_t took_ns;
};

struct kprofile_delta {
	struct told_func *funcs;
	struct told_pair *pairs;
	size_t pair_cnt;
	size_t pair_cap;
	struct hash pair_idx;
};

int kprofile_delta_new(struct kprofile_delta **out, uint32_t func_cnt)
{
	struct kprofile_delta *delta = calloc(1, sizeof(*delta));

	if (!delta)
		return -ENOMEM;
	delta->funcs = calloc(func_cnt ? func_cnt : 1, sizeof(*delta->funcs));
	if (!delta->funcs) {
		free(delta);
		return -ENOMEM;
	}
	*out = delta;
	return 0;
}

void kprofile_delta_free(struct kprofile_delta *delta)
{
	if (!delta)
		return;
	free(delta->funcs);
	free(delta->pairs);
	hash_release(&delta->pair_idx);
	free(delta);
}

/* The increase of @now over *told, which becomes @now. Times read while they grow may seem to shrink: then 0. */
static uint64_t advance(uint64_t *told, uint64_t now)
{
	uint64_t more = now > *told ? now - *told : 0;

	*told += more;
	return more;
}

static uint64_t clamp(uint64_t value, uint64_t min, uint64_t max)
{
	return value < min ? min : value > max ? max : value;
}

/* New extremes are exact. Of others it is known which bucket they are in, and that they are within the old ones. */
static void advance_extremes(struct profile_sums *told, struct profile_sums *sums)
{
	const bool is_first = !told->call_cnt;
	const bool is_min = is_first || sums->min_ns < told->min_ns;
	const bool is_max = is_first || sums->max_ns > told->max_ns;
	uint32_t low = 0;
	uint32_t high = sums->bucket_cnt - 1;

	while (low < high && !sums->buckets[low])
		low++;
	while (high > low && !sums->buckets[high])
		high--;
	told->min_ns = is_min ? sums->min_ns : told->min_ns;
	told->max_ns = is_max ? sums->max_ns : told->max_ns;
	if (!is_min)
		sums->min_ns = clamp(hist_middle(low), told->min_ns, told->max_ns);
	if (!is_max)
		sums->max_ns = clamp(hist_middle(high), sums->min_ns, told->max_ns);
}

void kprofile_delta_sums(struct kprofile_delta *delta, uint32_t func_id, struct profile_sums *sums,
			 uint64_t *new_buckets)
{
	struct told_func *func = &delta->funcs[func_id];
	uint64_t call_cnt = 0;

	for (uint32_t i = 0; i < NFG_HIST_CNT; i++) {
		new_buckets[i] = sums->buckets[i] - func->buckets[i];
		func->buckets[i] = sums->buckets[i];
		call_cnt += new_buckets[i];
	}
	sums->call_cnt = call_cnt;
	sums->buckets = new_buckets;
	if (!call_cnt)
		return;
	sums->sum_ns = advance(&func->sums.sum_ns, sums->sum_ns);
	sums->total_ns = advance(&func->sums.total_ns, sums->total_ns);
	sums->self_ns = advance(&func->sums.self_ns, sums->self_ns);
	advance_extremes(&func->sums, sums);
	func->sums.call_cnt += call_cnt;
}

/* NULL: no memory */
static struct told_pair *find_pair(struct kprofile_delta *delta, uint32_t key)
{
	const uint64_t hash = hash_u64(key);

	for (uint32_t at = 0, item; hash_next(&delta->pair_idx, hash, &at, &item);) {
		if (delta->pairs[item].key == key)
			return &delta->pairs[item];
	}
	if (VEC_RESERVE(delta->pairs, delta->pair_cap, delta->pair_cnt + 1) ||
	    hash_add(&delta->pair_idx, hash, (uint32_t)delta->pair_cnt))
		return NULL;
	delta->pairs[delta->pair_cnt] = (struct told_pair){ .key = key };
	return &delta->pairs[delta->pair_cnt++];
}

int kprofile_delta_pair(struct kprofile_delta *delta, uint32_t key, struct nfg_caller_sums *sums)
{
	struct told_pair *pair = find_pair(delta, key);
	uint64_t call_cnt;

	if (!pair)
		return -ENOMEM;
	call_cnt = advance(&pair->call_cnt, sums->call_cnt);
	sums->call_cnt = call_cnt;
	if (call_cnt)
		sums->took_ns = advance(&pair->took_ns, sums->took_ns);
	return 0;
}
