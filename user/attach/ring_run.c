#include "attach/ring_run.h"

#include "attach/ring_slot.h"

/* Nothing but the order of the records decides what comes next. */
static bool can_run(const struct ring_cursor *cur)
{
	return !cur->held_cnt && !cur->in_gap && !cur->has_loss && !cur->is_over &&
	       !cur->is_behind && !cur->is_blocked;
}

static bool is_plain(const struct nfg_rec *rec)
{
	return rec->func_id != NFG_FUNC_SWITCH && !(rec->task & NFG_TASK_VALUES);
}

size_t ring_run(struct rings *rs, struct ring_cursor *cur, struct event *events, size_t cap,
		uint64_t until_ns)
{
	struct nfg_rec *const recs = cur->recs;
	const uint64_t limit = cur->limit;
	const uint64_t mask = rs->mask;
	uint64_t tail = cur->tail;
	uint64_t time_ns = cur->next_ns;
	uint64_t next_ns;
	size_t cnt = 0;

	if (!can_run(cur) || tail == limit)
		return 0;
	next_ns = slot_time_ns(rs, cur, tail + 1);
	while (cnt < cap && time_ns <= until_ns && next_ns) {
		struct nfg_rec *rec = &recs[tail & mask];
		uint64_t after_ns = 0;

		/* the next one too: if it has values, the time after it belongs to another slot */
		if (!is_plain(rec) || !is_plain(&recs[(tail + 1) & mask]))
			break;
		if (tail + 2 != limit)
			after_ns = rec_time_ns(&recs[(tail + 2) & mask]);
		if ((after_ns && after_ns < next_ns) || has_gap(cur) || more_cnt(cur))
			break;
		put_event(&events[cnt], cur, rec, time_ns,
			  rec->task & NFG_TASK_EXIT ? EVENT_EXIT : EVENT_ENTRY, 0);
		cnt++;
		__atomic_store_n(&rec->time_ns, 0, __ATOMIC_RELEASE);
		tail++;
		time_ns = next_ns;
		next_ns = after_ns;
	}
	if (cnt)
		rs->last_ns = events[cnt - 1].time_ns;
	cur->tail = tail;
	cur->next_ns = time_ns;
	return cnt;
}
