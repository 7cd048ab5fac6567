#include "app.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "account.h"
#include "attach.h"
#include "bpfobj.h"
#include "child.h"
#include "details.h"
#include "facts.h"
#include "graph.h"
#include "host.h"
#include "kprofile.h"
#include "log.h"
#include "names.h"
#include "offcpu.h"
#include "output.h"
#include "probe.h"
#include "recfile.h"
#include "recorder.h"
#include "rootkinds.h"
#include "roots.h"
#include "scope.h"
#include "select.h"
#include "verbs.h"
#include "trees.h"
#include "view.h"

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

struct app {
	const struct opts *opts;
	struct facts facts;
	struct functab functab;
	struct bpfobj bpfobj;
	struct attach *attach;
	struct offcpu offcpu;
	struct scope *scope;
	struct trees *trees;
	struct roots *roots;
	uint8_t *root_kinds; /* enum roots_kind by func_id */
	struct graph *graph;
	struct names *names;
	struct details details;
	struct view *view;
	struct kprofile kprofile; /* instead of events, with sums_up */
	struct kprofile_stats kprofile_stats;
	bool sums_up;
	struct recorder recorder; /* instead of graph and view */
	struct output output;
	struct child child;
	struct event *events;
	char release[65]; /* uname -r */
	int cpu_cnt;
	bool has_child;
	int fail_status; /* what to exit with when a step fails */
	unsigned int sleep_us;
	uint64_t event_cnt;
	struct account account;
};

static volatile int stop_cnt; /* how often we were asked to stop */

static void on_signal(int sig)
{
	(void)sig;
	stop_cnt++;
}

static void on_child(int sig)
{
	(void)sig; /* only to end a sleep early */
}

static void catch_signals(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	sa.sa_handler = on_child;
	sa.sa_flags = SA_RESTART | SA_NOCLDSTOP;
	sigaction(SIGCHLD, &sa, NULL);
}

/* ---- rows to text ---- */

static void on_row(void *ctx, struct row *row)
{
	struct app *app = ctx;
	struct row comment;

	if (!view_wants_names(app->view)) {
		view_row(app->view, row);
		return;
	}
	if (row->kind == ROW_BANNER) {
		names_get(app->names,
			  row->task.tid); /* may move what is borrowed: before, not between */
		row->prev.comm = names_get(app->names, row->prev.tid);
	}
	if (row->kind == ROW_BANNER || view_wants_comm(app->view))
		row->task.comm = names_get(app->names, row->task.tid);
	if (details_row(&app->details, row, &comment))
		view_row(app->view, &comment);
	view_row(app->view, row);
}

static void on_task_rec(void *ctx, const struct nfg_task_rec *rec)
{
	struct app *app = ctx;

	/* a table may run for days, and tasks come and go */
	if (rec->kind != NFG_TASK_MOVED && (app->recorder.writer || view_wants_names(app->view)))
		names_set(app->names, rec->tid, (const char *)rec->comm);
	if (app->recorder.writer)
		recfile_writer_name(app->recorder.writer, rec);
	scope_take(app->scope, &app->bpfobj, rec);
}

/* ---- setting up ---- */

static int facts_read(struct app *app)
{
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
		err = rootkinds_check(app->opts, &app->functab);
	if (err == -ENOENT)
		app->fail_status = EXIT_STATUS_NOTHING;
	if (err)
		return err;
	err = details_init(&app->details, app->opts, app->facts.ksyms);
	if (!err)
		err = details_funcs(&app->details, &app->functab, app->facts.kbtf);
	if (err) {
		log_error("out of memory");
		return err;
	}
	err = rootkinds_check_filter(app->opts, &app->functab, app->details.protos);
	if (err)
		app->fail_status = EXIT_STATUS_NOTHING;
	return err;
}

static int recording_open(struct app *app)
{
	const struct recorder_config config = {
		.opts = app->opts,
		.functab = &app->functab,
		.details = &app->details,
		.names = app->names,
		.cpu_cnt = (uint32_t)app->cpu_cnt,
	};

	return recorder_open(&app->recorder, &config);
}

static int output_init(struct app *app)
{
	const struct view_facts facts = {
		.columns = &app->opts->columns,
		.cpu_width = render_cpu_width((uint32_t)app->cpu_cnt),
		.cpu_cnt = (uint32_t)app->cpu_cnt,
		.release = app->release,
	};

	return view_new(&app->view, app->opts, &facts, &app->output);
}

