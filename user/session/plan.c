#include "session/plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "attach/attach_plan.h"
#include "attach/bpfobj.h"
#include "attach/kprofile.h"
#include "attach/rings.h"
#include "base/arch.h"
#include "base/child.h"
#include "base/host.h"
#include "base/log.h"
#include "base/verdict.h"
#include "kernel/probe.h"
#include "options/explainopts.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "options/refuse.h"
#include "report/pipeline.h"
#include "select/presets.h"
#include "trace/trigger.h"

/* A trace refuses more functions than this without --max-funcs; -G with --all takes 12,000 on 7.2. */
#define UNASKED_FUNCS_MAX 20000
/* More tracepoints than this are worth a warning: each takes up to 60 ms to attach on an emulated CPU. */
#define POINTS_UNASKED 200
/* The limit without -T, where each function takes 26 ms to attach, and a grace period at the end. */
#define SLOW_FUNCS_MAX    300
#define SLOW_COMMON_MAX   390 /* of those that common traffic comes through: 10 s on 6.1 */
#define SLOW_UNCOMMON_MAX 460 /* the same where less is known of what runs below a start function */

static uint32_t cpu_cnt(void)
{
	int cnt = host_cpu_cnt();

	return cnt > 0 ? (uint32_t)cnt : 1;
}

static bool is_by_filter(const struct opts *opts, const struct func *func)
{
	return opts->filter && !func->prog_id && start_setup_is_start(opts, func);
}

size_t plan_filter_cnt(const struct opts *opts, const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; i < tab->cnt; i++)
		cnt += is_by_filter(opts, &tab->funcs[i]);
	return cnt;
}

size_t plan_member_cnt(const struct opts *opts, const struct functab *tab)
{
	size_t cnt = 0;

	for (size_t i = 0; opts->shown && i < tab->cnt; i++) {
		const struct func *func = &tab->funcs[i];

		cnt += !func->is_extra && !is_by_filter(opts, func) &&
		       shown_word_cnt(opts->shown, (uint32_t)i) != 0;
	}
	return cnt;
}

static bool sums_up(const struct opts *opts)
{
	return opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY;
}

struct attach_want plan_attach_want(const struct opts *opts, const struct facts *facts,
				    const struct functab *tab)
{
	return (struct attach_want){
		.mode = opts->attach_mode,
		.preemption = preemption_of(facts->kbtf, facts->ksyms),
		.has_values = wants_values(opts) != 0, /* a packet's number is one */
		.has_marks = selector_of(opts, SELECTS_BY_VALUES),
		.has_filter = opts->filter != NULL,
		.only_starts_have = selector_of(opts, SELECTS_BY_STARTS),
		.is_table = sums_up(opts),
		.sums_up = sums_up(opts),
		.in_windows = opts->duty_pct,
		.by_packet = opts->packet.insn_cnt != 0,
		.has_addresses = ksyms_addr(facts->ksyms, ATTACH_TEMPLATE_FUNC) != 0,
		.func_cnt = tab ? tab->cnt : 0,
		.func_max = tab ? functab_max(tab) : 0,
		.extra_cnt = tab ? functab_extra_cnt(tab) : 0,
		.member_cnt = tab ? plan_member_cnt(opts, tab) : 0,
		.member_option = opts->shown ? shown_option(opts->shown) : NULL,
		.prog_cnt = tab ? functab_prog_cnt(tab) : 0,
		.cpu_cnt = cpu_cnt(),
		.thread_cnt = host_thread_cnt(),
		.ids = kernel_ids_find(facts->kbtf),
	};
}

static bool has_packets(const struct functab *tab)
{
	for (size_t i = 0; i < tab->cnt; i++) {
		if (tab->funcs[i].skb_arg)
			return true;
	}
	return false;
}

bool plan_forgoes_lengths(const struct opts *opts, const struct facts *facts,
			  const struct functab *tab)
{
	const bool is_asked = opts->has_sort && opts->profile_sort == PROFILE_BY_BYTES;
	struct attach_want want;

	if (opts->by != BY_KEY || !opts->shown || shown_option(opts->shown) || is_asked ||
	    !has_packets(tab))
		return false;
	want = plan_attach_want(opts, facts, tab);
	return attach_members_cost_calls(&want);
}

