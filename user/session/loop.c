/* From the rings into the pipeline, while tracing and when it is over. */
#include "session/live.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/host.h"
#include "base/log.h"
#include "base/stream.h"
#include "process/signals.h"

/* On a terminal an entry is not held longer than this to see whether it is a leaf. */
#define FOLD_WAIT_NS 250000000ull
#define SLEEP_MIN_US 500
#define SLEEP_MAX_US 10000
/* How long programs that were under way when the switch went off may take. */
#define DRAIN_WAIT_NS 200000000ull

static int feed_throttled(struct session *ses, size_t cnt)
{
	const struct event *events = ses->throttle.out;
	int err = 0;

	while (!err && cnt) {
		size_t part = cnt < BATCH_CNT ? cnt : BATCH_CNT;

		err = pipeline_feed(ses->pipeline, events, part);
		events += part;
		cnt -= part;
	}
	return err;
}

int session_feed(struct session *ses, size_t cnt)
{
	if (!ses->throttle.max_cnt)
		return pipeline_feed(ses->pipeline, ses->events, cnt);
	return feed_throttled(ses, throttle_feed(&ses->throttle, ses->events, cnt));
}

int session_pass(struct session *ses, uint64_t now_ns, uint64_t slack_ns, size_t *seen)
{
	size_t cnt;
	int err = 0;

	*seen = 0;
	comms_trim(ses->comms);
	bpfobj_names(&ses->bpfobj);
	taskscope_settle(ses->scope);
	rings_begin(&ses->bpfobj.rings, now_ns, slack_ns);
	/* events for which the reader has no room stay in the rings, and are lost when these are full */
	while (!err && !outfile_is_behind(ses->sink->file) && !sink_is_full(ses->sink) &&
	       (cnt = rings_read(&ses->bpfobj.rings, ses->events, BATCH_CNT))) {
		*seen += cnt;
		ses->event_cnt += cnt;
		if (ses->is_tracing)
			overhead_watch(&ses->overhead, ses->events, cnt);
		stackwatch_feed(&ses->stackwatch, ses->events, cnt);
		cnt = overhead_drop(&ses->overhead, ses->events, cnt);
		err = session_feed(ses, cnt);
	}
	return err ? err : pipeline_seen(ses->pipeline, rings_seen_ns(&ses->bpfobj.rings));
}

/* Not beyond the end of an interval. */
static long until_interval(const struct session *ses, long sleep_ns)
{
	const uint64_t now_ns = host_time_ns();

	if (!ses->opts->interval_ns || now_ns + (uint64_t)sleep_ns <= ses->interval.next_ns)
		return sleep_ns;
	return now_ns < ses->interval.next_ns ? (long)(ses->interval.next_ns - now_ns) : 0;
}

/* Sleep so that the fullest ring is about a tenth full when we wake. */
static void rest(struct session *ses, unsigned int fill_pct)
{
	struct timespec ts = { 0 };

	if (outfile_is_behind(ses->sink->file)) {
		stream_wait(ses->sink->file->fd, SLEEP_MAX_US / 1000);
		return;
	}
	if (fill_pct > 25)
		ses->sleep_us = 0;
	else if (fill_pct > 10)
		ses->sleep_us /= 2;
	else
		ses->sleep_us = ses->sleep_us ? ses->sleep_us * 2 : SLEEP_MIN_US;
	if (ses->sleep_us > SLEEP_MAX_US)
		ses->sleep_us = SLEEP_MAX_US;
	ts.tv_nsec = until_interval(ses, ses->sleep_us * 1000L);
	if (!ts.tv_nsec)
		return;
	nanosleep(&ts, NULL);
}

static bool is_over(struct session *ses, uint64_t deadline_ns)
{
	if (*signals_stop_cnt || sink_is_full(ses->sink))
		return true;
	if (ses->has_child && child_poll(&ses->child))
		return true;
	return host_time_ns() >= deadline_ns;
}

