#ifndef NFG_SCOPE_CONTAINER_H
#define NFG_SCOPE_CONTAINER_H

#include <stddef.h>

#include "scope/cgroup.h"

/*
 * Containers as the cgroup tree shows them: docker, containerd, CRI-O, podman, Kubernetes pods, systemd-nspawn and
 * other machines, LXC and LXD. No runtime is asked: the names that people give are read from the files in which the
 * runtimes keep their state.
 */
#define CONTAINER_NAME_MAX 256
#define CONTAINER_ID_SHORT 12 /* digits that docker and podman print of an id */

/* One cgroup of the tree that is a container's, a pod's or a systemd unit's. */
struct container_seen {
	const char *
		runtime; /* "docker"; "pod", "podman pod"; "unit" for a systemd unit; never freed */
	char *id;        /* "" when there is none: LXC, machines, units */
	char *name;      /* "" when not known */
	char *pod;       /* the pod that it is or belongs to, by name; "" none, or not known */
	char *namespace; /* the pod's, of Kubernetes */
	char *pod_uid;   /* the pod's uid or id, "" none */
	char *path;      /* from the root of the cgroup tree */
};

struct container_set {
	struct container_seen *items; /* by path: parents come before their children */
	size_t cnt;
	size_t cap;
};

/*
 * container_set_read - all containers, pods and units of the cgroup tree.
 *
 * Return: 0, or -errno after an error message (-ENOMEM without). The caller frees with container_set_release in any case.
 */
int container_set_read(const struct cgroup_host *host, struct container_set *set);
void container_set_release(struct container_set *set);

/* container_names_denied - a directory of names that we may not read. Return: valid until the next call; NULL none. */
const char *container_names_denied(const struct cgroup_host *host);

/* container_is_pod - whether this is a pod, not one container. */
bool container_is_pod(const struct container_seen *item);

/* What a person meant. */
struct container {
	const char *runtime;
	char name
		[3 *
		 CONTAINER_NAME_MAX]; /* the whole id, or the name without escapes; of a pod NAMESPACE/NAME or the uid */
	struct cgroup *cgroups; /* none of them below another one */
	size_t cnt;
};

/*
 * container_resolve - the container a person means by @text: its name, with its pod (POD/NAME, NAMESPACE/POD/NAME) if
 * need be; its id or at least 4 digits of the id's beginning ("docker://ID" as Kubernetes prints it will do); a pod's
 * uid, or the whole name of a systemd unit (nginx.service). A whole id or name comes before the beginning of another.
 *
 * Return: 0, the caller frees with container_release; else -errno, explained with the candidates:
 * -ENOENT unknown, -ENOTUNIQ ambiguous, -EMEDIUMTYPE in cgroup v1 or outside of our cgroup
 * namespace, -ENOTSUP no v2 tree, -EINVAL empty, -ENOMEM.
 */
int container_resolve(const struct cgroup_host *host, const char *text, struct container *out);

/*
 * container_resolve_pod - likewise the pod: NAME, NAMESPACE/NAME, its uid, or at least 4 digits of the id of a podman
 * pod. All its containers, where the runtime gives them no cgroup in common.
 */
int container_resolve_pod(const struct cgroup_host *host, const char *text, struct container *out);
void container_release(struct container *box);

/*
 * container_parse - what the cgroup at @path, from the tree's root, is the cgroup of, by its last
 * two components. @name has room for CONTAINER_NAME_MAX bytes.
 *
 * Return: the runtime, never freed; NULL when it is no container's.
 */
const char *container_parse(const char *path, char *name);

#endif
