#include "attach/rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- slots of one ring, by position; inline, because this code runs for each event ---- */

/* The packet-tree flags of a record, shifted down, are the event's flags. */
#define TREE_SHIFT 23
_Static_assert(NFG_TASK_MARKED >> TREE_SHIFT == 1, "one bit");

/* The number of slots ever reserved. */
static inline uint64_t head_of(const struct nfg_cpu *shared)
{
	return __atomic_load_n(&shared->head_bytes, __ATOMIC_ACQUIRE) / NFG_REC_BYTES;
}

static inline struct nfg_rec *rings_slot_at(const struct rings *rs, const struct ring_cursor *cur,
					    uint64_t pos)
{
	return &cur->recs[pos & rs->mask];
}

/* The time at which it was written; 0: not yet. */
static inline uint64_t rec_time_ns(const struct nfg_rec *rec)
{
	return __atomic_load_n(&rec->time_ns, __ATOMIC_ACQUIRE);
}

/* The time at which the record at @pos was written; 0: not yet, or beyond this pass. */
static inline uint64_t slot_time_ns(const struct rings *rs, const struct ring_cursor *cur,
				    uint64_t pos)
{
	if (pos == cur->limit)
		return 0;
	return rec_time_ns(rings_slot_at(rs, cur, pos));
}

/* A written slot that contains a value of the preceding record, not a record. */
static inline const struct nfg_value *value_at(const struct rings *rs,
					       const struct ring_cursor *cur, uint64_t pos)
{
	return (const struct nfg_value *)rings_slot_at(rs, cur, pos);
}

/* The number of slots of the record at @pos, which must be written. */
static inline uint32_t slot_cnt(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	if (!(rings_slot_at(rs, cur, pos)->task & NFG_TASK_VALUES))
		return 1;
	return 1 + NFG_VALUE_LEFT(value_at(rs, cur, pos + 1)->tag);
}

/* Values are written before their record; times are greater than tags. */
static inline bool is_value(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	uint64_t word = slot_time_ns(rs, cur, pos);

	return word && word <= NFG_VALUE_TAG(0xff, 0xff);
}

static inline void slot_drop(const struct rings *rs, struct ring_cursor *cur)
{
	__atomic_store_n(&rings_slot_at(rs, cur, cur->tail)->time_ns, 0, __ATOMIC_RELEASE);
	cur->tail++;
}

/* Whether the record is of a tracepoint; it always has values. */
static inline bool is_point(const struct nfg_rec *rec)
{
	return rec->func_id != NFG_FUNC_SWITCH &&
	       (rec->task & (NFG_TASK_POINT | NFG_TASK_EXIT)) == NFG_TASK_POINT;
}

/* The event of a record, except for marks. */
static inline void rings_put_event(struct event *ev, const struct ring_cursor *cur,
				   const struct nfg_rec *rec, uint64_t time_ns,
				   enum event_kind kind, uint32_t values)
{
	*ev = (struct event){
		.time_ns = time_ns,
		.tid = rec->task & NFG_TASK_TID,
		.func_id = rec->func_id,
		.frame = rec->frame,
		.cpu = (uint16_t)cur->cpu,
		.values = values,
		.kind = kind,
		.flags = (rec->task & (NFG_GATE_PACKET | NFG_TREE_ROOT | NFG_TREE_UNSURE |
				       NFG_TREE_DROP | NFG_TASK_MARKED)) >>
			 TREE_SHIFT,
	};
}

/* Whether gaps have been opened but not reported. */
static inline bool has_gap(const struct ring_cursor *cur)
{
	return __atomic_load_n(&cur->gaps->cnt, __ATOMIC_ACQUIRE) != cur->gap_tail;
}

/* Losses added to the last reported gap since its report; valid only until a record follows it. */
static inline uint64_t more_cnt(const struct ring_cursor *cur)
{
	uint64_t cnt;

	if (!cur->gap_tail)
		return 0;
	cnt = __atomic_load_n(&cur->gaps->list[(cur->gap_tail - 1) % NFG_GAP_CNT].lost_cnt,
			      __ATOMIC_RELAXED);
	return cnt > cur->reported_cnt ? cnt - cur->reported_cnt : 0;
}

