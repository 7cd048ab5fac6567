/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PACKET_BPF_H
#define NFG_PACKET_BPF_H

/*
 * The owner of a packet. In a softirq the running task is unrelated to the packet. The first traced function that has
 * an skb or a sock as an argument opens a tree, and the owner of that argument decides for the whole tree: the socket's
 * cgroup, else the network namespace of the socket or device. While this is undecided (a shared namespace, before the
 * socket is found), the calls are recorded as unsure, and a later function of the tree decides for all of them.
 *
 * Loaded only with --cgroup, --container, --pod or --netns. It uses probe_read, so it does not load under
 * lockdown=confidentiality.
 */
#include "owner.bpf.h"
#include "patched.bpf.h"
#include "place.bpf.h"
#include "preempt.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 64);
	__type(key, __u64);
	__type(value, __u8);
} carrier_sockets SEC(".maps"); /* by inode: they forward our output to the user */

#define CGROUP_ROOT_ID 1

static __always_inline enum nfg_tree verdict_of_net(bool typed, const struct net *net)
{
	__u32 inum = FIELD(typed, net, ns.inum);
	const struct nfg_netns *known = bpf_map_lookup_elem(&scope_netns, &inum);
	__u64 cookie = 0;

	if (!known || !known->is_used)
		return NFG_TREE_NOT_OURS;
	if (bpf_core_field_exists(net->net_cookie))
		cookie = FIELD(typed, net, net_cookie);
	if (is_another_netns(known, cookie))
		return NFG_TREE_NOT_OURS;
	return known->stranger_ns > known->settled_ns ? NFG_TREE_OPEN_UNSURE : NFG_TREE_OURS;
}

static __always_inline struct cgroup *cgroup_of_sock(bool typed, struct sock *sk)
{
	struct sock_cgroup_data___val *old = (void *)&sk->sk_cgrp_data;
	__u64 val;

	if (!bpf_core_field_exists(old->val))
		return FIELD(typed, sk, sk_cgrp_data.cgroup);
	val = BPF_CORE_READ(old, val);
	return val & 3 ? 0 : (struct cgroup *)val; /* classid or priority instead */
}

/* Only for full sockets: request and timewait sockets have no struct socket. */
static __always_inline bool is_carrier(struct sock *sk)
{
	struct socket_alloc *alloc = (void *)BPF_CORE_READ(sk, sk_socket);
	__u64 inode = alloc ? BPF_CORE_READ(alloc, vfs_inode.i_ino) : 0;

	return bpf_map_lookup_elem(&carrier_sockets, &inode);
}

static __always_inline __u64 id_of_cgroup(bool typed, const struct cgroup *cgroup)
{
	const struct kernfs_node *kn = FIELD(typed, cgroup, kn);

	return FIELD(typed, kn, id);
}

/*
 * sk_cgrp_data has the creator's cgroup; for a socket created by the kernel it is the root cgroup. If tasks out of
 * scope have sockets in the namespace, such a socket counts as theirs.
 */
static __noinline __u32 verdict_by_cgroup(void *ptr)
{
	const bool typed = cfg.has_casts;
	struct sock *sk = sock_at(typed, ptr);
	const struct cgroup *cgroup = cgroup_of_sock(typed, sk);
	__u64 id = cgroup ? id_of_cgroup(typed, cgroup) : 0;
	bool is_in = id && is_cgroup_in_scope(cgroup, id);
	enum nfg_tree by_net;

	if (is_in && !cfg.scope_by_netns)
		return NFG_TREE_OURS;
	if (!is_in && id > CGROUP_ROOT_ID)
		return NFG_TREE_NOT_OURS;
	by_net = verdict_of_net(typed, FIELD(typed, sk, __sk_common.skc_net.net));
	if (is_in && by_net != NFG_TREE_NOT_OURS)
		return NFG_TREE_OURS;
	if (id && by_net == NFG_TREE_OPEN_UNSURE)
		return NFG_TREE_NOT_OURS;
	return by_net;
}

/* @net: decides if there is no @sk; may be NULL. */
static __always_inline enum nfg_tree verdict_of_both(bool typed, struct sock *sk,
						     const struct net *net)
{
	if (sk) {
		/* other sockets have no cgroup */
		bool is_full = is_full_sock(FIELD(typed, sk, __sk_common.skc_state));

		if (is_full && cfg.skip_sockets && is_carrier(sk))
			return NFG_TREE_NOT_OURS;
		if (is_full && cfg.scope_by_cgroup)
			return verdict_by_cgroup(sk);
		net = FIELD(typed, sk, __sk_common.skc_net.net);
	}
	return net ? verdict_of_net(typed, net) : NFG_TREE_OPEN_UNSURE;
}

