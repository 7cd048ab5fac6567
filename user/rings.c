#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The flags that a record has of its packet's tree are those of the event, in its low bits. */
#define TREE_SHIFT 23
_Static_assert(NFG_TASK_MARKED >> TREE_SHIFT == 1, "one bit");

/* How many unread records a ring takes. */
static uint64_t ring_room(const struct rings *rs)
{
	return rs->mask + 1ull - NFG_RING_SLACK;
}

int rings_init(struct rings *rs, const struct rings_memory *mem)
{
	*rs = (struct rings){ .cpu_cnt = mem->cpu_cnt,
			      .mask = mem->rec_cnt - 1,
			      .values = mem->values };
	rs->cursors = calloc(mem->cpu_cnt, sizeof(*rs->cursors));
	rs->heap = calloc(mem->cpu_cnt, sizeof(*rs->heap));
	if (!rs->cursors || !rs->heap) {
		rings_release(rs);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < mem->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];

		cur->cpu = i;
		cur->recs = mem->recs + (size_t)i * mem->rec_cnt;
		cur->gaps = &mem->gaps[i];
		cur->shared = &mem->cpus[i];
		cur->shared->ring = i;
		cur->shared->first_rec = (uint64_t)i * mem->rec_cnt;
		cur->shared->limit = ring_room(rs);
	}
	return 0;
}

void rings_release(struct rings *rs)
{
	free(rs->cursors);
	free(rs->heap);
	*rs = (struct rings){ 0 };
}

/* ---- one ring ---- */

static struct nfg_rec *slot_at(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	return &cur->recs[pos & rs->mask];
}

/* When the record at @pos was written, or 0: not yet, or past this pass. */
static uint64_t slot_time_ns(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	if (pos == cur->limit)
		return 0;
	return __atomic_load_n(&slot_at(rs, cur, pos)->time_ns, __ATOMIC_ACQUIRE);
}

/* A written slot that holds a value of the record before it, not a record. */
static const struct nfg_value *value_at(const struct rings *rs, const struct ring_cursor *cur,
					uint64_t pos)
{
	return (const struct nfg_value *)slot_at(rs, cur, pos);
}

/* How many slots the record at @pos takes, which is written. */
static uint32_t slot_cnt(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	if (!(slot_at(rs, cur, pos)->task & NFG_TASK_VALUES))
		return 1;
	return 1 + NFG_VALUE_LEFT(value_at(rs, cur, pos + 1)->tag);
}

static void add_value(struct call_values *call, const struct nfg_value *value)
{
	uint32_t which = NFG_VALUE_WHICH(value->tag);

	if (which < VALUES_ARG_MAX) {
		call->args[which] = value->value;
		call->arg_cnt = (uint8_t)(which + 1);
	} else if (which == NFG_VALUE_CALLER) {
		call->caller = value->value;
		call->has_caller = true;
	} else if (which == NFG_VALUE_RET) {
		call->ret = value->value;
		call->has_ret = true;
	} else if (which - NFG_VALUE_PACKET < NFG_PACKET_WORDS) {
		values_set_packet_word(call, which - NFG_VALUE_PACKET, value->value);
	}
}

/* Give the slots of the values at the tail back. Return: the number they are kept under. */
static uint32_t take_values(const struct rings *rs, struct ring_cursor *cur)
{
	uint32_t cnt = NFG_VALUE_LEFT(value_at(rs, cur, cur->tail)->tag);
	struct call_values call = { 0 };

	for (; cnt; cnt--) {
		add_value(&call, value_at(rs, cur, cur->tail));
		__atomic_store_n(&slot_at(rs, cur, cur->tail)->time_ns, 0, __ATOMIC_RELEASE);
		cur->tail++;
	}
	return rs->values ? values_put(rs->values, &call) : 0;
}

/* Copy the record at the tail out and give its slots back. */
static struct nfg_rec slot_take(const struct rings *rs, struct ring_cursor *cur, uint32_t *values)
{
	struct nfg_rec *slot = slot_at(rs, cur, cur->tail);
	struct nfg_rec rec = *slot;