int session_run_loop(struct session *ses)
{
	uint64_t deadline_ns = UINT64_MAX;
	int err = 0;

	if (ses->opts->timeout_ns)
		deadline_ns = host_time_ns() + ses->opts->timeout_ns;
	interval_begin(&ses->interval, host_time_ns(), ses->opts->interval_ns);
	while (!err && !is_over(ses, deadline_ns)) {
		uint64_t now_ns = host_time_ns();
		unsigned int fill_pct;
		size_t seen;

		taskscope_tick(ses->scope, &ses->bpfobj, now_ns);
		ses->is_tracing = true; /* elsewhere nothing can be left out any more, or just is */
		err = session_pass(ses, now_ns, SLACK_NS, &seen);
		ses->is_tracing = false;
		loss_report_look(&ses->loss_report, now_ns);
		if (!err)
			err = session_govern(ses);
		fill_pct = rings_fill_pct(&ses->bpfobj.rings);
		if (ses->output.is_live && now_ns > FOLD_WAIT_NS)
			pipeline_release(ses->pipeline, now_ns - FOLD_WAIT_NS);
		/* a trace without rows would never see that */
		if (!ses->opts->output_dir)
			outfile_look(ses->sink->file);
		if (!err)
			err = pipeline_flush(ses->pipeline, true);
		status_tick(ses, now_ns);
		if (!err)
			err = session_interval(ses, host_time_ns());
		if (!err)
			rest(ses, fill_pct);
	}
	ses->end_ns = host_time_ns();
	if (!ses->loss_report.is_off)
		loss_report_look(&ses->loss_report, UINT64_MAX);
	return err;
}

/* ---- when it is over ---- */

/* What is still in the rings, or comes into them from programs under way. */
static int drain_rings(struct session *ses)
{
	struct rings *rings = &ses->bpfobj.rings;
	uint64_t deadline_ns = host_time_ns() + DRAIN_WAIT_NS;
	size_t seen;
	size_t cnt;
	int err = 0;

	while (!err) {
		err = session_pass(ses, UINT64_MAX, 0, &seen);
		if (sink_is_full(ses->sink) || rings_is_drained(rings) ||
		    host_time_ns() >= deadline_ns)
			break;
	}
	if (!err && !sink_is_full(ses->sink) && !rings_is_drained(rings)) {
		rings_give_up(rings);
		err = session_pass(ses, UINT64_MAX, 0, &seen);
	}
	while (!err && (cnt = rings_flush_gaps(rings, ses->events, BATCH_CNT, host_time_ns()))) {
		ses->event_cnt += cnt;
		err = session_feed(ses, cnt);
	}
	if (!err && ses->throttle.max_cnt)
		err = feed_throttled(ses, throttle_finish(&ses->throttle));
	return err;
}

/* Events in the kernel, and its losses. */
static int finish_sums(struct session *ses)
{
	int err = session_read_sums(ses);

	if (!err)
		kprofile_account(&ses->kprofile, sink_table_profile(ses->sink),
				 &ses->kprofile_stats);
	return err;
}

/* The part of an interval that is left. */
static int finish_interval(struct session *ses)
{
	return ses->opts->interval_ns
		       ? sink_table_interval(ses->sink, ses->interval.begin_ns, ses->end_ns)
		       : 0;
}

static void tell_lost(struct session *ses)
{
	const struct loss_report_sources from = {
		.bpfobj = &ses->bpfobj,
		.attach = ses->attach,
		.sums = ses->sums_up ? &ses->kprofile_stats : NULL,
		.event_cnt = ses->event_cnt,
		.is_scoped = ses->bpfobj.config.cfg.scope_need != 0,
		.dropped_cnt = ses->throttle.dropped_cnt,
	};

	loss_report_count(&ses->loss_report, &from);
	loss_report_missed(&ses->loss_report, &from);
	sink_lost(ses->sink, loss_report_total(&ses->loss_report));
}

int session_drain(struct session *ses)
{
	int finish_err;
	int err = pipeline_flush(ses->pipeline, true);

	if (!err)
		err = drain_rings(ses);
	if (!err && ses->sums_up)
		err = finish_sums(ses);
	if (err && ses->sums_up)
		return err; /* half of them is no table */
	/* also after an error: a format has an end, and a table comes then */
	finish_err = pipeline_end(ses->pipeline);
	if (!finish_err)
		finish_err = finish_interval(ses);
	tell_lost(ses);
	if (!finish_err && ses->sink->ops->finish)
		finish_err = ses->sink->ops->finish(ses->sink, err != 0);
	return err ? err : finish_err;
}
