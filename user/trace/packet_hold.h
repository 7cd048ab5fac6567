#ifndef NFG_TRACE_PACKET_HOLD_H
#define NFG_TRACE_PACKET_HOLD_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * Holds back what is not yet known to be ours. The calls that a packet makes in a softirq are
 * recorded before its owner is found (EVENT_TREE_UNSURE); when it is, they go on, whole and in their
 * place; when it is somebody else's, or nobody could tell, none of them does. Pure: no clock, no I/O.
 */
struct packet_hold;

struct packet_hold_stats {
	uint64_t dropped_cnt; /* trees that were somebody else's after all */
	uint64_t unknown_cnt; /* trees whose owner never showed */
};

/* packet_hold_new - Return: 0 or -ENOMEM. Caller frees with packet_hold_free. */
int packet_hold_new(struct packet_hold **out, uint32_t cpu_cnt);
void packet_hold_free(struct packet_hold *ts);

/*
 * packet_hold_feed - take the next @cnt events of the merged stream.
 *
 * Return: 0 or -ENOMEM, after which it may only be freed.
 */
int packet_hold_feed(struct packet_hold *ts, const struct event *events, size_t cnt);

/* packet_hold_finish - what is still not known is not ours. */
void packet_hold_finish(struct packet_hold *ts);

/* packet_hold_take - events that are certain, in order, at most @cap. Return: how many. */
size_t packet_hold_take(struct packet_hold *ts, struct event *events, size_t cap);

const struct packet_hold_stats *packet_hold_stats_get(const struct packet_hold *ts);

#endif
