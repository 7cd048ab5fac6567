/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_STACKS_BPF_H
#define NFG_STACKS_BPF_H

/*
 * The open calls of each task, when calls are summed up (kprofile.bpf.h).
 *
 * A task's stack is shared with the interrupts on top of it. They end before the task continues, and leave the stack as
 * they found it. An interrupt must see a consistent stack at any point: depth is raised before the frame is filled,
 * because otherwise an interrupt would fill the same frame; a frame with .frame 0 is not yet filled, or already free.
 */
#include "guard.bpf.h"
#include "starts.bpf.h"

/* Stacks by number; 0 is unused. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_stack);
} stacks SEC(".maps");

/* The number of a task's stack, by task_key(). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} stack_of SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 1);
	__uint(key_size, 0);
	__uint(value_size, 4);
} free_stacks SEC(".maps");

struct nfg_sums_lost sums_lost SEC(".data");

static __always_inline void count(__u64 *cnt)
{
	ADD(*cnt, 1);
}

/* The stack of the task that runs on @cpu; it must have one. */
static __always_inline struct nfg_stack *stack_of_cpu(struct nfg_cpu *cpu)
{
	return bpf_map_lookup_elem(&stacks, &cpu->stack);
}

/* From here on it is unknown whether the task's open calls get their exits, and which call an exit belongs to. */
static __noinline int doubt_stack(struct nfg_cpu *cpu)
{
	struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;
	__u32 cnt;

	if (!stack)
		return 0;
	cnt = ALWAYS(stack->depth);
	ALWAYS(stack->depth) = 0;
	ADD(sums_lost.doubt_cnt, cnt);
	stack->doubt_cnt += cnt + stack->deep_cnt;
	stack->deep_cnt = 0;
	return 0;
}

/* Called when a CPU switches to another task, or a task's gate is set. */
static __always_inline void follow_stack(struct nfg_cpu *cpu, __u32 tid, __u32 gate)
{
	__u32 key = task_key(tid);
	__u32 *stack = gate ? bpf_map_lookup_elem(&stack_of, &key) : 0;

	cpu->stack = stack ? *stack : 0;
	if (gate & NFG_GATE_DOUBT)
		doubt_stack(cpu);
}

/* For the first call of a task. If an interrupt came first, use the stack that it took. Return: 0: none. */
static __noinline __u32 take_stack(struct nfg_cpu *cpu, __u32 tid)
{
	__u32 key = task_key(tid);
	__u32 *found = bpf_map_lookup_elem(&stack_of, &key);
	__u32 stack = 0;

	if (found) {
		stack = *found;
	} else if (bpf_map_pop_elem(&free_stacks, &stack)) {
		count(&sums_lost.task_cnt);
		return 0;
	} else if (bpf_map_update_elem(&stack_of, &key, &stack, NOEXIST)) {
		bpf_map_push_elem(&free_stacks, &stack, 0);
		found = bpf_map_lookup_elem(&stack_of, &key);
		if (!found) {
			count(&sums_lost.task_cnt);
			return 0;
		}
		stack = *found;
	}
	cpu->stack = stack;
	return stack;
}

static __always_inline struct nfg_frame *frame_at(struct nfg_stack *stack, __u64 idx)
{
	MASK(idx, NFG_STACK_DEPTH - 1);
	return &stack->frames[idx];
}

/*
 * The verifier checks all code after a loop once for each exit of the loop. Make it forget the bounds: @value is
 * unchanged, but could be anything.
 */
static __always_inline __u32 forget_bounds(struct nfg_stack *stack, __u32 value)
{
	__u32 any = ALWAYS(stack->depth);

	value ^= any;
	asm volatile("" : "+r"(value));
	return value ^ any;
}

/* Drop the calls from @depth on, whose returns were missed. Return: their number. */
static __always_inline __u32 drop_frames(struct nfg_stack *stack, __u32 depth)
{
	__u32 cnt = ALWAYS(stack->depth) - depth;

	ALWAYS(stack->depth) = depth;
	return cnt;
}

/* The task has ended and leaves a CPU for the last time. Its open calls will not return. */
static __noinline int give_stack(__u32 tid)
{
	__u32 *found = bpf_map_lookup_elem(&stack_of, &tid);
	struct nfg_stack *stack;
	__u32 nr;

	if (!found)
		return 0;
	nr = *found;
	stack = bpf_map_lookup_elem(&stacks, &nr);
	if (!stack)
		return 0;
	ADD(sums_lost.open_cnt, drop_frames(stack, 0));
	stack->deep_cnt = 0;
	stack->doubt_cnt = 0;
	stack->is_cut = 0;
	bpf_map_delete_elem(&stack_of, &tid);
	bpf_map_push_elem(&free_stacks, &nr, 0);
	return 0;
}

/* A thread other than the first of its process called exec: its tid has changed. */
static __noinline int rename_stack(__u32 old_tid, __u32 tid)
{
	__u32 *found = bpf_map_lookup_elem(&stack_of, &old_tid);
	__u32 stack;

	if (!found)
		return 0;
	stack = *found;
	bpf_map_update_elem(&stack_of, &tid, &stack, 0);
	bpf_map_delete_elem(&stack_of, &old_tid);
	return 0;
}

#define TASK_DEAD_ 0x80

static __always_inline bool is_dead(const struct task_struct *task)
{
	return task_state(task) & TASK_DEAD_;
}

/*
 * At a switch: handle the open calls of the task that leaves the CPU. A program that began before the doubt may have
 * put calls back on the stack.
 */
static __always_inline void leave_stack(struct nfg_cpu *cpu, const struct task_struct *prev)
{
	if ((cfg.by_starts ? cpu->start_gate : cpu->gate) & NFG_GATE_DOUBT) {
		struct nfg_stack *stack = cpu->stack ? stack_of_cpu(cpu) : 0;

		forget_start(prev->pid);
		if (stack) {
			ALWAYS(stack->depth) = 0;
			stack->is_cut = migrate_cnt(prev) > own_migrate_cnt;
		}
	}
	if (is_dead(prev))
		give_stack(prev->pid);
}

/* Whether the task that gets the CPU is still inside a program that began in doubt. */
static __noinline __u32 is_cut(__u32 tid)
{
	__u32 key = task_key(tid);
	__u32 *found = bpf_map_lookup_elem(&stack_of, &key);
	struct nfg_stack *stack = found ? bpf_map_lookup_elem(&stacks, found) : 0;

	return stack ? stack->is_cut : 0;
}

#endif