/* The limit for functions that the user did not name: as many as attach in reasonable time and fit in memory. */
static size_t max_cnt(const struct opts *opts, const struct attach_want *want, bool takes_extras)
{
	size_t most;

	if (opts->max_funcs || select_replaces(opts->trace_funcs.items, opts->trace_funcs.cnt))
		return opts->max_funcs;
	if (!attach_is_fast(want))
		return SLOW_FUNCS_MAX;
	most = takes_extras ? attach_func_max(want) : SIZE_MAX;
	if (most == SIZE_MAX)
		return 0;
	return most > SLOW_FUNCS_MAX ? most : SLOW_FUNCS_MAX;
}

/* How widely to search for the callees of start functions. */
static enum reach_width width(const struct opts *opts, bool takes_extras)
{
	if (opts->all_callees)
		return REACH_ALL;
	return takes_extras ? REACH_NET : REACH_PACKETS;
}

/* A function that --when watches, as a rule for -T; NULL: none. Drops need none where their tracepoint is recorded. */
static const char *when_rule(const struct opts *opts, const struct facts *facts,
			     const struct trigger_cond *cond)
{
	if (cond->what == TRIGGER_DROPS && opts->drops_by_point)
		return NULL;
	return trigger_wants(cond, ksyms_has, facts->ksyms);
}

/* The rules of -T, and the functions that --when watches. */
static const char **trace_rules(const struct opts *opts, const struct facts *facts, size_t *cnt)
{
	const size_t when_cnt = opts->when ? opts->when->cnt : 0;
	const char **rules = calloc(opts->trace_funcs.cnt + when_cnt + 1, sizeof(*rules));

	*cnt = 0;
	for (size_t i = 0; rules && i < opts->trace_funcs.cnt; i++)
		rules[(*cnt)++] = opts->trace_funcs.items[i];
	for (size_t i = 0; rules && i < when_cnt; i++) {
		const char *rule = when_rule(opts, facts, &opts->when->conds[i]);

		if (rule)
			rules[(*cnt)++] = rule;
	}
	return rules;
}

/* Those of -G, and where a recorder starts at the functions of --when, that of its drops. */
static const char **start_rules(const struct opts *opts, const struct facts *facts, size_t *cnt)
{
	const size_t when_cnt = opts->starts_of_when ? opts->when->cnt : 0;
	const char **rules = calloc(opts->graph_funcs.cnt + when_cnt + 1, sizeof(*rules));

	*cnt = 0;
	for (size_t i = 0; rules && i < opts->graph_funcs.cnt; i++)
		rules[(*cnt)++] = opts->graph_funcs.items[i];
	for (size_t i = 0; rules && i < when_cnt; i++) {
		const struct trigger_cond *cond = &opts->when->conds[i];
		const char *rule =
			cond->what == TRIGGER_DROPS ? when_rule(opts, facts, cond) : NULL;

		if (rule)
			rules[(*cnt)++] = rule + 1; /* without its + */
	}
	return rules;
}

/*
 * Whether nothing below start functions is wanted: a table by flow has a row for each function, and those below would repeat
 * the start function's.
 */
static bool counts_starts(const struct opts *opts)
{
	return opts->by == BY_KEY && !opts->callee_depth && !opts->all_callees;
}

/* Whether @name is a word behind "--". */
static bool is_behind_dashes(const struct opts *opts, const char *name)
{
	char **word = opts->words;

	while (word && *word && strcmp(*word, "--") != 0)
		word++;
	for (; word && *word; word++) {
		if (!strcmp(*word, name))
			return true;
	}
	return false;
}

/* A hint for a word that is not a function where a function is expected. */
static const char *miss_hint(void *ctx, const char *name)
{
	const struct opts *opts = ctx;
	const char *hint =
		foreign_text(opts->verb == VERB_LIST ? FOREIGN_LIST : FOREIGN_FUNCTION, name);

	if (!hint && opts->verb == VERB_LIST && is_behind_dashes(opts, name))
		return "list runs no COMMAND: words behind -- are functions, too";
	if (!hint && opts->verb == VERB_LATENCY && !opts->command && !child_find(name))
		return "a COMMAND goes after --: netfgraph latency FUNC -- COMMAND";
	return hint;
}

