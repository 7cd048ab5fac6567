/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_POINT_BPF_H
#define NFG_POINT_BPF_H

/*
 * Tracepoints that are shown between calls (-e). A record of a tracepoint has NFG_TASK_POINT, its number in user
 * space's list in the place of a function's id, and its fields as values.
 */
#include "values.bpf.h"

/* In the place of a function's id: no function has it. */
#define NO_FUNC NFG_FUNC_CNT

/*
 * The packet decides. Without an open tree the tracepoint's own packet is judged: that tree ends where it begins.
 * Return: flags for the record, or NOT_WANTED.
 */
static __noinline __u32 look_at_point(struct nfg_cpu *cpu, __u32 frame, void *ctx)
{
	struct packet_arg arg = packet_arg(ctx, HOW_PACKET_ARG);
	__u32 call = frame << 16 | NO_FUNC;
	__u32 flags = packet_entry(cpu, &arg, call, cfg.has_casts);

	if (cpu->tree_call == call)
		cpu->tree = NFG_TREE_NONE_OPEN;
	return flags;
}

static __always_inline __u32 point_flags(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx)
{
	if (!packet_decides(task))
		return look_at_task(task);
	if (is_by_packet_alone(task) && is_below_refused(cpu, frame))
		return NOT_WANTED;
	return look_at_point(cpu, frame, ctx);
}

/* The CPU's gate is closed. Return: the gate that counts for a tracepoint that start functions do not bind; 0: for others. */
static __always_inline __u32 free_point_gate(const struct nfg_cpu *cpu)
{
	if (!cfg.free_point || patched_func_id() != cfg.free_point - 1)
		return 0;
	return cpu->start_gate;
}

static __always_inline __u64 point_value_cnt(void)
{
	__u64 cnt;

	asm volatile("%0 = %1" : "=r"(cnt) : "i"(NFG_PATCH_VAL_CNT));
	return cnt;
}

/* As record_point, where the ring ends within the record: the fields go to a place of the same form first. */
static __always_inline int fill_wrapped(struct nfg_cpu *cpu, __u64 at, __u32 task, __u32 frame,
					void *ctx, enum nfg_slot slot)
{
	struct values vs = { .cpu = cpu, .at = at + NFG_REC_BYTES };
	struct nfg_value values[1 + NFG_VALUE_ARG_CNT];

	if (slot != NFG_SLOT_flat) {
		vs.ring = bpf_map_lookup_elem(&rings, &cpu->ring);
		if (!vs.ring)
			return 0;
	}
	vs.arg_cnt = point_value_cnt();
	vs.left = vs.arg_cnt;
	READ_WORDS(ctx, values, NFG_PATCH_MARK);
	put_words(&vs, &values[1].value, sizeof(*values) / sizeof(__u64), slot);
	put_record(&vs, at, task, frame, ctx, slot, HOW_PATCHED);
	return 0;
}

