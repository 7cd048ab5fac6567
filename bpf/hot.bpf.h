/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_HOT_BPF_H
#define NFG_HOT_BPF_H

/*
 * What every traced call pays for, twice. Measure before and after any change:
 * `make bench`.
 */

#define unlikely(cond) __builtin_expect(!!(cond), 0)

/* One element for each CPU: its ring of records. Value size and number are set before load. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, NFG_REC_CNT_MIN * sizeof(struct nfg_rec));
} rings SEC(".maps");

/*
 * The same as one array, where an element may be large enough for all rings (not on 5.10): no lookup. The attach
 * code points the copies at the real one.
 */
struct nfg_rec flat_recs[NFG_REC_CNT_MIN] SEC(".data.flat");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_gaps);
} gaps SEC(".maps");

/* Everything a CPU needs to decide and to find its slot; user space maps it too. */
struct nfg_cpu cpus[NFG_CPU_CNT] SEC(".data.cpus");

/* The first instructions of every traced call, and all that one pays which is not wanted. */
static __always_inline struct nfg_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1)];
}

/* The slow way out: the ring is full. Counted in total and for its place. */
static __always_inline void lose(struct nfg_cpu *volatile *cpu)
{
	struct nfg_gaps *found = bpf_map_lookup_elem(&gaps, &(*cpu)->ring);
	volatile __u64 saved_pos = *(volatile __u64 *)&(*cpu)->head;
	struct nfg_gap *gap;

	__sync_fetch_and_add(&(*cpu)->lost_full, 1);
	if (!found)
		return;
	gap = &found->list[(found->cnt - 1) % NFG_GAP_CNT];
	if (!found->cnt || gap->pos != saved_pos) {
		gap = &found->list[found->cnt % NFG_GAP_CNT];
		gap->lost_cnt = 0;
		gap->pos = saved_pos;
		__sync_fetch_and_add(&found->cnt, 1);
	}
	__sync_fetch_and_add(&gap->lost_cnt, 1);
}

/*
 * x86-64 keeps the preemption counter in a per-CPU variable: __preempt_count, which
 * was a member of pcpu_hot from 6.2 (64701838bf05) to 6.14 (46e8fff6d45f put it back).
 * Neither a __ksym nor a CO-RE type: for one that vmlinux lacks libbpf asks all modules, which takes
 * CAP_SYS_ADMIN.
 */
static __always_inline int preempt_count_by_type(void)
{
	const void *var;
	int cnt;

	asm volatile("%0 = %1 ll" : "=r"(var) : "i"(NFG_PATCH_PREEMPT_VAR));
	var = bpf_this_cpu_ptr(var);
	asm volatile("%0 = *(u32 *)(%1 + %2)"
		     : "=r"(cnt)
		     : "r"(var), "i"(NFG_PATCH_PREEMPT_OFFSET));
	return cnt;
}

#define SOFTIRQ_MASK 0x00000100 /* serving one, not just disabled */
#define HARDIRQ_MASK 0x000f0000

/* Without BTF for it; the verifier drops this where it is not needed. */
static __always_inline int preempt_count_by_address(void)
{
	__u64 addr = cfg.per_cpu_offset_addr;
	__u64 area = 0;
	int cnt = 0;

	if (!cfg.per_cpu_offset_addr)
		return 0;
	addr += bpf_get_smp_processor_id() * sizeof(area);
	if (!bpf_probe_read_kernel(&area, sizeof(area), (void *)addr))
		bpf_probe_read_kernel(&cnt, sizeof(cnt), (void *)(area + cfg.preempt_count_offset));
	return cnt;
}

static __always_inline int preempt_count(void)
{
	if (cfg.has_preempt_var)
		return preempt_count_by_type();
	return preempt_count_by_address();
}

struct task_struct___rt {
	int softirq_disable_cnt;
} __attribute__((preserve_access_index));

/* With PREEMPT_RT softirqs run in tasks, and count there. */
static __always_inline bool is_in_rt_softirq(void)
{
	const struct task_struct___rt *task = 0;

	if (!bpf_core_field_exists(task->softirq_disable_cnt))
		return false;
	task = (const void *)bpf_get_current_task_btf();
	return task->softirq_disable_cnt & SOFTIRQ_MASK;
}

#include "packet.bpf.h"

static __always_inline __u64 patched_func_id(void)
{
	__u64 func_id;

	asm volatile("%0 = %1" : "=r"(func_id) : "i"(NFG_PATCH_FUNC_ID));
	return func_id;
}

