/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_CPU_BPF_H
#define NFG_CPU_BPF_H

/* Shared by all programs: the settings, the switch, and the data that each CPU's decisions use. */
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

/* Load or store @lvalue exactly here, whatever the compiler knows about it. */
#define ALWAYS(lvalue) (*(volatile typeof(lvalue) *)&(lvalue))

/* Use a separate register, so that rare code does not affect the register allocation of the common path. */
#define COPY(value)                                                 \
	({                                                          \
		typeof(value) copy_;                                \
                                                                    \
		asm volatile("%0 = %1" : "=r"(copy_) : "r"(value)); \
		copy_;                                              \
	})

/*
 * Atomically add to a 32- or 64-bit number. Newer compilers would use an operation that also fetches the old value: it
 * is slower, and 5.10 does not have it.
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
 * Available since 6.2, so on every kernel that attaches a program to many functions (cfg.has_casts). It costs no call.
 * It is not a __ksym, for the reason in arch/x86_64.bpf.h; its type ids are not from CO-RE, which uses the ids of the
 * BTF that libbpf is given (loader.h).
 */
static void *(*const bpf_rdonly_cast)(const void *obj,
				      __u32 btf_id) = (void *)NFG_PATCH_RDONLY_CAST;

/*
 * Read a field of kernel memory. @typed: cfg.has_casts, and @src comes from a cast: the field is loaded; otherwise a
 * helper reads it, which takes a hundred times as long.
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

/* Whether tracing is on. Attaching is slow; this switch only opens or closes the gates (task.bpf.h). */
__u32 armed SEC(".data");

/* The data by which a CPU decides and finds its slot; also mapped by user space. */
struct nfg_cpu cpus[NFG_CPU_CNT] SEC(".data.cpus");

/* Further data by CPU, off the hot path. */
struct nfg_guard guards[NFG_CPU_CNT] SEC(".data") __attribute__((aligned(64)));

/* The first instructions of every traced call. An unwanted call costs these and the load of the gate. */
static __always_inline struct nfg_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1)];
}

/*
 * The offset in @cpus of the CPU with that id, in its own register, and masked first: the attach code searches for the
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

/* The offset of this_cpu() in @cpus. */
static __always_inline __u64 this_cpu_bytes(void)
{
	return bytes_of_id(bpf_get_smp_processor_id());
}

/*
 * As this_cpu_bytes, but keeps @ctx in its register: if the call is inlined, kernels since 6.12 remove the store before
 * it and the load after it, if no other access uses that stack slot or lower ones.
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

	asm volatile("" : "+r"(cpu)); /* not in the register of @ctx */
	return cpu;
}

static __always_inline struct nfg_guard *guard_of(const struct nfg_cpu *cpu)
{
	return &guards[cpu->ring & (NFG_CPU_CNT - 1)];
}

#endif
