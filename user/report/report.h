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
#include "base/output.h"
#include "recording/recfile.h"
#include "format/render.h"
#include "trace/row.h"

/*
 * A trace from a file: rows to a sink, from a recording or from function_graph text. What a row
 * becomes is the sink's affair; report_text_sink makes the kernel's text of it again.
 */

/* What is known of the trace. Those of a text grow while it is read: look at every row. */
struct report_facts {
	struct render_columns columns; /* text: those it has; recording: all it can fill */
	bool old_marks; /* text: ! stands for everything above 100 us, as in kernels before 3.19 */
	unsigned int cpu_width;          /* digits of the highest CPU */
	const struct recfile_host *host; /* NULL: a text */
	const struct functab *functab;   /* NULL: a text */
};

struct report_sink {
	/* Before the first row, once. @facts stays and is kept up to date. Return: 0 or -errno. */
	int (*begin)(void *ctx, const struct report_facts *facts);
	/* row is borrowed for the call. Rows of a text bring the names they have. */
	void (*row)(void *ctx, struct row *row);
	/* Now and then, some thousand rows apart, and at the end. Not 0: stop and return it. */
	int (*flush)(void *ctx);
	bool wants_comm; /* the task's name in every row of a recording; banners have it always */
	bool drops_tail; /* of a text: names behind } that are there only because tail was on */
	void *ctx;
};

struct report_config {
	const char *path; /* "-": standard input */
	bool is_text;     /* function_graph text, not a recording */
	bool is_followed; /* a recording still being written: wait for more until it is closed */
	const struct outfile *outfile; /* must be another file than the input; NULL: it is */
	const volatile int *stop_cnt;  /* not 0: end early; NULL: nobody asks for that */
	uint32_t depth_max;            /* calls deeper than this make no row; 0: no limit */
	const struct opts *opts; /* what of a recording to show (choose_events.h); NULL: all */
	struct details
		*details; /* what rows of a recording show beyond names and times. Borrowed */
	void (*opened)(
		void); /* the file is open, and but for its head nothing read; NULL: nobody wants to know */
	struct report_sink sink;
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
 * @opts name functions that it has not, -EEXIST when the output is the input, -EPROTONOSUPPORT, or -errno; said on stderr but for what sink returned.
 */
int report_run(const struct report_config *config, struct report_stats *stats);

/* report_has_losses - events are missing, or were lost before they could be recorded. */
bool report_has_losses(const struct report_stats *stats);

/* Rows to text. Private to report.c; lives as long as the sink. */
struct report_text {
	struct render render;
	bool has_columns; /* asked for; else those of the file */
	bool is_begun;
	const struct report_facts *facts;
	struct output *output;
};

/*
 * report_text_sink - a sink that writes function_graph text to @output, borrowed.
 *
 * @columns: what to show; NULL: what the file shows, and its header as it is, so that
 * undamaged text comes out byte for byte, or the kernel's default for a recording.
 * Release with report_text_release.
 */
struct report_sink report_text_sink(struct report_text *text, const struct render_columns *columns,
				    struct output *output);
void report_text_release(struct report_text *text);

#endif
