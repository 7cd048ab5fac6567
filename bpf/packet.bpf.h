/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PACKET_BPF_H
#define NFG_PACKET_BPF_H

/*
 * Whose packet is it? In a softirq the running task is unrelated to the packet. The first traced function that has an
 * skb or a sock as an argument opens a tree, and the owner of that argument decides for the whole tree: the socket's
 * cgroup, else the network namespace of the socket or device. While this is undecided (a shared namespace, before the
 * socket is found), the calls are recorded as unsure, and a later function of the tree decides for all of them.
 *
 * Loaded only with --cgroup, --container, --pod or --netns. probe_read: not under lockdown=confidentiality.
 */
#include "patched.bpf.h"
#include "place.bpf.h"
#include "preempt.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u8);
} carrier_sockets SEC(".maps"); /* by inode: they forward our output to the user */

#define TCP_TIME_WAIT    6
#define TCP_NEW_SYN_RECV 12
#define CGROUP_ROOT_ID   1

static __always_inline enum nfg_tree verdict_of_net(const struct net *net)
{
	__u32 inum = BPF_CORE_READ(net, ns.inum);
	const struct nfg_netns *known = bpf_map_lookup_elem(&scope_netns, &inum);

	if (!known || !known->is_used || is_another_netns(known, cookie_of_net(net)))
		return NFG_TREE_NOT_OURS;
	return known->stranger_ns > known->settled_ns ? NFG_TREE_OPEN_UNSURE : NFG_TREE_OURS;
}

static __always_inline struct cgroup *cgroup_of_sock(struct sock *sk)
{
	struct sock_cgroup_data___val *old = (void *)&sk->sk_cgrp_data;
	__u64 val;

	if (!bpf_core_field_exists(old->val))
		return BPF_CORE_READ(sk, sk_cgrp_data.cgroup);
	val = BPF_CORE_READ(old, val);
	return val & 3 ? 0 : (struct cgroup *)val; /* classid or priority instead */
}

/* Only for full sockets: the small ones have no struct socket. */
static __always_inline bool is_carrier(struct sock *sk)
{
	struct socket_alloc *alloc = (void *)BPF_CORE_READ(sk, sk_socket);
	__u64 inode = alloc ? BPF_CORE_READ(alloc, vfs_inode.i_ino) : 0;

	return bpf_map_lookup_elem(&carrier_sockets, &inode);
}

static __always_inline enum nfg_tree verdict_of_sock_net(const struct sock *sk)
{
	return verdict_of_net(BPF_CORE_READ(sk, __sk_common.skc_net.net));
}

/*
 * sk_cgrp_data follows the creator; for a socket created by the kernel it is the root cgroup. Where strangers have sockets,
 * such a one is theirs as far as anybody can tell.
 */
static __noinline __u32 verdict_by_cgroup(struct sock *sk)
{
	const struct cgroup *cgroup = cgroup_of_sock(sk);
	__u64 id = cgroup ? BPF_CORE_READ(cgroup, kn, id) : 0;
	bool is_in = id && is_cgroup_in_scope(cgroup, id);
	enum nfg_tree by_net;

	if (is_in && !cfg.scope_by_netns)
		return NFG_TREE_OURS;
	if (!is_in && id > CGROUP_ROOT_ID)
		return NFG_TREE_NOT_OURS;
	by_net = verdict_of_sock_net(sk);
	if (is_in && by_net != NFG_TREE_NOT_OURS)
		return NFG_TREE_OURS;
	if (id && by_net == NFG_TREE_OPEN_UNSURE)
		return NFG_TREE_NOT_OURS;
	return by_net;
}

/* @net: decides if there is no @sk; may be NULL. */
static __always_inline enum nfg_tree verdict_of_both(struct sock *sk, const struct net *net)
{
	if (sk) {
		__u8 state = BPF_CORE_READ(sk, __sk_common.skc_state);
		/* these two are not full sockets and have no cgroup */
		bool is_full = state != TCP_TIME_WAIT && state != TCP_NEW_SYN_RECV;

		if (is_full && cfg.skip_sockets && is_carrier(sk))
			return NFG_TREE_NOT_OURS;
		if (is_full && cfg.scope_by_cgroup)
			return verdict_by_cgroup(sk);
		net = BPF_CORE_READ(sk, __sk_common.skc_net.net);
	}
	return net ? verdict_of_net(net) : NFG_TREE_OPEN_UNSURE;
}

