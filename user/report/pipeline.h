#ifndef NFG_REPORT_PIPELINE_H
#define NFG_REPORT_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/details.h"
#include "kernel/comms.h"
#include "kernel/proto.h"
#include "nfg_abi.h"
#include "options/opts.h"
#include "report/sink.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/graph.h"
#include "trace/limits.h"
#include "trace/packet_hold.h"
#include "trace/row.h"
#include "trace/starts.h"

/*
 * The path of an event, for live traces, recordings and texts:
 *
 *	source -> hold -> gate -> graph -> annotate -> sink
 *
 * A source, the rings or a recording, feeds events in order of time. hold keeps the calls of a packet until its owner
 * is known; the gate removes what is not to be shown; the graph makes rows; annotate adds values and tasks to them. A
 * sink of events, a recording, gets what leaves the gate. A text has rows already: they enter after the graph.
 */
struct pipeline;

/* Removes events from the stream: starts_feed or choose_events_feed with its state. */
struct gate {
	/* @out, @out_cnt: borrowed until the next call. Return: 0, -errno or a verdict. NULL: everything passes. */
	int (*feed)(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		    size_t *out_cnt);
	void *ctx;
};

/* Everything is borrowed for the pipeline's life. */
struct pipeline_config {
	const struct trace_facts *facts;
	const struct functab *functab; /* NULL: only rows come, no events */
	const struct pointtab *points; /* NULL: no tracepoints */
	uint32_t cpu_cnt;              /* of the events */
	const struct netcost *cost;    /* for net durations, once it is known; NULL: none */
	uint32_t depth_max;            /* calls deeper than this make no row; 0: no limit */
	bool holds_packets;            /* some events are EVENT_TREE_UNSURE */
	struct gate gate;
	struct comms *comms;     /* NULL: names in rows stay as they are */
	struct details *details; /* NULL: rows have no values */
	struct sink *sink;
};

/* pipeline_new - also begins the sink. Return: 0, -ENOMEM or the sink's -errno. Caller frees with pipeline_free. */
int pipeline_new(struct pipeline **out, const struct pipeline_config *config);
void pipeline_free(struct pipeline *pl);

/*
 * pipeline_feed - take the next @cnt events of the merged stream through all stages.
 *
 * Return: 0, or -errno or a verdict of a stage, after which only pipeline_end may follow.
 */
int pipeline_feed(struct pipeline *pl, const struct event *events, size_t cnt);

/* pipeline_row - take the next row of a text. */
void pipeline_row(struct pipeline *pl, struct row *row);

/* pipeline_leftout - functions are left out from here on: adds a comment row, or calls the sink's leftout. */
int pipeline_leftout(struct pipeline *pl, const struct leftout *lo);

/* pipeline_task - take the record of a task that was found, got a name, moved or ended. */
void pipeline_task(struct pipeline *pl, const struct nfg_task_seen *seen);

/*
 * pipeline_open_calls - at the end of the events: calls that @starts has held, which took long enough without returning
 * until @end_ns, and a comment for each. Return: 0 or -errno.
 */
int pipeline_open_calls(struct pipeline *pl, struct starts *starts, uint64_t end_ns);

/* pipeline_trigger - the condition of a flight recorder was true: adds a comment row. Return: 0 or -ENOMEM. */
int pipeline_trigger(struct pipeline *pl, const struct recfile_trigger *trigger);

/* pipeline_seen - no event that comes later is older than @time_ns. Return: 0 or -errno. */
int pipeline_seen(struct pipeline *pl, uint64_t time_ns);

/* pipeline_release - stop holding rows up to @time_ns (graph_release). */
void pipeline_release(struct pipeline *pl, uint64_t time_ns);

/* pipeline_flush - let the sink write; see sink_ops.flush. */
int pipeline_flush(struct pipeline *pl, bool is_idle);

/*
 * pipeline_end - no event follows: pass what is still buffered to the sink, or drop it. After a failed
 * pipeline_feed, only rows that are certain are passed. Return: 0, or -errno or a verdict of a
 * stage.
 */
int pipeline_end(struct pipeline *pl);

