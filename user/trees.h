/* layer 29: model */
#ifndef NFG_TREES_H
#define NFG_TREES_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

/*
 * Holds back what is not yet known to be ours. The calls that a packet makes in a softirq are
 * recorded before its owner is found (EVENT_TREE_UNSURE); when it is, they go on, whole and in their
 * place; when it is somebody else's, or nobody could tell, none of them does. Pure: no clock, no I/O.
 */
struct trees;

struct trees_stats {
	uint64_t dropped_cnt; /* trees that were somebody else's after all */
	uint64_t unknown_cnt; /* trees whose owner never showed */
};

/* trees_new - Return: 0 or -ENOMEM. Caller frees with trees_free. */
int trees_new(struct trees **out, uint32_t cpu_cnt);
void trees_free(struct trees *ts);

/*
 * trees_feed - take the next @cnt events of the merged stream.
 *
 * Return: 0 or -ENOMEM, after which it may only be freed.
 */
int trees_feed(struct trees *ts, const struct event *events, size_t cnt);

/* trees_finish - what is still not known is not ours. */
void trees_finish(struct trees *ts);

/* trees_take - events that are certain, in order, at most @cap. Return: how many. */
size_t trees_take(struct trees *ts, struct event *events, size_t cap);

const struct trees_stats *trees_stats_get(const struct trees *ts);

#endif
