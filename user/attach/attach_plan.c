#include "attach/attach_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arch.h"
#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/ktext.h"
#include "kernel/probe.h"
#include "kernel/release.h"

/* Limit for attaching without confirmation by the user. */
#define SINGLY_US_MAX 120000000u

/* Attaching is long from here on, ... */
#define LONG_NS 5000000000ull
/* ... which is foretold after this time. */
#define TELLING_NS 1000000000ull
/* The first ones take longer than the others: so many or this time say more. */
#define TELLING_CNT     10
#define TELLING_LATE_NS 3000000000ull
/* Of functions that are held up, less than some times as many as this say less than what is known beforehand. */
#define HELD_UP_FEW 3

/* One function with members counts as much as so many others when they are attached. */
#define MEMBER_SHARE    4

#define HOOKS_MIN_BYTES (32u << 20)

struct kernel_ids kernel_ids_find(const struct kbtf *kb)
{
	struct kbtf_member member;
	struct kernel_ids ids = {
		.template_func = kbtf_func_id(kb, ATTACH_TEMPLATE_FUNC),
		.session_kfunc = kbtf_func_id(kb, "bpf_session_is_return"),
		.rdonly_cast = kbtf_func_id(kb, "bpf_rdonly_cast"),
		.skb_type = kbtf_struct_id(kb, "sk_buff"),
		.sock_type = kbtf_struct_id(kb, "sock"),
		.active_var = kbtf_var_id(kb, "bpf_prog_active"),
		.has_guard = preemption_has_guard(kb),
		.has_return_hooks = kbtf_struct_member(kb, "fprobe", "rethook", &member),
		.counts_missed = kbtf_has_nested(kb, "bpf_link_info", "kprobe_multi", "missed"),
		.jumps_if_odd = kbtf_has_enumerator(kb, "bpf_text_poke_type", "BPF_MOD_NOP"),
	};

	ids.preempt_var = kbtf_preempt_var(kb, &ids.preempt_var_offset);
	return ids;
}

/* All but pairs need rings that are one map element. */
static bool has_mode(enum attach_mode mode, const struct attach_want *want)
{
	const struct attach_way *way = attach_way(mode);
	const struct kernel_ids *ids = &want->ids;

	if (way->is_by_site && (!want->has_addresses || want->func_cnt > attach_func_max(want)))
		return false;
	/* kernels with both ends at kprobes are newer than the cast */
	if (way->has_both_ends ? !ids->session_kfunc
			       : way->is_by_site && want->by_packet && !ids->rdonly_cast)
		return false;
	return mode == ATTACH_PAIR ||
	       (probe_large_elements() && probe_attach(mode, ids->template_func));
}

/* Whether @mode has programs for @want. */
static bool can_serve(enum attach_mode mode, const struct attach_want *want)
{
	const struct attach_way *way = attach_way(mode);

	if (way->is_shared && want->has_filter && !want->only_starts_have)
		return false;
	return !way->records_alone || !(want->has_marks || want->has_values || want->sums_up);
}

#define SHADOW_STACK_BYTES 4096u /* SHADOW_STACK_SIZE of the kernel's fgraph.c */
#define THREADS_MIN_BYTES  (64u << 20)

uint64_t attach_thread_bytes(const struct attach_want *want)
{
	return want->ids.has_return_hooks ? 0 : want->thread_cnt * SHADOW_STACK_BYTES;
}

/* The @part-th part of the host's memory, or @min_bytes if that is more. */
static uint64_t memory_share(unsigned int part, uint64_t min_bytes)
{
	const uint64_t bytes = host_memory_bytes() / part;

	return bytes > min_bytes ? bytes : min_bytes;
}

static bool takes_much_of_threads(const struct attach_want *want)
{
	return attach_thread_bytes(want) > memory_share(128, THREADS_MIN_BYTES);
}

#define HOOK_BYTES 80u /* struct fprobe_rethook_node and its object's header, rounded up */

