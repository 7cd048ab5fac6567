#ifndef NFG_REPORT_REPORT_H
#define NFG_REPORT_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"
#include "format/details.h"
#include "options/opts.h"
#include "recording/recfile.h"
#include "report/sink.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/graph.h"
#include "trace/limits.h"
#include "trace/loss.h"

/*
 * A trace from a file: a recording, function_graph text or trace.dat goes through a pipeline to the given sink.
 */

struct report_config {
	const char *path; /* "-": standard input */
	bool is_text;     /* function_graph text or trace.dat, not a recording */
	bool is_followed; /* a recording still being written: wait for more until it is closed */
	const struct outfile *outfile; /* must not be the input file; NULL: not checked */
	const volatile int *stop_cnt;  /* not 0: end early; may be NULL */
	uint32_t depth_max;            /* calls deeper than this make no row; 0: no limit */
	const struct opts *opts;       /* what to show (choose.h); NULL: all */
	struct details *details;       /* shown in rows of a recording beyond names and times */
	struct srcline *srcline;       /* their callers' source lines; NULL: none */
	/* Called when the file is open and only its header was read; may be NULL. */
	void (*opened)(void);
	struct sink *sink;
};

/* What was read, also after an error. */
struct report_stats {
	uint64_t row_cnt;  /* passed to the sink */
	uint64_t call_cnt; /* a recording's entries; a text's entries and leaves */
	/* recordings */
	uint64_t event_cnt;
	uint64_t lost_cnt;   /* the sum of the losses among the events */
	uint64_t gap_cnt;    /* losses among the events of a trace.dat whose number is not known */
	uint64_t torn_cnt;   /* the same of EVENT_TORN */
	uint64_t back_cnt;   /* events older than the one before on their CPU */
	uint64_t tail_bytes; /* after the last whole chunk; 0 of a damaged pipe: not known */
	uint32_t leftout_cnts
		[LEFTOUT_LIMIT_CNT]; /* functions left out during the trace, by enum leftout_limit ... */
	uint32_t leftout_earlier_cnts
		[LEFTOUT_LIMIT_CNT];  /* ... and of these, before the file begins */
	uint64_t untraced_ns;         /* between windows (--duty), and while links were made anew */
	enum recfile_command command; /* of a recording: whether its tasks are a command's */
	uint64_t length_ns;           /* from the beginning to the summary, or to the last event */
	bool is_damaged;              /* the reading ended before the file did */
	bool is_closed;               /* there is a summary */
	bool is_cut; /* there is none and we were not stopped: the end is missing */
	struct recfile_summary summary;
	struct graph_stats graph;
	/* texts */
	uint64_t line_cnt;
	uint64_t bad_line_cnt;    /* in no row: text around a trace, cut rows */
	uint64_t mended_line_cnt; /* damaged, and repaired */
};

/*
 * report_run - read the file and pass its rows to the sink.
 *
 * Logs problems of the file: damaged lines of a text by number, losses of a recording and where it ends. Rows before
 * the damage reach the sink.
 * Return: 0, also for a truncated recording that has an event (else -ENODATA); -EBADMSG for a damaged file, VERDICT_NOTHING for no trace at all, or when @opts
 * name functions or values that it lacks or no call matches them, VERDICT_USAGE when the output is the input,
 * -EPROTONOSUPPORT, or -errno; already logged unless -ENOMEM.
 */
int report_run(const struct report_config *config, struct report_stats *stats);

/* report_has_losses - events are missing, or were lost before they could be recorded. */
bool report_has_losses(const struct report_stats *stats);

/* Losses of a recording for one reason. */
struct losses_reason {
	uint64_t cnt;
	const char *name; /* a key: ring_full */
	const char *text; /* follows the number: events were lost: a ring was full */
	bool is_name;     /* not an event, but the name of a task */
};

#define LOSSES_CNT (LOSS_CNT + 2) /* and losses that the reader detects itself */

/* losses_list - every reason, with its number from @stats. */
void losses_list(const struct report_stats *stats, struct losses_reason out[LOSSES_CNT]);

/* losses_total - how many events are missing for any reason. */
uint64_t losses_total(const struct report_stats *stats);

/* report_count_leftout - count what a recording says of functions that were left out. */
void report_count_leftout(struct report_stats *stats, const struct leftout *lo);

#endif
