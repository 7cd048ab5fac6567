/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PREEMPT_BPF_H
#define NFG_PREEMPT_BPF_H

/* The running context, a task, a softirq or a hardware interrupt; and the state of a task. */
#include "cpu.bpf.h"
#include "arch/arch.bpf.h"

/* linux/preempt.h; preempt_count() comes from arch/ */
#define SOFTIRQ_MASK 0x00000100 /* serving a softirq, not just disabling them */
#define HARDIRQ_MASK 0x000f0000

struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

/* With PREEMPT_RT softirqs run in tasks, which contain the counter. */
static __always_inline bool is_in_rt_softirq(void)
{
	const struct task_struct___rt *task = 0;

	if (!bpf_core_field_exists(task->softirq_disable_cnt))
		return false;
	task = (const void *)bpf_get_current_task_btf();
	return task->softirq_disable_cnt & SOFTIRQ_MASK;
}

struct task_struct___before_5_14 {
	long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 task_state(const struct task_struct *task)
{
	const struct task_struct___before_5_14 *old = (const void *)task;

	if (bpf_core_field_exists(old->state))
		return old->state;
	return task->__state;
}

#endif