/* Kernel memory of a link for @func_cnt functions, up to 6.13. */
static uint64_t hook_bytes(uint32_t cpu_cnt, uint64_t func_cnt)
{
	uint64_t hook_cnt = 2 * cpu_cnt * func_cnt;
	uint64_t table_cnt = 1;

	while (table_cnt < hook_cnt)
		table_cnt *= 2;
	return hook_cnt * HOOK_BYTES + table_cnt * sizeof(void *) * cpu_cnt;
}

size_t attach_func_max(const struct attach_want *want)
{
	const uint64_t may_take = memory_share(1024, HOOKS_MIN_BYTES);
	size_t func_cnt = NFG_FUNC_CNT;

	if (!want->ids.has_return_hooks)
		return SIZE_MAX;
	while (func_cnt && hook_bytes(want->cpu_cnt, func_cnt) > may_take)
		func_cnt = func_cnt * 7 / 8;
	return func_cnt;
}

static bool is_to_be_had(enum attach_mode mode, const struct attach_want *want)
{
	return can_serve(mode, want) && has_mode(mode, want);
}

/* The best mode by address; ATTACH_AUTO: this kernel has none, or it costs too much memory. */
static enum attach_mode by_site_best(const struct attach_want *want)
{
	if (want->mode != ATTACH_COMPLETE && takes_much_of_threads(want))
		return ATTACH_AUTO;
	for (enum attach_mode mode = ATTACH_WAY_FIRST; mode < ATTACH_MODE_CNT; mode++) {
		/* never choose a mode whose skipped calls are not counted; kernels that have both ends count them */
		if (attach_is_by_site(mode) &&
		    (want->ids.counts_missed || attach_way(mode)->has_both_ends) &&
		    is_to_be_had(mode, want))
			return mode;
	}
	return ATTACH_AUTO;
}

/* The best of the other modes. */
static enum attach_mode by_trampoline_best(const struct attach_want *want)
{
	enum attach_mode mode = ATTACH_WAY_FIRST;

	while (mode < ATTACH_PAIR && (attach_is_by_site(mode) || !is_to_be_had(mode, want)))
		mode++;
	return mode;
}

bool attach_is_fast(const struct attach_want *want)
{
	if (!attach_is_open(want->mode))
		return attach_is_shared(want->mode);
	return attach_is_shared(by_trampoline_best(want)) || by_site_best(want) != ATTACH_AUTO;
}

/* What makes functions show members. */
static const char *member_option(const struct attach_want *want)
{
	return want->member_option ? want->member_option : "BYTES";
}

struct attach_shares attach_plan_shares(const struct attach_plan *plan,
					const struct attach_want *want, size_t start_cnt)
{
	const size_t left_cnt = plan->progs == ATTACH_AUTO ? want->prog_cnt : 0;
	const size_t func_cnt = want->func_cnt - left_cnt;
	const size_t extra_cnt = plan->extras == plan->mode ? 0 : want->extra_cnt;
	const size_t pair_max = func_cnt - (want->prog_cnt - left_cnt) - extra_cnt;
	const size_t pair_cnt = (plan->starts_by_pair ? start_cnt : 0) +
				(plan->members_by_pair ? want->member_cnt : 0);

	return (struct attach_shares){
		.mode = plan->mode,
		.func_cnt = func_cnt,
		.prog_cnt = want->prog_cnt - left_cnt,
		.pair_cnt = pair_cnt < pair_max ? pair_cnt : pair_max,
		.pair_option = plan->starts_by_pair ? "--filter" : member_option(want),
		.extra_cnt = extra_cnt,
		.thread_bytes = attach_uses_sites(plan) ? attach_thread_bytes(want) : 0,
	};
}