static inline bool is_irq_mark(const struct nfg_rec *rec)
{
	return rec->func_id == NFG_FUNC_SWITCH && rec->task & NFG_SWITCH_IRQ;
}

/* The reader's record of an interrupt with torn calls: it contains the number of their ends instead of the task. */
static inline bool is_torn(const struct nfg_rec *rec)
{
	return is_irq_mark(rec) && !(rec->task & NFG_SWITCH_DOUBT);
}

/* The limit of open calls in an interrupt: its stack has 16 KiB, and a traced call takes at least 96 bytes. */
#define IRQ_DEPTH_MAX 176

struct irq {
	uint32_t open[IRQ_DEPTH_MAX]; /* as event_call */
	uint32_t depth;
	uint32_t cnt; /* number of entries and exits */
	uint64_t end; /* the position of its last record */
	bool is_torn;
};

/* If a packet's tree turned out to be out of scope, only the end of its first call is recorded. */
static void irq_leave(struct irq *irq, uint32_t call, bool is_drop)
{
	while (is_drop && irq->depth && irq->open[irq->depth - 1] != call)
		irq->depth--;
	irq->is_torn = !irq->depth || irq->open[--irq->depth] != call;
}

static void irq_add(struct irq *irq, const struct nfg_rec *rec)
{
	uint32_t call = (uint32_t)rec->frame << 16 | rec->func_id;

	irq->cnt++;
	if (irq->is_torn || is_point(rec))
		return;
	if (rec->task & NFG_TASK_EXIT)
		irq_leave(irq, call, rec->task & NFG_TREE_DROP);
	else if (irq->depth < IRQ_DEPTH_MAX)
		irq->open[irq->depth++] = call;
	else
		irq->is_torn = true;
}

/*
 * Scan the interrupt that begins at the tail. While an interrupt lasts, the interrupted program skips either the
 * entries or the returns of its functions; if another interrupt arrives meanwhile inside a second program, both may be
 * missing.
 *
 * Return: whether the interrupt has ended.
 */
static bool irq_scan(const struct rings *rs, const struct ring_cursor *cur, struct irq *irq)
{
	uint32_t level = 0;
	uint64_t pos;

	irq->depth = irq->cnt = 0;
	irq->is_torn = rs->skips_whole_calls;
	for (pos = cur->tail; slot_time_ns(rs, cur, pos); pos += slot_cnt(rs, cur, pos)) {
		const struct nfg_rec *rec = rings_slot_at(rs, cur, pos);

		if (!is_irq_mark(rec)) {
			irq_add(irq, rec);
			continue;
		}
		level += rec->task & NFG_TASK_EXIT ? -1u : 1;
		irq->is_torn |= level > 1;
		if (level)
			continue;
		irq->is_torn |= irq->depth > 0;
		irq->end = pos;
		return true;
	}
	return false;
}

/* Replace it by one record in its last position. */
static void irq_drop(const struct rings *rs, struct ring_cursor *cur, const struct irq *irq)
{
	uint64_t time_ns = rings_slot_at(rs, cur, cur->tail)->time_ns;
	struct nfg_rec *rec = rings_slot_at(rs, cur, irq->end);

	while (cur->tail != irq->end)
		slot_drop(rs, cur);
	rec->task = NFG_SWITCH_IRQ | (irq->cnt < NFG_TASK_TID ? irq->cnt : NFG_TASK_TID);
	rec->time_ns = time_ns;
}

/*
 * ring_irq_take - handle an interrupt inside a program (bpf/irq.bpf.h); the record at the tail of @cur marks its
 * beginning or end.
 *
 * If each of its calls has both ends, only the marks are dropped. Otherwise its calls are dropped too, and one record
 * counts them.
 * Return: false: the interrupt has not ended, nothing was done, and later records must wait.
 */
static bool ring_irq_take(const struct rings *rs, struct ring_cursor *cur)
{
	bool begins = !(rings_slot_at(rs, cur, cur->tail)->task & NFG_TASK_EXIT);
	struct irq irq;

	if (begins && !irq_scan(rs, cur, &irq))
		return false;
	if (begins && irq.is_torn && irq.cnt)
		irq_drop(rs, cur, &irq);
	else
		slot_drop(rs, cur);
	return true;
}

