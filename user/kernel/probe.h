#ifndef NFG_KERNEL_PROBE_H
#define NFG_KERNEL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/attachmode.h"

/*
 * What this kernel's BPF offers, found out by asking for it. A kernel that refuses everything
 * seems to offer nothing: policy.h says why.
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

/* probe_fetching_atomics - atomic operations that return a value: 5.12, commit 5ca419f2864a. */
bool probe_fetching_atomics(void);

/* probe_large_elements - array maps whose element may exceed 4 MiB (KMALLOC_MAX_SIZE): not 5.10. */
bool probe_large_elements(void);

/*
 * probe_bounded_cpu_id - the verifier knows that bpf_get_smp_processor_id() is below NFG_CPU_CNT: not 6.1, but 6.12. Only
 * speed depends on it.
 */
bool probe_bounded_cpu_id(void);

/* probe_tracing_is_refused - by a policy: even an empty program for vmlinux's function @btf_id. */
bool probe_tracing_is_refused(uint32_t btf_id);

/*
 * probe_trampolines - whether a program at vmlinux's function @btf_id can be not only loaded but attached: arm64 kernels
 * without direct calls (before 6.4, 2aa6ac03516d, or by their configuration) answer ENOTSUPP. True where that cannot be told.
 */
bool probe_trampolines(uint32_t btf_id);

/* probe_session - one program for both ends of a function: 7.0. @btf_id: a function to ask with. */
bool probe_session(uint32_t btf_id);

/* probe_kprobe - kprobe.session links: 6.10, commit 535a3692ba72; a kernel may be built without (CONFIG_FPROBE). */
bool probe_kprobe(void);

/* probe_kprobes - kprobe.multi links, of which kretprobe.multi is a kind: 5.18, commit 0dcac2725406; likewise. */
bool probe_kprobes(void);

/* probe_multi - one program for many functions: tracing_multi links, 7.2. */
bool probe_multi(void);

/* probe_attach - whether there is @way, none of the open ones; @btf_id as for probe_session, 0: there is no such function. */
bool probe_attach(enum attach_mode way, uint32_t btf_id);

#endif
