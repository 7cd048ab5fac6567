#ifndef NFG_SCOPE_NETNS_H
#define NFG_SCOPE_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Network namespaces by their number: the inode number of /proc/PID/ns/net, which is the
 * kernel's net->ns.inum. What is wrong is said here, by log_error and log_hint.
 */
struct netns_host {
	char proc[PATH_MAX]; /* where procfs is: "/proc" */
	char run[PATH_MAX];  /* where `ip netns` keeps its names: "/run/netns" */
	/* the number of the network namespace that the file @path is; tests have their own.
	 * 0 or -errno; -EINVAL another kind of file or namespace */
	int (*inum_of)(const char *path, uint32_t *inum);
};

/* netns_host_init - this host's: /proc, /run/netns and the kernel's answers. */
void netns_host_init(struct netns_host *host);

/*
 * netns_resolve - the network namespace a person means by @text, in this order: "net:[N]" or a
 * path (anything with a slash), the id of a process or thread, a name in /run/netns, the number
 * itself. A number that is the pid of a process is taken as that pid. A namespace given by number need not have a
 * process: when none is found it is warned about and taken.
 *
 * Return: 0, else -errno, explained with candidates: -ENOENT nothing of that name, -ESRCH no such
 * process, -EINVAL not a network namespace, -EACCES not ours to see.
 */
int netns_resolve(const struct netns_host *host, const char *text, uint32_t *inum);

#endif