/* Whether the order of the records alone decides which comes next. */
static bool can_run(const struct ring_cursor *cur)
{
	return !cur->held_cnt && !cur->in_gap && !cur->has_loss && !cur->is_over &&
	       !cur->is_behind && !cur->is_blocked;
}

static bool rings_is_plain(const struct nfg_rec *rec)
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

		/* check the next one too: if it has values, the word after it belongs to another slot */
		if (!rings_is_plain(rec) || !rings_is_plain(&recs[(tail + 1) & mask]))
			break;
		if (tail + 2 != limit)
			after_ns = rec_time_ns(&recs[(tail + 2) & mask]);
		if ((after_ns && after_ns < next_ns) || has_gap(cur) || more_cnt(cur))
			break;
		rings_put_event(&events[cnt], cur, rec, time_ns,
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

/*
 * A record with values takes up to two dozen slots, with members and a user stack up to 41. These shares leave room for as
 * many preempted tasks as with one slot.
 */
#define VALUES_SLACK_SHARE  16
#define MEMBERS_SLACK_SHARE 8

/* The number of unread records that a ring holds. */
static uint64_t ring_room(const struct rings *rs)
{
	const uint64_t cnt = rs->mask + 1ull;
	const uint64_t share = rs->has_members ? cnt / MEMBERS_SLACK_SHARE
			       : rs->values    ? cnt / VALUES_SLACK_SHARE
					       : 0;

	return cnt - (share > NFG_RING_SLACK ? share : NFG_RING_SLACK);
}

int rings_init(struct rings *rs, const struct rings_memory *mem)
{
	*rs = (struct rings){ .cpu_cnt = mem->cpu_cnt,
			      .mask = mem->rec_cnt - 1,
			      .values = mem->values,
			      .has_members = mem->has_members,
			      .ustack = mem->ustack,
			      .skips_whole_calls = mem->skips_whole_calls };
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
		cur->shared->first_byte = (uint64_t)i * mem->rec_cnt * NFG_REC_BYTES;
		cur->shared->limit_bytes = ring_room(rs) * NFG_REC_BYTES;
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

/* How many records behind the next one are looked at: as ring_run does. */
#define LOOK_AHEAD_CNT 2

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
	} else if (which == NFG_VALUE_STACK) {
		call->stack = value->value;
		call->has_stack = true;
	} else if (which - NFG_VALUE_SHOWN <= NFG_SHOWN_WORDS) {
		call->shown[which - NFG_VALUE_SHOWN] = value->value;
		call->shown_cnt = (uint8_t)(which - NFG_VALUE_SHOWN + 1);
	} else if (which == NFG_VALUE_USTACK) {
		call->ustack = value->value;
		call->has_ustack = true;
	} else if (which == NFG_VALUE_PKT) {
		call->pkt = value->value;
	} else if (which - NFG_VALUE_PACKET < NFG_PACKET_WORDS) {
		values_set_packet_word(call, which - NFG_VALUE_PACKET, value->value);
	}
}

/* Return the slots of the values at the tail to the ring. Return: the number under which the values are kept. */
static uint32_t take_values(const struct rings *rs, struct ring_cursor *cur)
{
	uint32_t cnt = NFG_VALUE_LEFT(value_at(rs, cur, cur->tail)->tag);
	struct call_values call = { 0 };
	uint64_t mm = 0;

	for (; cnt; cnt--) {
		const struct nfg_value *value = value_at(rs, cur, cur->tail);

		if (NFG_VALUE_WHICH(value->tag) == NFG_VALUE_USTACK_MM)
			mm = value->value;
		else
			add_value(&call, value);
		slot_drop(rs, cur);
	}
	call.has_ustack = call.has_ustack && rs->ustack.take;
	if (call.has_ustack)
		call.ustack = rs->ustack.take(rs->ustack.ctx, call.ustack, mm);
	return rs->values ? values_put(rs->values, &call) : 0;
}

