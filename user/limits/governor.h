#ifndef NFG_LIMITS_GOVERNOR_H
#define NFG_LIMITS_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "limits/leftout.h"

/*
 * Keeps a trace within two limits: a share of a CPU's time (--max-overhead) and a number of events per second
 * (--max-events). When a limit is exceeded, the governor names the hottest leaf functions, which are to be left out, or
 * ends the trace. Pure: no clock, no I/O.
 *
 * The share is that of the busiest CPU: its events times the cost of one, plus the reader's time as if the reader ran
 * on that CPU too. Calls that make no event (of tasks out of scope, outside start functions, of packets that are
 * refused) are not in the share: counting them would make each cost more. Two kinds of interval are not judged: those
 * in which events take less than 1 %, and those without a call, for up to a second.
 *
 * Functions that are left out are detached one by one, and each costs something until then. Their events are
 * not judged again.
 *
 * Events per second are the entries and exits of all CPUs, except those of functions that are left out. Their own time
 * stamps decide which second they count in (second.h), for events that are read together need not have happened
 * together. A second is judged as soon as it has more events than the limit, not only at its end.
 */
struct governor;

struct governor_config {
	uint32_t max_pct;        /* 1 to 99; 100: no limit */
	uint64_t max_events_sec; /* 0: no limit */
	uint32_t cpu_cnt;
	uint32_t event_ns_x1000; /* picoseconds that one recorded event takes its task */
	const struct functab *
		functab; /* borrowed. Start functions and those named on the command line are never left out */
};

/* governor_new - Return: 0 or -ENOMEM. Caller frees with governor_free. */
int governor_new(struct governor **out, const struct governor_config *config);
void governor_free(struct governor *gv);

/*
 * governor_events - count the calls of each function, and which of them called nothing. Give it all events of the
 * rings, also those of functions that are left out.
 */
void governor_events(struct governor *gv, const struct event *events, size_t cnt);

enum governor_verdict {
	GOVERNOR_FINE,
	GOVERNOR_LEAVE_OUT, /* the functions of governor_chosen */
	GOVERNOR_STOP,      /* no function can be left out any more that would save much */
};

struct governor_sample {
	uint64_t now_ns;
	uint64_t reader_ns;             /* CPU time of the tracer so far */
	const uint64_t *cpu_event_cnts; /* events of each CPU so far, recorded or lost */
};

/*
 * governor_tick - judge the interval since the last one, if it has lasted GOVERNOR_INTERVAL_NS, and the second that its
 * events are in.
 *
 * The share is exceeded by one interval at twice the limit or by three in a row above it. Then functions are chosen
 * layer by layer, each from the calls of a fifth of an interval, until the functions that stay will be below the limit
 * or no more can be left out.
 *
 * After GOVERNOR_LEAVE_OUT the functions count as left out. Call governor_resume when their detaching has begun: the
 * next interval begins there.
 */
#define GOVERNOR_INTERVAL_NS 100000000ull
enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample);

/* governor_resume - begin a new interval and a new second now; the time before is not judged. */
void governor_resume(struct governor *gv, const struct governor_sample *sample);

/* governor_skip - the reader had to wait: costs are judged from now on only, but this second's events go on counting. */
void governor_skip(struct governor *gv, const struct governor_sample *sample);

/*
 * governor_leftout - what was decided, after any verdict but GOVERNOR_FINE; time_ns is the tick's. After GOVERNOR_FINE
 * only measured counts: what the last interval that was judged took, in percent of the busiest CPU, rounded up.
 * Borrowed until the next tick.
 */
const struct leftout *governor_leftout(const struct governor *gv);

#endif
