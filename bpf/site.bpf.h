/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_SITE_BPF_H
#define NFG_SITE_BPF_H

/*
 * One program at both ends of many functions: kprobe.session (6.10). Its context is the registers of the function's
 * caller; the function is known by its address. Attach cookies are too slow: the kernel looks each up by binary search,
 * which for 1,000 functions costs half as much again as the whole record.
 *
 * The kernel runs it with preemption off, so no task is preempted inside it. If an interrupt arrives while it, or
 * another program at a kprobe, runs, the interrupt's calls are skipped, each as a whole with one link for both ends,
 * and the kernel counts them. (From 6.10 to 6.13 the return of a skipped entry is armed: it is seen if the other
 * program has ended by then.)
 */
#include "arch/arch.bpf.h"
#include "cpu.bpf.h"

/*
 * Ids of functions, by address >> NFG_SITE_SHIFT. The attach code replaces this table by the real one in copies of the
 * templates.
 */
__u16 site_funcs[NFG_SITE_MIN] SEC(".data.sites");

/* The NFG_COOKIE of a function, by its id. Only if programs read packets or results, or record values. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} site_cookies SEC(".maps");

/*
 * Load at a constant offset: verifiers before 7.0 accept only these for a context, but compilers like to compute
 * offsets.
 */
#define REG(ctx, reg)                                                    \
	({                                                               \
		__u64 value;                                             \
                                                                         \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                    \
			     : "=r"(value)                               \
			     : "r"(ctx), "i"(offsetof(ARCH_REGS, reg))); \
		value;                                                   \
	})

/* The fields of a record for a call at a site. */
struct site {
	__u64 func_id;
	__u64 frame;
};

/* @addr: of the function. Uses byte offsets, because the low bits of @addr are 0. */
static __always_inline __u64 site_func_at(__u64 addr)
{
	__u64 at = addr >> (NFG_SITE_SHIFT - 1);

	asm volatile("%0 &= %1" : "+r"(at) : "i"(NFG_PATCH_SITE_MASK));
	return *(__u16 *)((char *)site_funcs + at);
}

static __always_inline __u16 site_func_id(void *ctx)
{
	return site_func_at(bpf_get_func_ip(ctx));
}

/*
 * At the return, the return address (8 bytes) has already been popped. The frame is lower than that of a fentry program
 * of a caller.
 */
static __always_inline __u32 site_frame(void *ctx, __u32 task)
{
	const __u32 popped = ARCH_CALL_PUSHES * (task & NFG_TASK_EXIT) / (NFG_TASK_EXIT / 8);

	return REG(ctx, ARCH_REG_FRAME) - popped - (16 - NFG_FRAME_SITE);
}

static __always_inline __u64 site_cookie(void *ctx)
{
	__u32 func_id = site_func_id(ctx);
	__u64 *cookie = bpf_map_lookup_elem(&site_cookies, &func_id);

	return cookie ? *cookie : 0;
}

/* Read a word of the caller's stack: at an entry the first may be the return address, followed by arguments. */
static __always_inline __u64 site_stack(void *ctx, __u32 idx)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)(REG(ctx, sp) + 8 * idx));
	return word;
}

#define ARG_CASE(idx, reg) \
	case idx:          \
		return REG(ctx, reg);

static __always_inline __u64 site_arg(void *ctx, __u32 idx)
{
	switch (idx) {
		ARCH_ARG_REGS(ARG_CASE)
	default:
		return site_stack(ctx, idx - ARCH_ARG_REG_CNT + ARCH_CALL_PUSHES);
	}
}

/* As skb_arg, of a function whose id is known. */
static __always_inline __u64 site_skb(void *ctx, __u32 func_id)
{
	const __u64 *cookie = bpf_map_lookup_elem(&site_cookies, &func_id);
	const __u64 nth = cookie ? *cookie >> 32 & 0xf : 0;

	return nth ? site_arg(ctx, nth - 1) : 0;
}