bool attach_takes_minutes(const struct attach_shares *shares, const unsigned int version[2],
			  char *out, size_t size)
{
	const struct attach_bill bill = attach_bill_of(shares, arch_host(), version);
	const bool is_shared = attach_is_shared(shares->mode);
	const size_t cnt = is_shared ? shares->pair_cnt + shares->prog_cnt : shares->func_cnt;

	if (bill.singly_us <= SINGLY_US_MAX)
		return false;
	snprintf(out, size,
		 "%zu functions %s%s, which takes up to %" PRIu64
		 " minutes, estimated with the %" PRIu64 " ms that each takes on an emulated CPU",
		 cnt,
		 is_shared && !shares->prog_cnt ? "get programs of their own for "
						: "are attached one by one",
		 is_shared && !shares->prog_cnt ? shares->pair_option : "",
		 bill.singly_us / 60000000, bill.singly_us / cnt / 1000);
	return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The time that is left by what the functions before took. */
static uint64_t left_by_pace_ns(const struct attach_pace *pace)
{
	return pace->done_cnt ? pace->took_ns / pace->done_cnt * (pace->cnt - pace->done_cnt) : 0;
}

/*
 * The same if another netfgraph detaches: each function waits for some of the other's, until these are through. How many differs
 * much from one function to the next, so a few say little.
 */
static uint64_t left_held_up_ns(const struct attach_pace *pace)
{
	const size_t left_cnt = pace->cnt - pace->done_cnt;
	const uint64_t alone_ns = (uint64_t)pace->cost->attach_us * 1000;
	const uint64_t held_ns = alone_ns + pace->held_up_ns;
	const uint64_t each_ns =
		(pace->took_ns + HELD_UP_FEW * held_ns) / (pace->done_cnt + HELD_UP_FEW);
	const uint64_t own_ns = pace->done_cnt ? least(pace->least_ns, alone_ns) : alone_ns;

	return least(each_ns * left_cnt, pace->others_ns + own_ns * left_cnt);
}

uint64_t attach_long_sec(const struct attach_pace *pace)
{
	const uint64_t all_ns =
		pace->took_ns + (pace->is_held_up ? left_held_up_ns(pace) : left_by_pace_ns(pace));

	if (pace->took_ns < TELLING_NS || all_ns <= LONG_NS)
		return 0;
	if (pace->done_cnt < TELLING_CNT && pace->took_ns < TELLING_LATE_NS)
		return 0;
	return (all_ns + 500000000) / 1000000000;
}

bool attach_takes_extras(const struct attach_want *want)
{
	if (attach_is_open(want->mode))
		return by_site_best(want) != ATTACH_AUTO;
	return attach_is_by_site(want->mode) && is_to_be_had(want->mode, want);
}

bool attach_is_all_by_site(const struct attach_want *want)
{
	return want->mode != ATTACH_CHEAP && !want->has_filter && attach_takes_extras(want) &&
	       (want->preemption != PREEMPTION_OFF || !attach_is_shared(by_trampoline_best(want)));
}

bool attach_uses_sites(const struct attach_plan *plan)
{
	return attach_is_by_site(plan->mode) || attach_is_by_site(plan->extras);
}

/* Whether the calls that other modes would miss are worth the higher cost of programs at kprobes. */
static bool wants_all_calls(const struct attach_want *want)
{
	return want->mode != ATTACH_CHEAP && want->preemption != PREEMPTION_OFF;
}

/*
 * Whether so many functions have members (--show) that programs for each function are attached sooner: beside links at kprobes,
 * a pair takes several times as long.
 */
static bool is_sooner_by_pair(const struct attach_want *want)
{
	return want->func_cnt - want->prog_cnt <= MEMBER_SHARE * want->member_cnt &&
	       !want->extra_cnt && !want->in_windows;
}

/* A program for each function costs less per call, so a small number of functions gets these. */
enum attach_mode attach_mode_best(const struct attach_want *want)
{
	const enum attach_mode by_site = by_site_best(want);
	const size_t func_cnt = want->func_cnt - want->prog_cnt;
	const enum attach_mode other = by_trampoline_best(want);
	const struct attach_way *way = attach_way(other);
	const bool takes_long = (func_cnt - want->extra_cnt > way->func_max &&
				 (way->is_shared || !is_sooner_by_pair(want))) ||
				(!way->is_shared && (want->extra_cnt || want->in_windows));

	if (want->prog_cnt && !func_cnt)
		return ATTACH_PAIR;
	return by_site != ATTACH_AUTO && (wants_all_calls(want) || takes_long) ? by_site : other;
}

/* Check a mode that the user requested. */
static int check_mode(const struct attach_want *want)
{
	const char *name = attach_way(want->mode)->link;

	if (!can_serve(want->mode, want)) {
		if (want->has_filter)
			log_error("--filter reads arguments and results, which %s cannot", name);
		else if (want->has_marks)
			log_error("--errors-only reads results, which %s cannot", name);
		else
			log_error("no program of %s records values", name);
		log_hint("omit --attach, or use --attach pair");
		return -EOPNOTSUPP;
	}
	if (!has_mode(want->mode, want)) {
		log_error("this kernel cannot attach by %s", name);
		log_hint("--attach auto uses the best way it has");
		return -EOPNOTSUPP;
	}
	return 0;
}

static const char *needs_programs(const char *option)
{
	static char why[64];

	snprintf(why, sizeof(why), "%s needs such programs", option);
	return why;
}

/* Why there are no programs at kprobes, or not for all functions. */
static const char *why_no_sites(const struct attach_plan *plan, const struct attach_want *want)
{
	if (plan->starts_by_pair || want->has_filter)
		return needs_programs("--filter");
	if (plan->members_by_pair)
		return needs_programs(member_option(want));
	if (!want->has_addresses)
		return "it hides addresses, which all other modes need";
	if (want->func_cnt > attach_func_max(want))
		return "this many functions would take too much memory at kprobes";
	if (!want->ids.counts_missed && is_to_be_had(ATTACH_KPROBES, want))
		return "it does not count the calls that its kprobes skip (--attach kprobes uses them anyway)";
	return "it has no other modes (kprobe.session, kprobe.multi)";
}

static const char *preempts(const struct attach_want *want)
{
	return want->preemption == PREEMPTION_ON ? "preempts" : "may preempt";
}

/* Where the user finds out about missed calls. */
static const char *tells_missed(const struct attach_want *want)
{
	return want->is_table ? "how many is said at the end"
			      : "the trace marks where, and how many is said at the end";
}

/* Whether calls may be missed although the user wants all. */
static bool may_miss_calls(const struct attach_plan *plan, const struct attach_want *want)
{
	return attach_is_open(want->mode) && wants_all_calls(want) &&
	       (!attach_is_by_site(plan->mode) || plan->starts_by_pair || plan->members_by_pair);
}

static int check_completeness(const struct attach_plan *plan, const struct attach_want *want)
{
	if (want->mode != ATTACH_COMPLETE || !may_miss_calls(plan, want))
		return 0;
	log_error(
		"--complete: this kernel %s tasks inside fentry and fexit programs, which hides other tasks' "
		"calls, and %s",
		preempts(want), why_no_sites(plan, want));
	log_hint("without --complete, calls may be missed; %s", tells_missed(want));
	return -EOPNOTSUPP;
}

void attach_plan_warn(const struct attach_plan *plan, const struct attach_want *want,
		      size_t pair_cnt)
{
	struct attach_want cheap_threads = *want;

	cheap_threads.thread_cnt = 0;
	if (want->prog_cnt && plan->progs == ATTACH_AUTO)
		log_warn(
			"--complete: %zu functions of BPF programs are left out: they take fentry and fexit programs, inside which this kernel %s tasks",
			want->prog_cnt, preempts(want));
	if (attach_is_open(want->mode) && !attach_uses_sites(plan) &&
	    attach_is_by_site(attach_mode_best(&cheap_threads)))
		log_info("not using kprobes: they would leave %" PRIu64
			 " MiB of kernel memory with %" PRIu64
			 " threads (--complete or --attach kprobe uses them anyway)",
			 attach_thread_bytes(want) >> 20, want->thread_cnt);
	if (may_miss_calls(plan, want) && attach_is_by_site(plan->mode) && plan->members_by_pair &&
	    !plan->starts_by_pair && !want->member_option)
		log_warn(
			"BYTES takes fentry and fexit programs, inside which this kernel %s tasks: calls of other tasks may be missed; %s (without --sort bytes no length is read, and none is missed)",
			preempts(want), tells_missed(want));
	else if (may_miss_calls(plan, want))
		log_warn(
			"this kernel %s tasks inside programs: calls of other tasks may be missed; %s",
			preempts(want), tells_missed(want));
	else if (pair_cnt && attach_is_open(want->mode) && wants_all_calls(want))
		log_warn(
			"%zu functions are attached by fentry and fexit: this kernel %s tasks inside such "
			"programs, so other tasks' calls may be missed",
			pair_cnt, preempts(want));
}

bool attach_members_cost_calls(const struct attach_want *want)
{
	struct attach_want bare = *want;

	bare.member_cnt = 0;
	if (want->has_filter || !wants_all_calls(want))
		return false;
	return attach_is_by_site(attach_is_open(want->mode) ? attach_mode_best(&bare) : want->mode);
}

/* Whether functions that one way refuses may be attached by fentry and fexit. */
static bool may_be_pair(const struct attach_want *want)
{
	return attach_is_open(want->mode) &&
	       (want->mode != ATTACH_COMPLETE || !wants_all_calls(want));
}

/*
 * Links that many functions share take none of BPF programs, even if the user chose them for all others. Functions that
 * are added during a trace are those of programs.
 */
static enum attach_mode mode_of_progs(enum attach_mode mode, const struct attach_want *want)
{
	const bool has_progs = want->prog_cnt || want->func_max > want->func_cnt;

	if (!attach_is_shared(mode))
		return mode;
	return has_progs && (!attach_is_open(want->mode) || may_be_pair(want)) ? ATTACH_PAIR
									       : ATTACH_AUTO;
}

/* Whether the kernel was built without function tracing; false if its symbols cannot be read. */
static bool lacks_function_tracing(const struct ksyms *ks)
{
	return ksyms_count(ks, ATTACH_TEMPLATE_FUNC) &&
	       !ksyms_count(ks, "register_ftrace_function");
}

/*
 * Before e21d2b92354b (5.12, 5.10.27) a task inside a trampoline continued in freed memory when a program was attached
 * or detached there. That commit introduced the functions looked up here; later kernels may rename them, but they have
 * the guard.
 */
static bool frees_trampolines_in_use(const struct ksyms *ks, bool has_guard)
{
	return !has_guard && ksyms_count(ks, ATTACH_TEMPLATE_FUNC) &&
	       !ksyms_count(ks, "__bpf_tramp_image_put_rcu");
}

/*
 * Since DYNAMIC_FTRACE_WITH_JMP (6.19) the lowest bit of an address tells ftrace to jump there. A kernel built with -Os has functions
 * at odd addresses, its own among them, and dies when it jumps to the byte before one that it should call. Any tracer can meet
 * this: seen on 7.2 by kprobe.session, kprobe.multi, and an event of its fprobes after function_graph.
 */
static bool jumps_to_what_it_calls(const struct ksyms *ks, bool jumps_if_odd)
{
	static const char *const called[] = { "ftrace_graph_func", "fprobe_ftrace_entry",
					      "arch_ftrace_ops_list_func", "ftrace_ops_assist_func",
					      "call_direct_funcs" };

	for (size_t i = 0; jumps_if_odd && i < ARRAY_SIZE(called); i++) {
		if (ksyms_addr(ks, called[i]) & 1)
			return true;
	}
	return false;
}

const struct kernel_fault *attach_plan_fault(const struct ksyms *ks, const struct kernel_ids *ids)
{
	static const struct kernel_fault no_ftrace = {
		"this kernel has no function tracing: it was built without CONFIG_FUNCTION_TRACER",
		"boot a kernel that has it, as those of all large distributions do",
	};
	static const struct kernel_fault frees = {
		"this kernel may crash when a program is attached or detached: it frees trampolines in use",
		"boot 5.10.27 or later, which contains e21d2b92354b",
	};
	static const struct kernel_fault jumps = {
		"this kernel may crash when functions are traced: built for size, its ftrace jumps into functions at odd addresses",
		"boot a kernel without CONFIG_CC_OPTIMIZE_FOR_SIZE, as those of all large distributions are",
	};

	if (lacks_function_tracing(ks))
		return &no_ftrace;
	if (frees_trampolines_in_use(ks, ids->has_guard))
		return &frees;
	return jumps_to_what_it_calls(ks, ids->jumps_if_odd) ? &jumps : NULL;
}

int attach_plan_check_kernel(const struct ksyms *ks, const struct kernel_ids *ids)
{
	const struct kernel_fault *fault = attach_plan_fault(ks, ids);
	const char *since = arch_host()->trampolines_since;

	if (fault) {
		log_error("%s", fault->what);
		log_hint("%s", fault->hint);
		return -EOPNOTSUPP;
	}
	if (!since || probe_trampolines(ids->template_func))
		return 0;
	log_error("this kernel cannot attach programs to functions: this takes %s", since);
	log_hint("netfgraph check lists what it offers");
	return -EOPNOTSUPP;
}

int attach_plan_choose(struct attach_plan *plan, const struct attach_want *want)
{
	bool is_auto = attach_is_open(want->mode);
	bool is_shared;
	int err = is_auto ? 0 : check_mode(want);

	if (err)
		return err;
	plan->mode = is_auto ? attach_mode_best(want) : want->mode;
	is_shared = attach_is_shared(plan->mode);
	plan->starts_by_pair = want->has_filter && is_shared;
	plan->members_by_pair = want->member_cnt && is_shared;
	plan->fallback =
		plan->starts_by_pair || plan->members_by_pair || (may_be_pair(want) && is_shared)
			? ATTACH_PAIR
			: ATTACH_AUTO;
	plan->progs = mode_of_progs(plan->mode, want);
	plan->extras = is_shared && !attach_is_by_site(plan->mode) && want->extra_cnt &&
				       attach_takes_extras(want)
			       ? by_site_best(want)
			       : plan->mode;
	plan->is_flat = probe_large_elements();
	plan->has_bounded_cpu_id = probe_bounded_cpu_id();
	if (is_auto && want->preemption == PREEMPTION_UNKNOWN && wants_all_calls(want))
		log_info(
			"this kernel does not show whether it preempts tasks inside programs; assuming that it does");
	return check_completeness(plan, want);
}

/* ---- the model of preemption ---- */

/* enum preempt_dynamic... of kernel/sched/core.c: none, voluntary, full, lazy (6.13). */
#define FIRST_THAT_PREEMPTS 2
#define MODE_MAX            3

enum preemption preemption_by(const struct preemption_facts *facts)
{
	if (!facts->has_guard || !facts->preempts_readers)
		return PREEMPTION_OFF;
	if (facts->has_no_other || strstr(facts->version, "PREEMPT_RT"))
		return PREEMPTION_ON;
	/* up to 5.17 the version says "PREEMPT" for dynamic kernels, too (4823d902438b) */
	if (facts->dynamic_mode >= 0 && facts->dynamic_mode <= MODE_MAX)
		return facts->dynamic_mode >= FIRST_THAT_PREEMPTS ? PREEMPTION_ON : PREEMPTION_OFF;
	return strstr(facts->version, "PREEMPT_DYNAMIC") ? PREEMPTION_UNKNOWN : PREEMPTION_ON;
}

static int dynamic_mode(const struct ksyms *ks)
{
	uint64_t addr = ksyms_addr(ks, "preempt_dynamic_mode");
	struct ktext *text = NULL;
	int mode = -1;

	if (!addr || ktext_new(&text, KTEXT_RUNNING))
		return -1;
	if (ktext_read(text, addr, &mode, sizeof(mode)))
		mode = -1;
	ktext_free(text);
	return mode;
}

bool preemption_has_guard(const struct kbtf *kb)
{
	struct kbtf_member member;

	return kbtf_struct_member(kb, "bpf_prog", "active", &member);
}

enum preemption preemption_of(const struct kbtf *kb, const struct ksyms *ks)
{
	struct kbtf_member member;
	struct preemption_facts facts = {
		.has_guard = preemption_has_guard(kb),
		.preempts_readers =
			kbtf_struct_member(kb, "task_struct", "rcu_read_lock_nesting", &member),
		.has_no_other = release_has(RELEASE_ALWAYS_PREEMPTS),
		.dynamic_mode = -1,
	};
	struct utsname uts;

	if (uname(&uts))
		return PREEMPTION_UNKNOWN;
	facts.version = uts.version;
	if (facts.has_guard && facts.preempts_readers && !facts.has_no_other)
		facts.dynamic_mode = dynamic_mode(ks);
	return preemption_by(&facts);
}
