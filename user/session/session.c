#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "session/live.h"
#include "session/loss_report.h"
#include "attach/attach.h"
#include "attach/bpfobj.h"
#include "process/child.h"
#include "annotate/details.h"
#include "kernel/facts.h"
#include "trace/graph.h"
#include "base/host.h"
#include "attach/kprofile.h"
#include "options/wants.h"
#include "base/log.h"
#include "kernel/comms.h"
#include "base/output.h"
#include "session/overhead.h"
#include "kernel/policy.h"
#include "process/privdrop.h"
#include "kernel/probe.h"
#include "recording/recfile.h"
#include "recording/recorder.h"
#include "report/start_setup.h"
#include "trace/starts.h"
#include "attach/rt.h"
#include "process/runas.h"
#include "session/taskscope.h"
#include "select/select.h"
#include "process/signals.h"
#include "base/stream.h"
#include "attach/switches.h"
#include "limits/throttle.h"
#include "session/verbs.h"
#include "trace/packet_hold.h"
#include "session/view.h"

#define BATCH_CNT 4096
/* A store of another CPU is visible long before this. */
#define SLACK_NS 50000
/* On a terminal an entry is not held longer than this to see whether it is a leaf. */
#define FOLD_WAIT_NS 250000000ull
/* Without -T, where each function costs a grace period at the end. */
#define SLOW_FUNCS_MAX 300
#define SLEEP_MIN_US   500
#define SLEEP_MAX_US   10000
/* How long programs that were under way when the switch went off may take. */
#define DRAIN_WAIT_NS 200000000ull

/* What a recording may keep of tasks' names while its reader does not read. */
#define QUEUE_MAX_BYTES (16u << 20)

static struct outfile *out_of(struct session *app)
{
	return app->recorder.writer ? recfile_writer_file(app->recorder.writer) : &app->output.file;
}

/* ---- rows to text ---- */

static void on_row(void *ctx, struct row *row)
{
	struct session *app = ctx;
	struct row comment;

	if (!view_wants_names(app->view)) {
		view_row(app->view, row);
		return;
	}
	if (row->kind == ROW_BANNER)
		row->prev.comm = comms_get(app->names, row->prev.tid, row->prev_ns);
	if (row->kind == ROW_BANNER || view_wants_comm(app->view))
		row->task.comm = comms_get(app->names, row->task.tid, row->time_ns);
	if (details_row(&app->details, row, &comment))
		view_row(app->view, &comment);
	view_row(app->view, row);
}

void session_task(void *ctx, const struct nfg_task_rec *rec)
{
	struct session *app = ctx;

	/* a table may run for days, and tasks come and go */
	if (app->recorder.writer || view_wants_names(app->view))
		comms_take(app->names, rec);
	if (app->recorder.writer)
		recfile_writer_renamed(app->recorder.writer, rec->tid);
	taskscope_take(app->scope, &app->bpfobj, rec);
}

static void refill_names(void *ctx)
{
	struct session *app = ctx;

	bpfobj_names(&app->bpfobj);
}

/* ---- setting up ---- */

static int facts_read(struct session *app)
{
	const struct details_want want = wants_details(app->opts);
	struct select_rules rules;
	int err = facts_open(&app->facts, true);

	if (err)
		return err;
	err = verbs_rules(&rules, app->opts);
	if (!rules.max_cnt && !rules.trace_cnt)
		rules.max_cnt = host_is_slow_to_detach() ? SLOW_FUNCS_MAX : 0;
	rules.text = app->facts.text;
	rules.text_err = app->facts.text_err;
	if (!err)
		err = select_funcs(&app->functab, &rules, app->facts.kbtf, app->facts.ksyms);
	verbs_rules_release(&rules);
	if (!err)
		err = start_setup_check(app->opts, &app->functab);
	if (err == -ENOENT)
		app->fail_status = EXIT_STATUS_NOTHING;
	if (err)
		return err;
	err = details_init(&app->details, &want, app->facts.ksyms);
	if (!err)
		err = details_funcs(&app->details, &app->functab, app->facts.kbtf);
	if (err) {
		log_error("cannot prepare the functions' types: %s", strerror(-err));
		return err;
	}
	err = start_setup_check_filter(app->opts, &app->functab, app->details.protos);
	if (err)
		app->fail_status = EXIT_STATUS_NOTHING;
	return err;
}

