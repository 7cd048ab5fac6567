/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PREEMPT_BPF_H
#define NFG_PREEMPT_BPF_H

/* What runs: a task, a softirq or a hardware interrupt. */
#include "cpu.bpf.h"

/*
 * x86-64 keeps the preemption counter in a per-CPU variable: __preempt_count, which
 * was a member of pcpu_hot from 6.2 (64701838bf05) to 6.14 (46e8fff6d45f put it back).
 * Neither a __ksym nor a CO-RE type: for one that vmlinux lacks libbpf asks all modules, which takes
 * CAP_SYS_ADMIN.
 */
static __always_inline int preempt_count_by_type(void)
{
	const void *var;
	int cnt;

	asm volatile("%0 = %1 ll" : "=r"(var) : "i"(NFG_PATCH_PREEMPT_VAR));
	var = bpf_this_cpu_ptr(var);
	asm volatile("%0 = *(u32 *)(%1 + %2)"
		     : "=r"(cnt)
		     : "r"(var), "i"(NFG_PATCH_PREEMPT_OFFSET));
	return cnt;
}

#define SOFTIRQ_MASK 0x00000100 /* serving one, not just disabled */
#define HARDIRQ_MASK 0x000f0000

/* Where BTF does not know the variable (5.10). Elsewhere the verifier removes this as dead code. */
static __always_inline int preempt_count_by_address(void)
{
	__u64 addr = cfg.per_cpu_offset_addr;
	__u64 area = 0;
	int cnt = 0;

	if (!cfg.per_cpu_offset_addr)
		return 0;
	addr += bpf_get_smp_processor_id() * sizeof(area);
	if (!bpf_probe_read_kernel(&area, sizeof(area), (void *)addr))
		bpf_probe_read_kernel(&cnt, sizeof(cnt), (void *)(area + cfg.preempt_count_offset));
	return cnt;
}

static __always_inline int preempt_count(void)
{
	if (cfg.has_preempt_var)
		return preempt_count_by_type();
	return preempt_count_by_address();
}

struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

/* With PREEMPT_RT softirqs run in tasks, which have the counter. */
static __always_inline bool is_in_rt_softirq(void)
{
	const struct task_struct___rt *task = 0;

	if (!bpf_core_field_exists(task->softirq_disable_cnt))
		return false;
	task = (const void *)bpf_get_current_task_btf();
	return task->softirq_disable_cnt & SOFTIRQ_MASK;
}

#endif
