/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_STARTS_BPF_H
#define NFG_STARTS_BPF_H

/*
 * With start functions (-G, --preset) a CPU's gate is open only while its task is below a start function: other calls
 * cost as little as those of an untraced task. The programs at the start functions open and close the gate.
 * user/trace/starts.c still selects the calls to show; this only avoids recording the others.
 */
#include "filter.bpf.h"
#include "out.bpf.h"

/* The call that opened the gate, frame << 16 | func_id, by tid; for idle tasks by TASK_KEY_IDLE | cpu. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NFG_START_TASK_CNT);
	__type(key, __u32);
	__type(value, __u32);
} open_starts SEC(".maps");

__u64 lost_starts SEC(".data"); /* calls that did not open the gate: no room for their tasks */

#define TASK_KEY_IDLE    0x80000000u
#define TASK_KEY_SOFTIRQ 0x40000000u /* | cpu: for a softirq, with NFG_BY_PACKET_ANEW */

static __always_inline __u32 task_key(__u32 tid)
{
	return tid ? tid : TASK_KEY_IDLE | bpf_get_smp_processor_id();
}

/* The key for start functions that are called on this CPU. @tid: of its task. */
static __always_inline __u32 start_key(const struct nfg_cpu *cpu, __u32 tid)
{
	if (cfg.by_packet == NFG_BY_PACKET_ANEW && guard_of(cpu)->in_softirq)
		return TASK_KEY_SOFTIRQ | bpf_get_smp_processor_id();
	return task_key(tid);
}

/* @gate: the scope's verdict on the task @tid, which this CPU runs. */
static __always_inline void put_gate(struct nfg_cpu *cpu, __u32 tid, __u32 gate)
{
	if (cfg.by_starts) {
		__u32 key = start_key(cpu, tid);

		cpu->start_gate = gate;
		if (gate && !bpf_map_lookup_elem(&open_starts, &key))
			gate = 0;
	}
	gate = counting_gate(gate, tid);
	if (cpu->gate != gate)
		cpu->gate = gate;
}

/*
 * Handle the entry of a start function while the gate is closed. An entry in an interrupt may come between the two
 * steps: it finds the task's call there, and keeps it. @is_wanted: even if --packet does not match. Return: the gate; 0: it
 * stays closed.
 */
static __always_inline __u32 open_for(struct nfg_cpu *cpu, __u32 call, void *ctx, enum how how,
				      bool is_wanted)
{
	__u32 gate = cpu->start_gate;
	__u32 key = start_key(cpu, gate & NFG_TASK_TID);
	int err; /* before 6.4 (d7ba4cc900bf) the upper half of the helper's result is zero */

	if (!gate || (cfg.drops && drops_nothing(ctx, how)) ||
	    (cfg.by_packet && !is_wanted && !packet_is_wanted(ctx, how)) ||
	    (cfg.marks & NFG_MARK_ENTRY && how == HOW_PACKET_ARG && !passes_filter(ctx))) {
		if (ALWAYS(counts_out))
			count_out(0, call & 0xffff);
		return 0;
	}
	err = bpf_map_update_elem(&open_starts, &key, &call, NOEXIST);
	if (err && err != -EEXIST_) {
		ADD(lost_starts, 1);
		return 0;
	}
	cpu->gate = gate;
	return gate;
}

static __noinline __u32 open_start_patched(struct nfg_cpu *cpu, __u32 call, void *ctx)
{
	return open_for(cpu, call, ctx, HOW_PACKET_ARG, false);
}

static __noinline __u32 open_start_cookie(struct nfg_cpu *cpu, __u32 call, void *ctx)
{
	return open_for(cpu, call, ctx, HOW_COOKIE, false);
}

static __noinline __u32 open_start_site(struct nfg_cpu *cpu, __u32 call, void *ctx)
{
	return open_for(cpu, call, ctx, HOW_SITE, false);
}

/* Handle the exit of a start function, possibly not of the call that opened the gate. */
static __noinline int close_start(struct nfg_cpu *cpu, __u32 call)
{
	__u32 key = start_key(cpu, cpu->start_gate & NFG_TASK_TID);
	__u32 *opener = bpf_map_lookup_elem(&open_starts, &key);

	if (!opener || *opener != call)
		return 0;
	bpf_map_delete_elem(&open_starts, &key);
	cpu->gate = shut_gate(cpu->start_gate);
	return 0;
}

/* @task: with NFG_TASK_EXIT at an exit. */
static __always_inline __u32 this_call(void *ctx, __u32 task, enum how how)
{
	__u32 frame = call_frame(ctx, task, how);

	return frame << 16 | func_id_by(how, ctx);
}

static __always_inline __u32 open_start(struct nfg_cpu *cpu, void *ctx, enum how how)
{
	__u32 call = this_call(ctx, 0, how);

	if (how == HOW_SITE)
		return open_start_site(cpu, call, ctx);
	return how == HOW_COOKIE ? open_start_cookie(cpu, call, ctx)
				 : open_start_patched(cpu, call, ctx);
}

static __always_inline void forget_start(__u32 tid)
{
	__u32 key = task_key(tid);

	if (cfg.by_starts)
		bpf_map_delete_elem(&open_starts, &key);
}

#endif