static int recording_open(struct session *app)
{
	const struct recorder_config config = {
		.path = app->opts->output_path,
		.max_bytes = app->opts->max_bytes,
		.rotate_bytes = app->opts->rotate_bytes,
		.rotate_cnt = app->opts->rotate_cnt,
		.command = app->opts->command,
		.functab = &app->functab,
		.details = &app->details,
		.names = app->names,
		.cpu_cnt = (uint32_t)app->cpu_cnt,
	};

	int err = recorder_open(&app->recorder, &config);

	if (!err)
		recfile_writer_file(app->recorder.writer)->wait_ms = 0;
	else if (err == -ENOMEM)
		log_error("out of memory");
	return err;
}

static int output_init(struct session *app)
{
	const struct view_facts facts = {
		.columns = &app->opts->columns,
		.cpu_width = render_cpu_width((uint32_t)app->cpu_cnt),
		.cpu_cnt = (uint32_t)app->cpu_cnt,
		.release = app->release,
	};

	int err = view_new(&app->view, app->opts, &facts, &app->output);

	if (err || (!app->opts->max_bytes && !app->opts->rotate_bytes))
		return err;
	return output_limit(&app->output, app->opts->max_bytes, app->opts->rotate_bytes,
			    app->opts->rotate_cnt);
}

static int view_init(struct session *app)
{
	const struct graph_config config = {
		.functab = &app->functab,
		.cpu_cnt = (uint32_t)app->cpu_cnt,
		.depth_max = app->opts->graph_depth,
		.emit = on_row,
		.ctx = app,
	};
	const struct comms_source source = {
		.read = comms_read_proc,
		.refill = refill_names,
		.ctx = app,
	};
	int err = graph_new(&app->graph, &config);

	if (!err)
		err = start_setup_new(&app->roots, &app->root_kinds, app->opts, &app->functab);
	if (!err)
		err = comms_new(&app->names, &source);
	if (!err && taskscope_has_packets(app->scope))
		err = packet_hold_new(&app->trees, (uint32_t)app->cpu_cnt);
	app->events = err ? NULL : malloc(BATCH_CNT * sizeof(*app->events));
	if (!app->events) {
		log_error("out of memory");
		return -ENOMEM;
	}
	return app->opts->verb == VERB_RECORD ? recording_open(app) : output_init(app);
}

/* A kernel with PREEMPT_RT may be none that can be traced. */
static int check_rt(const struct session *app)
{
	const struct rt_facts facts = {
		.is_rt = rt_is_kernel(),
		.has_fetching_atomics = probe_fetching_atomics(),
		.has_sleeping_ringbuf = rt_has_sleeping_ringbuf(app->facts.kbtf),
		.has_packets = taskscope_has_packets(app->scope),
	};
	const char *hint;
	const char *obstacle = rt_obstacle(&facts, &hint);

	if (!obstacle)
		return 0;
	log_error("%s", obstacle);
	log_hint("%s", hint);
	return -EOPNOTSUPP;
}

static int check_cpus(struct session *app)
{
	for (uint32_t cpu = (uint32_t)app->cpu_cnt; app->opts->has_cpus && cpu < CPU_SET_MAX;
	     cpu++) {
		if (!cpu_set_list_has(&app->opts->cpus, cpu))
			continue;
		log_error("--cpu: there is no CPU %u", cpu);
		log_hint("this host's CPUs are 0 to %d", app->cpu_cnt - 1);
		app->fail_status = EXIT_STATUS_USAGE;
		return -EINVAL;
	}
	return 0;
}

