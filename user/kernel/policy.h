#ifndef NFG_KERNEL_POLICY_H
#define NFG_KERNEL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * policy_explain - say in one line why this kernel refuses tracing programs (@err, a
 * -errno from BPF_PROG_LOAD or BTF), naming the policy or the limit, and in one hint what to do.
 */
void policy_explain(int err);

/* policy_lockdown - the word for the lockdown mode into @mode. Return: false when it is off. */
bool policy_lockdown(char *mode, size_t size);

/* policy_is_confidential - whether lockdown keeps programs from reading kernel memory. */
bool policy_is_confidential(void);

/*
 * policy_unprivileged_bpf - whether anybody may load programs of the harmless kinds.
 *
 * @setting: what kernel.unprivileged_bpf_disabled is, or why that cannot be read.
 */
bool policy_unprivileged_bpf(char *setting, size_t size);

/* policy_hidden_addresses - why /proc/kallsyms shows us no addresses. */
void policy_hidden_addresses(char *why, size_t size);

/* policy_hidden_text - why /proc/kcore cannot be read, which said @err (-errno). */
void policy_hidden_text(char *why, size_t size, int err);

/* policy_hides_modules - whether we may not see the BTF of modules, whose functions then cannot be traced. */
bool policy_hides_modules(void);

/* policy_hides_processes - whether other users' processes may hide their namespaces and files from us. */
bool policy_hides_processes(void);

/*
 * policy_lacks_memlock - whether RLIMIT_MEMLOCK bounds our maps and we may not raise it.
 *
 * @limit_kib: the limit; set when so.
 */
bool policy_lacks_memlock(uint64_t *limit_kib);

/* policy_ftrace_is_off - kernel.ftrace_enabled is 0: programs attach, and are never called. Said on stderr. */
bool policy_ftrace_is_off(void);

/*
 * policy_missing_caps - names of the capabilities that a trace uses and we lack, a blank before each.
 *
 * Return: whether there are any.
 */
bool policy_missing_caps(char *names, size_t size);

#endif
