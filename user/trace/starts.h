#ifndef NFG_TRACE_STARTS_H
#define NFG_TRACE_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/callstack.h"
#include "trace/event.h"
#include "trace/netcost.h"

/*
 * Selects calls by the functions above them: only calls below start functions (-G), not below functions of -g, and only
 * below start functions that took long (--slower-than) or returned a matching result. Works per task, because calls
 * sleep and migrate; each CPU's idle task is a separate task. Pure: no clock, no I/O.
 *
 * Keeps the order of events, except with slower_ns and marked_only: then the calls of a start function are held until
 * it returns and are emitted together, so trees come in the order in which they ended. callstack.h pairs the calls. In
 * these modes a start function is not shown if its return is uncertain, or if it begins where pairs are uncertain.
 */
struct starts;

enum starts_kind {
	STARTS_PLAIN,
	STARTS_OPEN,  /* a start function: it is shown, with the calls below it */
	STARTS_CLOSE, /* neither it nor the calls below it are shown */
};

/* What decides, when a call of a start function returns, whether it is shown; zeroed: all are. */
struct starts_want {
	uint64_t slower_ns; /* those that took at least this long */
};

struct starts_config {
	/* slower_ns is of the net duration, once this is known; looked at with each call. Borrowed; NULL: as measured */
	const struct netcost *cost;
	const uint8_t *kinds; /* enum starts_kind by func_id; borrowed */
	size_t func_cnt;
	bool has_starts;  /* some are STARTS_OPEN; if not, every outermost call counts as a start */
	bool marked_only; /* show those whose return is EVENT_MARKED */
	bool marked_begin; /* only calls whose entry is EVENT_MARKED are starts */
	struct starts_want want;
};

struct starts_stats {
	uint64_t begun_cnt; /* calls of start functions, not inside others */
	uint64_t start_cnt; /* calls of start functions that returned */
	uint64_t shown_cnt; /* of these: slow enough, and matching; and calls that are still open */
	uint64_t broken_cnt; /* hidden or incomplete: events may be missing before the return */
	uint64_t huge_cnt;   /* hidden: too many calls to hold until the return */
};

/* starts_new - Return: 0 or -ENOMEM. Caller frees with starts_free. */
int starts_new(struct starts **out, const struct starts_config *config);
void starts_free(struct starts *st);

/* starts_let_point - events of this tracepoint, an index, pass outside start functions, too. */
void starts_let_point(struct starts *st, uint32_t point);

/* starts_add - functions were added: their kinds are in @kinds, too, which replaces that of the configuration. */
void starts_add(struct starts *st, const uint8_t *kinds, size_t func_cnt);

/*
 * starts_feed - handle the next @cnt events and return those to show.
 *
 * @out, @out_cnt: borrowed until the next call. Return: 0 or -ENOMEM, after which it may only be freed.
 */
int starts_feed(struct starts *st, const struct event *events, size_t cnt, const struct event **out,
		size_t *out_cnt);

/* A call of a start function that has not returned, and what was held for it. */
struct starts_open {
	const struct event *events; /* the first is its entry */
	size_t cnt;
	uint64_t took_ns; /* so far, without sleeps that the trace has */
};

/*
 * starts_open_calls - with slower_ns alone, at the end: the calls that have taken as long as that until @end_ns, and have
 * certainly not returned. They count as shown.
 *
 * *@open: an array that the caller frees; its events are borrowed. Return: 0 or -ENOMEM.
 */
int starts_open_calls(struct starts *st, uint64_t end_ns, struct starts_open **open, size_t *cnt);

const struct starts_stats *starts_stats_get(const struct starts *st);

/*
 * The calls of a task that are in the graph: start functions and the calls below them, except functions of -g and the
 * calls below those. Zeroed: neither is open. (The BPF programs have their own gate, bpf/starts.bpf.h.)
 */
struct start_gate {
	uint32_t start_depth; /* depth of the outermost open start function, + 1; 0: none */
	uint32_t shut_depth;  /* depth of the outermost open function of -g, + 1; 0: none */
};

/*
 * start_gate_enter - a call begins at @depth; call start_gate_close for that depth first.
 *
 * Return: whether it opens the graph: it is a start function, and no start function or function of -g is open.
 */
static inline bool start_gate_enter(struct start_gate *gate, uint32_t depth, bool is_start,
				    bool is_shut)
{
	if (is_shut && !gate->shut_depth)
		gate->shut_depth = depth + 1;
	if (!is_start || gate->start_depth || gate->shut_depth)
		return false;
	gate->start_depth = depth + 1;
	return true;
}

/*
 * start_gate_close - the calls at @depth and deeper have ended. Return: whether the start function was one of them.
 */
static inline bool start_gate_close(struct start_gate *gate, uint32_t depth)
{
	bool has_started = gate->start_depth > depth;

	if (has_started)
		gate->start_depth = 0;
	if (gate->shut_depth > depth)
		gate->shut_depth = 0;
	return has_started;
}

#endif
