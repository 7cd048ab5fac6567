/* Rows to the tables of profile and latency. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/color.h"
#include "base/log.h"
#include "format/paint.h"
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
		.has_callers = st->rows.opts->has_callers,
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

static int put_latency(struct sink_table *st)
{
	const struct str_list *funcs = &st->rows.opts->latency_funcs;

	for (size_t i = 0; i < funcs->cnt; i++) {
		int cnt =
			profile_print_latency(st->profile, funcs->items[i], &st->rows.output->buf);

		if (cnt < 0)
			return cnt;
		if (!cnt)
			log_warn("no call of '%s' returned while it was traced", funcs->items[i]);
	}
	return 0;
}

static int put_table(struct sink_table *st)
{
	const struct opts *opts = st->rows.opts;

	profile_finish(st->profile);
	if (profile_partial_cnt(st->profile))
		log_info("%" PRIu64 " calls are not counted: their beginning or end was not traced",
			 profile_partial_cnt(st->profile));
	if (profile_stray_cnt(st->profile))
		log_info("%" PRIu64 " returns are not counted: which call they end is not certain",
			 profile_stray_cnt(st->profile));
	if (opts->verb == VERB_LATENCY)
		return put_latency(st);
	return profile_print(st->profile, (enum profile_sort)opts->profile_sort, opts->profile_rows,
			     &st->rows.output->buf);
}

static int table_finish(struct sink *sink, bool is_failed)
{
	struct sink_table *st = (struct sink_table *)sink;
	const size_t start = st->rows.output->buf.len;

	if (!is_failed && st->rows.facts)
		make(st);
	if (st->profile)
		rowsink_fail(&st->rows, put_table(st));
	if (color_in_output(sink->file->path))
		paint_table(&st->rows.output->buf, start);
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
