#include "session/session.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/host.h"
#include "base/log.h"
#include "base/output.h"
#include "base/strbuf.h"
#include "base/verdict.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "report/pipeline.h"
#include "select/reach.h"
#include "select/select.h"
#include "session/live.h"
#include "trace/starts.h"

/* ---- from the rings into the pipeline ---- */

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

/* Feed @cnt events to the pipeline, except those that --max-events drops. */
static int feed_events(struct session *ses, size_t cnt)
{
	if (!ses->throttle.max_cnt)
		return pipeline_feed(ses->pipeline, ses->events, cnt);
	return feed_throttled(ses, throttle_feed(&ses->throttle, ses->events, cnt));
}

/* Read all rings once. *seen: the number of events. */
static int read_rings(struct session *ses, uint64_t now_ns, uint64_t slack_ns, size_t *seen)
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
		learner_feed(&ses->learner, ses->events, cnt);
		stackwatch_feed(&ses->stackwatch, ses->events, cnt);
		cnt = overhead_drop(&ses->overhead, ses->events, cnt);
		err = feed_events(ses, cnt);
	}
	return err ? err : pipeline_seen(ses->pipeline, rings_seen_ns(&ses->bpfobj.rings));
}

/* ---- a table each interval (-i) ---- */

/* Add the kernel's new sums to the table. */
static int session_read_sums(struct session *ses)
{
	int err = kprofile_read(&ses->kprofile, &ses->functab, sink_table_profile(ses->sink),
				&ses->kprofile_stats);

	if (err)
		log_error("cannot read the sums: %s", strerror(-err));
	return err;
}

/* If an interval has ended at @now_ns, write its table. */
static int write_interval(struct session *ses, uint64_t now_ns)
{
	const uint64_t begin_ns = ses->interval.begin_ns;
	int err;

	if (!ses->opts->interval_ns || now_ns < ses->interval.next_ns ||
	    outfile_is_behind(ses->sink->file))
		return 0;
	interval_advance(&ses->interval, now_ns, now_ns);
	/* release rows that wait until it is known whether a call is a leaf */
	pipeline_release(ses->pipeline, now_ns);
	err = ses->sums_up ? session_read_sums(ses) : 0;
	log_progress_done(); /* the table may go to the terminal of the status line */
	return err ? err : ses->sink->ops->interval(ses->sink, begin_ns, now_ns);
}

/* ---- leaving functions out: limits (--max-overhead, --max-events), and --learn ---- */

/* The cost that windows aim at, in percent of the limit. */
#define AIM_PCT 70

/* Feed marks of @kind for all CPUs, since functions are detached from all of them at once. */
static int feed_marks(struct session *ses, enum event_kind kind)
{
	uint32_t cpu = 0;
	size_t cnt;
	int err = 0;

	while (!err && (cnt = rings_mark(&ses->bpfobj.rings, kind, &cpu, ses->events, BATCH_CNT))) {
		ses->event_cnt += cnt;
		err = feed_events(ses, cnt);
	}
	return err;
}

static int session_detach(struct session *ses, const struct leftout *lo)
{
	int err = attach_leave_out(ses->attach, &ses->bpfobj, &ses->functab, lo->func_ids,
				   lo->func_cnt, signals_stop_cnt);

	if (err && err != -EINTR && err != -ENOMEM && err != -ENODATA)
		log_error("cannot leave functions out: %s", strerror(-err));
	return err;
}

/* How long a program that saw the switch on may take to write its record. */
#define UNDER_WAY_US 200

/* Feed all records so far, then the mark. */
static int mark_gap(struct session *ses)
{
	size_t seen;
	int err = read_rings(ses, host_time_ns(), 0, &seen);

	ses->owes_gap = false;
	return err ? err : feed_marks(ses, EVENT_GAP);
}

/*
 * Begin a gap: the ends of calls that are open now will not be known. While the output's reader is behind, events
 * stay in the rings, and the mark waits for them.
 */
static int session_begin_gap(struct session *ses)
{
	int err = bpfobj_arm(&ses->bpfobj, false);

	usleep(UNDER_WAY_US);
	ses->owes_gap = true;
	return err || outfile_is_behind(ses->sink->file) ? err : mark_gap(ses);
}

static int session_end_gap(struct session *ses)
{
	int err = ses->owes_gap ? mark_gap(ses) : 0;

	if (!err)
		err = feed_marks(ses, EVENT_LOST);
	return err ? err : bpfobj_arm(&ses->bpfobj, true);
}

/* Until the functions are detached, their events are still recorded; read_rings drops them. */
static int detach_own(struct session *ses, const struct leftout *lo)
{
	int err = feed_marks(ses, EVENT_GAP);

	if (!err)
		err = session_detach(ses, lo);
	return err ? err : feed_marks(ses, EVENT_LOST);
}

