/* layer 14: facts */
#ifndef NFG_POLICY_H
#define NFG_POLICY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * policy_explain - say in one line why this kernel refuses tracing programs (@err, a
 * -errno from BPF_PROG_LOAD or BTF), naming the policy, and in one hint what to do.
 */
void policy_explain(int err);

/* policy_lockdown - the word for the lockdown mode into @mode. Return: false when it is off. */
bool policy_lockdown(char *mode, size_t size);

/*
 * policy_unprivileged_bpf - whether anybody may load programs of the harmless kinds.
 *
 * @setting: what kernel.unprivileged_bpf_disabled is, or why that cannot be read.
 */
bool policy_unprivileged_bpf(char *setting, size_t size);

/*
 * policy_missing_caps - names of the capabilities that a trace uses and we lack, a blank before each.
 *
 * Return: whether there are any.
 */
bool policy_missing_caps(char *names, size_t size);

#endif
