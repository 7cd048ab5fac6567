/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_SCOPE_BPF_H
#define NFG_SCOPE_BPF_H

/*
 * Loaded only with --cgroup, --container, --pod or --netns. These programs run at the beginning and end of softirqs, at
 * changes of cgroups and, if sockets decide, where sockets are opened and packets reach them.
 */
#include "packet.bpf.h"
#include "task.bpf.h"
#include "tuple.bpf.h"

SEC("?tp_btf/softirq_entry")
int packet_softirq_entry(void)
{
	struct nfg_cpu *cpu = this_cpu();
	__u32 tid = bpf_get_current_pid_tgid();

	guard_of(cpu)->in_softirq = 1;
	cpu->tree = NFG_TREE_NONE_OPEN;
	put_gate(cpu, tid, guarded_gate(guard_of(cpu), is_cpu_on(cpu) ? packet_gate(tid) : 0));
	return 0;
}

SEC("?tp_btf/softirq_exit")
int packet_softirq_exit(void)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct nfg_cpu *cpu = this_cpu();

	if (cfg.by_packet == NFG_BY_PACKET_ANEW)
		forget_softirq(cpu);
	guard_of(cpu)->in_softirq = 0;
	set_gate(pid_tgid, pid_tgid >> 32);
	return 0;
}

/* ---- cgroups ---- */

struct cgroup_path {
	char bytes[NFG_CGROUP_PATH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct cgroup_path);
	__type(value, __u8);
} scope_paths SEC(
	".maps"); /* of named cgroups: a cgroup that is created again at its path is in scope again */

/* Cgroups of v1 have separate ids, which may equal ids of the v2 hierarchy. */
static __always_inline bool is_of_v1(const struct cgroup *cgroup)
{
	return cgroup->root->hierarchy_id != 0;
}

/* arguments: cgroup, path */
static __always_inline int cgroup_made(__u64 *ctx)
{
	const struct cgroup *cgroup = (void *)ctx[0];
	struct cgroup_path path = { 0 };
	__u64 id = cgroup->kn->id;
	__u8 in = 1;

	if (is_of_v1(cgroup))
		return 0;
	if (bpf_probe_read_kernel_str(path.bytes, sizeof(path.bytes), (void *)ctx[1]) < 0)
		return 0;
	if (bpf_map_lookup_elem(&scope_paths, &path))
		bpf_map_update_elem(&scope_cgroups, &id, &in, BPF_ANY);
	return 0;
}

struct task_struct___before_5_16 {
	unsigned int cpu;
} __attribute__((preserve_access_index));

static __always_inline __u32 cpu_of(const struct task_struct *task)
{
	const struct task_struct___before_5_16 *old = (const void *)task;

	if (bpf_core_field_exists(old->cpu))
		return BPF_CORE_READ(old, cpu);
	return BPF_CORE_READ(task, thread_info.cpu);
}

/* 7.x lacks this field: the task may be running. */
static __always_inline bool is_running(const struct task_struct *task)
{
	return !bpf_core_field_exists(task->on_cpu) || BPF_CORE_READ(task, on_cpu);
}

/* Whether the gate of the CPU on which @task runs is wrong: it stays so until user space calls gate_sync there. */
static __always_inline bool has_wrong_gate(const struct task_struct *task, bool is_in)
{
	const struct nfg_cpu *cpu = &cpus[cpu_of(task) & (NFG_CPU_CNT - 1)];
	__u32 gate = cfg.by_starts ? ALWAYS(cpu->start_gate) : ALWAYS(cpu->gate);

	return is_running(task) && ((gate & NFG_GATE_PACKET) || !(gate & NFG_GATE_OPEN) == is_in);
}

static __always_inline void send_moved(const struct task_struct *task, bool is_whole, bool is_in)
{
	struct nfg_task_seen *seen = bpf_ringbuf_reserve(&task_recs, sizeof(*seen), 0);

	if (!seen) {
		ADD(lost_moves, 1);
		return;
	}
	describe_task(seen, task, NFG_TASK_MOVED);
	seen->is_whole = is_whole;
	seen->cpu = cpu_of(task);
	seen->is_in = is_in;
	bpf_ringbuf_submit(seen, BPF_RB_NO_WAKEUP);
}

/*
 * Arguments: cgroup, path, task. Reports only the leader, even if all its threads move. A task that is not running is
 * checked when it is switched to.
 */
static __always_inline int cgroup_joined(__u64 *ctx)
{
	const struct cgroup *cgroup = (void *)ctx[0];
	const struct task_struct *task = (void *)ctx[2];
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	bool is_whole = task->signal->nr_threads > 1;
	bool is_in;

	if (is_of_v1(cgroup))
		return 0;
	is_in = is_cgroup_in_scope(cgroup, cgroup->kn->id);
	if ((__u32)task->pid == (__u32)pid_tgid) {
		guard_of(this_cpu())->places = places_of_current();
		set_gate(pid_tgid, pid_tgid >> 32);
	}
	if (is_whole || ((__u32)task->pid != (__u32)pid_tgid && has_wrong_gate(task, is_in)))
		send_moved(task, is_whole, is_in);
	return 0;
}

