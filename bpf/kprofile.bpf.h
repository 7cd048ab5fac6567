/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_KPROFILE_BPF_H
#define NFG_KPROFILE_BPF_H

/*
 * Calls summed up in the kernel (profile, latency): no records, so no full ring can lose any. Every task has a stack
 * of its open calls; an exit adds the call's duration to the sums of its function.
 *
 * Each CPU has its own sums, or shares them with others; updates are atomic.
 */
#include "stacks.bpf.h"

/* One or more tables, each with one element per function, by func_id. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_sums);
} func_sums SEC(".maps");

/* By caller << 16 | func_id. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_caller_sums);
} caller_sums SEC(".maps");

/* Number of contexts on each CPU that are raising a maximum now (raise_nested). */
__u8 raisers[NFG_CPU_CNT] SEC(".data");

/* At most this many consecutive calls without exits are detected at once; the others next time. */
#define LOST_MAX       8

#define FRAME_OWNS_BIT 1 /* it has set its function's bit in nfg_stack.open_funcs */
#define FRAME_IS_INNER 2 /* an outer call of its function is open */

/* ---- entry ---- */

/* THREAD_SIZE and IRQ_STACK_SIZE, except on arm64 with pages of 64 KiB: of larger stacks a smaller part is compared. */
#define STACK_SHIFT 14

/* Whether an open call has returned without its exit being seen: it is on the stack of a new call, and not above it. */
static __always_inline bool is_over(__u32 old, __u32 frame)
{
	return old && old <= frame && !((old ^ frame) >> STACK_SHIFT);
}

/* Return: the depth after dropping calls that have returned. */
static __noinline __u32 drop_over(struct nfg_stack *stack, __u32 frame)
{
	__u32 depth = ALWAYS(stack->depth);

	for (__u32 i = 0; i < LOST_MAX; i++) {
		if (!depth || !is_over(frame_at(stack, depth - 1ull)->frame, frame))
			break;
		depth--;
	}
	depth = forget_bounds(stack, depth);
	ADD(sums_lost.torn_cnt, drop_frames(stack, depth));
	return depth;
}

/*
 * The frame up to which calls on the same stack have returned when a call of @func_id begins. If functions are known by
 * address, a function reached by a jump at another's end has the same frame, and both are open; an earlier call of the
 * same function is not open. (If an untraced function jumps to it again, its first call is dropped and counted as
 * torn.)
 */
static __always_inline __u32 over_frame(const struct nfg_frame *top, __u32 frame, __u16 func_id,
					bool by_site)
{
	return by_site && (top->frame != frame || top->func_id != func_id) ? frame - 1 : frame;
}

/* The flag of a call whose bit is set: by a call of the same function, by another's, or by one that was dropped. */
static __noinline __u32 shared_flag(struct nfg_stack *stack, __u32 depth, __u16 func_id)
{
	__u32 flag = FRAME_OWNS_BIT;

	for (__u32 i = 0; i < NFG_STACK_DEPTH; i++) {
		const struct nfg_frame *f = &stack->frames[i];

		if (i >= depth)
			break;
		if (!f->frame) {
			flag = 0; /* being filled: it may have set the bit */
			continue;
		}
		if ((f->func_id ^ func_id) % (64 * NFG_OPEN_WORDS))
			continue;
		if (f->func_id == func_id)
			return FRAME_IS_INNER;
		flag = 0;
	}
	return flag;
}

/* A function's bit in nfg_stack.open_funcs is only a hint: several functions share it. */
static __always_inline __u64 *open_word(struct nfg_stack *stack, __u16 func_id)
{
	__u64 word = func_id >> 6;

	MASK(word, NFG_OPEN_WORDS - 1);
	return &stack->open_funcs[word];
}

static __always_inline __u16 mark_open(struct nfg_stack *stack, __u32 depth, __u16 func_id)
{
	__u64 *word = open_word(stack, func_id);
	__u64 bit = 1ull << (func_id & 63);
	__u64 open = ALWAYS(*word);

	if (open & bit)
		return shared_flag(stack, depth, func_id);
	ALWAYS(*word) = open | bit;
	return FRAME_OWNS_BIT;
}

