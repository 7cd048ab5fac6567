#ifndef NFG_SCOPE_NETNS_H
#define NFG_SCOPE_NETNS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * Network namespaces by their number: the inode number of /proc/PID/ns/net, which is the kernel's net->ns.inum.
 * Errors are logged here, with log_error and log_hint.
 */
struct netns_host {
	char proc[PATH_MAX]; /* the procfs mount: "/proc" */
	char run[PATH_MAX];  /* the directory of `ip netns` names: "/run/netns" */
	/* the number of the network namespace that the file @path is; tests have their own.
	 * 0 or -errno; -EINVAL another kind of file or namespace */
	int (*inum_of)(const char *path, uint32_t *inum);
};

/* netns_host_init - this host's: /proc, /run/netns and the kernel's answers. */
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

#endif
