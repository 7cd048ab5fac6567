/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_FOLLOW_BPF_H
#define NFG_FOLLOW_BPF_H

/*
 * --track: a packet that matched once keeps its number, whatever becomes of its headers. The number belongs to the
 * sk_buff. Programs where the kernel copies one's fields give it to the copy (clones, copies, GSO segments, fragments),
 * programs where the kernel gives one up take it back. A device's queue, a tunnel or another namespace gets the same
 * sk_buff, so these need nothing.
 *
 * A record has the number only where it is news: at the call that opens the gate, and where a call in the same tree has
 * another packet than the last one, or its copy.
 */
#include "preempt.bpf.h"
#include "starts.bpf.h"
#include "values.bpf.h"

#define E2BIG_ 7

/* The packets' numbers by the addresses of their sk_buffs; 0: given up, but still in the map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u64);
} followed SEC(".maps");

#define SKB_GONE 1 /* no address */

enum follow_level { LEVEL_TASK, LEVEL_SOFTIRQ, LEVEL_HARDIRQ, LEVEL_CNT };

struct follow_cpu {
	/*
	 * The packet of the last start function's call in the tree that is open, if the tree was told its number; 0:
	 * look it up. Should another CPU free it, and this tree get its memory for another packet, that one's number
	 * is missing until another packet is between.
	 */
	__u64 last_skb;
	/* numbers that the open trees of task and softirq were given last; 0: none */
	__u64 told[2];
	/* the packets that have them, or SKB_GONE: copies may have the number still */
	__u64 told_skb[2];
	__u64 cnts[LEVEL_CNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct follow_cpu);
} follow_cpus SEC(".maps");

__u64 follow_cnt SEC(".data");        /* numbers given, but for those by follow_cpus */
__u64 lost_follows_full SEC(".data"); /* sk_buffs that got no number: the map was full ... */
__u64 lost_follows_busy SEC(".data"); /* ... or its lock was held by what this CPU interrupted */

static __always_inline struct follow_cpu *follow_state(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&follow_cpus, &first);
}

static __always_inline __u64 number_of(__u64 skb)
{
	const __u64 *nr = bpf_map_lookup_elem(&followed, &skb);

	return nr ? ALWAYS(*nr) : 0;
}

static __always_inline bool follow_put(__u64 skb, __u64 nr)
{
	int err = bpf_map_update_elem(&followed, &skb, &nr, 0);

	if (err == -E2BIG_)
		ADD(lost_follows_full, 1);
	else if (err)
		ADD(lost_follows_busy, 1);
	return !err;
}

/*
 * The number for another packet. Before 5.12 no atomic operation returns a value: each CPU has numbers of its own, and
 * so has each of the contexts that may interrupt each other there.
 */
static __always_inline __u64 number_next(bool is_nested)
{
	const __u32 cpu_bits = 13; /* NFG_CPU_CNT */
	enum follow_level level = LEVEL_TASK;
	struct follow_cpu *state;
	int cnt;

	if (!is_nested)
		return __sync_fetch_and_add(&follow_cnt, 1) + 1;
	state = follow_state();
	if (!state)
		return 0;
	cnt = preempt_count();
	if (cnt & HARDIRQ_MASK)
		level = LEVEL_HARDIRQ;
	else if (cnt & SOFTIRQ_MASK)
		level = LEVEL_SOFTIRQ;
	state->cnts[level]++;
	return state->cnts[level] << (cpu_bits + 2) | (__u64)level << cpu_bits |
	       (bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1));
}

/*
 * Whether the function handles sk_buffs that the kernel has given up (bpfobj_follow_configure). Their headers are still
 * there, but the number would stay for the next packet at that address.
 */
static __always_inline bool is_past_end(__u32 func_id)
{
#pragma unroll
	for (__u32 i = 0; i < NFG_PAST_END_CNT; i++)
		if (cfg.past_end[i] == func_id + 1)
			return true;
	return false;
}

