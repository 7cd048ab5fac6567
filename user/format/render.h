#ifndef NFG_FORMAT_RENDER_H
#define NFG_FORMAT_RENDER_H

#include "base/strbuf.h"
#include "trace/row.h"

/* Which columns appear: the kernel's funcgraph-* options, with its defaults in render_columns_default. */
struct render_columns {
	bool abstime;
	bool cpu;
	bool proc;
	bool duration;
	bool overhead;
	bool tail;
	bool net;     /* the DURATION column has row.net */
	bool latency; /* the irq/preempt flags column; only from trace text */
};

extern const struct render_columns render_columns_default;

struct render {
	struct render_columns columns;
	unsigned int cpu_width; /* digits of the highest possible CPU number */
	/* private to render.c from here on */
	uint32_t *comment_indent; /* per CPU: spaces before a comment */
	size_t cpu_cap;
	struct strbuf cleaned; /* texts of a row that had to be escaped */
};

/* render_cpu_width - digits of the highest CPU's number; @cpu_cnt is not 0. */
unsigned int render_cpu_width(uint32_t cpu_cnt);

/*
 * render_init - prepare a renderer.
 *
 * @cpu_width: see render_cpu_width.
 * Return: 0 or -ENOMEM. Released with render_release().
 */
int render_init(struct render *r, const struct render_columns *columns, unsigned int cpu_width);
void render_release(struct render *r);

/*
 * render_header - append the "# tracer: function_graph" header (print_graph_headers_flags in
 * kernel/trace/trace_functions_graph.c) to @out.
 */
void render_header(const struct render *r, struct strbuf *out);

/*
 * render_row - append one row, newline included, to @out.
 *
 * Byte for byte as kernel/trace/trace_functions_graph.c prints it, except for bytes that would reach beyond their
 * field or move a terminal's cursor (cleantext.h): those become \xNN. Tabs stay in comments and in lines of other
 * forms. No printf, no allocation once @out has grown; less than 50 ns per row.
 */
void render_row(struct render *r, const struct row *row, struct strbuf *out);

#define VALUE_TEXT_MAX 320 /* bytes of any value that is not FORM_TEXT */

/* value_text - the value as it is written, without its name: its own text, or @bytes. */
struct text value_text(const struct value *value, char bytes[VALUE_TEXT_MAX]);

/* render_args - append arguments as the kernel lists them: "skb=0xffff888003a1e400, len=23". */
void render_args(const struct value *args, uint32_t cnt, struct strbuf *out);

/* render_point - append the text of a ROW_POINT as the kernel has it: "kfree_skb: skbaddr=0xffff888003a1e400 ...". */
void render_point(const struct row *row, struct strbuf *out);

/* render_frames - append a stack, @between its places: "f+0x1/0x2 (net/core/dev.c:12)". */
void render_frames(const struct caller *frames, uint32_t cnt, const char *between,
		   struct strbuf *out);

/*
 * render_user_stack - append a user stack, @between its places: "main+0x3f/0x52 [client]", "0x7f12a1b2c3d4
 * [libx.so+0x1234 BUILD-ID]", with a hidden address "? [libx.so+0x1234 BUILD-ID]", "0x7f12a1b2c3d4 [unknown]"; "?" for
 * none.
 */
void render_user_stack(const struct user_stack *stack, const char *between, struct strbuf *out);

/*
 * paint_row - colour the text of @row, which is @out from @start on.
 *
 * Colours durations by their marks (! # yellow, * @ $ red), errors that calls returned, lost events, changes of task,
 * and comments. Apart from the escapes the text is unchanged.
 */
void paint_row(struct strbuf *out, size_t start, const struct row *row);

/*
 * paint_table - the same for the table of profile or latency that is @out from @start on: its headings and row names.
 */
void paint_table(struct strbuf *out, size_t start);

#endif
