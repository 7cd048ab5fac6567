#ifndef NFG_TRACE_WINDOWS_H
#define NFG_TRACE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * When a trace in windows (--duty) is attached: for a share of each cycle, with what attaching takes counted in, for the
 * host's other tasks pay from the first link to the last. A cycle is a second, or longer where attaching takes more
 * than a quarter of that share. Pure: no clock, no I/O.
 */
struct windows {
	uint32_t pct; /* 0: no windows, always attached */
	bool is_open;
	uint64_t attach_ns; /* what attaching took the last time, ... */
	uint64_t detach_ns; /* ... and detaching */
	uint64_t since_ns;  /* since when it is open, or closed */
	uint64_t next_ns;   /* when that changes */
	uint64_t open_ns;   /* sums of windows that ended ... */
	uint64_t closed_ns; /* ... and of the times when nothing was recorded */
	uint32_t cnt;       /* windows, the open one included */
};

/* windows_begin - the trace, already attached, is in windows from @now_ns on, for @pct percent of the time (1 to 99). */
void windows_begin(struct windows *w, uint32_t pct, uint64_t now_ns);

/* windows_is_due - whether to detach, or to attach, at @now_ns. */
static inline bool windows_is_due(const struct windows *w, uint64_t now_ns)
{
	return w->pct && now_ns >= w->next_ns;
}

/* windows_close - it was detached; that began at @began_ns, when calls were no longer recorded. */
void windows_close(struct windows *w, uint64_t began_ns, uint64_t now_ns);

/* windows_open - it is attached again; that began at @began_ns. Return: how long nothing was recorded, in ns. */
uint64_t windows_open(struct windows *w, uint64_t began_ns, uint64_t now_ns);

/*
 * windows_gap - links were made anew, from @began_ns to @now_ns, while the trace is attached. Also without windows.
 *
 * Return: how long nothing was recorded, in ns.
 */
uint64_t windows_gap(struct windows *w, uint64_t began_ns, uint64_t now_ns);

/* windows_end - the trace ends at @now_ns: the sums are complete. */
void windows_end(struct windows *w, uint64_t now_ns);

#endif
