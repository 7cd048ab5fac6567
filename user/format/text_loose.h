#ifndef NFG_FORMAT_TEXT_LOOSE_H
#define NFG_FORMAT_TEXT_LOOSE_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "format/text_parse.h"
#include "trace/row.h"

/*
 * function_graph text as it reaches people: quoted, indented, cut, trimmed, out of dmesg, out of `trace-cmd report`. It is
 * read by its words and bars, not by its blanks; only behind the last bar blanks count, because they are the depth.
 */

#define LOOSE_SHAPE_MAX 48

struct text_loose {
	bool is_on; /* the text needs it: every line goes through text_loose_clean */
	/* What is in front of each row, without blanks: 0 for a number, a for a word, other bytes for themselves; "": nothing. */
	char shape[LOOSE_SHAPE_MAX];
	char sample[LOOSE_SHAPE_MAX]; /* it in one row, for messages; "": nothing */
	/* private to text_loose.c from here on */
	bool tabs_from_start; /* tab stops are counted from the line's first byte, not from behind the prefix */
	size_t tabs_column; /* else the column of the byte behind the prefix */
	unsigned int look_cnt;
	unsigned int wait_cnt; /* looks that are still to be left out */
	struct strbuf clean;
	struct strbuf tried;
};

void text_loose_release(struct text_loose *tl);

/*
 * text_loose_look - called at a line that the strict parser does not take: whether the text, of which @ahead are the next lines,
 * needs this reader. Then is_on and the prefix are set. Long texts are not looked at often.
 *
 * Return: whether is_on or the prefix changed, so that @line is to be read again.
 */
bool text_loose_look(struct text_loose *tl, struct text line, struct text ahead);

/*
 * text_loose_clean - the line without its prefix, our colours, tabs, HTML entities, no-break blanks and blanks at its end.
 *
 * Return: valid until the next call.
 */
struct text text_loose_clean(struct text_loose *tl, struct text line);

enum loose_kind {
	LOOSE_ROW,     /* *row and *alone are filled */
	LOOSE_CUT,     /* rows were left out here; row->cpu is set if the line has one */
	LOOSE_NOTHING, /* a rule, a heading, an empty line: no row, and nothing is missing */
	LOOSE_PART,    /* the beginning of a row, which the next line may end */
	LOOSE_OTHER,   /* none of these */
};

/* Why a line that has everything else is no row. Compare the address. */
extern const char text_loose_no_depth[];

/* What was read out of one line. */
struct loose_line {
	enum loose_kind kind;
	bool has_old_mark;
	bool is_event; /* a COMMENT made of an event, as trace-cmd report prints it */
	const char *
		reason; /* of a ROW: what is not as the kernel prints it, static; NULL: nothing, or just blanks */
};

/*
 * text_loose_line - read one line, which was cleaned if the text needs it.
 *
 * The strings of @row point into @line. @alone: its columns.
 */
struct loose_line text_loose_line(struct text line, struct text_parse *alone, struct row *row);

#endif
