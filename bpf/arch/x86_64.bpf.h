/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_ARCH_X86_64_BPF_H
#define NFG_ARCH_X86_64_BPF_H

#include "../cpu.bpf.h"

/* The context of programs at kprobes, and its layout. */
#define ARCH_REGS    struct pt_regs
#define ARCH_REG_RET ax
#define ARCH_REG_IP  ip
/* The call's identity, before the call pushes anything. */
#define ARCH_REG_FRAME sp
/* The offset after the call at a probe site: 5, or 9 with endbr64 before it. A later call cannot return below 14. */
#define ARCH_SITE_BYTES  10
#define ARCH_ARG_REG_CNT 6
#define ARCH_ARG_REGS(X) X(0, di) X(1, si) X(2, dx) X(3, cx) X(4, r8) X(5, r9)
/* A call pushes its return address on the stack. */
#define ARCH_CALL_PUSHES 1
#define ARCH_CALLER(ctx) site_stack(ctx, 0)

/*
 * The call's identity (struct nfg_rec): r10 is rbp, which is at the same distance from the trampoline's frame in both
 * programs of a call.
 */
#define ARCH_KEEP_FRAME(ctx) ((void)0)
#define ARCH_FRAME(frame)    asm volatile("%0 = w10" : "=w"(frame))
#define ARCH_PUT_FRAME(rec, is_mark)                                  \
	asm volatile("*(u16 *)(%0 + %1) = r10"                        \
		     :                                                \
		     : "r"(rec), "i"(offsetof(struct nfg_rec, frame)) \
		     : "memory")

/* The value becomes visible to other CPUs after all earlier stores. */
#define ARCH_PUBLISH(place, value) (*(volatile __u64 *)&(place) = (value))

enum bpf_func_id___nfg {
	BPF_FUNC_get_func_ip___nfg = 173, /* 5.15 */
};

/* Maximum distance from a function's start to its call of the trampoline. */
#define FENTRY_BYTES 16

/*
 * The words after the context in the trampoline's frame (arch_prepare_bpf_trampoline): the result, the saved frame
 * pointer, an address in the function if it calls the trampoline, and the function's return address. Kernels with
 * DYNAMIC_FTRACE_WITH_JMP (6.19) jump to some trampolines; then the address in the function is missing.
 */
static __always_inline __u64 back_offset(void *ctx, __u64 arg_cnt)
{
	__u64 offset = NFG_RET_OFFSET(arg_cnt) + 2 * 8;
	__u64 back = 0;

	if (!bpf_core_enum_value_exists(enum bpf_func_id___nfg, BPF_FUNC_get_func_ip___nfg)) {
		offset += 8;
	} else {
		bpf_probe_read_kernel(&back, sizeof(back), ctx + offset);
		if (back - bpf_get_func_ip(ctx) < FENTRY_BYTES)
			offset += 8;
	}
	return offset;
}

/*
 * x86-64 keeps the preemption counter in a per-CPU variable: __preempt_count, which was a member of pcpu_hot from 6.2
 * (64701838bf05) to 6.14 (46e8fff6d45f put it back). It is neither a __ksym nor a CO-RE type: if vmlinux lacked it,
 * libbpf would search all modules, which takes CAP_SYS_ADMIN.
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

/* For kernels whose BTF lacks the variable (5.10). On others the verifier removes this as dead code. */
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

#endif