/* The row is in the column of its writer's CPU, like one written to trace_marker. */
static int session_put_row(struct session *ses, const struct leftout *lo)
{
	struct leftout row = *lo;
	int cpu = sched_getcpu();

	row.cpu = cpu > 0 ? (uint32_t)cpu : 0;
	return pipeline_leftout(ses->pipeline, &row);
}

/*
 * Put a row that says that nothing was traced for the last @gap_ns. @duty_pct: of windows; 0: functions were left
 * out.
 */
static int put_untraced(struct session *ses, uint64_t gap_ns, uint32_t duty_pct)
{
	return session_put_row(ses, &(struct leftout){
					    .time_ns = host_time_ns(),
					    .limit = LEFTOUT_WINDOW,
					    .measured = gap_ns,
					    .max = duty_pct,
				    });
}

/* Detach functions that share links: the links are made anew, and nothing is recorded meanwhile. */
static int detach_shared(struct session *ses, const struct leftout *lo)
{
	const uint64_t began_ns = host_time_ns();
	size_t seen;
	int put_err;
	int err = session_begin_gap(ses);

	if (!err)
		err = session_detach(ses, lo);
	if (!err)
		err = read_rings(ses, host_time_ns(), SLACK_NS, &seen);
	/* a request to stop meanwhile has its row, too */
	if (err && err != -EINTR)
		return err;
	put_err = put_untraced(ses, windows_gap(&ses->windows, began_ns, host_time_ns()), 0);
	if (err || put_err)
		return put_err ? put_err : err;
	return session_end_gap(ses);
}

/* Say it on stderr at once, and in a row at its place in the trace. */
static int tell_leftout(struct session *ses, const struct leftout *lo)
{
	overhead_tell(&ses->overhead, lo);
	return session_put_row(ses, lo);
}

static int session_leave_out(struct session *ses, const struct leftout *lo)
{
	int err = tell_leftout(ses, lo);

	if (err)
		return err;
	overhead_count(&ses->overhead, lo);
	/* the ends of calls that are open now will not be known */
	err = attach_is_shared(ses->bpfobj.plan.mode) ? detach_shared(ses, lo)
						      : detach_own(ses, lo);
	overhead_resume(&ses->overhead);
	return err == -EINTR ? 0 : err; /* asked to stop: the loop ends by itself */
}

static int apply_learned(struct session *ses)
{
	struct learner *ln = &ses->learner;
	const uint64_t now_ns = host_time_ns();
	const struct leftout *lo;
	int err;

	if (!learner_is_due(ln, now_ns))
		return 0;
	err = ses->graph ? near_mark(ses->graph, &ses->functab, ln->is_called, ln->is_near)
			 : -ENOENT;
	reach_close(ses->graph);
	ses->graph = NULL;
	if (err) {
		learner_release(ln);
		log_warn(
			"--learn: what the called functions call is not known, so all functions stay");
		return 0;
	}
	if (learner_has_lost(ln))
		log_warn(
			"--learn: events were lost all the time: functions whose calls were among them may be left out");
	lo = learner_decide(ln, now_ns);
	if (lo->func_cnt)
		return session_leave_out(ses, lo);
	log_info("--learn: all functions are called, or called by those that are");
	return 0;
}

/* When attached by site, we have nothing on the stack while a call is open. */
static void watch_stack(struct session *ses)
{
	struct stackwatch *sw = &ses->stackwatch;
	const struct func *func =
		sw->func_id < ses->functab.cnt ? &ses->functab.funcs[sw->func_id] : NULL;

	if (!stackwatch_is_low(sw) || sw->is_told || !func ||
	    attach_is_by_site(ses->bpfobj.plan.mode))
		return;
	sw->is_told = true;
	log_warn(
		"a call of '%.*s' may have had only %u bytes of its kernel stack left, of which each traced call takes some 100",
		(int)func->name.len, func->name.ptr, sw->least_bytes);
	log_hint(
		"end this trace if that task's calls nest so deeply without it, too; trace fewer of the functions that call each other");
}

/* ---- windows ---- */

static int close_window(struct session *ses)
{
	const uint64_t began_ns = host_time_ns();
	int err = session_begin_gap(ses);

	if (err)
		return err;
	attach_pause(ses->attach, &ses->functab);
	windows_close(&ses->windows, began_ns, host_time_ns());
	log_debug("detaching for the next window took %" PRIu64 " us",
		  ses->windows.detach_ns / 1000);
	return 0;
}

static int open_window(struct session *ses)
{
	const uint64_t began_ns = host_time_ns();
	uint64_t gap_ns;
	int err = attach_resume(ses->attach, &ses->bpfobj, &ses->functab, signals_stop_cnt);

	if (err == -EINTR)
		return 0;
	if (err && err != -ENODATA)
		log_error("cannot attach again: %s", strerror(-err));
	if (err)
		return err;
	log_debug("attaching for this window took %" PRIu64 " us",
		  (host_time_ns() - began_ns) / 1000);
	gap_ns = windows_open(&ses->windows, began_ns, host_time_ns());
	err = put_untraced(ses, gap_ns, ses->windows.pct);
	if (!err)
		err = session_end_gap(ses);
	overhead_pause(&ses->overhead, gap_ns);
	learner_pause(&ses->learner, gap_ns);
	return err;
}

