/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_VALUES_BPF_H
#define NFG_VALUES_BPF_H

/*
 * Records with values: arguments and the return address at entry, the result at exit. The programs of hot.bpf.h do not
 * know about them, so they cost nothing unless asked for.
 *
 * A record and its values are reserved together, so nothing comes between them.
 *
 * All of this is in functions that are not inlined and get the program's frame as an argument. From 6.13 on a program
 * that itself uses 64 bytes of stack or more runs on a private stack (BPF_PRIV_STACK_MIN_SIZE), where its frame no
 * longer identifies the call. The same limit holds for hot.bpf.h; tests/lint/run checks it.
 */
#include "hot.bpf.h"
#include "tuple.bpf.h"

/* By number: the kernel stacks above trees. Never overwritten, so that they can be read later. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, NFG_STACK_FRAMES * 8);
} tree_stacks SEC(".maps");

/* How far below the head to search for our slots: as many contexts as in nested_slot. */
#define VALUES_NEST_MAX (4 * (NFG_VALUE_CNT + 1))

#define NO_SLOTS        (~0ull)

/* As nested_slot, for @cnt consecutive slots. Return: the position of the first (rec_at), or NO_SLOTS. */
static __always_inline __u64 nested_slots(struct nfg_cpu *cpu, struct nfg_rec *ring, __u64 cnt)
{
	__u64 at;

	ADD(cpu->head_bytes, cnt * NFG_REC_BYTES);
	at = *(volatile __u64 *)&cpu->head_bytes;
	for (__u32 i = 0; i < VALUES_NEST_MAX; i++) {
		at -= NFG_REC_BYTES;
		if (!*(volatile __u64 *)&rec_at(ring, at)->time_ns)
			return at - (cnt - 1) * NFG_REC_BYTES;
	}
	ADD(cpu->lost_depth, 1);
	return NO_SLOTS;
}

/* The values to record at one end of a function, and their destination. */
struct values {
	struct nfg_cpu *cpu;
	struct nfg_rec *ring;
	__u64 at;   /* the slot for the next value (rec_at) */
	__u32 left; /* how many still follow */
	__u32 arg_cnt;
	bool has_ret;
	bool has_caller;
	bool has_stack;
	struct packet_arg packet;
};

static __always_inline struct nfg_value *next_slot(struct values *vs, enum nfg_way way)
{
	return (void *)slot_at(vs->cpu, vs->ring, vs->at, way);
}

/* The value of @slot is written. */
static __always_inline void tag_value(struct values *vs, struct nfg_value *slot, __u32 which)
{
	*(volatile __u64 *)&slot->tag = NFG_VALUE_TAG(vs->left, which);
	vs->at += NFG_REC_BYTES;
	vs->left--;
}

static __always_inline void put_value(struct values *vs, __u32 which, __u64 value, enum nfg_way way)
{
	struct nfg_value *slot = next_slot(vs, way);

	slot->value = value;
	tag_value(vs, slot, which);
}

/*
 * Make a word of the trampoline's frame the next value. Read, not loaded: the verifier lets no program load a pointer
 * to a non-struct, bpf_get_func_arg() came only with 5.17, and the frame continues after the context. Not under
 * lockdown=confidentiality.
 */
static __always_inline void read_value(struct values *vs, __u32 which, void *ctx, __u64 offset,
				       enum nfg_way way)
{
	struct nfg_value *slot = next_slot(vs, way);

	bpf_probe_read_kernel(&slot->value, sizeof(slot->value), ctx + offset);
	tag_value(vs, slot, which);
}

/* The number of values. Constant if the function is patched in, so that nothing else is verified. */
static __always_inline void count_values(struct values *vs, void *ctx, bool is_exit, enum how how)
{
	__u64 arg_cnt;
	__u64 has_ret;

	if (how == HOW_COOKIE || how == HOW_SITE) {
		__u64 cookie = how == HOW_SITE ? site_cookie(ctx) : bpf_get_attach_cookie(ctx);

		arg_cnt = cookie >> 24 & 0xf;
		has_ret = cookie >> 28 & 1;
	} else {
		asm volatile("%0 = %1" : "=r"(arg_cnt) : "i"(NFG_PATCH_VAL_CNT));
		asm volatile("%0 = %1" : "=r"(has_ret) : "i"(NFG_PATCH_VAL_RET));
	}
	vs->arg_cnt = arg_cnt > NFG_VALUE_ARG_CNT ? NFG_VALUE_ARG_CNT : arg_cnt;
	vs->has_ret = has_ret && cfg.want_values & NFG_WANT_RET;
	if (is_exit)
		vs->left = vs->has_ret;
	else
		vs->left = (cfg.want_values & NFG_WANT_ARGS ? vs->arg_cnt : 0) + vs->has_caller +
			   vs->has_stack;
	if (!is_exit && cfg.want_values & NFG_WANT_PACKET) {
		vs->packet = packet_arg(ctx, how);
		if (!vs->packet.ptr)
			vs->packet.kind = NFG_ARG_NONE;
		if (vs->packet.kind != NFG_ARG_NONE)
			vs->left += NFG_PACKET_WORDS;
	}
}

