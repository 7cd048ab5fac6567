#ifndef NFG_KERNEL_POLICY_H
#define NFG_KERNEL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * policy_explain - log why this kernel refuses tracing programs with @err (-errno from BPF_PROG_LOAD or BTF), naming
 * the policy or limit, and a hint.
 */
void policy_explain(int err);

/* policy_lockdown - write the name of the lockdown mode to @mode. Return: false when it is off. */
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

/* policy_bpf_stats_are_on - whether the kernel takes the time of each run of a program (kernel.bpf_stats_enabled). */
bool policy_bpf_stats_are_on(void);

/* policy_ftrace_is_off - whether kernel.ftrace_enabled is 0: programs at functions attach, and are never called. */
bool policy_ftrace_is_off(void);

/* policy_refuses_ftrace - the same; logs an error then. */
bool policy_refuses_ftrace(void);

/*
 * policy_missing_caps - write to @names the capabilities that a trace uses and we lack, a blank before each.
 *
 * Return: whether any is missing.
 */
bool policy_missing_caps(char *names, size_t size);

#endif
