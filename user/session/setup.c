/* A live trace from the command line to attached programs: session_setup goes through steps in order. */
#include "session/live.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/rt.h"
#include "base/host.h"
#include "base/log.h"
#include "kernel/probe.h"
#include "options/graphopts.h"
#include "options/optwords.h"
#include "options/wants.h"
#include "process/signals.h"
#include "report/start_setup.h"
#include "select/select.h"
#include "session/cpus.h"
#include "session/verbs.h"

/* Names of tasks that a flight recorder keeps after they ended, 4 MB: it runs for months. */
#define FLIGHT_NAMES 16384

/* ---- the host, the output, the functions ---- */

/* The times of events are the host's. */
static int find_clock(void)
{
	int err = host_find_clock("/proc");

	if (!err)
		return 0;
	if (err == -EXDEV) {
		log_error(
			"cannot tell the host's clock: this process is in another time namespace than its children");
		log_hint("start it as a child: unshare --time --fork");
	} else {
		log_error("cannot tell the host's clock: /proc/self/timens_offsets: %s",
			  strerror(-err));
		log_hint("run it in the host's time namespace");
	}
	return err;
}

static int read_host(struct session *ses)
{
	int err = find_clock();

	if (err)
		return err;
	host_release(ses->release, sizeof(ses->release));
	wants_host(ses->opts, ses->node, sizeof(ses->node));
	ses->cpu_cnt = host_cpu_cnt();
	if (ses->cpu_cnt < 0) {
		log_error("cannot read the CPUs of this host: %s", strerror(-ses->cpu_cnt));
		return ses->cpu_cnt;
	}
	if (cpus_check(ses->opts))
		return 0;
	ses->fail_status = EXIT_STATUS_USAGE;
	return -EINVAL;
}

static int open_output(struct session *ses)
{
	int err;

	if (ses->opts->verb == VERB_RECORD)
		return 0;
	err = output_open(&ses->output, ses->opts->output_path, signals_stop_cnt);
	if (err)
		return err;
	ses->output.file.is_held = true;
	ses->output.file.wait_ms = 0;
	if (!format_is_binary(ses->opts->format))
		output_rows(&ses->output);
	return 0;
}

static int make_scope(struct session *ses)
{
	return taskscope_new(&ses->scope, ses->opts);
}

static int choose_funcs(struct session *ses)
{
	struct select_rules rules;
	int err = verbs_rules(&rules, ses->opts, &ses->facts);

	if (!err)
		err = select_funcs(&ses->functab, &rules, ses->facts.kbtf, ses->facts.ksyms);
	verbs_rules_release(&rules);
	if (!err)
		err = start_setup_check(ses->opts, &ses->functab);
	if (err == -ENOENT)
		ses->fail_status = EXIT_STATUS_NOTHING;
	return err;
}

static int read_types(struct session *ses)
{
	struct details_want want = wants_details(ses->opts);
	int err = verbs_srcline(&ses->srcline, ses->opts);

	srcline_running(ses->srcline);
	want.srcline = ses->srcline;
	if (!err)
		err = details_init(&ses->details, &want, ses->facts.ksyms);
	if (!err)
		err = details_funcs(&ses->details, &ses->functab, ses->facts.kbtf);
	if (err)
		return err;
	err = start_setup_check_filter(ses->opts, &ses->functab, ses->details.protos);
	if (err)
		ses->fail_status = EXIT_STATUS_NOTHING;
	return err;
}

static int read_facts(struct session *ses)
{
	return facts_open(&ses->facts, true);
}

static int check_kernel(struct session *ses)
{
	const struct kernel_ids ids = kernel_ids_find(ses->facts.kbtf);

	return attach_plan_check_kernel(ses->facts.ksyms, &ids);
}

