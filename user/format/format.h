#ifndef NFG_FORMAT_FORMAT_H
#define NFG_FORMAT_FORMAT_H

#include "format/render.h"
#include "trace/row.h"
#include "base/strbuf.h"

enum format_kind {
	FORMAT_TEXT,       /* function_graph text, by render.h */
	FORMAT_JSON,       /* a call a line, include/call.schema.json */
	FORMAT_CHROME,     /* Chrome trace event JSON: chrome://tracing, Perfetto UI */
	FORMAT_SPEEDSCOPE, /* the same without values, which speedscope takes for a part of names */
	FORMAT_PERFETTO,   /* Perfetto protobuf */
	FORMAT_HTML,       /* a page that shows it in a browser */
	FORMAT_FOLDED,     /* folded stacks: flamegraph.pl, speedscope */
	FORMAT_TRACEDAT,   /* trace.dat version 6: trace-cmd, KernelShark, Trace Compass */
	FORMAT_TRACEDAT7,  /* the same events in version 7, as trace-cmd writes since 3.0 */
	FORMAT_OTLP,       /* OpenTelemetry: OTLP as JSON lines */
	FORMAT_ROWS_CNT,   /* those before are of rows, the others of tables */
	FORMAT_CSV = FORMAT_ROWS_CNT,
	FORMAT_METRICS, /* Prometheus, OpenMetrics */
	FORMAT_CNT,
};

struct format_config {
	enum format_kind kind;
	/* text */
	const struct render_columns *columns; /* NULL: render_columns_default */
	unsigned int cpu_width;               /* 0: 1 */
	bool lacks_header;                    /* rows alone */
	/* folded */
	bool is_total_time; /* time of a stack with what it calls, not without */
	/* what the rows lack, when they were read from text */
	bool lacks_time;
	bool lacks_task;
	/* perfetto: from the rows' clock, CLOCK_MONOTONIC, to ns since 1970; 0: the clock is not known */
	uint64_t real_offset_ns;
	/* trace.dat: facts of the host that was traced */
	uint32_t cpu_cnt;    /* 0: as many as the rows show */
	const char *release; /* uname -r; NULL: unknown */
	/* json, otlp: uname -n, when the first row comes; stays the caller's until then. NULL, "": unknown */
	const char *node;
	const char *spool_dir; /* for the pages until their CPU's turn; NULL: /var/tmp */
};

/*
 * A format turns rows into bytes of one file format, appended to the strbuf given. The
 * caller writes them out and resets the strbuf as often as it likes. Memory
 * does not grow with the trace: folded keeps one number for each different stack, trace.dat
 * puts its pages in an unlinked temporary file.
 */
struct format;

/*
 * format_new - begin a file of @config->kind; @out gets its first bytes.
 *
 * Nothing of @config is needed afterwards. Return: 0, -ENOMEM, or -errno of the spool file.
 * Caller frees with format_free.
 */
int format_new(struct format **out_format, const struct format_config *config, struct strbuf *out);
void format_free(struct format *f);

/*
 * format_row - take the next row, in the order of the text.
 *
 * Nothing of @row is needed afterwards. Return: 0, -ENOMEM, or -errno of the spool file.
 */
int format_row(struct format *f, const struct row *row);

/* format_set_columns - text: columns and digits of a CPU, as the text that is read has them. */
void format_set_columns(struct format *f, const struct render_columns *columns,
			unsigned int cpu_width);

/*
 * format_finish - end the file; calls still open end incomplete.
 *
 * Return: 0 when done, above 0 when there is more: empty the strbuf and call again. Or
 * -ENOMEM, or -errno of the spool file.
 */
int format_finish(struct format *f);

/* format_name - as --format takes it: text, json, chrome, perfetto, folded, trace.dat, ... */
const char *format_name(enum format_kind kind);

/* format_by_name - Return: 0 or -ENOENT. */
int format_by_name(const char *name, enum format_kind *out);

/* format_is_binary - not for a terminal. */
bool format_is_binary(enum format_kind kind);

#endif
