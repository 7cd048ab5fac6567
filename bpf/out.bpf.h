/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_OUT_BPF_H
#define NFG_OUT_BPF_H

/*
 * Unwanted calls: of tasks out of scope, outside start functions, for other packets. They slow their tasks down, and a
 * program that always counted them would cost more. So for a few milliseconds each second user space opens the gates
 * just far enough that such calls are counted before they are refused.
 */
#include "cpu.bpf.h"

/* 1: count them. A CPU adopts it at its next switch, or when user space runs gate_sync there. */
__u32 counts_out SEC(".data");

/* By function. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} out_calls SEC(".maps");

/* The gate for unwanted calls of the task @tid. */
static __always_inline __u32 shut_gate(__u32 tid)
{
	return ALWAYS(counts_out) ? NFG_GATE_LOOK | (tid & NFG_TASK_TID) : 0;
}

/* The replacement of @gate while such calls are counted. */
static __always_inline __u32 counting_gate(__u32 gate, __u32 tid)
{
	if (!gate)
		return shut_gate(tid);
	return gate & NFG_GATE_PACKET && ALWAYS(counts_out) ? gate | NFG_GATE_SELF : gate;
}

/* @task: with NFG_TASK_EXIT at an exit, whose call was counted at its entry. */
static __noinline int count_out(__u32 task, __u32 func_id)
{
	struct nfg_guard *guard = guard_of(this_cpu());
	__u64 *cnt;

	if (task & NFG_TASK_EXIT)
		return 0;
	ADD(guard->out_cnt, 1);
	cnt = bpf_map_lookup_elem(&out_calls, &func_id);
	if (cnt)
		ADD(*cnt, 1);
	return 0;
}

#endif