int plan_rules(struct select_rules *rules, const struct opts *opts, const struct facts *facts)
{
	const struct preset **presets = calloc(opts->presets.cnt + 1, sizeof(*presets));
	size_t trace_cnt;
	size_t start_cnt;
	size_t dropper_cnt;
	const char *const *droppers = explainopts_droppers(&dropper_cnt);
	const char **trace = trace_rules(opts, facts, &trace_cnt);
	const char **starts = start_rules(opts, facts, &start_cnt);
	const struct attach_want want = plan_attach_want(opts, facts, NULL);
	const bool takes_extras = attach_takes_extras(&want);

	*rules = (struct select_rules){
		.trace = trace,
		.trace_cnt = trace_cnt,
		.notrace = opts->notrace_funcs.items,
		.notrace_cnt = opts->notrace_funcs.cnt,
		.checks_notrace = opts_is_given(opts, "notrace-funcs"),
		.untraced = droppers,
		.untraced_cnt = opts->drops_by_point ? dropper_cnt : 0,
		.untraced_why = "hides the places of drops, which skb:kfree_skb tells",
		.nograph = opts->nograph_funcs.items,
		.nograph_cnt = opts->nograph_funcs.cnt,
		.starts = starts,
		.start_cnt = start_cnt,
		.presets = presets,
		.preset_cnt = opts->presets.cnt,
		.with_costs = opts->explains_alone,
		.callee_depth = opts->callee_depth,
		.starts_alone = counts_starts(opts),
		.width = width(opts, takes_extras),
		.extras_by_kprobe = takes_extras,
		.all_by_kprobe = opts->all_callees && !opts->shown && attach_is_all_by_site(&want),
		.max_cnt = max_cnt(opts, &want, takes_extras),
		.progs = &facts->progs,
		.text = facts->text,
		.text_err = facts->text_err,
		.miss_hint = miss_hint,
		.none_hint =
			opts->events.cnt
				? "-e shows tracepoints between calls, so a function must be traced, too: a rare one costs least"
				: NULL,
		.miss_ctx = (void *)opts,
	};
	if (rules->max_cnt == SLOW_FUNCS_MAX && !opts->max_funcs) {
		rules->common_cnt = SLOW_COMMON_MAX;
		rules->uncommon_cnt = SLOW_UNCOMMON_MAX;
	}
	if (!presets || !trace || !starts)
		return -ENOMEM;
	for (size_t i = 0; i < opts->presets.cnt; i++)
		presets[i] = preset_find(opts->presets.items[i]);
	return 0;
}

void plan_rules_release(struct select_rules *rules)
{
	free((void *)rules->presets);
	free((void *)rules->trace);
	free((void *)rules->starts);
	*rules = (struct select_rules){ 0 };
}

/* ---- memory ---- */

/*
 * Measured on 6.1 and 7.2 of x86-64 (memory.peak), with some percent more: symbols, types, libbpf, the programs while they are
 * loaded, and their tables (31 and 41 MiB without rings, for 1 to 70 functions of -T); tables of sums of few functions, besides
 * the stacks of tasks. MORE is for what is read of the kernel to find callees, and for the programs and tables of values,
 * tracepoints and packets.
 */
#define BASE_BYTES (43u << 20)
#define MORE_BYTES (11u << 20)
#define SUMS_BYTES (2u << 20)
#define FEW_TASKS  1000 /* with --max-tasks */

/* Whether anything but the functions of -T is read or recorded. */
static bool takes_more(const struct opts *opts)
{
	return opts->graph_funcs.cnt || opts->presets.cnt || !opts->trace_funcs.cnt ||
	       opts->events.cnt || opts->filter || opts->packet.insn_cnt || wants_values(opts) ||
	       wants_sleeps(opts) || opts->nosleep_time;
}

/* Whether the kernel sums up, as far as options decide it. */
static bool has_stacks(const struct opts *opts)
{
	return sums_up(opts) && !wants_kprofile(opts, false).needs_events;
}

uint64_t plan_self_bytes(const struct opts *opts)
{
	uint64_t bytes = BASE_BYTES + (takes_more(opts) ? MORE_BYTES : 0);

	if (has_stacks(opts))
		bytes += SUMS_BYTES + kprofile_stacks_bytes(opts->task_cnt);
	return bytes;
}