/* Copy the record at the tail and return its slots to the ring. */
static struct nfg_rec slot_take(const struct rings *rs, struct ring_cursor *cur, uint32_t *values)
{
	struct nfg_rec rec = *rings_slot_at(rs, cur, cur->tail);

	slot_drop(rs, cur);
	*values = rec.task & NFG_TASK_VALUES ? take_values(rs, cur) : 0;
	return rec;
}

/*
 * The time at which the record at the tail was written. 0: not yet, or beyond this pass, or its interrupt has not
 * ended.
 */
static inline uint64_t tail_time_ns(const struct rings *rs, struct ring_cursor *cur)
{
	uint64_t time_ns = slot_time_ns(rs, cur, cur->tail);

	while (time_ns && is_irq_mark(rings_slot_at(rs, cur, cur->tail)) &&
	       !is_torn(rings_slot_at(rs, cur, cur->tail)))
		time_ns = ring_irq_take(rs, cur) ? slot_time_ns(rs, cur, cur->tail) : 0;
	return time_ns;
}

static uint64_t held_time_ns(const struct ring_cursor *cur)
{
	return cur->held_cnt ? cur->held[cur->held_cnt - 1].time_ns : UINT64_MAX;
}

/*
 * Whether a record behind the one at the tail is older. Interrupted programs write their times in the reverse order of
 * their slots. Those of preempted tasks may write them in any order: so it is not only the next record that tells.
 */
static bool is_overtaken(const struct rings *rs, const struct ring_cursor *cur, uint64_t time_ns)
{
	uint64_t pos = cur->tail;

	for (int i = 0; i < LOOK_AHEAD_CNT; i++) {
		uint64_t later_ns;

		pos += slot_cnt(rs, cur, pos);
		later_ns = slot_time_ns(rs, cur, pos);
		if (!later_ns || later_ns < time_ns)
			return later_ns != 0;
	}
	return false;
}

/* Hold the record at the tail back, among the others: the oldest is the last. */
static void hold(const struct rings *rs, struct ring_cursor *cur)
{
	uint32_t values;
	const struct nfg_rec rec = slot_take(rs, cur, &values);
	uint32_t at = cur->held_cnt++;

	for (; at && cur->held[at - 1].time_ns <= rec.time_ns; at--) {
		cur->held[at] = cur->held[at - 1];
		cur->held_values[at] = cur->held_values[at - 1];
	}
	cur->held[at] = rec;
	cur->held_values[at] = values;
}

/*
 * The time of the ring's next event, UINT64_MAX for none. The record of an interrupted or preempted program can precede
 * others and still be younger: such records are held until the older ones after them have passed.
 */
static uint64_t cursor_peek(const struct rings *rs, struct ring_cursor *cur)
{
	uint64_t time_ns = tail_time_ns(rs, cur);

	while (time_ns && cur->held_cnt < NFG_RING_SLACK && is_overtaken(rs, cur, time_ns)) {
		hold(rs, cur);
		time_ns = tail_time_ns(rs, cur);
	}
	cur->is_blocked = !time_ns && cur->tail != cur->limit;
	if (!time_ns)
		return held_time_ns(cur);
	return time_ns < held_time_ns(cur) ? time_ns : held_time_ns(cur);
}

static bool is_through(const struct ring_cursor *cur)
{
	return cur->tail == cur->limit && !cur->held_cnt;
}

/* ---- losses ---- */

/* The oldest unreported gap, or NULL. */
static const struct nfg_gap *first_gap(struct ring_cursor *cur)
{
	uint64_t cnt = __atomic_load_n(&cur->gaps->cnt, __ATOMIC_ACQUIRE);

	if (cur->gap_tail == cnt)
		return NULL;
	/* the oldest one may be overwritten right now, so it is lost too */
	if (cnt - cur->gap_tail >= NFG_GAP_CNT) {
		cur->gap_tail = cnt - NFG_GAP_CNT + 1;
		cur->has_unplaced = true;
	}
	return &cur->gaps->list[cur->gap_tail % NFG_GAP_CNT];
}

/* Whether events are missing after the last event taken from this ring. */
static bool is_gap_due(struct ring_cursor *cur)
{
	const struct nfg_gap *gap;

	if (cur->in_gap)
		return false;
	gap = first_gap(cur);
	return (gap && (cur->has_unplaced || gap->pos <= cur->tail)) || more_cnt(cur);
}

