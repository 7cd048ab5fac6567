#ifndef NFG_TRACE_GOVERNOR_H
#define NFG_TRACE_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "trace/leftout.h"

/*
 * Keeps a trace within two limits: a share of a CPU's time (--max-overhead) and a number of events per second
 * (--max-events). When a limit is exceeded, the governor names the hottest leaf functions to leave out, or ends the
 * trace. Pure: no clock, no I/O.
 *
 * The share is that of the busiest CPU: its events times the cost of one, plus the reader's time as if the reader ran
 * on that CPU too. Calls without an event (of tasks out of scope, outside start functions, of refused packets) are
 * not in this share (neighbours.h has them). Nor are the events of packets whose owner turns out not to
 * be in scope: leaving functions out because of others would take them from the scope. Two kinds of interval are not judged: those in which
 * events take less than 1 %, and, for up to a second, those without a call.
 *
 * Functions that are left out are detached one by one, and each costs something until its turn. Their events are not
 * judged again.
 *
 * Events per second are the entries and exits of all CPUs, except those of functions that are left out. An event's
 * time stamp decides its second (throttle.h), because events that are read together need not have occurred together. A
 * second is judged as soon as it has more events than the limit, not only at its end.
 */
struct governor;

struct governor_config {
	uint32_t max_pct;        /* 1 to 99; 100: no limit */
	uint64_t max_events_sec; /* 0: no limit */
	uint32_t cpu_cnt;
	bool holds_packets;      /* events may be those of packets whose owner is not known yet */
	uint32_t event_ns_x1000; /* picoseconds that one recorded event costs its task */
	const struct functab *
		functab; /* borrowed. Start functions and those named on the command line are never left out */
};

/* governor_new - Return: 0 or -ENOMEM. Caller frees with governor_free. */
int governor_new(struct governor **out, const struct governor_config *config);
void governor_free(struct governor *gv);

/*
 * governor_events - count each function's calls, and those without callees. Takes all events of the rings, also those
 * of functions that are left out.
 */
void governor_events(struct governor *gv, const struct event *events, size_t cnt);

enum governor_verdict {
	GOVERNOR_FINE,
	GOVERNOR_LEAVE_OUT, /* the functions of governor_leftout */
	GOVERNOR_STOP,      /* leaving out more functions would not save much */
};

struct governor_sample {
	uint64_t now_ns;
	uint64_t reader_ns;             /* CPU time of the tracer so far */
	const uint64_t *cpu_event_cnts; /* events of each CPU so far, recorded or lost */
};

/*
 * governor_tick - judge the interval since the last one, if it has lasted GOVERNOR_INTERVAL_NS, and the current
 * second.
 *
 * The share is exceeded by one interval at twice the limit or by three in a row above it. Then functions are chosen
 * layer by layer, each from the calls of a fifth of an interval, until the remaining functions are expected below the
 * limit or no more can be left out.
 *
 * After GOVERNOR_LEAVE_OUT the functions count as left out. Call governor_resume once their detaching has begun: the
 * next interval begins there.
 */
#define GOVERNOR_INTERVAL_NS 100000000ull
enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample);

/* governor_set_duty - only @duty_pct percent of the time is traced from now on, and judged: shares are of all of it. */
void governor_set_duty(struct governor *gv, uint32_t duty_pct);

/* governor_pause - nothing was attached for @gap_ns until now: the interval goes on as if that had not passed. */
void governor_pause(struct governor *gv, uint64_t gap_ns);

/* governor_resume - begin a new interval and a new second now; the time before is not judged. */
void governor_resume(struct governor *gv, const struct governor_sample *sample);

/* governor_skip - the reader had to wait: ignore costs before now, but keep counting this second's events. */
void governor_skip(struct governor *gv, const struct governor_sample *sample);

/*
 * governor_leftout - the decision, after any verdict except GOVERNOR_FINE; time_ns is the tick's. After GOVERNOR_FINE
 * only measured is set: the share of the last judged interval, in percent of the busiest CPU, rounded up. Borrowed
 * until the next tick.
 */
const struct leftout *governor_leftout(const struct governor *gv);

#endif