/* A call begins where calls may be missed: count it without summing it. */
static __noinline int doubt_entry(struct nfg_cpu *cpu, __u32 task)
{
	struct nfg_stack *stack;

	if (!cpu->stack && !take_stack(cpu, task & NFG_TASK_TID))
		return 0;
	stack = stack_of_cpu(cpu);
	if (stack)
		ADD(stack->doubt_cnt, 1);
	count(&sums_lost.doubt_cnt);
	return 0;
}

/* A call ends where calls may be missed. */
static __noinline int doubt_exit(struct nfg_cpu *cpu)
{
	struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;

	if (stack && ALWAYS(stack->doubt_cnt))
		ALWAYS(stack->doubt_cnt)--;
	return 0;
}

/* A call of @func_id begins with the gate open. @frame: the program's, see struct nfg_rec. */
static __always_inline int open_call(struct nfg_cpu *cpu, __u32 task, __u32 frame, __u16 func_id,
				     bool by_site)
{
	struct nfg_stack *stack;
	struct nfg_frame *f;
	__u32 depth;

	if (unlikely((__s32)task < 0)) {
		if (!(task & NFG_GATE_OPEN))
			return count_out(task, func_id);
		if (look_at_task(task) == NOT_WANTED)
			return 0;
		if (task & NFG_GATE_DOUBT)
			return doubt_entry(cpu, task);
	}
	if (unlikely(!cpu->stack) && !take_stack(cpu, task & NFG_TASK_TID))
		return 0;
	stack = stack_of_cpu(cpu);
	if (!stack)
		return 0;
	depth = ALWAYS(stack->depth);
	if (depth) {
		const struct nfg_frame *top = frame_at(stack, depth - 1);
		__u32 over = over_frame(top, frame, func_id, by_site);

		if (unlikely(is_over(top->frame, over)))
			depth = drop_over(stack, over);
	}
	if (unlikely(depth >= NFG_STACK_DEPTH)) {
		stack->deep_cnt++;
		count(&sums_lost.deep_cnt);
		return 0;
	}
	f = frame_at(stack, depth);
	ALWAYS(f->frame) = 0;
	ALWAYS(f->child_ns) = 0;
	ALWAYS(f->inside) = 0;
	ALWAYS(stack->depth) = depth + 1;
	f->flags = mark_open(stack, depth, func_id);
	f->func_id = func_id;
	ALWAYS(f->start_ns) = bpf_ktime_get_ns();
	ALWAYS(f->frame) = frame;
	return 0;
}

/* ---- exit ---- */

/*
 * The call that ends is not on top: calls above it have lost their exits, or it began before the trace, or its entry
 * was missed. Return: the depth with it on top; 0: not found.
 */
static __noinline __u32 find_call(struct nfg_stack *stack, __u32 frame, __u16 func_id)
{
	__u32 depth = ALWAYS(stack->depth);
	__u32 at = 0;

	if (stack->deep_cnt && depth == NFG_STACK_DEPTH) {
		stack->deep_cnt--;
		return 0;
	}
	stack->deep_cnt = 0;
	for (__u32 i = 0; i < LOST_MAX; i++) {
		const struct nfg_frame *f = frame_at(stack, depth - 1ull - i);

		if (i >= depth)
			break;
		if (f->frame != frame || f->func_id != func_id)
			continue;
		at = depth - i;
		break;
	}
	at = forget_bounds(stack, at);
	if (!at && stack->doubt_cnt) {
		stack->doubt_cnt--;
		return 0;
	}
	if (at)
		ADD(sums_lost.torn_cnt, drop_frames(stack, at));
	else
		count(ALWAYS(stack->depth) ? &sums_lost.orphan_cnt : &sums_lost.early_cnt);
	return at;
}

/*
 * The depth of the caller of the call at @depth - 1, or 0. Skips calls that were interrupted while being opened or
 * closed.
 */
static __noinline __u32 caller_depth(struct nfg_stack *stack, __u32 depth)
{
	__u32 found = 0;

	for (__u32 i = 2; i < 2 + NFG_NEST_MAX; i++) {
		if (i > depth)
			break;
		if (frame_at(stack, depth - (__u64)i)->frame) {
			found = depth - i + 1;
			break;
		}
	}
	return forget_bounds(stack, found);
}

