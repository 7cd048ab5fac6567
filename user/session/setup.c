#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/attach_plan.h"
#include "attach/calibrate.h"
#include "attach/detaching.h"
#include "base/arch.h"
#include "base/child.h"
#include "base/host.h"
#include "base/log.h"
#include "base/privdrop.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "filter/shown.h"
#include "format/droprules.h"
#include "kernel/probe.h"
#include "kernel/release.h"
#include "kernel/sleep.h"
#include "options/explainopts.h"
#include "options/graphopts.h"
#include "options/opts.h"
#include "options/refuse.h"
#include "report/keycheck.h"
#include "report/pipeline.h"
#include "select/list.h"
#include "select/select.h"
#include "session/filewords.h"
#include "session/live.h"
#include "session/plan.h"

/* A live trace from the command line to attached programs: session_setup goes through steps in order. */

/* ---- the host ---- */

/* Find the host's clock: events have its times. */
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

static int setup_read_host(struct session *ses)
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
	return cpus_check(ses->opts) ? 0 : VERDICT_USAGE;
}

/* ---- the command ---- */

#define FUNC_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_*?[]"

/* @err: the error of execvp, or the one that it would give. */
static enum verdict cannot_run(const struct opts *opts, int err)
{
	log_error("cannot run '%s': %s", opts->command[0], strerror(-err));
	return err == -ENOENT ? VERDICT_NOT_FOUND : VERDICT_NOT_RUN;
}

/* A minus in an expression stands before a number or a blank. */
static bool is_option(const char *word)
{
	return word[0] == '-' && (word[1] == '-' || isalpha((unsigned char)word[1]));
}

/*
 * If the expression of --packet was not quoted, its second word became the command: say so. Return: whether it was
 * said.
 */
static bool hint_quotes(const struct opts *opts)
{
	struct strbuf text = { 0 };
	char **word = opts->words;

	while (*word && word != opts->command)
		word++;
	if (!opts->packet.insn_cnt || word < opts->words + 2 || strcmp(word[-2], "--packet") != 0)
		return false;
	for (word--; *word && !is_option(*word); word++)
		strbuf_printf(&text, "%s%s", text.len ? " " : "", *word);
	filewords_hint("the expression needs quotes: --packet ", strbuf_cstr(&text), "");
	strbuf_release(&text);
	return true;
}

/* Names of commands seldom have an underscore, and never a wildcard. */
static bool looks_like_func(const char *word)
{
	return strpbrk(word, "_*") && !word[strspn(word, FUNC_LETTERS)];
}

static void hint_command(const struct opts *opts)
{
	const char *word = opts->command[0];
	const char *foreign = foreign_text(FOREIGN_COMMAND, word);
	const char *near = suggest_of(word, opts_verb_name);
	const bool is_verb = opts_verb_of(word) != VERB_TRACE;

	if (filewords_is_trace(word))
		filewords_hint(opts->verb == VERB_PROFILE ? "netfgraph profile --input "
							  : "netfgraph report ",
			       word, " reads a text");
	else if (filewords_is_plain(word))
		filewords_hint("it has no execute permission, which chmod +x ", word, " gives it");
	else if ((opts->has_callers && !opts->callers_of) ||
		 (opts->has_callees && !opts->callees_of))
		filewords_hint("--callers and --callees take a GLOB after '=': --callers=", word,
			       "");
	else if (foreign)
		log_hint("%s", foreign);
	else if (hint_quotes(opts))
		return;
	else if (is_verb)
		log_hint(
			"%s is a verb, and stands once, in front; a COMMAND of that name needs its path",
			word);
	else if (*near)
		log_hint("did you mean 'netfgraph %s'?", near);
	else if (looks_like_func(word))
		log_hint("if that is a function: -T '%s'", word);
	else
		log_hint("give the path of a COMMAND that is not in PATH");
}

/* The error with which exec would refuse @path, as far as that is certain; else 0. */
static int exec_obstacle(const char *path)
{
	struct stat st;

	if (filewords_is_plain(path))
		return -EACCES;
	return !stat(path, &st) && S_ISDIR(st.st_mode) ? -EISDIR : 0;
}

/* A missing command is reported before the functions are attached. */
static int find_command(struct session *ses)
{
	const struct opts *opts = ses->opts;
	enum verdict verdict;
	int err = filewords_check(ses->opts);

	if (err || !opts->command)
		return err;
	err = child_find(opts->command[0]);
	if (!err && strchr(opts->command[0], '/'))
		err = exec_obstacle(opts->command[0]);
	if (!err)
		return 0;
	verdict = cannot_run(opts, err);
	hint_command(opts);
	return verdict;
}

