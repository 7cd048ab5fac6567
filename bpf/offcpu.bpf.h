/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_OFFCPU_BPF_H
#define NFG_OFFCPU_BPF_H

/*
 * Loaded only with --nosleep-time: records when tasks in scope leave a processor and get one again (NFG_FUNC_SWITCH).
 * These records are among those of their calls, in the same order and with the same losses. Also on CPUs that are not
 * traced (--cpu), because a call may continue elsewhere.
 *
 * Attached after task_switch, which has checked whether the next task is still in scope.
 */
#include "hot.bpf.h"
#include "task.bpf.h"

/* Calls of the idle tasks and of the tracer do not count as sleeping. */
static __always_inline bool is_watched(const struct task_struct *task)
{
	__u32 places = cfg.scope_by_cgroup || cfg.scope_by_netns ? places_of(task) : 0;
	__u32 gate = gate_of(task->pid, task->tgid, places);

	return gate & NFG_TASK_TID && !(gate & NFG_GATE_SELF);
}

static __always_inline int record_switch(const __u64 *ctx, enum nfg_slot slot)
{
	const struct task_struct *prev = (void *)ctx[1];
	const struct task_struct *next = (void *)ctx[2];

	if (!armed)
		return 0;
	if (is_watched(prev))
		record_open(this_cpu(), NFG_TASK_EXIT | (__u32)prev->pid, slot, 0, HOW_PATCHED);
	if (is_watched(next))
		record_open(this_cpu(), (__u32)next->pid, slot, 0, HOW_PATCHED);
	return 0;
}

#define RECORD_SWITCH(slot)                                 \
	SEC("?tp_btf/sched_switch")                         \
	int record_switch_##slot(__u64 *ctx)                \
	{                                                   \
		return record_switch(ctx, NFG_SLOT_##slot); \
	}

NFG_SLOTS(RECORD_SWITCH)

#endif
