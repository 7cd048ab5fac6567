#ifndef NFG_REPORT_SINK_H
#define NFG_REPORT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output.h"
#include "format/details.h"
#include "format/format.h"
#include "format/profile.h"
#include "format/profile_table.h"
#include "kernel/comms.h"
#include "kernel/netstat.h"
#include "options/opts.h"
#include "recording/recfile.h"
#include "recording/recorder.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/limits.h"
#include "trace/row.h"
#include "trace/stills.h"

struct sink;

/*
 * The end of the pipeline. A sink of rows writes a text, another format or a table; a sink of events writes a
 * recording.
 */

/* Facts of the trace that a sink gets. Those of a text may change with every row. */
struct trace_facts {
	struct render_columns columns; /* text: its columns; else all that rows can fill */
	unsigned int cpu_width;        /* digits of the highest CPU */
	uint32_t cpu_cnt;              /* 0: unknown */
	const char *release;           /* uname -r; NULL: unknown */
	const char *node;              /* uname -n, set before the first row; NULL, "": unknown */
	uint64_t real_offset_ns;       /* from the rows' clock to ns since 1970; 0: unknown */
	const struct netcost *cost;    /* of a traced call, once it is known; NULL: none */
	const struct functab *functab; /* the traced functions; NULL: unknown */
	const struct pointtab *points; /* a recording's tracepoints; NULL: unknown */
	bool is_text;                  /* rows were read from function_graph text */
	bool old_marks; /* text: ! stands for everything above 100 us, as in kernels before 3.19 */
};

/* trace_facts_of_host - facts of a trace or recording made on such a host. @release is borrowed. */
struct trace_facts trace_facts_of_host(uint32_t cpu_cnt, const char *release);

/* Functions return 0 or -errno, already logged. Pointers are borrowed for the call. Optional members may be NULL. */
struct sink_ops {
	/* Called once, first. @facts stays valid and is kept up to date. Optional. */
	int (*begin)(struct sink *sink, const struct trace_facts *facts);
	/* Set exactly one of the two. The next flush returns an error of a row. */
	int (*events)(struct sink *sink, const struct event *events, size_t cnt);
	void (*row)(struct sink *sink, struct row *row);
	/* No event that comes later is older than @time_ns. May be NULL. */
	int (*seen)(struct sink *sink, uint64_t time_ns);
	/* Functions were left out; replaces a comment among the rows. Optional. */
	int (*leftout)(struct sink *sink, const struct leftout *lo);
	/*
	 * The traced functions, in the table that the sink was made with, are more than before; their events come later. The next
	 * flush returns an error. Optional.
	 */
	void (*added)(struct sink *sink);
	/* The name of task @tid may change with the next events. Optional. */
	void (*renamed)(struct sink *sink, uint32_t tid);
	/* Write buffered data. @is_idle: all of it, because nothing more comes soon. Not 0: stop. */
	int (*flush)(struct sink *sink, bool is_idle);
	/* What the kernel counted during a live trace; before finish. NULL: it need not be read. */
	void (*meanwhile)(struct sink *sink, const struct netstat *counted);
	/*
	 * The whole host may have stood still in a live trace: a timer of netfgraph came late, although it did not wait for a CPU.
	 * Called before rows that are later. NULL: nobody wants to know.
	 */
	void (*stood_still)(struct sink *sink, struct still still);
	/* How many events the trace lacks, with and without a known place in it; before finish. Optional. */
	void (*lost)(struct sink *sink, uint64_t cnt);
	/* Nothing more comes: write the end. @is_failed: after an error; begin nothing new. Optional. */
	int (*finish)(struct sink *sink, bool is_failed);
	/*
	 * Write the table of the interval from @begin_ns to @end_ns, with its beginning above it, and begin the next one. Not 0:
	 * -errno, already logged. NULL: it is not for -i.
	 */
	int (*interval)(struct sink *sink, uint64_t begin_ns, uint64_t end_ns);
	/* The trace begins: from now on the file's old contents may be replaced. */
	int (*begin_file)(struct sink *sink);
	/* --max-size is reached. NULL: never. */
	bool (*is_full)(const struct sink *sink);
	/* A recording keeps the lost counts of @losses; NULL: nothing was lost. */
	int (*close)(struct sink *sink, const struct recfile_summary *losses);
	/* Without close before it, the file stays as it was. Optional. */
	void (*free)(struct sink *sink);
};

struct sink {
	const struct sink_ops *ops;
	struct outfile *file; /* its output, for code that watches its reader */
	bool wants_notes;     /* annotate rows; banners have their tasks' names */
	bool wants_values;    /* rows of a text have their values */
	bool wants_process;   /* with wants_comm: and its process's name */
	bool wants_comm;      /* with wants_notes: every row has its task's name */
	bool saves_at_close;  /* saves data held in memory: close it after an error, too */
	bool drops_tail;      /* of a text: drop names after } that only tail put there */
};

