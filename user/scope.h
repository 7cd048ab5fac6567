/* layer 55: kernel */
#ifndef NFG_SCOPE_H
#define NFG_SCOPE_H

#include "bpfobj.h"
#include "opts.h"

/*
 * Whose calls are recorded: what the options name, resolved, and kept up to date while the trace
 * runs. Options of different kinds narrow each other; values of one kind add up.
 */
struct scope;

/* scope_new - resolve the options. Return: 0, or -errno said on stderr. Caller frees with scope_free. */
int scope_new(struct scope **out, const struct opts *opts, bool has_command);
void scope_free(struct scope *sc);

/* scope_configure - what the programs must know before they are loaded. */
void scope_configure(const struct scope *sc, struct bpfobj_config *config);

/*
 * scope_has_packets - whether packets are traced in softirqs by their owner. They can be told to belong to
 * a cgroup or a namespace, but not to a process or a name.
 */
bool scope_has_packets(const struct scope *sc);

/*
 * scope_looks_into_processes - whether scope_tick asks in which network namespaces processes are: those of
 * other users tell it to CAP_SYS_PTRACE only.
 */
bool scope_looks_into_processes(const struct scope *sc);

/*
 * scope_apply - mark cgroups, namespaces and the tasks there are; @command_pid: the stopped command, 0: none.
 *
 * Before bpfobj_arm, after the fork and cgroup programs run. Return: 0, or -errno said on stderr.
 */
int scope_apply(struct scope *sc, struct bpfobj *obj, uint32_t command_pid);

/* scope_take - a task got a name, ended or moved. */
void scope_take(struct scope *sc, struct bpfobj *obj, const struct nfg_task_rec *rec);

/*
 * scope_tick - follow what no record tells: a cgroup made again under its old path, namespaces
 * that tasks in scope have gone to. Cheap unless some 100 ms have passed; what looks into every cgroup
 * takes a twentieth of the time, however many there are.
 */
void scope_tick(struct scope *sc, struct bpfobj *obj, uint64_t now_ns);

#endif