/*
 * NFG_TASK_EXIT at the return. bpf_get_attach_cookie() stands for the kfunc bpf_session_is_return(), which older kernels
 * lack: see session_end.
 */
static __always_inline __u32 site_end(void *ctx)
{
	return (bpf_get_attach_cookie(ctx) & 1) * NFG_TASK_EXIT;
}

/*
 * Fill in all fields of a call's record, without asking the kernel for the end: at an entry the instruction pointer is
 * the address after the function's probe site, at a return it is the return address or the kernel's hook. Only a
 * livepatch changes that, and functions with one are not attached (select.c). If a livepatch is applied during the
 * trace, an entry is taken for a return without an entry, and counted as such. Written by hand, because otherwise the
 * end would be tested twice and take a register that the program would have to save.
 *
 * @addr: of the function. Return: @gate, with NFG_TASK_EXIT at the return.
 */
static __always_inline __u32 site_look(void *ctx, __u64 addr, __u32 gate, struct site *site)
{
	__u64 frame, past;

	asm volatile(
		"%[past] = *(u64 *)(%[ctx] + %[ip])\n\t"
		"%[frame] = *(u64 *)(%[ctx] + %[sp])\n\t"
		"%[past] -= %[addr]\n\t"
		"if %[past] < %[site_bytes] goto +2\n\t"
		"%[frame] -= %[popped]\n\t"
		"%[gate] |= %[exit]\n\t"
		: [past] "=&r"(past), [frame] "=&r"(frame), [gate] "+w"(gate)
		: [ctx] "r"(ctx), [addr] "r"(addr), [ip] "i"(offsetof(ARCH_REGS, ARCH_REG_IP)),
		  [sp] "i"(offsetof(ARCH_REGS, ARCH_REG_FRAME)), [site_bytes] "i"(ARCH_SITE_BYTES),
		  [popped] "i"(8 * ARCH_CALL_PUSHES), [exit] "i"(NFG_TASK_EXIT));
	site->frame = frame - (16 - NFG_FRAME_SITE);
	site->func_id = site_func_at(addr);
	return gate;
}

/* The highest byte of nfg_rec.task if the gate needs no closer look: NFG_GATE_OPEN, and at the return NFG_TASK_EXIT. */
#define SITE_TASK_BYTE (offsetof(struct nfg_rec, task) + 3)
#define SITE_EXIT_BYTE ((NFG_GATE_OPEN | NFG_TASK_EXIT) >> 24)

/*
 * As site_look, into @rec, whose task contains the gate. At the return one byte of it is stored: *(u8 *)(r1 + off) =
 * imm.
 */
static __always_inline void put_site(struct nfg_rec *rec, void *ctx, __u64 addr)
{
	register struct nfg_rec *at asm("r1") = rec;
	__u64 frame, past;

	asm volatile("%[past] = *(u64 *)(%[ctx] + %[ip])\n\t"
		     "%[frame] = *(u64 *)(%[ctx] + %[sp])\n\t"
		     "%[past] -= %[addr]\n\t"
		     "if %[past] < %[site_bytes] goto +2\n\t"
		     "%[frame] -= %[popped]\n\t"
		     ".byte 0x72, 0x01\n\t"
		     ".2byte %[task_byte]\n\t"
		     ".4byte %[exit_byte]"
		     : [past] "=&r"(past), [frame] "=&r"(frame)
		     : [ctx] "r"(ctx), [addr] "r"(addr), [at] "r"(at),
		       [ip] "i"(offsetof(ARCH_REGS, ARCH_REG_IP)),
		       [sp] "i"(offsetof(ARCH_REGS, ARCH_REG_FRAME)),
		       [site_bytes] "i"(ARCH_SITE_BYTES), [popped] "i"(8 * ARCH_CALL_PUSHES),
		       [task_byte] "i"(SITE_TASK_BYTE), [exit_byte] "i"(SITE_EXIT_BYTE)
		     : "memory");
	at->frame = frame - (16 - NFG_FRAME_SITE);
	at->func_id = site_func_at(addr);
}

#endif
