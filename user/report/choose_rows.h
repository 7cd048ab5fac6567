#ifndef NFG_REPORT_CHOOSE_ROWS_H
#define NFG_REPORT_CHOOSE_ROWS_H

#include "options/opts.h"
#include "trace/row.h"

/*
 * Which rows of function_graph text the options show, as choose_events.h says it of the events of a recording. A text
 * has only rows, some may be missing, and a row's task is known only where the text tells it. Rows move left when
 * callers of theirs are left out; show_rows.h makes leaves, banners and names of } anew.
 */
struct choose_rows;

struct choose_rows_config {
	const struct opts *opts; /* borrowed */
	const char *path;        /* of the text, for messages; borrowed */
	/* Called once per row that is shown, in order. row is borrowed for the call. */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/* choose_rows_new - Return: 0 or -ENOMEM. Caller frees with choose_rows_free. */
int choose_rows_new(struct choose_rows **out, const struct choose_rows_config *config);
void choose_rows_free(struct choose_rows *cr);

/*
 * choose_rows_row - take the next row. Rows to be shown are emitted as soon as it is certain that they are: with
 * --slower-than when the outermost call around them has returned.
 *
 * @row: a call has its task, if the text tells it, and its name, also where the text leaves it out behind a }.
 * Borrowed for the call. Return: 0 or -ENOMEM.
 */
int choose_rows_row(struct choose_rows *cr, const struct row *row);

/*
 * choose_rows_finish - emit what waits; no row may follow.
 *
 * Return: 0, or -ENOMSG when a rule named no function of the text, or tasks are asked for and the text tells
 * none; said on stderr.
 */
int choose_rows_finish(struct choose_rows *cr);

#endif
