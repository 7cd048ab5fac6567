/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_SCOPE_BPF_H
#define NFG_SCOPE_BPF_H

/* Loaded only with --cgroup, --container, --pod or --netns: where softirqs begin and end, and cgroups change. */
#include "packet.bpf.h"
#include "task.bpf.h"

SEC("?tp_btf/softirq_entry")
int packet_softirq_entry(void)
{
	struct nfg_cpu *cpu = this_cpu();
	__u32 tid = bpf_get_current_pid_tgid();

	in_softirq[cpu->ring & (NFG_CPU_CNT - 1)] = 1;
	cpu->tree = NFG_TREE_NONE_OPEN;
	put_gate(cpu, tid, guarded_gate(guard_of(cpu), is_cpu_on(cpu) ? packet_gate(tid) : 0));
	return 0;
}

SEC("?tp_btf/softirq_exit")
int packet_softirq_exit(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();

	in_softirq[this_cpu()->ring & (NFG_CPU_CNT - 1)] = 0;
	set_gate(pid_tgid, pid_tgid >> 32);
	return 0;
}

SEC("?tp_btf/cgroup_mkdir")
int cgroup_made(__u64 *ctx)
{
	const struct cgroup *cgroup = (void *)ctx[0];
	__u64 parent = BPF_CORE_READ(cgroup, self.parent, cgroup, kn, id);
	__u64 id = BPF_CORE_READ(cgroup, kn, id);
	__u8 in = 1;

	if (is_cgroup_in_scope(parent))
		bpf_map_update_elem(&scope_cgroups, &id, &in, BPF_ANY);
	return 0;
}

/*
 * Reports only the leader, even if all its threads move. From then on, the threads are checked whenever they are
 * switched to.
 */
SEC("?tp_btf/cgroup_attach_task")
int cgroup_joined(__u64 *ctx)
{
	const struct cgroup *cgroup = (void *)ctx[0];
	const struct task_struct *task = (void *)ctx[2];
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tid = BPF_CORE_READ(task, pid);

	set_byte(&task_in_cgroup, tid, is_cgroup_in_scope(BPF_CORE_READ(cgroup, kn, id)));
	if (BPF_CORE_READ(task, signal, nr_threads) > 1)
		has_moved_threads = 1;
	if (tid == (__u32)pid_tgid)
		set_gate(tid, pid_tgid >> 32);
	else
		send_task(
			task,
			NFG_TASK_MOVED); /* it may run elsewhere: user space calls gate_sync there */
	return 0;
}

#endif