/* ---- sockets and namespaces ---- */

/* Follow the places of the current task, which may have entered another namespace since it was switched to. */
static __always_inline void follow_places(void)
{
	struct nfg_guard *guard = guard_of(this_cpu());
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 places = places_of_current();

	if (guard->places == places)
		return;
	guard->places = places;
	set_gate(pid_tgid, pid_tgid >> 32);
}

/*
 * Arguments: net, family, priority, prot, kern. The task may have entered the namespace, or the cgroup, since it was
 * switched to. If it is out of scope, a packet without a socket may be for its socket.
 */
static __always_inline int socket_made(__u64 *ctx)
{
	const struct net *net = (void *)ctx[0];
	__u32 family = ctx[1];
	__u64 cookie;

	if ((__u32)ctx[4])
		return 0; /* a socket of the kernel */
	if (!follows_netns()) {
		follow_places();
		return 0;
	}
	cookie = cookie_of_net(net);
	if (places_of_current() & NFG_SCOPE_CGROUP)
		use_netns(net->ns.inum, cookie);
	else if (family == AF_INET_ || family == AF_INET6_)
		netns_has_stranger(net->ns.inum, cookie, bpf_ktime_get_ns());
	return 0;
}

/* Whether packets reach the socket; other sockets, such as netlink listeners, are only notified. */
static __always_inline bool is_of_ip(struct sock *sk)
{
	const __u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);

	return family == AF_INET_ || family == AF_INET6_;
}

/*
 * A packet was refused because of a socket, and has reached @sk: if that is another socket, in scope, the packet's
 * calls are lost.
 */
static __always_inline int check_owner(struct nfg_cpu *cpu, struct sock *sk)
{
	struct nfg_guard *guard = guard_of(cpu);
	const __u32 owner = guard->owner;
	__u64 *slot = &owners[owner & (NFG_OWNER_SLOTS - 1)];
	__u32 frame;

	if (!(owner & NFG_OWNER_BELIEVED) || ALWAYS(*slot) == (__u64)sk)
		return 0;
	ARCH_FRAME(frame);
	if (!is_of_ip(sk) || is_tree_over(cpu, frame << 16) || verdict_of_sock(sk) != NFG_TREE_OURS)
		return 0;
	ADD(lost_packets, 1);
	guard->owner = NFG_OWNER_NONE; /* only once, whichever copy of this program runs next */
	ALWAYS(*slot) = 0;
	return 0;
}

/*
 * Argument: the socket whose filter the kernel runs for a received packet of any protocol. Here the tree of a packet
 * with an unknown owner is decided, whichever functions are traced.
 */
static __always_inline int owner_found(__u64 *ctx)
{
	struct sock *sk = (void *)ctx[0];
	struct nfg_cpu *cpu = this_cpu();
	__u32 frame;

	if (!(cpu->gate & NFG_GATE_PACKET))
		return 0;
	if (cpu->tree == NFG_TREE_NOT_OURS)
		return check_owner(cpu, sk);
	if (cpu->tree != NFG_TREE_OPEN_UNSURE || !is_of_ip(sk))
		return 0;
	ARCH_FRAME(frame);
	if (is_tree_over(cpu, frame << 16)) {
		cpu->tree = NFG_TREE_NONE_OPEN;
		return 0;
	}
	cpu->tree = verdict_of_sock(sk);
	if (cpu->tree == NFG_TREE_NOT_OURS) {
		owner_learn(guard_of(cpu), sk);
		guard_of(cpu)->packet_cnt++;
		cpu->tree = NFG_TREE_NOT_AFTER_ALL;
	}
	return 0;
}

/* Arguments: inode, enum nfg_netns_news, time. Run by user space. */
SEC("?raw_tp")
int netns_told(__u64 *ctx)
{
	__u32 inum = ctx[0];
	struct nfg_netns *known;

	switch (ctx[1]) {
	case NFG_NETNS_USED:
		return netns_is_used(inum, 0);
	case NFG_NETNS_STRANGER:
		return netns_has_stranger(inum, 0, ctx[2]);
	}
	known = bpf_map_lookup_elem(&scope_netns, &inum);
	if (!known)
		return 0;
	known->settled_ns = ctx[2];
	if (known->is_used && known->stranger_ns > known->settled_ns)
		ADD(netns_news_cnt, 1); /* one that came, and may have gone, since */
	return 0;
}

/* ---- programs in which tasks may be preempted ---- */

#define COPY_OF(section, name, nr)  \
	SEC("?" section)            \
	int name##_##nr(__u64 *ctx) \
	{                           \
		return name(ctx);   \
	}
#define COPIES(name, section)     \
	COPY_OF(section, name, 1) \
	COPY_OF(section, name, 2) \
	COPY_OF(section, name, 3)

NFG_COPIED(COPIES)

#endif