/* A packet that matches for the first time. Return: its number; 0: there is no room, or it has ended. */
static __always_inline __u64 number_new(__u64 skb, __u32 func_id, bool is_nested)
{
	__u64 nr = is_past_end(func_id) ? 0 : number_next(is_nested);

	return nr && follow_put(skb, nr) ? nr : 0;
}

/* Whether a record may be dropped after all, with the number in it. */
static __always_inline bool may_be_refused(__u32 task)
{
	return packet_decides(task) || task & NFG_GATE_DOUBT;
}

/*
 * At the entry of a start function. @call: see this_call. Return: the gate, 0 if it is closed; with NFG_TASK_PKT if the
 * number of the function's packet is to be recorded, with NFG_TASK_OPENED as open_start.
 */
static __always_inline __u32 follow_for(struct nfg_cpu *cpu, __u32 call, void *ctx, enum how how,
					bool is_nested)
{
	__u32 task = cpu->gate;
	const bool was_open = task & NFG_GATE_OPEN;
	__u64 skb = skb_arg(ctx, how);
	__u64 nr = skb ? number_of(skb) : 0;
	struct follow_cpu *state;
	bool is_wanted = nr != 0;
	__u32 at;

	if (!was_open && !cpu->start_gate)
		return task;
	if (!nr && (skb || !was_open))
		is_wanted = packet_is_wanted(ctx, how);
	if (!nr && skb && is_wanted)
		nr = number_new(skb, call & 0xffff, is_nested);
	if (!was_open) {
		if (!is_wanted) {
			if (ALWAYS(counts_out))
				count_out(0, call & 0xffff);
			return 0;
		}
		task = open_for(cpu, call, ctx, how, true);
		if (!task)
			return 0;
	}
	state = follow_state();
	if (!state)
		return task;
	at = guard_of(cpu)->in_softirq & 1;
	if (nr || !was_open)
		state->last_skb = nr ? skb : 0;
	if (was_open &&
	    (!nr || (state->told[at] == nr && state->told_skb[at] == skb && !may_be_refused(task))))
		return task;
	state->told[at] = nr;
	state->told_skb[at] = skb;
	if (!was_open)
		task = opened_by(task, false);
	return nr ? task | NFG_TASK_PKT : task;
}

/* follow_gate_NAME and fill_followed_NAME. */
#define FOLLOWED(name, slot, how)                                                                \
	static __noinline __u32 follow_gate_##name(struct nfg_cpu *cpu, __u32 frame, void *ctx)  \
	{                                                                                        \
		return follow_for(cpu, frame << 16 | func_id_by(how, ctx), ctx, how,             \
				  slot == NFG_SLOT_nested);                                      \
	}                                                                                        \
                                                                                                 \
	static __noinline int fill_followed_##name(struct nfg_cpu *cpu, __u32 task, __u32 frame, \
						   void *ctx)                                    \
	{                                                                                        \
		__u64 pkt = task & NFG_TASK_PKT ? number_of(skb_arg(ctx, how)) : 0;              \
                                                                                                 \
		return record_values(cpu, task & ~NFG_TASK_PKT, frame, ctx, false,               \
				     is_tree_of_user(task), slot, how, pkt);                     \
	}

FOLLOWED(nested, NFG_SLOT_nested, HOW_PACKET_ARG)
FOLLOWED(lookup, NFG_SLOT_lookup, HOW_PACKET_ARG)
FOLLOWED(flat, NFG_SLOT_flat, HOW_PACKET_ARG)
FOLLOWED(multi, NFG_SLOT_flat, HOW_COOKIE)
FOLLOWED(kprobe, NFG_SLOT_flat, HOW_SITE)

#define FOLLOW_BY(call, ...)                               \
	do {                                               \
		if (slot == NFG_SLOT_nested)               \
			return call##_nested(__VA_ARGS__); \
		if (slot == NFG_SLOT_lookup)               \
			return call##_lookup(__VA_ARGS__); \
		if (how == HOW_COOKIE)                     \
			return call##_multi(__VA_ARGS__);  \
		if (how == HOW_SITE)                       \
			return call##_kprobe(__VA_ARGS__); \
		return call##_flat(__VA_ARGS__);           \
	} while (0)