/* Before 5.12: contexts nest strictly, and each level of nesting uses its own cell. */
static __noinline int raise_nested(struct nfg_cpu *cpu, __u64 *cells, __u64 value)
{
	__u8 *raiser_cnt = &raisers[cpu->ring & (NFG_CPU_CNT - 1)];
	__u8 level = ALWAYS(*raiser_cnt);
	__u64 *cell = &cells[level & (NFG_SUMS_LEVELS - 1)];

	ALWAYS(*raiser_cnt) = level + 1;
	if (value > ALWAYS(*cell))
		ALWAYS(*cell) = value;
	ALWAYS(*raiser_cnt) = level;
	return 0;
}

#define RAISE_TRIES 8

static __noinline int raise_atomic(__u64 *cell, __u64 value)
{
	__u64 old = ALWAYS(*cell);

	for (__u32 i = 0; i < RAISE_TRIES; i++) {
		__u64 found;

		if (value <= old)
			break;
		found = __sync_val_compare_and_swap(cell, old, value);
		if (found == old)
			break;
		old = found;
	}
	return 0;
}

enum raise { RAISE_NESTED, RAISE_ATOMIC };

static __always_inline void raise_to(struct nfg_cpu *cpu, __u64 *cells, __u64 value, enum raise how)
{
	if (value <= ALWAYS(cells[0]))
		return;
	if (how == RAISE_ATOMIC)
		raise_atomic(cells, value);
	else
		raise_nested(cpu, cells, value);
}

static __noinline int add_caller(__u32 key, __u64 took_ns)
{
	struct nfg_caller_sums *sums = bpf_map_lookup_elem(&caller_sums, &key);

	if (!sums) {
		struct nfg_caller_sums none = { 0 };

		bpf_map_update_elem(&caller_sums, &key, &none, NOEXIST);
		sums = bpf_map_lookup_elem(&caller_sums, &key);
	}
	if (!sums) {
		count(&sums_lost.caller_cnt);
		return 0;
	}
	ADD(sums->call_cnt, 1);
	ADD(sums->took_ns, took_ns);
	return 0;
}

/* A call that has ended. */
struct ended {
	__u64 took_ns;
	__u64 child_ns;
	__u64 inside; /* as in nfg_frame */
	__u16 func_id;
	__u16 flags;
};

static __always_inline void add_sums(struct nfg_cpu *cpu, const struct ended *call, enum raise how)
{
	__u32 idx = cpu->sums + call->func_id;
	struct nfg_sums *sums = bpf_map_lookup_elem(&func_sums, &idx);
	__u64 took_ns = call->took_ns;
	__u32 bucket;

	if (!sums)
		return;
	ADD(sums->took_ns, call->took_ns);
	if (call->inside) {
		ADD(sums->child_ns,
		    call->child_ns < call->took_ns ? call->child_ns : call->took_ns);
		ADD(sums->child_cnt, call->inside / NFG_CHILD);
	}
	if (call->flags & FRAME_IS_INNER) {
		ADD(sums->inner_ns, call->took_ns);
		ADD(sums->inner_cnt, 1);
	} else if (call->inside) {
		ADD(sums->inside_cnt, call->inside % NFG_CHILD);
	}
	raise_to(cpu, sums->max_ns, call->took_ns, how);
	raise_to(cpu, sums->below_ns, ~call->took_ns, how);
	asm volatile(
		""
		: "+r"(took_ns)); /* not earlier: the verifier checks the remaining code once per path */
	bucket = nfg_hist_bucket(took_ns);
	if (bucket >= NFG_HIST_CNT)
		bucket = NFG_HIST_CNT - 1;
	ADD(sums->buckets[bucket], 1);
}

/* Pop the call at @depth - 1 from the stack. */
static __always_inline void pop_call(struct nfg_stack *stack, __u32 depth, __u64 now_ns,
				     struct ended *call)
{
	struct nfg_frame *f = frame_at(stack, depth - 1);

	ALWAYS(f->frame) = 0; /* from here on interrupts belong to the caller */
	call->took_ns = now_ns - ALWAYS(f->start_ns);
	call->child_ns = ALWAYS(f->child_ns);
	call->inside = ALWAYS(f->inside);
	call->flags = f->flags;
	ALWAYS(f->child_ns) = 0;
	ALWAYS(f->inside) = 0;
	if (call->flags & FRAME_OWNS_BIT) {
		__u64 *word = open_word(stack, call->func_id);

		ALWAYS(*word) = ALWAYS(*word) & ~(1ull << (call->func_id & 63));
	}
	ALWAYS(stack->depth) = depth - 1;
}

