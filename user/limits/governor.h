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
 * (--max-events). When one is exceeded it names the hottest leaf functions, to be left out, or asks for
 * the end. Pure: no clock, no I/O.
 *
 * The share is that of the busiest CPU: its events times what one costs, plus the reader as if it ran
 * there too. Calls that are not recorded (of tasks that are not traced, not below a start function, of packets
 * that are refused) make no event and are not in it: each would cost more if programs counted them. An interval in
 * which events take less than 1 % is not judged, nor one without a call for up to a second.
 *
 * Functions that were left out are detached one after the other, and go on to cost something until it is their turn.
 * What their events took is not judged again.
 *
 * Events per second are entries and exits of all CPUs, but for functions that were left out, counted in seconds of
 * their own time: what was read late, all at once, did not happen at once. A second begins with the first event behind
 * the one before, and is judged when it has more than the limit, not only at its end.
 */
struct governor;

struct governor_config {
	uint32_t max_pct;        /* 1 to 99; 100: no limit */
	uint64_t max_events_sec; /* 0: no limit */
	uint32_t cpu_cnt;
	uint32_t event_ns_x1000; /* picoseconds that one recorded event takes its task */
	const struct functab
		*functab; /* borrowed. Start functions and those asked for by name stay */
};

/* governor_new - Return: 0 or -ENOMEM. Caller frees with governor_free. */
int governor_new(struct governor **out, const struct governor_config *config);
void governor_free(struct governor *gv);

/*
 * governor_events - count the calls of each function, and which of them called nothing. All that comes out of the
 * rings: what is of functions that were left out too.
 */
void governor_events(struct governor *gv, const struct event *events, size_t cnt);

enum governor_verdict {
	GOVERNOR_FINE,
	GOVERNOR_LEAVE_OUT, /* the functions of governor_chosen */
	GOVERNOR_STOP,      /* nothing is left to leave out, or nothing that would spare much */
};

struct governor_sample {
	uint64_t now_ns;
	uint64_t reader_ns;             /* CPU time of the tracer so far */
	const uint64_t *cpu_event_cnts; /* events of each CPU so far, recorded or lost */
};

/*
 * governor_tick - judge the time since the last tick that was judged, at least GOVERNOR_INTERVAL_NS ago, and the
 * second that its events are in.
 *
 * One interval at twice the limit or three above it are too much. Then functions are chosen layer by layer, each
 * from what happens in a fifth of an interval, until what stays will be below the limit or nothing more can go.
 *
 * After GOVERNOR_LEAVE_OUT the functions count as left out, and the next interval begins with the
 * governor_resume that follows, when their detaching has begun.
 */
#define GOVERNOR_INTERVAL_NS 100000000ull
enum governor_verdict governor_tick(struct governor *gv, const struct governor_sample *sample);

/* governor_resume - begin a new interval and a new second here: what came before is not judged. */
void governor_resume(struct governor *gv, const struct governor_sample *sample);

/* governor_skip - the reader waits: what that costs is not judged, but the events of this second count on. */
void governor_skip(struct governor *gv, const struct governor_sample *sample);

/*
 * governor_leftout - what was decided, after any verdict but GOVERNOR_FINE. Borrowed until the next tick; time_ns is
 * the tick's.
 */
const struct leftout *governor_leftout(const struct governor *gv);

/* governor_share_pct - what the last interval that was judged cost, in percent of the busiest CPU, rounded up. */
uint32_t governor_share_pct(const struct governor *gv);

#endif