uint64_t plan_table_bytes(const struct opts *opts)
{
	struct opts table = *opts;

	table.verb = VERB_PROFILE;
	return plan_self_bytes(&table);
}

bool plan_smaller_rings_help(const struct opts *opts, uint32_t cpus, uint64_t left_bytes)
{
	const uint64_t least_bytes = plan_self_bytes(opts) + (uint64_t)cpus * BUFFER_MIN_BYTES;

	return least_bytes <= left_bytes;
}

uint64_t plan_ring_bytes(const struct opts *opts, uint32_t cpus)
{
	return opts->buffer_bytes ? opts->buffer_bytes
				  : rings_bytes_default(cpus, host_memory_limit_bytes());
}

/* What --max-tasks FEW_TASKS saves. */
static uint64_t few_tasks_bytes(void)
{
	return kprofile_stacks_bytes(0) - kprofile_stacks_bytes(FEW_TASKS);
}

static bool few_tasks_help(const struct opts *opts, uint64_t left_bytes)
{
	return plan_smaller_rings_help(opts, cpu_cnt(), left_bytes + few_tasks_bytes());
}

uint64_t plan_program_bytes(const struct attach_shares *shares)
{
	unsigned int version[2];

	host_kernel_version(version);
	return attach_bill_of(shares, arch_host(), version).bytes;
}

int plan_check_memory(const struct opts *opts, const struct host_memory *memory,
		      uint64_t program_bytes)
{
	const uint64_t needed = plan_self_bytes(opts) +
				cpu_cnt() * plan_ring_bytes(opts, cpu_cnt()) + program_bytes;
	/* what is left for the rest */
	const uint64_t rest_bytes =
		memory->left_bytes > program_bytes ? memory->left_bytes - program_bytes : 0;

	if (needed <= memory->left_bytes)
		return 0;
	log_error("this trace takes about %" PRIu64
		  " MiB of memory, and the limit of its cgroup leaves %" PRIu64 " MiB",
		  needed >> 20, memory->left_bytes >> 20);
	policy_explain_memory(memory, plan_smaller_rings_help(opts, cpu_cnt(), rest_bytes));
	if (has_stacks(opts) && !opts->task_cnt && few_tasks_help(opts, rest_bytes))
		log_hint("--max-tasks %u needs %" PRIu64
			 " MiB less; calls of more tasks that live at once are not counted then",
			 FEW_TASKS, few_tasks_bytes() >> 20);
	if (program_bytes)
		log_hint(
			"%" PRIu64
			" MiB of it are programs of functions: fewer functions (-T, --callee-depth) need less",
			program_bytes >> 20);
	return VERDICT_FAILED;
}

int plan_srcline(struct srcline **out, const struct opts *opts)
{
	*out = NULL;
	return opts->has_source ? srcline_new(out, opts->vmlinux) : 0;
}

static int check_denied(const struct tracepoint_list *list)
{
	for (size_t i = 0; i < list->cnt; i++) {
		if (!tracepoint_is_denied(&list->items[i]))
			continue;
		log_error(
			"'%s' is hit while the kernel enters or leaves a program: one there would "
			"call itself without end",
			tracepoint_full_name(&list->items[i]));
		return VERDICT_NOTHING;
	}
	if (list->cnt > POINTS_UNASKED)
		log_warn("%zu tracepoints match: attaching them takes up to a minute, and each "
			 "costs the whole host",
			 list->cnt);
	return 0;
}

/* Find the tracepoints of -e, and those that are wished for, of which this kernel may lack some. */
static int find_points(struct tracepoint_list *out, const struct opts *opts,
		       const struct facts *facts, const char **missed)
{
	struct str_list globs = { 0 };
	int err = 0;

	for (size_t i = 0; i < opts->events.cnt && !err; i++)
		err = str_list_add(&globs, opts->events.items[i]) ? -ENOMEM : 0;
	for (size_t i = 0; i < opts->wished_events.cnt && !err; i++)
		err = str_list_add(&globs, opts->wished_events.items[i]) ? -ENOMEM : 0;
	if (!err)
		err = tracepoint_find(out, facts->kbtf, &globs, missed);
	str_list_release(&globs);
	/* those of -e come first */
	for (size_t i = 0; i < opts->wished_events.cnt; i++)
		*missed = *missed == opts->wished_events.items[i] ? NULL : *missed;
	return err;
}

