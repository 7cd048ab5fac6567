/* netfgraph report, and profile and latency from a file. */
#include <errno.h>

#include "session/verbs.h"
#include "base/log.h"
#include "base/output.h"
#include "options/wants.h"
#include "process/privdrop.h"
#include "process/signals.h"
#include "report/report.h"
#include "session/view.h"

struct replay {
	const struct opts *opts;
	const struct report_facts *facts; /* valid while report_run runs */
	struct output output;
	struct details details;
	struct view *view;
	int err;
};

static int replay_begin(void *ctx, const struct report_facts *facts)
{
	struct replay *replay = ctx;

	replay->facts = facts;
	return 0;
}

/* At the first row, or the end: a text's columns are not known before its header was read. */
static int replay_view(struct replay *replay)
{
	const struct report_facts *facts = replay->facts;
	const struct view_facts view = {
		.columns = &replay->opts->columns,
		.cpu_width = facts->cpu_width,
		.cpu_cnt = facts->host ? facts->host->cpu_cnt : 0,
		.release = facts->host ? facts->host->kernel : NULL,
		.lacks_time = !facts->columns.abstime,
		.lacks_task = !facts->columns.proc,
	};

	if (!replay->view && !replay->err)
		replay->err = view_new(&replay->view, replay->opts, &view, &replay->output);
	return replay->err;
}

static void replay_row(void *ctx, struct row *row)
{
	struct replay *replay = ctx;

	/* the headers of a text are no part of another format */
	if (row->kind != ROW_OTHER && !replay_view(replay))
		view_row(replay->view, row);
}

static int replay_flush(void *ctx)
{
	struct replay *replay = ctx;

	return replay->facts && !replay_view(replay) ? view_flush(replay->view) : replay->err;
}

static bool is_plain_text(const struct opts *opts)
{
	return opts->verb == VERB_REPORT && opts->format == FORMAT_TEXT;
}

/* What somebody else wrote is parsed with no privilege. */
static void drop_privileges(void)
{
	privdrop(0, false);
}

/* A second signal ends also what still waits for a reader. */
static void limit_when_stopped(struct outfile *file)
{
	if (*signals_stop_cnt && file->wait_ms < 0)
		outfile_limit(file, signals_stop_cnt);
}

static int replay_run(struct replay *replay, struct report_stats *stats)
{
	const struct opts *opts = replay->opts;
	struct report_text text = { 0 };
	struct report_config config = {
		.path = opts->input_path,
		.opts = opts,
		.is_text = opts->input_is_text,
		.is_followed = opts->input_is_followed,
		.stop_cnt = opts->input_is_followed ? signals_stop_cnt : NULL,
		.depth_max = opts->graph_depth,
		.details = &replay->details,
		.opened = drop_privileges,
		.outfile = &replay->output.file,
		.sink = { .begin = replay_begin,
			  .row = replay_row,
			  .flush = replay_flush,
			  .wants_comm = true,
			  .ctx = replay },
	};
	int err;

	if (is_plain_text(opts))
		config.sink = report_text_sink(&text, opts->has_columns ? &opts->columns : NULL,
					       &replay->output);
	err = report_run(&config, stats);
	limit_when_stopped(&replay->output.file);
	if (is_plain_text(opts))
		report_text_release(&text);
	else if (replay->view && (!err || stats->row_cnt)) {
		/* what comes before a damage is worth having, and whole */
		int finish_err = view_finish(replay->view);

		err = err ? err : finish_err;
	}
	return err;
}

int verbs_report(const struct opts *opts)
{
	const struct details_want want = wants_details(opts);
	struct replay replay = { .opts = opts };
	struct report_stats stats = { 0 };
	int close_err = 0;
	int err;

	signals_ignore_writes();
	if (opts->input_is_followed)
		signals_catch();
	err = output_open(&replay.output, opts->output_path, signals_stop_cnt);
	if (err)
		return EXIT_STATUS_FAILED;
	if (opts->input_is_followed)
		replay.output.file.stop_cnt = signals_stop_cnt;
	if (!format_is_binary(opts->format))
		output_rows(&replay.output);
	err = details_init(&replay.details, &want, NULL);
	if (err)
		log_error("out of memory");
	else
		err = replay_run(&replay, &stats);
	if (err && !stats.row_cnt)
		output_abandon(&replay.output);
	else
		close_err = output_close(&replay.output);
	view_free(replay.view);
	details_release(&replay.details);
	if (err == -EEXIST)
		return EXIT_STATUS_USAGE;
	if (err == -ENOMSG)
		return EXIT_STATUS_NOTHING;
	if (err || close_err)
		return EXIT_STATUS_FAILED;
	return opts->strict && report_has_losses(&stats) ? EXIT_STATUS_LOSSES : EXIT_STATUS_OK;
}
