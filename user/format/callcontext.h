#ifndef NFG_FORMAT_CALLCONTEXT_H
#define NFG_FORMAT_CALLCONTEXT_H

#include "base/text.h"
#include "format/calltree.h"

/* The kernel context of a call: the task that is shown with it, or an interrupt of that task. */
enum call_context {
	CALL_CONTEXT_TASK,
	CALL_CONTEXT_SOFTIRQ,
	CALL_CONTEXT_HARDIRQ,
};

/*
 * call_context_entered - the context in which the function @name always runs. From a table of the functions by which
 * the kernel enters softirqs and hard interrupts, and of those that receive packets, which run in a softirq or with
 * softirqs disabled (net/core/dev.c). CALL_CONTEXT_TASK: it runs in its caller's context.
 */
enum call_context call_context_entered(struct text name);

/*
 * call_context_outermost - what @call, of @task, runs in as far as its task tells: outermost calls of the idle task and of
 * ksoftirqd are softirqs where the trace lacks the function that enters them, but for what these tasks do themselves.
 */
enum call_context call_context_outermost(const struct calltask *task, const struct call *call);

#endif