int plan_points(struct tracepoint_list *out, const struct opts *opts, const struct facts *facts)
{
	const char *missed = NULL;
	const char *near;
	int err;

	if (!opts->events.cnt)
		return 0;
	err = find_points(out, opts, facts, &missed);
	if (!err && !missed)
		err = check_denied(out);
	if (err || !missed)
		return err;
	near = tracepoint_suggest(facts->kbtf, missed);
	log_error("no tracepoint matches '%s'", missed);
	if (*near)
		log_hint("did you mean %s?", near);
	else if (policy_hides_modules())
		log_hint(
			"tracepoints of modules can be traced with CAP_SYS_ADMIN only, which is missing");
	else
		log_hint("netfgraph list -e '*' lists the kernel's tracepoints");
	return VERDICT_NOTHING;
}

int plan_point_fields(struct tracepoint_list *list, const struct facts *facts,
		      struct proto_table *types)
{
	const struct kernel_ids ids = kernel_ids_find(facts->kbtf);
	const bool has_casts = ids.rdonly_cast && ids.skb_type && ids.sock_type;
	int err = 0;

	for (size_t i = 0; i < list->cnt && !err; i++) {
		const struct tracepoint *tp = &list->items[i];

		err = tracepoint_fields(&list->items[i], facts->kbtf, has_casts, types);
		if (!err && tp->cut_cnt)
			log_info("the last %u fields of the tracepoint '%s' have no room",
				 tp->cut_cnt, tracepoint_full_name(tp));
	}
	return err;
}

bool plan_attach_is_long(const struct opts *opts, const struct attach_shares *shares, char *out,
			 size_t size)
{
	unsigned int version[2];

	host_kernel_version(version);
	return !opts->max_funcs && attach_takes_minutes(shares, version, out, size);
}

bool plan_are_too_many(const struct opts *opts, size_t func_cnt)
{
	return !opts->max_funcs && func_cnt > UNASKED_FUNCS_MAX;
}

/* ---- what the kernel tells ---- */

/* Each program takes a descriptor until functions are attached. Return: 0 or -ENOMEM. */
static int progs_open(struct facts *facts)
{
	int err;

	bpfobj_raise_limits();
	err = bpfprogs_read(&facts->progs, facts->kbtf);
	if (!err || err == -ENOMEM)
		return err;
	log_warn("BPF programs are left out: this host has too many to look at: %s",
		 strerror(-err));
	bpfprogs_give_up(&facts->progs, facts->kbtf,
			 "this host has more BPF programs than files may be open (ulimit -n)");
	return 0;
}

int facts_open(struct facts *facts, bool wants_text)
{
	int err;

	*facts = (struct facts){ 0 };
	err = kbtf_new(&facts->kbtf);
	if (err && err != -ENOMEM)
		policy_explain(err);
	if (err)
		return err;
	err = ksyms_new(&facts->ksyms, facts->kbtf);
	if (err) {
		log_error("cannot read /proc/kallsyms: %s", strerror(-err));
		return err;
	}
	if (policy_hides_modules())
		log_info(
			"functions of modules and BPF programs are left out: CAP_SYS_ADMIN is missing");
	if (wants_text)
		facts->text_err = ktext_new(&facts->text, KTEXT_RUNNING);
	return progs_open(facts);
}

void facts_close(struct facts *facts)
{
	bpfprogs_release(&facts->progs);
	kbtf_free(facts->kbtf);
	ksyms_free(facts->ksyms);
	ktext_free(facts->text);
	*facts = (struct facts){ 0 };
}

/* ---- CPUs ---- */

bool cpus_check(const struct opts *opts)
{
	struct cpu_set_list present;
	char text[256];

	if (!opts->has_cpus || host_cpus(&present, text, sizeof(text)))
		return true;
	for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++) {
		if (!cpu_set_list_has(&opts->cpus, cpu) || cpu_set_list_has(&present, cpu))
			continue;
		log_error("--cpu: there is no CPU %u", cpu);
		log_hint("this host has the CPUs %s", text);
		return false;
	}
	return true;
}