/* After each pass: detach at the end of a window, attach for the next one. */
static int follow_windows(struct session *ses)
{
	struct windows *w = &ses->windows;

	if (!windows_is_due(w, host_time_ns()))
		return 0;
	if (w->is_open)
		return close_window(ses);
	return outfile_is_behind(ses->sink->file) ? 0 : open_window(ses);
}

/* @before_ns: how long the trace has run without windows. */
static void begin_windows(struct session *ses, uint32_t pct, uint64_t before_ns)
{
	const size_t own_cnt = attach_own_cnt(ses->attach);

	const uint64_t untraced_ns = ses->windows.closed_ns;

	windows_begin(&ses->windows, pct, host_time_ns());
	ses->windows.open_ns = before_ns > untraced_ns ? before_ns - untraced_ns : 0;
	ses->windows.closed_ns = untraced_ns;
	overhead_set_duty(&ses->overhead, pct);
	if (own_cnt)
		log_warn("%zu %s programs of %s own, attached between windows, too", own_cnt,
			 plural(own_cnt, "function has", "functions have"),
			 plural(own_cnt, "its", "their"));
}

static void begin_duty(struct session *ses)
{
	if (ses->opts->duty_pct)
		begin_windows(ses, ses->opts->duty_pct, 0);
}

/* If tracing ended between windows, put a row for the last gap. */
static int end_windows(struct session *ses)
{
	struct windows *w = &ses->windows;
	const uint64_t gap_ns = w->pct && !w->is_open ? ses->end_ns - w->since_ns : 0;

	if (!w->pct)
		return 0;
	windows_end(w, ses->end_ns);
	return gap_ns ? put_untraced(ses, gap_ns, ses->windows.pct) : 0;
}

/* If a limit caused the windows, no single factor fits all counts of a table. */
static void say_windows(const struct session *ses)
{
	const struct windows *w = &ses->windows;
	const uint64_t all_ns = w->open_ns + w->closed_ns;
	const double pct = all_ns ? (double)w->open_ns * 100 / (double)all_ns : 0;

	if (!w->closed_ns)
		return;
	if (!w->pct)
		log_warn("nothing was traced for %.3f s, while functions were left out",
			 (double)w->closed_ns / 1e9);
	else if (ses->opts->duty_pct)
		log_warn("%.1f %% of the time was traced, in %u %s: multiply counts by %.1f", pct,
			 w->cnt, plural(w->cnt, "window", "windows"), 100 / pct);
	else
		log_warn("%.1f %% of the time was traced", pct);
}

/*
 * No more functions can be left out. Instead of ending the trace, leave all of them out most of the time.
 * Return: whether windows were begun.
 */
static bool fall_back_to_windows(struct session *ses, const struct leftout *lo)
{
	uint32_t pct = lo->measured ? (uint32_t)(lo->max * AIM_PCT / lo->measured) : 0;

	if (lo->limit == LEFTOUT_EVENTS || ses->windows.pct || ses->sums_up ||
	    ses->opts->interval_ns || ses->opts->ring_bytes ||
	    !attach_is_shared(ses->bpfobj.plan.mode) ||
	    !attach_may_pause(ses->attach, &ses->functab))
		return false;
	pct = pct < 1 ? 1 : pct < 50 ? pct : 50;
	log_warn(
		"no more functions can be left out: from here on %u %% of the time is traced, in windows (--duty)",
		pct);
	begin_windows(ses, pct, host_time_ns() - ses->made.begin_mono_ns);
	overhead_resume(&ses->overhead);
	return true;
}

/* After each pass: leave out functions that cost too much. VERDICT_OVERHEAD: the trace ends. */
static int govern(struct session *ses)
{
	enum governor_verdict verdict;

	watch_stack(ses);
	if (ses->windows.pct && !ses->windows.is_open)
		return 0;
	/* while the reader is behind, events may be lost, and it is not known of which functions */
	if (outfile_is_behind(ses->sink->file)) {
		overhead_skip(&ses->overhead);
		return 0;
	}
	verdict = overhead_judge(&ses->overhead);
	if (verdict == GOVERNOR_FINE)
		return apply_learned(ses);
	if (verdict == GOVERNOR_LEAVE_OUT)
		return session_leave_out(ses, overhead_leftout(&ses->overhead));
	if (fall_back_to_windows(ses, overhead_leftout(&ses->overhead)))
		return 0;
	log_unsaid(tell_leftout(ses, overhead_leftout(&ses->overhead)));
	return VERDICT_OVERHEAD;
}

/* ---- the loop ---- */

