#ifndef NFG_REPORT_CHOOSE_ROWS_H
#define NFG_REPORT_CHOOSE_ROWS_H

#include "options/opts.h"
#include "trace/row.h"

/*
 * Selects the rows of function_graph text that the options show, like choose_events.h for a recording's events. In a
 * text, rows may be missing, and a row's task is known only if the text shows it. Rows move left when their callers
 * are left out; choose_rows.h recomputes leaves, banners and names of }.
 */
struct choose_rows;

struct choose_rows_config {
	const struct opts *opts; /* borrowed */
	const char *path;        /* of the text, for messages; borrowed */
	/* Called once per row that is shown, in order. row is borrowed for the call. */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/*
 * choose_rows_check - whether the options suit @opts->input_path, which is a text if @opts->input_is_text.
 *
 * Return: 0, or -EINVAL after an error message: they need a recording.
 */
int choose_rows_check(const struct opts *opts);

/* choose_rows_new - Return: 0 or -ENOMEM. Caller frees with choose_rows_free. */
int choose_rows_new(struct choose_rows **out, const struct choose_rows_config *config);
void choose_rows_free(struct choose_rows *cr);

/*
 * choose_rows_row - take the next row. Selected rows are emitted as soon as their selection is certain: with
 * --slower-than when their outermost call has returned.
 *
 * @row: a call has its task, if the text shows it, and its name, even if the text omits it after a }. Borrowed for
 * the call. Return: 0 or -ENOMEM.
 */
int choose_rows_row(struct choose_rows *cr, const struct row *row);

/*
 * choose_rows_finish - emit waiting rows; no row may follow.
 *
 * Return: 0, or -ENOMSG when a rule named no function of the text, or tasks are asked for and the text shows none;
 * already logged.
 */
int choose_rows_finish(struct choose_rows *cr);

#endif