static int setup_find_user(struct session *ses)
{
	return ses->opts->user ? runas_find(&ses->runas, ses->opts->user) : 0;
}

/* Fork before any BPF descriptor exists: a child with one would keep the probes alive. */
static int fork_command(struct session *ses)
{
	const struct opts *opts = ses->opts;
	int err;

	if (!opts->command)
		return 0;
	err = child_fork(&ses->child, opts->command, opts->user ? &ses->runas : NULL);
	ses->has_child = !err;
	if (err)
		log_error("cannot fork: %s", strerror(-err));
	return err;
}

/* A user who typed sudo for the trace may not have meant the command. */
static void say_who_runs(const struct opts *opts)
{
	const char *caller = runas_told_by_sudo();

	if (opts->user)
		log_info("'%s' runs as %s", opts->command[0], opts->user);
	else if (caller)
		log_warn("'%s' runs as root; --user %s runs it as you", opts->command[0], caller);
}

int session_start_command(struct session *ses)
{
	int err;

	if (!ses->has_child)
		return 0;
	say_who_runs(ses->opts);
	err = child_start(&ses->child);
	if (!err)
		return taskscope_command_runs(ses->scope, (uint32_t)ses->child.pid);
	/* Ctrl-C may have ended the process that waited to become the command */
	if (*signals_stop_cnt)
		return -EINTR;
	return cannot_run(ses->opts, err);
}

/* ---- the output, the functions ---- */

static int open_ready(struct session *ses)
{
	return ready_open(&ses->ready, ses->opts);
}

static int open_output(struct session *ses)
{
	int err;

	if (ses->opts->verb == VERB_RECORD)
		return 0;
	err = output_open_held(&ses->output, ses->opts->output_path, signals_stop_cnt);
	if (err)
		return err;
	ses->output.file.wait_ms = 0;
	if (!format_traits(ses->opts->format)->is_binary)
		output_rows(&ses->output);
	return 0;
}

static int make_scope(struct session *ses)
{
	return taskscope_new(&ses->scope, ses->opts);
}

static int read_facts(struct session *ses)
{
	return facts_open(&ses->facts, true);
}

static int check_memory(struct session *ses)
{
	host_memory_left("/proc", "/sys/fs/cgroup", &ses->memory);
	return plan_check_memory(ses->opts, &ses->memory, 0);
}

static int check_kernel(struct session *ses)
{
	const struct kernel_ids ids = kernel_ids_find(ses->facts.kbtf);

	return attach_plan_check_kernel(ses->facts.ksyms, &ids);
}

static int setup_choose_funcs(struct session *ses)
{
	struct select_rules rules;
	int err = plan_rules(&rules, ses->opts, &ses->facts);

	if (ses->opts->learn_ns)
		rules.graph = &ses->graph;
	if (!err)
		err = select_funcs(&ses->functab, &rules, ses->facts.kbtf, ses->facts.ksyms);
	plan_rules_release(&rules);
	if (!err && progwatch_follows(ses->opts))
		err = progwatch_make_room(&ses->functab);
	if (!err)
		err = start_setup_check(ses->opts, &ses->functab);
	if (!err && ses->opts->follows && !bpfobj_can_follow(ses->facts.kbtf, ses->facts.ksyms))
		err = VERDICT_NOTHING;
	return err;
}

/* Tables by key have lengths of packets where these cost no calls, or are asked for. */
static int forgo_lengths(struct session *ses)
{
	if (!plan_forgoes_lengths(ses->opts, &ses->facts, &ses->functab))
		return 0;
	ses->lean_opts = *ses->opts;
	ses->lean_opts.shown = NULL;
	ses->opts = &ses->lean_opts;
	(log_verbosity() > 0 ? log_info : log_note)(
		"BYTES is without the lengths of packets: calls may be missed for them on this kernel; --sort bytes reads them");
	return 0;
}

/* Whether a table by key can have a row: it is known before the trace. */
static int check_keys(const struct session *ses)
{
	const struct keycheck check = {
		.functab = &ses->functab,
		.points = &ses->points,
		.protos = ses->details.protos,
		.members = ses->details.members,
		.point_protos = ses->details.points,
		.counts_points = ses->opts->counts_points,
	};

	return keycheck_say(&check, ses->opts, ses->facts.ksyms);
}

