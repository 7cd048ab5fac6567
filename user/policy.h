/* layer 14: facts */
#ifndef NFG_POLICY_H
#define NFG_POLICY_H

/*
 * policy_explain - say in one line why this kernel refuses tracing programs (@err, a
 * -errno from BPF_PROG_LOAD or BTF), naming the policy, and in one hint what to do.
 */
void policy_explain(int err);

#endif
