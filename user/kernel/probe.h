#ifndef NFG_KERNEL_PROBE_H
#define NFG_KERNEL_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/host.h"
#include "kernel/attachmode.h"
#include "kernel/kbtf.h"

/*
 * Features of this kernel's BPF, found by trying them. If a policy refuses all programs, no feature is found;
 * policy_explain explains why.
 */

/* Constants that the headers of libbpf 1.1 lack (include/uapi/linux/bpf.h of 7.2). */
#define NFG_BPF_PSEUDO_KFUNC_CALL    2 /* 5.13 */
#define NFG_BPF_TRACE_KPROBE_MULTI   42
#define NFG_BPF_TRACE_KPROBE_SESSION 56
#define NFG_BPF_TRACE_FSESSION       58
#define NFG_BPF_TRACE_FENTRY_MULTI   59
#define NFG_BPF_TRACE_FEXIT_MULTI    60
#define NFG_BPF_LINK_KPROBE_MULTI    8 /* 5.18 */
#define NFG_BPF_KPROBE_MULTI_RETURN  1 /* of link_create.kprobe_multi.flags */

#define ENOTSUPP_KERNEL              524 /* the kernel's ENOTSUPP, which user-space headers do not define */

/* probe_fetching_atomics - atomic operations that return a value: 5.12, commit 5ca419f2864a. */
bool probe_fetching_atomics(void);

/* probe_large_elements - array maps with elements above 4 MiB (KMALLOC_MAX_SIZE): later than 5.10. */
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

/*
 * probe_attach - whether this kernel supports @mode, which is not an open mode: kprobe.multi links, including
 * kretprobe.multi, since 0dcac2725406 (5.18), kprobe.session links since 535a3692ba72 (6.10). @btf_id: a function to
 * try; 0: there is none.
 */
bool probe_attach(enum attach_mode mode, uint32_t btf_id);

/* ---- what policies refuse ---- */

/*
 * policy_explain - log why this kernel refuses tracing programs with @err (-errno from BPF_PROG_LOAD or BTF), naming
 * the policy or limit, and a hint.
 */
void policy_explain(int err);

/*
 * policy_explain_memory - a hint for what found no memory: the limit that leaves least, if a cgroup has one.
 *
 * @then: what was left then; NULL: what is left now. @rings_help: name --buffer-size: smaller rings may be enough.
 */
void policy_explain_memory(const struct host_memory *then, bool rings_help);

/* policy_lockdown - write the name of the lockdown mode to @mode. Return: false if it is off. */
bool policy_lockdown(char *mode, size_t size);

/* policy_is_confidential - whether lockdown keeps programs from reading kernel memory. */
bool policy_is_confidential(void);

/*
 * policy_unprivileged_bpf - whether unprivileged users may load programs of the harmless types.
 *
 * @setting: the value of kernel.unprivileged_bpf_disabled, or why it cannot be read.
 */
bool policy_unprivileged_bpf(char *setting, size_t size);

/* policy_hidden_addresses - write to @why why /proc/kallsyms shows us no addresses. */
void policy_hidden_addresses(char *why, size_t size);

/* policy_hidden_text - write to @why why reading /proc/kcore failed with @err (-errno). */
void policy_hidden_text(char *why, size_t size, int err);

/* policy_hides_modules - whether we lack the right to see the BTF of modules, so their functions cannot be traced. */
bool policy_hides_modules(void);

/* policy_hides_processes - whether other users' processes may hide their namespaces and files from us. */
bool policy_hides_processes(void);

/*
 * policy_lacks_memlock - whether RLIMIT_MEMLOCK limits our maps and we may not raise it.
 *
 * @limit_kib: set to the limit if true.
 */
bool policy_lacks_memlock(uint64_t *limit_kib);

/* policy_bpf_stats_are_on - whether the kernel measures the time of each program run (kernel.bpf_stats_enabled). */
bool policy_bpf_stats_are_on(void);

/* policy_ftrace_is_off - whether kernel.ftrace_enabled is 0: then programs attach to functions but are never called. */
bool policy_ftrace_is_off(void);

/* policy_refuses_ftrace - policy_ftrace_is_off, with an error message if so. */
bool policy_refuses_ftrace(void);

/*
 * policy_missing_caps - write to @names the capabilities that a trace uses and we lack, a blank before each.
 *
 * Return: whether any is missing.
 */
bool policy_missing_caps(char *names, size_t size);

/* ---- PREEMPT_RT ---- */

/* Kernels with PREEMPT_RT: locks sleep, softirqs and interrupts run in tasks, and all of these can be preempted. */

/* rt_is_kernel - whether the running kernel has PREEMPT_RT. */
bool rt_is_kernel(void);

/* Facts that decide whether such a kernel can be traced. */
struct rt_facts {
	bool is_rt;
	bool has_fetching_atomics; /* probe_fetching_atomics */
	bool has_sleeping_ringbuf; /* rt_has_sleeping_ringbuf */
	bool has_packets; /* in softirqs the packet's owner decides (taskscope_has_packets) */
};

/*
 * rt_has_sleeping_ringbuf - whether a BPF ring buffer takes a sleeping lock, which programs at tracepoints must not
 * take: up to 6.1.114 and 6.11.5 (8b62645b09f8).
 */
bool rt_has_sleeping_ringbuf(const struct kbtf *kb);

/* rt_obstacle - the reason why such a trace cannot begin, in one line; *hint: what to do. NULL: it can. */
const char *rt_obstacle(const struct rt_facts *facts, const char **hint);

#endif
