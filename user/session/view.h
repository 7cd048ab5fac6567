#ifndef NFG_SESSION_VIEW_H
#define NFG_SESSION_VIEW_H

#include "options/opts.h"
#include "base/output.h"
#include "format/profile.h"
#include "trace/row.h"

/* What becomes of rows: a text, a file in another format, or a table at the end. */
struct view;

/* What is known of the host that the rows come from. */
struct view_facts {
	const struct render_columns *columns;
	unsigned int cpu_width;
	uint32_t cpu_cnt;
	const char *release; /* NULL: unknown */
	bool lacks_time;     /* rows read from a text without that column */
	bool lacks_task;
};

/* view_new - as the options say. Return: 0, or -errno said on stderr. Caller frees with view_free. */
int view_new(struct view **out, const struct opts *opts, const struct view_facts *facts,
	     struct output *output);
void view_free(struct view *vw);

/* view_wants_comm - whether every row should bring its task's name. */
bool view_wants_comm(const struct view *vw);

/* view_wants_names - whether any row should: a table does not say who called. */
bool view_wants_names(const struct view *vw);

/* view_profile - the table that the view is, for whoever fills it by other means than rows; NULL: none. */
struct profile *view_profile(struct view *vw);

/* view_row - take a row; text gathers in the output. */
void view_row(struct view *vw, const struct row *row);

/* view_flush - write what has gathered. Return: 0 or -errno (said). */
int view_flush(struct view *vw);

/* view_finish - what comes at the end, written. Return: 0 or -errno (said). */
int view_finish(struct view *vw);

#endif
