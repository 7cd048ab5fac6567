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
 * (--max-events). When a limit is exceeded, the governor names the hottest leaf functions to leave out, or ends the
 * trace. Pure: no clock, no I/O.
 *
 * The share is that of the busiest CPU: its events times the cost of one, plus the reader's time as if the reader ran
 * on that CPU too. Calls without an event (of tasks out of scope, outside start functions, of refused packets) are
 * not in this share (struct neighbours has them). Nor are the events of packets whose owner turns out not to
 * be in scope: leaving functions out because of others would take them from the scope. Two kinds of interval are not judged: those in which
 * events take less than 1 %, and, for up to a second, those without a call.
 *
 * Functions that are left out are detached one by one, and each costs something until its turn. Their events are not
 * judged again.
 *
 * Events per second are the entries and exits of all CPUs, except those of functions that are left out. An event's
 * time stamp decides its second (limits.h), because events that are read together need not have occurred together. A
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

/* ---- calls that are not traced ---- */

/*
 * Keeps what a trace costs tasks that are not traced within a limit: a share of the busiest CPU's time, estimated from
 * samples of calls that are not recorded (attach/bpfobj.h) and the cost of one. When it is exceeded, the functions that
 * such tasks call most are named, to be left out, or the trace ends. Pure: no clock, no I/O.
 */
struct neighbours;

struct neighbours_config {
	uint32_t max_pct; /* 1 to 99 */
	uint32_t cpu_cnt;
	uint32_t call_ns_x1000;  /* picoseconds that a call costs which is not recorded ... */
	uint32_t count_ns_x1000; /* ... and how many more while it is counted */
	uint32_t
		packet_ns_x1000; /* that a packet costs whose owner is not in scope, beside its calls */
	const struct functab *
		functab; /* borrowed. Start functions and those named on the command line are never left out */
};

/* neighbours_new - Return: 0 or -ENOMEM. Caller frees with neighbours_free. */
int neighbours_new(struct neighbours **out, const struct neighbours_config *config);
void neighbours_free(struct neighbours *nb);

/* Calls that were not recorded, of a few milliseconds. */
struct neighbours_sample {
	uint64_t now_ns;
	uint64_t took_ns;
	const uint32_t *cpu_cnts;    /* by CPU ... */
	const uint32_t *packet_cnts; /* ... and packets that were not in scope */
	const uint64_t *func_cnts;   /* by function of the functab */
};

/*
 * neighbours_judge - the limit is exceeded by two samples in a row, and the trace ends after five in which no function can
 * be left out. What functions take
 * that are left out already goes with their detaching, and does not count. Leaving functions out does not spare what is looked
 * up for a packet: if that alone is too much, the trace ends.
 */
enum governor_verdict neighbours_judge(struct neighbours *nb,
				       const struct neighbours_sample *sample);

/* neighbours_set_duty - only @duty_pct percent of the time is traced from now on, and sampled: shares are of all of it. */
void neighbours_set_duty(struct neighbours *nb, uint32_t duty_pct);

/* neighbours_is_over - whether the last sample was above the limit, and the next one should come soon. */
bool neighbours_is_over(const struct neighbours *nb);

/*
 * neighbours_share_permille - the share by the last sample, or with @most the greatest so far, in thousandths of the busiest
 * CPU's time.
 */
uint32_t neighbours_share_permille(const struct neighbours *nb, bool most);

/* neighbours_leftout - the decision, after any verdict except GOVERNOR_FINE. Borrowed until the next one. */
const struct leftout *neighbours_leftout(const struct neighbours *nb);

/* The extra cost of a datagram, from one socket to another of the host, while some functions are traced; at most. */
struct forecast {
	uint32_t call_cnt;  /* calls of these functions */
	uint32_t traced_ns; /* if they are recorded ... */
	uint32_t others_ns; /* ... and if not: of tasks out of scope */
	uint32_t kept_pct;  /* of its speed, by a task out of scope that does nothing else, ... */
	uint32_t traced_kept_pct; /* ... and by one whose calls are recorded */
};

struct forecast_prices {
	uint32_t insn_ps;      /* an instruction, in picoseconds */
	uint32_t traced_insns; /* a call that is recorded */
	uint32_t other_insns;  /* a call that is not */
};

/* Others keep so little of their speed that the trace says so before it begins. */
#define FORECAST_LITTLE_PCT 33

/* What is no more than so many calls below start functions is forecast beside it then, and recommended. */
#define FORECAST_NEAR_DEPTH 3

/* forecast_of - for so many calls of traced functions in a datagram's way. */
struct forecast forecast_of(uint32_t call_cnt, const struct forecast_prices *prices);

#endif
