/* The limits of a running trace: --max-overhead and --max-events. */
#include "session/live.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "process/signals.h"

/* Functions go, on all CPUs at once. */
static int feed_marks(struct session *ses, enum event_kind kind)
{
	uint32_t cpu = 0;
	size_t cnt;
	int err = 0;

	while (!err && (cnt = rings_mark(&ses->bpfobj.rings, kind, &cpu, ses->events, BATCH_CNT))) {
		ses->event_cnt += cnt;
		err = session_feed(ses, cnt);
	}
	return err;
}

static int detach(struct session *ses)
{
	const struct leftout *lo = governor_leftout(ses->overhead.governor);
	int err = attach_leave_out(ses->attach, &ses->bpfobj, &ses->functab, lo->func_ids,
				   lo->func_cnt, signals_stop_cnt);

	if (err && err != -EINTR && err != -ENOMEM)
		log_error("cannot leave functions out: %s", strerror(-err));
	return err;
}

/*
 * What is open now has no known end. Where functions share links, these are made anew, and nothing is recorded
 * meanwhile; else the functions go on to be recorded until they are detached, and are dropped (see session_pass).
 */
static int leave_out(struct session *ses)
{
	bool is_shared = attach_is_shared(ses->bpfobj.plan.mode);
	size_t seen;
	int err = is_shared ? bpfobj_arm(&ses->bpfobj, false) : 0;

	if (!err && is_shared)
		err = session_pass(ses, host_time_ns(), SLACK_NS, &seen);
	if (!err)
		err = feed_marks(ses, EVENT_GAP);
	if (!err)
		err = detach(ses);
	if (!err && is_shared)
		err = session_pass(ses, host_time_ns(), SLACK_NS, &seen);
	if (!err)
		err = feed_marks(ses, EVENT_LOST);
	return err || !is_shared ? err : bpfobj_arm(&ses->bpfobj, true);
}

/*
 * On stderr at once, and at its place in the trace. Like a row written to trace_marker it is in the column of its
 * writer's CPU.
 */
static int tell_leftout(struct session *ses)
{
	struct leftout lo = *governor_leftout(ses->overhead.governor);
	int cpu = sched_getcpu();

	lo.cpu = cpu > 0 ? (uint32_t)cpu : 0;
	overhead_tell(&ses->overhead);
	return pipeline_leftout(ses->pipeline, &lo);
}

/* By site nothing of ours is on the stack while a call is open. */
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

int session_govern(struct session *ses)
{
	enum governor_verdict verdict;
	int err;

	watch_stack(ses);
	/* a reader that falls behind costs events, of functions that are not known */
	if (outfile_is_behind(ses->sink->file)) {
		overhead_skip(&ses->overhead);
		return 0;
	}
	verdict = overhead_judge(&ses->overhead);
	if (verdict == GOVERNOR_FINE)
		return 0;
	err = tell_leftout(ses);
	if (err)
		return err;
	if (verdict == GOVERNOR_STOP) {
		ses->fail_status = EXIT_STATUS_OVERHEAD;
		return -EDQUOT;
	}
	err = leave_out(ses);
	overhead_resume(&ses->overhead);
	return err == -EINTR ? 0 : err; /* asked to stop: the loop ends by itself */
}