static int read_types(struct session *ses)
{
	struct details_want want = wants_details(ses->opts);
	int err = plan_srcline(&ses->srcline, ses->opts);

	srcline_running(ses->srcline);
	want.srcline = ses->srcline;
	if (!err)
		err = details_init(&ses->details, &want, ses->facts.ksyms);
	if (!err)
		err = details_funcs(&ses->details, &ses->functab, ses->facts.kbtf);
	if (!err && ses->points.cnt)
		err = plan_point_fields(&ses->tracepoints, &ses->facts, ses->details.points);
	if (!err && wants_sleeps(ses->opts))
		err = sleep_fields(ses->details.points);
	if (!err)
		err = start_setup_check_members(ses->opts, ses->details.protos);
	if (!err)
		err = start_setup_check_tests(ses->opts, &ses->functab, ses->details.protos,
					      ses->facts.kbtf);
	if (!err && !progwatch_follows(ses->opts))
		err = check_keys(ses);
	return err ? err
		   : start_setup_check_filter(ses->opts, &ses->functab, ses->details.protos,
					      ses->facts.kbtf);
}

/* The tracepoints of -e, and after them those of sleeps. */
static int choose_points(struct session *ses)
{
	const struct tracepoint_list *list = &ses->tracepoints;
	const uint32_t sleep_cnt = wants_sleeps(ses->opts) ? NFG_SLEEP_KINDS : 0;
	int err = plan_points(&ses->tracepoints, ses->opts, &ses->facts);

	if (err || !(list->cnt + sleep_cnt))
		return err;
	ses->points.points = calloc(list->cnt + sleep_cnt, sizeof(*ses->points.points));
	if (!ses->points.points)
		return -ENOMEM;
	for (uint32_t i = 0; i < sleep_cnt; i++)
		ses->points.points[list->cnt + i] = sleep_point(i);
	for (size_t i = 0; i < list->cnt; i++)
		ses->points.points[i] =
			(struct point){ .name = text_from(list->items[i].name),
					.system = text_from(list->items[i].system) };
	ses->points.cnt = list->cnt + sleep_cnt;
	return 0;
}

/* Some kernels with PREEMPT_RT cannot be traced. */
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

/* A flight recorder keeps the names of this many ended tasks, in 4 MB: it runs for months. */
#define FLIGHT_NAMES 16384

static int make_comms(struct session *ses)
{
	const struct comms_source source = {
		.read = read_name,
		.read_process = read_process,
		.refill = refill_comms,
		.ctx = ses,
		/* each segment of a flight recorder has the names of its tasks: it seldom needs old ones */
		.past_max = ses->opts->ring_bytes ? FLIGHT_NAMES : 0,
	};

	return comms_new(&ses->comms, &source);
}

/* Index, plus one, of the tracepoint of drops, where they are recorded outside start functions, too; 0: they are not. */
static uint32_t free_point_of(const struct session *ses)
{
	const struct tracepoint_list *list = &ses->tracepoints;

	if (!ses->opts->starts_of_when || !ses->opts->drops_by_point)
		return 0;
	for (size_t i = 0; i < list->cnt; i++) {
		if (explainopts_is_drops_point(list->items[i].system, list->items[i].name))
			return (uint32_t)i + 1;
	}
	return 0;
}

static int make_gate(struct session *ses)
{
	const uint32_t free_point = free_point_of(ses);
	int err = start_setup_new(&ses->starts, &ses->start_kinds, ses->opts, &ses->functab,
				  &ses->made.cost);

	if (!err && ses->starts && free_point)
		starts_let_point(ses->starts, free_point - 1);
	return err;
}

static int gate_feed(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		     size_t *out_cnt)
{
	return starts_feed(ctx, events, cnt, out, out_cnt);
}

/* Note facts of this run that readers of the recording may want to know. */
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
		.points = &ses->points,
		.details = &ses->details,
		.comms = ses->comms,
		.made = &ses->made,
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
	};

	if (ses->opts->verb == VERB_RECORD) {
		int err = note_options(ses);

		if (err)
			return err;
		return ses->opts->ring_bytes ? sink_flight_new(&ses->sink, &recording)
					     : sink_recording_new(&ses->sink, &recording);
	}
	return sink_open(&ses->sink, ses->opts, &ses->output);
}

static int make_pipeline(struct session *ses)
{
	const struct pipeline_config config = {
		.facts = &ses->trace_facts,
		.functab = &ses->functab,
		.points = &ses->points,
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
		.depth_max = ses->opts->graph_depth,
		.cost = &ses->made.cost,
		.holds_packets = taskscope_has_packets(ses->scope),
		.gate = { .feed = ses->starts ? gate_feed : NULL, .ctx = ses->starts },
		.comms = ses->comms,
		.details = &ses->details,
		.sink = ses->sink,
	};

	ses->trace_facts = trace_facts_of_host((uint32_t)ses->cpu_cnt, ses->release);
	ses->trace_facts.real_offset_ns = host_real_offset_ns();
	ses->trace_facts.node = ses->node;
	ses->trace_facts.functab = &ses->functab;
	ses->trace_facts.cost = &ses->made.cost;
	ses->events = malloc(BATCH_CNT * sizeof(*ses->events));
	return ses->events ? pipeline_new(&ses->pipeline, &config) : -ENOMEM;
}