/* The caller has the call inside it, and those that this had. Return: the caller; NFG_FUNC_CNT: none. */
static __always_inline __u32 tell_caller(struct nfg_stack *stack, __u32 depth,
					 const struct ended *call)
{
	struct nfg_frame *f;

	if (depth < 2)
		return NFG_FUNC_CNT;
	f = frame_at(stack, depth - 2);
	if (unlikely(!f->frame)) {
		depth = caller_depth(stack, depth);
		if (!depth)
			return NFG_FUNC_CNT;
		f = frame_at(stack, depth - 1);
	}
	ADD(f->child_ns, call->took_ns);
	ADD(f->inside, call->inside % NFG_CHILD + NFG_CHILD + 1);
	return f->func_id;
}

static __always_inline int close_call(struct nfg_cpu *cpu, __u32 task, __u32 frame, __u16 func_id,
				      enum raise how)
{
	struct ended call = { .func_id = func_id };
	struct nfg_stack *stack;
	struct nfg_frame *f;
	__u64 now_ns;
	__u32 depth;
	__u32 caller;

	if (unlikely((__s32)task < 0)) {
		if (!(task & NFG_GATE_OPEN) || look_at_task(task) == NOT_WANTED)
			return 0;
		if (task & NFG_GATE_DOUBT)
			return doubt_exit(cpu);
	}
	now_ns = bpf_ktime_get_ns();
	if (unlikely(!cpu->stack)) {
		if (!ALWAYS(sums_lost.task_cnt))
			count(&sums_lost.early_cnt);
		return 0;
	}
	stack = stack_of_cpu(cpu);
	if (!stack)
		return 0;
	depth = ALWAYS(stack->depth);
	f = frame_at(stack, depth - 1ull);
	if (!depth || f->frame != frame || f->func_id != func_id) {
		depth = find_call(stack, frame, func_id);
		if (!depth)
			return 0;
	}
	pop_call(stack, depth, now_ns, &call);
	caller = tell_caller(stack, depth, &call);
	add_sums(cpu, &call, how);
	if (cfg.want_callers)
		add_caller(caller << 16 | func_id, call.took_ns);
	return 0;
}

/* Not inlined, so that a call that the gate refuses needs no stack frame. */
static __noinline int open_patched(struct nfg_cpu *cpu, __u32 task, __u32 frame)
{
	return open_call(cpu, task, frame, patched_func_id(), false);
}

static __noinline int close_nested(struct nfg_cpu *cpu, __u32 task, __u32 frame)
{
	return close_call(cpu, task, frame, patched_func_id(), RAISE_NESTED);
}

static __noinline int close_atomic(struct nfg_cpu *cpu, __u32 task, __u32 frame)
{
	return close_call(cpu, task, frame, patched_func_id(), RAISE_ATOMIC);
}

static __noinline int open_multi(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx)
{
	return open_call(cpu, task, frame, bpf_get_attach_cookie(ctx), false);
}

static __noinline int close_multi(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx)
{
	return close_call(cpu, task, frame, bpf_get_attach_cookie(ctx), RAISE_ATOMIC);
}

static __noinline int open_kprobe(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx)
{
	return open_call(cpu, task, frame, site_func_id(ctx), true);
}

static __noinline int close_kprobe(struct nfg_cpu *cpu, __u32 task, __u32 frame, void *ctx)
{
	return close_call(cpu, task, frame, site_func_id(ctx), RAISE_ATOMIC);
}

static __always_inline int open_by(enum how how, struct nfg_cpu *cpu, __u32 task, __u32 frame,
				   void *ctx)
{
	if (how == HOW_SITE)
		return open_kprobe(cpu, task, frame, ctx);
	return how == HOW_COOKIE ? open_multi(cpu, task, frame, ctx)
				 : open_patched(cpu, task, frame);
}

static __always_inline int close_by(enum nfg_slot slot, enum how how, struct nfg_cpu *cpu,
				    __u32 task, __u32 frame, void *ctx)
{
	if (slot == NFG_SLOT_nested)
		return close_nested(cpu, task, frame);
	if (how == HOW_COOKIE)
		return close_multi(cpu, task, frame, ctx);
	if (how == HOW_SITE)
		return close_kprobe(cpu, task, frame, ctx);
	return close_atomic(cpu, task, frame);
}

#endif