/* On a terminal an entry is not held longer than this to see whether it is a leaf. */
#define FOLD_WAIT_NS 250000000ull
#define SLEEP_MIN_US 500
#define SLEEP_MAX_US 10000
/* Names of user stacks are found only while the process lives, so that it is better not to be late. */
#define USTACK_SLEEP_MAX_US 1000
/* How long programs that were under way when the switch went off may take. */
#define DRAIN_WAIT_NS 200000000ull

/* Return: @sleep_ns, or less if the sleep would end after @due_ns. */
static long until(uint64_t due_ns, long sleep_ns)
{
	const uint64_t now_ns = host_time_ns();

	if (now_ns + (uint64_t)sleep_ns <= due_ns)
		return sleep_ns;
	return now_ns < due_ns ? (long)(due_ns - now_ns) : 0;
}

static unsigned int sleep_max_us(const struct session *ses)
{
	return ses->stacknamer ? USTACK_SLEEP_MAX_US : SLEEP_MAX_US;
}

/* How often our waits for a CPU are read, of which those since then count as waits in a sleep. */
#define WAITED_EVERY_NS 1000000000ull

/* After a sleep of @asked_ns from @begin_ns on: tell the sink if the host seems to have stood still meanwhile. */
static void look_for_still(struct session *ses, uint64_t begin_ns, uint64_t asked_ns)
{
	const uint64_t now_ns = host_time_ns();
	const bool is_late = now_ns - begin_ns > asked_ns + STILL_MIN_NS;
	const uint64_t before_ns = ses->waited_ns;
	struct still still;

	if (!ses->sink->ops->stood_still ||
	    (!is_late && now_ns - ses->waited_at_ns < WAITED_EVERY_NS) ||
	    !host_waited_ns(&ses->waited_ns))
		return;
	still = stills_of_sleep(begin_ns, asked_ns, now_ns, ses->waited_ns - before_ns);
	if (ses->waited_at_ns && still.begin_ns)
		ses->sink->ops->stood_still(ses->sink, still);
	ses->waited_at_ns = now_ns;
}

/* Sleep so that the fullest ring is about a tenth full when we wake. */
static void rest(struct session *ses, unsigned int fill_pct)
{
	struct timespec ts = { 0 };
	uint64_t begin_ns;

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
	if (ses->sleep_us > sleep_max_us(ses))
		ses->sleep_us = sleep_max_us(ses);
	ts.tv_nsec = ses->sleep_us * 1000L;
	if (ses->opts->interval_ns)
		ts.tv_nsec = until(ses->interval.next_ns, ts.tv_nsec);
	if (ses->windows.pct)
		ts.tv_nsec = until(ses->windows.next_ns, ts.tv_nsec);
	if (!ts.tv_nsec)
		return;
	begin_ns = host_time_ns();
	nanosleep(&ts, NULL);
	look_for_still(ses, begin_ns, (uint64_t)ts.tv_nsec);
}

static bool session_is_over(struct session *ses, uint64_t deadline_ns)
{
	if (*signals_stop_cnt || sink_is_full(ses->sink))
		return true;
	if (ses->has_child && child_poll(&ses->child))
		return true;
	return host_time_ns() >= deadline_ns;
}

/* Rows that could not be written end the trace. Of a reader that is gone or has stopped reading, its message says enough. */
static void say_cut_short(const struct session *ses)
{
	const int err = ses->output.err;

	if (err && err != -EPIPE && err != -ETIMEDOUT)
		log_warn(
			"so the trace ended, after %.1f s: what is called from then on is not in it",
			(double)(ses->end_ns - ses->made.begin_mono_ns) / 1e9);
}

/* Trace until Ctrl-C, the command's end, --timeout, --max-size, or an error. */
static int run_loop(struct session *ses)
{
	struct absence *absence = &ses->loss_report.absence;
	uint64_t deadline_ns = UINT64_MAX;
	int end_err;
	int err = 0;

	if (ses->opts->timeout_ns)
		deadline_ns = host_time_ns() + ses->opts->timeout_ns;
	interval_begin(&ses->interval, host_time_ns(), ses->opts->interval_ns);
	begin_duty(ses);
	while (!err && !session_is_over(ses, deadline_ns)) {
		uint64_t now_ns = host_time_ns();
		unsigned int fill_pct;
		size_t seen;

		absence_look(absence, now_ns, host_cpu_time_ns());
		taskscope_tick(ses->scope, &ses->bpfobj, now_ns);
		/* other callers of read_rings attach or detach functions already, or come too late to leave any out */
		ses->is_tracing = true;
		err = read_rings(ses, now_ns, SLACK_NS, &seen);
		ses->is_tracing = false;
		loss_report_look(&ses->loss_report, now_ns);
		absence_look(absence, host_time_ns(), host_cpu_time_ns());
		if (!err)
			err = govern(ses);
		if (!err)
			err = progwatch_tick(&ses->progwatch, now_ns);
		if (!err)
			err = follow_windows(ses);
		absence_skip(absence, host_time_ns(), host_cpu_time_ns());
		fill_pct = rings_fill_pct(&ses->bpfobj.rings);
		if (ses->output.is_live && now_ns > FOLD_WAIT_NS)
			pipeline_release(ses->pipeline, now_ns - FOLD_WAIT_NS);
		/* a trace without rows would never notice that the reader has gone */
		if (!ses->opts->output_dir)
			outfile_look(ses->sink->file);
		if (!err)
			err = pipeline_flush(ses->pipeline, true);
		status_tick(ses, now_ns);
		if (!err)
			err = write_interval(ses, host_time_ns());
		if (!err)
			rest(ses, fill_pct);
	}
	ses->end_ns = host_time_ns();
	if (err)
		say_cut_short(ses);
	end_err = end_windows(ses);
	err = err ? err : end_err;
	if (!ses->loss_report.is_off)
		loss_report_look(&ses->loss_report, UINT64_MAX);
	return err;
}

