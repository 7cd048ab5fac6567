#ifndef NFG_SESSION_TASKSCOPE_PARTS_H
#define NFG_SESSION_TASKSCOPE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "options/opts.h"
#include "scope/cgroup.h"
#include "scope/terminal.h"

/* The inside of a task scope; only for the taskscope*.c files. */

#define TASKSCOPE_NETNS_MAX 1024 /* room in the programs' map */

struct taskscope_target {
	char *path; /* from the root of the cgroup tree */
	uint64_t id;
};

struct taskscope_netns {
	uint32_t inum;
	uint8_t whose; /* NFG_NETNS_* */
	bool is_told;  /* the programs have it */
};

struct taskscope {
	const struct opts *opts;
	uint8_t need; /* the NFG_SCOPE_* bits that a task must all have */
	struct cgroup_host cgroup_host;
	struct taskscope_target *targets; /* of --cgroup, --container and --pod */
	size_t target_cnt;
	size_t target_cap;
	uint32_t *netns; /* of --netns */
	size_t netns_cnt;
	struct taskscope_netns known[TASKSCOPE_NETNS_MAX]; /* in use by tasks in scope */
	size_t known_cnt;
	bool has_new_netns;       /* known has a namespace whose other users are not known yet */
	bool is_crowded;          /* there are more, already logged */
	struct terminal terminal; /* empty with --include-terminal */
	bool has_failed;          /* the last tick or sync failed; the next tick repeats it */
	uint64_t next_tick_ns;
	uint64_t next_netns_ns;
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
 * taskscope_mark_named - mark the tasks of -p and --tid, and the command. Return: 0 or -errno, already logged unless
 * -ENOMEM.
 */
int taskscope_mark_named(struct taskscope *sc, uint32_t command_pid);

/*
 * taskscope_mark_target - mark a cgroup, its descendants, and the tasks in all of them.
 *
 * Return: 0 or -errno, not logged; -ENOENT: no such cgroup.
 */
int taskscope_mark_target(struct taskscope *sc, const struct taskscope_target *target);

/* taskscope_mark_all - mark all tasks by their own properties: namespace, name, kernel thread. Return: 0 or -errno. */
int taskscope_mark_all(struct taskscope *sc);

/* taskscope_mark_terminal - exclude the processes that forward our output to the user. Return: 0 or -errno. */
int taskscope_mark_terminal(struct taskscope *sc);

/*
 * taskscope_mark_netns - give the programs the namespaces of --netns, or else call taskscope_follow_netns. Return: 0
 * or -errno.
 */
int taskscope_mark_netns(struct taskscope *sc);

/* taskscope_follow_netns - give the programs the namespaces that the cgroups' tasks use now. Return: 0 or -errno. */
int taskscope_follow_netns(struct taskscope *sc);

/* taskscope_each_process - call @visit with every process id in /proc. Return: 0 or -errno. */
int taskscope_each_process(void (*visit)(void *ctx, uint32_t tgid), void *ctx);

/*
 * taskscope_netns_of - the inode of @tid's network namespace; 0: the task is gone, or we may not read it
 * (hidden_cnt).
 */
uint32_t taskscope_netns_of(struct taskscope *sc, uint32_t tid);

#endif
