/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_HOT_BPF_H
#define NFG_HOT_BPF_H

/* Runs twice for every traced call. Measure before and after any change: `make bench`. */
#include "out.bpf.h"
#include "packet.bpf.h"
#include "patched.bpf.h"
#include "preempt.bpf.h"
#include "ring.bpf.h"

/*
 * For CPUs on which not every call is wanted. Not inlined, so that only calls on this path pay for saved registers.
 * Return: flags for the record, or NOT_WANTED.
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
		struct nfg_gaps *found = bpf_map_lookup_elem(&gaps, &cpu->ring);

		/* no record says that earlier calls may be missing, so this call is lost too */
		if (found && !is_full(cpu))
			ADD(found->doubt_cnt, 1);
		lose(&cpu);
		return NOT_WANTED;
	}
	return 0;
}

/* Refuse an unwanted call while such calls are counted (bpf/out.bpf.h). Return: NOT_WANTED. */
static __always_inline __u32 refuse_counted(__u32 task, __u32 func_id)
{
	count_out(task, func_id);
	return NOT_WANTED;
}

static __noinline __u32 refuse_patched(__u32 task)
{
	return refuse_counted(task, patched_func_id());
}

static __noinline __u32 refuse_cookie(__u32 task, void *ctx)
{
	return refuse_counted(task, (__u16)bpf_get_attach_cookie(ctx));
}

static __noinline __u32 refuse_site(__u32 task, void *ctx)
{
	return refuse_counted(task, site_func_id(ctx));
}

/* At the entry of a call that belongs to a packet. Return: @flags. */
static __always_inline __u32 with_count(const struct nfg_cpu *cpu, __u32 flags, __u32 func_id)
{
	if (flags == NOT_WANTED && cpu->gate & NFG_GATE_SELF)
		count_out(0, func_id);
	return flags;
}

static __noinline __u32 look_at_exit(struct nfg_cpu *cpu, __u32 frame)
{
	return packet_exit(cpu, frame << 16 | patched_func_id());
}

static __noinline __u32 look_at_entry(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	struct packet_arg arg = packet_arg(ctx, HOW_PACKET_ARG);

	return with_count(cpu,
			  packet_entry(cpu, &arg, frame << 16 | patched_func_id(), cfg.has_casts),
			  patched_func_id());
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

	return with_count(cpu, packet_entry(cpu, &arg, frame << 16 | func_id, true), func_id);
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

	return with_count(cpu, packet_entry(cpu, &arg, frame << 16 | func_id, true), func_id);
}

/* For gates where the packet decides. @frame: the program's, see struct nfg_rec. */
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

/* The gate is closed, and counts calls. */
static __always_inline __u32 refuse(__u32 task, void *ctx, enum how how)
{
	if (how == HOW_SITE)
		return refuse_site(task, ctx);
	return how == HOW_COOKIE ? refuse_cookie(task, ctx) : refuse_patched(task);
}

static __always_inline bool packet_decides(__u32 task)
{
	return cfg.scope_packets && task & NFG_GATE_PACKET;
}

/* Whether the packet decides, and refused calls are not counted. */
static __always_inline bool is_by_packet_alone(__u32 task)
{
	return (task & (NFG_GATE_PACKET | NFG_GATE_SELF)) == NFG_GATE_PACKET;
}

/* Whether the record needs the program's context. */
static __always_inline bool needs_ctx(enum how how)
{
	return how == HOW_COOKIE;
}

/* Whether a closer look needs the program's context. */
static __always_inline bool looks_at_ctx(enum how how)
{
	return needs_ctx(how) || how == HOW_PACKET_ARG || how == HOW_SITE;
}

/* Whether the short way refuses a call that needs a closer look. @site: with HOW_SITE only. */
static __always_inline bool is_refused_at_once(const struct nfg_cpu *cpu, __u32 task,
					       const struct site *site, enum how how)
{
	__u32 frame;

	if (how == HOW_MARK || !is_by_packet_alone(task))
		return false;
	if (how == HOW_SITE)
		frame = site->frame;
	else
		ARCH_FRAME(frame);
	return is_below_refused(cpu, frame);
}

static __always_inline __u32 look_closer(struct nfg_cpu *cpu, __u32 task, void *ctx, enum how how)
{
	__u32 frame;

	if (!(task & NFG_GATE_OPEN))
		return refuse(task, ctx, how);
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

/* The reader considers a slot written once time_ns is set. */
static __always_inline void fill_slot(struct nfg_rec *rec, __u32 task, void *ctx,
				      const struct site *site, enum how how, bool is_by_bytes)
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
		if (is_by_bytes) /* the register that holds @rec */
			PUT_FUNC_ID(rec, 1);
		else
			PUT_FUNC_ID(rec, 0);
	}
	value = bpf_ktime_get_ns();
	ARCH_PUBLISH(saved_rec->time_ns, value);
}

