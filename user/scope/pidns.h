#ifndef NFG_SCOPE_PIDNS_H
#define NFG_SCOPE_PIDNS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Ids of tasks. A task has one in its own pid namespace and one in each above it, up to the first one, the host's. The BPF
 * programs know a task by its id in the first one: its tid. getpid(), fork() and cgroup.procs give ids of our own
 * namespace, /proc gives those of the namespace it was mounted in. Where these are the first one, ids are tids.
 */
struct pidns {
	uint32_t inum;      /* of our namespace; 0: it is the first one */
	bool proc_is_first; /* /proc gives tids, also if our namespace is another */
	uint32_t proc_tgid; /* our process in /proc */
	uint32_t *tids;     /* by id in our namespace, with inum; 0: not known */
	uint32_t *ids;      /* by tid: in our namespace */
};

/*
 * pidns_find - which namespace we and @proc ("/proc") are in. pidns_release frees it, also after an error; so it does with
 * zeroed storage.
 *
 * Return: 0, -ENOMEM, or another -errno, already logged: -EXDEV @proc is of another namespace, neither ours nor the
 * first one, -EACCES that cannot be told, -ENOENT it is not mounted.
 */
int pidns_find(struct pidns *ns, const char *proc);
void pidns_release(struct pidns *ns);

/* pidns_take - the task with @id in our namespace has this tid, from now on. @id 0: it has none there. */
void pidns_take(struct pidns *ns, uint32_t id, uint32_t tid);

/* pidns_tid - the tid of the task with @id in our namespace; 0: not known. */
uint32_t pidns_tid(const struct pidns *ns, uint32_t id);

/* pidns_tid_in_proc - the tid of the task with @id in /proc; 0: not known. */
uint32_t pidns_tid_in_proc(const struct pidns *ns, uint32_t id);

/* pidns_proc_id - the task's id in /proc; 0: it is not there, or not known. */
uint32_t pidns_proc_id(const struct pidns *ns, uint32_t tid);

#endif