/* What a template knows of its function, besides being a program at one end of it. */
enum how {
	HOW_PATCHED = 0,    /* its id is patched in */
	HOW_COOKIE = 1,     /* its id and its packet argument are in the cookie */
	HOW_PACKET_ARG = 2, /* where its packet argument is, is patched in */
	HOW_MARK = 3, /* it is none, its id is patched in; whoever records it has looked for room */
};

static __always_inline struct packet_arg packet_arg(void *ctx, enum how how)
{
	struct packet_arg arg = { 0 };

	if (how == HOW_COOKIE) {
		__u64 cookie = bpf_get_attach_cookie(ctx);

		arg.kind = cookie >> 16 & 0xf;
		if (arg.kind)
			bpf_get_func_arg(ctx, cookie >> 20 & 0xf, &arg.ptr);
	} else if (how == HOW_PACKET_ARG) {
		asm volatile("%0 = %1" : "=r"(arg.kind) : "i"(NFG_PATCH_ARG_KIND));
		asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
			     : "=r"(arg.ptr)
			     : "r"(ctx), "i"(NFG_PATCH_ARG_LOAD)
			     : "r0");
	}
	return arg;
}

/* Whether the call returns an error, as the kernel tells it (IS_ERR_VALUE). */
static __always_inline bool returns_error(void *ctx)
{
	__u64 kind;
	__u64 ret;

	asm volatile("%0 = %1" : "=r"(kind) : "i"(NFG_PATCH_RET_KIND));
	if (kind == NFG_RET_NONE)
		return false; /* there may be nothing to load */
	asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
		     : "=r"(ret)
		     : "r"(ctx), "i"(NFG_PATCH_RET_LOAD)
		     : "r0");
	/* the verifier knows some results as pointers: not to be computed with before it is sure */
	if (kind == NFG_RET_INT) {
		asm volatile("" : "+r"(ret));
		return (__u32)ret >= (__u32)-4095;
	}
	if (kind == NFG_RET_LONG) {
		asm volatile("" : "+r"(ret));
		return ret >= (__u64)-4095;
	}
	return false;
}

