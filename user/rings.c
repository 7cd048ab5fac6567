#include "rings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

size_t rings_bytes(uint32_t rec_cnt)
{
	return sizeof(struct nfg_ring) + (size_t)rec_cnt * sizeof(struct nfg_rec);
}

/* How many unread records a ring takes. */
static uint64_t ring_room(const struct rings *rs)
{
	return rs->mask + 1ull - NFG_RING_SLACK;
}

int rings_init_at(struct rings *rs, void *map, struct nfg_cpu *cpus, uint32_t cpu_cnt,
		  uint32_t rec_cnt)
{
	*rs = (struct rings){ .cpu_cnt = cpu_cnt, .mask = rec_cnt - 1 };
	rs->cursors = calloc(cpu_cnt, sizeof(*rs->cursors));
	rs->heap = calloc(cpu_cnt, sizeof(*rs->heap));
	if (!rs->cursors || !rs->heap) {
		rings_release(rs);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cpu_cnt; i++) {
		rs->cursors[i].ring = (void *)((char *)map + i * rings_bytes(rec_cnt));
		rs->cursors[i].shared = &cpus[i];
		rs->cursors[i].cpu = i;
		cpus[i].ring = i;
		cpus[i].limit = ring_room(rs);
	}
	return 0;
}

int rings_init(struct rings *rs, int map_fd, struct nfg_cpu *cpus, uint32_t cpu_cnt,
	       uint32_t rec_cnt)
{
	size_t bytes = cpu_cnt * rings_bytes(rec_cnt);
	void *map;
	int err;

	*rs = (struct rings){ 0 };
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	err = rings_init_at(rs, map, cpus, cpu_cnt, rec_cnt);
	if (err) {
		munmap(map, bytes);
		return err;
	}
	rs->map = map;
	rs->map_bytes = bytes;
	return 0;
}

void rings_release(struct rings *rs)
{
	if (rs->map)
		munmap(rs->map, rs->map_bytes);
	free(rs->cursors);
	free(rs->heap);
	*rs = (struct rings){ 0 };
}

/* ---- one ring ---- */

static struct nfg_rec *slot_at(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	return &cur->ring->recs[pos & rs->mask];
}

/* When the record at @pos was written, or 0: not yet, or past this pass. */
static uint64_t slot_time_ns(const struct rings *rs, const struct ring_cursor *cur, uint64_t pos)
{
	if (pos == cur->limit)
		return 0;
	return __atomic_load_n(&slot_at(rs, cur, pos)->time_ns, __ATOMIC_ACQUIRE);
}

/* Copy the record at the tail out and give its slot back. */
static struct nfg_rec slot_take(const struct rings *rs, struct ring_cursor *cur)
{
	struct nfg_rec *slot = slot_at(rs, cur, cur->tail);
	struct nfg_rec rec = *slot;

	__atomic_store_n(&slot->time_ns, 0, __ATOMIC_RELEASE);
	cur->tail++;
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
		uint64_t next_ns = slot_time_ns(rs, cur, cur->tail + 1);

		if (!next_ns || next_ns >= time_ns || held_time_ns(cur) <= time_ns)
			break;
		cur->held[cur->held_cnt++] = slot_take(rs, cur);
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
	struct nfg_ring_ctl *ctl = &cur->ring->ctl;
	uint64_t cnt = __atomic_load_n(&ctl->gap_cnt, __ATOMIC_ACQUIRE);
	const struct nfg_gap *gap;

	if (cur->gap_tail == cnt)
		return NULL;
	if (cnt - cur->gap_tail > NFG_GAP_CNT)
		cur->gap_tail = cnt - NFG_GAP_CNT;
	gap = &ctl->gaps[cur->gap_tail % NFG_GAP_CNT];
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
		.cpu = cur->cpu,
		.kind = EVENT_LOST,
	};
	rs->shown_lost_cnt += ev->lost_cnt;
	cur->gap_tail++;
	return true;
}

static void take_event(struct rings *rs, struct ring_cursor *cur, uint64_t time_ns,
		       struct event *ev)
{
	struct nfg_rec rec;

	if (held_time_ns(cur) == time_ns) {
		rec = cur->held[--cur->held_cnt];
	} else {
		if (take_gap(rs, cur, cur->tail, time_ns, ev))
			return;
		rec = slot_take(rs, cur);
	}
	*ev = (struct event){
		.time_ns = rec.time_ns,
		.tid = rec.task & NFG_TASK_TID,
		.func_id = rec.func_id,
		.frame = rec.frame,
		.cpu = cur->cpu,
		.kind = rec.task & NFG_TASK_EXIT ? EVENT_EXIT : EVENT_ENTRY,
	};
}

/* ---- the heap: the ring with the oldest event on top ---- */

static void heap_sift(struct rings *rs, uint32_t idx)
{
	struct ring_cursor *cur = rs->heap[idx];
	uint64_t time_ns = cursor_peek(rs, cur);

	for (;;) {
		uint32_t child = 2 * idx + 1;
		uint64_t child_ns;

		if (child >= rs->heap_cnt)
			break;
		child_ns = cursor_peek(rs, rs->heap[child]);
		if (child + 1 < rs->heap_cnt && cursor_peek(rs, rs->heap[child + 1]) < child_ns) {
			child++;
			child_ns = cursor_peek(rs, rs->heap[child]);
		}
		if (time_ns <= child_ns)
			break;
		rs->heap[idx] = rs->heap[child];
		idx = child;
	}
	rs->heap[idx] = cur;
}

void rings_begin(struct rings *rs, uint64_t now_ns, uint64_t slack_ns)
{
	rs->horizon_ns = now_ns - slack_ns;
	rs->heap_cnt = 0;
	for (uint32_t i = 0; i < rs->cpu_cnt; i++) {
		struct ring_cursor *cur = &rs->cursors[i];

		cur->limit = __atomic_load_n(&cur->shared->head, __ATOMIC_ACQUIRE);
		if (cur->tail != cur->limit || cur->held_cnt)
			rs->heap[rs->heap_cnt++] = cur;
	}
	for (uint32_t i = rs->heap_cnt / 2; i-- > 0;)
		heap_sift(rs, i);
}

/* Whether some ring's next event is not known yet: the pass must stop before it. */
static bool is_blocked(const struct rings *rs)
{
	for (uint32_t i = 0; i < rs->heap_cnt; i++) {
		if (cursor_is_blocked(rs, rs->heap[i]))
			return true;
	}
	return false;
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

	if (is_blocked(rs))
		return 0;
	while (cnt < cap && rs->heap_cnt) {
		struct ring_cursor *cur = rs->heap[0];
		uint64_t time_ns = cursor_peek(rs, cur);

		if (time_ns > rs->horizon_ns)
			break;
		take_event(rs, cur, time_ns, &events[cnt++]);
		if (cursor_is_blocked(rs, cur))
			break;
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
