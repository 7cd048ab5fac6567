/* What the rings may hold, hold and have lost. */
#include "attach/ring_slot.h"

/* All rings together; a 128th of the host's memory if that is more. */
#define TOTAL_MIN_BYTES (64u << 20)
#define TOTAL_MAX_BYTES (1u << 29) /* what a map of all rings can have */
#define MEMORY_SHARE    128
#define RING_MIN_BYTES  (64u << 10)
#define RING_MAX_BYTES  (2u << 20)

uint64_t rings_bytes_default(uint32_t cpu_cnt, uint64_t memory_bytes)
{
	uint64_t total = memory_bytes / MEMORY_SHARE;
	uint64_t bytes;
	uint32_t ring_cnt = 1;

	while (ring_cnt < cpu_cnt)
		ring_cnt *= 2; /* as many are made */
	if (total < TOTAL_MIN_BYTES)
		total = TOTAL_MIN_BYTES;
	if (total > TOTAL_MAX_BYTES)
		total = TOTAL_MAX_BYTES;
	bytes = total / ring_cnt;
	if (bytes < RING_MIN_BYTES)
		return RING_MIN_BYTES;
	return bytes > RING_MAX_BYTES ? RING_MAX_BYTES : bytes;
}

bool rings_is_drained(const struct rings *rs)
{
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		const struct ring_cursor *cur = &rs->cursors[i];

		if (cur->held_cnt || cur->tail != head_of(cur->shared))
			return false;
	}
	return true;
}

unsigned int rings_fill_pct(const struct rings *rs)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		uint64_t used = rs->cursors[i].limit - rs->cursors[i].tail;

		/* looking more often does not empty it */
		if (used > most && !rs->cursors[i].is_behind)
			most = used;
	}
	return (unsigned int)(most * 100 / (rs->mask + 1ull));
}

uint64_t rings_doubt_cnt(const struct rings *rs)
{
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < rs->cpu_cnt; i++)
		cnt += __atomic_load_n(&rs->cursors[i].gaps->doubt_cnt, __ATOMIC_RELAXED);
	return cnt;
}

void rings_lost(const struct rings *rs, struct loss_counts *counts)
{
	uint64_t full_cnt = 0;
	uint64_t depth_cnt = 0;
	uint64_t doubt_cnt = rings_doubt_cnt(rs); /* first: all of it is in the other */

	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		full_cnt += __atomic_load_n(&rs->cursors[i].shared->lost_full, __ATOMIC_RELAXED);
		depth_cnt += __atomic_load_n(&rs->cursors[i].shared->lost_depth, __ATOMIC_RELAXED);
	}
	counts->cnt[LOSS_RING_FULL] = full_cnt - doubt_cnt;
	counts->cnt[LOSS_NESTED_TOO_DEEP] = depth_cnt;
	counts->cnt[LOSS_LATE] = rs->late_cnt;
	counts->cnt[LOSS_TORN] = rs->torn_cnt;
}

void rings_slot_cnts(const struct rings *rs, uint64_t *cnts)
{
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		const struct nfg_cpu *shared = rs->cursors[i].shared;

		cnts[i] = head_of(shared) + __atomic_load_n(&shared->lost_full, __ATOMIC_RELAXED);
	}
}

void rings_mute(struct rings *rs, uint32_t cpu)
{
	rs->cursors[cpu].shared->muted = 1;
}
