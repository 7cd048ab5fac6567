/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_HOT_BPF_H
#define NFG_HOT_BPF_H

/*
 * What every traced call pays for, twice. Measure before and after any change:
 * `make bench`.
 */
#include "packet.bpf.h"
#include "patched.bpf.h"
#include "preempt.bpf.h"
#include "ring.bpf.h"

/*
 * Not every call on this CPU is wanted. These are not inlined, so that only calls that come here pay for saved
 * registers. Return: flags for the record, or NOT_WANTED.
 */
static __noinline __u32 look_at_task(__u32 task)
{
	int cnt = preempt_count();

	if (task & NFG_GATE_SELF && !(cnt & (HARDIRQ_MASK | SOFTIRQ_MASK)) && !is_in_rt_softirq())
		return NOT_WANTED;
	if (cfg.skip_hardirq && cnt & HARDIRQ_MASK)
		return NOT_WANTED;
	if (task & NFG_GATE_DOUBT && !cfg.sum_up) {
		struct nfg_cpu *volatile cpu = this_cpu();

		lose(&cpu); /* the record that calls may be missing was lost, so this call is lost too */
		return NOT_WANTED;
	}
	return 0;
}

static __noinline __u32 look_at_exit(struct nfg_cpu *cpu, __u32 frame)
{
	return packet_exit(cpu, frame << 16 | patched_func_id());
}

static __noinline __u32 look_at_entry(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	struct packet_arg arg = packet_arg(ctx, HOW_PACKET_ARG);

	return packet_entry(cpu, &arg, frame << 16 | patched_func_id());
}

static __noinline __u32 look_at_cookie_exit(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	__u16 func_id = bpf_get_attach_cookie(ctx);

	return packet_exit(cpu, frame << 16 | func_id);
}

static __noinline __u32 look_at_cookie_entry(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	struct packet_arg arg = packet_arg(ctx, HOW_COOKIE);
	__u16 func_id = bpf_get_attach_cookie(ctx);

	return packet_entry(cpu, &arg, frame << 16 | func_id);
}

static __noinline __u32 look_at_site_exit(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	__u16 func_id = site_func_id(ctx);

	return packet_exit(cpu, frame << 16 | func_id);
}

static __noinline __u32 look_at_site_entry(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	struct packet_arg arg = packet_arg(ctx, HOW_SITE);
	__u16 func_id = site_func_id(ctx);

	return packet_entry(cpu, &arg, frame << 16 | func_id);
}

/* The packet decides. @frame: the program's, see struct nfg_rec. */
static __always_inline __u32 look_at_packet_exit(struct nfg_cpu *cpu, __u32 frame, void *ctx,
						 enum how how)
{
	if (how == HOW_SITE)
		return look_at_site_exit(cpu, frame, ctx);
	return how == HOW_COOKIE ? look_at_cookie_exit(cpu, frame, ctx) : look_at_exit(cpu, frame);
}

static __always_inline __u32 look_at_packet_entry(struct nfg_cpu *cpu, __u32 frame, void *ctx,
						  enum how how)
{
	if (how == HOW_SITE)
		return look_at_site_entry(cpu, frame, ctx);
	return how == HOW_COOKIE ? look_at_cookie_entry(cpu, frame, ctx)
				 : look_at_entry(cpu, frame, ctx);
}

static __always_inline bool packet_decides(__u32 task)
{
	return cfg.scope_packets && task & NFG_GATE_PACKET;
}

static __always_inline __u32 look_closer(struct nfg_cpu *cpu, __u32 task, void *volatile *ctx,
					 enum how how)
{
	const bool knows_ctx = how == HOW_COOKIE || how == HOW_SITE;
	__u32 frame;

	if (!packet_decides(task))
		return look_at_task(task);
	frame = call_frame(how == HOW_SITE ? *ctx : 0, task, how);
	if (task & NFG_TASK_EXIT || how == HOW_PATCHED)
		return look_at_packet_exit(cpu, frame, knows_ctx ? *ctx : 0, how);
	return look_at_packet_entry(cpu, frame, *ctx, how);
}

/*
 * The gate is open: take a slot and fill it. The volatile locals keep what lives across a helper call on the stack;
 * r6..r9 would have to be saved in every prologue. The clock is read after the slot is taken, so a reader that finds
 * no slot taken knows that every later record is younger than now.
 *
 * @ctx: where the program's context is stored; not used with HOW_PATCHED and HOW_MARK.
 */
static __always_inline void record_open(struct nfg_cpu *cpu, __u32 task, enum nfg_way way,
					void *volatile *ctx, enum how how)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	volatile __u32 saved_task = task;
	struct nfg_rec *volatile saved_rec;
	struct nfg_rec *ring = 0;
	struct nfg_rec *rec;
	__u64 value;

	if (unlikely((__s32)task < 0)) { /* NFG_GATE_LOOK */
		__u32 flags = look_closer(cpu, task, ctx, how);

		if (flags == NOT_WANTED)
			return;
		saved_task |= flags;
	}
	if (!is_flat(way)) {
		ring = bpf_map_lookup_elem(&rings, &saved_cpu->ring);
		if (!ring)
			return;
	}
	cpu = saved_cpu;
	if (how != HOW_MARK && unlikely(is_full(cpu))) {
		lose(&saved_cpu);
		return;
	}
	rec = take_slot(cpu, ring, way);
	if (way == NFG_WAY_nested && !rec)
		return;
	saved_rec = rec;
	if (how == HOW_COOKIE) {
		value = bpf_get_attach_cookie(*ctx);
		rec = saved_rec;
	} else if (how == HOW_SITE) {
		value = site_func_id(*ctx);
		rec = saved_rec;
	} else {
		value = patched_func_id();
	}
	rec->func_id = value;
	if (how == HOW_SITE)
		rec->frame = site_frame(*ctx, saved_task);
	else
		asm volatile("*(u16 *)(%0 + %1) = r10"
			     :
			     : "r"(rec), "i"(offsetof(struct nfg_rec, frame))
			     : "memory");
	rec->task = saved_task;
	value = bpf_ktime_get_ns();
	*(volatile __u64 *)&saved_rec->time_ns = value;
}

/*
 * Not inlined, so that a call that stops at the gate needs no stack frame. Where asking for the CPU is not a call
 * (1ae6921009e5, 6.10), the frame costs less than this call does.
 */
static __noinline void record_nested(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, NFG_WAY_nested, 0, HOW_PATCHED);
}

static __noinline void record_lookup(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, NFG_WAY_lookup, 0, HOW_PATCHED);
}

static __noinline void record_flat(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, NFG_WAY_flat, 0, HOW_PATCHED);
}

/* Where the function is patched in. */
static __always_inline void record_by(enum nfg_way way, struct nfg_cpu *cpu, __u32 task)
{
	switch (way) {
	case NFG_WAY_nested:
		return record_nested(cpu, task);
	case NFG_WAY_lookup:
		return record_lookup(cpu, task);
	case NFG_WAY_inline:
		return record_open(cpu, task, NFG_WAY_flat, 0, HOW_PATCHED);
	default:
		return record_flat(cpu, task);
	}
}

#endif
