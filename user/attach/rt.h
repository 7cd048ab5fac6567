#ifndef NFG_ATTACH_RT_H
#define NFG_ATTACH_RT_H

#include <stdbool.h>

#include "kernel/kbtf.h"

/*
 * Kernels with PREEMPT_RT: locks sleep, softirqs and interrupts run in tasks, and all of them are preempted.
 */

/* rt_is_kernel - whether the running kernel has PREEMPT_RT. */
bool rt_is_kernel(void);

/* Facts that decide whether such a kernel can be traced. */
struct rt_facts {
	bool is_rt;
	bool has_fetching_atomics; /* probe_fetching_atomics */
	bool has_sleeping_ringbuf; /* rt_has_sleeping_ringbuf */
	bool has_packets;          /* in softirqs the packet decides (taskscope_has_packets) */
};

/*
 * rt_has_sleeping_ringbuf - whether a BPF ring buffer takes a sleeping lock, which a program at a tracepoint must
 * not: up to 6.1.114 and 6.11.5 (8b62645b09f8).
 */
bool rt_has_sleeping_ringbuf(const struct kbtf *kb);

/* rt_obstacle - why such a trace cannot begin, in one line; *hint: what to do. NULL: it can. */
const char *rt_obstacle(const struct rt_facts *facts, const char **hint);

#endif