static int scope_set(struct session *app)
{
	const struct opts *opts = app->opts;

	for (uint32_t cpu = 0; opts->has_cpus && cpu < (uint32_t)app->cpu_cnt; cpu++) {
		if (!cpu_set_list_has(&opts->cpus, cpu))
			rings_mute(&app->bpfobj.rings, cpu);
	}
	return taskscope_apply(app->scope, &app->bpfobj,
			       app->has_child ? (uint32_t)app->child.pid : 0);
}

/* ---- tracing ---- */

static int feed_graph(struct session *app, size_t cnt)
{
	const struct event *events = app->events;
	int err = 0;

	if (app->roots)
		err = starts_feed(app->roots, app->events, cnt, &events, &cnt);
	if (!err && app->recorder.writer)
		return recorder_events(&app->recorder, events, cnt);
	return err ? err : graph_feed(app->graph, events, cnt);
}

/* What packets' trees are not ours goes no further. */
static int feed_trees(struct session *app, size_t cnt)
{
	int err = packet_hold_feed(app->trees, app->events, cnt);

	while (!err && (cnt = packet_hold_take(app->trees, app->events, BATCH_CNT)))
		err = feed_graph(app, cnt);
	return err;
}

static int feed(struct session *app, size_t cnt)
{
	int err = app->trees ? feed_trees(app, cnt) : feed_graph(app, cnt);

	if (err == -ENOMEM)
		log_error("out of memory");
	if (!err && app->output.buf.len > 1 << 16)
		err = view_flush(app->view);
	return err;
}

/* What --max-events lets through. */
static int feed_throttled(struct session *app, size_t cnt)
{
	const struct event *out = app->throttle.out;
	int err = 0;

	while (!err && cnt) {
		size_t part = cnt < BATCH_CNT ? cnt : BATCH_CNT;

		memcpy(app->events, out, part * sizeof(*out));
		err = feed(app, part);
		out += part;
		cnt -= part;
	}
	return err;
}

static int feed_read(struct session *app, size_t cnt)
{
	if (!app->throttle.max_cnt)
		return feed(app, cnt);
	return feed_throttled(app, throttle_feed(&app->throttle, app->events, cnt));
}

/* --max-size is reached. */
static bool is_full(const struct session *app)
{
	return app->output.is_full || app->recorder.is_full;
}

/* One look at all rings. Return: 0 or -errno; *seen is how many events there were. */
static int pass(struct session *app, uint64_t now_ns, uint64_t slack_ns, size_t *seen)
{
	size_t cnt;
	int err = 0;

	*seen = 0;
	comms_trim(app->names);
	bpfobj_names(&app->bpfobj);
	rings_begin(&app->bpfobj.rings, now_ns, slack_ns);
	/* what its reader has no room for stays in the rings, and is lost there when they are full */
	while (!err && !outfile_is_behind(out_of(app)) && !is_full(app) &&
	       (cnt = rings_read(&app->bpfobj.rings, app->events, BATCH_CNT))) {
		*seen += cnt;
		app->event_cnt += cnt;
		if (app->is_tracing)
			overhead_watch(&app->overhead, app->events, cnt);
		cnt = overhead_drop(&app->overhead, app->events, cnt);
		err = feed_read(app, cnt);
	}
	return err;
}

/* ---- the governor ---- */

/* Functions go, on all CPUs at once. */
static int feed_marks(struct session *app, enum event_kind kind)
{
	uint32_t cpu = 0;
	size_t cnt;
	int err = 0;

	while (!err && (cnt = rings_mark(&app->bpfobj.rings, kind, &cpu, app->events, BATCH_CNT))) {
		app->event_cnt += cnt;
		err = feed_read(app, cnt);
	}
	return err;
}

/*
 * What is open now has no known end. With tracing_multi all links are made anew, and nothing is recorded
 * meanwhile; else the functions go on to be recorded until they are detached, and are dropped (see pass).
 */