/* Valid until pipeline_free. pipeline_hold_stats: NULL without holds_packets. */
const struct graph_stats *pipeline_graph_stats(const struct pipeline *pl);
const struct packet_hold_stats *pipeline_hold_stats(const struct pipeline *pl);

/*
 * pipeline_has_calls - whether a call's entry has come as far as the gate: of a task or packet in scope, though it may
 * not be shown.
 */
bool pipeline_has_calls(const struct pipeline *pl);

/* pipeline_row_cnt - rows passed to the sink, without our own comments. */
uint64_t pipeline_row_cnt(const struct pipeline *pl);

/* ---- start conditions ---- */

/* start_setup_configure - tell the BPF programs of these options, in @cfg. */
void start_setup_configure(const struct opts *opts, struct nfg_cfg *cfg);

/*
 * start_setup_check - whether -g and -N leave a start function, and the functions support --packet.
 *
 * Return: 0, or VERDICT_NOTHING when they do not: a function of -G, or every function, lacks a packet argument (already logged).
 */
int start_setup_check(const struct opts *opts, const struct functab *functab);

/*
 * start_setup_check_members - whether each member of --show is in a function, after details_funcs. @protos: names of their
 * arguments. Return: 0 or VERDICT_USAGE.
 */
int start_setup_check_members(const struct opts *opts, const struct proto_table *protos);

/*
 * start_setup_check_tests - whether each function that --when names has what its condition tests, after details_funcs.
 *
 * Return: 0, -ENOMEM or VERDICT_NOTHING: one lacks something (already logged).
 */
int start_setup_check_tests(const struct opts *opts, const struct functab *functab,
			    const struct proto_table *protos, const struct kbtf *kb);

/*
 * start_setup_fit - set fits_filter of one function. Functions come in the order of their ids, from 0 on.
 *
 * *missing: as by filter_fits. Return: 0 or -ENOMEM.
 */
int start_setup_fit(struct filter *filter, struct func *func, uint32_t func_id,
		    const struct proto_table *protos, const struct kbtf *kb, struct text *missing);

/*
 * start_setup_check_filter - whether the functions support --filter. Sets fits_filter of each function that has
 * everything the filter names.
 *
 * @kb: NULL: of a recording, which has no members. Return: 0, -ENOMEM, or VERDICT_NOTHING when a function of -G, or
 * every function, lacks something (already logged).
 */
int start_setup_check_filter(const struct opts *opts, struct functab *functab,
			     const struct proto_table *protos, const struct kbtf *kb);

/*
 * start_setup_new - set up -G, -g, --preset, --packet, --slower-than, --errors-only and --filter.
 *
 * Sets is_start of each start function in @functab. *kinds: the kind of each function, read by *out. Both are
 * unchanged if none of the options is given. @cost: of a call, for --slower-than with --graph-opts net; borrowed.
 * Return: 0 or -ENOMEM. Caller frees *out with starts_free, then *kinds with free.
 */
int start_setup_new(struct starts **out, uint8_t **kinds, const struct opts *opts,
		    struct functab *functab, const struct netcost *cost);

/* start_setup_add - set *kinds and is_start of the functions that were added to @functab, from @first on. */
void start_setup_add(uint8_t *kinds, const struct opts *opts, struct functab *functab,
		     size_t first);

/* start_setup_mark - of a recording: set EVENT_MARKED at the entry of a call whose packet or socket matches --packet. */
void start_setup_mark(const struct opts *opts, struct values *values, struct event *ev);

/* start_setup_is_start - whether calls of @func may open the graph; after start_setup_check_filter. */
bool start_setup_is_start(const struct opts *opts, const struct func *func);

/* start_setup_cnt - how many such functions there are. */
size_t start_setup_cnt(const struct opts *opts, const struct functab *functab);

/*
 * start_setup_say - warn of graphs that are not shown whole, or in a table of calls that are not counted; with -v, log how many
 * calls of start functions there were, and how many were shown. @path: of the recording, NULL if live.
 */
void start_setup_say(const struct starts *starts, const struct opts *opts, const char *path);

/* start_setup_say_unmatched - warn if no call matched --filter, --errors-only or --slower-than. */
void start_setup_say_unmatched(const struct opts *opts, const struct starts *starts);

#endif