static __always_inline enum nfg_tree verdict_of_sock(struct sock *sk)
{
	return verdict_of_both(sk, 0);
}

/*
 * A packet that crosses from one namespace to another keeps the sender's socket until ip_rcv_core() (4.19,
 * 9c4c325252c5): a socket of another namespace than the device's is not the receiver's.
 */
static __always_inline enum nfg_tree verdict_of(const struct packet_arg *arg)
{
	struct sock *sk = (void *)arg->ptr;
	const struct net *net = 0;

	if (sk && arg->kind != NFG_ARG_SK) {
		const struct sk_buff *skb = (void *)arg->ptr;
		const struct net_device *dev = BPF_CORE_READ(skb, dev);

		sk = BPF_CORE_READ(skb, sk);
		net = dev ? BPF_CORE_READ(dev, nd_net.net) : 0;
		if (net && sk && net != BPF_CORE_READ(sk, __sk_common.skc_net.net))
			sk = 0;
	}
	return verdict_of_both(sk, net);
}

/* Results of packet_entry and packet_exit: the record's NFG_TREE_* flags, or that it is not wanted. */
#define NOT_WANTED 0xffffffffu

static __always_inline __u32 tree_flags(const struct nfg_cpu *cpu)
{
	return cpu->tree == NFG_TREE_OPEN_UNSURE ? NFG_TREE_UNSURE : 0;
}

/*
 * A stack grows down: a call at or above the tree's first call, on the same stack of 16 KiB, comes after it, even if
 * the exit of the first was not seen (guard.bpf.h). An interrupt's calls are on another stack, which may have the
 * same low bits.
 */
static __always_inline bool is_tree_over(const struct nfg_cpu *cpu, __u32 call)
{
	__u32 first = cpu->tree_call >> 16;
	__u32 frame = call >> 16;

	if (first == frame && frame & NFG_FRAME_SITE && cpu->tree_call != call)
		return false; /* a tail call of it */
	return first <= frame && !((first ^ frame) >> 14) && !(preempt_count() & HARDIRQ_MASK);
}

/* @call: which function and which call of it, frame << 16 | func_id. */
static __always_inline __u32 packet_entry(struct nfg_cpu *cpu, const struct packet_arg *arg,
					  __u32 call)
{
	bool is_first;

	if (cpu->tree != NFG_TREE_NONE_OPEN && is_tree_over(cpu, call))
		cpu->tree = NFG_TREE_NONE_OPEN;
	if (cpu->tree == NFG_TREE_NOT_OURS || cpu->tree == NFG_TREE_NOT_AFTER_ALL)
		return NOT_WANTED;
	is_first = cpu->tree == NFG_TREE_NONE_OPEN;
	if (arg->kind == NFG_ARG_NONE)
		return is_first ? NOT_WANTED : tree_flags(cpu);
	if (!is_first && cpu->tree != NFG_TREE_OPEN_UNSURE)
		return 0;
	/* one place: the kernel's time to load a program grows with the square of what it finds unreachable */
	cpu->tree = verdict_of(arg);
	if (is_first)
		cpu->tree_call = call;
	if (cpu->tree != NFG_TREE_NOT_OURS)
		return tree_flags(cpu) | (is_first ? NFG_TREE_ROOT : 0);
	if (!is_first)
		cpu->tree = NFG_TREE_NOT_AFTER_ALL;
	return NOT_WANTED;
}

static __always_inline __u32 packet_exit(struct nfg_cpu *cpu, __u32 call)
{
	__u32 tree = cpu->tree;
	__u32 flags = tree_flags(cpu);

	if (tree == NFG_TREE_NONE_OPEN)
		return NOT_WANTED;
	if (cpu->tree_call != call)
		return tree == NFG_TREE_OURS || tree == NFG_TREE_OPEN_UNSURE ? flags : NOT_WANTED;
	cpu->tree = NFG_TREE_NONE_OPEN;
	if (tree == NFG_TREE_NOT_OURS)
		return NOT_WANTED;
	return flags | NFG_TREE_ROOT | (tree == NFG_TREE_NOT_AFTER_ALL ? NFG_TREE_DROP : 0);
}

#endif