/* At the start of a pass. Losses by deep nesting are reported only here. */
static bool is_loss_due(struct ring_cursor *cur)
{
	uint64_t depth_cnt = __atomic_load_n(&cur->shared->lost_depth, __ATOMIC_RELAXED);

	return is_gap_due(cur) ||
	       (!cur->in_gap && (cur->is_behind || depth_cnt != cur->shown_depth_cnt));
}

static struct event mark_event(struct rings *rs, const struct ring_cursor *cur,
			       enum event_kind kind, uint64_t time_ns)
{
	rs->mark_cnt++;
	return (struct event){
		.time_ns = time_ns,
		.cpu = (uint16_t)cur->cpu,
		.kind = kind,
	};
}

/*
 * Whether the gap is over: the ring is empty, and nothing has been lost since the previous pass began, so the next
 * event is younger than this pass. Without this rule the gap of an idle CPU would stay open.
 */
static bool is_gap_over(const struct rings *rs, struct ring_cursor *cur)
{
	uint64_t cnt = __atomic_load_n(&cur->shared->lost_full, __ATOMIC_RELAXED) +
		       __atomic_load_n(&cur->shared->lost_depth, __ATOMIC_RELAXED);
	bool is_quiet = cnt == cur->loss_cnt;

	cur->loss_cnt = cnt;
	return is_quiet && cur->in_gap && !cur->is_behind && is_through(cur) &&
	       cur->limit < cur->shared->limit_bytes / NFG_REC_BYTES &&
	       rs->horizon_ns != UINT64_MAX && rs->horizon_ns >= rs->last_ns;
}

/* The loss is later than every event passed on so far: see rings_begin. */
static struct event rings_begin_gap(struct rings *rs, struct ring_cursor *cur)
{
	cur->in_gap = true;
	return mark_event(rs, cur, EVENT_GAP, rs->last_ns);
}

/* The number of losses in gaps with unknown positions: the rest of the total. */
static uint64_t unplaced_cnt(const struct ring_cursor *cur)
{
	uint64_t cnt = __atomic_load_n(&cur->shared->lost_full, __ATOMIC_RELAXED);
	uint64_t known_cnt = cur->shown_full_cnt;

	for (uint64_t i = cur->gap_tail; i != cur->gaps->cnt; i++)
		known_cnt += cur->gaps->list[i % NFG_GAP_CNT].lost_cnt;
	return cnt > known_cnt ? cnt - known_cnt : 0;
}

/* The part of lost_full that no EVENT_LOST has counted. */
static uint64_t unshown_cnt(const struct ring_cursor *cur)
{
	return __atomic_load_n(&cur->shared->lost_full, __ATOMIC_RELAXED) - cur->shown_full_cnt;
}

/* Return: whether the record at @pos is the CPU's first after the loss. */
static bool rings_end_gap(struct rings *rs, struct ring_cursor *cur, uint64_t pos, uint64_t time_ns,
			  struct event *ev)
{
	uint64_t depth_cnt = __atomic_load_n(&cur->shared->lost_depth, __ATOMIC_RELAXED);
	const struct nfg_gap *gap = first_gap(cur);
	uint64_t full_cnt = more_cnt(cur);
	uint64_t reported_cnt = cur->reported_cnt + full_cnt;

	if (cur->has_unplaced) {
		if (gap && gap->pos > pos && !cur->is_over)
			return false;
		full_cnt = unplaced_cnt(cur);
		cur->has_unplaced = false;
	}
	while (gap && !cur->has_unplaced && gap->pos <= pos) {
		reported_cnt = __atomic_load_n(&gap->lost_cnt, __ATOMIC_RELAXED);
		full_cnt += reported_cnt;
		cur->gap_tail++;
		gap = first_gap(cur);
	}
	cur->reported_cnt = reported_cnt;
	/* contexts that opened a gap at once may leave an unused one, with the count of an older gap */
	if (full_cnt > unshown_cnt(cur))
		full_cnt = unshown_cnt(cur);
	*ev = mark_event(rs, cur, EVENT_LOST, time_ns);
	ev->lost_cnt = full_cnt + depth_cnt - cur->shown_depth_cnt;
	rs->shown_lost_cnt += ev->lost_cnt;
	ev->lost_cnt += cur->late_cnt;
	cur->late_cnt = 0;
	cur->is_behind = false;
	cur->shown_full_cnt += full_cnt;
	cur->shown_depth_cnt = depth_cnt;
	cur->in_gap = false;
	return true;
}

