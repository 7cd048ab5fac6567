#ifndef NFG_FORMAT_TEXT_REPAIR_H
#define NFG_FORMAT_TEXT_REPAIR_H

#include "format/text_parse.h"
#include "trace/row.h"
#include "base/strbuf.h"

/*
 * Repairs damaged lines of function_graph text: mails and web pages lose blanks and columns; older kernels use other
 * marks.
 */

/* Longer calls have marks that older kernels lack. */
#define TEXT_REPAIR_OLD_MARK_MAX_NS 1000000u

/* A reason that is not damage: an older kernel's ! above 100 us. Compare the address. */
extern const char text_repair_old_mark[];

/* What was repaired in a line. */
struct text_repair {
	const char *reason; /* what was wrong first, static; NULL: nothing */
	bool has_old_mark;
};

/*
 * text_repair_row - recover the intended row.
 *
 * @line is changed until it is a row by itself, whatever columns other rows have; @row points into it, and @alone has
 * its columns. Return: whether it contains a row.
 */
bool text_repair_row(struct strbuf *line, struct text_parse *alone, struct row *row,
		     struct text_repair *found);

/* text_repair_looks_like_row - whether it begins with a CPU, or has the bar before the function. */
bool text_repair_looks_like_row(struct text line);

/* text_repair_is_ellipsis - whether it is just "  ." or "  ...". */
bool text_repair_is_ellipsis(struct text line);

/* text_repair_is_bare_call - whether it is just "name() {". */
bool text_repair_is_bare_call(struct text line);

/* text_repair_find_mark - the place of the mark of a row's duration, or NULL. */
char *text_repair_find_mark(char *ptr, size_t len);

#endif
