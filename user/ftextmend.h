/* layer 23: text reader */
#ifndef NFG_FTEXTMEND_H
#define NFG_FTEXTMEND_H

#include "ftext.h"
#include "row.h"
#include "strbuf.h"

/*
 * Damaged lines of function_graph text: mails and web pages lose blanks and columns, older
 * kernels mark otherwise.
 */

/* Longer calls have marks that older kernels do not know. */
#define FTEXTMEND_OLD_MARK_MAX_NS 1000000u

/* The reason that is no damage: an older kernel's ! above 100 us. Compare the address. */
extern const char ftextmend_old_mark[];

/* What had to be done to a line. */
struct ftextmend {
	const char *reason; /* what was wrong first, static; NULL: nothing */
	bool has_old_mark;
};

/*
 * ftextmend_row - see which row was meant.
 *
 * @line is changed until it is a row on its own, whatever columns other rows have; @row points
 * into it, and @alone has its columns. Return: whether there is a row in it.
 */
bool ftextmend_row(struct strbuf *line, struct ftext *alone, struct row *row,
		   struct ftextmend *found);

/* ftextmend_looks_like_row - it begins with a CPU, or has the bar before the function. */
bool ftextmend_looks_like_row(struct text line);

/* ftextmend_is_ellipsis - "  ." or "  ..." alone. */
bool ftextmend_is_ellipsis(struct text line);

/* ftextmend_is_bare_call - "name() {" and nothing else. */
bool ftextmend_is_bare_call(struct text line);

/* ftextmend_find_mark - where the mark of a row's duration stands, or NULL. */
char *ftextmend_find_mark(char *ptr, size_t len);

#endif