/* ---- rings that were left behind ---- */

/* The slot at the tail is reserved but not written. Return: whether it has been so for too long. */
static bool is_given_up(const struct rings *rs, struct ring_cursor *cur, uint64_t now_ns)
{
	if (!cur->blocked_ns || cur->blocked_pos != cur->tail) {
		cur->blocked_pos = cur->tail;
		cur->blocked_ns = now_ns;
	}
	return rs->has_given_up ||
	       (now_ns != UINT64_MAX && now_ns - cur->blocked_ns > RINGS_PATIENCE_NS);
}

void rings_give_up(struct rings *rs)
{
	rs->has_given_up = true;
}

/* Drop events that are older than events of other rings that were already passed on. */
static void drop_late(struct rings *rs, struct ring_cursor *cur)
{
	uint64_t late_cnt = 0;
	uint32_t values;

	for (;;) {
		uint64_t time_ns = cursor_peek(rs, cur);

		if (cur->is_blocked || time_ns >= rs->last_ns)
			break;
		if (held_time_ns(cur) == time_ns)
			cur->held_cnt--;
		else
			slot_take(rs, cur, &values);
		late_cnt++;
	}
	cur->late_cnt += late_cnt;
	rs->late_cnt += late_cnt;
	cur->is_behind = cur->is_blocked;
}

/* Stop waiting for the unwritten slot: it counts as lost, like all records after it. */
static void drop_rest(struct rings *rs, struct ring_cursor *cur)
{
	uint64_t late_cnt = cur->held_cnt;

	cur->limit = head_of(cur->shared);
	while (cur->tail < cur->limit) {
		late_cnt += !is_value(rs, cur, cur->tail);
		cur->tail++;
	}
	cur->held_cnt = 0;
	cur->late_cnt += late_cnt;
	rs->late_cnt += late_cnt;
}

/* ---- events ---- */

static enum event_kind rings_kind_of(const struct nfg_rec *rec)
{
	if (is_torn(rec))
		return EVENT_TORN;
	if (rec->func_id == NFG_FUNC_SWITCH && rec->task & NFG_SWITCH_DOUBT)
		return rec->task & NFG_TASK_EXIT ? EVENT_SURE : EVENT_DOUBT;
	if (rec->func_id == NFG_FUNC_SWITCH)
		return rec->task & NFG_TASK_EXIT ? EVENT_OUT : EVENT_IN;
	if (is_point(rec))
		return EVENT_POINT;
	return rec->task & NFG_TASK_EXIT ? EVENT_EXIT : EVENT_ENTRY;
}

static void take_event(struct rings *rs, struct ring_cursor *cur, uint64_t time_ns,
		       struct event *ev)
{
	enum event_kind kind;
	struct nfg_rec rec;
	uint32_t values;

	if (cur->has_loss) {
		*ev = rings_begin_gap(rs, cur);
		return;
	}
	if (cur->is_over) {
		rings_end_gap(rs, cur, cur->tail, time_ns, ev);
		cur->is_over = false;
		return;
	}
	if (held_time_ns(cur) == time_ns) {
		rec = cur->held[--cur->held_cnt];
		values = cur->held_values[cur->held_cnt];
	} else {
		if (cur->in_gap && rings_end_gap(rs, cur, cur->tail, time_ns, ev))
			return;
		rec = slot_take(rs, cur, &values);
	}
	kind = rings_kind_of(&rec);
	rs->last_ns = rec.time_ns;
	if (kind == EVENT_DOUBT || kind == EVENT_SURE) {
		*ev = mark_event(rs, cur, kind, rec.time_ns);
		ev->tid = rec.task & NFG_TASK_TID;
		return;
	}
	if (kind == EVENT_TORN) {
		*ev = mark_event(rs, cur, kind, rec.time_ns);
		ev->lost_cnt = rec.task & NFG_TASK_TID;
		rs->torn_cnt += ev->lost_cnt;
		return;
	}
	if (kind == EVENT_POINT)
		rec.task &= ~NFG_TASK_POINT; /* at a call's exit the same bit marks it */
	rings_put_event(ev, cur, &rec, rec.time_ns, kind, values);
}

