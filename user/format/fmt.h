#ifndef NFG_FORMAT_FMT_H
#define NFG_FORMAT_FMT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "format/calltree.h"
#include "format/format.h"
#include "trace/row.h"

/* Shared by the formats: their operations, and the fields of a call. */

struct render_columns;

struct fmt_ops {
	struct format_traits traits;
	size_t size;     /* of the format's own state, zeroed before start */
	bool has_frames; /* shows the frames of a stack; for others it is a comment */
	bool has_points; /* shows the fields of a tracepoint; for others it is a comment */
	/* the others have a table of tasks, or write each name once (calltree.h) */
	bool forgets_tasks;
	/* Each returns 0 or -errno. Output is appended to the strbuf given to start. */
	int (*start)(void *self, const struct format_config *config, struct strbuf *out);
	int (*row)(void *self, const struct row *row);
	int (*finish)(void *self); /* > 0: more follows; empty the strbuf and call again */
	void (*release)(void *self);
};

#define FMT_DECLARE(id, ops) extern const struct fmt_ops fmt_##ops;
FORMATS(FMT_DECLARE)

/* fmt_text_set_columns - set the columns and CPU digits of later rows; @self: the state of a fmt_text. */
void fmt_text_set_columns(void *self, const struct render_columns *columns, unsigned int cpu_width);

/* fmt_html_set_lost - how many events the trace lacks, before finish; @self: the state of a fmt_html. */
void fmt_html_set_lost(void *self, uint64_t cnt);

/* fmt_json_set_lost - the same of a fmt_json: a last line has those without a place. */
void fmt_json_set_lost(void *self, uint64_t cnt);

/* fmt_tracedat_set_lost - the same of a fmt_tracedat, of both versions: those without a place are at the end of a CPU. */
void fmt_tracedat_set_lost(void *self, uint64_t cnt);

/* ---- the fields of a call: the table that json, chrome and perfetto walk ---- */

enum fmt_kind {
	FMT_NULL,
	FMT_U64,
	FMT_TEXT,
	FMT_BOOL,
	FMT_VALUE, /* one of the call's */
	FMT_ARGS,  /* all arguments */
};

struct fmt_value {
	enum fmt_kind kind;
	uint32_t value_cnt;         /* ARGS */
	uint64_t number;            /* U64 and BOOL */
	struct text text;           /* TEXT; ARGS: as call.args_text */
	const struct value *values; /* VALUE and ARGS */
};

/* Which end of a call a field describes, for formats that write the two ends separately. */
enum fmt_side {
	FMT_SLICE,  /* has its own place in such a format (times, thread, name), or none */
	FMT_DETAIL, /* known at the entry; for formats that keep it separate from the name */
	FMT_BEGIN,  /* known at the entry */
	FMT_END,    /* known at the return */
};

/* The meaning of a field's number, for formats with types of their own. */
enum fmt_shape {
	FMT_PLAIN,
	FMT_TIME, /* of the trace's clock, ns */
};

struct fmt_field {
	const char *name;
	enum fmt_side side;
	enum fmt_shape shape;
	void (*get)(const struct calltask *task, const struct call *call, struct fmt_value *out);
};

extern const struct fmt_field fmt_fields[];
extern const size_t fmt_field_cnt;

/* ---- pieces of text ---- */

/* fmt_us - nanoseconds as microseconds with three decimals. */
void fmt_us(struct strbuf *out, uint64_t time_ns);

/* fmt_json_value - the value as JSON. */
void fmt_json_value(struct jsonw *w, const struct fmt_value *value);

/* fmt_sym - "name" or "name [module]"; "[unknown]" for NULL. @classes: what to escape (cleantext.h), or 0. */
void fmt_sym(struct strbuf *out, const struct callsym *sym, unsigned int classes);

/* fmt_task - the task's thread name: its comm, "swapper/N" for an idle task. @classes: as in fmt_sym. */
void fmt_task(struct strbuf *out, const struct calltask *task, unsigned int classes);

/* fmt_tree - create the calltree that a format needs for @config. Return: 0 or -ENOMEM. */
int fmt_tree(struct calltree **out, const struct format_config *config,
	     void (*begin)(void *ctx, struct calltask *task, struct call *call),
	     void (*end)(void *ctx, struct calltask *task, struct call *call), void *ctx);

#endif
