/* Rows to the tables of profile and latency. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "pipeline/rowsink.h"

struct sink_table {
	struct rowsink rows; /* first */
	struct profile *
		profile; /* NULL before the first row: until then the columns of a text are not known */
};

static int make_table(struct sink_table *st)
{
	const struct trace_facts *facts = st->rows.facts;
	const struct profile_config config = {
		.has_callers = st->rows.opts->has_callers || st->rows.opts->has_callees,
		.lacks_time = !facts->columns.abstime,
		.lacks_task = !facts->columns.proc,
	};

	rowsink_fail(&st->rows, profile_new(&st->profile, &config));
	return st->rows.err;
}

/* Once. Return: 0, or what went wrong first. */
static inline int make(struct sink_table *st)
{
	return st->profile || st->rows.err ? st->rows.err : make_table(st);
}

static int table_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_table *st = (struct sink_table *)sink;

	st->rows.facts = facts;
	return facts->is_text ? 0 : make(st);
}

static void table_row(struct sink *sink, struct row *row)
{
	struct sink_table *st = (struct sink_table *)sink;

	if (row->kind != ROW_OTHER && !make(st))
		rowsink_fail(&st->rows, profile_row(st->profile, row));
}

static int table_flush(struct sink *sink, bool is_idle)
{
	return rowsink_write((struct rowsink *)sink, is_idle);
}

static struct profile_view view_of(const struct opts *opts)
{
	const bool is_table = opts->verb == VERB_PROFILE;

	return (struct profile_view){
		.sort = opts->has_sort || is_table ? (enum profile_sort)opts->profile_sort
						   : PROFILE_BY_NAME,
		.row_max = opts->profile_rows,
		.has_callers = opts->has_callers,
		.has_callees = opts->has_callees,
		.callers_of = opts->callers_of,
		.callees_of = opts->callees_of,
	};
}

static void warn_uncalled(const char *pattern)
{
	log_warn("no call of '%s' returned while it was traced", pattern);
}

static int put_latency(struct sink_table *st, const struct profile_view *view)
{
	const struct str_list *funcs = &st->rows.opts->latency_funcs;

	for (size_t i = 0; i < funcs->cnt; i++) {
		int cnt = profile_print_latency(st->profile, funcs->items[i], view,
						&st->rows.output->buf);

		if (cnt < 0)
			return cnt;
		if (!cnt)
			warn_uncalled(funcs->items[i]);
	}
	return 0;
}

static void say_uncounted(const struct profile *profile)
{
	if (profile_partial_cnt(profile))
		log_info("%" PRIu64 " calls are not counted: their beginning or end was not traced",
			 profile_partial_cnt(profile));
	if (profile_stray_cnt(profile))
		log_info("%" PRIu64 " returns are not counted: which call they end is not certain",
			 profile_stray_cnt(profile));
}

static int put_table(struct sink_table *st)
{
	const struct opts *opts = st->rows.opts;
	const struct profile_view view = view_of(opts);

	profile_finish(st->profile);
	say_uncounted(st->profile);
	if (view.callers_of && !profile_has(st->profile, view.callers_of))
		warn_uncalled(view.callers_of);
	if (view.callees_of && !profile_has(st->profile, view.callees_of))
		warn_uncalled(view.callees_of);
	return opts->verb == VERB_LATENCY
		       ? put_latency(st, &view)
		       : profile_print(st->profile, &view, &st->rows.output->buf);
}

static int table_finish(struct sink *sink, bool is_failed)
{
	struct sink_table *st = (struct sink_table *)sink;

	if (!is_failed && st->rows.facts)
		make(st);
	if (st->profile)
		rowsink_fail(&st->rows, put_table(st));
	return rowsink_write(&st->rows, true);
}

/* The table comes at the end: what the file holds stays until then. */
static int table_unhold(struct sink *sink)
{
	sink->file->is_held = false;
	return 0;
}

static void table_free(struct sink *sink)
{
	struct sink_table *st = (struct sink_table *)sink;

	profile_free(st->profile);
	free(st);
}

static const struct sink_ops table_ops = {
	.begin = table_begin,
	.row = table_row,
	.flush = table_flush,
	.finish = table_finish,
	.unhold = table_unhold,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = table_free,
};

int sink_table_new(struct sink **out, const struct opts *opts, struct output *output)
{
	struct sink_table *st = calloc(1, sizeof(*st));

	if (!st)
		return -ENOMEM;
	st->rows = (struct rowsink){ .sink = { .ops = &table_ops, .file = &output->file },
				     .opts = opts,
				     .output = output };
	*out = &st->rows.sink;
	return 0;
}

struct profile *sink_table_profile(struct sink *sink)
{
	return ((struct sink_table *)sink)->profile;
}
