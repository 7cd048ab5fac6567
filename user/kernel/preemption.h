#ifndef NFG_KERNEL_PREEMPTION_H
#define NFG_KERNEL_PREEMPTION_H

#include <stdbool.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"

/* Whether tasks are preempted inside fentry and fexit programs, which hides other tasks' calls on that CPU. */
enum preemption {
	PREEMPTION_OFF,
	PREEMPTION_UNKNOWN,
	PREEMPTION_ON,
};

/* The facts that decide it. */
struct preemption_facts {
	bool has_guard; /* programs run with preemption on, each with a guard: ca06f55b9002 (5.12) ... */
	bool preempts_readers; /* ... unless rcu_read_lock() turns it off: without task_struct.rcu_read_lock_nesting */
	bool has_no_other;   /* every preemption model selectable at boot preempts */
	const char *version; /* uname -v */
	int dynamic_mode;    /* preempt_dynamic_mode of kernel/sched/core.c; negative: not known */
};

/* preemption_by - the answer for @facts. */
enum preemption preemption_by(const struct preemption_facts *facts);

/* preemption_has_guard - whether each program has a guard against recursion: 5.12. */
bool preemption_has_guard(const struct kbtf *kb);

/* preemption_of - the answer for the running kernel. Reads a word of its memory if the model is chosen at boot. */
enum preemption preemption_of(const struct kbtf *kb, const struct ksyms *ks);

#endif
