#ifndef NFG_SESSION_TASKSCOPE_PARTS_H
#define NFG_SESSION_TASKSCOPE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "options/opts.h"
#include "scope/cgroup.h"
#include "scope/pidns.h"
#include "scope/terminal.h"

/* The inside of a task scope; only for the taskscope*.c files. */

struct taskscope_target {
	char *path; /* from the root of the cgroup tree */
	uint64_t id;
};

/* Who is in a network namespace. */
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
	uint32_t *stale_cpus;  /* whose gates do not fit */
	size_t stale_cnt;
	size_t stale_cap;
	bool is_all_stale;
	uint64_t lost_moves;      /* bpfobj_lost_moves, last time */
	struct terminal terminal; /* empty with --include-terminal */
	bool has_failed;          /* the last tick or sync failed; the next tick repeats it */
	uint64_t next_tick_ns;
	struct bpfobj *obj;  /* during a visit */
	bool is_new;         /* during a visit: something was not marked before */
	uint32_t hidden_cnt; /* tasks since taskscope_apply began that we may not inspect */
};

/*
 * taskscope_resolve - find the cgroups and namespaces that the options name. Return: 0 or -errno, already logged
 * unless -ENOMEM.
 */
int taskscope_resolve(struct taskscope *sc);

/*
 * taskscope_learn_ids - learn the tids of the tasks in our pid namespace, if it is not the first, and exclude our own.
 * Return: 0 or -errno, already logged unless -ENOMEM.
 */
int taskscope_learn_ids(struct taskscope *sc);

/* taskscope_tid - the tid of the task with this id in our pid namespace; 0: it is gone. */
uint32_t taskscope_tid(struct taskscope *sc, uint32_t id);

/*
 * taskscope_mark_named - mark the tasks of -p and --tid, or the command if it is the scope.
 *
 * Return: 0 or -errno, already logged unless
 * -ENOMEM.
 */
int taskscope_mark_named(struct taskscope *sc, uint32_t command_pid);

/* taskscope_mark_target - a cgroup and all below it; @id: of the one that is there now. Return: 0 or -errno, not logged. */
int taskscope_mark_target(struct taskscope *sc, const struct taskscope_target *target, uint64_t id);

/* taskscope_mark_all - mark all tasks by their own properties: name, kernel thread. Return: 0 or -errno. */
int taskscope_mark_all(struct taskscope *sc);

/* taskscope_mark_terminal - exclude the processes that forward our output to the user. Return: 0 or -errno. */
int taskscope_mark_terminal(struct taskscope *sc);

/* taskscope_mark_netns - tell the programs who is in which network namespace, or those of --netns. Return: 0 or -errno. */
int taskscope_mark_netns(struct taskscope *sc);

/*
 * taskscope_follow_netns - look whether strangers are left in namespaces of the scope, once the programs have seen some.
 * Return: 0 or -errno.
 */
int taskscope_follow_netns(struct taskscope *sc, uint64_t now_ns);

/* taskscope_each_process - call @visit with every process id in /proc, as it is there. Return: 0 or -errno. */
int taskscope_each_process(void (*visit)(void *ctx, uint32_t tgid), void *ctx);

/*
 * taskscope_netns_of - the inode of the network namespace of task @id of /proc; 0: the task is gone, or we may not read
 * it (hidden_cnt).
 */
uint32_t taskscope_netns_of(struct taskscope *sc, uint32_t id);

#endif
