/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_VALUES_BPF_H
#define NFG_VALUES_BPF_H

/*
 * Records with values: arguments and the return address at entry, the result at exit. The programs of hot.bpf.h do not
 * contain this code, so values cost nothing unless requested.
 *
 * A record and its values are reserved together, so no other record comes between them.
 *
 * All of this code is in functions that are not inlined and get the program's frame as an argument. From 6.13 on a
 * program that itself uses 64 bytes of stack or more runs on a private stack (BPF_PRIV_STACK_MIN_SIZE), where its frame
 * no longer identifies the call. The same limit holds for hot.bpf.h; tests/lint/run checks it.
 */
#include "hot.bpf.h"
#include "tuple.bpf.h"

/* The kernel stacks above trees, by number. Never overwritten, so they can be read later. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, NFG_STACK_FRAMES * 8);
} tree_stacks SEC(".maps");

/* The same for the user's stacks. Processes that run the same program at the same addresses share them. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, NFG_STACK_FRAMES * 8);
} user_stacks SEC(".maps");

#define USTACK_VALUES 2 /* take_ustack, begin_of_ustack */

/*
 * The range below the head in which to search for our slots: four contexts, each with its record and all values but the
 * result, which comes alone, and the user stack, which only one of them has, the task.
 */
#define VALUES_NEST_MAX (4 * NFG_VALUE_USTACK + USTACK_VALUES)

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

#define BPF_F_USER_STACK (1ull << 8)

#define PF_IO_WORKER     0x00000010 /* has the mm of its process, but not its stack */
#define PF_KTHREAD       0x00200000

/* Whether a process called what runs now: not an interrupt, a softirq or a kernel thread. */
static __always_inline bool runs_for_process(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();

	if (preempt_count() & (HARDIRQ_MASK | SOFTIRQ_MASK) || is_in_rt_softirq())
		return false;
	return !(BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER));
}

/* The values to record at one end of a function, and their destination. */
struct values {
	struct nfg_cpu *cpu;
	struct nfg_rec *ring;
	__u64 at;   /* the slot for the next value (rec_at) */
	__u32 left; /* number of values still to follow */
	__u32 arg_cnt;
	bool has_ret;
	bool has_caller;
	bool has_stack;
	bool has_ustack;
	__u64 pkt; /* number of the followed packet; 0: not wanted */
	struct packet_arg packet;
};

static __always_inline struct nfg_value *next_slot(struct values *vs, enum nfg_slot by)
{
	return (void *)slot_at(vs->cpu, vs->ring, vs->at, by);
}

/* Mark the value in @slot as written. */
static __always_inline void tag_value(struct values *vs, struct nfg_value *slot, __u32 which)
{
	*(volatile __u64 *)&slot->tag = NFG_VALUE_TAG(vs->left, which);
	vs->at += NFG_REC_BYTES;
	vs->left--;
}

static __always_inline void put_value(struct values *vs, __u32 which, __u64 value, enum nfg_slot by)
{
	struct nfg_value *slot = next_slot(vs, by);

	slot->value = value;
	tag_value(vs, slot, which);
}

/* Take @cnt slots; vs->at: the first. Return: false: there are none. */
static __always_inline bool take_slots(struct values *vs, __u64 cnt, enum nfg_slot slot)
{
	struct nfg_cpu *volatile saved_cpu = vs->cpu;

	if (slot != NFG_SLOT_flat)
		vs->ring = bpf_map_lookup_elem(&rings, &vs->cpu->ring);
	if (slot != NFG_SLOT_flat && !vs->ring)
		return false;
	if (unlikely(is_full(vs->cpu))) {
		lose(&saved_cpu);
		return false;
	}
	vs->at = slot == NFG_SLOT_nested
			 ? nested_slots(vs->cpu, vs->ring, cnt)
			 : __sync_fetch_and_add(&vs->cpu->head_bytes, cnt * NFG_REC_BYTES);
	return vs->at != NO_SLOTS;
}

/* From one value's tag to the next one's: one is left less, and it is the next argument. */
#define TAG_STEP (NFG_VALUE_TAG(0, 1) - 1)

