#ifndef NFG_TRACE_PACKET_HOLD_H
#define NFG_TRACE_PACKET_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * Holds events back until it is known whether they are in scope. The calls for a packet in a softirq are recorded
 * before the packet's owner is known (EVENT_TREE_UNSURE). If the owner turns out to be in scope, all of them pass, in
 * order; if not, or if the owner is never found, none does. Pure: no clock, no I/O.
 */
struct packet_hold;

struct packet_hold_stats {
	uint64_t dropped_cnt; /* trees whose owner was not in scope */
	uint64_t unknown_cnt; /* trees whose owner was never found */
};

/* packet_hold_new - Return: 0 or -ENOMEM. Caller frees with packet_hold_free. */
int packet_hold_new(struct packet_hold **out, uint32_t cpu_cnt);
void packet_hold_free(struct packet_hold *hold);

/*
 * packet_hold_feed - take the next @cnt events of the merged stream.
 *
 * Return: 0 or -ENOMEM, after which it may only be freed.
 */
int packet_hold_feed(struct packet_hold *hold, const struct event *events, size_t cnt);

/* packet_hold_finish - count trees that are still held as unknown, and drop them. */
void packet_hold_finish(struct packet_hold *hold);

/* packet_hold_is_empty - nothing is held back. */
bool packet_hold_is_empty(const struct packet_hold *hold);

/* packet_hold_take - move events that passed to @events, in order, at most @cap. Return: their number. */
size_t packet_hold_take(struct packet_hold *hold, struct event *events, size_t cap);

const struct packet_hold_stats *packet_hold_stats_get(const struct packet_hold *hold);

#endif
