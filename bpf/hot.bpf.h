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

/* Whether a record of it takes the program's context. */
static __always_inline bool needs_ctx(enum how how)
{
	return how == HOW_COOKIE;
}

/* Whether a closer look at it does. */
static __always_inline bool looks_at_ctx(enum how how)
{
	return needs_ctx(how) || how == HOW_PACKET_ARG || how == HOW_SITE;
}

static __always_inline __u32 look_closer(struct nfg_cpu *cpu, __u32 task, void *ctx, enum how how)
{
	__u32 frame;

	if (!packet_decides(task))
		return look_at_task(task);
	frame = call_frame(ctx, task, how);
	if (task & NFG_TASK_EXIT || how == HOW_PATCHED)
		return look_at_packet_exit(cpu, frame, ctx, how);
	return look_at_packet_entry(cpu, frame, ctx, how);
}

static __always_inline void put_frame(struct nfg_rec *rec, const struct site *site, enum how how)
{
	if (how == HOW_SITE)
		rec->frame = site->frame;
	else
		ARCH_PUT_FRAME(rec, how == HOW_MARK);
}

/* Whoever reads it looks for the time. */
static __always_inline void fill_slot(struct nfg_rec *rec, __u32 task, void *ctx,
				      const struct site *site, enum how how)
{
	struct nfg_rec *volatile saved_rec = rec;
	__u64 value;

	rec->task = task;
	put_frame(rec, site, how);
	if (how == HOW_SITE) {
		rec->func_id = site->func_id;
	} else if (how == HOW_COOKIE) {
		value = bpf_get_attach_cookie(ctx);
		saved_rec->func_id = value;
	} else {
		put_func_id(rec);
	}
	value = bpf_ktime_get_ns();
	ARCH_PUBLISH(saved_rec->time_ns, value);
}

/*
 * The gate is open: take a slot and fill it. The volatile locals keep what lives across a helper call on the stack, and
 * only where there is one; r6..r9 would have to be saved in every prologue. The clock is read after the slot is taken, so
 * a reader that finds no slot taken knows that every later record is younger than now.
 *
 * @ctx: not used with HOW_PATCHED and HOW_MARK; @site: with HOW_SITE only.
 */
static __always_inline void record_open_of(struct nfg_cpu *cpu, __u32 task, enum nfg_way way,
					   void *ctx, struct site *site, enum how how)
{
	/* where it is a constant, only what is for this end gets into the program */
	const __u32 end = __builtin_constant_p(task & NFG_TASK_EXIT) ? task & NFG_TASK_EXIT : 0;
	struct nfg_rec *ring = 0;
	struct nfg_rec *rec;
	__u64 value;

	/* else what it was made of is kept for look_closer; a mark's needs none, and shall lose that code */
	if (how != HOW_MARK)
		asm volatile("" : "+w"(task));
	if (unlikely((__s32)task < 0)) { /* NFG_GATE_LOOK */
		struct nfg_cpu *volatile saved_cpu = cpu;
		volatile __u32 saved_task = task;
		void *volatile saved_ctx;
		volatile struct site saved_site;
		__u32 flags;

		if (needs_ctx(how))
			saved_ctx = ctx;
		if (how == HOW_SITE) {
			saved_site.func_id = site->func_id;
			saved_site.frame = site->frame;
		}
		flags = look_closer(COPY(cpu), end | COPY((__u64)task),
				    looks_at_ctx(how) ? COPY(ctx) : 0, how);
		if (flags == NOT_WANTED)
			return;
		if (needs_ctx(how))
			ctx = saved_ctx;
		if (how == HOW_SITE) {
			site->func_id = saved_site.func_id;
			site->frame = saved_site.frame;
		}
		cpu = saved_cpu;
		task = saved_task | flags;
	}
	if (!is_flat(way)) {
		struct nfg_cpu *volatile saved_cpu = cpu;
		volatile __u32 saved_task = task;

		ring = bpf_map_lookup_elem(&rings, &cpu->ring);
		if (!ring)
			return;
		cpu = saved_cpu;
		task = saved_task;
	}
	value = ALWAYS(cpu->head_bytes);
	if (how != HOW_MARK && unlikely(is_full_at(cpu, value))) {
		struct nfg_cpu *volatile saved_cpu = cpu;

		lose(&saved_cpu);
		return;
	}
	rec = take_slot(cpu, ring, value, way);
	if (way == NFG_WAY_nested && !rec)
		return;
	fill_slot(rec, task, ctx, site, how);
}

static __always_inline void record_open(struct nfg_cpu *cpu, __u32 task, enum nfg_way way,
					void *ctx, enum how how)
{
	record_open_of(cpu, task, way, ctx, 0, how);
}

#endif