/* The first arg_cnt of @words, which are all values of the record. @step: from each to the next. */
static __always_inline void put_words(struct values *vs, const __u64 *words, __u32 step,
				      enum nfg_slot by)
{
	__u64 tag = NFG_VALUE_TAG((__u64)vs->left, 0);
	struct nfg_value *slot;

#define PUT_FIELD(i)                                 \
	do {                                         \
		if (i >= vs->arg_cnt)                \
			return;                      \
		slot = next_slot(vs, by);            \
		slot->value = words[i * step];       \
		*(volatile __u64 *)&slot->tag = tag; \
		tag += TAG_STEP;                     \
		vs->at += NFG_REC_BYTES;             \
	} while (0)
	PUT_FIELD(0);
	PUT_FIELD(1);
	PUT_FIELD(2);
	PUT_FIELD(3);
	PUT_FIELD(4);
	PUT_FIELD(5);
	PUT_FIELD(6);
	PUT_FIELD(7);
	PUT_FIELD(8);
	PUT_FIELD(9);
	PUT_FIELD(10);
	PUT_FIELD(11);
	_Static_assert(NFG_VALUE_ARG_CNT == 12, "one line each");
#undef PUT_FIELD
}

/*
 * Record a word of the trampoline's frame as the next value. It is read, not loaded: the verifier does not let programs
 * load a pointer to a non-struct, bpf_get_func_arg() exists only since 5.17, and the frame continues after the context.
 * Does not load under lockdown=confidentiality.
 */
static __always_inline void read_value(struct values *vs, __u32 which, void *ctx, __u64 offset,
				       enum nfg_slot by)
{
	struct nfg_value *slot = next_slot(vs, by);

	bpf_probe_read_kernel(&slot->value, sizeof(slot->value), ctx + offset);
	tag_value(vs, slot, which);
}

/* Of programs that many functions share, none has members (attach_plan.members_by_pair). */
static __always_inline bool has_shown(enum how how)
{
	return how != HOW_COOKIE && how != HOW_SITE && cfg.want_values & NFG_WANT_SHOWN;
}

/* The number of words that members take, with their states: 0 if the function has none. */
static __always_inline __u64 shown_cnt(void)
{
	__u64 cnt;

	asm volatile("%0 = %1" : "=r"(cnt) : "i"(NFG_PATCH_SHOW_CNT));
	return cnt;
}

/* The number of values. Constant if the function is patched in, so that the verifier skips other cases. */
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
			   vs->has_stack + (vs->pkt != 0) + (vs->has_ustack ? USTACK_VALUES : 0);
	if (!is_exit && has_shown(how))
		vs->left += shown_cnt();
	if (!is_exit && cfg.want_values & NFG_WANT_PACKET) {
		vs->packet = packet_arg(ctx, how);
		if (!vs->packet.ptr)
			vs->packet.kind = NFG_ARG_NONE;
		if (vs->packet.kind != NFG_ARG_NONE)
			vs->left += NFG_PACKET_WORDS;
	}
}

