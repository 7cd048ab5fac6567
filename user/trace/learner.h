#ifndef NFG_TRACE_LEARNER_H
#define NFG_TRACE_LEARNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "trace/limits.h"

/*
 * Learns which functions are called at all (--learn), so that uncalled ones can be left out: a start function may reach
 * thousands, a workload calls a few hundred of them, and the others only slow down the host's other tasks.
 *
 * The time starts with the first recorded call, by the time stamps of events: without calls nothing is left out. It
 * starts again when events are lost, because they may have been a function's only calls, but does not become more than
 * four times as long. Pure: no clock, no I/O.
 */
struct learner {
	const struct functab *functab; /* borrowed; NULL: learning is off or has ended */
	uint64_t learn_ns;
	uint64_t begin_ns; /* time of the first call; 0: none yet */
	uint64_t lost_ns;  /* end of the last loss of events */
	bool *is_called;   /* by function */
	bool *is_near; /* by function: the owner marks functions that the called ones call (select/reach.h) */
	uint32_t *ids; /* target of leftout.func_ids */
	struct leftout leftout;
};

/* learner_init - @learn_ns: 0: off. Return: 0 or -ENOMEM; learner_release undoes it. */
int learner_init(struct learner *ln, const struct functab *functab, uint64_t learn_ns);
void learner_release(struct learner *ln);

/* learner_feed - take the next @cnt events. */
void learner_feed(struct learner *ln, const struct event *events, size_t cnt);

/* learner_pause - nothing was attached for the last @gap_ns: exclude them from the time. */
void learner_pause(struct learner *ln, uint64_t gap_ns);

/* learner_is_due - whether the time is over at @now_ns: mark is_near, then call learner_decide. */
bool learner_is_due(const struct learner *ln, uint64_t now_ns);

/* learner_has_lost - once it is due: whether events were lost even within the last learn_ns. */
bool learner_has_lost(const struct learner *ln);

/*
 * learner_decide - choose the attached functions that are neither called nor near, except start functions and functions
 * requested by name. Ends the learning.
 *
 * Return: borrowed until learner_release; func_cnt is 0 if no function is left out.
 */
const struct leftout *learner_decide(struct learner *ln, uint64_t now_ns);

#endif