static __always_inline void put_args(struct values *vs, void *ctx, enum nfg_way way)
{
/* Not a loop: the verifier would walk through each number of arguments. */
#define PUT_ARG(i)                                               \
	do {                                                     \
		if (i >= vs->arg_cnt)                            \
			return;                                  \
		if (way == NFG_WAY_kprobe)                       \
			put_value(vs, i, site_arg(ctx, i), way); \
		else                                             \
			read_value(vs, i, ctx, i * 8, way);      \
	} while (0)
	PUT_ARG(0);
	PUT_ARG(1);
	PUT_ARG(2);
	PUT_ARG(3);
	PUT_ARG(4);
	PUT_ARG(5);
	PUT_ARG(6);
	PUT_ARG(7);
	PUT_ARG(8);
	PUT_ARG(9);
	PUT_ARG(10);
	PUT_ARG(11);
	_Static_assert(NFG_VALUE_ARG_CNT == 12, "one line each");
#undef PUT_ARG
}

static __always_inline void put_caller(struct values *vs, void *ctx, enum nfg_way way)
{
	if (way == NFG_WAY_kprobe)
		put_value(vs, NFG_VALUE_CALLER, ARCH_CALLER(ctx), way);
	else
		read_value(vs, NFG_VALUE_CALLER, ctx, back_offset(ctx, vs->arg_cnt), way);
}

/* The helper hashes stacks: it refuses a stack whose bucket has another one. */
static __always_inline void put_stack(struct values *vs, void *ctx, enum nfg_way way)
{
	long nr = bpf_get_stackid(ctx, &tree_stacks, 0);

	put_value(vs, NFG_VALUE_STACK, nr < 0 ? 0 : nr + 1, way);
}

static __always_inline void put_packet(struct values *vs, enum nfg_way way)
{
	struct nfg_packet packet = { 0 };
	const __u64 *words = (const void *)&packet;

	tuple_fill(&packet, vs->packet.ptr, vs->packet.kind);
#pragma unroll
	for (__u32 i = 0; i < NFG_PACKET_WORDS; i++)
		put_value(vs, NFG_VALUE_PACKET + i, words[i], way);
}

static __always_inline void put_result(struct values *vs, void *ctx, enum nfg_way way)
{
	if (way == NFG_WAY_kprobe)
		put_value(vs, NFG_VALUE_RET, REG(ctx, ARCH_REG_RET), way);
	else
		read_value(vs, NFG_VALUE_RET, ctx, NFG_RET_OFFSET(vs->arg_cnt), way);
}

static __always_inline void put_values(struct values *vs, void *ctx, bool is_exit, enum nfg_way way)
{
	if (is_exit) {
		if (vs->has_ret)
			put_result(vs, ctx, way);
		return;
	}
	if (vs->has_caller)
		put_caller(vs, ctx, way);
	if (vs->has_stack)
		put_stack(vs, ctx, way);
	if (cfg.want_values & NFG_WANT_ARGS && vs->arg_cnt)
		put_args(vs, ctx, way);
	if (cfg.want_values & NFG_WANT_PACKET && vs->packet.kind != NFG_ARG_NONE)
		put_packet(vs, way);
}

/* The record itself, in the slot before its values. */
static __always_inline void put_record(const struct values *vs, __u64 at, __u32 task, __u32 frame,
				       void *ctx, enum nfg_way way, enum how how)
{
	struct nfg_rec *rec = slot_at(vs->cpu, vs->ring, at, way);
	__u64 time_ns;

	rec->func_id = func_id_by(how, ctx);
	rec->frame = frame;
	rec->task = task;
	time_ns = bpf_ktime_get_ns();
	asm volatile("" ::: "memory");
	ARCH_PUBLISH(rec->time_ns, time_ns);
}

