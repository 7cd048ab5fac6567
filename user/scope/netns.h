#ifndef NFG_SCOPE_NETNS_H
#define NFG_SCOPE_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Network namespaces by their number: the inode number of /proc/PID/ns/net, which is the kernel's net->ns.inum.
 * Errors are logged here, with log_error and log_hint.
 */
struct netns_host {
	char proc[PATH_MAX]; /* the procfs mount: "/proc" */
	char run[PATH_MAX];  /* the directory of `ip netns` names: "/run/netns" */
	/*
	 * the number of the network namespace that the file @path refers to; tests replace it. 0 or -errno; -EINVAL:
	 * another kind of file or namespace
	 */
	int (*inum_of)(const char *path, uint32_t *inum);
};

/* netns_host_init - use this host's /proc and /run/netns, and the kernel. */
void netns_host_init(struct netns_host *host);

/*
 * netns_resolve - the network namespace named by @text, tried in this order: "net:[N]" or a path (anything with a
 * slash), the id of a process or thread, a name in /run/netns, the number itself. A number that is the pid of a
 * process means that pid. A namespace given by number need not have a process: if none is found, it is accepted with
 * a warning.
 *
 * Return: 0, else -errno, already logged with candidates: -ENOENT no such name, -ESRCH no such process, -EINVAL not a
 * network namespace, -EACCES no permission.
 */
int netns_resolve(const struct netns_host *host, const char *text, uint32_t *inum);

/*
 * netns_addresses - append the addresses of the namespace's devices, a line each, without loopback's and link-local ones. Takes
 * CAP_SYS_ADMIN; a child process enters the namespace.
 *
 * Return: 0, or -errno, already logged: -ENOENT: neither a process nor a name in /run/netns has it.
 */
int netns_addresses(const struct netns_host *host, uint32_t inum, struct strbuf *out);

/*
 * Ids of tasks. A task has one id in its own pid namespace and one in each namespace above it, up to the host's first
 * one. BPF programs identify a task by its id in the first namespace: its tid. getpid(), fork() and cgroup.procs return
 * ids of our own namespace, /proc those of the namespace that it was mounted in. If that is the first one, ids are
 * tids.
 */
struct pidns {
	uint32_t inum;      /* of our namespace; 0: it is the first one */
	bool proc_is_first; /* /proc shows tids, even if our namespace is not the first */
	uint32_t proc_tgid; /* our process id in /proc */
	uint32_t *tids;     /* tid by id in our namespace, with inum; 0: unknown */
	uint32_t *ids;      /* id in our namespace by tid */
};

/*
 * pidns_find - find which namespace we and @proc ("/proc") are in. pidns_release frees it, also after an error or if it
 * is zeroed.
 *
 * Return: 0, -ENOMEM, or another -errno, already logged: -EXDEV: @proc belongs to another namespace, neither ours nor
 * the first one; -EACCES: we may not find out; -ENOENT: it is not mounted.
 */
int pidns_find(struct pidns *ns, const char *proc);
void pidns_release(struct pidns *ns);

/* pidns_take - record that the task with @id in our namespace has this tid. @id 0: the task has no id there. */
void pidns_take(struct pidns *ns, uint32_t id, uint32_t tid);

/* pidns_tid - the tid of the task with @id in our namespace; 0: unknown. */
uint32_t pidns_tid(const struct pidns *ns, uint32_t id);

/* pidns_proc_id - the task's id in /proc; 0: it has none there, or it is unknown. */
uint32_t pidns_proc_id(const struct pidns *ns, uint32_t tid);

#endif
