/* Rows to the tables of latency --by stage. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/plural.h"
#include "format/stages.h"
#include "options/scopeopts.h"
#include "pipeline/rowsink.h"

struct sink_stages {
	struct rowsink rows; /* first */
	struct stages *
		stages; /* NULL before the first row: until then the columns of a text are not known */
	bool has_table;
	char node[128]; /* "": unknown */
};

/* A recording says it behind the facts, before its rows, and at the end its facts are gone. */
static void keep_node(struct sink_stages *ss)
{
	const char *node = ss->rows.facts->node;

	if (!ss->node[0] && node)
		snprintf(ss->node, sizeof(ss->node), "%s", node);
}

static void make(struct sink_stages *ss)
{
	if (!ss->rows.facts->columns.abstime) {
		log_error("--by stage needs times, and the rows of '%s' have none",
			  ss->rows.opts->input_path);
		log_hint("function_graph prints them with its option funcgraph-abstime");
		ss->rows.is_reported = true;
		rowsink_fail(&ss->rows, -ENODATA);
		return;
	}
	rowsink_fail(&ss->rows, stages_new(&ss->stages, !ss->rows.facts->columns.proc));
}

static int stages_begin(struct sink *sink, const struct trace_facts *facts)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	ss->rows.facts = facts;
	keep_node(ss);
	return 0;
}

static void take_row(struct sink *sink, struct row *row)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	if (row->kind == ROW_OTHER)
		return;
	keep_node(ss);
	if (!ss->stages && !ss->rows.err)
		make(ss);
	if (!ss->rows.err)
		rowsink_fail(&ss->rows, stages_row(ss->stages, row));
}

static int stages_flush(struct sink *sink, bool is_idle)
{
	return rowsink_write((struct rowsink *)sink, is_idle);
}

/* Queues and softirqs run in whatever task has the CPU. */
static void warn_of_tasks(const struct opts *opts, const struct stages_sums *sums)
{
	uint64_t cnt = 0;

	if (opts->input_path ||
	    !(scopeopts_is_command(opts) || opts->pids.cnt || opts->tids.cnt || opts->comms.cnt))
		return;
	for (int i = STAGE_SOCKET; i < STAGE_PROTOCOL; i++)
		cnt += sums->end_cnts[STAGES_FREED][i] + sums->end_cnts[STAGES_UNSEEN][i] +
		       sums->end_cnts[STAGES_OPEN][i];
	if (!cnt)
		return;
	log_warn("%" PRIu64 " %s in another task, which was not traced", cnt,
		 plural(cnt, "packet may have continued", "packets may have continued"));
	log_hint("run the command beside the trace: queues and softirqs run in any task");
}

static int put_tables(struct sink_stages *ss)
{
	const struct opts *opts = ss->rows.opts;
	const struct stages_sums *sums;
	int err = ss->stages ? 0 : stages_new(&ss->stages, false);

	if (!err)
		err = stages_finish(ss->stages);
	if (err)
		return err;
	sums = stages_sums(ss->stages);
	if (!sums->packet_cnt) {
		log_warn("no traced call had a packet as an argument");
		if (opts->input_path)
			log_hint(
				"a recording has them with record --preset stages --graph-opts args");
	}
	warn_of_tasks(opts, sums);
	if (opts->format == FORMAT_TEXT)
		return stages_put_text(sums, &ss->rows.output->buf);
	return stages_put_data(sums, &(struct stages_data){ .out = &ss->rows.output->buf,
							    .kind = datarow_kind_of(opts->format),
							    .host = ss->node });
}

static int finish(struct sink *sink, bool is_failed)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	if (!ss->rows.err && !ss->has_table && !(is_failed && !ss->stages))
		rowsink_fail(&ss->rows, put_tables(ss));
	ss->has_table = true;
	return rowsink_write(&ss->rows, true);
}

/* The tables come at the end: the file's old contents stay until then. */
static int begin_file(struct sink *sink)
{
	sink->file->is_held = false;
	return 0;
}

static void stages_sink_free(struct sink *sink)
{
	struct sink_stages *ss = (struct sink_stages *)sink;

	stages_free(ss->stages);
	free(ss);
}

static const struct sink_ops stages_ops = {
	.begin = stages_begin,
	.row = take_row,
	.flush = stages_flush,
	.finish = finish,
	.begin_file = begin_file,
	.is_full = rowsink_is_full,
	.close = rowsink_close,
	.free = stages_sink_free,
};

int sink_stages_new(struct sink **out, const struct opts *opts, struct output *output)
{
	struct sink_stages *ss = calloc(1, sizeof(*ss));

	if (!ss)
		return -ENOMEM;
	ss->rows = (struct rowsink){
		.sink = { .ops = &stages_ops, .file = &output->file, .wants_notes = true },
		.opts = opts,
		.output = output,
	};
	*out = &ss->rows.sink;
	return 0;
}
