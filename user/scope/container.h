#ifndef NFG_SCOPE_CONTAINER_H
#define NFG_SCOPE_CONTAINER_H

#include <stddef.h>

#include "scope/cgroup.h"

/*
 * Containers as the cgroup tree shows them: docker, containerd, CRI-O, podman, Kubernetes pods,
 * systemd-nspawn and other machines, LXC and LXD. No runtime is asked; a name that only the
 * runtime knows (docker's, podman's) cannot be found, and the message says so.
 */
#define CONTAINER_NAME_MAX 256

struct container {
	const char *runtime;           /* "docker"; "unit" for a systemd unit; never freed */
	char name[CONTAINER_NAME_MAX]; /* the whole id, or the name without escapes */
	struct cgroup *cgroups;        /* none of them below another one */
	size_t cnt;
};

/*
 * container_resolve - the container a person means by @text: an id or at least 4 digits of its
 * beginning ("docker://ID" as Kubernetes prints it will do), the name of a machine or LXC
 * container, a pod's uid, or the whole name of a systemd unit (nginx.service). A whole id or name
 * comes before the beginning of another.
 *
 * Return: 0, the caller frees with container_release; else -errno, explained with the candidates:
 * -ENOENT unknown, -ENOTUNIQ ambiguous, -EMEDIUMTYPE in cgroup v1 or outside of our cgroup
 * namespace, -ENOTSUP no v2 tree, -EINVAL empty, -ENOMEM.
 */
int container_resolve(const struct cgroup_host *host, const char *text, struct container *out);
void container_release(struct container *box);

/*
 * container_list - call @visit with each container's name, or with as many digits of its id as its runtime prints, @len
 * at least; one with several cgroups is visited for each. Stops when @visit returns other than 0.
 *
 * Return: 0, what @visit returned, or -errno when the tree cannot be read.
 */
int container_list(const struct cgroup_host *host, size_t len,
		   int (*visit)(void *ctx, const char *name, const char *runtime), void *ctx);

/*
 * container_parse - what the cgroup at @path, from the tree's root, is the cgroup of, by its last
 * two components. @name has room for CONTAINER_NAME_MAX bytes.
 *
 * Return: the runtime, never freed; NULL when it is no container's.
 */
const char *container_parse(const char *path, char *name);

#endif
