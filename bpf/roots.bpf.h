/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_ROOTS_BPF_H
#define NFG_ROOTS_BPF_H

/*
 * With roots (-G, --preset) a CPU's gate is open only while its task is below one: calls elsewhere cost
 * what a call of a task costs that is not traced. The programs at the roots themselves open and close it.
 * What is shown is decided by user/trace/starts.c all the same; this only keeps the rest from being recorded.
 */

/* By tid, of idle tasks ROOT_KEY_IDLE | cpu: the call that opened, frame << 16 | func_id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NFG_ROOT_TASK_CNT);
	__type(key, __u32);
	__type(value, __u32);
} open_roots SEC(".maps");

__u64 lost_roots SEC(".data"); /* roots that did not open: too many tasks are below one */

#define ROOT_KEY_IDLE 0x80000000u
#define EEXIST_       17
#define NOEXIST       1 /* BPF_NOEXIST */

static __always_inline __u32 root_key(__u32 tid)
{
	return tid ? tid : ROOT_KEY_IDLE | bpf_get_smp_processor_id();
}

/* @gate: as scope has it, for the task @tid that this CPU runs. */
static __always_inline void put_gate(struct nfg_cpu *cpu, __u32 tid, __u32 gate)
{
	if (cfg.by_roots) {
		__u32 key = root_key(tid);

		cpu->root_gate = gate;
		if (gate && !bpf_map_lookup_elem(&open_roots, &key))
			gate = 0;
	}
	if (cpu->gate != gate)
		cpu->gate = gate;
}

/*
 * The entry of a root while the gate is closed. An interrupt's root may come between the two steps: it finds
 * the task's call there, and leaves it. Return: the gate, 0: it stays closed.
 */
static __always_inline __u32 open_for(struct nfg_cpu *cpu, __u32 call, void *ctx, enum how how)
{
	__u32 gate = cpu->root_gate;
	__u32 key = root_key(gate & NFG_TASK_TID);
	long err;

	if (!gate || (cfg.by_packet && !packet_is_wanted(ctx, how)))
		return 0;
	err = bpf_map_update_elem(&open_roots, &key, &call, NOEXIST);
	if (err && err != -EEXIST_) {
		__sync_fetch_and_add(&lost_roots, 1);
		return 0;
	}
	cpu->gate = gate;
	return gate;
}

static __noinline __u32 open_root_patched(struct nfg_cpu *cpu, __u32 call, void *ctx)
{
	return open_for(cpu, call, ctx, HOW_PACKET_ARG);
}

static __noinline __u32 open_root_cookie(struct nfg_cpu *cpu, __u32 call, void *ctx)
{
	return open_for(cpu, call, ctx, HOW_COOKIE);
}

/* The exit of a root: of the one that opened? */
static __noinline int close_root(struct nfg_cpu *cpu, __u32 call)
{
	__u32 key = root_key(cpu->root_gate & NFG_TASK_TID);
	__u32 *opener = bpf_map_lookup_elem(&open_roots, &key);

	if (!opener || *opener != call)
		return 0;
	bpf_map_delete_elem(&open_roots, &key);
	cpu->gate = 0;
	return 0;
}

static __always_inline __u32 this_call(void *ctx, enum how how)
{
	__u16 func_id = how == HOW_COOKIE ? bpf_get_attach_cookie(ctx) : patched_func_id();
	__u32 frame;

	asm volatile("%0 = w10" : "=w"(frame));
	return frame << 16 | func_id;
}

static __always_inline __u32 open_root(struct nfg_cpu *cpu, void *ctx, enum how how)
{
	__u32 call = this_call(ctx, how);

	return how == HOW_COOKIE ? open_root_cookie(cpu, call, ctx)
				 : open_root_patched(cpu, call, ctx);
}

static __always_inline void forget_root(__u32 tid)
{
	__u32 key = root_key(tid);

	if (cfg.by_roots)
		bpf_map_delete_elem(&open_roots, &key);
}

#endif