static int leave_out(struct session *app)
{
	bool is_shared = app->bpfobj.plan.mode == ATTACH_MULTI;
	size_t seen;
	const struct leftout *lo = governor_leftout(app->overhead.governor);
	int err = is_shared ? bpfobj_arm(&app->bpfobj, false) : 0;

	if (!err && is_shared)
		err = pass(app, host_time_ns(), SLACK_NS, &seen);
	if (!err)
		err = feed_marks(app, EVENT_GAP);
	if (!err)
		err = attach_leave_out(app->attach, &app->bpfobj, &app->functab, lo->func_ids,
				       lo->func_cnt, out_of(app)->fd, signals_stop_cnt);
	if (!err && is_shared)
		err = pass(app, host_time_ns(), SLACK_NS, &seen);
	if (!err)
		err = feed_marks(app, EVENT_LOST);
	return err || !is_shared ? err : bpfobj_arm(&app->bpfobj, true);
}

/*
 * On stderr at once, and in its place in the trace. As a row written to trace_marker it stands in the column of the CPU
 * that its writer is on. Return: 0 or -errno.
 */
static int tell_leftout(struct session *app)
{
	struct leftout lo = *governor_leftout(app->overhead.governor);
	struct row row = { .kind = ROW_COMMENT, .time_ns = lo.time_ns };
	int cpu = sched_getcpu();

	lo.cpu = row.cpu = cpu > 0 ? (uint32_t)cpu : 0;
	row.text = overhead_tell(&app->overhead);
	if (app->recorder.writer)
		return recfile_writer_leftout(app->recorder.writer, &lo);
	if (row.text.len)
		view_row(app->view, &row);
	return 0;
}

/* Return: 0, or what ends the trace. */
static int govern(struct session *app)
{
	enum governor_verdict verdict;
	int err;

	/* who does not read, costs events; what functions they are of is not known */
	if (outfile_is_behind(out_of(app))) {
		overhead_skip(&app->overhead);
		return 0;
	}
	verdict = overhead_judge(&app->overhead);
	if (verdict == GOVERNOR_FINE)
		return 0;
	err = tell_leftout(app);
	if (err)
		return err;
	if (verdict == GOVERNOR_STOP) {
		app->fail_status = EXIT_STATUS_OVERHEAD;
		return -EDQUOT;
	}
	err = leave_out(app);
	overhead_resume(&app->overhead);
	if (err == -EINTR)
		return 0; /* asked to stop: the loop ends by itself */
	if (err)
		log_error("cannot leave functions out: %s", strerror(-err));
	return err;
}

/* Sleep so that the fullest ring is about a tenth full when we wake. */
static void rest(struct session *app, unsigned int fill_pct)
{
	struct timespec ts = { 0 };

	if (outfile_is_behind(out_of(app))) {
		stream_wait(out_of(app)->fd, SLEEP_MAX_US / 1000);
		return;
	}
	if (fill_pct > 25)
		app->sleep_us = 0;
	else if (fill_pct > 10)
		app->sleep_us /= 2;
	else
		app->sleep_us = app->sleep_us ? app->sleep_us * 2 : SLEEP_MIN_US;
	if (app->sleep_us > SLEEP_MAX_US)
		app->sleep_us = SLEEP_MAX_US;
	if (!app->sleep_us)
		return;
	ts.tv_nsec = app->sleep_us * 1000L;
	nanosleep(&ts, NULL);
}

static bool is_over(struct session *app, uint64_t deadline_ns)
{
	if (*signals_stop_cnt || is_full(app))
		return true;
	if (app->has_child && child_poll(&app->child))
		return true;
	return host_time_ns() >= deadline_ns;
}

/* A text is for somebody who watches; a recording has time. */
static int flush(struct session *app, uint64_t now_ns)
{
	return app->recorder.writer ? recorder_flush(&app->recorder, now_ns)
				    : view_flush(app->view);
}

