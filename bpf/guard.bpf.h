/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_GUARD_BPF_H
#define NFG_GUARD_BPF_H

/*
 * Calls that the kernel hides from our programs. From 5.12 on, while a program runs on a CPU, the kernel skips that
 * program for every other call there. If a task is preempted inside a program, the program counts as running until the
 * task has the CPU again; calls of the tasks in between may lack their entry, their return, or both.
 *
 * Migration is off inside a program, so such a task is recognised when it leaves the CPU, and it returns to the same
 * CPU. (Migration may also be off for other reasons; they cannot be distinguished.) The tasks in between get a record
 * when they take the CPU (EVENT_DOUBT) and one when they leave it (EVENT_SURE). All this is done at context switches
 * only.
 *
 * An interrupt that arrives while a program runs loses its own calls, never the task's: see irq.bpf.h.
 */
#include "hot.bpf.h"

/*
 * The amount by which a program at this tracepoint raises the running task's counter: 0, or 1 (7.x). The least value
 * seen.
 */
__u32 own_migrate_cnt SEC(".data") = 1;

/* Cleared by user space if tasks cannot be preempted inside our programs, because these are at kprobes (site.bpf.h). */
__u32 needs_guard SEC(".data") = 1;

/* How many times the task has disabled migration. 5.10 has neither this counter nor the guard. */
static __always_inline __u32 migrate_cnt(const struct task_struct *task)
{
	return bpf_core_field_exists(task->migration_disabled) ? task->migration_disabled : 0;
}

/*
 * The number of tasks preempted on this CPU while it skips programs at kprobes. Our programs are not preempted, but a
 * bpf() system call that changes or reads a map disables such programs, and its task may be preempted
 * (bpf_disable_instrumentation).
 */
static __always_inline __u32 active_cnt(void)
{
	const void *var;
	__u32 cnt;

	if (!cfg.has_active_var)
		return 0;
	asm volatile("%0 = %1 ll" : "=r"(var) : "i"(NFG_PATCH_ACTIVE_VAR));
	var = bpf_this_cpu_ptr(var);
	asm volatile("%0 = *(u32 *)(%1 + 0)" : "=r"(cnt) : "r"(var));
	return cnt;
}

static __always_inline void follow_guard(struct nfg_guard *guard, const struct task_struct *prev,
					 const struct task_struct *next)
{
	__u32 cnt = migrate_cnt(prev);

	if (!ALWAYS(needs_guard)) {
		guard->stuck_cnt = active_cnt();
		return;
	}
	if (cnt < own_migrate_cnt)
		own_migrate_cnt = cnt;
	if (cnt > own_migrate_cnt)
		guard->stuck_cnt++;
	if (guard->stuck_cnt && migrate_cnt(next))
		guard->stuck_cnt--;
}

/* A record of the switch itself, without a closer look. */
#define RECORD_MARK(slot)                                                                        \
	static __noinline void mark_##slot(struct nfg_cpu *cpu, __u32 task)                      \
	{                                                                                        \
		record_open(cpu, NFG_SWITCH_DOUBT | (task & ~NFG_GATE_LOOK), NFG_SLOT_##slot, 0, \
			    HOW_MARK);                                                           \
	}

RECORD_MARK(nested)
RECORD_MARK(lookup)
RECORD_MARK(flat)

static __always_inline void mark_by(enum nfg_slot slot, struct nfg_cpu *cpu, __u32 task)
{
	switch (slot) {
	case NFG_SLOT_nested:
		return mark_nested(cpu, task);
	case NFG_SLOT_lookup:
		return mark_lookup(cpu, task);
	default:
		return mark_flat(cpu, task);
	}
}

static __always_inline __u32 doubtful_gate(__u32 gate)
{
	return gate ? (gate & ~NFG_GATE_PACKET) | NFG_GATE_LOOK | NFG_GATE_DOUBT : 0;
}

/*
 * Calls may be missed here without a record of it: the ring was full, nothing can be recorded where the gate is opened,
 * or a thread other than the first got a new tid by exec. Then all calls until the task leaves the CPU count as lost;
 * with sums, they are counted and excluded from the sums.
 */
static __always_inline __u32 guarded_gate(const struct nfg_guard *guard, __u32 gate)
{
	if (!guard->stuck_cnt || guard->in_doubt == (NFG_GATE_OPEN | (gate & NFG_TASK_TID)))
		return gate;
	return doubtful_gate(gate);
}

#endif
