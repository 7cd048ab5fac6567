#ifndef NFG_TRACE_LIMITS_H
#define NFG_TRACE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/event.h"
#include "trace/functab.h"

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
 * Limits the entries and exits of every second, for --max-events. Those beyond the limit are dropped until
 * the next second begins; on each CPU that has any, an EVENT_GAP and an EVENT_LOST replace them. Pure: no clock, no
 * I/O.
 */
struct throttle {
	uint64_t max_cnt; /* 0: no limit */
	uint64_t dropped_cnt;
	struct second second; /* its event_cnt: entries and exits kept */
	uint64_t last_ns;     /* time of the last event */
	uint32_t cpu_cnt;
	uint32_t gap_cnt;   /* CPUs between such a GAP and LOST */
	uint64_t *cpu_cnts; /* by CPU: calls dropped since its GAP, + 1; 0: it has no gap */
	struct event *out;
	size_t out_cnt;
};

/*
 * throttle_init - keep at most @max_cnt per second, from CPUs below @cpu_cnt; throttle_feed gets at most @batch_cnt.
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

/* ---- windows: --duty ---- */

/*
 * Times at which a trace in windows (--duty) is attached: for a share of each cycle. The share includes the time that
 * attaching takes, because the host's other tasks are slowed down from the first link to the last. A cycle is a second,
 * or longer where attaching takes more than a quarter of that share. Pure: no clock, no I/O.
 */
struct windows {
	uint32_t pct; /* 0: no windows, always attached */
	bool is_open;
	uint64_t attach_ns; /* time that attaching last took ... */
	uint64_t detach_ns; /* ... and detaching */
	uint64_t since_ns;  /* time since which it is open, or closed */
	uint64_t next_ns;   /* time of the next change */
	uint64_t open_ns;   /* total of ended windows ... */
	uint64_t closed_ns; /* ... and of the times without recording */
	uint32_t cnt;       /* number of windows, including the open one */
};

/*
 * windows_begin - trace in windows from @now_ns on, for @pct percent of the time (1 to 99). The trace is already
 * attached.
 */
void windows_begin(struct windows *w, uint32_t pct, uint64_t now_ns);

/* windows_is_due - whether to detach, or to attach, at @now_ns. */
static inline bool windows_is_due(const struct windows *w, uint64_t now_ns)
{
	return w->pct && now_ns >= w->next_ns;
}

/* windows_close - detaching began at @began_ns, when recording stopped, and has ended at @now_ns. */
void windows_close(struct windows *w, uint64_t began_ns, uint64_t now_ns);

/*
 * windows_open - attaching again began at @began_ns, and has ended at @now_ns.
 *
 * Return: how long nothing was recorded, in ns.
 */
uint64_t windows_open(struct windows *w, uint64_t began_ns, uint64_t now_ns);

/*
 * windows_gap - links were replaced, from @began_ns to @now_ns, while the trace is attached. Also without windows.
 *
 * Return: how long nothing was recorded, in ns.
 */
uint64_t windows_gap(struct windows *w, uint64_t began_ns, uint64_t now_ns);

/* windows_end - the trace ends at @now_ns: complete the totals. */
void windows_end(struct windows *w, uint64_t now_ns);

/* ---- functions that a limit left out ---- */

/* The limit that was exceeded. Recordings contain these numbers. */
enum leftout_limit {
	LEFTOUT_OVERHEAD = 1,   /* --max-overhead, percent of a CPU's time */
	LEFTOUT_EVENTS = 2,     /* --max-events, events per second */
	LEFTOUT_NEIGHBOURS = 3, /* --max-overhead, percent that calls cost that are not traced */
	LEFTOUT_LEARNED =
		4, /* --learn, ns: these were not called; measured: the number of functions that stay */
	LEFTOUT_WINDOW =
		5, /* --duty, percent of the time, or 0: all functions, for the measured ns */
};
#define LEFTOUT_LIMIT_CNT 6

/*
 * Functions that a trace stopped recording, because a limit was exceeded, because they were not called, or because it
 * records in windows.
 */
struct leftout {
	uint64_t time_ns;
	uint32_t cpu;    /* the CPU whose column shows the comment */
	uint32_t limit;  /* enum leftout_limit */
	bool is_end;     /* no more functions could be left out: the trace ends here */
	bool is_earlier; /* of a recording: before it begins, so it has no or few of their calls */
	uint64_t measured;
	uint64_t max;
	const uint32_t *func_ids; /* hottest first; borrowed */
	size_t func_cnt;
};

/* leftout_option - the option that sets the limit. */
const char *leftout_option(enum leftout_limit limit);

/* leftout_first - the first limit with the same option, which counts all functions left out for that option. */
enum leftout_limit leftout_first(enum leftout_limit limit);

/*
 * leftout_hides_calls - whether functions that are called are left out for good: those of other limits were not called, or are
 * still traced now and then.
 */
bool leftout_hides_calls(enum leftout_limit limit);

/* Names in a message, which has room for 2,048 bytes. */
#define LEFTOUT_NAME_MAX 12

/*
 * leftout_text - append the text of the trace's comment. Functions that are not in @functab, and learned ones, are not
 * named.
 *
 * @name_max: of more functions only the number is said: LEFTOUT_NAME_MAX, or SIZE_MAX where they are to be kept.
 */
void leftout_text(struct strbuf *out, const struct leftout *lo, const struct functab *functab,
		  size_t name_max);

/*
 * leftout_say - warn how many functions were left out by a limit; @cnts: by enum leftout_limit.
 *
 * @path: of the recording; NULL: this trace.
 */
void leftout_say(const uint32_t cnts[LEFTOUT_LIMIT_CNT], const char *path);

#endif