/* A kernel with PREEMPT_RT may be none that can be traced. */
static int check_rt(struct session *ses)
{
	const struct rt_facts facts = {
		.is_rt = rt_is_kernel(),
		.has_fetching_atomics = probe_fetching_atomics(),
		.has_sleeping_ringbuf = rt_has_sleeping_ringbuf(ses->facts.kbtf),
		.has_packets = taskscope_has_packets(ses->scope),
	};
	const char *hint;
	const char *obstacle = rt_obstacle(&facts, &hint);

	if (!obstacle)
		return 0;
	log_error("%s", obstacle);
	log_hint("%s", hint);
	return -EOPNOTSUPP;
}

/* ---- the path of an event ---- */

static void refill_comms(void *ctx)
{
	struct session *ses = ctx;

	bpfobj_names(&ses->bpfobj);
}

/* /proc has other ids if we are in a pid namespace. */
static size_t read_name(void *ctx, uint32_t tid, char comm[COMMS_BYTES])
{
	const struct session *ses = ctx;
	uint32_t id = taskscope_proc_id(ses->scope, tid);

	return id ? comms_read_proc(NULL, id, comm) : 0;
}

static uint32_t read_process(void *ctx, uint32_t tid)
{
	const struct session *ses = ctx;
	uint32_t id = taskscope_proc_id(ses->scope, tid);
	uint32_t tgid = id ? comms_read_proc_process(NULL, id) : 0;

	return tgid ? taskscope_tid_in_proc(ses->scope, tgid) : 0;
}

static int make_comms(struct session *ses)
{
	const struct comms_source source = {
		.read = read_name,
		.read_process = read_process,
		.refill = refill_comms,
		.ctx = ses,
		/* segments have the names of their tasks: a flight recorder asks for them at once */
		.past_max = ses->opts->ring_bytes ? FLIGHT_NAMES : 0,
	};

	return comms_new(&ses->comms, &source);
}

static int make_gate(struct session *ses)
{
	return start_setup_new(&ses->starts, &ses->start_kinds, ses->opts, &ses->functab);
}

static int gate_feed(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		     size_t *out_cnt)
{
	return starts_feed(ctx, events, cnt, out, out_cnt);
}

/* What readers of a recording may want to know of this run. */
static int note_options(struct session *ses)
{
	struct recfile_made *made = &ses->made;
	struct strbuf text = { 0 };
	int err = 0;

	optwords_text(&text, ses->opts);
	strbuf_char(&text, '\0');
	if (strbuf_ok(&text))
		snprintf(made->options, sizeof(made->options), "%s", text.ptr);
	else
		err = -ENOMEM;
	strbuf_release(&text);
	snprintf(made->node, sizeof(made->node), "%s", ses->node);
	made->shown = graphopts_shown(ses->opts);
	return err;
}

static int make_sink(struct session *ses)
{
	const struct sink_recording_config recording = {
		.opts = ses->opts,
		.functab = &ses->functab,
		.details = &ses->details,
		.comms = ses->comms,
		.made = &ses->made,
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
	};

	if (ses->opts->verb == VERB_RECORD) {
		int err = note_options(ses);

		if (err)
			return err;
		err = ses->opts->ring_bytes ? sink_flight_new(&ses->sink, &recording)
					    : sink_recording_new(&ses->sink, &recording);
		if (err == -ENOMSG)
			ses->fail_status = EXIT_STATUS_NOTHING;
		return err;
	}
	return sink_open(&ses->sink, ses->opts, &ses->output);
}

static int make_pipeline(struct session *ses)
{
	const struct pipeline_config config = {
		.facts = &ses->trace_facts,
		.functab = &ses->functab,
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
		.depth_max = ses->opts->graph_depth,
		.holds_packets = taskscope_has_packets(ses->scope),
		.gate = { .feed = ses->starts ? gate_feed : NULL, .ctx = ses->starts },
		.comms = ses->comms,
		.details = &ses->details,
		.sink = ses->sink,
	};

	ses->trace_facts = trace_facts_of_host((uint32_t)ses->cpu_cnt, ses->release);
	ses->trace_facts.real_offset_ns = host_real_ns() - host_time_ns();
	ses->trace_facts.node = ses->node;
	ses->events = malloc(BATCH_CNT * sizeof(*ses->events));
	return ses->events ? pipeline_new(&ses->pipeline, &config) : -ENOMEM;
}