/* The call is wanted: take a slot and fill it. @bytes: see take_slot; @site: with HOW_SITE only. */
static __always_inline void fill_next(struct nfg_cpu *cpu, const __u64 *bytes, __u32 task,
				      struct nfg_rec *ring, enum nfg_slot slot, void *ctx,
				      struct site *site, enum how how)
{
	__u64 head_bytes = ALWAYS(cpu->head_bytes);
	struct nfg_rec *rec;

	if (how != HOW_MARK && unlikely(is_full_at(cpu, head_bytes))) {
		struct nfg_cpu *volatile saved_cpu = cpu;

		lose(&saved_cpu);
		return;
	}
	rec = take_slot(cpu, bytes, ring, head_bytes, slot);
	if (slot == NFG_SLOT_nested && !rec)
		return;
	fill_slot(rec, task, ctx, site, how, bytes);
}

/*
 * The gate is open: take a slot and fill it. The volatile locals keep values on the stack across a helper call, and
 * only where there is a call; r6..r9 would have to be saved in every prologue. The clock is read after the slot is
 * taken: if a reader finds no slot taken, every later record is younger than the present.
 *
 * @bytes: of @cpu by this_cpu_bytes(), or NULL; @ctx: not used with HOW_PATCHED and HOW_MARK; @site: with HOW_SITE
 * only.
 * Return: false: the call is not wanted.
 */
static __always_inline bool record_open_of(struct nfg_cpu *cpu, __u64 *bytes, __u32 task,
					   enum nfg_slot slot, void *ctx, struct site *site,
					   enum how how)
{
	/* if it is constant, only the code for this end gets into the program */
	const __u32 end = __builtin_constant_p(task & NFG_TASK_EXIT) ? task & NFG_TASK_EXIT : 0;
	struct nfg_rec *ring = 0;

	/* otherwise the compiler keeps its parts for look_closer; a mark needs none, and must drop that code */
	if (how != HOW_MARK)
		asm volatile("" : "+w"(task));
	if (unlikely((__s32)task < 0)) { /* NFG_GATE_LOOK */
		struct nfg_cpu *volatile saved_cpu = cpu;
		volatile __u32 saved_task = task;
		void *volatile saved_ctx;
		volatile struct site saved_site;
		__u32 flags;

		if (is_refused_at_once(cpu, task, site, how))
			return false;
		if (needs_ctx(how))
			saved_ctx = ctx;
		if (how == HOW_SITE) {
			saved_site.func_id = site->func_id;
			saved_site.frame = site->frame;
		}
		flags = look_closer(COPY(cpu), end | COPY((__u64)task),
				    looks_at_ctx(how) ? COPY(ctx) : 0, how);
		if (flags == NOT_WANTED)
			return false;
		if (needs_ctx(how))
			ctx = saved_ctx;
		if (how == HOW_SITE) {
			site->func_id = saved_site.func_id;
			site->frame = saved_site.frame;
		}
		cpu = saved_cpu;
		task = saved_task | flags;
		if (bytes)
			*bytes = bytes_of_id(cpu->ring);
	}
	if (slot != NFG_SLOT_flat) {
		struct nfg_cpu *volatile saved_cpu = cpu;
		volatile __u32 saved_task = task;

		ring = bpf_map_lookup_elem(&rings, &cpu->ring);
		if (!ring)
			return true;
		cpu = saved_cpu;
		task = saved_task;
	}
	fill_next(cpu, bytes, task, ring, slot, ctx, site, how);
	return true;
}

static __always_inline void record_open(struct nfg_cpu *cpu, __u32 task, enum nfg_slot slot,
					void *ctx, enum how how)
{
	record_open_of(cpu, 0, task, slot, ctx, 0, how);
}

/*
 * As record_open_of, for programs that do nothing else and whose slot takes a lookup: the gate is loaded again after
 * the lookup, and need not be kept. An interrupt may have closed it in the meantime.
 */
static __always_inline void record_behind_lookup(struct nfg_cpu *cpu, __u32 end, enum nfg_slot slot)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	struct nfg_rec *ring = bpf_map_lookup_elem(&rings, &cpu->ring);
	__u32 task;

	if (!ring)
		return;
	cpu = saved_cpu;
	task = ALWAYS(cpu->gate);
	if (unlikely((__s32)task <= 0)) {
		struct nfg_rec *volatile saved_ring = ring;
		volatile __u32 saved_task = task;
		__u32 flags;

		if (!task || is_refused_at_once(cpu, task, 0, HOW_PATCHED))
			return;
		flags = look_closer(COPY(cpu), end | COPY((__u64)task), 0, HOW_PATCHED);
		if (flags == NOT_WANTED)
			return;
		ring = saved_ring;
		cpu = saved_cpu;
		task = saved_task | flags;
	}
	fill_next(cpu, 0, task | end, ring, slot, 0, 0, HOW_PATCHED);
}

#endif
