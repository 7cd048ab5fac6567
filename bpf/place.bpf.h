/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PLACE_BPF_H
#define NFG_PLACE_BPF_H

/*
 * The cgroups and network namespaces in scope, of tasks and of sockets. A cgroup is in scope if it or a cgroup above it
 * was named. So whether a task is in scope follows from the task alone, however it got there and whichever programs
 * were skipped in the meantime. Verdicts are cached by cgroup. A namespace becomes known when a task in scope runs in
 * it or opens a socket.
 *
 * First look-ups use probe_read, so this does not load under lockdown=confidentiality.
 */
#include "cpu.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u8);
} scope_cgroups SEC(".maps"); /* by cgroup id: those that were named */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NFG_NETNS_CNT);
	__type(key, __u32);
	__type(value, struct nfg_netns);
} scope_netns SEC(".maps"); /* by inode */

/* Cached verdicts, indexed by a hash of the id: id << 1 | in scope; 0: none. User space clears them. */
__u64 cgroup_verdicts[NFG_CGROUP_SLOTS] SEC(".data.places");

/* User space increments it before it clears the verdicts: a verdict found before that is not cached. */
__u64 cgroup_age SEC(".data.places");

/* Namespaces that the scope is known to use, by their cookie, cached in the same way. */
__u64 used_netns[NFG_NETNS_SLOTS] SEC(".data.places");

/* How often tasks out of scope may have entered a namespace of the scope: user space then checks. */
__u64 netns_news_cnt SEC(".data.places");

__u64 lost_netns SEC(".data.places"); /* namespaces for which there was no room */
__u64 lost_moves SEC(".data.places"); /* moves of tasks whose CPU may have the wrong gate */

/* With sums: a task in scope has run while its calls may be missed. */
__u64 has_doubted SEC(".data.places");

#define EEXIST_ 17
#define NOEXIST 1  /* BPF_NOEXIST */
#define LEVELS  64 /* limit for the depth of cgroups */

static __always_inline __u32 place_slot(__u64 id, __u32 slots_log)
{
	return (__u32)id * 2654435761u >> (32 - slots_log);
}

/* @cgroup, untyped to the verifier, has the id @id. */
static __noinline bool look_up_cgroup(const void *cgroup, __u64 id)
{
	__u64 *slot =
		&cgroup_verdicts[place_slot(id, NFG_CGROUP_SLOTS_LOG) & (NFG_CGROUP_SLOTS - 1)];
	const __u64 age = ALWAYS(cgroup_age);
	const struct cgroup *at = cgroup;
	__u64 up = id;
	bool is_in = false;

	for (int i = 0; i < LEVELS && at; i++) {
		if (bpf_map_lookup_elem(&scope_cgroups, &up)) {
			is_in = true;
			break;
		}
		at = BPF_CORE_READ(at, self.parent, cgroup);
		up = BPF_CORE_READ(at, kn, id);
	}
	ALWAYS(*slot) = id << 1 | is_in;
	if (ALWAYS(cgroup_age) != age)
		ALWAYS(*slot) = 0;
	return is_in;
}

static __always_inline bool is_cgroup_in_scope(const void *cgroup, __u64 id)
{
	const __u64 *slot =
		&cgroup_verdicts[place_slot(id, NFG_CGROUP_SLOTS_LOG) & (NFG_CGROUP_SLOTS - 1)];
	__u64 verdict = ALWAYS(*slot) ^ id << 1;

	return verdict <= 1 ? verdict : look_up_cgroup(cgroup, id);
}

/* Unlike an inode number, a cookie is never reused. 5.10 assigns cookies only on request. */
static __always_inline __u64 cookie_of_net(const struct net *net)
{
	return bpf_core_field_exists(net->net_cookie) ? BPF_CORE_READ(net, net_cookie) : 0;
}

/*
 * Whether an entry belongs to a namespace that has ended, and another one has its inode. Only if both cookies are
 * known.
 */
static __always_inline bool is_another_netns(const struct nfg_netns *known, __u64 cookie)
{
	return known->cookie && cookie && known->cookie != cookie;
}

/* The entry of this namespace, created if needed. Return: NULL: there is no room. */
static __always_inline struct nfg_netns *netns_entry(__u32 inum, __u64 cookie)
{
	struct nfg_netns *known = bpf_map_lookup_elem(&scope_netns, &inum);

	if (!known) {
		struct nfg_netns fresh = { .cookie = cookie };

		bpf_map_update_elem(&scope_netns, &inum, &fresh, NOEXIST);
		known = bpf_map_lookup_elem(&scope_netns, &inum);
	}
	if (!known) {
		ADD(lost_netns, 1);
		return 0;
	}
	if (is_another_netns(known, cookie)) {
		known->is_used = 0;
		known->stranger_ns = 0;
	}
	if (cookie)
		known->cookie = cookie;
	return known;
}

