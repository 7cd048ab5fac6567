/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_GUARD_BPF_H
#define NFG_GUARD_BPF_H

/*
 * Calls that the kernel keeps from our programs. From 5.12 on, as long as a program runs on a CPU, the kernel skips it
 * there for everybody else. A task that is preempted inside one keeps it running until it has the CPU again:
 * calls of the tasks between may lack their entry, their return, or both.
 *
 * Inside a program migration is off (and also elsewhere, which then counts for one), so such a task is seen when it
 * leaves the CPU, and comes back to the same. The tasks between get a record when they take the CPU (EVENT_DOUBT) and
 * one when they leave it (EVENT_SURE). All this happens at context switches alone.
 *
 * Interrupts that come while a program runs lose calls of their own, never of the task: irq.bpf.h.
 */
#include "hot.bpf.h"

struct nfg_guard guards[NFG_CPU_CNT] SEC(".data");

/* What a program at this tracepoint itself adds to the running task: 0, or 1 (7.x). The least that was seen. */
__u32 own_migrate_cnt SEC(".data") = 1;

static __always_inline struct nfg_guard *guard_of(const struct nfg_cpu *cpu)
{
	return &guards[cpu->ring & (NFG_CPU_CNT - 1)];
}

/* How often the task has switched migration off. Not on 5.10, which has no such guard either. */
static __always_inline __u32 migrate_cnt(const struct task_struct *task)
{
	return bpf_core_field_exists(task->migration_disabled) ? task->migration_disabled : 0;
}

static __always_inline void follow_guard(struct nfg_guard *guard, const struct task_struct *prev,
					 const struct task_struct *next)
{
	__u32 cnt = migrate_cnt(prev);

	if (cnt < own_migrate_cnt)
		own_migrate_cnt = cnt;
	if (cnt > own_migrate_cnt)
		guard->stuck_cnt++;
	if (guard->stuck_cnt && migrate_cnt(next))
		guard->stuck_cnt--;
}

/* A record of the switch itself. Nothing has to be looked at for it. */
#define RECORD_MARK(way)                                                                       \
	static __noinline void mark_##way(struct nfg_cpu *cpu, __u32 task)                     \
	{                                                                                      \
		record_open(cpu, NFG_SWITCH_DOUBT | (task & ~NFG_GATE_LOOK), NFG_WAY_##way, 0, \
			    HOW_MARK);                                                         \
	}

RECORD_MARK(nested)
RECORD_MARK(lookup)
RECORD_MARK(flat)

static __always_inline void mark_by(enum nfg_way way, struct nfg_cpu *cpu, __u32 task)
{
	switch (way) {
	case NFG_WAY_nested:
		return mark_nested(cpu, task);
	case NFG_WAY_lookup:
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
 * Where calls may be missed and no record says so (the ring was full, or nothing can be recorded where the gate is
 * opened, or a thread that is not the first got another tid by exec), all are lost, and counted, until the task leaves
 * the CPU; where they are summed up, counted and not summed.
 */
static __always_inline __u32 guarded_gate(const struct nfg_guard *guard, __u32 gate)
{
	if (!guard->stuck_cnt || guard->in_doubt == (NFG_GATE_OPEN | (gate & NFG_TASK_TID)))
		return gate;
	return doubtful_gate(gate);
}

#endif