static int trace(struct session *app)
{
	uint64_t deadline_ns = UINT64_MAX;
	int err = 0;

	if (app->opts->timeout_ns)
		deadline_ns = host_time_ns() + app->opts->timeout_ns;
	while (!err) {
		bool last = is_over(app, deadline_ns);
		unsigned int fill_pct;
		uint64_t now_ns;
		size_t seen;

		if (last)
			break;
		now_ns = host_time_ns();
		taskscope_tick(app->scope, &app->bpfobj, now_ns);
		app->is_tracing = true; /* elsewhere nothing can be left out any more, or just is */
		err = pass(app, now_ns, SLACK_NS, &seen);
		app->is_tracing = false;
		if (!err)
			err = govern(app);
		fill_pct = rings_fill_pct(&app->bpfobj.rings);
		if (app->output.is_live && now_ns > FOLD_WAIT_NS)
			graph_release(app->graph, now_ns - FOLD_WAIT_NS);
		if (!err)
			err = flush(app, now_ns);
		if (!err)
			rest(app, fill_pct);
	}
	return err;
}

/* After the switch is off: what programs under way still write, and losses at the end. */
static int drain(struct session *app)
{
	int err = flush(app, host_time_ns());
	uint64_t deadline_ns = host_time_ns() + DRAIN_WAIT_NS;
	int finish_err;
	size_t cnt;
	size_t seen;

	while (!err) {
		err = pass(app, UINT64_MAX, 0, &seen);
		if (is_full(app) || rings_is_drained(&app->bpfobj.rings) ||
		    host_time_ns() >= deadline_ns)
			break;
	}
	if (!err && !is_full(app) && !rings_is_drained(&app->bpfobj.rings)) {
		rings_give_up(&app->bpfobj.rings);
		err = pass(app, UINT64_MAX, 0, &seen);
	}
	while (!err && (cnt = rings_flush_gaps(&app->bpfobj.rings, app->events, BATCH_CNT,
					       host_time_ns()))) {
		app->event_cnt += cnt;
		err = feed_read(app, cnt);
	}
	if (app->throttle.max_cnt && !err)
		err = feed_throttled(app, throttle_finish(&app->throttle));
	if (app->trees && !err) {
		packet_hold_finish(app->trees);
		err = feed_trees(app, 0);
	}
	if (app->recorder.writer)
		return err;
	if (app->sums_up && !err)
		err = kprofile_read(&app->kprofile, &app->functab, view_profile(app->view),
				    &app->kprofile_stats);
	graph_finish(app->graph);
	if (app->sums_up && err) {
		log_error("cannot read the sums: %s", strerror(-err));
		return err; /* half of them is no table */
	}
	/* also after an error: a format has an end, and a table comes then */
	finish_err = view_finish(app->view);
	return err ? err : finish_err;
}

/* Who typed sudo for the trace may not have meant the command. */
static void say_who_runs(const struct opts *opts)
{
	const char *caller = runas_told_by_sudo();

	if (opts->user)
		log_info("'%s' runs as %s", opts->command[0], opts->user);
	else if (caller)
		log_warn("'%s' runs as root; --user %s runs it as you", opts->command[0], caller);
}

/* From here on what was in the file is gone; a table comes at the end, and until then it stays. */
static int begin(struct session *app)
{
	app->has_begun = true;
	if (app->view && view_profile(app->view)) {
		app->output.file.is_held = false;
		return 0;
	}
	return app->recorder.writer ? recfile_writer_begin(app->recorder.writer)
				    : output_begin(&app->output);
}

/* The output's reader has had its time. Return: how many calls began or ended that nobody will see. */
static uint64_t count_unread(struct session *app)
{
	uint64_t unread_cnt = 0;
	size_t cnt;

	rings_begin(&app->bpfobj.rings, UINT64_MAX, 0);
	while ((cnt = rings_read(&app->bpfobj.rings, app->events, BATCH_CNT)))
		unread_cnt += cnt;
	return unread_cnt;
}

static int command_start(struct session *app)
{
	int err;

	if (!app->has_child)
		return 0;
	say_who_runs(app->opts);
	err = child_start(&app->child);
	if (!err)
		return 0;
	/* Ctrl-C may have ended who waited to become the command */
	if (*signals_stop_cnt)
		return -EINTR;
	log_error("cannot run '%s': %s", app->opts->command[0], strerror(-err));
	app->fail_status = err == -ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_NOT_RUN;
	return err;
}

