#ifndef NFG_FORMAT_TEXT_PARSE_H
#define NFG_FORMAT_TEXT_PARSE_H

#include "format/render.h"
#include "trace/row.h"

enum text_line {
	FTEXT_ROW,    /* *row is filled */
	FTEXT_HEADER, /* a line beginning with '#' */
	FTEXT_MORE,   /* part of a banner; the last line of it brings the row */
	FTEXT_BAD,    /* not function_graph text; ft->reason says why */
};

/*
 * Reads function_graph text as the kernel prints it, a line at a time, and gives rows
 * that render_row() turns into the same bytes again.
 */
struct text_parse {
	struct render_columns columns; /* never tail: a row's is_named says it */
	unsigned int cpu_width;        /* 1 until a row or a banner shows it */
	bool has_columns;              /* columns are known: a header or a row was seen */
	const char *reason;            /* why the last line was FTEXT_BAD */
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
 * text_parse_line - read one line, with or without its newline.
 *
 * Columns come from the header, or else from the shape of the first row; columns.overhead
 * turns false at the first row above 10 us without a mark, so render with the columns as
 * they are after each call. A cut duration (6 digits and more) becomes the lowest number
 * that prints alike. Lines that are neither rows nor wrong (stack dumps, irq markers, rows
 * with relative time) are ROW_OTHER. The strings of @row point into @line, those of a
 * banner into @ft; they hold until the next call.
 */
enum text_line text_parse_line(struct text_parse *ft, const char *line, size_t len,
			       struct row *row);

#endif