/* A recording applies --max-size and --rotate itself. */
static int limit_output(struct session *ses)
{
	const struct opts *opts = ses->opts;

	if (opts->verb == VERB_RECORD || (!opts->max_bytes && !opts->rotate_bytes))
		return 0;
	return output_limit(&ses->output, opts->max_bytes, opts->rotate_bytes, opts->rotate_cnt);
}

/* A task that was found, got a name, ended or moved. */
static void on_task(void *ctx, const struct nfg_task_seen *seen)
{
	struct session *ses = ctx;

	taskscope_take(ses->scope, &ses->bpfobj, seen);
	if (seen->task.kind != NFG_TASK_FOUND || ses->bpfobj.config.wants_places)
		pipeline_task(ses->pipeline, seen);
}

/* ---- the kernel's side ---- */

/*
 * Set the address of the preemption counter, for programs that do not ask BTF for the variable. Return: whether it is
 * known.
 */
static bool find_by_address(const struct session *ses, struct bpfobj_config *config)
{
	const uint32_t in_var = config->want.ids.preempt_var_offset;
	const char *var = in_var ? "pcpu_hot" : "__preempt_count";
	const uint64_t area = ksyms_addr(ses->facts.ksyms, "__per_cpu_offset");
	const uint64_t offset = ksyms_addr(ses->facts.ksyms, var);

	/* such programs do not load under lockdown in confidentiality mode */
	if (policy_is_confidential() || !area || !offset)
		return false;
	config->want.ids.preempt_var = 0;
	config->cfg.has_preempt_var = 0;
	config->cfg.per_cpu_offset_addr = area;
	config->cfg.preempt_count_offset = offset + in_var;
	return true;
}

/*
 * For each program that names a per-CPU variable the kernel goes through all of its types (find_btf_percpu_datasec in
 * kernel/bpf/verifier.c). That takes 4 of the 29 ms that a function takes to attach on 6.1. Reading the counter by
 * address takes longer, so programs that read it for calls in scope name the variable.
 */
static bool saves_naming(const struct session *ses, const struct bpfobj_config *config)
{
	return ses->opts->irqs && !config->cfg.scope_packets && !attach_is_fast(&config->want);
}

/* Decide how programs find the preemption counter. Return: 0, or -EPERM, already logged. */
static int find_preempt_count(const struct session *ses, struct bpfobj_config *config)
{
	char why[64] = "lockdown is in confidentiality mode";

	config->cfg.has_preempt_var = config->want.ids.preempt_var != 0;
	if (arch_host()->has_task_preempt_cnt ||
	    (config->cfg.has_preempt_var && !saves_naming(ses, config)))
		return 0;
	if (find_by_address(ses, config) || ses->opts->irqs || config->cfg.has_preempt_var)
		return 0;
	if (!policy_is_confidential())
		policy_hidden_addresses(why, sizeof(why));
	log_error("--graph-opts noirqs: this kernel's interrupt counter cannot be read: %s", why);
	log_hint("run it with sudo, or leave noirqs out");
	return -EPERM;
}

/* Whether the kernel sums calls up, and the tables that this takes. */
static bool plan_sums(const struct session *ses, struct kprofile_plan *plan)
{
	const struct kprofile_host host = {
		.cpu_cnt = (uint32_t)ses->cpu_cnt,
		.has_fetching_atomics = probe_fetching_atomics(),
	};
	const struct kprofile_want want =
		wants_kprofile(ses->opts, taskscope_has_packets(ses->scope));
	const char *why;

	if (ses->opts->verb != VERB_PROFILE && ses->opts->verb != VERB_LATENCY)
		return false;
	why = kprofile_plan(plan, &want, (uint32_t)functab_max(&ses->functab), &host);
	if (why)
		log_info("every call is sent to user space: %s", why);
	else
		log_info("summed up in the kernel: %" PRIu64 " KiB for %u functions in %u tables "
			 "(%u CPUs) and %u tasks",
			 kprofile_bytes(plan) >> 10, plan->func_cnt, plan->table_cnt, plan->cpu_cnt,
			 plan->task_cnt);
	return !why;
}

/*
 * Whether to record interrupts inside programs (bpf/irq.bpf.h). Since rcu_read_lock_dont_migrate() (6.18) programs
 * disable migration only if a task in an RCU section may be preempted.
 */
static bool follows_irqs(const struct session *ses)
{
	if (release_has(RELEASE_LEAVES_MIGRATION_ON) &&
	    !kbtf_member_type(ses->facts.kbtf, "task_struct", "rcu_read_lock_nesting")) {
		log_info("this kernel does not show which interrupts arrive inside programs");
		return false;
	}
	return !rt_is_kernel();
}