	__atomic_store_n(&slot->time_ns, 0, __ATOMIC_RELEASE);
	cur->tail++;
	*values = rec.task & NFG_TASK_VALUES ? take_values(rs, cur) : 0;
	return rec;
}

static uint64_t held_time_ns(const struct ring_cursor *cur)
{
	return cur->held_cnt ? cur->held[cur->held_cnt - 1].time_ns : UINT64_MAX;
}

/*
 * The time of the ring's next event, UINT64_MAX for none. An interrupted program's
 * record can stand before the interrupt's and yet be younger: such records are held
 * back until the older ones behind them are through.
 */
static uint64_t cursor_peek(const struct rings *rs, struct ring_cursor *cur)
{
	uint64_t time_ns = slot_time_ns(rs, cur, cur->tail);

	while (time_ns && cur->held_cnt < NFG_RING_SLACK) {
		uint64_t next_ns = slot_time_ns(rs, cur, cur->tail + slot_cnt(rs, cur, cur->tail));

		if (!next_ns || next_ns >= time_ns || held_time_ns(cur) <= time_ns)
			break;
		cur->held[cur->held_cnt] = slot_take(rs, cur, &cur->held_values[cur->held_cnt]);
		cur->held_cnt++;
		time_ns = next_ns;
	}
	if (!time_ns)
		return held_time_ns(cur);
	return time_ns < held_time_ns(cur) ? time_ns : held_time_ns(cur);
}

/* A slot of this pass that was taken and is not yet written: nothing younger may pass it. */
static bool cursor_is_blocked(const struct rings *rs, const struct ring_cursor *cur)
{
	return cur->tail != cur->limit && !slot_time_ns(rs, cur, cur->tail);
}

/* The gap that ends where the ring's next record stands, or NULL. */
static const struct nfg_gap *cursor_gap(struct ring_cursor *cur, uint64_t pos)
{
	uint64_t cnt = __atomic_load_n(&cur->gaps->cnt, __ATOMIC_ACQUIRE);
	const struct nfg_gap *gap;

	if (cur->gap_tail == cnt)
		return NULL;
	if (cnt - cur->gap_tail > NFG_GAP_CNT)
		cur->gap_tail = cnt - NFG_GAP_CNT;
	gap = &cur->gaps->list[cur->gap_tail % NFG_GAP_CNT];
	return gap->pos <= pos ? gap : NULL;
}

static bool take_gap(struct rings *rs, struct ring_cursor *cur, uint64_t pos, uint64_t time_ns,
		     struct event *ev)
{
	const struct nfg_gap *gap = cursor_gap(cur, pos);

	if (!gap)
		return false;
	*ev = (struct event){
		.time_ns = time_ns,
		.lost_cnt = __atomic_load_n(&gap->lost_cnt, __ATOMIC_RELAXED),
		.cpu = (uint16_t)cur->cpu,
		.kind = EVENT_LOST,
	};
	rs->shown_lost_cnt += ev->lost_cnt;
	rs->shown_gap_cnt++;
	cur->gap_tail++;
	return true;
}

static enum event_kind kind_of(const struct nfg_rec *rec)
{
	if (rec->func_id == NFG_FUNC_SWITCH)
		return rec->task & NFG_TASK_EXIT ? EVENT_OUT : EVENT_IN;
	return rec->task & NFG_TASK_EXIT ? EVENT_EXIT : EVENT_ENTRY;
}

static void take_event(struct rings *rs, struct ring_cursor *cur, uint64_t time_ns,
		       struct event *ev)
{
	struct nfg_rec rec;
	uint32_t values;

	if (held_time_ns(cur) == time_ns) {
		rec = cur->held[--cur->held_cnt];
		values = cur->held_values[cur->held_cnt];
	} else {
		if (take_gap(rs, cur, cur->tail, time_ns, ev))
			return;
		rec = slot_take(rs, cur, &values);
	}
	*ev = (struct event){
		.time_ns = rec.time_ns,
		.tid = rec.task & NFG_TASK_TID,
		.func_id = rec.func_id,
		.frame = rec.frame,
		.cpu = (uint16_t)cur->cpu,
		.values = values,
		.kind = kind_of(&rec),
		.flags = (rec.task & (NFG_GATE_PACKET | NFG_TREE_ROOT | NFG_TREE_UNSURE |
				      NFG_TREE_DROP | NFG_TASK_MARKED)) >>
			 TREE_SHIFT,
	};
}

