#ifndef NFG_ATTACH_ATTACH_PLAN_H
#define NFG_ATTACH_ATTACH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/attachmode.h"
#include "kernel/kbtf.h"
#include "kernel/preemption.h"
#include "nfg_abi.h"

/* A function built into every kernel that can be traced: templates are tried with it. */
#define ATTACH_TEMPLATE_FUNC "tcp_v4_rcv"

/* BTF ids in the running kernel; 0: it has none of that name. */
struct kernel_ids {
	uint32_t template_func; /* ATTACH_TEMPLATE_FUNC */
	uint32_t session_kfunc; /* bpf_session_is_return() */
	uint32_t rdonly_cast;   /* bpf_rdonly_cast() ... */
	uint32_t skb_type;      /* ... to struct sk_buff */
	uint32_t sock_type;     /* ... to struct sock */
	uint32_t preempt_var;   /* see kbtf_preempt_var */
	uint32_t preempt_var_offset;
	uint32_t active_var; /* the per-CPU variable bpf_prog_active */
};

/* kernel_ids_find - look them all up in @kb. */
struct kernel_ids kernel_ids_find(const struct kbtf *kb);

/* What decides how programs are attached. */
struct attach_want {
	enum attach_mode mode; /* --attach, --complete, --cheap */
	enum preemption preemption;
	bool has_values;       /* records have values */
	bool has_marks;        /* exits are marked by what the call returned ... */
	bool has_filter;       /* ... or by its arguments, too (--filter) ... */
	bool only_starts_have; /* ... those of start functions alone */
	bool sums_up;          /* calls are summed up in the kernel */
	bool by_packet; /* packets decide (--packet): that takes bpf_rdonly_cast() (6.2) at kprobes */
	bool has_addresses; /* addresses of functions are known */
	uint32_t cpu_cnt;   /* possible CPUs */
	size_t func_cnt;    /* functions to attach */
	size_t extra_cnt;   /* those of them that are func.is_extra */
	struct kernel_ids ids;
};

/* What is attached by which mode. */
struct attach_plan {
	enum attach_mode mode; /* functions; never ATTACH_AUTO */
	enum attach_mode
		fallback; /* functions that @mode refuses; ATTACH_AUTO: they are left out */
	enum attach_mode
		extras; /* functions that are func.is_extra: @mode, or one that is attach_is_by_site */
	bool is_flat;            /* all rings are one map element */
	bool has_bounded_cpu_id; /* probe_bounded_cpu_id */
	bool starts_by_pair; /* start functions go to @fallback: their programs have the filter, those of @mode cannot */
};

/*
 * attach_plan_choose - what this kernel has for @want. Loads nothing but probes.
 *
 * Return: 0, or -EOPNOTSUPP, said on stderr: @want->mode is not to be had on this kernel, or not with what is wanted.
 */
int attach_plan_choose(struct attach_plan *plan, const struct attach_want *want);

/*
 * attach_plan_warn - say that calls may be missed although all are wanted, if that is so.
 *
 * @pair_cnt: functions that @plan->mode has refused, which are attached by fentry and fexit.
 */
void attach_plan_warn(const struct attach_plan *plan, const struct attach_want *want,
		      size_t pair_cnt);

/*
 * attach_is_fast - whether this kernel attaches any number of functions in bearable time, for what is wanted.
 *
 * @want->func_cnt and @want->mode do not matter; ATTACH_PAIR and ATTACH_SESSION asked for are said to be slow where they are.
 */
bool attach_is_fast(const struct attach_want *want);

/*
 * attach_func_max - how many functions kprobe.session and kprobe.multi take on this host; SIZE_MAX: any number.
 *
 * Up to 6.13 a link has two return hooks for each function and possible CPU, and for each CPU a table with room for all of
 * them (objpool_init of 6.7, b4edb8d2d464): memory that grows with the square of the CPUs. It may take a thousandth of
 * the host's, and 32 MiB.
 */
size_t attach_func_max(uint32_t cpu_cnt);

/* attach_takes_extras - whether thousands of functions more cost no time to attach, for what is wanted. */
bool attach_takes_extras(const struct attach_want *want);

/* attach_is_shared - whether programs of @mode serve many functions, and links are for all of them. */
bool attach_is_shared(enum attach_mode mode);

/* attach_uses_sites - whether anything is attach_is_by_site. */
bool attach_uses_sites(const struct attach_plan *plan);

/* attach_mode_best - the mode that attach_plan_choose takes where @want->mode is open. */
enum attach_mode attach_mode_best(const struct attach_want *want);

#endif
