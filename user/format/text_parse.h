#ifndef NFG_FORMAT_TEXT_PARSE_H
#define NFG_FORMAT_TEXT_PARSE_H

#include "format/render.h"
#include "trace/row.h"

enum text_line {
	FTEXT_ROW,    /* *row is filled */
	FTEXT_HEADER, /* a line beginning with '#' */
	FTEXT_MORE,   /* part of a banner; its last line returns the row */
	FTEXT_BAD,    /* not function_graph text; ft->reason says why */
};

/*
 * Parses function_graph text as the kernel prints it, line by line, into rows that render_row() turns back into the
 * same bytes.
 */
struct text_parse {
	struct render_columns columns; /* never tail: is_named of a row replaces it */
	unsigned int cpu_width;        /* 1 until a row or a banner shows it */
	bool has_columns;              /* a header or a row was seen, so columns are known */
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

#endif
