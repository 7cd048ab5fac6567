#ifndef NFG_SESSION_TASKSCOPE_H
#define NFG_SESSION_TASKSCOPE_H

#include "attach/bpfobj.h"
#include "options/opts.h"

/*
 * Whose calls are recorded: what the options name, resolved, and kept up to date while the trace
 * runs. Options of different kinds narrow each other; values of one kind add up.
 */
struct taskscope;

/* taskscope_new - resolve the options. Return: 0, or -errno after an error message (-ENOMEM without). Caller frees with taskscope_free. */
int taskscope_new(struct taskscope **out, const struct opts *opts, bool has_command);
void taskscope_free(struct taskscope *sc);

/* taskscope_configure - what the programs must know before they are loaded. */
void taskscope_configure(const struct taskscope *sc, struct nfg_cfg *cfg);

/*
 * taskscope_has_packets - whether packets are traced in softirqs by their owner. They can be told to belong to
 * a cgroup or a namespace, but not to a process or a name.
 */
bool taskscope_has_packets(const struct taskscope *sc);

/*
 * taskscope_looks_into_processes - whether taskscope_tick asks in which network namespaces processes are: those of
 * other users tell it to CAP_SYS_PTRACE only.
 */
bool taskscope_looks_into_processes(const struct taskscope *sc);

/*
 * taskscope_apply - mark cgroups, namespaces and the tasks there are; @command_pid: the stopped command, 0: none.
 *
 * Before bpfobj_arm, after the fork and cgroup programs run. Return: 0, or -errno after an error message (-ENOMEM without).
 */
int taskscope_apply(struct taskscope *sc, struct bpfobj *obj, uint32_t command_pid);

/* taskscope_take - a task got a name, ended or moved. */
void taskscope_take(struct taskscope *sc, struct bpfobj *obj, const struct nfg_task_rec *rec);

/*
 * taskscope_tick - follow what no record tells: a cgroup made again under its old path, namespaces
 * that tasks in scope have gone to. Cheap unless some 100 ms have passed; what looks into every cgroup
 * takes a twentieth of the time, however many there are.
 */
void taskscope_tick(struct taskscope *sc, struct bpfobj *obj, uint64_t now_ns);

#endif
