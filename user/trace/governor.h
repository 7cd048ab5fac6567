#ifndef NFG_TRACE_GOVERNOR_H
#define NFG_TRACE_GOVERNOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"
#include "trace/functab.h"
#include "trace/limits.h"

/*
 * Keeps a trace within two limits: a share of a CPU's time (--max-overhead) and a number of events per second
 * (--max-events). If a limit is exceeded, the governor names the hottest leaf functions to leave out, or ends the
 * trace. Pure: no clock, no I/O.
 *
 * The share is that of the busiest CPU: its events times the cost of one, plus the reader's time, as if the reader ran
 * on that CPU. Calls without an event (of tasks out of scope, outside start functions, of refused packets) are not in
 * this share (struct neighbours has them). Nor are the events of packets whose owner turns out to be out of scope:
 * because of them, functions would be left out that the scope needs. Two kinds of interval are not judged: those in
 * which events take less than 1 %, and, for up to a second, those without a call.
 *
 * Functions that are left out are detached one by one, and each still costs time until its turn. Their events are not
 * judged again.
 *
 * Events per second are the entries and exits of all CPUs, except those of functions that are left out. An event's time
 * stamp decides its second (limits.h), because events that are read together need not have occurred together. A second
 * is judged as soon as it has more events than the limit, not only at its end.
 */
struct governor;

struct governor_config {
	uint32_t max_pct;        /* 1 to 99; 100: no limit */
	uint64_t max_events_sec; /* 0: no limit */
	uint32_t cpu_cnt;
	bool holds_packets;      /* events may belong to packets whose owner is not yet known */
	uint32_t event_ns_x1000; /* picoseconds that one recorded event costs its task */
	const struct functab *
		functab; /* borrowed. Start functions and those named on the command line are never left out; func.goes_last */
};

/* governor_new - Return: 0 or -ENOMEM. Caller frees with governor_free. */
int governor_new(struct governor **out, const struct governor_config *config);
void governor_free(struct governor *gv);

/*
 * governor_events - count each function's calls, and the calls without callees. Takes all events of the rings,
 * including those of functions that are left out.
 */
void governor_events(struct governor *gv, const struct event *events, size_t cnt);

enum governor_verdict {
	GOVERNOR_FINE,
	GOVERNOR_LEAVE_OUT, /* the functions of governor_leftout */
	GOVERNOR_STOP,      /* more functions to leave out would not save much */
};

struct governor_sample {
	uint64_t now_ns;
	uint64_t reader_ns;             /* CPU time of the tracer so far */
	const uint64_t *cpu_event_cnts; /* events of each CPU so far, recorded or lost */
};

/*
 * governor_tick - judge the current interval, if it has lasted GOVERNOR_INTERVAL_NS, and the current second.
 *
 * The share is exceeded by one interval at twice the limit or by three in a row above it. Then functions are chosen
 * layer by layer, each from the calls of a fifth of an interval, until the remaining functions are expected below the
 * limit or no more can be left out. If none can be left out, the trace ends once the mean share of the last second is
 * above the limit: a burst that is over by then ends nothing.
 *
 * After GOVERNOR_LEAVE_OUT the functions count as left out. Call governor_resume once their detaching has begun: the
 * next interval begins then.
 */
#define GOVERNOR_INTERVAL_NS 100000000ull
enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample);

/*
 * governor_set_duty - only @duty_pct percent of the time is traced and judged from now on; shares refer to the whole
 * time.
 */
void governor_set_duty(struct governor *gv, uint32_t duty_pct);

/* governor_pause - nothing was attached for the last @gap_ns: exclude them from the interval. */
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

/* ---- the cost of calls that are not traced ---- */

/*
 * Keeps the cost of a trace for tasks that are not traced within a limit: a share of the busiest CPU's time, estimated
 * from samples of calls that are not recorded (attach/bpfobj.h) and the cost of one. If it is exceeded, the functions
 * that such tasks call most are left out, or the trace ends. Pure: no clock, no I/O.
 */
struct neighbours;

struct neighbours_config {
	uint32_t max_pct; /* 1 to 99 */
	uint32_t cpu_cnt;
	uint32_t call_ns_x1000;  /* picoseconds that a call costs if it is not recorded ... */
	uint32_t count_ns_x1000; /* ... and the additional cost while it is counted */
	uint32_t
		packet_ns_x1000; /* cost of a packet whose owner is not in scope, in addition to its calls */
	const struct functab *
		functab; /* borrowed. Start functions and those named on the command line are never left out; func.goes_last */
};

/* neighbours_new - Return: 0 or -ENOMEM. Caller frees with neighbours_free. */
int neighbours_new(struct neighbours **out, const struct neighbours_config *config);
void neighbours_free(struct neighbours *nb);

/* Counts of calls that were not recorded, from a few milliseconds. */
struct neighbours_sample {
	uint64_t now_ns;
	uint64_t took_ns;
	const uint32_t *cpu_cnts;    /* by CPU ... */
	const uint32_t *packet_cnts; /* ... and packets that were not in scope */
	const uint64_t *func_cnts;   /* by function of the functab */
};

/*
 * neighbours_judge - judge a sample. The limit is exceeded after two samples in a row above it; the trace ends after
 * five in which no function can be left out. The cost of functions that are left out already does not count, because it
 * ends when they are detached. Leaving functions out does not reduce the cost of finding a packet's owner: if that
 * alone is too much, the trace ends.
 */
enum governor_verdict neighbours_judge(struct neighbours *nb,
				       const struct neighbours_sample *sample);

/*
 * neighbours_set_duty - only @duty_pct percent of the time is traced and sampled from now on; shares refer to the whole
 * time.
 */
void neighbours_set_duty(struct neighbours *nb, uint32_t duty_pct);

/* neighbours_is_over - whether the last sample was above the limit, and the next one should come soon. */
bool neighbours_is_over(const struct neighbours *nb);

/*
 * neighbours_share_permille - the share in the last sample, or with @most the highest so far, in thousandths of the
 * busiest CPU's time.
 */
uint32_t neighbours_share_permille(const struct neighbours *nb, bool most);

/* neighbours_leftout - the decision, after any verdict except GOVERNOR_FINE. Borrowed until the next one. */
const struct leftout *neighbours_leftout(const struct neighbours *nb);

/*
 * Upper bounds for the extra cost of a datagram, from one socket to another of the host, while some functions are
 * traced.
 */
struct forecast {
	uint32_t call_cnt;  /* calls of these functions */
	uint32_t traced_ns; /* if the calls are recorded ... */
	uint32_t others_ns; /* ... and if not: for tasks out of scope */
	uint32_t kept_pct;  /* remaining speed of a task out of scope that does nothing else */
	uint32_t traced_kept_pct; /* remaining speed of a task whose calls are recorded */
};

struct forecast_prices {
	uint32_t insn_ps;      /* of an instruction, in picoseconds */
	uint32_t traced_insns; /* of a call that is recorded */
	uint32_t other_insns;  /* of a call that is not recorded */
};

/* If other tasks keep less of their speed than this, the trace warns before it begins. */
#define FORECAST_LITTLE_PCT 33

/* It warns of so many functions of all tasks, too, however they were chosen. */
#define FORECAST_MANY_FUNCS 1000

/* Then functions at most this many calls below start functions get a forecast of their own, and are recommended. */
#define FORECAST_NEAR_DEPTH 3

/* forecast_of - the forecast for @call_cnt calls of traced functions on a datagram's path. */
struct forecast forecast_of(uint32_t call_cnt, const struct forecast_prices *prices);

#endif
