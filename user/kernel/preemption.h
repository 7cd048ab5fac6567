#ifndef NFG_KERNEL_PREEMPTION_H
#define NFG_KERNEL_PREEMPTION_H

#include <stdbool.h>

#include "kernel/ksyms.h"

/* Whether tasks are preempted inside fentry and fexit programs, which hides calls of others on that CPU. */
enum preemption {
	PREEMPTION_OFF,
	PREEMPTION_UNKNOWN,
	PREEMPTION_ON,
};

/* What decides. */
struct preemption_facts {
	bool allows_it;      /* programs run with preemption on: 5.12 */
	bool has_no_other;   /* of the models that are chosen at boot all preempt: 7.0 */
	const char *version; /* uname -v */
	int dynamic_mode;    /* preempt_dynamic_mode of kernel/sched/core.c; negative: not known */
};

/* preemption_by - what @facts say. */
enum preemption preemption_by(const struct preemption_facts *facts);

/* preemption_of - of the running kernel. Reads a word of its memory where the model is chosen at boot. */
enum preemption preemption_of(const struct ksyms *ks);

#endif