/* A recording minds --max-size and --rotate itself. */
static int limit_output(struct session *ses)
{
	const struct opts *opts = ses->opts;

	if (opts->verb == VERB_RECORD || (!opts->max_bytes && !opts->rotate_bytes))
		return 0;
	return output_limit(&ses->output, opts->max_bytes, opts->rotate_bytes, opts->rotate_cnt);
}

void session_task(void *ctx, const struct nfg_task_seen *seen)
{
	struct session *ses = ctx;

	taskscope_take(ses->scope, &ses->bpfobj, seen);
	if (seen->task.kind != NFG_TASK_FOUND || ses->bpfobj.config.wants_places)
		pipeline_task(ses->pipeline, seen);
}

/* ---- the kernel's side ---- */

static int apply_scope(struct session *ses)
{
	const struct opts *opts = ses->opts;

	for (uint32_t cpu = 0; opts->has_cpus && cpu < (uint32_t)ses->cpu_cnt; cpu++) {
		if (!cpu_set_list_has(&opts->cpus, cpu))
			rings_mute(&ses->bpfobj.rings, cpu);
	}
	return taskscope_apply(ses->scope, &ses->bpfobj,
			       ses->has_child ? (uint32_t)ses->child.pid : 0);
}

/* Nobody waits for minutes without having asked for it. */
static int check_time(struct session *ses)
{
	const struct attach_shares shares =
		attach_plan_shares(&ses->bpfobj.plan, &ses->bpfobj.config.want,
				   start_setup_cnt(ses->opts, &ses->functab));
	char why[ATTACH_MINUTES_TEXT];

	if (!verbs_attach_is_long(ses->opts, &shares, why, sizeof(why)))
		return 0;
	log_error("%s", why);
	log_hint(
		"a fast host needs less time: --max-funcs %zu attaches them all; a pattern such as -T 'tcp_*' attaches fewer",
		shares.func_cnt);
	ses->fail_status = EXIT_STATUS_USAGE;
	return -E2BIG;
}

static int attach(struct session *ses)
{
	return attach_new(&ses->attach, &ses->bpfobj, &ses->functab, signals_stop_cnt);
}

static int make_limits(struct session *ses)
{
	const struct opts *opts = ses->opts;
	const struct rings *rings = &ses->bpfobj.rings;
	int err = 0;

	if (!ses->sums_up)
		err = overhead_init(&ses->overhead, opts, &ses->functab, &ses->bpfobj);
	/* IRQ_STACK_SIZE of x86-64 is THREAD_SIZE; no type tells it on arm64 */
	if (!err)
		err = stackwatch_init(&ses->stackwatch,
				      kbtf_struct_bytes(ses->facts.kbtf, "irq_stack"),
				      rings->cpu_cnt);
	if (!err && opts->max_events_sec)
		err = throttle_init(&ses->throttle, opts->max_events_sec, rings->cpu_cnt,
				    BATCH_CNT);
	return err;
}

static int find_tasks(struct session *ses)
{
	return bpfobj_find_tasks(&ses->bpfobj);
}

int session_setup(struct session *ses)
{
	static int (*const steps[])(struct session * ses) = {
		read_host,
		session_find_command,
		session_find_user,
		open_output,
		session_fork_command,
		make_scope,
		read_facts,
		check_kernel,
		choose_funcs,
		read_types,
		check_rt,
		make_comms,
		make_gate,
		make_sink,
		make_pipeline,
		limit_output,
		session_load,
		check_time,
		apply_scope,
		attach,
		make_limits,
		find_tasks,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !err; i++)
		err = steps[i](ses);
	if (!err)
		session_drop_privileges(ses);
	return !err && *signals_stop_cnt ? -EINTR : err;
}
