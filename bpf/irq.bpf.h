/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_IRQ_BPF_H
#define NFG_IRQ_BPF_H

/*
 * Interrupts that come while a program runs: until they are through the kernel skips it (guard.bpf.h), so of the
 * functions that this one program is for either all entries are missing or all returns, and nothing of other
 * functions. Such an interrupt stands between two records. Its reader sees whether every call has both its ends, and
 * then nothing is missing (user/attach/rings.c); else it leaves the interrupt out as a whole. What its task has open is not
 * concerned.
 *
 * Where calls are summed up an interrupt leaves the task's stack as it found it. What it adds to the sums is so, for
 * a call that has both ends had no other between them.
 *
 * From 5.12 on, not with PREEMPT_RT. At softirqs and at the handlers of devices; interrupts of timers and between
 * CPUs have no tracepoint that all kernels share.
 */

/* The ring is full: what is missing in this interrupt could not be told, so all of it is. */
static __always_inline void shut_gates(struct nfg_cpu *cpu, struct nfg_irq *irq)
{
	irq->is_shut = 1;
	irq->gate = cpu->gate;
	irq->root_gate = cpu->root_gate;
	cpu->gate = doubtful_gate(irq->gate);
	cpu->root_gate = 0;
}

/* As they were, unless somebody has set them since. */
static __always_inline void reopen_gates(struct nfg_cpu *cpu, const struct nfg_irq *irq)
{
	if (!is_cpu_on(cpu))
		return;
	if (cpu->gate == doubtful_gate(irq->gate))
		cpu->gate = irq->gate;
	if (!cpu->root_gate)
		cpu->root_gate = irq->root_gate;
}

static __always_inline bool has_open_root(__u32 tid)
{
	__u32 key = root_key(tid);

	return cfg.by_roots && bpf_map_lookup_elem(&open_roots, &key);
}

static __always_inline __u32 open_call_cnt(struct nfg_cpu *cpu)
{
	struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;

	return stack ? ALWAYS(stack->depth) : 0;
}

/* The returns of these calls were missed. */
static __always_inline void drop_calls(struct nfg_cpu *cpu, __u32 depth)
{
	struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;

	if (stack && ALWAYS(stack->depth) > depth)
		__sync_fetch_and_add(&sums_lost.torn_cnt, drop_frames(stack, depth));
}

/* Return: whether a record is to say that it begins. */
static __noinline int irq_begins(struct nfg_cpu *cpu, struct nfg_irq *irq, __u32 cnt)
{
	__u32 gate = cpu->gate ? cpu->gate : cpu->root_gate;

	*irq = (struct nfg_irq){ .cnt = cnt };
	/* where tasks are stuck in programs as well, the doubt is one of the task */
	if (!gate || guard_of(cpu)->stuck_cnt)
		return 0;
	irq->is_watched = 1;
	irq->has_root = has_open_root(gate & NFG_TASK_TID);
	if (cfg.sum_up) {
		irq->depth = open_call_cnt(cpu);
		return 0;
	}
	irq->is_marked = !is_full(cpu);
	if (!irq->is_marked)
		shut_gates(cpu, irq);
	return irq->is_marked;
}

/* A root that it opened and did not close is closed. */
static __noinline int irq_ends(struct nfg_cpu *cpu, struct nfg_irq *irq, __u32 tid)
{
	irq->cnt = 0;
	if (!irq->is_watched)
		return 0;
	if (irq->is_shut)
		reopen_gates(cpu, irq);
	if (!irq->has_root && has_open_root(tid)) {
		forget_root(tid);
		cpu->gate = 0;
	}
	if (cfg.sum_up)
		drop_calls(cpu, irq->depth);
	return 0;
}

/* What task_struct.migration_disabled is at least when this interrupt came inside a program; less 1. */
static __always_inline __u32 calm_cnt(const struct nfg_guard *guard, enum nfg_irq_level level)
{
	__u32 cnt = level == NFG_IRQ_HARD ? guard->irqs[NFG_IRQ_SOFT].cnt : 0;

	return cnt ? cnt : own_migrate_cnt;
}

/* An end that found no room goes into the slack, as that of a doubt does (task.bpf.h). */
#define TEMPLATE_IRQ(name, tracepoint, level, mark_fn)                                         \
	SEC("?tp_btf/" tracepoint "_entry")                                                    \
	int name##_begins(void)                                                                \
	{                                                                                      \
		__u32 cnt = migrate_cnt(bpf_get_current_task_btf());                           \
		struct nfg_guard *guard;                                                       \
		struct nfg_cpu *cpu;                                                           \
                                                                                               \
		if (cnt <= own_migrate_cnt)                                                    \
			return 0;                                                              \
		cpu = this_cpu();                                                              \
		guard = guard_of(cpu);                                                         \
		if (cnt > calm_cnt(guard, level) && irq_begins(cpu, &guard->irqs[level], cnt)) \
			mark_fn(cpu, NFG_SWITCH_IRQ | (__u32)bpf_get_current_pid_tgid());      \
		return 0;                                                                      \
	}                                                                                      \
                                                                                               \
	SEC("?tp_btf/" tracepoint "_exit")                                                     \
	int name##_ends(void)                                                                  \
	{                                                                                      \
		struct nfg_cpu *cpu = this_cpu();                                              \
		struct nfg_irq *irq = &guard_of(cpu)->irqs[level];                             \
		__u32 tid;                                                                     \
                                                                                               \
		if (!irq->cnt)                                                                 \
			return 0;                                                              \
		tid = bpf_get_current_pid_tgid();                                              \
		if (irq->is_marked)                                                            \
			mark_fn(cpu, NFG_TASK_EXIT | NFG_SWITCH_IRQ | (tid & NFG_TASK_TID));   \
		irq_ends(cpu, irq, tid);                                                       \
		return 0;                                                                      \
	}

TEMPLATE_IRQ(softirq_lookup, "softirq", NFG_IRQ_SOFT, mark_lookup)
TEMPLATE_IRQ(softirq_flat, "softirq", NFG_IRQ_SOFT, mark_flat)
TEMPLATE_IRQ(hardirq_lookup, "irq_handler", NFG_IRQ_HARD, mark_lookup)
TEMPLATE_IRQ(hardirq_flat, "irq_handler", NFG_IRQ_HARD, mark_flat)

#endif