/* For cfg.drops: before 5.18 all reasons are of drops, and SKB_CONSUMED came with 6.3. */
static uint32_t drops_of(const struct session *ses)
{
	static const char *const none[] = { "SKB_NOT_DROPPED_YET", "SKB_CONSUMED" };
	uint32_t none_cnt = 0;
	bool only_drops = false;

	for (size_t i = 0; i < ses->functab.cnt; i++)
		only_drops |= ses->functab.funcs[i].only_drops;
	while (none_cnt < ARRAY_SIZE(none) &&
	       kbtf_has_enumerator(ses->facts.kbtf, KBTF_DROP_REASON, none[none_cnt]))
		none_cnt++;
	return only_drops ? none_cnt + 1 : 0;
}

/* The configuration of the programs, except for sums. */
static struct nfg_cfg cfg_of(const struct session *ses)
{
	const struct opts *opts = ses->opts;
	struct nfg_cfg cfg = {
		.want_values = wants_values(opts),
		.skip_hardirq = !opts->irqs,
		.by_cpu = opts->has_cpus,
		.drops = drops_of(ses),
		.free_point = free_point_of(ses),
	};

	start_setup_configure(opts, &cfg);
	if (wants_sleeps(opts))
		cfg.sleep_point = (uint32_t)ses->tracepoints.cnt + 1;
	if (opts->follows)
		bpfobj_follow_configure(&cfg, &ses->functab);
	taskscope_configure(ses->scope, &cfg);
	return cfg;
}

/* Functions that have fentry and fexit, although the others have not: BPF programs, start functions, those with members. */
static size_t pair_func_cnt(const struct session *ses)
{
	const struct bpfobj *obj = &ses->bpfobj;
	const struct attach_plan *plan = &obj->plan;
	size_t cnt = 0;

	for (size_t i = 0; plan->mode != ATTACH_PAIR && i < ses->functab.cnt; i++) {
		const struct func *func = &ses->functab.funcs[i];

		if (func->prog_id)
			cnt += plan->progs == ATTACH_PAIR;
		else if (plan->fallback == ATTACH_PAIR)
			cnt += bpfobj_needs_own(obj, func, i) ||
			       (plan->starts_by_pair && bpfobj_is_start(obj, func));
	}
	return cnt;
}

/* Tell the attach mode to the user, and to a recording's readers. */
static void tell_mode(struct session *ses)
{
	const struct attach_way *way = attach_way(ses->bpfobj.plan.mode);
	const size_t pair_cnt = pair_func_cnt(ses);
	char *by = ses->made.attach;
	int len = snprintf(by, sizeof(ses->made.attach), "%s: %s", way->link, way->programs);

	if (pair_cnt && len < (int)sizeof(ses->made.attach))
		snprintf(by + len, sizeof(ses->made.attach) - (size_t)len,
			 ", but fentry and fexit for %zu of %zu", pair_cnt, ses->functab.cnt);
	log_info("attaching by %s", by);
}

static uint64_t ustack_taken(void *ctx, uint64_t taken, uint64_t mm)
{
	return stacknamer_take(ctx, taken, mm);
}

static uint32_t ustack_proc_id(void *ctx, uint32_t tgid)
{
	return taskscope_proc_id(ctx, tgid);
}

/*
 * The names of user stacks are found while the rings are read, by a process that must not have BPF descriptors: they
 * would keep the programs attached.
 */
static int make_stacknamer(struct session *ses, struct rings_ustack *ustack)
{
	const struct stacknamer_config config = {
		.stacks = ses->details.ustacks,
		.proc = "/proc",
		.stack = bpfobj_user_stack,
		.stack_ctx = &ses->bpfobj,
		.proc_id = ustack_proc_id,
		.proc_id_ctx = ses->scope,
	};
	int err;

	if (!ses->details.ustacks)
		return 0;
	err = stacknamer_new(&ses->stacknamer, &config);
	if (err && err != -ENOMEM)
		log_error("cannot start the process that names user stacks: %s", strerror(-err));
	*ustack = (struct rings_ustack){ .take = ustack_taken, .ctx = ses->stacknamer };
	return err;
}

static int begin_find(struct session *ses)
{
	ses->find_begin_ns = host_time_ns();
	return 0;
}

/* From here on somebody who waits wonders why. */
#define LONG_LOAD_US 5000000

