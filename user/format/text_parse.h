#ifndef NFG_FORMAT_TEXT_PARSE_H
#define NFG_FORMAT_TEXT_PARSE_H

#include "base/strbuf.h"
#include "format/render.h"
#include "trace/row.h"

enum text_line {
	TEXT_PARSE_ROW,    /* *row is filled */
	TEXT_PARSE_HEADER, /* a line beginning with '#' */
	TEXT_PARSE_MORE,   /* part of a banner; its last line returns the row */
	TEXT_PARSE_BAD,    /* not function_graph text; ft->reason says why */
};

/*
 * Parses function_graph text as the kernel prints it, line by line, into rows that render_row() turns back into the
 * same bytes.
 */
struct text_parse {
	struct render_columns columns; /* never tail: is_named of a row replaces it */
	unsigned int cpu_width;        /* 1 until a row or a banner shows it */
	bool has_columns;              /* a header or a row was seen, so columns are known */
	const char *reason;            /* why the last line was TEXT_PARSE_BAD */
	/* private to text_parse.c from here on */
	bool has_width;
	unsigned int banner_line; /* lines of the current banner already read */
	uint32_t cpu;             /* of the last row */
	uint32_t banner_cpu;
	struct task_name prev;
	struct task_name next;
	char names[64]; /* a copy of the banner's second line */
};

void text_parse_init(struct text_parse *ft);

/*
 * text_parse_line - parse one line, with or without its newline.
 *
 * Columns come from the header, or else from the shape of the first row; columns.overhead turns false at the first
 * row above 10 us without a mark, so render with the columns after each call. A cut duration (6 digits and more)
 * becomes the lowest number that prints the same. Lines that are valid but not rows (stack dumps, irq markers, rows
 * with relative time) are ROW_OTHER. The strings of @row point into @line, a banner's into @ft; they are valid until
 * the next call.
 */
enum text_line text_parse_line(struct text_parse *ft, const char *line, size_t len,
			       struct row *row);

/* No function has so many arguments: the rest of a longer list is one value. */
#define TEXT_VALUES_MAX 128

/* Memory for the values of one row. Zeroed: none. */
struct text_values {
	struct value *args;
	size_t arg_cap;
	struct caller caller;
	struct value ret;
};

/*
 * text_values_take - set args, caller and ret of a call's @row from its args_text and note.
 *
 * They are valid until the next call, their texts as long as those of @row. Return: 0 or -ENOMEM.
 */
int text_values_take(struct text_values *tv, struct row *row);
void text_values_release(struct text_values *tv);

/*
 * text_parse_rest - parse what is behind the columns and the indentation: "name() {", "} / * name * /" or a comment. Blanks
 * before a { do not count.
 *
 * Return: NULL, or what is wrong.
 */
const char *text_parse_rest(struct text text, struct row *row);

/* text_parse_clear - a row without anything. */
void text_parse_clear(struct row *row);

/* Longer calls have marks that older kernels lack. */
#define TEXT_REPAIR_OLD_MARK_MAX_NS 1000000u

/* text_repair_looks_like_row - whether it begins with a CPU, or has the bar before the function. */
bool text_repair_looks_like_row(struct text line);

/* text_repair_is_bare_call - whether it is just "name() {". */
bool text_repair_is_bare_call(struct text line);

/* text_repair_find_mark - the place of the mark of a row's duration, or NULL. */
char *text_repair_find_mark(char *ptr, size_t len);

#endif
