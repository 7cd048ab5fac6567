/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PATCHED_BPF_H
#define NFG_PATCHED_BPF_H

/* A program's data about its function: constants patched into its copy, or a cookie. */
#include "cpu.bpf.h"
#include "nfg_progs.h"
#include "site.bpf.h"

/* The function's packet or socket. */
struct packet_arg {
	__u64 ptr;
	__u32 kind; /* enum nfg_arg_kind */
};

static __always_inline __u64 patched_func_id(void)
{
	__u64 func_id;

	asm volatile("%0 = %1" : "=r"(func_id) : "i"(NFG_PATCH_FUNC_ID));
	return func_id;
}

/*
 * *(u16 *)(rN + func_id) = NFG_PATCH_FUNC_ID, an instruction that older assemblers do not know. It is encoded by hand,
 * with its register, so there is one variant for each register that may already hold @rec.
 */
#define PUT_FUNC_ID(rec, number)                                                 \
	do {                                                                     \
		register struct nfg_rec *at_ asm("r" #number) = (rec);           \
                                                                                 \
		asm volatile(".byte 0x6a, 0x0" #number "\n\t"                    \
			     ".2byte %1\n\t"                                     \
			     ".4byte %2"                                         \
			     :                                                   \
			     : "r"(at_), "i"(offsetof(struct nfg_rec, func_id)), \
			       "i"(NFG_PATCH_FUNC_ID)                            \
			     : "memory");                                        \
	} while (0)

/* The way in which a program knows its function. */
enum how {
	HOW_PATCHED = 0,    /* its id is patched in */
	HOW_COOKIE = 1,     /* its id and its packet argument are in the cookie */
	HOW_PACKET_ARG = 2, /* its id and the position of its packet argument are patched in */
	HOW_MARK =
		3, /* no function: a mark, its id is patched in; the caller has checked for room */
	HOW_SITE = 4, /* known by its address (site.bpf.h) */
};

/* Low bits that identify the call: see struct nfg_rec. */
static __always_inline __u16 call_frame(void *ctx, __u32 task, enum how how)
{
	__u32 frame;

	if (how == HOW_SITE)
		return site_frame(ctx, task);
	ARCH_FRAME(frame);
	return frame;
}

/* The first sk_buff among the arguments; 0: none. */
static __always_inline __u64 skb_arg(void *ctx, enum how how)
{
	__u64 ptr = 0;
	__u64 nth;

	if (how == HOW_COOKIE) {
		nth = bpf_get_attach_cookie(ctx) >> 32 & 0xf;
		if (nth)
			bpf_get_func_arg(ctx, nth - 1, &ptr);
		return ptr;
	}
	if (how == HOW_SITE) {
		nth = site_cookie(ctx) >> 32 & 0xf;
		return nth ? site_arg(ctx, nth - 1) : 0;
	}
	asm volatile("%0 = %1" : "=r"(nth) : "i"(NFG_PATCH_SKB_ARG));
	asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
		     : "=r"(ptr)
		     : "r"(ctx), "i"(NFG_PATCH_SKB_LOAD)
		     : "r0");
	return nth ? ptr : 0;
}

/* The reason for which the function drops its packet, at index @nth - 1 of its arguments. */
static __always_inline __u32 reason_arg(void *ctx, __u64 nth, enum how how)
{
	__u64 reason = 0;

	if (how == HOW_COOKIE) {
		bpf_get_func_arg(ctx, nth - 1, &reason);
		return reason;
	}
	if (how == HOW_SITE)
		return site_arg(ctx, nth - 1);
	asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
		     : "=r"(reason)
		     : "r"(ctx), "i"(NFG_PATCH_DROP_LOAD)
		     : "r0");
	return reason;
}

/* NFG_COOKIE_DROP_ARG of the function. */
static __always_inline __u64 drop_arg(void *ctx, enum how how)
{
	__u64 nth;

	if (how == HOW_COOKIE)
		return NFG_COOKIE_DROP_ARG(bpf_get_attach_cookie(ctx));
	if (how == HOW_SITE)
		return NFG_COOKIE_DROP_ARG(site_cookie(ctx));
	asm volatile("%0 = %1" : "=r"(nth) : "i"(NFG_PATCH_DROP_ARG));
	return nth;
}

/* Whether a call of a function that drops packets drops none: the kernel also frees NULL by it, and packets that were used. */
static __always_inline bool drops_nothing(void *ctx, enum how how)
{
	__u64 nth = drop_arg(ctx, how);

	if (!nth)
		return false;
	if (!skb_arg(ctx, how))
		return true;
	return nth != NFG_DROP_WITHOUT_REASON && reason_arg(ctx, nth, how) < cfg.drops - 1;
}

/* The message that the function sends or receives, a msghdr; 0: none. */
static __always_inline __u64 msg_arg(void *ctx, enum how how)
{
	__u64 ptr = 0;
	__u64 nth;

	if (how == HOW_COOKIE) {
		nth = bpf_get_attach_cookie(ctx) >> 36 & 0xf;
		if (nth)
			bpf_get_func_arg(ctx, nth - 1, &ptr);
		return ptr;
	}
	if (how == HOW_SITE) {
		nth = site_cookie(ctx) >> 36 & 0xf;
		return nth ? site_arg(ctx, nth - 1) : 0;
	}
	asm volatile("%0 = %1" : "=r"(nth) : "i"(NFG_PATCH_MSG_ARG));
	asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
		     : "=r"(ptr)
		     : "r"(ctx), "i"(NFG_PATCH_MSG_LOAD)
		     : "r0");
	return nth ? ptr : 0;
}