static __always_inline enum nfg_tree verdict_of_sock(const void *ptr)
{
	const bool typed = cfg.has_casts;

	return verdict_of_both(typed, sock_at(typed, ptr), 0);
}

/*
 * A packet that crosses from one namespace to another keeps the sender's socket until ip_rcv_core() (4.19,
 * 9c4c325252c5): a socket in another namespace than the device's is not the receiver's. @of: the namespace of the
 * packet's device; NULL: none.
 */
static __always_inline enum nfg_tree verdict_of(const struct packet_arg *arg, bool typed,
						const struct net **of)
{
	struct sock *sk = sock_at(typed, (void *)arg->ptr);
	const struct net *net = 0;

	*of = 0;
	if (arg->ptr && arg->kind != NFG_ARG_SK) {
		const struct sk_buff *skb = skb_at(typed, (void *)arg->ptr);
		const struct net_device *dev = FIELD(typed, skb, dev);

		sk = FIELD(typed, skb, sk);
		net = dev ? FIELD(typed, dev, nd_net.net) : 0;
		if (net && sk && net != FIELD(typed, sk, __sk_common.skc_net.net))
			sk = 0;
		*of = net;
	}
	return verdict_of_both(typed, sk, net);
}

/* The socket of a function's argument, or NULL. */
static __always_inline struct sock *sock_of_arg(const struct packet_arg *arg)
{
	const struct sk_buff *skb = (void *)arg->ptr;

	return arg->kind == NFG_ARG_SK ? (void *)skb : BPF_CORE_READ(skb, sk);
}

/*
 * Decide a packet whose owner does not follow from its namespace, @net: it is out of scope if it will certainly reach a
 * socket out of scope.
 */
static __noinline __u32 verdict_by_owner(struct nfg_guard *guard, const void *skb, const void *net)
{
	__u64 sk = owner_of(guard, skb, net);

	/* it is a full socket; carriers, which are out of scope too, are decided elsewhere */
	if (!sk || verdict_by_cgroup((void *)sk) != NFG_TREE_NOT_OURS)
		return NFG_TREE_OPEN_UNSURE;
	guard->owner |= NFG_OWNER_BELIEVED;
	return NFG_TREE_NOT_OURS;
}

/* Results of packet_entry and packet_exit: the record's NFG_TREE_* flags, or NOT_WANTED. */
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
		return false; /* a tail call in the tree */
	return first <= frame && !((first ^ frame) >> 14) && !(preempt_count() & HARDIRQ_MASK);
}

/* Act on the verdict of a tree's first function with a packet, or of a later one. */
static __always_inline void follow_owner(struct nfg_cpu *cpu, const struct packet_arg *arg,
					 const struct net *net, bool is_first)
{
	struct nfg_guard *guard = guard_of(cpu);

	if (!is_first) {
		if (cpu->tree == NFG_TREE_NOT_OURS)
			owner_learn(guard, sock_of_arg(arg));
		return;
	}
	guard->owner = NFG_OWNER_NONE;
	if (cpu->tree == NFG_TREE_OPEN_UNSURE && net && arg->kind == NFG_ARG_SKB)
		cpu->tree = verdict_by_owner(guard, (void *)arg->ptr, net);
}

/*
 * Whether a call is below the first call of a packet that is not in scope: a short way to the refusals of packet_entry
 * and packet_exit. @frame: of the program; only the low 16 bits count.
 */
static __always_inline bool is_below_refused(const struct nfg_cpu *cpu, __u32 frame)
{
	return cpu->tree >= NFG_TREE_NOT_OURS && (frame & 0xffff) < cpu->tree_call >> 16;
}

/* @call: identifies the call and its function, frame << 16 | func_id; @typed: see FIELD. */
static __always_inline __u32 packet_entry(struct nfg_cpu *cpu, const struct packet_arg *arg,
					  __u32 call, bool typed)
{
	const struct net *net;
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
	/*
	 * one place: the time to load a program grows with the square of the code that the verifier finds unreachable
	 */
	cpu->tree = verdict_of(arg, typed, &net);
	if (is_first)
		cpu->tree_call = call;
	if (follows_netns() && cfg.checks_owners)
		follow_owner(cpu, arg, net, is_first);
	if (cpu->tree == NFG_TREE_NOT_OURS)
		guard_of(cpu)->packet_cnt++;
	else
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