/* ---- when it is over ---- */

/* Read the events that are still in the rings, and those that programs under way still write. */
static int drain_rings(struct session *ses)
{
	struct rings *rings = &ses->bpfobj.rings;
	uint64_t deadline_ns = host_time_ns() + DRAIN_WAIT_NS;
	size_t seen;
	size_t cnt;
	int err = 0;

	while (!err) {
		err = read_rings(ses, UINT64_MAX, 0, &seen);
		if (sink_is_full(ses->sink) || rings_is_drained(rings) ||
		    host_time_ns() >= deadline_ns)
			break;
	}
	if (!err && !sink_is_full(ses->sink) && !rings_is_drained(rings)) {
		rings_give_up(rings);
		err = read_rings(ses, UINT64_MAX, 0, &seen);
	}
	while (!err && (cnt = rings_flush_gaps(rings, ses->events, BATCH_CNT, host_time_ns()))) {
		ses->event_cnt += cnt;
		err = feed_events(ses, cnt);
	}
	if (!err && ses->throttle.max_cnt)
		err = feed_throttled(ses, throttle_finish(&ses->throttle));
	return err;
}

/* Read the kernel's last sums, and its losses. */
static int finish_sums(struct session *ses)
{
	int err = session_read_sums(ses);

	if (!err)
		kprofile_account(&ses->kprofile, sink_table_profile(ses->sink),
				 &ses->kprofile_stats);
	return err;
}

/* Write the table of the last, incomplete interval. */
static int finish_interval(struct session *ses)
{
	return ses->opts->interval_ns
		       ? ses->sink->ops->interval(ses->sink, ses->interval.begin_ns, ses->end_ns)
		       : 0;
}

