/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_TASK_BPF_H
#define NFG_TASK_BPF_H

/*
 * Off the hot path, always attached: who runs on a CPU now, who was born, what tasks are called.
 */

/*
 * NFG_SCOPE_* by tid; tid 0 is every CPU's idle task. Alone in .bss: 4 MiB is all that a
 * map element may measure on 5.10, so everything else that is global goes to .data.
 */
__u8 task_scope[NFG_SCOPE_CNT];

/* Threads were moved to another cgroup without being named: their bytes may be stale. */
__u32 has_moved_threads SEC(".data");

static __always_inline void set_scope_bit(__u32 tid, __u8 bit, bool on)
{
	__u8 *scope = &task_scope[tid & (NFG_SCOPE_CNT - 1)];

	*scope = on ? *scope | bit : *scope & ~bit;
}

static __always_inline bool is_cgroup_in_scope(__u64 id)
{
	return bpf_map_lookup_elem(&scope_cgroups, &id);
}

static __always_inline void follow_cgroup(const struct task_struct *task)
{
	__u64 id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);

	set_scope_bit(task->pid, NFG_SCOPE_CGROUP, is_cgroup_in_scope(id));
}

static __always_inline void follow_netns(const struct task_struct *task)
{
	__u32 inum = BPF_CORE_READ(task, nsproxy, net_ns, ns.inum);

	set_scope_bit(task->pid, NFG_SCOPE_NETNS, bpf_map_lookup_elem(&scope_netns, &inum));
}

static __always_inline __u32 packet_gate(__u32 tid)
{
	return NFG_GATE_OPEN | NFG_GATE_LOOK | NFG_GATE_PACKET | tid;
}

static __always_inline __u32 gate_of(__u32 tid, __u32 tgid)
{
	__u8 scope = task_scope[tid & (NFG_SCOPE_CNT - 1)];
	__u32 gate = NFG_GATE_OPEN | tid;

	if (cfg.scope_packets && scope & NFG_SCOPE_KTHREAD)
		return packet_gate(tid);
	if ((scope & cfg.scope_need) != cfg.scope_need)
		return 0;
	if (tgid == cfg.self_tgid || scope & NFG_SCOPE_CARRIER)
		gate |= NFG_GATE_SELF | NFG_GATE_LOOK;
	if (cfg.skip_hardirq)
		gate |= NFG_GATE_LOOK;
	return gate;
}

static __always_inline void set_gate(__u32 tid, __u32 tgid)
{
	struct nfg_cpu *cpu = this_cpu();
	__u32 gate = armed && !cpu->muted ? gate_of(tid, tgid) : 0;

	if (cfg.scope_packets)
		cpu->tree = NFG_TREE_NONE_OPEN;
	put_gate(cpu, tid, gate);
	if (cfg.sum_up)
		follow_stack(cpu, tid, gate);
}

/* preempt, prev, next; interrupts are off until next runs */
SEC("tp_btf/sched_switch")
int task_switch(__u64 *ctx)
{
	const struct task_struct *prev = (void *)ctx[1];
	const struct task_struct *next = (void *)ctx[2];

	if (cfg.sum_up && is_dead(prev))
		give_stack(prev->pid);
	if (cfg.scope_by_cgroup && has_moved_threads)
		follow_cgroup(next);
	if (cfg.scope_by_netns)
		follow_netns(next);
	set_gate(next->pid, next->tgid);
	return 0;
}

/*
 * Run by user space on each CPU after it has changed what gates depend on: the task that is
 * running there may not be switched for long.
 */
SEC("raw_tp")
int gate_sync(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	if (cfg.scope_by_cgroup) {
		const struct task_struct *task = (void *)bpf_get_current_task();
		__u64 id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);

		set_scope_bit(pid_tgid, NFG_SCOPE_CGROUP, is_cgroup_in_scope(id));
	}
	set_gate(pid_tgid, pid_tgid >> 32);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} task_recs SEC(".maps");

__u64 lost_task_recs SEC(".data");

static __always_inline void send_name(const struct task_struct *task, __u32 kind)
{
	struct nfg_task_rec *rec = bpf_ringbuf_reserve(&task_recs, sizeof(*rec), 0);

	if (!rec) {
		__sync_fetch_and_add(&lost_task_recs, 1);
		return;
	}
	rec->time_ns = bpf_ktime_get_ns();
	rec->tid = task->pid;
	rec->kind = kind;
	/* a program that reads kernel memory by probe_read does not load under lockdown */
	for (int i = 0; i < 16; i++)
		rec->comm[i] = task->comm[i];
	bpf_ringbuf_submit(rec, BPF_RB_NO_WAKEUP);
}

#define PF_KTHREAD 0x00200000

/* What a new task has from its parent. */
static __always_inline __u8 inherited(__u8 scope, bool is_thread)
{
	__u8 kept = scope & (NFG_SCOPE_CGROUP | NFG_SCOPE_NETNS | NFG_SCOPE_COMM);

	if (is_thread)
		kept |= scope & NFG_SCOPE_CARRIER;
	if (is_thread ? !(scope & NFG_SCOPE_ALONE) : scope & NFG_SCOPE_INHERIT)
		kept |= scope & (NFG_SCOPE_TASK | NFG_SCOPE_INHERIT);
	return kept;
}

/* Always written, so a reused tid starts clean. */
SEC("tp_btf/sched_process_fork")
int task_fork(__u64 *ctx)
{
	const struct task_struct *parent = (void *)ctx[0];
	const struct task_struct *child = (void *)ctx[1];
	__u8 scope;

	scope = inherited(task_scope[(__u32)parent->pid & (NFG_SCOPE_CNT - 1)],
			  parent->tgid == child->tgid);
	if (child->flags & PF_KTHREAD)
		scope |= NFG_SCOPE_KTHREAD;
	task_scope[(__u32)child->pid & (NFG_SCOPE_CNT - 1)] = scope;
	if (cfg.scope_by_cgroup)
		follow_cgroup(child); /* clone3 may start it in another one */
	if (cfg.scope_by_netns)
		follow_netns(child);
	return 0;
}

/* exec gives a task its new name before this fires */
SEC("tp_btf/sched_process_exec")
int task_exec(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];
	__u32 old_tid = ctx[1];

	send_name(task, NFG_TASK_NAMED);
	if (cfg.sum_up && (__u32)task->pid != old_tid)
		rename_stack(old_tid, task->pid);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int task_exit(__u64 *ctx)
{
	const struct task_struct *task = (void *)ctx[0];

	send_name(task, NFG_TASK_ENDED);
	forget_root(task->pid);
	return 0;
}

#endif
