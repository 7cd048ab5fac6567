#ifndef NFG_PIPELINE_SINK_H
#define NFG_PIPELINE_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "annotate/details.h"
#include "base/output.h"
#include "format/format.h"
#include "format/profile.h"
#include "kernel/comms.h"
#include "limits/leftout.h"
#include "options/opts.h"
#include "recording/recfile.h"
#include "recording/recorder.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/row.h"

/*
 * The end of the pipeline: what becomes of a trace. A sink of rows writes a text, another format or a table;
 * a sink of events writes a recording.
 */

/* The trace that a sink is about to get. Those of a text grow while it is read: look at every row. */
struct trace_facts {
	struct render_columns columns; /* text: those it has; else all that rows can fill */
	unsigned int cpu_width;        /* digits of the highest CPU */
	uint32_t cpu_cnt;              /* 0: unknown */
	const char *release;           /* uname -r; NULL: unknown */
	const char *node;              /* uname -n, when rows come; NULL, "": unknown */
	uint64_t real_offset_ns;       /* from the rows' clock to ns since 1970; 0: unknown */
	const struct functab *functab; /* of what was traced; NULL: unknown */
	bool is_text;                  /* rows were read from function_graph text */
	bool old_marks; /* text: ! stands for everything above 100 us, as in kernels before 3.19 */
};

/* trace_facts_of_host - of a trace or recording made on such a host. @release is borrowed. */
struct trace_facts trace_facts_of_host(uint32_t cpu_cnt, const char *release);

struct sink;

/* Every int is 0 or -errno (said), every pointer is borrowed for the call. What may be NULL does nothing. */
struct sink_ops {
	/* Before everything else, once. @facts stays and is kept up to date. May be NULL. */
	int (*begin)(struct sink *sink, const struct trace_facts *facts);
	/* Exactly one of both. A failed row is told by the next flush. */
	int (*events)(struct sink *sink, const struct event *events, size_t cnt);
	void (*row)(struct sink *sink, struct row *row);
	/* Functions were left out: instead of a comment among the rows. May be NULL. */
	int (*leftout)(struct sink *sink, const struct leftout *lo);
	/* What task @tid is called may change with the coming events. May be NULL. */
	void (*renamed)(struct sink *sink, uint32_t tid);
	/* Write what has gathered. @is_idle: all of it, for nothing more comes at once. Not 0: stop. */
	int (*flush)(struct sink *sink, bool is_idle);
	/* Nothing more comes: what belongs at the end. @is_failed: after an error nothing is begun any more. May be NULL. */
	int (*finish)(struct sink *sink, bool is_failed);
	/* Writes were held until now: what the file held goes. May be NULL. */
	int (*unhold)(struct sink *sink);
	/* --max-size is reached. NULL: never. */
	bool (*is_full)(const struct sink *sink);
	/* Of @losses a recording keeps what was lost; NULL: nothing was. May be NULL. */
	int (*close)(struct sink *sink, const struct recfile_summary *losses);
	/* Without close before it, the file stays as it was. May be NULL. */
	void (*free)(struct sink *sink);
};

struct sink {
	const struct sink_ops *ops;
	struct outfile *file; /* where it writes to, for whoever minds its reader */
	bool wants_notes; /* rows with what annotate/ says of them; banners bring their tasks' names */
	bool wants_process;  /* with wants_comm: and its process */
	bool wants_comm;     /* with wants_notes: every row brings its task's name */
	bool saves_at_close; /* what memory holds: close it after an error, too */
	bool drops_tail;     /* of a text: names behind } that are there only because tail was on */
};

/* sink_open - the sink of rows that the options ask for; @output is borrowed. Return: 0 or -errno, said. */
int sink_open(struct sink **out, const struct opts *opts, struct output *output);

/*
 * sink_format_new - rows to a file of @kind.
 *
 * @columns: of FORMAT_TEXT; NULL: the kernel's default, or of a text those that it has and its header as it is, so that
 * undamaged text comes out byte for byte. All is borrowed. Return: 0 or -ENOMEM.
 */
int sink_format_new(struct sink **out, enum format_kind kind, const struct render_columns *columns,
		    const struct opts *opts, struct output *output);

/* sink_table_new - rows to the table of profile or latency. All is borrowed. Return: 0 or -ENOMEM. */
int sink_table_new(struct sink **out, const struct opts *opts, struct output *output);

/* sink_stages_new - rows to the tables of latency --by stage. All is borrowed. Return: 0 or -ENOMEM. */
int sink_stages_new(struct sink **out, const struct opts *opts, struct output *output);

/* sink_table_profile - the table, for whoever fills it by other means than rows. */
struct profile *sink_table_profile(struct sink *sink);

/* sink_table_span - from the first to the last row, ns; 0: the rows have no times. */
uint64_t sink_table_span(const struct sink *sink);

/*
 * sink_table_interval - the interval that began at @begin_ns ended at @end_ns: its table is written, with @begin_ns before it,
 * and the next one begins. Return: 0 or -errno, said.
 */
int sink_table_interval(struct sink *sink, uint64_t begin_ns, uint64_t end_ns);

/* What a recording is made from. All is borrowed. */
struct sink_recording_config {
	const struct opts *opts;
	const struct functab *functab;
	const struct details *details;
	struct comms *comms;
	const struct recfile_made *made; /* filled in before unhold, but for node */
	uint32_t cpu_cnt;
};

/* sink_recording_new - events to the recording that -o names. Return: 0 or -errno, said. */
int sink_recording_new(struct sink **out, const struct sink_recording_config *config);

/*
 * sink_flight_new - events to the memory of a flight recorder (--ring), which makes recordings in the directory that -o names.
 *
 * Return: 0 or -errno, said; -ENOENT: --when names what is not traced.
 */
int sink_flight_new(struct sink **out, const struct sink_recording_config *config);

/* sink_recorder_config - what both kinds have in common: all but the file. */
struct recorder_config sink_recorder_config(const struct sink_recording_config *config);

static inline bool sink_is_full(const struct sink *sink)
{
	return sink->ops->is_full && sink->ops->is_full(sink);
}

static inline void sink_free(struct sink *sink)
{
	if (sink && sink->ops->free)
		sink->ops->free(sink);
}

#endif