/* What --filter says. The copy has a call in the place of the constant. */
static __always_inline bool passes_filter(void *ctx)
{
	__u64 verdict;

	asm volatile("r1 = %1\n\t"
		     "r0 = %2\n\t"
		     "%0 = r0"
		     : "=r"(verdict)
		     : "r"(ctx), "i"(NFG_PATCH_MARK)
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	return verdict;
}

/* NFG_TASK_MARKED or 0. A function of its own: it calls, which its callers only do for who asks for it. */
static __noinline __u32 mark_of(void *ctx)
{
	if (cfg.marks & NFG_MARK_ERRORS && !returns_error(ctx))
		return 0;
	if (cfg.marks & NFG_MARK_FILTER && !passes_filter(ctx))
		return 0;
	return NFG_TASK_MARKED;
}

/* At an exit, if marks are wanted; what lives across it is on the stack then. */
#define MARK(cpu, task, ctx)                             \
	do {                                             \
		struct nfg_cpu *volatile kept_cpu = cpu; \
		volatile __u32 kept_task = task;         \
                                                         \
		task = mark_of(ctx);                     \
		task |= kept_task;                       \
		cpu = kept_cpu;                          \
	} while (0)

/*
 * Not every call of this CPU is wanted. Functions of their own, so that only who needs saved registers
 * saves them. Return: flags for the record, or NOT_WANTED.
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

		lose(&cpu); /* what would say that calls may be missing was lost, and so is this */
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

static __always_inline __u32 look_closer(struct nfg_cpu *cpu, __u32 task, void *volatile *ctx,
					 enum how how)
{
	__u32 frame;

	if (!cfg.scope_packets || !(task & NFG_GATE_PACKET))
		return look_at_task(task);
	asm volatile("%0 = w10" : "=w"(frame));
	if (how == HOW_COOKIE)
		return task & NFG_TASK_EXIT ? look_at_cookie_exit(cpu, frame, *ctx)
					    : look_at_cookie_entry(cpu, frame, *ctx);
	if (task & NFG_TASK_EXIT || how != HOW_PACKET_ARG)
		return look_at_exit(cpu, frame);
	return look_at_entry(cpu, frame, *ctx);
}

/*
 * How a slot is found:
 * SLOT_NESTED: before 5.12. No atomic operation returns a value, but programs on one CPU nest strictly,
 * for preemption is off around them.
 * SLOT_LOOKUP: a fetching atomic operation; contexts may preempt each other.
 * SLOT_FLAT: the same, in flat_recs.
 */
enum slot_mode { SLOT_NESTED, SLOT_LOOKUP, SLOT_FLAT };

#define MASK(value, patch) asm volatile("%0 &= %1" : "+r"(value) : "i"(patch))

static __always_inline struct nfg_rec *rec_at(struct nfg_rec *ring, __u64 pos)
{
	MASK(pos, NFG_PATCH_RING_MASK);
	return &ring[pos];
}

/*
 * Advance, then look. Whoever interrupted us in between has taken the topmost slots and is
 * through with them, so ours is the first empty one below the head.
 */
static __always_inline struct nfg_rec *nested_slot(struct nfg_cpu *cpu, struct nfg_rec *ring)
{
	struct nfg_rec *rec;
	__u64 pos;

	__sync_fetch_and_add(&cpu->head, 1);
	pos = *(volatile __u64 *)&cpu->head;
	for (__u32 i = 0; i < NFG_NEST_MAX; i++) {
		pos--;
		rec = rec_at(ring, pos);
		if (!*(volatile __u64 *)&rec->time_ns)
			return rec;
	}
	__sync_fetch_and_add(&cpu->lost_depth, 1);
	return 0;
}

static __always_inline struct nfg_rec *flat_slot(struct nfg_cpu *cpu)
{
	__u64 pos = __sync_fetch_and_add(&cpu->head, 1);

	MASK(pos, NFG_PATCH_RING_MASK);
	pos += cpu->first_rec;
	MASK(pos, NFG_PATCH_ALL_MASK); /* changes nothing; the verifier wants it */
	return &flat_recs[pos];
}

static __always_inline bool is_full(struct nfg_cpu *cpu)
{
	return *(volatile __u64 *)&cpu->head >= *(volatile __u64 *)&cpu->limit;
}

static __always_inline struct nfg_rec *take_slot(struct nfg_cpu *cpu, struct nfg_rec *ring,
						 enum slot_mode mode)
{
	if (mode == SLOT_FLAT)
		return flat_slot(cpu);
	if (mode == SLOT_LOOKUP)
		return rec_at(ring, __sync_fetch_and_add(&cpu->head, 1));
	return nested_slot(cpu, ring);
}

/*
 * The gate is open: take a slot and fill it. The volatile locals keep on the stack what lives
 * across a helper call, which would else go to r6..r9, saved in every prologue. The clock is read after
 * the slot was taken, so a reader that finds no slot taken knows that whatever comes is younger than now.
 *
 * @ctx: where the program's context is kept; not used with HOW_PATCHED and HOW_MARK.
 */
static __always_inline void record_open(struct nfg_cpu *cpu, __u32 task, enum slot_mode mode,
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
	if (mode != SLOT_FLAT) {
		ring = bpf_map_lookup_elem(&rings, &saved_cpu->ring);
		if (!ring)
			return;
	}
	cpu = saved_cpu;
	if (how != HOW_MARK && unlikely(is_full(cpu))) {
		lose(&saved_cpu);
		return;
	}
	rec = take_slot(cpu, ring, mode);
	if (mode == SLOT_NESTED && !rec)
		return;
	saved_rec = rec;
	if (how == HOW_COOKIE) {
		value = bpf_get_attach_cookie(*ctx);
		rec = saved_rec;
	} else {
		value = patched_func_id();
	}
	rec->func_id = value;
	asm volatile("*(u16 *)(%0 + %1) = r10"
		     :
		     : "r"(rec), "i"(offsetof(struct nfg_rec, frame))
		     : "memory");
	rec->task = saved_task;
	value = bpf_ktime_get_ns();
	*(volatile __u64 *)&saved_rec->time_ns = value;
}

/*
 * As functions of their own they spare a call that stops at the gate the stack frame. Where asking for the
 * CPU is no call (1ae6921009e5, 6.10) the frame costs less than the call does.
 */
static __noinline void record_nested(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, SLOT_NESTED, 0, HOW_PATCHED);
}

static __noinline void record_lookup(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, SLOT_LOOKUP, 0, HOW_PATCHED);
}

static __noinline void record_flat(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, SLOT_FLAT, 0, HOW_PATCHED);
}

static __always_inline void record_inline(struct nfg_cpu *cpu, __u32 task)
{
	record_open(cpu, task, SLOT_FLAT, 0, HOW_PATCHED);
}

#endif
