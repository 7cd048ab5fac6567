#ifndef NFG_ATTACH_ATTACH_PLAN_H
#define NFG_ATTACH_ATTACH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/attachmode.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/probe.h"
#include "nfg_abi.h"

/* ---- the model of preemption ---- */

/* Whether tasks can be preempted inside fentry and fexit programs, which hides other tasks' calls on that CPU. */
enum preemption {
	PREEMPTION_OFF,
	PREEMPTION_UNKNOWN,
	PREEMPTION_ON,
};

/* Facts that determine the model of preemption. */
struct preemption_facts {
	bool has_guard; /* programs run with preemption on, each with a guard: ca06f55b9002 (5.12) ... */
	bool preempts_readers; /* ... unless rcu_read_lock() turns it off: without task_struct.rcu_read_lock_nesting */
	bool has_no_other;   /* every preemption model selectable at boot preempts */
	const char *version; /* uname -v */
	int dynamic_mode;    /* preempt_dynamic_mode of kernel/sched/core.c; negative: unknown */
};

/* preemption_by - the answer for @facts. */
enum preemption preemption_by(const struct preemption_facts *facts);

/* preemption_has_guard - whether each program has a recursion guard: 5.12. */
bool preemption_has_guard(const struct kbtf *kb);

/* preemption_of - the answer for the running kernel. Reads a word of kernel memory if the model is chosen at boot. */
enum preemption preemption_of(const struct kbtf *kb, const struct ksyms *ks);

/* ---- the plan ---- */

/* A function that is built into every traceable kernel: templates are tested with it. */
#define ATTACH_TEMPLATE_FUNC "tcp_v4_rcv"

/* BTF ids in the running kernel (0: it has nothing with that name), and facts from its types. */
struct kernel_ids {
	uint32_t template_func; /* ATTACH_TEMPLATE_FUNC */
	uint32_t session_kfunc; /* bpf_session_is_return() */
	uint32_t rdonly_cast;   /* bpf_rdonly_cast() ... */
	uint32_t skb_type;      /* ... to struct sk_buff */
	uint32_t sock_type;     /* ... to struct sock */
	uint32_t preempt_var;   /* see kbtf_preempt_var */
	uint32_t preempt_var_offset;
	uint32_t active_var; /* the per-CPU variable bpf_prog_active */
	bool has_guard;      /* each program has a guard against recursion: 5.12 */
	/*
	 * Kprobe links have their own hooks for open calls, a number for each address: struct fprobe until 4346ba160409
	 * (6.14).
	 */
	bool has_return_hooks;
	bool counts_missed; /* ... and count skipped calls: e2b2cd592adc (6.7) */
	bool jumps_if_odd; /* ftrace jumps to what has an odd address, instead of calling it: 6.19 */
};

/* kernel_ids_find - look up all of them in @kb. */
struct kernel_ids kernel_ids_find(const struct kbtf *kb);

/* The requirements that decide how programs are attached. */
struct attach_want {
	enum attach_mode mode; /* --attach, --complete, --cheap */
	enum preemption preemption;
	bool has_values;       /* records have values */
	bool has_marks;        /* exits are marked by the call's result ... */
	bool has_filter;       /* ... or by its arguments, too (--filter) ... */
	bool only_starts_have; /* ... but only the exits of start functions */
	bool is_table;         /* of functions or keys: it has no place for marks */
	bool sums_up;          /* calls are summed up in the kernel */
	bool in_windows;       /* links are replaced repeatedly (--duty) */
	bool by_packet; /* packets decide (--packet): at kprobes this takes bpf_rdonly_cast() (6.2) */
	bool has_addresses;  /* addresses of functions are known */
	uint32_t cpu_cnt;    /* possible CPUs */
	uint64_t thread_cnt; /* of the host; 0: unknown */
	size_t func_cnt;     /* functions to attach */
	size_t func_max;     /* functab_max */
	size_t extra_cnt;    /* number of functions with func.is_extra */
	size_t member_cnt; /* number of functions with members (--show): their programs serve one function each */
	const char *
		member_option; /* asks for them: --show; NULL: none does, they are for BYTES (profile --by) */
	size_t prog_cnt; /* number of functions of BPF programs */
	struct kernel_ids ids;
};

/* The mode that attaches each function. */
struct attach_plan {
	enum attach_mode mode; /* of most functions; never ATTACH_AUTO */
	enum attach_mode
		fallback; /* of functions that @mode refuses; ATTACH_AUTO: they are left out */
	enum attach_mode
		extras; /* of func.is_extra functions: @mode, or an attach_is_by_site mode */
	enum attach_mode
		progs; /* of functions of BPF programs: @mode, or if that is shared, ATTACH_PAIR; ATTACH_AUTO: left out */
	bool is_flat;            /* all rings are one map element */
	bool has_bounded_cpu_id; /* probe_bounded_cpu_id */
	bool members_by_pair;    /* functions with members go to @fallback for the same reason */
	bool starts_by_pair; /* start functions go to @fallback: @mode's programs cannot have the filter */
};

