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

static __always_inline void put_fields(struct values *vs, void *ctx, enum nfg_slot slot)
{
	__u64 words[NFG_VALUE_ARG_CNT];

	READ_WORDS(ctx, words, NFG_PATCH_MARK);
	put_words(vs, words, slot);
}

/* The gate is open: fill slots with the record and its values. */
static __always_inline int record_point(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx,
					enum nfg_slot slot)
{
	__u32 flags = (__s32)task < 0 ? point_flags(cpu, task, frame, ctx) : 0; /* NFG_GATE_LOOK */
	struct values vs = { .cpu = cpu };
	__u64 word_cnt;
	__u64 at;

	asm volatile("%0 = %1" : "=r"(word_cnt) : "i"(NFG_PATCH_VAL_CNT));
	if (flags == NOT_WANTED || !take_slots(&vs, word_cnt + 1, slot))
		return 0;
	vs.arg_cnt = word_cnt;
	vs.left = word_cnt;
	at = vs.at;
	vs.at += NFG_REC_BYTES;
	put_fields(&vs, ctx, slot);
	put_record(&vs, at, task | flags | NFG_TASK_POINT | NFG_TASK_VALUES, frame, ctx, slot,
		   HOW_PATCHED);
	return 0;
}

#define RECORD_POINT(slot)                                                                    \
	static __noinline int fill_point_##slot(struct nfg_cpu *cpu, __u32 task, __u32 frame, \
						void *ctx)                                    \
	{                                                                                     \
		return record_point(cpu, task, frame, ctx, NFG_SLOT_##slot);                  \
	}                                                                                     \
                                                                                              \
	SEC("?tp_btf/sched_switch")                                                           \
	int point_##slot(void *ctx)                                                           \
	{                                                                                     \
		struct nfg_cpu *cpu;                                                          \
		__u32 frame;                                                                  \
		__u32 task;                                                                   \
                                                                                              \
		ARCH_KEEP_FRAME(ctx);                                                         \
		cpu = this_cpu();                                                             \
		task = cpu->gate;                                                             \
		if (!(task & NFG_GATE_OPEN))                                                  \
			return 0;                                                             \
		ARCH_FRAME(frame);                                                            \
		return fill_point_##slot(cpu, task, frame, ctx);                              \
	}

NFG_SLOTS(RECORD_POINT)

#endif
