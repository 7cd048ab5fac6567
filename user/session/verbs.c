#include "session/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/bpfobj.h"
#include "session/check.h"
#include "base/cleantext.h"
#include "kernel/facts.h"
#include "base/host.h"
#include "select/list.h"
#include "base/log.h"
#include "base/output.h"
#include "process/privdrop.h"
#include "kernel/probe.h"
#include "report/report.h"
#include "process/signals.h"
#include "session/view.h"

#define PROBE_FUNC "tcp_v4_rcv"

int verbs_rules(struct select_rules *rules, const struct opts *opts)
{
	const struct preset **presets = calloc(opts->presets.cnt + 1, sizeof(*presets));

	*rules = (struct select_rules){
		.trace = opts->trace_funcs.items,
		.trace_cnt = opts->trace_funcs.cnt,
		.notrace = opts->notrace_funcs.items,
		.notrace_cnt = opts->notrace_funcs.cnt,
		.roots = opts->graph_funcs.items,
		.root_cnt = opts->graph_funcs.cnt,
		.presets = presets,
		.preset_cnt = opts->presets.cnt,
		.callee_depth = opts->callee_depth,
		.max_cnt = opts->max_funcs,
	};
	if (!presets)
		return -ENOMEM;
	for (size_t i = 0; i < opts->presets.cnt; i++)
		presets[i] = preset_find(opts->presets.items[i]);
	return 0;
}

void verbs_rules_release(struct select_rules *rules)
{
	free((void *)rules->presets);
	*rules = (struct select_rules){ 0 };
}

static int print(struct strbuf *text)
{
	struct strbuf page = { 0 };
	bool is_fine;

	clean_add(&page, text->ptr, text->len, CLEAN_PAGE);
	is_fine = strbuf_ok(text) && strbuf_ok(&page) &&
		  fwrite(page.ptr, 1, page.len, stdout) == page.len && !fflush(stdout);
	strbuf_release(&page);
	if (!is_fine)
		log_error("cannot write to standard output");
	strbuf_release(text);
	return is_fine ? EXIT_STATUS_OK : EXIT_STATUS_FAILED;
}

/* What bpfobj_load would choose, without loading anything but probes. */
static enum attach_mode best_mode(const struct kbtf *kb)
{
	if (!probe_large_elements())
		return ATTACH_PAIR;
	if (probe_multi())
		return ATTACH_MULTI;
	if (kbtf_func_id(kb, "bpf_session_is_return") &&
	    probe_session(kbtf_func_id(kb, PROBE_FUNC)))
		return ATTACH_SESSION;
	return ATTACH_PAIR;
}

static void plan_fill(struct list_plan *plan, const struct opts *opts, const struct kbtf *kb)
{
	int cpu_cnt = host_cpu_cnt();

	plan->mode = opts->attach_mode == ATTACH_AUTO ? best_mode(kb) : opts->attach_mode;
	plan->cpu_cnt = cpu_cnt > 0 ? (uint32_t)cpu_cnt : 1;
	plan->buffer_bytes = opts->buffer_bytes ? opts->buffer_bytes
						: bpfobj_buffer_bytes_default(plan->cpu_cnt);
	list_kernel(plan->kernel);
}

static int list_with(struct facts *facts, const struct opts *opts, struct strbuf *out)
{
	struct list_plan plan;
	struct list_config config = {
		.kbtf = facts->kbtf,
		.ksyms = facts->ksyms,
		.is_verbose = log_verbosity() > 0,
		.plan = opts->list_plan ? &plan : NULL,
	};
	int err = verbs_rules(&config.rules, opts);

	config.rules.text = facts->text;
	config.rules.text_err = facts->text_err;
	if (opts->list_plan)
		plan_fill(&plan, opts, facts->kbtf);
	if (!err)
		err = list_run(&config, out);
	verbs_rules_release(&config.rules);
	return err;
}

int verbs_list(const struct opts *opts)
{
	struct strbuf out = { 0 };
	struct facts facts;
	int status;
	int err;

	if (opts->list_presets) {
		list_presets(&out);
		return print(&out);
	}
	if (facts_open(&facts, true)) {
		facts_close(&facts);
		return EXIT_STATUS_FAILED;
	}
	err = list_with(&facts, opts, &out);
	status = print(&out);
	facts_close(&facts);
	if (err == -ENOMEM)
		log_error("out of memory");
	if (err)
		return err == -ENOENT ? EXIT_STATUS_NOTHING : EXIT_STATUS_FAILED;
	return status;
}

int verbs_check(const struct opts *opts)
{
	struct check_row rows[CHECK_ROW_CNT];
	struct strbuf out = { 0 };
	int status;

	check_fill(rows);
	if (opts->json)
		check_json(rows, CHECK_ROW_CNT, &out);
	else
		check_text(rows, CHECK_ROW_CNT, &out);
	status = print(&out);
	return check_is_possible(rows) ? status : EXIT_STATUS_FAILED;
}

/* ---- report ---- */

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
	err = details_init(&replay.details, opts, NULL);
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
