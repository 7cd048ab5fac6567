#ifndef NFG_TRACE_GRAPH_H
#define NFG_TRACE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "trace/callstack.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/netcost.h"
#include "trace/row.h"

/*
 * Events in, rows out: a pure state machine, without clock or I/O. It pairs entries with exits per task, counts depth
 * and duration, folds leaves, and prints banners according to the next event of each CPU, as the kernel's
 * print_graph_function does.
 *
 * Durations exclude the time between EVENT_OUT and EVENT_IN, as with the kernel's option sleep-time off.
 *
 * A call is shown as a pair, with a duration and below its caller, only if nothing can be missing between its ends
 * (callstack.h). Otherwise its entry stays open and its return is shown at depth 0 with lacks_duration.
 */
struct graph;

struct graph_config {
	const struct functab *functab; /* borrowed for the graph's life */
	const struct pointtab *points; /* the same; NULL: no tracepoints */
	uint32_t cpu_cnt;              /* possible CPUs */
	uint32_t depth_max;            /* deeper calls produce no row; 0: no limit */
	/* for row.net; looked at with each row, so that it may become known. Borrowed; NULL: rows have none */
	const struct netcost *cost;
	/*
	 * Called once per row, in order. The row is borrowed for the call. Its comms are empty; the callee fills them
	 * in.
	 */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/*
 * Every entry is counted once: as part of a pair, as unsure, unclosed, too deep or still open. Every return is
 * counted once: as part of a pair, as unsure, orphan, early or too deep.
 */
struct graph_stats {
	uint64_t row_cnt;
	uint64_t call_cnt;  /* entries seen */
	uint64_t point_cnt; /* tracepoints */
	uint64_t bad_cnt;   /* events of an unknown function, tracepoint or CPU */
	uint64_t open_cnt;  /* calls still running at the end; set by graph_finish */
	struct callstack_stats pairs;
};

/* graph_new - Return: 0 or -ENOMEM. Caller frees with graph_free. */
int graph_new(struct graph **out, const struct graph_config *config);
void graph_free(struct graph *g);

/*
 * graph_feed - take the next @cnt events of the merged stream.
 *
 * Emits rows as soon as they are certain: an entry waits for the next event of its CPU, which decides whether the call
 * is a leaf; later rows wait for it.
 * Return: 0, or -ENOMEM, after which the graph may only be freed.
 */
int graph_feed(struct graph *g, const struct event *events, size_t cnt);

/* graph_release - stop waiting for entries older than @time_ns: they will not be leaves. */
void graph_release(struct graph *g, uint64_t time_ns);

/* graph_finish - emit all waiting rows. No event may follow. */
void graph_finish(struct graph *g);

const struct graph_stats *graph_stats_get(const struct graph *g);

/*
 * graph_early_words - a description of early_return_cnt. A traced command has no calls from before its trace, so its
 * returns without an entry are calls whose entry was missed.
 */
const char *graph_early_words(bool has_command);

/* FTRACE_RETFUNC_DEPTH: the depth to which the kernel remembers a CPU's open functions */
#define BRACE_DEPTH_CNT 50

/* For each depth, the function that the rows of one CPU opened last, as a number. Zeroed: none yet. */
struct braces {
	uint64_t funcs[BRACE_DEPTH_CNT];
};

/*
 * braces_row - take the CPU's next ENTRY, LEAF or RETURN; @func, never 0, is a number for its function.
 *
 * Return: whether it is a } that needs its name: as in the kernel (print_graph_return), if this CPU's rows last opened
 * another function at its depth.
 */
static inline bool braces_row(struct braces *br, enum row_kind kind, uint32_t depth, uint64_t func)
{
	bool is_other;

	if (depth >= BRACE_DEPTH_CNT)
		return false;
	is_other = kind == ROW_RETURN && br->funcs[depth] != func;
	br->funcs[depth] = kind == ROW_ENTRY ? func : 0;
	return is_other;
}

/* brace_func - the number for the function of a row that has a name but no func_id. */
static inline uint64_t brace_func(const struct row *row)
{
	uint64_t hash = 0;

	if (row->name.len)
		hash = hash_bytes(row->name.ptr, row->name.len);
	if (row->module.len)
		hash ^= hash_bytes(row->module.ptr, row->module.len);
	return hash | 1;
}

#endif
