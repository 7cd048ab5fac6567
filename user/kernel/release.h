#ifndef NFG_KERNEL_RELEASE_H
#define NFG_KERNEL_RELEASE_H

#include <stdbool.h>

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
	 * 5.18, 4a9c7bbe2ed4: the verifier takes a tracing program at a struct_ops program for one itself, and follows
	 * a NULL pointer. An attempt would be that oops. Wrong: such programs are left out, or the kernel oopses.
	 */
	RELEASE_VERIFIES_AT_STRUCT_OPS,
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

#endif
