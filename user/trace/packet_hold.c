#include "trace/packet_hold.h"

#include <errno.h>
#include <stdlib.h>

/* A position in the queue, counted from the start; NONE: no tree is open. */
#define NONE           UINT64_MAX

#define FIRST_SLOT_CNT 64

struct slot {
	struct event event;
	bool is_dropped;
};

struct packet_hold {
	struct slot *slots; /* a ring */
	size_t slot_cnt;    /* a power of two */
	uint64_t head;      /* position of the next event */
	uint64_t tail;      /* position of the oldest event still held */
	uint64_t *open_at;  /* by CPU: the start of its unsure tree */
	bool *is_doubtful;  /* by CPU: between EVENT_DOUBT and EVENT_SURE */
	uint32_t cpu_cnt;
	struct packet_hold_stats stats;
};

int packet_hold_new(struct packet_hold **out, uint32_t cpu_cnt)
{
	struct packet_hold *hold = calloc(1, sizeof(*hold));

	if (!hold)
		return -ENOMEM;
	hold->cpu_cnt = cpu_cnt;
	hold->slot_cnt = FIRST_SLOT_CNT;
	hold->slots = calloc(hold->slot_cnt, sizeof(*hold->slots));
	hold->open_at = malloc(cpu_cnt * sizeof(*hold->open_at));
	hold->is_doubtful = calloc(cpu_cnt, sizeof(*hold->is_doubtful));
	if (!hold->slots || !hold->open_at || !hold->is_doubtful) {
		packet_hold_free(hold);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < cpu_cnt; i++)
		hold->open_at[i] = NONE;
	*out = hold;
	return 0;
}

void packet_hold_free(struct packet_hold *hold)
{
	if (!hold)
		return;
	free(hold->slots);
	free(hold->open_at);
	free(hold->is_doubtful);
	free(hold);
}

static struct slot *hold_slot_at(const struct packet_hold *hold, uint64_t pos)
{
	return &hold->slots[pos & (hold->slot_cnt - 1)];
}

static int hold_grow(struct packet_hold *hold)
{
	struct slot *slots = calloc(hold->slot_cnt * 2, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint64_t pos = hold->tail; pos != hold->head; pos++)
		slots[pos & (hold->slot_cnt * 2 - 1)] = *hold_slot_at(hold, pos);
	free(hold->slots);
	hold->slots = slots;
	hold->slot_cnt *= 2;
	return 0;
}

/* Drop the open tree. @reason_cnt: counts such trees. */
static void drop_tree(struct packet_hold *hold, uint32_t cpu, uint64_t *reason_cnt)
{
	for (uint64_t pos = hold->open_at[cpu]; pos != hold->head; pos++) {
		struct slot *slot = hold_slot_at(hold, pos);

		/* losses and switches do not belong to a packet */
		if (slot->event.cpu == cpu && event_is_recorded(&slot->event))
			slot->is_dropped = true;
	}
	hold->open_at[cpu] = NONE;
	++*reason_cnt;
}

/* Update the CPU's tree for the event that was just queued. */
static void judge(struct packet_hold *hold, const struct event *ev)
{
	uint64_t *open_at = &hold->open_at[ev->cpu];
	uint64_t newest = hold->head - 1;
	bool is_root = ev->flags & EVENT_TREE_ROOT;

	if (hold->is_doubtful[ev->cpu] && ev->flags & EVENT_TREE_UNSURE) {
		hold->stats.unknown_cnt += is_root && ev->kind == EVENT_ENTRY;
		hold_slot_at(hold, newest)->is_dropped = true;
	} else if (is_root && ev->kind == EVENT_POINT) {
		/* a tracepoint outside every tree, with a packet of its own */
		hold->stats.unknown_cnt += (ev->flags & EVENT_TREE_UNSURE) != 0;
		hold_slot_at(hold, newest)->is_dropped = ev->flags & EVENT_TREE_UNSURE;
	} else if (*open_at == NONE) {
		if (ev->flags & EVENT_TREE_UNSURE)
			*open_at = newest;
		else if (ev->flags & EVENT_TREE_DROP) /* its beginning was lost */
			hold_slot_at(hold, newest)->is_dropped = true;
	} else if (ev->flags & EVENT_TREE_DROP) {
		drop_tree(hold, ev->cpu, &hold->stats.dropped_cnt);
	} else if (!(ev->flags & EVENT_TREE) || (is_root && ev->kind == EVENT_ENTRY)) {
		/* the exit of its root was lost; the newest event may begin another tree */
		drop_tree(hold, ev->cpu, &hold->stats.unknown_cnt);
		hold_slot_at(hold, newest)->is_dropped = false;
		if (ev->flags & EVENT_TREE_UNSURE)
			*open_at = newest;
	} else if (!(ev->flags & EVENT_TREE_UNSURE)) {
		*open_at = NONE; /* in scope */
	} else if (is_root) {
		drop_tree(hold, ev->cpu, &hold->stats.unknown_cnt);
	}
}

int packet_hold_feed(struct packet_hold *hold, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct event *ev = &events[i];

		if (hold->head - hold->tail == hold->slot_cnt && hold_grow(hold))
			return -ENOMEM;
		*hold_slot_at(hold, hold->head++) = (struct slot){ .event = *ev };
		if (ev->cpu >= hold->cpu_cnt)
			continue;
		if (event_is_recorded(ev)) {
			judge(hold, ev);
			continue;
		}
		/*
		 * The end of the open tree may be missing, so the next events on its CPU may belong to another tree
		 * and do not decide this one.
		 */
		if (ev->kind == EVENT_DOUBT || ev->kind == EVENT_SURE)
			hold->is_doubtful[ev->cpu] = ev->kind == EVENT_DOUBT;
		else if (ev->kind != EVENT_LOST && ev->kind != EVENT_GAP)
			continue;
		if (hold->open_at[ev->cpu] != NONE)
			drop_tree(hold, ev->cpu, &hold->stats.unknown_cnt);
	}
	return 0;
}

void packet_hold_finish(struct packet_hold *hold)
{
	for (uint32_t i = 0; i < hold->cpu_cnt; i++) {
		if (hold->open_at[i] != NONE)
			drop_tree(hold, i, &hold->stats.unknown_cnt);
	}
}

bool packet_hold_is_empty(const struct packet_hold *hold)
{
	return hold->head == hold->tail;
}

size_t packet_hold_take(struct packet_hold *hold, struct event *events, size_t cap)
{
	uint64_t end = hold->head;
	size_t cnt = 0;

	for (uint32_t i = 0; i < hold->cpu_cnt; i++) {
		if (hold->open_at[i] < end)
			end = hold->open_at[i];
	}
	for (; hold->tail < end && cnt < cap; hold->tail++) {
		const struct slot *slot = hold_slot_at(hold, hold->tail);

		if (!slot->is_dropped)
			events[cnt++] = slot->event;
	}
	return cnt;
}

const struct packet_hold_stats *packet_hold_stats_get(const struct packet_hold *hold)
{
	return &hold->stats;
}
