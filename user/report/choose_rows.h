#ifndef NFG_REPORT_CHOOSE_ROWS_H
#define NFG_REPORT_CHOOSE_ROWS_H

#include "options/opts.h"
#include "trace/row.h"

/*
 * What of function_graph text is to be shown, as choose_events.h does it for recordings: here there are only rows, some
 * may be missing, and who runs is known only where the text says so. Calls move left when callers of theirs are
 * left out; one whose callees all are becomes a leaf. Banners come where the rows that are left change tasks.
 */
struct choose_rows;

struct choose_rows_config {
	const struct opts *opts; /* borrowed */
	const char *path;        /* for what is said */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/* choose_rows_new - Return: 0 or -ENOMEM. Caller frees with choose_rows_free. */
int choose_rows_new(struct choose_rows **out, const struct choose_rows_config *config);
void choose_rows_free(struct choose_rows *rc);

/*
 * choose_rows_row - the next row. Those to be shown go to emit, perhaps later, with --slower-than when their root
 * has returned.
 *
 * @row: a call has its task, if it is known, and its name, also where a } does not say it. Borrowed.
 * Return: 0 or -ENOMEM.
 */
int choose_rows_row(struct choose_rows *rc, const struct row *row);

/* choose_rows_finish - nothing comes any more. Return: 0, or -ENOMSG: a rule met no function, said on stderr. */
int choose_rows_finish(struct choose_rows *rc);

#endif