/* ---- the heap: the ring with the oldest event on top ---- */

/* Order the rings with a known next_ns. */
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

/*
 * If a ring was read completely and filled up afterwards, the next pass notices that at its start. The lost events are
 * younger than the horizon of the previous pass, and so than every event passed on.
 */
void rings_begin(struct rings *rs, uint64_t now_ns, uint64_t slack_ns)
{
	bool blocked = false;

	rs->horizon_ns = now_ns - slack_ns;
	rs->heap_cnt = 0;
	rs->is_stopped = false;
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];

		cur->limit = head_of(cur->shared);
		if (cur->is_behind)
			drop_late(rs, cur);
		cur->next_ns = cursor_peek(rs, cur);
		rs->is_stopped |= cur->is_blocked;
		if (cur->is_blocked) {
			cur->is_behind = is_given_up(rs, cur, now_ns);
			blocked |= !cur->is_behind;
		}
		cur->is_over = is_gap_over(rs, cur);
		cur->has_loss = is_loss_due(cur);
		if (cur->is_over)
			cur->next_ns = rs->horizon_ns;
		else if (cur->has_loss)
			cur->next_ns = rs->last_ns;
		else if (is_through(cur) || cur->is_behind)
			continue;
		rs->heap[rs->heap_cnt++] = cur;
	}
	if (blocked)
		rs->heap_cnt = 0;
	for (uint32_t i = rs->heap_cnt / 2; i-- > 0;)
		heap_sift(rs, i);
}

/* Return the slots that this pass has consumed to the rings. */
static void publish_limits(struct rings *rs)
{
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];
		uint64_t limit_bytes = (cur->tail + ring_room(rs)) * NFG_REC_BYTES;

		if (cur->shared->limit_bytes != limit_bytes)
			__atomic_store_n(&cur->shared->limit_bytes, limit_bytes, __ATOMIC_RELEASE);
	}
}

/* The time up to which the ring on top has the oldest event. */
static uint64_t top_until_ns(const struct rings *rs)
{
	uint64_t until_ns = rs->horizon_ns;

	for (uint32_t i = 1; i < 3 && i < rs->heap_cnt; i++) {
		if (rs->heap[i]->next_ns < until_ns)
			until_ns = rs->heap[i]->next_ns;
	}
	return until_ns;
}

size_t rings_read(struct rings *rs, struct event *events, size_t cap)
{
	size_t cnt = 0;

	while (cnt < cap && rs->heap_cnt) {
		struct ring_cursor *cur = rs->heap[0];
		uint64_t until_ns = top_until_ns(rs);
		bool is_stuck;

		if (cur->next_ns > rs->horizon_ns)
			break;
		cnt += ring_run(rs, cur, events + cnt, cap - cnt, until_ns);
		if (cur->next_ns > until_ns) {
			heap_sift(rs, 0);
			continue;
		}
		if (cnt == cap)
			break;
		rs->last_ns = cur->next_ns;
		take_event(rs, cur, cur->next_ns, &events[cnt++]);
		cur->next_ns = cursor_peek(rs, cur);
		is_stuck = cur->is_blocked && !cur->is_behind;
		if (is_stuck && !rs->has_given_up) {
			rs->is_stopped = true; /* this ends the pass */
			rs->heap_cnt = 0;
			break;
		}
		cur->is_behind |= is_stuck;
		/* includes held records */
		cur->has_loss = is_gap_due(cur) || (is_stuck && !cur->in_gap);
		if (cur->has_loss)
			cur->next_ns = rs->last_ns;
		else if (is_through(cur) || cur->is_behind)
			rs->heap[0] = rs->heap[--rs->heap_cnt];
		if (rs->heap_cnt)
			heap_sift(rs, 0);
	}
	publish_limits(rs);
	return cnt;
}