/* Nothing else is said while programs are loaded, which takes long on a slow host. */
static int tell_load(struct session *ses)
{
	const uint64_t find_us = (host_time_ns() - ses->find_begin_ns) / 1000;
	const uint64_t load_us = list_load_us(find_us, wants_sleeps(ses->opts));

	if (load_us > LONG_LOAD_US)
		log_begin("loading programs may take %" PRIu64 " s", (load_us + 500000) / 1000000);
	return 0;
}

static int load_programs(struct session *ses)
{
	struct bpfobj_config config = {
		.cfg = cfg_of(ses),
		.want = plan_attach_want(ses->opts, &ses->facts, &ses->functab),
		.kb = ses->facts.kbtf,
		.ks = ses->facts.ksyms,
		.call_filter = ses->opts->filter,
		.shown = ses->opts->shown,
		.protos = ses->details.protos,
		.packet_filter = ses->opts->packet.insn_cnt ? &ses->opts->packet : NULL,
		.values = ses->details.values,
		.want_switches = ses->opts->nosleep_time,
		.buffer_bytes = ses->opts->buffer_bytes,
		.follows_irqs = follows_irqs(ses),
		.has_points = ses->points.cnt != 0,
		.begins_at_exec = taskscope_begins_at_exec(ses->opts),
	};
	int err = policy_refuses_ftrace() ? -EPERM : find_preempt_count(ses, &config);

	config.want.sums_up = plan_sums(ses, &config.sums);
	config.wants_places =
		!config.want.sums_up && (ses->sink->wants_process || ses->sink->ops->events);
	if (config.want.sums_up) {
		config.cfg.sum_up = 1;
		config.cfg.want_callers = config.sums.caller_cnt > 0;
		config.buffer_bytes = NFG_REC_CNT_MIN * sizeof(struct nfg_rec); /* unused */
	}
	if (!err)
		err = make_stacknamer(ses, &config.ustack);
	if (!err)
		err = bpfobj_load(&ses->bpfobj, &config);
	if (!err && config.cfg.sum_up)
		err = kprofile_open(&ses->kprofile, ses->bpfobj.skel, &config.sums);
	if (!err && config.cfg.want_values & NFG_WANT_STACK)
		retaddr_follow(ses->details.callers, bpfobj_stack, &ses->bpfobj);
	ses->sums_up = !err && config.cfg.sum_up;
	if (ses->sums_up && ses->opts->interval_ns)
		err = kprofile_keep(&ses->kprofile);
	if (!err)
		tell_mode(ses);
	if (!err)
		err = bpfobj_follow(&ses->bpfobj, on_task, ses);
	if (!err)
		err = points_attach(&ses->point_links, &ses->bpfobj, &ses->tracepoints);
	if (!err)
		err = switches_attach(&ses->switches, &ses->bpfobj, ses->facts.kbtf);
	return err;
}

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

/* Whether the attach mode allows windows (--duty). */
static int check_windows(struct session *ses)
{
	if (!ses->opts->duty_pct || attach_is_shared(ses->bpfobj.plan.mode))
		return 0;
	log_error(
		"--duty: each function gets programs of its own here, and these attach too slowly");
	log_hint(
		"--attach multi, kprobe or kprobes is needed; 'netfgraph check' shows which of them this kernel has");
	return -EOPNOTSUPP;
}

/* @why: "...: ", printed before the option that attaches them all the same. */
static enum verdict refuse_many(size_t func_cnt, const char *why)
{
	log_hint("%s--max-funcs %zu attaches them all; a pattern such as -T 'tcp_*' attaches fewer",
		 why, func_cnt);
	return VERDICT_USAGE;
}

/* Refuse to attach for minutes unless the user asked for it, and without memory for the programs. */
static int check_time(struct session *ses)
{
	const struct attach_shares shares =
		attach_plan_shares(&ses->bpfobj.plan, &ses->bpfobj.config.want,
				   plan_filter_cnt(ses->opts, &ses->functab));
	char why[ATTACH_MINUTES_TEXT];

	if (!plan_attach_is_long(ses->opts, &shares, why, sizeof(why)))
		return plan_check_memory(ses->opts, &ses->memory, plan_program_bytes(&shares));
	log_error("%s", why);
	return refuse_many(shares.func_cnt, "a fast host needs less time: ");
}

/* Refuse to trace most of the kernel unless the user asked for it. */
static int check_number(struct session *ses)
{
	if (!plan_are_too_many(ses->opts, ses->functab.cnt))
		return 0;
	log_error(
		"%zu functions are most of the kernel: each of their calls would cost every task on the host",
		ses->functab.cnt);
	return refuse_many(ses->functab.cnt, "");
}

