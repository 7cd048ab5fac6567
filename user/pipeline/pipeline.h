#ifndef NFG_PIPELINE_PIPELINE_H
#define NFG_PIPELINE_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "annotate/details.h"
#include "kernel/comms.h"
#include "limits/leftout.h"
#include "pipeline/sink.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/graph.h"
#include "trace/packet_hold.h"
#include "trace/row.h"

/*
 * The way of an event, for live traces, recordings and texts alike:
 *
 *	source -> hold -> gate -> graph -> annotate -> sink
 *
 * A source feeds events in the order of time: the rings, or a recording. hold keeps the calls of a packet until its
 * owner is known; the gate takes out what is not to be shown; the graph makes rows, and annotate adds to them what their
 * values and tasks are. A sink of events, a recording, gets what leaves the gate. A text has rows already: they come
 * in behind the graph.
 */
struct pipeline;

/* What takes events out of the stream: starts_feed or choose_events_feed with their state. */
struct gate {
	/* @out, @out_cnt: borrowed until the next call. Return: 0 or -errno. NULL: everything passes. */
	int (*feed)(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		    size_t *out_cnt);
	void *ctx;
};

/* All is borrowed for the pipeline's life. */
struct pipeline_config {
	const struct trace_facts *facts;
	const struct functab *functab; /* NULL: no events come, only rows */
	uint32_t cpu_cnt;              /* of the events */
	uint32_t depth_max;            /* calls deeper than this make no row; 0: no limit */
	bool holds_packets;            /* some events are EVENT_TREE_UNSURE */
	struct gate gate;
	struct comms *comms;     /* NULL: rows have the names they have */
	struct details *details; /* NULL: rows say nothing of values */
	struct sink *sink;
};

/* pipeline_new - and begin the sink. Return: 0, -ENOMEM or what the sink returned. Caller frees with pipeline_free. */
int pipeline_new(struct pipeline **out, const struct pipeline_config *config);
void pipeline_free(struct pipeline *pl);

/*
 * pipeline_feed - take the next @cnt events of the merged stream, all the way.
 *
 * Return: 0 or -errno of a stage, after which only pipeline_end may follow.
 */
int pipeline_feed(struct pipeline *pl, const struct event *events, size_t cnt);

/* pipeline_row - take the next row of a text. */
void pipeline_row(struct pipeline *pl, struct row *row);

/* pipeline_leftout - functions are left out from here on: a comment among the rows, or what the sink makes of it. */
int pipeline_leftout(struct pipeline *pl, const struct leftout *lo);

/* pipeline_task - a task got a name or ended. */
void pipeline_task(struct pipeline *pl, const struct nfg_task_rec *rec);

/* pipeline_release - rows of @time_ns and before wait no longer (graph_release). */
void pipeline_release(struct pipeline *pl, uint64_t time_ns);

/* pipeline_flush - let the sink write; see sink_ops.flush. */
int pipeline_flush(struct pipeline *pl, bool is_idle);

/*
 * pipeline_end - no event follows: what is still held back comes to the sink, or goes. After a failed pipeline_feed
 * only rows do that are certain. Return: 0 or -errno of a stage.
 */
int pipeline_end(struct pipeline *pl);

/* The same until pipeline_free. pipeline_hold_stats: NULL when nothing is held. */
const struct graph_stats *pipeline_graph_stats(const struct pipeline *pl);
const struct packet_hold_stats *pipeline_hold_stats(const struct pipeline *pl);

/* pipeline_row_cnt - rows given to the sink, without comments of our own. */
uint64_t pipeline_row_cnt(const struct pipeline *pl);

#endif
