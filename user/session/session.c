#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "options/scopeopts.h"
#include "process/signals.h"
#include "select/select.h"
#include "report/start_setup.h"
#include "session/live.h"
#include "session/silence.h"

/* The output's reader has had its time. Return: the number of entries and returns that were not read. */
static uint64_t count_unread(struct session *ses)
{
	uint64_t unread_cnt = 0;
	size_t cnt;

	rings_begin(&ses->bpfobj.rings, UINT64_MAX, 0);
	while ((cnt = rings_read(&ses->bpfobj.rings, ses->events, BATCH_CNT)))
		unread_cnt += cnt;
	return unread_cnt;
}

/* From here on the file's old contents are gone; for a table they stay until the end. */
static int begin(struct session *ses)
{
	ses->has_begun = true;
	return ses->sink->ops->begin_file(ses->sink);
}

static int trace(struct session *ses)
{
	uint64_t unread_cnt;
	int disarm_err;
	int drain_err;
	int err;

	attach_count_missed(ses->attach);
	bpfobj_count_missed(&ses->bpfobj);
	ses->made.begin_mono_ns = host_time_ns();
	err = bpfobj_arm(&ses->bpfobj, true);

	if (!err)
		err = status_start(ses);
	if (!err)
		err = session_start_command(ses);
	if (!err)
		err = begin(ses);
	if (!err)
		err = session_run_loop(ses);
	disarm_err = bpfobj_arm(&ses->bpfobj, false);
	err = err ? err : disarm_err;
	status_stop(ses);
	if (!ses->has_begun)
		return err;
	/* a program that saw the switch on may not have taken its slot yet */
	usleep(1000);
	outfile_limit(ses->sink->file, signals_stop_cnt);
	drain_err = session_drain(ses);
	err = err ? err : drain_err;
	unread_cnt = drain_err == -ETIMEDOUT || err == -ETIMEDOUT ? count_unread(ses) : 0;
	if (unread_cnt)
		log_warn("%" PRIu64 " events in the rings were not read", unread_cnt);
	return err;
}

/* ---- messages at the end ---- */

static void say_losses(struct session *ses, int err)
{
	const struct loss_report_sources from = {
		.bpfobj = &ses->bpfobj,
		.attach = ses->attach,
		.pipeline = ses->pipeline,
		.starts = ses->starts,
		.values = ses->details.values,
		.sums = ses->sums_up ? &ses->kprofile_stats : NULL,
		.dropped_cnt = ses->throttle.dropped_cnt,
		.event_cnt = ses->event_cnt,
		.has_command = scopeopts_is_command(ses->opts),
		.is_scoped = ses->bpfobj.config.cfg.scope_need != 0,
		.by_cpu = ses->opts->has_cpus,
		.is_cut = ses->sink->file->err || sink_is_full(ses->sink),
	};

	loss_report_say(&ses->loss_report, &from);
	leftout_say(ses->overhead.limit_cnts, NULL);
	if (ses->stackwatch.least_bytes < UINT32_MAX && ses->stackwatch.stack_bytes)
		log_info(
			"the deepest traced call seems to have had %u of %u bytes of its kernel stack left",
			ses->stackwatch.least_bytes, ses->stackwatch.stack_bytes);
	if (!err && silence_say(ses))
		return;
	if (ses->starts)
		start_setup_say_unmatched(ses->opts, ses->starts);
}

/* Ctrl-C before tracing began, without any other logged error. */
static void say_interrupted(struct session *ses)
{
	if (ses->has_begun || !*signals_stop_cnt || log_has_error())
		return;
	log_error("interrupted before tracing began");
	ses->fail_status = EXIT_STATUS_SIGNAL + signals_stop_sig();
}

/* What to exit with when tracing itself went well. */
static int final_status(struct session *ses)
{
	if (ses->opts->strict && loss_report_has_losses(&ses->loss_report))
		return EXIT_STATUS_LOSSES;
	if (ses->has_child && child_poll(&ses->child))
		return child_exit_code(&ses->child);
	return EXIT_STATUS_OK;
}

/* ---- tear-down ---- */

/* A file is unchanged if nothing replaces it. */
static int close_output(struct session *ses, int err)
{
	struct recfile_summary losses = { 0 };

	memcpy(losses.lost_cnts, ses->loss_report.counts.cnt, sizeof(losses.lost_cnts));
	if (ses->has_begun && (!err || ses->sink->file->is_begun || ses->sink->saves_at_close))
		return ses->sink->ops->close(ses->sink, &losses);
	output_abandon(&ses->output);
	return 0;
}

static void release(struct session *ses)
{
	child_release(&ses->child);
	runas_release(&ses->runas);
	overhead_release(&ses->overhead);
	stackwatch_release(&ses->stackwatch);
	status_release(&ses->status);
	srcline_free(ses->srcline);
	switches_detach(&ses->switches);
	attach_free(ses->attach, ses->opts->waits_for_detach, signals_stop_cnt);
	kprofile_close(&ses->kprofile);
	bpfobj_release(&ses->bpfobj);
	pipeline_free(ses->pipeline);
	comms_free(ses->comms);
	taskscope_free(ses->scope);
	starts_free(ses->starts);
	free(ses->start_kinds);
	functab_release(&ses->functab);
	details_release(&ses->details);
	facts_close(&ses->facts);
	throttle_release(&ses->throttle);
	free(ses->events);
}

int session_run(const struct opts *opts)
{
	struct session ses = {
		.opts = opts,
		.switches = SWITCHES_NONE,
		.child = { .go_fd = -1, .fail_fd = -1 },
		.output = { .file.fd = -1 },
		.fail_status = EXIT_STATUS_FAILED,
	};
	int status;
	int close_err;
	int err;

	signals_catch();
	signals_ignore_writes();
	err = session_setup(&ses);
	if (!err)
		err = trace(&ses);
	if (err)
		say_interrupted(&ses);
	log_unsaid(err);
	if (ses.has_begun)
		say_losses(&ses, err);
	close_err = close_output(&ses, err);
	log_unsaid(close_err);
	sink_free(ses.sink);
	if (ses.has_begun && !err && !close_err)
		status_say(&ses);
	status = err || close_err ? ses.fail_status : final_status(&ses);
	release(&ses);
	return status;
}
