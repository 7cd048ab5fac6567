#ifndef NFG_LIMITS_THROTTLE_H
#define NFG_LIMITS_THROTTLE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * No second has more than so many entries and exits (--max-events). A second begins with the first call behind the one
 * before; what comes beyond the limit is dropped until the next one, between an EVENT_GAP and an EVENT_LOST on each CPU
 * that has any. Pure: no clock, no I/O.
 */
struct throttle {
	uint64_t max_cnt; /* 0: no limit */
	uint64_t dropped_cnt;
	uint64_t begin_ns; /* of the second */
	uint64_t last_ns;
	uint64_t kept_cnt; /* in it */
	uint32_t cpu_cnt;
	uint32_t gap_cnt;   /* CPUs in a gap of ours */
	uint64_t *cpu_cnts; /* dropped since its EVENT_GAP, + 1; 0: in none */
	struct event *out;
	size_t out_cnt;
};

/*
 * throttle_init - at most @max_cnt a second, of CPUs below @cpu_cnt, in batches of @batch_cnt.
 *
 * Return: 0 or -ENOMEM. throttle_release undoes it.
 */
int throttle_init(struct throttle *th, uint64_t max_cnt, uint32_t cpu_cnt, size_t batch_cnt);
void throttle_release(struct throttle *th);

/*
 * throttle_feed - take the next events of all CPUs in the order of time.
 *
 * Return: how many are in @th->out, until the next call; at most twice as many and one for each CPU.
 */
size_t throttle_feed(struct throttle *th, const struct event *events, size_t cnt);

/* throttle_finish - nothing comes any more: end all gaps. Return: as throttle_feed. */
size_t throttle_finish(struct throttle *th);

#endif