struct loss_report_sources session_loss_sources(const struct session *ses)
{
	return (struct loss_report_sources){
		.opts = ses->opts,
		.bpfobj = &ses->bpfobj,
		.attach = ses->attach,
		.point_links = &ses->point_links,
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
}

static void tell_lost(struct session *ses)
{
	const struct loss_report_sources from = session_loss_sources(ses);

	loss_report_count(&ses->loss_report, &from);
	loss_report_missed(&ses->loss_report, &from);
	sink_lost(ses->sink, loss_report_total(&ses->loss_report));
}

/* The cgroup whose cpu.max counts; NULL: that of the process. */
static const char *witness_cgroup(const struct session *ses)
{
	return ses->scope->target_cnt ? ses->scope->targets[0].path : NULL;
}

/* Tell the sink what the kernel has counted since count_meanwhile. */
static void tell_counted(struct session *ses)
{
	struct netstat now;
	struct netstat counted;

	if (!ses->has_counted)
		return;
	netstat_read(&now, ses->counted.pid, witness_cgroup(ses));
	counted = netstat_since(&ses->counted, &now);
	ses->sink->ops->meanwhile(ses->sink, &counted);
}

/* After disarming: read what running programs still write, count losses, and end the output. */
static int drain(struct session *ses)
{
	int finish_err;
	int err = pipeline_flush(ses->pipeline, true);

	if (!err)
		err = drain_rings(ses);
	if (!err && ses->sums_up)
		err = finish_sums(ses);
	if (err && ses->sums_up)
		return err; /* sums that were only partly read make no table */
	/* finish even after an error: a format has an end, and a table is written at the end */
	finish_err = pipeline_end(ses->pipeline);
	if (!finish_err)
		finish_err = finish_interval(ses);
	tell_lost(ses);
	tell_counted(ses);
	if (!finish_err && ses->sink->ops->finish)
		finish_err = ses->sink->ops->finish(ses->sink, err != 0);
	return err ? err : finish_err;
}

/* Called if the output's reader took too long. Return: the number of entries and returns that were not read. */
static uint64_t count_unread(struct session *ses)
{
	uint64_t unread_cnt = 0;
	size_t cnt;

	ses->bpfobj.rings.ustack.take = NULL; /* nobody sees these stacks */
	rings_begin(&ses->bpfobj.rings, UINT64_MAX, 0);
	while ((cnt = rings_read(&ses->bpfobj.rings, ses->events, BATCH_CNT)))
		unread_cnt += cnt;
	return unread_cnt;
}

/*
 * The probes are armed. From here on the file's old contents are gone, and a new one has its name; for a table that
 * waits until the end. Whoever is told finds the file, except that a command's own messages come after ours.
 */
static int session_begin(struct session *ses)
{
	int err = ses->has_child ? status_start(ses) : 0;

	if (!err)
		err = session_start_command(ses);
	if (err)
		return err;
	ses->has_begun = true;
	err = ses->sink->ops->begin_file(ses->sink);
	session_drop_privileges(ses);
	if (!err && !ses->has_child)
		err = status_start(ses);
	if (!err)
		ready_tell(&ses->ready);
	return err;
}

static void keep_pid(void *ctx, uint32_t pid)
{
	uint32_t *first = ctx;

	*first = *first ? *first : pid;
}

/*
 * A process of the scope, in whose namespace and cgroup the kernel's own counters are read; 0: this one, as for a command. A
 * namespace alone has no process that is known to stay in it.
 */
static bool find_witness(const struct session *ses, uint32_t *pid)
{
	const struct opts *opts = ses->opts;
	const struct num_list *ids = opts->pids.cnt ? &opts->pids : &opts->tids;

	*pid = ids->cnt ? (uint32_t)ids->items[0] : 0;
	for (size_t i = 0; !*pid && i < ses->scope->target_cnt; i++)
		cgroup_pids(&ses->scope->cgroup_host, ses->scope->targets[i].path, keep_pid, pid);
	/* a cgroup without a process is one that the command will join */
	return *pid || !ses->scope->netns_cnt;
}

static void count_meanwhile(struct session *ses)
{
	uint32_t pid;

	ses->has_counted = ses->sink->ops->meanwhile && find_witness(ses, &pid);
	if (ses->has_counted)
		netstat_read(&ses->counted, pid, witness_cgroup(ses));
}

static int trace(struct session *ses)
{
	uint64_t unread_cnt;
	int disarm_err;
	int drain_err;
	int err;

	attach_count_missed(ses->attach);
	points_count_missed(&ses->point_links);
	bpfobj_count_missed(&ses->bpfobj);
	overhead_begin(&ses->overhead);
	count_meanwhile(ses);
	silence_begin(&ses->silence, ses->scope);
	ses->made.begin_mono_ns = host_time_ns();
	err = bpfobj_arm(&ses->bpfobj, true);
	if (!err)
		err = session_begin(ses);
	if (!err)
		err = run_loop(ses);
	disarm_err = bpfobj_arm(&ses->bpfobj, false);
	err = err ? err : disarm_err;
	status_stop(ses);
	overhead_end(&ses->overhead);
	if (!ses->has_begun)
		return err;
	/* a program that saw the switch on may not have taken its slot yet */
	usleep(1000);
	outfile_limit(ses->sink->file, signals_stop_cnt);
	drain_err = drain(ses);
	err = err ? err : drain_err;
	unread_cnt = drain_err == -ETIMEDOUT || err == -ETIMEDOUT ? count_unread(ses) : 0;
	if (unread_cnt)
		log_warn("%" PRIu64 " events in the rings were not read", unread_cnt);
	return err;
}

/* ---- messages at the end ---- */

static bool is_silent(const struct session *ses)
{
	const struct kprofile_stats *sums = &ses->kprofile_stats;
	const struct nfg_sums_lost *lost = &sums->lost;

	if (ses->opts->counts_points)
		return !pipeline_graph_stats(ses->pipeline)->point_cnt;
	if (ses->sums_up)
		return !(sums->call_cnt + sums->open_cnt + lost->torn_cnt + lost->orphan_cnt +
			 lost->doubt_cnt);
	/* calls recorded beside start functions, such as those of softirqs on the way, do not count */
	if (selector_of(ses->opts, SELECTS_BY_STARTS) && ses->starts)
		return !starts_stats_get(ses->starts)->begun_cnt;
	return !pipeline_has_calls(ses->pipeline);
}

/* The function if there is exactly one, so that the message can name it; else NULL. */
static const struct func *only_func(const struct functab *functab, bool of_starts)
{
	const struct func *only = NULL;

	for (size_t i = 0; i < functab->cnt; i++) {
		if (of_starts && !functab->funcs[i].is_start)
			continue;
		if (only)
			return NULL;
		only = &functab->funcs[i];
	}
	return only;
}

/* With --packet alone, the message names traced functions; put_conditions adds which of their calls count. */
static bool has_start_funcs(const struct opts *opts)
{
	return opts->graph_funcs.cnt || opts->presets.cnt || opts->filter;
}

static void session_put_funcs(struct strbuf *out, const struct session *ses)
{
	const bool has_starts = has_start_funcs(ses->opts);
	const struct func *only = only_func(&ses->functab, has_starts);

	if (only)
		strbuf_printf(out, "%s'%.*s' was not called", has_starts ? "start function " : "",
			      (int)only->name.len, only->name.ptr);
	else
		strbuf_printf(out, "none of the %zu %s functions was called",
			      has_starts ? start_setup_cnt(ses->opts, &ses->functab)
					 : ses->functab.cnt,
			      has_starts ? "start" : "traced");
}

static void put_conditions(struct strbuf *out, const struct session *ses)
{
	const struct opts *opts = ses->opts;

	if (ses->bpfobj.config.cfg.drops && opts->presets.cnt == 1 && !opts->graph_funcs.cnt)
		strbuf_str(out, " to drop a packet"); /* of other calls we are not told */
	scopeopts_text(out, opts);
	if (opts->has_cpus)
		strbuf_str(out, " on the CPUs of -C");
	if (opts->packet.insn_cnt)
		strbuf_str(out, " with a packet that matches --packet");
	if (opts->filter && opts->filter->has_entry) /* the programs tell us of no other calls */
		strbuf_printf(out, "%s members that match --filter",
			      opts->packet.insn_cnt ? ", and" : " with");
	if (loss_report_has_losses(&ses->loss_report))
		strbuf_str(out, ", as far as is known: events were lost");
}

/* Whether the tables have said already that nothing was called. */
static bool is_said(const struct opts *opts)
{
	return opts->verb == VERB_LATENCY && !opts->interval_ns &&
	       (opts->latency_funcs.cnt || opts->by == BY_STAGE);
}

static void put_nat(struct strbuf *out, const struct session *ses)
{
	silence_nat(ses->opts, &ses->functab, ksyms_count(ses->facts.ksyms, "nf_nat_packet") != 0,
		    out);
}

static void put_reason(struct strbuf *out, const struct session *ses)
{
	/* a COMMAND out of scope explains more than a scope that is empty, but not than a process that has ended */
	const bool is_outside = ses->has_child && !ses->opts->host_side &&
				!scopeopts_is_command(ses->opts) && !ses->opts->pids.cnt &&
				!ses->opts->tids.cnt;

	if (!is_outside && (silence_why(ses->scope, out) || ses->opts->host_side))
		return;
	if (scopeopts_is_command(ses->opts)) {
		if (!ses->opts->counts_points)
			put_nat(out, ses);
		else
			strbuf_str(
				out,
				"other tasks' softirqs, such as TCP's timers, are not traced with a COMMAND; they are "
				"without it (--timeout 10s), or with --netns $$, which traces all of this network namespace while COMMAND runs");
		return;
	}
	if (!ses->has_child) {
		if (!silence_likely(&ses->silence, ses->scope, out))
			put_nat(out, ses);
		return;
	}
	strbuf_str(out, "the command itself is traced only if it is in that scope");
	if (ses->opts->netns.cnt) /* as it is with --netns $$ */
		return;
	strbuf_str(out, "; leave out ");
	scopeopts_names(out, ses->opts);
	strbuf_str(out, " to trace the command");
}

/*
 * silence_say - at the end of a trace, after its losses were counted: if no call was seen, or no tracepoint that a table
 * counts by, warn of it in the words of the options that chose functions and tasks, with a hint where a likely reason is
 * known.
 *
 * Return: whether it was so.
 */
static bool silence_say(struct session *ses)
{
	struct strbuf text = { 0 };
	struct strbuf reason = { 0 };

	if (!is_silent(ses))
		return false;
	if (ses->opts->counts_points)
		silence_points(&ses->points, &text);
	else
		session_put_funcs(&text, ses);
	put_conditions(&text, ses);
	put_reason(&reason, ses);
	if (!is_said(ses->opts) && strbuf_ok(&text))
		log_warn("%.*s", (int)text.len, text.ptr);
	if (reason.len && strbuf_ok(&reason))
		log_hint("%.*s", (int)reason.len, reason.ptr);
	strbuf_release(&text);
	strbuf_release(&reason);
	return true;
}

static void say_ustack_cnt(const struct session *ses, enum user_stack_state state, const char *why)
{
	const uint64_t cnt = userstacks_cnt(ses->details.ustacks, state);

	if (cnt)
		log_warn("%" PRIu64 " user %s names: %s", cnt,
			 plural(cnt, "stack lacks", "stacks lack"), why);
}

static void say_ustacks(const struct session *ses)
{
	uint64_t cnt;

	if (!ses->stacknamer)
		return;
	say_ustack_cnt(ses, USER_STACK_ENDED,
		       "their processes had ended, or ran another program, before they were read");
	say_ustack_cnt(
		ses, USER_STACK_DENIED,
		"their processes may not be read without CAP_SYS_PTRACE, or are in another pid namespace");
	say_ustack_cnt(ses, USER_STACK_LOST,
		       "the kernel could not read them, or keep so many different ones");
	say_ustack_cnt(ses, USER_STACK_SLOW, "looking them up took too long");
	say_ustack_cnt(ses, USER_STACK_FAILED, "looking them up failed");
	say_ustack_cnt(ses, USER_STACK_FORGOTTEN, "they were not kept until they were shown");
	cnt = userstacks_lacking_cnt(ses->details.ustacks);
	if (cnt)
		log_warn("%" PRIu64
			 " user %s names of files that could not be read, or were replaced",
			 cnt, plural(cnt, "stack lacks", "stacks lack"));
}

static void say_losses(struct session *ses, int err)
{
	const struct loss_report_sources from = session_loss_sources(ses);

	loss_report_say(&ses->loss_report, &from);
	leftout_say(ses->overhead.limit_cnts, NULL);
	say_windows(ses);
	overhead_say(&ses->overhead);
	if (ses->stackwatch.least_bytes < UINT32_MAX && ses->stackwatch.stack_bytes)
		log_info(
			"the deepest traced call seems to have had %u of %u bytes of its kernel stack left",
			ses->stackwatch.least_bytes, ses->stackwatch.stack_bytes);
	say_ustacks(ses);
	if (!err && silence_say(ses))
		return;
	if (ses->starts)
		start_setup_say_unmatched(ses->opts, ses->starts);
}

/* Whether Ctrl-C came before tracing began, and no error was logged. */
static bool is_interrupted(const struct session *ses)
{
	return !ses->has_begun && *signals_stop_cnt && !log_has_error();
}

static enum verdict say_interrupted(void)
{
	log_error("interrupted before tracing began");
	return VERDICT_SIGNAL + (unsigned int)signals_stop_sig();
}

/* The verdict if tracing itself went well. */
static enum verdict final_verdict(struct session *ses)
{
	if (ses->opts->strict && loss_report_has_losses(&ses->loss_report))
		return VERDICT_LOSSES;
	if (ses->has_child && child_poll(&ses->child))
		return (enum verdict)child_exit_code(&ses->child);
	return VERDICT_OK;
}

/* ---- tear-down ---- */

/* An output file keeps its old contents if nothing replaces them. */
static int close_output(struct session *ses, int err)
{
	struct recfile_summary losses = { 0 };

	memcpy(losses.lost_cnts, ses->loss_report.counts.cnt, sizeof(losses.lost_cnts));
	losses.traced_share = (uint32_t)(overhead_traced_permille(&ses->overhead) + 1);
	losses.others_share = (uint32_t)(overhead_others_permille(&ses->overhead, true) + 1);
	if (ses->has_begun && (!err || ses->sink->file->is_begun || ses->sink->saves_at_close))
		return ses->sink->ops->close(ses->sink, &losses);
	output_abandon(&ses->output);
	return 0;
}

static void session_release(struct session *ses)
{
	ready_close(&ses->ready);
	child_release(&ses->child);
	runas_release(&ses->runas);
	overhead_release(&ses->overhead);
	stackwatch_release(&ses->stackwatch);
	progwatch_release(&ses->progwatch);
	learner_release(&ses->learner);
	status_release(&ses->status);
	srcline_free(ses->srcline);
	switches_detach(&ses->switches);
	points_detach(&ses->point_links);
	attach_free(ses->attach, ses->opts->waits_for_detach, signals_stop_cnt);
	fd_list_release(&ses->cost_progs);
	kprofile_close(&ses->kprofile);
	bpfobj_release(&ses->bpfobj);
	pipeline_free(ses->pipeline);
	stacknamer_free(ses->stacknamer);
	comms_free(ses->comms);
	taskscope_free(ses->scope);
	starts_free(ses->starts);
	free(ses->start_kinds);
	reach_close(ses->graph);
	functab_release(&ses->functab);
	tracepoint_list_release(&ses->tracepoints);
	free(ses->points.points);
	details_release(&ses->details);
	facts_close(&ses->facts);
	throttle_release(&ses->throttle);
	free(ses->events);
}

enum verdict session_run(const struct opts *opts)
{
	struct session ses = {
		.opts = opts,
		.ready = READY_NONE,
		.switches = SWITCHES_NONE,
		.child = { .go_fd = -1, .fail_fd = -1 },
		.output = { .file.fd = -1 },
	};
	enum verdict verdict;
	int close_err;
	int err;

	signals_catch();
	signals_ignore_writes();
	err = session_setup(&ses);
	if (!err)
		err = trace(&ses);
	if (err && is_interrupted(&ses))
		err = (int)say_interrupted();
	log_unsaid(err);
	if (ses.has_begun)
		say_losses(&ses, err);
	close_err = close_output(&ses, err);
	log_unsaid(close_err);
	sink_free(ses.sink);
	if (ses.has_begun && !err && !close_err)
		status_say(&ses);
	err = err ? err : close_err;
	verdict = err ? verdict_of(err) : final_verdict(&ses);
	session_release(&ses);
	return verdict;
}