uint64_t rings_seen_ns(const struct rings *rs)
{
	const bool is_unread = rs->heap_cnt && rs->heap[0]->next_ns <= rs->horizon_ns;

	if (rs->is_stopped || is_unread || rs->horizon_ns == UINT64_MAX)
		return rs->last_ns;
	return rs->horizon_ns > rs->last_ns ? rs->horizon_ns : rs->last_ns;
}

/* Whether a program counted a loss at the moment when its gap was reported. */
static bool is_rest_due(struct ring_cursor *cur)
{
	if (first_gap(cur) || !unshown_cnt(cur))
		return false;
	cur->has_unplaced = true;
	return true;
}

size_t rings_flush_gaps(struct rings *rs, struct event *events, size_t cap, uint64_t now_ns)
{
	size_t cnt = 0;

	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];

		if (rs->has_given_up && cur->is_behind)
			drop_rest(rs, cur);
		while (cnt < cap && (cur->in_gap || is_loss_due(cur) || is_rest_due(cur))) {
			if (cur->in_gap)
				rings_end_gap(rs, cur, UINT64_MAX, now_ns, &events[cnt++]);
			else
				events[cnt++] = rings_begin_gap(rs, cur);
		}
	}
	return cnt;
}

size_t rings_mark(struct rings *rs, enum event_kind kind, uint32_t *next_cpu, struct event *events,
		  size_t cap)
{
	size_t cnt = 0;

	for (; *next_cpu < rs->cpu_cnt && cnt < cap; ++*next_cpu) {
		const struct ring_cursor *cur = &rs->cursors[*next_cpu];

		if (cur->tail && !cur->in_gap)
			events[cnt++] = mark_event(rs, cur, kind, rs->last_ns);
	}
	return cnt;
}

/* ---- what the rings hold and have lost ---- */

/* Limit for all rings together; a 128th of the host's memory if that is more. */
#define TOTAL_MIN_BYTES (64u << 20)
#define TOTAL_MAX_BYTES (1u << 29) /* the limit for a map of all rings */
#define MEMORY_SHARE    128
#define RING_MIN_BYTES  (64u << 10)
#define RING_MAX_BYTES  (2u << 20)

uint64_t rings_bytes_default(uint32_t cpu_cnt, uint64_t memory_bytes)
{
	uint64_t total = memory_bytes / MEMORY_SHARE;
	uint64_t bytes;
	uint32_t ring_cnt = 1;

	while (ring_cnt < cpu_cnt)
		ring_cnt *= 2; /* the number of rings that are created */
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

		/* reading more often would not empty it */
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
	uint64_t doubt_cnt = rings_doubt_cnt(rs); /* read first: lost_full includes all of it */

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
		const uint64_t unrun_cnt =
			__atomic_load_n(&rs->cursors[i].gaps->unrun_cnt, __ATOMIC_ACQUIRE);

		cnts[i] = head_of(shared) + __atomic_load_n(&shared->lost_full, __ATOMIC_RELAXED) -
			  unrun_cnt;
	}
}

size_t rings_restart(struct rings *rs, uint32_t cpu, struct nfg_rec *recs, size_t cap)
{
	struct ring_cursor *cur = &rs->cursors[cpu];
	struct nfg_cpu *shared = cur->shared;
	size_t cnt = 0;

	cur->limit = head_of(shared);
	while (cur->tail != cur->limit) {
		if (!is_value(rs, cur, cur->tail)) {
			if (cnt < cap)
				recs[cnt] = *rings_slot_at(rs, cur, cur->tail);
			cnt++;
		}
		slot_drop(rs, cur);
	}
	cur->tail = cur->limit = 0;
	cur->gaps->cnt = cur->gaps->doubt_cnt = cur->gaps->unrun_cnt = 0;
	shared->lost_full = shared->lost_depth = 0;
	shared->head_bytes = 0;
	shared->limit_bytes = ring_room(rs) * NFG_REC_BYTES;
	return cnt;
}

void rings_mute(struct rings *rs, uint32_t cpu)
{
	rs->cursors[cpu].shared->muted = 1;
}
