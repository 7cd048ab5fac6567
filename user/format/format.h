#ifndef NFG_FORMAT_FORMAT_H
#define NFG_FORMAT_FORMAT_H

#include "format/render.h"
#include "trace/row.h"
#include "base/strbuf.h"

/* The formats: FORMAT_ID, and fmt_NAME, a struct fmt_ops (fmt.h), which says everything else about it. */
#define FORMATS(FORMAT)                                                                         \
	FORMAT(TEXT, text)     /* function_graph text, by render.h */                           \
	FORMAT(JSON, json)     /* one call per line, include/call.schema.json */                \
	FORMAT(CHROME, chrome) /* Chrome trace event JSON: chrome://tracing, Perfetto UI */     \
	FORMAT(SPEEDSCOPE,                                                                      \
	       speedscope)         /* the same without values: speedscope adds them to names */ \
	FORMAT(PERFETTO, perfetto) /* Perfetto protobuf */                                      \
	FORMAT(HTML, html)         /* an HTML page with a viewer */                             \
	FORMAT(FOLDED, folded)     /* folded stacks: flamegraph.pl, speedscope */               \
	FORMAT(TRACEDAT,                                                                        \
	       tracedat) /* trace.dat version 6: trace-cmd, KernelShark, Trace Compass */       \
	FORMAT(TRACEDAT7, tracedat7) /* the same in version 7, as trace-cmd writes since 3.0 */ \
	FORMAT(OTLP, otlp)           /* OpenTelemetry: OTLP as JSON lines */                    \
	FORMAT(CSV, csv)                                                                        \
	FORMAT(METRICS, metrics) /* Prometheus, OpenMetrics */

/* The help of --format. */
#define FORMATS_HELP                                                                                 \
	"text (the kernel's), json (one call per line), html (a page for a browser), perfetto "      \
	"and chrome (for ui.perfetto.dev), speedscope, otlp (for OpenTelemetry), folded (for "       \
	"flame graphs), trace.dat (for trace-cmd, KernelShark and Trace Compass), trace.dat.v7 "     \
	"(the same in version 7 of that format, which Trace Compass cannot read). With profile "     \
	"and latency: text, json or csv, a record for each function, or openmetrics, histograms "    \
	"for Prometheus. With list, check, info and diff: text, json (one record per line) or csv. " \
	"With explain: text, or html, the causes above the tree of the slowest call."

#define FORMAT_ENUMERATOR(id, ops) FORMAT_##id,

enum format_kind { FORMATS(FORMAT_ENUMERATOR) FORMAT_CNT };

/* What the rest has to know of a format. */
struct format_traits {
	const char *name;       /* as --format takes it */
	bool is_binary;         /* not for a terminal */
	bool wants_process;     /* rows need the process of a task, not its name alone */
	bool has_net;           /* shows net durations beside others */
	bool has_values;        /* shows arguments, callers and results */
	bool lacks_comments;    /* has no place for rows that are no calls */
	bool can_be_cut;        /* may end after any row: --max-size, --rotate */
	bool is_of_tables;      /* profile and latency have it ... */
	bool lacks_neighbours;  /* ... without callers and callees */
	bool is_of_facts;       /* list, check, info, diff, and latency --by stage have it */
	const char *tables_why; /* of a format that traces do not have: why; NULL: they do */
};

struct format_config {
	enum format_kind kind;
	/* text */
	const struct render_columns *columns; /* NULL: render_columns_default */
	unsigned int cpu_width;               /* 0: 1 */
	bool lacks_header;                    /* rows alone */
	/* folded */
	bool is_total_time;        /* a stack's time includes its callees */
	uint64_t ustack_bytes_max; /* see fmt_folded.c; 0: the default */
	/* what rows from text lack */
	bool lacks_time;
	bool lacks_task;
	/* perfetto: from the rows' clock, CLOCK_MONOTONIC, to ns since 1970; 0: the clock is not known */
	uint64_t real_offset_ns;
	/* trace.dat: facts of the host that was traced */
	uint32_t cpu_cnt;    /* 0: as many as the rows show */
	const char *release; /* uname -r; NULL: unknown */
	/* json, otlp, html: uname -n, borrowed until the first row, when it is read. NULL, "": unknown */
	const char *node;
	const char *spool_dir; /* for pages that wait for their CPU's turn; NULL: /var/tmp */
};

/*
 * A format turns rows into bytes of a file format and appends them to a strbuf, which the caller writes out and
 * resets at any time. Memory does not grow with the trace: folded keeps one number for each different stack,
 * trace.dat puts its pages in an unlinked temporary file.
 */
struct format;

/*
 * format_new - begin a file of @config->kind; @out gets its first bytes.
 *
 * @config is not used afterwards, except node. Return: 0, -ENOMEM, or -errno of the spool file. Caller frees with
 * format_free.
 */
int format_new(struct format **out_format, const struct format_config *config, struct strbuf *out);
void format_free(struct format *f);

/*
 * format_row - take the next row, in the order of the text.
 *
 * @row is not used afterwards. Return: 0, -ENOMEM, or -errno of the spool file.
 */
int format_row(struct format *f, const struct row *row);

/* format_set_columns - for text input: set the columns and CPU digits to those of the input. */
void format_set_columns(struct format *f, const struct render_columns *columns,
			unsigned int cpu_width);

/* format_set_lost - how many events the trace lacks, with and without a known place; before format_finish. */
void format_set_lost(struct format *f, uint64_t cnt);

/*
 * format_finish - end the file; open calls end incomplete.
 *
 * Return: 0 when done; above 0: more follows, empty the strbuf and call again; or -ENOMEM, or -errno of the spool
 * file.
 */
int format_finish(struct format *f);

const struct format_traits *format_traits(enum format_kind kind);

/* format_name - its --format name: text, json, chrome, perfetto, folded, trace.dat, ... */
const char *format_name(enum format_kind kind);

/* format_by_name - Return: 0 or -ENOENT. */
int format_by_name(const char *name, enum format_kind *out);

#endif
