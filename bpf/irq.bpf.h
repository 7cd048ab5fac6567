/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_IRQ_BPF_H
#define NFG_IRQ_BPF_H

/*
 * Interrupts that arrive while a program runs. The kernel skips that program until the interrupt ends (guard.bpf.h): of
 * this program's functions all entries or all returns are missing; calls of other functions are complete. Two records
 * enclose such an interrupt. If every call between them has both ends, nothing is missing; else the reader leaves the
 * whole interrupt out (user/attach/rings.c). Calls that the interrupted task has open are not affected.
 *
 * With sums, an interrupt leaves the task's stack as it found it, and adds correct times to the sums: a call with both
 * ends had no other call between them.
 *
 * Used from 5.12 on, but not with PREEMPT_RT. Only softirqs and device handlers are covered: timers and inter-processor
 * interrupts have no tracepoint that all kernels share.
 */
#include "guard.bpf.h"
#include "stacks.bpf.h"
#include "starts.bpf.h"
#include "task.bpf.h"

/* The ring is full: no record could show which calls of this interrupt are missing, so all count as lost. */
static __always_inline void shut_gates(struct nfg_cpu *cpu, struct nfg_irq *irq)
{
	irq->is_shut = 1;
	irq->gate = cpu->gate;
	irq->start_gate = cpu->start_gate;
	cpu->gate = doubtful_gate(irq->gate);
	cpu->start_gate = 0;
}

/* Restore the gates, unless they have been set since. */
static __always_inline void reopen_gates(struct nfg_cpu *cpu, const struct nfg_irq *irq)
{
	if (!is_cpu_on(cpu))
		return;
	if (cpu->gate == doubtful_gate(irq->gate))
		cpu->gate = irq->gate;
	if (!cpu->start_gate)
		cpu->start_gate = irq->start_gate;
}

static __always_inline bool has_open_start(__u32 tid)
{
	__u32 key = task_key(tid);

	return cfg.by_starts && bpf_map_lookup_elem(&open_starts, &key);
}

static __always_inline __u32 open_call_cnt(struct nfg_cpu *cpu)
{
	struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;

	return stack ? ALWAYS(stack->depth) : 0;
}

/* Drop calls whose returns were missed. */
static __always_inline void drop_calls(struct nfg_cpu *cpu, __u32 depth)
{
	struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;

	if (stack && ALWAYS(stack->depth) > depth)
		ADD(sums_lost.torn_cnt, drop_frames(stack, depth));
}

/* Return: whether a record must mark its beginning. */
static __noinline int irq_begins(struct nfg_cpu *cpu, struct nfg_irq *irq, __u32 cnt)
{
	__u32 gate = cpu->gate & NFG_GATE_OPEN ? cpu->gate : cpu->start_gate;

	*irq = (struct nfg_irq){ .cnt = cnt };
	/* if tasks are stuck in programs too, the task's own calls are in doubt */
	if (!gate || guard_of(cpu)->stuck_cnt)
		return 0;
	irq->is_watched = 1;
	irq->has_start = has_open_start(gate & NFG_TASK_TID);
	if (cfg.sum_up) {
		irq->depth = open_call_cnt(cpu);
		return 0;
	}
	irq->is_marked = !is_full(cpu);
	if (!irq->is_marked)
		shut_gates(cpu, irq);
	return irq->is_marked;
}

/* Close a gate that a start function in the interrupt opened and did not close. */
static __noinline int irq_ends(struct nfg_cpu *cpu, struct nfg_irq *irq, __u32 tid)
{
	irq->cnt = 0;
	if (!irq->is_watched)
		return 0;
	if (irq->is_shut)
		reopen_gates(cpu, irq);
	if (!irq->has_start && has_open_start(tid)) {
		forget_start(tid);
		cpu->gate = shut_gate(tid);
	}
	if (cfg.sum_up)
		drop_calls(cpu, irq->depth);
	return 0;
}

/* The minimum of task_struct.migration_disabled if this interrupt arrived inside a program, less 1. */
static __always_inline __u32 calm_cnt(const struct nfg_guard *guard, enum nfg_irq_level level)
{
	__u32 cnt = level == NFG_IRQ_hardirq ? guard->irqs[NFG_IRQ_softirq].cnt : 0;

	return cnt ? cnt : own_migrate_cnt;
}

/* An end without room goes into the slack, like the end of a doubt (task.bpf.h). */
static __always_inline int irq_enter(enum nfg_irq_level level, enum nfg_slot slot)
{
	__u32 cnt = migrate_cnt(bpf_get_current_task_btf());
	struct nfg_guard *guard;
	struct nfg_cpu *cpu;

	/* with programs at kprobes only: while one runs, the kernel skips all of them and counts that */
	if (cnt <= own_migrate_cnt || !ALWAYS(needs_guard))
		return 0;
	cpu = this_cpu();
	guard = guard_of(cpu);
	if (cnt > calm_cnt(guard, level) && irq_begins(cpu, &guard->irqs[level], cnt))
		mark_by(slot, cpu, NFG_SWITCH_IRQ | (__u32)bpf_get_current_pid_tgid());
	return 0;
}

static __always_inline int irq_exit(enum nfg_irq_level level, enum nfg_slot slot)
{
	struct nfg_cpu *cpu = this_cpu();
	struct nfg_irq *irq = &guard_of(cpu)->irqs[level];
	__u32 tid;

	if (!irq->cnt)
		return 0;
	tid = bpf_get_current_pid_tgid();
	if (irq->is_marked)
		mark_by(slot, cpu, NFG_TASK_EXIT | NFG_SWITCH_IRQ | (tid & NFG_TASK_TID));
	irq_ends(cpu, irq, tid);
	return 0;
}

/* None for nested: before 5.12 the kernel skips no program when an interrupt arrives inside it. */
#define IRQ(level, tracepoint, slot)                                \
	SEC("?tp_btf/" #tracepoint "_entry")                        \
	int level##_begins_##slot(void)                             \
	{                                                           \
		return irq_enter(NFG_IRQ_##level, NFG_SLOT_##slot); \
	}                                                           \
                                                                    \
	SEC("?tp_btf/" #tracepoint "_exit")                         \
	int level##_ends_##slot(void)                               \
	{                                                           \
		return irq_exit(NFG_IRQ_##level, NFG_SLOT_##slot);  \
	}

IRQ(softirq, softirq, lookup)
IRQ(softirq, softirq, flat)
IRQ(hardirq, irq_handler, lookup)
IRQ(hardirq, irq_handler, flat)

#endif
