/* layer 30: model */
#ifndef NFG_GRAPH_H
#define NFG_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"
#include "functab.h"
#include "row.h"

/*
 * Events in, rows out: a pure state machine. It pairs entries with exits per
 * task, counts depth and duration, folds leaves and prints banners by what comes
 * next on each CPU, as the kernel's print_graph_function does. No clock, no I/O.
 *
 * Where EVENT_OUT and EVENT_IN come, durations are without the time between them, as with the kernel's
 * option sleep-time off.
 */
struct graph;

struct graph_config {
	const struct functab *functab; /* borrowed for the graph's life */
	uint32_t cpu_cnt;              /* possible CPUs */
	uint32_t depth_max;            /* calls deeper than this make no row; 0: no limit */
	/* Called once per row, in order. row is borrowed for the call; comms are empty: the
	 * callee fills them in. */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/* What could not be paired, and why. */
struct graph_stats {
	uint64_t row_cnt;
	uint64_t call_cnt;         /* entries seen */
	uint64_t early_return_cnt; /* returns of calls that began before the trace did */
	uint64_t orphan_cnt;       /* returns whose entry was lost */
	uint64_t unclosed_cnt;     /* entries whose return was lost */
	uint64_t bad_cnt;          /* events that name no function or no CPU of ours */
	uint64_t open_cnt;         /* calls still running at the end; set by graph_finish */
	uint64_t unsure_cnt;       /* calls shown with time asleep, for a switch was lost */
};

/* graph_new - Return: 0 or -ENOMEM. Caller frees with graph_free. */
int graph_new(struct graph **out, const struct graph_config *config);
void graph_free(struct graph *g);

/*
 * graph_feed - take the next @cnt events of the merged stream.
 *
 * Rows come out as soon as they are certain: an entry waits for the next event of
 * its CPU, which decides whether it folds into a leaf, and later rows wait behind it.
 * Return: 0, or -ENOMEM, after which the graph may only be freed.
 */
int graph_feed(struct graph *g, const struct event *events, size_t cnt);

/* graph_release - stop waiting for entries older than @time_ns: they will not be leaves. */
void graph_release(struct graph *g, uint64_t time_ns);

/* graph_finish - put out everything that still waits. */
void graph_finish(struct graph *g);

const struct graph_stats *graph_stats_get(const struct graph *g);

#endif