static __always_inline __u32 follow_by(enum nfg_slot slot, enum how how, struct nfg_cpu *cpu,
				       __u32 frame, void *ctx)
{
	FOLLOW_BY(follow_gate, cpu, frame, ctx);
}

static __always_inline int fill_followed_by(enum nfg_slot slot, enum how how, struct nfg_cpu *cpu,
					    __u32 task, __u32 frame, void *ctx)
{
	FOLLOW_BY(fill_followed, cpu, task, frame, ctx);
}

/* Whether the tree may know the number of the packet already. */
static __always_inline bool may_be_told(__u32 task)
{
	return task & NFG_GATE_OPEN && !may_be_refused(task);
}

/* Whether it knows that of @skb; 0: there is none. */
static __always_inline bool is_told_of(__u64 skb)
{
	const struct follow_cpu *state;

	if (!skb)
		return true;
	state = follow_state();
	return state && state->last_skb == skb;
}

/* At the entry of a start function: whether its tree knows the number of its packet, or it has none. */
static __always_inline bool is_told(__u32 task, void *ctx, enum how how)
{
	return may_be_told(task) && is_told_of(skb_arg(ctx, how));
}

/* ---- what becomes of an sk_buff ---- */

/*
 * If the map's lock is held, the entry stays, but is ignored. If the kernel skips both copies of the program, the
 * next packet at this address has the number, until it ends; bpfobj_missed_packets counts how often this may have happened.
 */
static __always_inline int skb_ended(__u64 skb)
{
	__u64 *nr = bpf_map_lookup_elem(&followed, &skb);
	struct follow_cpu *state;

	if (!nr)
		return 0;
	state = follow_state();
	if (state && state->last_skb == skb)
		state->last_skb = 0;
	if (state && state->told_skb[0] == skb)
		state->told_skb[0] = SKB_GONE;
	if (state && state->told_skb[1] == skb)
		state->told_skb[1] = SKB_GONE;
	ALWAYS(*nr) = 0;
	bpf_map_delete_elem(&followed, &skb);
	return 0;
}

/* Arguments: the copy, and its source. Return: whether the source has a number. */
static __always_inline bool pass_on(__u64 *ctx)
{
	__u64 nr = number_of(ctx[1]);

	if (nr)
		follow_put(ctx[0], nr);
	return nr;
}

/*
 * The copy may have got a number before it was filled in, if a start function had it as an argument and the headers of
 * the packet before were still there.
 */
static __always_inline int skb_copied(__u64 *ctx)
{
	return pass_on(ctx) ? 0 : skb_ended(ctx[0]);
}

/* A fragment, which may have a number of its own. */
static __always_inline int skb_cut(__u64 *ctx)
{
	pass_on(ctx);
	return 0;
}

static __always_inline int skb_cut6(__u64 *ctx)
{
	return skb_cut(ctx);
}

static __always_inline int skb_released(__u64 *ctx)
{
	return skb_ended(ctx[0]);
}

static __always_inline int skb_freed(__u64 *ctx)
{
	return skb_ended(ctx[0]);
}

/* GRO has appended its data to another packet. */
static __always_inline int skb_stolen(__u64 *ctx)
{
	return skb_ended(ctx[0]);
}

/* Arguments: the queue, the sk_buff that will be the next packet. */
static __always_inline int skb_reused(__u64 *ctx)
{
	return skb_ended(ctx[1]);
}

/* Another task's tree goes on; a tree that goes on elsewhere is told its number again. */
SEC("?tp_btf/sched_switch")
int follow_switch(void)
{
	struct follow_cpu *state = follow_state();

	if (state) {
		state->told[0] = 0;
		state->last_skb = 0;
	}
	return 0;
}

/* The task's tree goes on. */
SEC("?tp_btf/softirq_exit")
int follow_softirq_exit(void)
{
	struct follow_cpu *state = follow_state();

	if (state)
		state->last_skb = 0;
	return 0;
}

#endif