static __always_inline __u32 values_flags(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx,
					  bool is_exit, enum how how)
{
	if (!(task & NFG_GATE_OPEN))
		return refuse(is_exit ? NFG_TASK_EXIT : 0, ctx, how);
	if (!packet_decides(task))
		return look_at_task(task);
	if (is_by_packet_alone(task) && is_below_refused(cpu, frame))
		return NOT_WANTED;
	return is_exit ? look_at_packet_exit(cpu, frame, ctx, how)
		       : look_at_packet_entry(cpu, frame, ctx, how);
}

/* The gate is open: take slots for the record and its values, and fill them. */
static __always_inline int record_values(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx,
					 bool is_exit, enum nfg_way way, enum how how)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	struct values vs = { .cpu = cpu };
	__u64 at;

	if (unlikely((__s32)task < 0)) { /* NFG_GATE_LOOK */
		__u32 flags = values_flags(cpu, task, frame, ctx, is_exit, how);

		if (flags == NOT_WANTED)
			return 0;
		task |= flags;
	}
	if (!is_flat(way)) {
		vs.ring = bpf_map_lookup_elem(&rings, &cpu->ring);
		if (!vs.ring)
			return 0;
	}
	if (unlikely(is_full(cpu))) {
		lose(&saved_cpu);
		return 0;
	}
	if (!is_exit) {
		vs.has_stack = cfg.want_values & NFG_WANT_STACK && task & NFG_TASK_OPENED;
		vs.has_caller = cfg.want_values & NFG_WANT_CALLER || vs.has_stack;
		task &= ~NFG_TASK_OPENED;
	}
	count_values(&vs, ctx, is_exit, how);
	if (vs.left)
		task |= NFG_TASK_VALUES;
	if (way == NFG_WAY_nested)
		at = nested_slots(cpu, vs.ring, vs.left + 1);
	else
		at = __sync_fetch_and_add(&cpu->head_bytes, (vs.left + 1) * NFG_REC_BYTES);
	if (at == NO_SLOTS)
		return 0;
	vs.at = at + NFG_REC_BYTES;
	put_values(&vs, ctx, is_exit, way);
	put_record(&vs, at, task, frame, ctx, way, how);
	return 0;
}

#define RECORD_VALUES(way)                                                                   \
	static __noinline int fill_entry_##way(struct nfg_cpu *cpu, __u32 task, __u32 frame, \
					       void *ctx)                                    \
	{                                                                                    \
		return record_values(cpu, task, frame, ctx, false, NFG_WAY_##way,            \
				     how_of(NFG_WAY_##way, false));                          \
	}                                                                                    \
                                                                                             \
	static __noinline int fill_exit_##way(struct nfg_cpu *cpu, __u32 task, __u32 frame,  \
					      void *ctx)                                     \
	{                                                                                    \
		return record_values(cpu, task, frame, ctx, true, NFG_WAY_##way,             \
				     how_of(NFG_WAY_##way, true));                           \
	}

RECORD_VALUES(nested)
RECORD_VALUES(lookup)
RECORD_VALUES(flat)
RECORD_VALUES(multi)
RECORD_VALUES(kprobe)

static __always_inline int fill_by(enum nfg_way way, struct nfg_cpu *cpu, __u32 task, __u32 frame,
				   void *ctx, bool is_exit)
{
	switch (way) {
	case NFG_WAY_nested:
		return is_exit ? fill_exit_nested(cpu, task, frame, ctx)
			       : fill_entry_nested(cpu, task, frame, ctx);
	case NFG_WAY_lookup:
		return is_exit ? fill_exit_lookup(cpu, task, frame, ctx)
			       : fill_entry_lookup(cpu, task, frame, ctx);
	case NFG_WAY_multi:
		return is_exit ? fill_exit_multi(cpu, task, frame, ctx)
			       : fill_entry_multi(cpu, task, frame, ctx);
	case NFG_WAY_kprobe:
		return is_exit ? fill_exit_kprobe(cpu, task, frame, ctx)
			       : fill_entry_kprobe(cpu, task, frame, ctx);
	default:
		return is_exit ? fill_exit_flat(cpu, task, frame, ctx)
			       : fill_entry_flat(cpu, task, frame, ctx);
	}
}

#endif
