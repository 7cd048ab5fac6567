#ifndef NFG_TRACE_THROTTLE_H
#define NFG_TRACE_THROTTLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * One second of a trace on the clock of its events, as --max-events counts them. A second begins with the first event
 * after the previous one; a late event counts in the current second. Zeroed: none has begun.
 */
struct second {
	bool has_begun;
	uint64_t begin_ns;
	uint64_t event_cnt; /* counted by the owner */
};

/* second_is_over - whether an event at @time_ns is the first of a new second. */
static inline bool second_is_over(const struct second *sec, uint64_t time_ns)
{
	return !sec->has_begun ||
	       (time_ns > sec->begin_ns && time_ns - sec->begin_ns >= 1000000000);
}

/* second_begin - begin a new second with an event at @time_ns, which is not counted yet. */
static inline void second_begin(struct second *sec, uint64_t time_ns)
{
	*sec = (struct second){ .has_begun = true, .begin_ns = time_ns };
}

/*
 * Limits the entries and exits of every second (throttle.h), for --max-events. Those beyond the limit are dropped until
 * the next second begins; on each CPU that has any, an EVENT_GAP and an EVENT_LOST replace them. Pure: no clock, no
 * I/O.
 */
struct throttle {
	uint64_t max_cnt; /* 0: no limit */
	uint64_t dropped_cnt;
	struct second second; /* its event_cnt: entries and exits kept */
	uint64_t last_ns;     /* of the last event */
	uint32_t cpu_cnt;
	uint32_t gap_cnt;   /* CPUs between such a GAP and LOST */
	uint64_t *cpu_cnts; /* by CPU: calls dropped since its GAP, + 1; 0: it is in none */
	struct event *out;
	size_t out_cnt;
};

/*
 * throttle_init - keep at most @max_cnt per second, of CPUs below @cpu_cnt; throttle_feed gets at most @batch_cnt.
 *
 * Return: 0 or -ENOMEM. throttle_release undoes it.
 */
int throttle_init(struct throttle *th, uint64_t max_cnt, uint32_t cpu_cnt, size_t batch_cnt);
void throttle_release(struct throttle *th);

/*
 * throttle_feed - take the next @cnt events of all CPUs, in order of time.
 *
 * Return: the number of events in @th->out, valid until the next call; at most 2 * @cnt and one for each CPU.
 */
size_t throttle_feed(struct throttle *th, const struct event *events, size_t cnt);

/* throttle_finish - end all gaps; no event may follow. Return: as throttle_feed. */
size_t throttle_finish(struct throttle *th);

#endif