static int view_init(struct app *app)
{
	const struct graph_config config = {
		.functab = &app->functab,
		.cpu_cnt = (uint32_t)app->cpu_cnt,
		.depth_max = app->opts->graph_depth,
		.emit = on_row,
		.ctx = app,
	};
	int err = graph_new(&app->graph, &config);

	if (!err)
		err = rootkinds_new(&app->roots, &app->root_kinds, app->opts, &app->functab);
	if (!err)
		err = names_new(&app->names);
	if (!err)
		err = app->opts->verb == VERB_RECORD ? recording_open(app) : output_init(app);
	if (!err && scope_has_packets(app->scope))
		err = trees_new(&app->trees, (uint32_t)app->cpu_cnt);
	app->events = err ? NULL : malloc(BATCH_CNT * sizeof(*app->events));
	if (!app->events)
		err = -ENOMEM;
	if (err)
		log_error("out of memory");
	return err;
}

/* A built-in function for the templates to be verified against. */
#define TEMPLATE_FUNC "tcp_v4_rcv"

/* Where the preemption counter is, when BTF does not say (5.10). */
static int find_preempt_count(const struct app *app, struct bpfobj_config *config)
{
	if (kbtf_has_var(app->facts.kbtf, "__preempt_count") ||
	    kbtf_has_var(app->facts.kbtf, "pcpu_hot"))
		return 0;
	config->per_cpu_offset_addr = ksyms_addr(app->facts.ksyms, "__per_cpu_offset");
	config->preempt_count_offset = ksyms_addr(app->facts.ksyms, "__preempt_count");
	if (app->opts->irqs || (config->per_cpu_offset_addr && config->preempt_count_offset))
		return 0;
	log_error("--graph-opts noirqs: this kernel does not show where its interrupt counter is");
	log_hint("it hides addresses (kernel.kptr_restrict); as root it shows them");
	return -EPERM;
}

/* Whether the kernel sums up, and what that takes. */
static bool plan_sums(const struct app *app, struct kprofile_plan *plan)
{
	const struct kprofile_host host = {
		.cpu_cnt = (uint32_t)app->cpu_cnt,
		.has_fetching_atomics = probe_fetching_atomics(),
		.has_packets = scope_has_packets(app->scope),
	};
	const char *why;

	if (app->opts->verb != VERB_PROFILE && app->opts->verb != VERB_LATENCY)
		return false;
	why = kprofile_plan(plan, app->opts, (uint32_t)app->functab.cnt, &host);
	if (why)
		log_info("every call comes to user space: %s", why);
	else
		log_info("summed up in the kernel: %" PRIu64 " KiB for %u functions in %u tables "
			 "(%u CPUs) and %u tasks",
			 kprofile_bytes(plan) >> 10, plan->func_cnt, plan->table_cnt, plan->cpu_cnt,
			 plan->task_cnt);
	return !why;
}

static int load(struct app *app)
{
	struct kprofile_plan plan;
	struct bpfobj_config config = {
		.template_func = TEMPLATE_FUNC,
		.probe_btf_id = kbtf_func_id(app->facts.kbtf, TEMPLATE_FUNC),
		.session_kfunc_btf_id = kbtf_func_id(app->facts.kbtf, "bpf_session_is_return"),
		.mode = app->opts->attach_mode,
		.marks = (app->opts->errors_only ? NFG_MARK_ERRORS : 0) |
			 (app->opts->filter ? NFG_MARK_FILTER : 0),
		.call_filter = app->opts->filter,
		.protos = app->details.protos,
		.by_roots = rootkinds_are_wanted(app->opts),
		.filter = app->opts->packet.insn_cnt ? &app->opts->packet : NULL,
		.want_values = details_wanted(app->opts),
		.values = app->details.values,
		.want_switches = app->opts->nosleep_time,
		.cpu_cnt = (uint32_t)app->cpu_cnt,
		.buffer_bytes = app->opts->buffer_bytes,
		.skip_hardirq = !app->opts->irqs,
	};
	int err = find_preempt_count(app, &config);

	scope_configure(app->scope, &config);
	if (plan_sums(app, &plan)) {
		config.sums = &plan;
		config.buffer_bytes = NFG_REC_CNT_MIN * sizeof(struct nfg_rec); /* unused */
	}
	if (!err)
		err = bpfobj_load(&app->bpfobj, &config);
	if (!err && config.sums)
		err = kprofile_open(&app->kprofile, app->bpfobj.skel, &plan);
	app->sums_up = !err && config.sums;
	if (!err)
		log_info("attaching by %s", bpfobj_mode_name(app->bpfobj.mode));
	if (!err)
		err = bpfobj_follow(&app->bpfobj, on_task_rec, app);
	return err;
}

