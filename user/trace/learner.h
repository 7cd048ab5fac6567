#ifndef NFG_TRACE_LEARNER_H
#define NFG_TRACE_LEARNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "trace/limits.h"

/*
 * Learns which functions are called at all (--learn), so that those that nobody calls can be left out: a start function may
 * reach thousands, a workload calls a few hundred of them, and the others only cost the host's other tasks.
 *
 * The time runs from the first call that is recorded, by the stamps of events: with nothing to learn from, nothing is
 * left out. It begins anew where events were lost, for they may have been a function's only calls, but does not become more
 * than four times as long. Pure: no clock, no I/O.
 */
struct learner {
	const struct functab *functab; /* borrowed; NULL: nothing is learned, or no longer */
	uint64_t learn_ns;
	uint64_t begin_ns; /* of the first call; 0: none yet */
	uint64_t lost_ns;  /* until when events are missing */
	bool *is_called;   /* by function */
	bool *is_near; /* by function: the owner marks those that called ones call (select/reach.h) */
	uint32_t *ids; /* what leftout.func_ids points at */
	struct leftout leftout;
};

/* learner_init - @learn_ns: 0: learn nothing. Return: 0 or -ENOMEM; learner_release undoes it. */
int learner_init(struct learner *ln, const struct functab *functab, uint64_t learn_ns);
void learner_release(struct learner *ln);

/* learner_feed - take the next @cnt events. */
void learner_feed(struct learner *ln, const struct event *events, size_t cnt);

/* learner_pause - nothing was attached for @gap_ns until now: that is no time to learn in. */
void learner_pause(struct learner *ln, uint64_t gap_ns);

/* learner_is_due - whether the time is over at @now_ns: mark is_near, then call learner_decide. */
bool learner_is_due(const struct learner *ln, uint64_t now_ns);

/* learner_has_lost - when it is due: whether events were lost within the last learn_ns, too. */
bool learner_has_lost(const struct learner *ln);

/*
 * learner_decide - choose the attached functions that are neither called nor near, start functions and those asked for by
 * name excepted. Learning ends.
 *
 * Return: borrowed until learner_release; func_cnt is 0 if all of them stay.
 */
const struct leftout *learner_decide(struct learner *ln, uint64_t now_ns);

#endif
