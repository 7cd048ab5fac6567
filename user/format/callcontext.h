#ifndef NFG_FORMAT_CALLCONTEXT_H
#define NFG_FORMAT_CALLCONTEXT_H

#include "base/text.h"

/* In which context of the kernel a call runs: for the task that is shown with it, or in what interrupted it. */
enum call_context {
	CALL_CONTEXT_TASK,
	CALL_CONTEXT_SOFTIRQ,
	CALL_CONTEXT_HARDIRQ,
};

/*
 * call_context_entered - what the function @name runs in whoever calls it: a table of the functions by which the kernel
 * enters softirqs and hard interrupts, and of those that receive packets, which do so with softirqs running or shut out
 * (net/core/dev.c). CALL_CONTEXT_TASK: it runs in the context of its caller.
 */
enum call_context call_context_entered(struct text name);

#endif