static __always_inline struct packet_arg packet_arg(void *ctx, enum how how)
{
	struct packet_arg arg = { 0 };

	if (how == HOW_COOKIE) {
		__u64 cookie = bpf_get_attach_cookie(ctx);

		arg.kind = cookie >> 16 & 0xf;
		if (arg.kind)
			bpf_get_func_arg(ctx, cookie >> 20 & 0xf, &arg.ptr);
	} else if (how == HOW_SITE) {
		__u64 cookie = site_cookie(ctx);

		arg.kind = cookie >> 16 & 0xf;
		if (arg.kind)
			arg.ptr = site_arg(ctx, cookie >> 20 & 0xf);
	} else if (how == HOW_PACKET_ARG) {
		asm volatile("%0 = %1" : "=r"(arg.kind) : "i"(NFG_PATCH_ARG_KIND));
		asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
			     : "=r"(arg.ptr)
			     : "r"(ctx), "i"(NFG_PATCH_ARG_LOAD)
			     : "r0");
	}
	/* a packet without a socket: ip_local_deliver_finish(), sk_skb_reason_drop() */
	if (arg.kind == NFG_ARG_SK && !arg.ptr) {
		arg.ptr = skb_arg(ctx, how);
		if (arg.ptr)
			arg.kind = NFG_ARG_SKB;
	}
	return arg;
}

/* By the kernel's IS_ERR_VALUE. @kind: enum nfg_ret_kind. */
static __always_inline bool is_error(__u64 kind, __u64 ret)
{
	/* to the verifier some results are pointers: compute with them only if the kind is an integer */
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

/* Whether the call returns an error. */
static __always_inline bool returns_error(void *ctx)
{
	__u64 kind;
	__u64 ret;

	asm volatile("%0 = %1" : "=r"(kind) : "i"(NFG_PATCH_RET_KIND));
	if (kind == NFG_RET_NONE)
		return false; /* there may be no result to load */
	asm volatile("r0 = %2\n\t%0 = *(u64 *)(%1 + 0)"
		     : "=r"(ret)
		     : "r"(ctx), "i"(NFG_PATCH_RET_LOAD)
		     : "r0");
	return is_error(kind, ret);
}

static __always_inline __u16 func_id_by(enum how how, void *ctx)
{
	if (how == HOW_SITE)
		return site_func_id(ctx);
	return how == HOW_COOKIE ? bpf_get_attach_cookie(ctx) : patched_func_id();
}

/*
 * In a copy, a call of code that reads words of the context replaces the constant @patch: fields of a tracepoint, as the values of a
 * record at @words (kernel/tracepoint.h), or members (filter/shown.h).
 */
#define READ_WORDS(ctx, words, patch)                   \
	asm volatile("r1 = %0\n\t"                      \
		     "r2 = %1\n\t"                      \
		     "r0 = %2"                          \
		     :                                  \
		     : "r"(ctx), "r"(words), "i"(patch) \
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory")

/* The verdict of --filter: in a copy a call of the filter's code replaces the constant. */
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

/* Return: NFG_TASK_MARKED or 0. Not inlined: only programs with marks save registers for its calls. */
static __noinline __u32 mark_of(void *ctx)
{
	if (cfg.marks & NFG_MARK_ERRORS && !returns_error(ctx))
		return 0;
	if (cfg.marks & NFG_MARK_FILTER && !passes_filter(ctx))
		return 0;
	return NFG_TASK_MARKED;
}

/* As mark_of, for a program that serves many functions, without a filter. */
static __noinline __u32 mark_of_cookie(void *ctx)
{
	__u64 kind = NFG_COOKIE_RET_KIND(bpf_get_attach_cookie(ctx));
	__u64 ret = 0;

	if (cfg.marks != NFG_MARK_ERRORS || kind == NFG_RET_NONE)
		return 0;
	bpf_get_func_ret(ctx, &ret);
	return is_error(kind, ret) ? NFG_TASK_MARKED : 0;
}

static __noinline __u32 mark_of_site(struct pt_regs *ctx)
{
	__u64 kind = NFG_COOKIE_RET_KIND(site_cookie(ctx));

	return cfg.marks == NFG_MARK_ERRORS && is_error(kind, REG(ctx, ARCH_REG_RET))
		       ? NFG_TASK_MARKED
		       : 0;
}

static __always_inline __u32 result_mark(enum how how, void *ctx)
{
	if (how == HOW_SITE)
		return mark_of_site(ctx);
	return how == HOW_COOKIE ? mark_of_cookie(ctx) : mark_of(ctx);
}

/* An open gate, and its task. */
struct opened {
	struct nfg_cpu *cpu;
	__u32 task;
};

/*
 * Used at an exit if marks are wanted. Values that live across the call are then on the stack. It is a macro, because
 * @ctx must be loaded after the call.
 */
#define MARKED(cpu, task, ctx, how)                               \
	({                                                        \
		struct nfg_cpu *volatile kept_cpu = (cpu);        \
		volatile __u32 kept_task = (task);                \
		__u32 mark = result_mark(how, ctx);               \
                                                                  \
		mark |= kept_task;                                \
		(struct opened){ .cpu = kept_cpu, .task = mark }; \
	})

#endif
