#ifndef NFG_TRACE_STACKWATCH_H
#define NFG_TRACE_STACKWATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * How much of a kernel stack traced calls leave. Each open call that a trampoline is around takes some 100 bytes more of its
 * task's stack than it does untraced: where calls nest deeply, on stacked devices, say, tracing could run over its end.
 *
 * An event has the low 16 bits of where its call lies (struct nfg_rec). A stack is as large as it is aligned, but that of
 * interrupts, on x86-64, only begins with a page. So a call counts if it follows others of its task down from the highest
 * quarter of such a stack, by no more than a page each. A task that moves or wakes up deep inside is not followed until it is near
 * the top again. A softirq on a stack of interrupts that happens to lie like its task's may be taken for a part of that: what is
 * found is a reason to look, not a proof. Pure: no clock, no I/O.
 */
struct stackwatch {
	uint32_t stack_bytes; /* 0: unknown, nothing is watched */
	uint32_t cpu_cnt;
	uint32_t least_bytes; /* below the deepest call so far; UINT32_MAX: none */
	uint16_t func_id;     /* whose */
	bool is_told;         /* the owner's */
	struct stackwatch_cpu {
		uint32_t tid;
		uint16_t frame; /* of the last call */
		bool is_followed;
	} * cpus;
};

/* What must be left: room for what comes below, interrupts on their way to their own stack included. */
#define STACKWATCH_MIN_BYTES 2048u

/* stackwatch_init - @stack_bytes: of a kernel stack, a power of two; 0: unknown. Return: 0 or -ENOMEM. */
int stackwatch_init(struct stackwatch *sw, uint32_t stack_bytes, uint32_t cpu_cnt);
void stackwatch_release(struct stackwatch *sw);

/* stackwatch_feed - take the next @cnt events. */
void stackwatch_feed(struct stackwatch *sw, const struct event *events, size_t cnt);

/* stackwatch_is_low - whether a call left less than STACKWATCH_MIN_BYTES. */
static inline bool stackwatch_is_low(const struct stackwatch *sw)
{
	return sw->least_bytes < STACKWATCH_MIN_BYTES;
}

#endif