/* ---- the heap: the ring with the oldest event on top ---- */

/* Among rings whose next_ns is known. */
static void heap_sift(struct rings *rs, uint32_t idx)
{
	struct ring_cursor *cur = rs->heap[idx];

	for (;;) {
		uint32_t child = 2 * idx + 1;

		if (child >= rs->heap_cnt)
			break;
		if (child + 1 < rs->heap_cnt &&
		    rs->heap[child + 1]->next_ns < rs->heap[child]->next_ns)
			child++;
		if (cur->next_ns <= rs->heap[child]->next_ns)
			break;
		rs->heap[idx] = rs->heap[child];
		idx = child;
	}
	rs->heap[idx] = cur;
}

void rings_begin(struct rings *rs, uint64_t now_ns, uint64_t slack_ns)
{
	bool blocked = false;

	rs->horizon_ns = now_ns - slack_ns;
	rs->heap_cnt = 0;
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];

		cur->limit = __atomic_load_n(&cur->shared->head, __ATOMIC_ACQUIRE);
		if (cur->tail == cur->limit && !cur->held_cnt)
			continue;
		blocked |= cursor_is_blocked(rs, cur);
		cur->next_ns = cursor_peek(rs, cur);
		rs->heap[rs->heap_cnt++] = cur;
	}
	if (blocked)
		rs->heap_cnt = 0;
	for (uint32_t i = rs->heap_cnt / 2; i-- > 0;)
		heap_sift(rs, i);
}

/* Give back the slots that this pass has consumed. */
static void publish_limits(struct rings *rs)
{
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];
		uint64_t limit = cur->tail + ring_room(rs);

		if (cur->shared->limit != limit)
			__atomic_store_n(&cur->shared->limit, limit, __ATOMIC_RELEASE);
	}
}

size_t rings_read(struct rings *rs, struct event *events, size_t cap)
{
	size_t cnt = 0;

	while (cnt < cap && rs->heap_cnt) {
		struct ring_cursor *cur = rs->heap[0];

		if (cur->next_ns > rs->horizon_ns)
			break;
		take_event(rs, cur, cur->next_ns, &events[cnt++]);
		if (cursor_is_blocked(rs, cur)) {
			rs->heap_cnt = 0; /* what comes next is not known: the pass is over */
			break;
		}
		cur->next_ns = cursor_peek(rs, cur);
		if (cur->tail == cur->limit && !cur->held_cnt)
			rs->heap[0] = rs->heap[--rs->heap_cnt];
		if (rs->heap_cnt)
			heap_sift(rs, 0);
	}
	publish_limits(rs);
	return cnt;
}

size_t rings_flush_gaps(struct rings *rs, struct event *events, size_t cap, uint64_t now_ns)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		while (cnt < cap && take_gap(rs, &rs->cursors[i], UINT64_MAX, now_ns, &events[cnt]))
			cnt++;
	}
	return cnt;
}

bool rings_is_drained(const struct rings *rs)
{
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		const struct ring_cursor *cur = &rs->cursors[i];

		if (cur->held_cnt ||
		    cur->tail != __atomic_load_n(&cur->shared->head, __ATOMIC_ACQUIRE))
			return false;
	}
	return true;
}

unsigned int rings_fill_pct(const struct rings *rs)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		uint64_t used = rs->cursors[i].limit - rs->cursors[i].tail;

		if (used > most)
			most = used;
	}
	return (unsigned int)(most * 100 / (rs->mask + 1ull));
}

void rings_lost(const struct rings *rs, uint64_t *full_cnt, uint64_t *depth_cnt)
{
	*full_cnt = 0;
	*depth_cnt = 0;
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		*full_cnt += __atomic_load_n(&rs->cursors[i].shared->lost_full, __ATOMIC_RELAXED);
		*depth_cnt += __atomic_load_n(&rs->cursors[i].shared->lost_depth, __ATOMIC_RELAXED);
	}
}

void rings_mute(struct rings *rs, uint32_t cpu)
{
	rs->cursors[cpu].shared->muted = 1;
}
