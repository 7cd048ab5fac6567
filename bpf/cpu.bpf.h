/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_CPU_BPF_H
#define NFG_CPU_BPF_H

/* Shared by all programs: the settings, the switch, and the data by which each CPU decides. */
#if __has_warning("-Wdefault-const-init-var-unsafe")
#pragma clang diagnostic ignored \
	"-Wdefault-const-init-var-unsafe" /* in BPF_CORE_READ of libbpf 1.1 */
#endif
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "nfg_abi.h"

#define unlikely(cond) __builtin_expect(!!(cond), 0)

/* Load or store @lvalue exactly here, regardless of the compiler's knowledge. */
#define ALWAYS(lvalue) (*(volatile typeof(lvalue) *)&(lvalue))

/* In a separate register, so that rare code does not decide the register of the rest. */
#define COPY(value)                                                 \
	({                                                          \
		typeof(value) copy_;                                \
                                                                    \
		asm volatile("%0 = %1" : "=r"(copy_) : "r"(value)); \
		copy_;                                              \
	})

/*
 * Adds to a number of 32 or 64 bits that other contexts add to. Newer compilers make of it an operation that also fetches
 * the old value, which 5.10 does not have, and which takes longer.
 */
#if __clang_major__ >= 20
#define ADD(lvalue, cnt)                                                 \
	do {                                                             \
		if (sizeof(lvalue) == 8)                                 \
			asm volatile("lock *(u64 *)(%0 + 0) += %1"       \
				     :                                   \
				     : "r"(&(lvalue)), "r"((__u64)(cnt)) \
				     : "memory");                        \
		else                                                     \
			asm volatile("lock *(u32 *)(%0 + 0) += %1"       \
				     :                                   \
				     : "r"(&(lvalue)), "r"((__u64)(cnt)) \
				     : "memory");                        \
	} while (0)
#else
#define ADD(lvalue, cnt) ((void)__sync_fetch_and_add(&(lvalue), cnt))
#endif

const volatile struct nfg_cfg cfg = { 0 };

/*
 * Since 6.2, so every kernel that attaches a program to many functions has it (cfg.has_casts). It costs no call. It is not a
 * __ksym, for the reason in arch/x86_64.bpf.h; its types are not CO-RE's, which are numbered by the BTF that libbpf is given
 * (loader.h).
 */
static void *(*const bpf_rdonly_cast)(const void *obj,
				      __u32 btf_id) = (void *)NFG_PATCH_RDONLY_CAST;

/*
 * A field of kernel memory. @typed: cfg.has_casts, and @src comes from a cast: it is loaded; else it is read by a helper, which
 * takes a hundred times as long.
 */
#define FIELD(typed, src, accessor) ((typed) ? (src)->accessor : BPF_CORE_READ(src, accessor))

static __always_inline struct sock *sock_at(bool typed, const void *ptr)
{
	return typed ? bpf_rdonly_cast(ptr, NFG_PATCH_SOCK_TYPE) : (void *)ptr;
}

static __always_inline struct sk_buff *skb_at(bool typed, const void *ptr)
{
	return typed ? bpf_rdonly_cast(ptr, NFG_PATCH_SKB_TYPE) : (void *)ptr;
}

/* Tracing is on or off. Attaching is slow; this switch only opens or closes the gates (task.bpf.h). */
__u32 armed SEC(".data");

/* Everything a CPU needs to decide and to find its slot; also mapped by user space. */
struct nfg_cpu cpus[NFG_CPU_CNT] SEC(".data.cpus");

/* By CPU as well, off the hot path. */
struct nfg_guard guards[NFG_CPU_CNT] SEC(".data") __attribute__((aligned(64)));

/* The first instructions of every traced call; with the load of the gate, all that an unwanted call costs. */
static __always_inline struct nfg_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1)];
}

/*
 * The place among @cpus of the CPU with that id, in a register of its own, and masked first: the attach code looks for the
 * mask.
 */
static __always_inline __u64 bytes_of_id(__u64 id)
{
	id &= NFG_CPU_CNT - 1;
	asm volatile("" : "+r"(id));
	id *= sizeof(struct nfg_cpu);
	asm volatile("" : "+r"(id));
	return id;
}

static __always_inline struct nfg_cpu *cpu_at(__u64 bytes)
{
	return (void *)cpus + bytes;
}

/* this_cpu() as its place among @cpus. */
static __always_inline __u64 this_cpu_bytes(void)
{
	return bytes_of_id(bpf_get_smp_processor_id());
}

/*
 * The same with @ctx kept in its register: where the call is none, kernels since 6.12 remove a store before it
 * and a load behind it, if nothing else is at that place or below it.
 */
static __always_inline __u64 this_cpu_bytes_with(void **ctx, __u64 *slot)
{
	register void *kept asm("r1") = *ctx;
	register __u64 id asm("r0");

	asm volatile("*(u64 *)%2 = r1\n\t"
		     "call %3\n\t"
		     "r1 = *(u64 *)%2"
		     : "=r"(id), "+r"(kept), "=m"(*slot)
		     : "i"(8) /* bpf_get_smp_processor_id() */
		     : "r2", "r3", "r4", "r5");
	*ctx = kept;
	return bytes_of_id(id);
}

static __always_inline struct nfg_cpu *this_cpu_with(void **ctx, __u64 *slot)
{
	register struct nfg_cpu *cpu asm("r2") = cpu_at(this_cpu_bytes_with(ctx, slot));

	asm volatile("" : "+r"(cpu)); /* not where @ctx is */
	return cpu;
}

static __always_inline struct nfg_guard *guard_of(const struct nfg_cpu *cpu)
{
	return &guards[cpu->ring & (NFG_CPU_CNT - 1)];
}

#endif
