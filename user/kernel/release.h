#ifndef NFG_KERNEL_RELEASE_H
#define NFG_KERNEL_RELEASE_H

#include <stdbool.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"

/*
 * Facts that only the release tells. A vendor's kernel has other commits than its number suggests, so types and
 * attempts come first (kernel_ids, probe.h); each comment here says why neither can answer, and what a wrong answer
 * costs.
 */
enum release_fact {
	/*
	 * 5.11, "bpf: switch to memcg-based memory accounting": maps and programs are no longer locked memory. An
	 * attempt would need a map of the very size that is refused. Wrong: an irrelevant limit is raised.
	 */
	RELEASE_CHARGES_MEMCG,
	/*
	 * 6.6 on x86-64 (473e3150e30a), 6.17 on arm64 (9014cf56f13d): trampolines take arguments from the stack. An
	 * attempt must attach one, which costs a grace period. Wrong: functions with more arguments are left out, or
	 * are refused.
	 */
	RELEASE_TAKES_STACK_ARGS,
	/*
	 * 6.18, 8e4f0b1ebcf2: programs disable migration only where RCU readers can be preempted. The code is in an
	 * inline function, so nothing shows it. Wrong: interrupts inside programs are counted as missed, and not
	 * marked.
	 */
	RELEASE_LEAVES_MIGRATION_ON,
	/*
	 * 7.0: all remaining preemption models preempt. The word that contains the model is in memory that may not be
	 * readable. Wrong: kprobe.session is used where fentry would do.
	 */
	RELEASE_ALWAYS_PREEMPTS,
	/* 7.2.10: the kernel waits until tasks have left a trampoline. Nothing shows it. Wrong: one pause too many. */
	RELEASE_WAITS_FOR_TRAMPOLINES,
};

/* release_has - whether the running kernel's release implies the fact. */
bool release_has(enum release_fact fact);

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

#endif