static int session(struct session *app)
{
	uint64_t unread_cnt;
	int drain_err;
	int err;

	err = bpfobj_arm(&app->bpfobj, true);
	if (!err)
		err = command_start(app);
	if (!err)
		err = begin(app);
	if (!err)
		err = trace(app);
	bpfobj_arm(&app->bpfobj, false);
	if (!app->has_begun)
		return err;
	/* a program that saw the switch on may not have taken its slot yet */
	usleep(1000);
	outfile_limit(out_of(app), signals_stop_cnt);
	drain_err = drain(app);
	err = err ? err : drain_err;
	unread_cnt = err == -ETIMEDOUT ? count_unread(app) : 0;
	if (unread_cnt)
		log_warn("%" PRIu64 " events in the rings were not read", unread_cnt);
	return err;
}

/* ---- the account at the end ---- */

static void say_account(struct session *app)
{
	const struct loss_report_sources from = {
		.bpfobj = &app->bpfobj,
		.attach = app->attach,
		.graph = app->graph,
		.roots = app->roots,
		.trees = app->trees,
		.values = app->details.values,
		.sums = app->sums_up ? &app->kprofile_stats : NULL,
		.dropped_cnt = app->throttle.dropped_cnt,
		.event_cnt = app->event_cnt,
		.has_command = app->has_child,
		.by_cpu = app->opts->has_cpus,
		.is_cut = out_of(app)->err || is_full(app),
	};

	loss_report_say(&app->account, &from);
	overhead_say(&app->overhead);
}

/* What to exit with when tracing itself went well. */
static int final_status(struct session *app)
{
	if (app->opts->strict && loss_report_has_losses(&app->account))
		return EXIT_STATUS_LOSSES;
	if (app->has_child && child_poll(&app->child))
		return child_exit_code(&app->child);
	return EXIT_STATUS_OK;
}

/* ---- start to end ---- */

static int prepare(struct session *app)
{
	int err;

	host_release(app->release, sizeof(app->release));
	app->cpu_cnt = host_cpu_cnt();
	if (app->cpu_cnt < 0) {
		log_error("cannot read the CPUs of this host: %s", strerror(-app->cpu_cnt));
		return app->cpu_cnt;
	}
	err = check_cpus(app);
	if (!err && app->opts->user && runas_find(&app->runas, app->opts->user)) {
		app->fail_status = EXIT_STATUS_USAGE;
		return -EINVAL;
	}
	/* a recording is opened by its writer */
	if (!err && app->opts->verb != VERB_RECORD)
		err = output_open(&app->output, app->opts->output_path, signals_stop_cnt);
	if (err)
		return err;
	app->output.file.is_held = true;
	app->output.file.wait_ms = 0;
	if (!format_is_binary(app->opts->format))
		output_rows(&app->output);
	/* before any BPF descriptor exists: a child that held one would keep the probes alive */
	if (app->opts->command) {
		err = child_fork(&app->child, app->opts->command,
				 app->opts->user ? &app->runas : NULL);
		app->has_child = !err;
		if (err)
			log_error("cannot fork: %s", strerror(-err));
	}
	if (!err)
		err = taskscope_new(&app->scope, app->opts, app->opts->command);
	return err;
}

/* ---- what is no longer needed ---- */

/* Until 5.18 bpf() does nothing at all without CAP_BPF where kernel.unprivileged_bpf_disabled is set. */
static bool can_sync(void *ctx)
{
	const struct session *app = ctx;

	return !bpfobj_sync(&app->bpfobj);
}

