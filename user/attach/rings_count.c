/* What the rings hold and have lost. */
#include "attach/ring_slot.h"

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

void rings_lost(const struct rings *rs, struct loss_counts *counts)
{
	uint64_t full_cnt = 0;
	uint64_t depth_cnt = 0;

	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		full_cnt += __atomic_load_n(&rs->cursors[i].shared->lost_full, __ATOMIC_RELAXED);
		depth_cnt += __atomic_load_n(&rs->cursors[i].shared->lost_depth, __ATOMIC_RELAXED);
	}
	counts->cnt[LOSS_RING_FULL] = full_cnt;
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