static __noinline int netns_is_used(__u32 inum, __u64 cookie)
{
	struct nfg_netns *known = netns_entry(inum, cookie);

	if (!known || known->is_used)
		return 0;
	known->is_used = 1;
	if (known->stranger_ns > known->settled_ns)
		ADD(netns_news_cnt, 1);
	return 0;
}

static __noinline int netns_has_stranger(__u32 inum, __u64 cookie, __u64 now_ns)
{
	struct nfg_netns *known = netns_entry(inum, cookie);
	bool is_shared;

	if (!known)
		return 0;
	is_shared = known->stranger_ns > known->settled_ns;
	known->stranger_ns = now_ns;
	if (known->is_used && !is_shared)
		ADD(netns_news_cnt, 1);
	return 0;
}

/* Record that a task or socket in scope is in the namespace. @cookie: 0: unknown. */
static __always_inline void use_netns(__u32 inum, __u64 cookie)
{
	__u64 name = cookie ? cookie : inum;
	__u64 *slot = &used_netns[place_slot(name, NFG_NETNS_SLOTS_LOG) & (NFG_NETNS_SLOTS - 1)];

	if (ALWAYS(*slot) == name)
		return;
	netns_is_used(inum, cookie);
	ALWAYS(*slot) = name;
}

static __always_inline bool follows_netns(void)
{
	return cfg.scope_packets && cfg.scope_by_cgroup && !cfg.scope_by_netns;
}

/*
 * A namespace is named by its inode, which another namespace may get after it has ended: the first cookie seen is kept.
 */
static __always_inline bool is_netns_named(__u32 inum, __u64 cookie)
{
	struct nfg_netns *known = bpf_map_lookup_elem(&scope_netns, &inum);

	if (!known || !known->is_used || is_another_netns(known, cookie))
		return false;
	if (!known->cookie)
		known->cookie = cookie;
	return true;
}

static __always_inline bool needs_netns(__u32 places)
{
	return cfg.scope_by_netns || (follows_netns() && places);
}

/* @places, with the bits of a task's namespace. */
static __always_inline __u32 with_netns(__u32 places, __u32 inum, __u64 cookie)
{
	if (follows_netns())
		use_netns(inum, cookie);
	else if (is_netns_named(inum, cookie))
		places |= NFG_SCOPE_NETNS;
	return places;
}

/* As with_netns, for a task that may no longer have a namespace. */
static __always_inline __u32 with_netns_if_any(__u32 places, const void *task)
{
	const struct net *net = BPF_CORE_READ((const struct task_struct *)task, nsproxy, net_ns);

	return net ? with_netns(places, BPF_CORE_READ(net, ns.inum), cookie_of_net(net)) : places;
}

#define PF_EXITING 0x4

/*
 * NFG_SCOPE_CGROUP and NFG_SCOPE_NETNS of a task that the verifier knows. A task that exits loses its nsproxy, and may
 * continue to run. Nothing here may fault: 5.10 does not find the exception table of a program that calls its own
 * functions (seen as a panic in search_extable(), with the table NULL).
 */
static __always_inline __u32 places_of(const struct task_struct *task)
{
	const struct net *net;
	__u32 places = 0;

	if (cfg.scope_by_cgroup) {
		const struct cgroup *cgroup = task->cgroups->dfl_cgrp;

		if (is_cgroup_in_scope(cgroup, cgroup->kn->id))
			places |= NFG_SCOPE_CGROUP;
	}
	if (!needs_netns(places))
		return places;
	if (task->flags & PF_EXITING)
		return with_netns_if_any(places, task);
	net = task->nsproxy->net_ns;
	return with_netns(places, net->ns.inum,
			  bpf_core_field_exists(net->net_cookie) ? net->net_cookie : 0);
}

/* As places_of, for the current task. */
static __always_inline __u32 places_of_current(void)
{
	const struct task_struct *task = (void *)bpf_get_current_task();
	__u32 places = 0;

	if (cfg.scope_by_cgroup) {
		const struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);

		if (is_cgroup_in_scope(cgroup, BPF_CORE_READ(cgroup, kn, id)))
			places |= NFG_SCOPE_CGROUP;
	}
	return needs_netns(places) ? with_netns_if_any(places, task) : places;
}

#endif
