/* layer 34: view */
#ifndef NFG_ROWCHOICE_H
#define NFG_ROWCHOICE_H

#include "opts.h"
#include "row.h"

/*
 * What of function_graph text is to be shown, as choice.h does it for recordings: here there are only rows, some
 * may be missing, and who runs is known only where the text says so. Calls move left when callers of theirs are
 * left out; one whose callees all are becomes a leaf. Banners come where the rows that are left change tasks.
 */
struct rowchoice;

struct rowchoice_config {
	const struct opts *opts; /* borrowed */
	const char *path;        /* for what is said */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/* rowchoice_new - Return: 0 or -ENOMEM. Caller frees with rowchoice_free. */
int rowchoice_new(struct rowchoice **out, const struct rowchoice_config *config);
void rowchoice_free(struct rowchoice *rc);

/*
 * rowchoice_row - the next row. Those to be shown go to emit, perhaps later, with --slower-than when their root
 * has returned.
 *
 * @row: a call has its task, if it is known, and its name, also where a } does not say it. Borrowed.
 * Return: 0 or -ENOMEM.
 */
int rowchoice_row(struct rowchoice *rc, const struct row *row);

/* rowchoice_finish - nothing comes any more. Return: 0, or -ENOMSG: a rule met no function, said on stderr. */
int rowchoice_finish(struct rowchoice *rc);

#endif
