/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_ARCH_ARM64_BPF_H
#define NFG_ARCH_ARM64_BPF_H

#include "../cpu.bpf.h"

/* bpf_user_pt_regs_t: the context of programs at kprobes. */
struct arm64_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

#define ARCH_REGS    struct arm64_regs
#define ARCH_REG_RET regs[0]
#define ARCH_REG_IP  pc
/*
 * The call's identity: the caller's frame pointer, because the kernel saves no stack pointer at a return
 * (return_to_handler).
 */
#define ARCH_REG_FRAME regs[29]
/* bti, mov x9, bl, and the address after them; a call by the function itself cannot return below 20. */
#define ARCH_SITE_BYTES  20
#define ARCH_ARG_REG_CNT 8
#define ARCH_ARG_REGS(X) \
	X(0, regs[0])    \
	X(1, regs[1])    \
	X(2, regs[2]) X(3, regs[3]) X(4, regs[4]) X(5, regs[5]) X(6, regs[6]) X(7, regs[7])
#define ARCH_CALL_PUSHES 0
#define ARCH_CALLER(ctx) REG(ctx, regs[30])

/*
 * The call's identity (struct nfg_rec): the address of the program's context, which is in the trampoline's frame. r10
 * does not serve: its distance from the trampoline's frame depends on the registers that the program saves, and the two
 * programs of a call save different ones. The address is stored at the start of a program, below everything that the
 * compiler puts on the stack (tests/tools/test_bpfstack.sh checks that).
 */
#define ARCH_FRAME_SLOT 192
#define ARCH_KEEP_FRAME(ctx) \
	asm volatile("*(u64 *)(r10 - %1) = %0" : : "r"(ctx), "i"(ARCH_FRAME_SLOT) : "memory")
#define ARCH_FRAME(frame)                                 \
	asm volatile("r0 = *(u64 *)(r10 - %1)\n\t%0 = w0" \
		     : "=w"(frame)                        \
		     : "i"(ARCH_FRAME_SLOT)               \
		     : "r0", "memory")
/* A mark has no call, and its program may not have stored an address. */
#define ARCH_PUT_FRAME(rec, is_mark)                                                   \
	do {                                                                           \
		__u64 kept_;                                                           \
                                                                                       \
		if (is_mark)                                                           \
			(rec)->frame = 0;                                              \
		else                                                                   \
			asm volatile("%0 = *(u64 *)(r10 - %3)\n\t"                     \
				     "*(u16 *)(%1 + %2) = %0"                          \
				     : "=&r"(kept_)                                    \
				     : "r"(rec), "i"(offsetof(struct nfg_rec, frame)), \
				       "i"(ARCH_FRAME_SLOT)                            \
				     : "memory");                                      \
	} while (0)

/* The JIT makes an exchange fully ordered; a store-release needs Linux 6.15. */
#define ARCH_PUBLISH(place, value) ((void)__sync_lock_test_and_set(&(place), (value)))

/* The counter is the low half of a word; the other half is need_resched, inverted. */
struct thread_info___arm64 {
	struct {
		__u32 count;
	} preempt;
} __attribute__((preserve_access_index));

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
} __attribute__((preserve_access_index));

/*
 * The words after the context in the trampoline's frame (prepare_trampoline in arch/arm64/net): the rest of the
 * arguments, the result, x19, x20, padding to 16 bytes, two words of the function's frame, the frame pointer, and the
 * function's return address.
 */
static __always_inline __u64 back_offset(void *ctx, __u64 arg_cnt)
{
	__u64 offset = NFG_RET_OFFSET(arg_cnt) + 3 * 8;
	__u32 addr;

	asm volatile("r0 = %1\n\t%0 = w0" : "=w"(addr) : "r"(ctx) : "r0");
	return offset + (-(addr + offset) & 8) + 3 * 8;
}

/* Each task has a counter; interrupts use the counter of the task that they interrupt. */
static __always_inline int preempt_count(void)
{
	const struct task_struct___arm64 *task = (const void *)bpf_get_current_task_btf();

	return task->thread_info.preempt.count;
}

#endif