/* Not where /proc hides the processes of others (hidepid). */
static bool can_read_names(void *ctx)
{
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	(void)ctx;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* The trace runs by itself now. Files are open, links are closed without any privilege. */
static void drop_privileges(struct session *app)
{
	uint64_t keep = 0;

	if (!privdrop_works(can_sync, app))
		keep |= PRIVDROP_CAP(privdrop_has(CAP_BPF) ? CAP_BPF : CAP_SYS_ADMIN);
	if (taskscope_looks_into_processes(app->scope) || !privdrop_works(can_read_names, app))
		keep |= PRIVDROP_CAP(CAP_SYS_PTRACE);
	if (app->opts
		    ->rotate_bytes) /* files are renamed and made in a directory that may be another's */
		keep |= PRIVDROP_CAP(CAP_DAC_OVERRIDE);
	privdrop(keep, true);
}

static int run(struct session *app)
{
	int err = prepare(app);

	if (!err)
		err = facts_read(app);
	if (!err)
		err = check_rt(app);
	if (!err)
		err = view_init(app);
	if (!err)
		err = session_load(app);
	if (!err)
		err = scope_set(app);
	if (!err)
		err = attach_new(&app->attach, &app->bpfobj, &app->functab, signals_stop_cnt);
	if (!err && !app->sums_up)
		err = overhead_init(&app->overhead, app->opts, &app->functab, &app->bpfobj.rings);
	if (!err && app->opts->max_events_sec)
		err = throttle_init(&app->throttle, app->opts->max_events_sec,
				    app->bpfobj.rings.cpu_cnt, BATCH_CNT);
	if (!err)
		drop_privileges(app);
	return !err && *signals_stop_cnt ? -EINTR : err;
}

/* Somebody asked to stop, and nothing else was wrong that was said. */
static void say_interrupted(struct session *app)
{
	if (app->has_begun || !*signals_stop_cnt || log_has_error())
		return;
	log_error("interrupted before tracing began");
	app->fail_status = EXIT_STATUS_SIGNAL + signals_stop_sig();
}

static void app_release(struct session *app)
{
	child_release(&app->child);
	runas_release(&app->runas);
	overhead_release(&app->overhead);
	switches_detach(&app->switches);
	attach_free(app->attach, signals_stop_cnt);
	kprofile_close(&app->kprofile);
	bpfobj_release(&app->bpfobj);
	graph_free(app->graph);
	comms_free(app->names);
	taskscope_free(app->scope);
	packet_hold_free(app->trees);
	starts_free(app->roots);
	free(app->root_kinds);
	view_free(app->view);
	functab_release(&app->functab);
	details_release(&app->details);
	facts_close(&app->facts);
	throttle_release(&app->throttle);
	free(app->events);
}

static int recording_close(struct session *app)
{
	const struct recfile_summary losses = {
		.lost_full_cnt = app->account.lost_full_cnt,
		.lost_depth_cnt = app->account.lost_depth_cnt,
		.missed_cnt = app->account.missed_cnt,
		.lost_late_cnt = app->account.lost_late_cnt,
		.lost_rate_cnt = app->account.lost_rate_cnt,
		.lost_name_cnt = bpfobj_lost_names(&app->bpfobj) + app->lost_name_cnt,
	};

	return recorder_close(&app->recorder, &losses);
}

/* A file stays as it was if no table came that replaces it. */
static bool lacks_table(const struct session *app, int err)
{
	return err && app->view && view_profile(app->view) && !app->output.file.is_begun;
}

static int close_all(struct session *app, int err)
{
	if (app->has_begun && !lacks_table(app, err))
		return app->recorder.writer ? recording_close(app) : output_close(&app->output);
	recfile_writer_abandon(app->recorder.writer);
	app->recorder.writer = NULL;
	output_abandon(&app->output);
	return 0;
}

int session_run(const struct opts *opts)
{
	struct session app = {
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
	err = run(&app);
	if (!err)
		err = session(&app);
	if (err == -ENOMEM && !log_has_error())
		log_error("out of memory");
	if (err)
		say_interrupted(&app);
	if (app.has_begun)
		say_account(&app);
	close_err = close_all(&app, err);
	status = err || close_err ? app.fail_status : final_status(&app);
	app_release(&app);
	return status;
}