/* What sends again is most often a timer, in a softirq on whatever task has the CPU. */
static void hint_retransmit(const struct opts *opts)
{
	for (size_t i = 0; i < opts->presets.cnt && scopeopts_is_command(opts); i++) {
		if (strcmp(opts->presets.items[i], "retransmit") != 0)
			continue;
		log_hint(
			"retransmissions by timers are not traced with a COMMAND: --netns $$ traces all of this network namespace while COMMAND runs");
		break;
	}
}

/*
 * Before anything is attached, warn of the cost to tasks that are not traced, and to all of them if everything is traced with all
 * that start functions may call, or with very many functions. If only a command is traced, or everything without a start function, the cost is logged with -v
 * instead.
 */
static int forecast(struct session *ses)
{
	const struct opts *opts = ses->opts;
	const struct forecast cost =
		overhead_forecast(&ses->functab, &ses->bpfobj.plan, &ses->bpfobj.config.want);
	const bool all_are_traced = !opts->command && !scopeopts_are_given(opts);
	const uint32_t kept_pct = all_are_traced ? cost.traced_kept_pct : cost.kept_pct;
	const bool is_unbounded = (opts->graph_funcs.cnt && !opts->callee_depth) ||
				  ses->functab.cnt >= FORECAST_MANY_FUNCS;
	const bool is_warning = all_are_traced ? is_unbounded : !scopeopts_is_command(opts);
	char nearer[64] = "";

	hint_retransmit(opts);
	if (kept_pct >= FORECAST_LITTLE_PCT)
		return 0;
	(is_warning ? log_warn : log_info)(
		"%zu functions: %s that only send packets keep about %u %% of their speed%s",
		ses->functab.cnt, all_are_traced ? "tasks" : "other tasks", kept_pct,
		opts->overhead_pct >= 100 ? "" : ", until --max-overhead leaves functions out");
	if ((opts->graph_funcs.cnt || opts->presets.cnt) && !opts->callee_depth)
		snprintf(nearer, sizeof(nearer), "%s--callee-depth %d or ",
			 opts->learn_ns ? "" : "--learn 1s keeps what is called; ",
			 FORECAST_NEAR_DEPTH);
	if (is_warning)
		log_hint(
			"%s%s-T attaches fewer; 'netfgraph list --plan' shows what the same functions cost",
			all_are_traced ? "-p or --container traces fewer tasks; " : "", nearer);
	return 0;
}

/* Attaching takes longer beside a netfgraph that detaches; before that, programs are loaded, which may take as long. */
static int tell_earlier(struct session *ses)
{
	const struct attach_want want = plan_attach_want(ses->opts, &ses->facts, &ses->functab);
	struct attach_plan plan = { 0 };
	struct attach_shares shares;
	int err;

	if (!detaching_others(DETACHING_PATH, NULL).cnt)
		return 0;
	err = attach_plan_choose(&plan, &want); /* as bpfobj_load will */
	if (err)
		return err;
	shares = attach_plan_shares(&plan, &want, plan_filter_cnt(ses->opts, &ses->functab));
	detaching_tell(DETACHING_PATH, &shares);
	return 0;
}

/*
 * For net durations. It takes some milliseconds, or with programs of their own for each function as much time as two of them.
 * Return: 0, or -EOPNOTSUPP if the output would lack them, logged.
 */
static int measure_cost(struct session *ses)
{
	static const char *const names[] = { CALIBRATE_FUNC, CALIBRATE_NEXT_FUNC };
	struct netcost *cost = &ses->made.cost;
	const uint64_t begin_ns = host_time_ns();
	struct calibrate_func funcs[2];
	const char *why;

	if (!wants_net(ses->opts))
		return 0;
	for (size_t i = 0; i < 2; i++)
		funcs[i] = (struct calibrate_func){ kbtf_func_id(ses->facts.kbtf, names[i]),
						    ksyms_addr(ses->facts.ksyms, names[i]) };
	why = attach_net(&ses->cost_progs, &ses->bpfobj, &ses->functab, funcs, &ses->kprofile,
			 cost);
	ses->kprofile.cost = cost;
	if (!why) {
		log_info(
			"a traced call takes %u ns more, and its callers %u ns: +-%u (measured in %" PRIu64
			" us)",
			cost->inner_ns, cost->outer_ns, cost->error_ns,
			(host_time_ns() - begin_ns) / 1000);
		return 0;
	}
	if (ses->opts->verb != VERB_TRACE || ses->opts->format != FORMAT_TEXT) {
		log_info("no net durations: %s", why);
		return 0;
	}
	log_error("--graph-opts net: %s", why);
	log_hint("leave net out: durations then contain what tracing adds to them");
	return -EOPNOTSUPP;
}

static int attach(struct session *ses)
{
	int err = attach_new(&ses->attach, &ses->bpfobj, &ses->functab, signals_stop_cnt);

	if (!err && !bpfobj_needs_guard(&ses->bpfobj))
		switches_detach_irqs(&ses->switches);
	return err;
}