#define FILL_WRAPPED(name)                                                                   \
	static __noinline int fill_wrapped_##name(struct nfg_cpu *cpu, __u64 at, __u32 task, \
						  __u32 frame, void *ctx)                    \
	{                                                                                    \
		return fill_wrapped(cpu, at, task, frame, ctx, NFG_SLOT_##name);             \
	}

NFG_SLOTS(FILL_WRAPPED)

static __always_inline int fill_wrapped_by(enum nfg_slot slot, struct nfg_cpu *cpu, __u64 at,
					   __u32 task, __u32 frame, void *ctx)
{
	if (slot == NFG_SLOT_nested)
		return fill_wrapped_nested(cpu, at, task, frame, ctx);
	if (slot == NFG_SLOT_lookup)
		return fill_wrapped_lookup(cpu, at, task, frame, ctx);
	return fill_wrapped_flat(cpu, at, task, frame, ctx);
}

/*
 * The gate is open, and the event is wanted: fill slots with the record and its values. @bytes: this_cpu_bytes(). What is written
 * before the fields are read need not be kept meanwhile.
 */
static __always_inline int record_point(__u64 bytes, __u32 task, __u32 frame, void *ctx,
					enum nfg_slot slot)
{
	const __u64 cnt = point_value_cnt();
	const __u64 value_bytes = cnt * NFG_REC_BYTES;
	struct nfg_cpu *cpu = cpu_at(bytes);
	struct nfg_rec *rec = 0;
	__u64 last = -1;
	__u64 time_ns;
	__u64 place;
	__u64 at;

	task |= NFG_TASK_POINT | NFG_TASK_VALUES;
	if (slot != NFG_SLOT_flat) {
		rec = bpf_map_lookup_elem(&rings, &cpu->ring);
		if (!rec)
			return 0;
	}
	if (unlikely(is_full(cpu))) {
		struct nfg_cpu *volatile saved_cpu = cpu;

		lose(&saved_cpu);
		return 0;
	}
	if (slot == NFG_SLOT_nested)
		at = nested_slots(cpu, rec, cnt + 1);
	else
		at = __sync_fetch_and_add(&cpu->head_bytes, value_bytes + NFG_REC_BYTES);
	if (slot == NFG_SLOT_nested && at == NO_SLOTS)
		return 0;
	place = at;
	MASK(place, NFG_PATCH_RING_MASK);
	MASK(last, NFG_PATCH_RING_MASK);
	/* 5.10 does not compute with the negative number that the compiler would make of it */
	asm volatile("%0 -= %1" : "+r"(last) : "r"(value_bytes));
	if (unlikely(place > last))
		return fill_wrapped_by(slot, cpu, at, task, frame, ctx);
	if (slot == NFG_SLOT_flat) {
		rec = flat_recs;
		place += flat_ring_of(bytes);
	}
	rec = (void *)rec + place;
	rec->task = task;
	rec->frame = frame;
	rec->func_id = patched_func_id();
	READ_WORDS(ctx, rec, NFG_PATCH_MARK);
	time_ns = bpf_ktime_get_ns();
	asm volatile("" ::: "memory");
	ARCH_PUBLISH(rec->time_ns, time_ns);
	return 0;
}

/* fill_point_NAME; choose_point_NAME, which first looks whether the event is wanted; and the program. */
#define RECORD_POINT(slot)                                                                         \
	static __noinline int fill_point_##slot(__u64 bytes, __u32 task, __u32 frame, void *ctx)   \
	{                                                                                          \
		return record_point(bytes, task, frame, ctx, NFG_SLOT_##slot);                     \
	}                                                                                          \
                                                                                                   \
	static __noinline int choose_point_##slot(__u64 bytes, __u32 task, __u32 frame, void *ctx) \
	{                                                                                          \
		__u32 flags = point_flags(cpu_at(bytes), task, frame, ctx);                        \
                                                                                                   \
		return flags == NOT_WANTED ? 0                                                     \
					   : fill_point_##slot(bytes, task | flags, frame, ctx);   \
	}                                                                                          \
                                                                                                   \
	SEC("?tp_btf/sched_switch")                                                                \
	int point_##slot(void *ctx)                                                                \
	{                                                                                          \
		__u64 spill;                                                                       \
		__u64 bytes;                                                                       \
		__u32 frame;                                                                       \
		__u32 task;                                                                        \
                                                                                                   \
		ARCH_KEEP_FRAME(ctx);                                                              \
		bytes = this_cpu_bytes_with(&ctx, &spill);                                         \
		task = cpu_at(bytes)->gate;                                                        \
		if (!(task & NFG_GATE_OPEN))                                                       \
			task = free_point_gate(cpu_at(bytes));                                     \
		if (!(task & NFG_GATE_OPEN))                                                       \
			return 0;                                                                  \
		ARCH_FRAME(frame);                                                                 \
		if (unlikely((__s32)task < 0)) /* NFG_GATE_LOOK */                                 \
			return choose_point_##slot(bytes, task, frame, ctx);                       \
		return fill_point_##slot(bytes, task, frame, ctx);                                 \
	}

NFG_SLOTS(RECORD_POINT)

#endif