static int check_cpus(struct app *app)
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

static int scope_set(struct app *app)
{
	const struct opts *opts = app->opts;

	for (uint32_t cpu = 0; opts->has_cpus && cpu < (uint32_t)app->cpu_cnt; cpu++) {
		if (!cpu_set_list_has(&opts->cpus, cpu))
			rings_mute(&app->bpfobj.rings, cpu);
	}
	return scope_apply(app->scope, &app->bpfobj, app->has_child ? (uint32_t)app->child.pid : 0);
}

/* ---- tracing ---- */

static int feed_graph(struct app *app, size_t cnt)
{
	const struct event *events = app->events;
	int err = 0;

	if (app->roots)
		err = roots_feed(app->roots, app->events, cnt, &events, &cnt);
	if (!err && app->recorder.writer)
		return recfile_writer_events(app->recorder.writer, events, cnt);
	return err ? err : graph_feed(app->graph, events, cnt);
}

/* What packets' trees are not ours goes no further. */
static int feed_trees(struct app *app, size_t cnt)
{
	int err = trees_feed(app->trees, app->events, cnt);

	while (!err && (cnt = trees_take(app->trees, app->events, BATCH_CNT)))
		err = feed_graph(app, cnt);
	return err;
}

static int feed(struct app *app, size_t cnt)
{
	int err = app->trees ? feed_trees(app, cnt) : feed_graph(app, cnt);

	if (err == -ENOMEM)
		log_error("out of memory");
	if (!err && app->output.buf.len > 1 << 16)
		err = view_flush(app->view);
	return err;
}

/* One look at all rings. Return: 0 or -errno; *seen is how many events there were. */
static int pass(struct app *app, uint64_t now_ns, uint64_t slack_ns, size_t *seen)
{
	size_t cnt;
	int err = 0;

	*seen = 0;
	bpfobj_names(&app->bpfobj);
	rings_begin(&app->bpfobj.rings, now_ns, slack_ns);
	while (!err && (cnt = rings_read(&app->bpfobj.rings, app->events, BATCH_CNT))) {
		*seen += cnt;
		app->event_cnt += cnt;
		err = feed(app, cnt);
	}
	return err;
}