static int watch_progs(struct session *ses)
{
	const struct progwatch_config config = {
		.opts = ses->opts,
		.functab = &ses->functab,
		.facts = &ses->facts,
		.details = &ses->details,
		.start_kinds = ses->start_kinds,
		.sink = ses->sink,
		.obj = &ses->bpfobj,
		.attach = ses->attach,
		.stop_cnt = signals_stop_cnt,
	};
	const int err = progwatch_init(&ses->progwatch, &config);

	if (ses->progwatch.follows)
		ses->made.shown |= RECFILE_GROWS;
	return err;
}

/* With --show rules, a limit leaves out last what tells a table of rules. */
static void mark_asked(struct session *ses)
{
	const struct shown *shown = ses->opts->shown;

	for (size_t i = 0; shown && shown->has_facts[SHOWN_RULES] && i < ses->functab.cnt; i++) {
		struct func *func = &ses->functab.funcs[i];

		func->goes_last = droprules_whose(func->name);
	}
}

static int make_limits(struct session *ses)
{
	const struct opts *opts = ses->opts;
	const struct rings *rings = &ses->bpfobj.rings;
	struct overhead_price price;
	int err;

	price = overhead_price(&ses->bpfobj,
			       attach_call_ps(ses->attach, &ses->bpfobj,
					      kbtf_func_id(ses->facts.kbtf, CALIBRATE_FUNC),
					      ksyms_addr(ses->facts.ksyms, CALIBRATE_FUNC)));
	mark_asked(ses);
	err = overhead_init(&ses->overhead, opts, &ses->functab, &ses->bpfobj, &price);
	/* on x86-64 IRQ_STACK_SIZE equals THREAD_SIZE; on arm64 no type has that size */
	if (!err)
		err = stackwatch_init(&ses->stackwatch,
				      kbtf_struct_bytes(ses->facts.kbtf, "irq_stack"),
				      rings->cpu_cnt);
	if (!err)
		err = learner_init(&ses->learner, &ses->functab, opts->learn_ns);
	if (!err && opts->max_events_sec)
		err = throttle_init(&ses->throttle, opts->max_events_sec, rings->cpu_cnt,
				    BATCH_CNT);
	return err;
}

static int find_tasks(struct session *ses)
{
	return bpfobj_find_tasks(&ses->bpfobj);
}

/* ---- privileges that a running trace does not need ---- */

/* Until 5.18 bpf() does nothing at all without CAP_BPF where kernel.unprivileged_bpf_disabled is set. */
static bool can_sync(void *ctx)
{
	const struct session *ses = ctx;

	return !bpfobj_sync(&ses->bpfobj);
}

/* False where /proc hides the processes of others (hidepid). */
static bool can_read_names(void *ctx)
{
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	(void)ctx;
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Files are open, and closing a link takes no privilege. */
void session_drop_privileges(struct session *ses)
{
	uint64_t keep = 0;

	if (!privdrop_works(can_sync, ses))
		keep |= PRIVDROP_CAP(privdrop_has(CAP_BPF) ? CAP_BPF : CAP_SYS_ADMIN);
	if (taskscope_looks_into_processes(ses->scope) || !privdrop_works(can_read_names, ses))
		keep |= PRIVDROP_CAP(CAP_SYS_PTRACE);
	if (ses->progwatch.follows)
		keep |= PRIVDROP_CAP(CAP_SYS_ADMIN) | PRIVDROP_CAP(CAP_BPF) |
			PRIVDROP_CAP(CAP_PERFMON);
	/* files are renamed and made in a directory that may be another user's */
	if (ses->opts->rotate_bytes || ses->opts->ring_bytes || ses->sink->file->is_unnamed)
		keep |= PRIVDROP_CAP(CAP_DAC_OVERRIDE);
	privdrop(keep, true);
}

/* ---- in order ---- */

int session_setup(struct session *ses)
{
	static int (*const steps[])(struct session * ses) = {
		open_ready,   setup_read_host,    find_command,  setup_find_user, check_memory,
		open_output,  fork_command,       make_scope,    begin_find,      read_facts,
		check_kernel, setup_choose_funcs, forgo_lengths, choose_points,   read_types,
		check_rt,     make_comms,         make_gate,     make_sink,       make_pipeline,
		limit_output, tell_earlier,       tell_load,     load_programs,   check_windows,
		check_time,   check_number,       forecast,      apply_scope,     measure_cost,
		attach,       watch_progs,        make_limits,   find_tasks,
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !err; i++)
		err = steps[i](ses);
	return !err && *signals_stop_cnt ? -EINTR : err;
}
