#ifndef NFG_SESSION_TASKSCOPE_H
#define NFG_SESSION_TASKSCOPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "base/strbuf.h"
#include "options/opts.h"
#include "scope/cgroup.h"
#include "scope/netns.h"
#include "scope/terminal.h"

struct taskscope_target {
	char *path; /* from the root of the cgroup tree */
	uint64_t id;
};

/* The kinds of tasks in a network namespace. */
struct taskscope_netns {
	uint32_t inum;
	bool is_used;       /* tasks in scope */
	bool has_strangers; /* others */
};

struct taskscope {
	const struct opts *opts;
	uint8_t need; /* the NFG_SCOPE_* bits that a task must all have */
	struct pidns pidns;
	struct cgroup_host cgroup_host;
	struct taskscope_target *targets; /* of --cgroup, --container and --pod */
	size_t target_cnt;
	size_t target_cap;
	uint32_t *netns; /* of --netns */
	size_t netns_cnt;
	struct taskscope_netns *known; /* as the last scan found them */
	size_t known_cnt;
	size_t known_cap;
	uint32_t *procs; /* in scope, in ascending order, during a scan */
	size_t proc_cnt;
	size_t proc_cap;
	bool has_outsiders;    /* a scan found tasks in scope that are outside our pid namespace */
	uint64_t netns_news;   /* bpfobj_netns_news before the last scan */
	bool has_shared;       /* it found a namespace of the scope with strangers, who may leave */
	uint64_t patience_ns;  /* until the next scan, then */
	uint64_t scan_ns;      /* when it began ... */
	uint64_t scan_took_ns; /* ... and how long it took */
	uint32_t *stale_cpus;  /* CPUs whose gates do not fit */
	size_t stale_cnt;
	size_t stale_cap;
	bool is_all_stale;
	uint64_t lost_moves;      /* BPFOBJ_LOST_MOVES, last time */
	struct terminal terminal; /* empty with --include-terminal */
	bool has_failed;          /* the last tick or sync failed; the next tick repeats it */
	uint64_t next_tick_ns;
	struct bpfobj *obj;  /* during a visit */
	bool is_new;         /* during a visit: something was not marked before */
	uint32_t hidden_cnt; /* tasks since taskscope_apply began that we may not inspect */
};

/*
 * The tasks whose calls are recorded: resolves the options, and keeps the result up to date while the trace runs.
 * Options of different kinds narrow each other; values of one kind add up. With any of them the command is a task as
 * any other; without, it is the scope, with its descendants.
 */
struct taskscope;

/*
 * taskscope_each_cgroup - find the cgroup tree, and call @visit for each cgroup that --cgroup, --container and --pod name, until
 * it returns nonzero. Without any of these options @host stays as it is.
 *
 * Return: 0, @visit's nonzero value, or -errno, already logged unless -ENOMEM.
 */
int taskscope_each_cgroup(const struct opts *opts, struct cgroup_host *host,
			  int (*visit)(void *ctx, const struct cgroup *cg), void *ctx);

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
 * taskscope_apply - mark cgroups, namespaces and existing tasks; @command_pid: the stopped command as fork() gave it,
 * 0: none.
 *
 * Call it before bpfobj_arm and after the fork, exec and cgroup programs run. Return: 0 or -errno, already logged
 * unless -ENOMEM.
 */
int taskscope_apply(struct taskscope *sc, struct bpfobj *obj, uint32_t command_pid);

/*
 * taskscope_begins_at_exec - whether the scope is the command from its exec on: with -e, what interrupts the process that waits to
 * become it is none of the command's.
 */
bool taskscope_begins_at_exec(const struct opts *opts);

/* taskscope_command_runs - its exec was successful. Return: 0 or -errno, already logged. */
int taskscope_command_runs(struct taskscope *sc, uint32_t command_pid);

/*
 * taskscope_tid_in_proc - the tid of the task with this id in /proc; taskscope_proc_id: the reverse. They differ
 * where we are in a pid namespace other than the first. 0: not known.
 */
uint32_t taskscope_tid_in_proc(struct taskscope *sc, uint32_t id);
uint32_t taskscope_proc_id(const struct taskscope *sc, uint32_t tid);

/* taskscope_take - take the record of a task: its ids, and whether it has moved. */
void taskscope_take(struct taskscope *sc, struct bpfobj *obj, const struct nfg_task_seen *seen);

/* taskscope_settle - call it after all records that are there: sets the gates of the CPUs on which moved tasks run. */
void taskscope_settle(struct taskscope *sc);

/*
 * taskscope_tick - follow changes that the programs cannot see: a cgroup recreated at a path that is too long for
 * them, or in a cgroup namespace; strangers that have left a network namespace of the scope. Cheap unless some 100 ms
 * have passed; looking at every process takes at most a twentieth of the time, however many there are.
 */
void taskscope_tick(struct taskscope *sc, struct bpfobj *obj, uint64_t now_ns);

#endif