/* Sleep so that the fullest ring is about a tenth full when we wake. */
static void rest(struct app *app, unsigned int fill_pct)
{
	struct timespec ts = { 0 };

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

static bool is_over(struct app *app, uint64_t deadline_ns)
{
	if (stop_cnt)
		return true;
	if (app->has_child && child_poll(&app->child))
		return true;
	return host_time_ns() >= deadline_ns;
}

/* A text is for somebody who watches; a recording has time. */
static int flush(struct app *app, uint64_t now_ns)
{
	return app->recorder.writer ? recorder_flush(&app->recorder, now_ns)
				    : view_flush(app->view);
}

static int trace(struct app *app)
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
		scope_tick(app->scope, &app->bpfobj, now_ns);
		err = pass(app, now_ns, SLACK_NS, &seen);
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
static int drain(struct app *app)
{
	uint64_t deadline_ns = host_time_ns() + DRAIN_WAIT_NS;
	size_t cnt;
	size_t seen;
	int err;

	do {
		err = pass(app, UINT64_MAX, 0, &seen);
	} while (!err && !rings_is_drained(&app->bpfobj.rings) && host_time_ns() < deadline_ns);
	while (!err && (cnt = rings_flush_gaps(&app->bpfobj.rings, app->events, BATCH_CNT,
					       host_time_ns()))) {
		app->event_cnt += cnt;
		err = feed(app, cnt);
	}
	if (app->trees && !err) {
		trees_finish(app->trees);
		err = feed_trees(app, 0);
	}
	if (app->recorder.writer)
		return err;
	if (app->sums_up && !err)
		err = kprofile_read(&app->kprofile, &app->functab, view_profile(app->view),
				    &app->kprofile_stats);
	if (app->sums_up && err)
		log_error("cannot read the sums: %s", strerror(-err));
	graph_finish(app->graph);
	return err ? err : view_finish(app->view);
}

static int session(struct app *app)
{
	int exec_err = 0;
	int drain_err;
	int err;

	err = bpfobj_arm(&app->bpfobj, true);
	if (err)
		return err;
	if (app->has_child)
		exec_err = child_start(&app->child);
	if (exec_err) {
		log_error("cannot run '%s': %s", app->opts->command[0], strerror(-exec_err));
		app->fail_status =
			exec_err == -ENOENT ? EXIT_STATUS_NOT_FOUND : EXIT_STATUS_NOT_RUN;
		err = exec_err;
	} else {
		err = trace(app);
	}
	bpfobj_arm(&app->bpfobj, false);
	/* a program that saw the switch on may not have taken its slot yet */
	usleep(1000);
	drain_err = drain(app);
	return err ? err : drain_err;
}

/* ---- the account at the end ---- */

static void say_account(struct app *app)
{
	const struct account_sources from = {
		.bpfobj = &app->bpfobj,
		.attach = app->attach,
		.graph = app->graph,
		.roots = app->roots,
		.trees = app->trees,
		.values = app->details.values,
		.sums = app->sums_up ? &app->kprofile_stats : NULL,
		.event_cnt = app->event_cnt,
	};

	account_say(&app->account, &from);
}

/* What to exit with when tracing itself went well. */
static int final_status(struct app *app)
{
	if (app->opts->strict && account_has_losses(&app->account))
		return EXIT_STATUS_LOSSES;
	if (app->has_child && child_poll(&app->child))
		return child_exit_code(&app->child);
	return EXIT_STATUS_OK;
}

/* ---- start to end ---- */

static int prepare(struct app *app)
{
	int err;

	host_release(app->release, sizeof(app->release));
	app->cpu_cnt = host_cpu_cnt();
	if (app->cpu_cnt < 0) {
		log_error("cannot read the CPUs of this host: %s", strerror(-app->cpu_cnt));
		return app->cpu_cnt;
	}
	err = check_cpus(app);
	/* a recording is opened by its writer */
	if (!err && app->opts->verb != VERB_RECORD)
		err = output_open(&app->output, app->opts->output_path);
	if (err)
		return err;
	/* before any BPF descriptor exists: a child that held one would keep the probes alive */
	if (app->opts->command) {
		err = child_fork(&app->child, app->opts->command);
		app->has_child = !err;
		if (err)
			log_error("cannot fork: %s", strerror(-err));
	}
	if (!err)
		err = scope_new(&app->scope, app->opts, app->opts->command);
	return err;
}

static int run(struct app *app)
{
	int err = prepare(app);

	if (!err)
		err = facts_read(app);
	if (!err)
		err = view_init(app);
	if (!err)
		err = load(app);
	if (!err)
		err = scope_set(app);
	if (!err)
		err = attach_new(&app->attach, &app->bpfobj, &app->functab, &stop_cnt);
	if (!err && app->opts->nosleep_time)
		err = offcpu_attach(&app->offcpu, &app->bpfobj);
	return err;
}

static void app_release(struct app *app)
{
	child_release(&app->child);
	offcpu_detach(&app->offcpu);
	attach_free(app->attach, &stop_cnt);
	kprofile_close(&app->kprofile);
	bpfobj_release(&app->bpfobj);
	graph_free(app->graph);
	names_free(app->names);
	scope_free(app->scope);
	trees_free(app->trees);
	roots_free(app->roots);
	free(app->root_kinds);
	view_free(app->view);
	functab_release(&app->functab);
	details_release(&app->details);
	facts_close(&app->facts);
	free(app->events);
}

static int recording_close(struct app *app)
{
	const struct recfile_summary losses = {
		.lost_full_cnt = app->account.lost_full_cnt,
		.lost_depth_cnt = app->account.lost_depth_cnt,
		.missed_cnt = app->account.missed_cnt,
		.lost_name_cnt = app->bpfobj.skel ? bpfobj_lost_names(&app->bpfobj) : 0,
	};

	return recorder_close(&app->recorder, &losses);
}

static int close_all(struct app *app)
{
	if (app->recorder.writer)
		return recording_close(app);
	return app->output.fd < 0 ? 0 : output_close(&app->output);
}

int app_run(const struct opts *opts)
{
	struct app app = {
		.opts = opts,
		.offcpu = OFFCPU_NONE,
		.child = { .go_fd = -1, .fail_fd = -1 },
		.output = { .fd = -1 },
		.fail_status = EXIT_STATUS_FAILED,
	};
	int status;
	int close_err;
	int err;

	catch_signals();
	err = run(&app);
	if (!err) {
		err = session(&app);
		say_account(&app);
	}
	close_err = close_all(&app);
	status = err || close_err ? app.fail_status : final_status(&app);
	app_release(&app);
	return status;
}
