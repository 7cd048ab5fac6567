#ifndef NFG_REPORT_REPORT_H
#define NFG_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "annotate/details.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/graph.h"
#include "limits/leftout.h"
#include "options/opts.h"
#include "base/outfile.h"
#include "recording/recfile.h"
#include "pipeline/sink.h"

/*
 * A trace from a file: a recording or function_graph text goes through a pipeline of its own to the sink given.
 */

struct report_config {
	const char *path; /* "-": standard input */
	bool is_text;     /* function_graph text, not a recording */
	bool is_followed; /* a recording still being written: wait for more until it is closed */
	const struct outfile *outfile; /* must be another file than the input; NULL: it is */
	const volatile int *stop_cnt;  /* not 0: end early; NULL: nobody asks for that */
	uint32_t depth_max;            /* calls deeper than this make no row; 0: no limit */
	const struct opts *opts; /* what to show (choose_events.h, choose_rows.h); NULL: all */
	struct details *details; /* what rows of a recording show beyond names and times */
	struct srcline *srcline; /* their callers' source lines; NULL: none */
	/* The file is open, and but for its head nothing read; NULL: nobody wants to know. */
	void (*opened)(void);
	struct sink *sink;
};

/* What was read, also when it ended with an error. */
struct report_stats {
	uint64_t row_cnt;  /* given to the sink */
	uint64_t call_cnt; /* a recording's entries; a text's entries and leaves */
	/* recordings */
	uint64_t event_cnt;
	uint64_t lost_cnt;   /* the sum of the losses that stand among the events */
	uint64_t torn_cnt;   /* the same of EVENT_TORN */
	uint64_t back_cnt;   /* events older than the one before on their CPU */
	uint64_t tail_bytes; /* behind the last whole chunk */
	uint32_t leftout_cnts
		[LEFTOUT_LIMIT_CNT]; /* functions left out on the way, by enum leftout_limit */
	uint64_t length_ns;          /* from the beginning to the summary, or to the last event */
	bool is_closed;              /* there is a summary */
	bool is_cut; /* there is none and nobody stopped us: what came last is missing */
	struct recfile_summary summary;
	struct graph_stats graph;
	/* texts */
	uint64_t line_cnt;
	uint64_t bad_line_cnt;    /* in no row: what stands around a trace, cut rows */
	uint64_t mended_line_cnt; /* damaged, but it could be seen what was meant */
};

/*
 * report_run - read the file and give its rows to the sink.
 *
 * Says on stderr what is wrong with the file: of a text the damaged lines by number, of a
 * recording what it lost and where it ends. Rows before a damage reach the sink.
 * Return: 0, also for a truncated recording; -EBADMSG for a damaged one or no trace at all, -ENOMSG when
 * @opts name functions that it has not, -EEXIST when the output is the input, -EPROTONOSUPPORT, or -errno; said but
 * for -ENOMEM.
 */
int report_run(const struct report_config *config, struct report_stats *stats);

/* report_has_losses - events are missing, or were lost before they could be recorded. */
bool report_has_losses(const struct report_stats *stats);

#endif
