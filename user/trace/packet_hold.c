#include "trace/packet_hold.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A place in the queue, counted from the beginning of time; NONE: no tree is open. */
#define NONE           UINT64_MAX

#define FIRST_SLOT_CNT 64

struct slot {
	struct event event;
	bool is_dropped;
};

struct packet_hold {
	struct slot *slots; /* a ring */
	size_t slot_cnt;    /* a power of two */
	uint64_t head;      /* where the next event goes */
	uint64_t tail;      /* the oldest that is here */
	uint64_t *open_at;  /* by CPU: where its unsure tree began */
	bool *is_doubtful;  /* by CPU: between EVENT_DOUBT and EVENT_SURE */
	uint32_t cpu_cnt;
	struct packet_hold_stats stats;
};

int packet_hold_new(struct packet_hold **out, uint32_t cpu_cnt)
{
	struct packet_hold *ts = calloc(1, sizeof(*ts));

	if (!ts)
		return -ENOMEM;
	ts->cpu_cnt = cpu_cnt;
	ts->slot_cnt = FIRST_SLOT_CNT;
	ts->slots = calloc(ts->slot_cnt, sizeof(*ts->slots));
	ts->open_at = malloc(cpu_cnt * sizeof(*ts->open_at));
	ts->is_doubtful = calloc(cpu_cnt, sizeof(*ts->is_doubtful));
	if (!ts->slots || !ts->open_at || !ts->is_doubtful) {
		packet_hold_free(ts);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cpu_cnt; i++)
		ts->open_at[i] = NONE;
	*out = ts;
	return 0;
}

void packet_hold_free(struct packet_hold *ts)
{
	if (!ts)
		return;
	free(ts->slots);
	free(ts->open_at);
	free(ts->is_doubtful);
	free(ts);
}

static struct slot *slot_at(const struct packet_hold *ts, uint64_t pos)
{
	return &ts->slots[pos & (ts->slot_cnt - 1)];
}

static int grow(struct packet_hold *ts)
{
	struct slot *slots = calloc(ts->slot_cnt * 2, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint64_t pos = ts->tail; pos != ts->head; pos++)
		slots[pos & (ts->slot_cnt * 2 - 1)] = *slot_at(ts, pos);
	free(ts->slots);
	ts->slots = slots;
	ts->slot_cnt *= 2;
	return 0;
}

static void drop_tree(struct packet_hold *ts, uint32_t cpu)
{
	for (uint64_t pos = ts->open_at[cpu]; pos != ts->head; pos++) {
		struct slot *slot = slot_at(ts, pos);

		/* what was lost is lost, whoever it belonged to; switches belong to no packet */
		if (slot->event.cpu == cpu && event_is_call(&slot->event))
			slot->is_dropped = true;
	}
	ts->open_at[cpu] = NONE;
}

/* The tree that is open ends without a verdict before the newest event, which may begin another. */
static void restart(struct packet_hold *ts, const struct event *ev)
{
	uint64_t newest = ts->head - 1;

	ts->stats.unknown_cnt++;
	drop_tree(ts, ev->cpu);
	slot_at(ts, newest)->is_dropped = false;
	if (ev->flags & EVENT_TREE_UNSURE)
		ts->open_at[ev->cpu] = newest;
}

/*
 * The end of the tree that is open may be missing, so what comes next on its CPU may be of another: it tells
 * nothing of this one.
 */
static void end_tree(struct packet_hold *ts, const struct event *ev)
{
	if (ev->kind == EVENT_DOUBT || ev->kind == EVENT_SURE)
		ts->is_doubtful[ev->cpu] = ev->kind == EVENT_DOUBT;
	else if (ev->kind != EVENT_LOST && ev->kind != EVENT_GAP)
		return;
	if (ts->open_at[ev->cpu] == NONE)
		return;
	ts->stats.unknown_cnt++;
	drop_tree(ts, ev->cpu);
}

static void judge_tree(struct packet_hold *ts, const struct event *ev)
{
	uint64_t *open_at = &ts->open_at[ev->cpu];
	bool is_root = ev->flags & EVENT_TREE_ROOT;

	if (*open_at == NONE) {
		if (ev->flags & EVENT_TREE_UNSURE)
			*open_at = ts->head - 1;
		else if (ev->flags & EVENT_TREE_DROP) /* its beginning was lost */
			slot_at(ts, ts->head - 1)->is_dropped = true;
	} else if (ev->flags & EVENT_TREE_DROP) {
		ts->stats.dropped_cnt++;
		drop_tree(ts, ev->cpu);
	} else if (!(ev->flags & EVENT_TREE) || (is_root && ev->kind == EVENT_ENTRY)) {
		restart(ts, ev); /* the exit of its root was lost */
	} else if (!(ev->flags & EVENT_TREE_UNSURE)) {
		*open_at = NONE; /* ours */
	} else if (is_root) {
		ts->stats.unknown_cnt++;
		drop_tree(ts, ev->cpu);
	}
}

/* The event has just been queued: what does it say of its CPU's tree? */
static void judge(struct packet_hold *ts, const struct event *ev)
{
	if (ts->is_doubtful[ev->cpu] && ev->flags & EVENT_TREE_UNSURE) {
		ts->stats.unknown_cnt += (ev->flags & EVENT_TREE_ROOT) && ev->kind == EVENT_ENTRY;
		slot_at(ts, ts->head - 1)->is_dropped = true;
		return;
	}
	judge_tree(ts, ev);
}

int packet_hold_feed(struct packet_hold *ts, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		if (ts->head - ts->tail == ts->slot_cnt && grow(ts))
			return -ENOMEM;
		*slot_at(ts, ts->head++) = (struct slot){ .event = events[i] };
		if (events[i].cpu >= ts->cpu_cnt)
			continue;
		if (event_is_call(&events[i]))
			judge(ts, &events[i]);
		else
			end_tree(ts, &events[i]);
	}
	return 0;
}

void packet_hold_finish(struct packet_hold *ts)
{
	for (uint32_t i = 0; i < ts->cpu_cnt; i++) {
		if (ts->open_at[i] == NONE)
			continue;
		ts->stats.unknown_cnt++;
		drop_tree(ts, i);
	}
}

size_t packet_hold_take(struct packet_hold *ts, struct event *events, size_t cap)
{
	uint64_t end = ts->head;
	size_t cnt = 0;

	for (uint32_t i = 0; i < ts->cpu_cnt; i++) {
		if (ts->open_at[i] < end)
			end = ts->open_at[i];
	}
	for (; ts->tail < end && cnt < cap; ts->tail++) {
		const struct slot *slot = slot_at(ts, ts->tail);

		if (!slot->is_dropped)
			events[cnt++] = slot->event;
	}
	return cnt;
}

const struct packet_hold_stats *packet_hold_stats_get(const struct packet_hold *ts)
{
	return &ts->stats;
}