static __always_inline void put_args(struct values *vs, void *ctx, enum nfg_slot slot, enum how how)
{
/* Not a loop: the verifier would walk through each number of arguments. */
#define PUT_ARG(i)                                                \
	do {                                                      \
		if (i >= vs->arg_cnt)                             \
			return;                                   \
		if (how == HOW_SITE)                              \
			put_value(vs, i, site_arg(ctx, i), slot); \
		else                                              \
			read_value(vs, i, ctx, i * 8, slot);      \
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

static __always_inline void put_caller(struct values *vs, void *ctx, enum nfg_slot slot,
				       enum how how)
{
	if (how == HOW_SITE)
		put_value(vs, NFG_VALUE_CALLER, ARCH_CALLER(ctx), slot);
	else
		read_value(vs, NFG_VALUE_CALLER, ctx, back_offset(ctx, vs->arg_cnt), slot);
}

/* The helper hashes stacks: it refuses a stack whose bucket has another one. */
static __always_inline void put_stack(struct values *vs, void *ctx, enum nfg_slot slot)
{
	long nr = bpf_get_stackid(ctx, &tree_stacks, 0);

	put_value(vs, NFG_VALUE_STACK, nr < 0 ? 0 : nr + 1, slot);
}

static __noinline __u64 take_ustack(void *ctx)
{
	/* before 6.4 (d7ba4cc900bf) the upper half of the helper's result may be zero */
	int nr = bpf_get_stackid(ctx, &user_stacks, BPF_F_USER_STACK);

	return NFG_USTACK(bpf_get_current_pid_tgid() >> 32, nr < 0 ? 0 : nr + 1);
}

/* exec moves it: the names of a program's functions are not those of the next one's. */
static __noinline __u64 begin_of_ustack(void)
{
	const struct task_struct *task = (const void *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm, start_stack);
}

static __always_inline void put_ustack(struct values *vs, void *ctx, enum nfg_slot slot)
{
	put_value(vs, NFG_VALUE_USTACK, take_ustack(ctx), slot);
	put_value(vs, NFG_VALUE_USTACK_MM, begin_of_ustack(), slot);
}

static __always_inline void put_packet(struct values *vs, void *ctx, enum nfg_slot slot,
				       enum how how)
{
	struct nfg_packet packet = { 0 };
	const __u64 *words = (const void *)&packet;

	tuple_fill(&packet, vs->packet.ptr, vs->packet.kind, skb_arg(ctx, how), msg_arg(ctx, how));
#pragma unroll
	for (__u32 i = 0; i < NFG_PACKET_WORDS; i++)
		put_value(vs, NFG_VALUE_PACKET + i, words[i], slot);
}

/*
 * A frame of its own, because the words take half of a small stack. They are the last values of a call, in the slots from
 * @at on.
 */
static __always_inline int put_shown(struct nfg_cpu *cpu, __u64 at, void *ctx, enum nfg_slot slot)
{
	struct values vs = { .cpu = cpu, .at = at, .left = shown_cnt() };
	const __u32 cnt = vs.left;
	__u64 words[NFG_SHOWN_WORDS + 1];

	if (slot != NFG_SLOT_flat) {
		vs.ring = bpf_map_lookup_elem(&rings, &cpu->ring);
		if (!vs.ring)
			return 0;
	}
	READ_WORDS(ctx, words, NFG_PATCH_SHOW);
#define PUT_WORD(i)                                                  \
	do {                                                         \
		if (i >= cnt)                                        \
			return 0;                                    \
		put_value(&vs, NFG_VALUE_SHOWN + i, words[i], slot); \
	} while (0)
	PUT_WORD(0);
	PUT_WORD(1);
	PUT_WORD(2);
	PUT_WORD(3);
	PUT_WORD(4);
	PUT_WORD(5);
	PUT_WORD(6);
	PUT_WORD(7);
	PUT_WORD(8);
	PUT_WORD(9);
	PUT_WORD(10);
	PUT_WORD(11);
	PUT_WORD(12);
	PUT_WORD(13);
	PUT_WORD(14);
	PUT_WORD(15);
	PUT_WORD(16);
	_Static_assert(NFG_SHOWN_WORDS == 16, "one line each, and one for the states");
#undef PUT_WORD
	return 0;
}

#define PUT_SHOWN(name)                                                                  \
	static __noinline int put_shown_##name(struct nfg_cpu *cpu, __u64 at, void *ctx) \
	{                                                                                \
		return put_shown(cpu, at, ctx, NFG_SLOT_##name);                         \
	}

NFG_SLOTS(PUT_SHOWN)

static __always_inline void put_shown_by(enum nfg_slot slot, const struct values *vs, void *ctx)
{
	if (slot == NFG_SLOT_nested)
		put_shown_nested(vs->cpu, vs->at, ctx);
	else if (slot == NFG_SLOT_lookup)
		put_shown_lookup(vs->cpu, vs->at, ctx);
	else
		put_shown_flat(vs->cpu, vs->at, ctx);
}

static __always_inline void put_result(struct values *vs, void *ctx, enum nfg_slot slot,
				       enum how how)
{
	if (how == HOW_SITE)
		put_value(vs, NFG_VALUE_RET, REG(ctx, ARCH_REG_RET), slot);
	else
		read_value(vs, NFG_VALUE_RET, ctx, NFG_RET_OFFSET(vs->arg_cnt), slot);
}

static __always_inline void put_values(struct values *vs, void *ctx, bool is_exit,
				       enum nfg_slot slot, enum how how)
{
	if (is_exit) {
		if (vs->has_ret)
			put_result(vs, ctx, slot, how);
		return;
	}
	if (vs->has_caller)
		put_caller(vs, ctx, slot, how);
	if (vs->has_stack)
		put_stack(vs, ctx, slot);
	if (vs->has_ustack)
		put_ustack(vs, ctx, slot);
	if (vs->pkt)
		put_value(vs, NFG_VALUE_PKT, vs->pkt, slot);
	if (cfg.want_values & NFG_WANT_ARGS && vs->arg_cnt)
		put_args(vs, ctx, slot, how);
	if (cfg.want_values & NFG_WANT_PACKET && vs->packet.kind != NFG_ARG_NONE)
		put_packet(vs, ctx, slot, how);
	if (has_shown(how) && shown_cnt())
		put_shown_by(slot, vs, ctx);
}

/* Write the record itself, in the slot before its values. */
static __always_inline void put_record(const struct values *vs, __u64 at, __u32 task, __u32 frame,
				       void *ctx, enum nfg_slot slot, enum how how)
{
	struct nfg_rec *rec = slot_at(vs->cpu, vs->ring, at, slot);
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

/* @task: the gate, if it is open now. Return: the same, with NFG_TASK_OPENED if the stack is wanted. */
static __always_inline __u32 opened_by(__u32 task, bool has_sums)
{
	return task && !has_sums && cfg.want_values & (NFG_WANT_STACK | NFG_WANT_USTACK)
		       ? task | NFG_TASK_OPENED
		       : task;
}

/* Whether this entry opened the gate, and the user stack above it is wanted. */
static __always_inline bool is_tree_of_user(__u32 task)
{
	return cfg.want_values & NFG_WANT_USTACK && task & NFG_TASK_OPENED;
}

/*
 * The gate is open: take slots for the record and its values, and fill them. @is_tree: the call begins a tree, and the user
 * stack above it is wanted; a constant where most calls come, in functions of their own, so that other calls do not pay for it.
 * @pkt: see struct values.
 */
static __always_inline int record_values(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx,
					 bool is_exit, bool is_tree, enum nfg_slot slot,
					 enum how how, __u64 pkt)
{
	struct nfg_cpu *volatile saved_cpu = cpu;
	struct values vs = { .cpu = cpu, .pkt = pkt };
	__u64 at;

	if (unlikely((__s32)task < 0)) { /* NFG_GATE_LOOK */
		__u32 flags = values_flags(cpu, task, frame, ctx, is_exit, how);

		if (flags == NOT_WANTED)
			return 0;
		task |= flags;
	}
	if (slot != NFG_SLOT_flat) {
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
		vs.has_ustack = is_tree && runs_for_process();
		task &= ~NFG_TASK_OPENED;
	}
	count_values(&vs, ctx, is_exit, how);
	if (vs.left)
		task |= NFG_TASK_VALUES;
	if (slot == NFG_SLOT_nested)
		at = nested_slots(cpu, vs.ring, vs.left + 1);
	else
		at = __sync_fetch_and_add(&cpu->head_bytes, (vs.left + 1) * NFG_REC_BYTES);
	if (at == NO_SLOTS)
		return 0;
	vs.at = at + NFG_REC_BYTES;
	put_values(&vs, ctx, is_exit, slot, how);
	put_record(&vs, at, task, frame, ctx, slot, how);
	return 0;
}

/* fill_entry_NAME, fill_tree_NAME and fill_exit_NAME. */
#define FILL_FUNC(end, name, is_exit, is_tree, slot, how)                                       \
	static __noinline int fill_##end##_##name(struct nfg_cpu *cpu, __u32 task, __u32 frame, \
						  void *ctx)                                    \
	{                                                                                       \
		return record_values(cpu, task, frame, ctx, is_exit, is_tree, slot, how, 0);    \
	}

#define RECORD_VALUES(name, slot, how_entry, how_exit)        \
	FILL_FUNC(entry, name, false, false, slot, how_entry) \
	FILL_FUNC(tree, name, false, true, slot, how_entry)   \
	FILL_FUNC(exit, name, true, false, slot, how_exit)

RECORD_VALUES(nested, NFG_SLOT_nested, HOW_PACKET_ARG, HOW_PATCHED)
RECORD_VALUES(lookup, NFG_SLOT_lookup, HOW_PACKET_ARG, HOW_PATCHED)
RECORD_VALUES(flat, NFG_SLOT_flat, HOW_PACKET_ARG, HOW_PATCHED)
RECORD_VALUES(multi, NFG_SLOT_flat, HOW_COOKIE, HOW_COOKIE)
RECORD_VALUES(kprobe, NFG_SLOT_flat, HOW_SITE, HOW_SITE)

static __always_inline int fill_by(enum nfg_slot slot, enum how how, struct nfg_cpu *cpu,
				   __u32 task, __u32 frame, void *ctx, bool is_exit, bool is_tree)
{
#define FILL(name)                                                         \
	do {                                                               \
		if (is_tree)                                               \
			return fill_tree_##name(cpu, task, frame, ctx);    \
		return is_exit ? fill_exit_##name(cpu, task, frame, ctx)   \
			       : fill_entry_##name(cpu, task, frame, ctx); \
	} while (0)
	if (slot == NFG_SLOT_nested)
		FILL(nested);
	if (slot == NFG_SLOT_lookup)
		FILL(lookup);
	if (how == HOW_COOKIE)
		FILL(multi);
	if (how == HOW_SITE)
		FILL(kprobe);
	FILL(flat);
#undef FILL
}

#endif
