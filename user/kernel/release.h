#ifndef NFG_KERNEL_RELEASE_H
#define NFG_KERNEL_RELEASE_H

#include <stdbool.h>

/*
 * What only the release tells. A vendor's kernel has other commits than its number says, so types and attempts come first
 * (kernel_ids, probe.h); each line here says why neither can answer, and what a wrong answer costs.
 */
enum release_fact {
	/*
	 * 5.11, "bpf: switch to memcg-based memory accounting": maps and programs are no longer locked memory. To try it takes a map of the very
	 * size that is refused. Wrong: a limit is raised that does not matter.
	 */
	RELEASE_CHARGES_MEMCG,
	/*
	 * 6.6 on x86-64 (473e3150e30a), 6.17 on arm64 (9014cf56f13d): trampolines take arguments from the stack. Known only
	 * when one is attached, a grace period later. Wrong: functions of more arguments are left out, or are refused.
	 */
	RELEASE_TAKES_STACK_ARGS,
	/*
	 * 6.18, 8e4f0b1ebcf2: programs disable migration only where a reader of RCU may be preempted. It is code in an inline
	 * function. Wrong: interrupts inside programs are counted as missed, and not marked.
	 */
	RELEASE_LEAVES_MIGRATION_ON,
	/*
	 * 7.0: the models of preemption that are left all preempt. The word that has the model is in memory that may not be
	 * readable. Wrong: kprobe.session where fentry would do.
	 */
	RELEASE_ALWAYS_PREEMPTS,
	/* 7.2.10: the kernel waits until tasks have left a trampoline. Nothing shows it. Wrong: a pause too many. */
	RELEASE_WAITS_FOR_TRAMPOLINES,
};

/* release_has - whether the running kernel's number says so. */
bool release_has(enum release_fact fact);

#endif
