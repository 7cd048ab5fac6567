#ifndef NFG_SESSION_TASKSCOPE_H
#define NFG_SESSION_TASKSCOPE_H

#include "attach/bpfobj.h"
#include "base/strbuf.h"
#include "options/opts.h"

/*
 * The tasks whose calls are recorded: resolves the options, and keeps the result up to date while the trace runs.
 * Options of different kinds narrow each other; values of one kind add up. With any of them the command is a task as any
 * other; without, it is the scope, with its descendants.
 */
struct taskscope;

/*
 * taskscope_new - resolve the options. Return: 0 or -errno, already logged unless -ENOMEM. Caller frees with
 * taskscope_free.
 */
int taskscope_new(struct taskscope **out, const struct opts *opts);
void taskscope_free(struct taskscope *sc);

/* taskscope_configure - fill in @cfg, before the programs are loaded. */
void taskscope_configure(const struct taskscope *sc, struct nfg_cfg *cfg);

/*
 * taskscope_has_packets - whether packets in softirqs are traced by their owner. A packet's cgroup or namespace can
 * be found, its process or task name cannot.
 */
bool taskscope_has_packets(const struct taskscope *sc);

/*
 * taskscope_looks_into_processes - whether taskscope_tick reads the network namespaces of processes; for other users'
 * processes this takes CAP_SYS_PTRACE.
 */
bool taskscope_looks_into_processes(const struct taskscope *sc);

/*
 * taskscope_apply - mark cgroups, namespaces and existing tasks; @command_pid: the stopped command as fork() gave it, 0: none.
 *
 * Call it before bpfobj_arm and after the fork, exec and cgroup programs run. Return: 0 or -errno, already logged unless
 * -ENOMEM.
 */
int taskscope_apply(struct taskscope *sc, struct bpfobj *obj, uint32_t command_pid);

/*
 * taskscope_tid_in_proc - the tid of the task with this id in /proc; taskscope_proc_id: the reverse. They differ where we are
 * in a pid namespace other than the first. 0: not known.
 */
uint32_t taskscope_tid_in_proc(struct taskscope *sc, uint32_t id);
uint32_t taskscope_proc_id(const struct taskscope *sc, uint32_t tid);

/* taskscope_take - take the record of a task: its ids, and whether it has moved. */
void taskscope_take(struct taskscope *sc, struct bpfobj *obj, const struct nfg_task_seen *seen);

/* taskscope_settle - after all records that are there: the gates of CPUs follow where tasks moved that run there. */
void taskscope_settle(struct taskscope *sc);

/*
 * taskscope_tick - follow changes that the programs cannot see: a cgroup recreated at a path that is too long for them, or
 * in a cgroup namespace; strangers that have left a network namespace of the scope. Cheap unless some 100 ms have passed;
 * looking at every process takes at most a twentieth of the time, however many there are.
 */
void taskscope_tick(struct taskscope *sc, struct bpfobj *obj, uint64_t now_ns);

/*
 * taskscope_why_silent - append why no task of the scope can call anything now: "process 12 has ended", "cgroup /web
 * has no task now". Return: whether such a reason is known.
 */
bool taskscope_why_silent(const struct taskscope *sc, struct strbuf *out);

#endif