/* Why nothing is attached on a kernel, and what to do. */
struct kernel_fault {
	const char *what;
	const char *hint;
};

/* attach_plan_fault - what keeps netfgraph from attaching on the kernel with these symbols; NULL: nothing that they tell. */
const struct kernel_fault *attach_plan_fault(const struct ksyms *ks, const struct kernel_ids *ids);

/*
 * attach_plan_check_kernel - check that this kernel can attach programs to functions without crashing. On arm64 this
 * attaches to the template function and detaches, which takes a grace period.
 *
 * Return: 0, or -EOPNOTSUPP, already logged.
 */
int attach_plan_check_kernel(const struct ksyms *ks, const struct kernel_ids *ids);

/*
 * attach_plan_choose - choose the modes for @want on this kernel. Loads only probes.
 *
 * Return: 0, or -EOPNOTSUPP, already logged: this kernel lacks @want->mode, or cannot combine it with @want.
 */
int attach_plan_choose(struct attach_plan *plan, const struct attach_want *want);

/*
 * attach_plan_warn - warn if calls may be missed although the user wants all.
 *
 * @pair_cnt: functions that @plan->mode refused and fentry and fexit accepted.
 */
void attach_plan_warn(const struct attach_plan *plan, const struct attach_want *want,
		      size_t pair_cnt);

/*
 * attach_members_cost_calls - whether calls may be missed if functions have members (--show), and are not without. Asked before
 * it is known which functions have some.
 */
bool attach_members_cost_calls(const struct attach_want *want);

/* attach_plan_shares - how many functions each mode attaches; @start_cnt: start functions among them. */
struct attach_shares attach_plan_shares(const struct attach_plan *plan,
					const struct attach_want *want, size_t start_cnt);

/*
 * attach_takes_minutes - whether attaching one by one would take more than two minutes.
 *
 * The costs are those of emulated CPUs, so a fast host may need less.
 *
 * @out: if so, the message, with the basis of the estimate; the caller adds a hint. ATTACH_MINUTES_TEXT bytes are
 * enough.
 */
#define ATTACH_MINUTES_TEXT 192
bool attach_takes_minutes(const struct attach_shares *shares, const unsigned int version[2],
			  char *out, size_t size);

/* How attaching one by one has gone so far. */
struct attach_pace {
	size_t cnt; /* functions */
	size_t done_cnt;
	uint64_t took_ns;
	/* Where another netfgraph detaches or has detached meanwhile: */
	bool is_held_up;
	uint64_t others_ns;             /* how long that one still takes; 0: it is over */
	uint64_t least_ns;              /* what one function took at least */
	const struct attach_cost *cost; /* of one function alone ... */
	uint64_t
		held_up_ns; /* ... and what is added beside the other, as far as is known beforehand */
};

/*
 * attach_long_sec - how many seconds attaching takes by @pace, once that is known and worth saying: more than five. 0: not yet,
 * or less.
 */
uint64_t attach_long_sec(const struct attach_pace *pace);

/*
 * attach_is_fast - whether @want can be attached by shared links, so that the number of functions hardly matters.
 * @want->func_cnt counts only against attach_func_max.
 */
bool attach_is_fast(const struct attach_want *want);

/*
 * attach_func_max - the maximum number of functions for kprobe.session and kprobe.multi on this host; SIZE_MAX: no
 * limit.
 *
 * On a kernel with has_return_hooks, a link has two hooks for each function and possible CPU, and for each CPU a table
 * with room for all of them (objpool_init of 6.7, b4edb8d2d464): memory that grows with the square of the CPUs. It may
 * take a thousandth of the host's memory, or 32 MiB if that is more.
 */
size_t attach_func_max(const struct attach_want *want);

/*
 * attach_thread_bytes - the kernel memory that programs at kprobes leave allocated with the threads that the host has
 * now: a shadow stack of one page each, until the thread ends (fgraph_stack; fprobes use it since 4346ba160409, 6.14).
 * More than 64 MiB, or a 128th of the host's memory if that is more, is used only if --attach or --complete asks for
 * it.
 */
uint64_t attach_thread_bytes(const struct attach_want *want);

/* attach_takes_extras - whether thousands of additional functions take no additional time to attach with @want. */
bool attach_takes_extras(const struct attach_want *want);

/*
 * attach_is_all_by_site - whether all functions will be attached at kprobes; asked before they are chosen.
 *
 * The kernel calls traceable functions around trampoline programs, and kprobe programs would record those calls.
 */
bool attach_is_all_by_site(const struct attach_want *want);

/* attach_uses_sites - whether any mode of @plan is attach_is_by_site. */
bool attach_uses_sites(const struct attach_plan *plan);

/* attach_mode_best - the mode that attach_plan_choose selects if attach_is_open(@want->mode). */
enum attach_mode attach_mode_best(const struct attach_want *want);

#endif