/* sink_open - create the sink of rows for @opts; @output is borrowed. Return: 0 or -errno, already logged. */
int sink_open(struct sink **out, const struct opts *opts, struct output *output);

/*
 * sink_format_new - a sink that writes rows to a file of @kind.
 *
 * @columns: of FORMAT_TEXT; NULL: the kernel's default or, for a text, its own columns and unchanged header, so that
 * undamaged text is reproduced byte for byte. Arguments are borrowed. Return: 0 or -ENOMEM.
 */
int sink_format_new(struct sink **out, enum format_kind kind, const struct render_columns *columns,
		    const struct opts *opts, struct output *output);

/*
 * sink_table_new - a sink that sums rows up to the table of profile or latency. Arguments are borrowed. Return: 0 or
 * -ENOMEM.
 */
int sink_table_new(struct sink **out, const struct opts *opts, struct output *output);

/* sink_stages_sums - what the sink of --by stage found; final when it is finished. */
const struct stages_sums *sink_stages_sums(const struct sink *sink);

/* sink_stages_has_packets - whether it found any packet, with or without a stage; the same. */
bool sink_stages_has_packets(const struct sink *sink);

/* sink_keys_new - a sink that counts rows by what they have: profile --by. Arguments are borrowed. Return: 0 or -errno. */
int sink_keys_new(struct sink **out, const struct opts *opts, struct output *output);

/* sink_explain_new - a sink that says why calls were slow. Arguments are borrowed. Return: 0 or -ENOMEM. */
int sink_explain_new(struct sink **out, const struct opts *opts, struct output *output);

/* sink_table_profile - the table, for callers that fill it without rows. */
struct profile *sink_table_profile(struct sink *sink);

/* sink_table_span - the time from the first to the last row, ns; 0: the rows have no times. */
uint64_t sink_table_span(const struct sink *sink);

/* What a recording is made from. Everything is borrowed. */
struct sink_recording_config {
	const struct opts *opts;
	const struct functab *functab;
	const struct pointtab *points;
	const struct details *details;
	struct comms *comms;
	const struct recfile_made *made; /* filled in before begin_file */
	uint32_t cpu_cnt;
};

/* sink_recording_new - a sink that writes events to the recording of -o. Return: 0 or -errno, already logged. */
int sink_recording_new(struct sink **out, const struct sink_recording_config *config);

/*
 * sink_flight_new - a sink that keeps events in a flight recorder's memory (--ring), which makes recordings in the
 * directory of -o.
 *
 * Return: 0 or -errno, already logged; VERDICT_NOTHING: --when names functions that are not traced.
 */
int sink_flight_new(struct sink **out, const struct sink_recording_config *config);

static inline bool sink_is_full(const struct sink *sink)
{
	return sink->ops->is_full && sink->ops->is_full(sink);
}

static inline void sink_lost(struct sink *sink, uint64_t cnt)
{
	if (sink->ops->lost)
		sink->ops->lost(sink, cnt);
}

static inline void sink_free(struct sink *sink)
{
	if (sink && sink->ops->free)
		sink->ops->free(sink);
}

/* Shared by the sinks that turn rows into bytes. Only for sink_*.c. */
struct rowsink {
	struct sink sink;        /* first */
	const struct opts *opts; /* NULL: none */
	struct output *output;
	const struct trace_facts *facts;
	int err; /* the first error */
	bool is_reported;
	bool has_packet_line;
};

/* rowsink_fail - remember the first error; 0: no error. */
static inline void rowsink_fail(struct rowsink *rs, int err)
{
	if (err < 0 && !rs->err)
		rs->err = err;
}

/* rowsink_write - sink_ops.flush: logs the error passed to rowsink_fail once, and returns it from then on. */
int rowsink_write(struct rowsink *rs, bool is_idle);

/*
 * rowsink_put_packet_line - below a table in text, with --packet: say once that calls in a matching tree count, whatever their own
 * packet is. @has_funcs: the table has several functions, so one may be below another.
 */
void rowsink_put_packet_line(struct rowsink *rows, bool has_funcs);

/* What is above an interval's table. */
struct interval_head {
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t real_offset_ns; /* 0: unknown */
	bool is_first;
	bool has_calls;
};

/* rowsink_put_interval_head - append "# 2026-11-23T07:27:36.123456Z, 1.000000 s". */
void rowsink_put_interval_head(struct rowsink *rows, const struct interval_head *head);

/*
 * Metrics of a table: metricsfile_check - before tracing: whether --output-dir can be written to. metricsfile_put - write them
 * there, or to the output. Return: 0 or -errno, already logged. metricsfile_label - what all series have.
 */
int metricsfile_check(const struct opts *opts);
int metricsfile_put(struct rowsink *rows, struct text bytes);
struct metrics_label metricsfile_label(const struct opts *opts);

int rowsink_close(struct sink *sink, const struct recfile_summary *losses);
bool rowsink_is_full(const struct sink *sink);

#endif
