#ifndef NFG_KERNEL_PROBE_H
#define NFG_KERNEL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/attachmode.h"

/*
 * Features of this kernel's BPF, found by trying them. A kernel that refuses everything seems to have none; policy.h
 * explains why.
 */

/* Values that libbpf 1.1's headers do not have yet (include/uapi/linux/bpf.h of 7.2). */
#define NFG_BPF_PSEUDO_KFUNC_CALL    2 /* 5.13 */
#define NFG_BPF_TRACE_KPROBE_MULTI   42
#define NFG_BPF_TRACE_KPROBE_SESSION 56
#define NFG_BPF_TRACE_FSESSION       58
#define NFG_BPF_TRACE_FENTRY_MULTI   59
#define NFG_BPF_TRACE_FEXIT_MULTI    60
#define NFG_BPF_LINK_KPROBE_MULTI    8 /* 5.18 */
#define NFG_BPF_KPROBE_MULTI_RETURN  1 /* of link_create.kprobe_multi.flags */

#define ENOTSUPP_KERNEL              524 /* the kernel's ENOTSUPP, which no header for user space has */

/* probe_fetching_atomics - atomic operations that return a value: 5.12, commit 5ca419f2864a. */
bool probe_fetching_atomics(void);

/* probe_large_elements - array maps with elements above 4 MiB (KMALLOC_MAX_SIZE): not on 5.10. */
bool probe_large_elements(void);

/*
 * probe_bounded_cpu_id - the verifier knows that bpf_get_smp_processor_id() is below NFG_CPU_CNT: on 6.12, not on
 * 6.1. Only speed depends on it.
 */
bool probe_bounded_cpu_id(void);

/* probe_tracing_is_refused - whether a policy refuses even an empty program for vmlinux's function @btf_id. */
bool probe_tracing_is_refused(uint32_t btf_id);

/*
 * probe_trampolines - whether a program at vmlinux's function @btf_id can be attached, not just loaded: arm64 kernels
 * without direct calls (before 6.4, 2aa6ac03516d, or by configuration) return ENOTSUPP. True if unknown.
 */
bool probe_trampolines(uint32_t btf_id);

/* probe_session - one program for both ends of a function: 7.0. @btf_id: a function to try. */
bool probe_session(uint32_t btf_id);

/* probe_kprobe - kprobe.session links: 6.10 with CONFIG_FPROBE, commit 535a3692ba72. */
bool probe_kprobe(void);

/* probe_kprobes - kprobe.multi links, including kretprobe.multi: 5.18 with CONFIG_FPROBE, commit 0dcac2725406. */
bool probe_kprobes(void);

/* probe_multi - one program for many functions: tracing_multi links, 7.2; other machines than x86-64 only load the program. */
bool probe_multi(void);

/* probe_attach - whether this kernel has @way, which is not open; @btf_id as for probe_session, 0: no such function. */
bool probe_attach(enum attach_mode way, uint32_t btf_id);

#endif
