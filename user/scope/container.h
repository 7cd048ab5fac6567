#ifndef NFG_SCOPE_CONTAINER_H
#define NFG_SCOPE_CONTAINER_H

#include <stddef.h>
#include <stdint.h>

#include "scope/cgroup.h"

/*
 * Containers in the cgroup tree: docker, containerd, CRI-O, podman, Kubernetes pods, systemd-nspawn and other
 * machines, LXC and LXD. No runtime is queried: names come from the runtimes' state files.
 */
#define CONTAINER_NAME_MAX 256
#define CONTAINER_ID_SHORT 12 /* digits of an id that docker and podman print */

/* A cgroup of a container, a pod or a systemd unit. */
struct container_seen {
	const char *
		runtime; /* "docker"; "pod", "podman pod"; "unit" for a systemd unit; never freed */
	char *id;        /* "": none (LXC, machines, units) */
	char *name;      /* "": unknown */
	char *pod;       /* name of its pod, or of the pod itself; "": none, or unknown */
	char *namespace; /* of the Kubernetes pod */
	char *pod_uid;   /* the pod's uid or id; "": none */
	char *path;      /* from the root of the cgroup tree */
	uint8_t fit;     /* for container.c: how well it matches a search */
};

struct container_set {
	struct container_seen *items; /* by path: parents come before their children */
	size_t cnt;
	size_t cap;
};

/*
 * container_set_read - read all containers, pods and units of the cgroup tree.
 *
 * Return: 0, or -errno, already logged unless -ENOMEM. Caller frees with container_set_release in all cases.
 */
int container_set_read(const struct cgroup_host *host, struct container_set *set);
void container_set_release(struct container_set *set);

/*
 * container_names_denied - a directory with container names that we may not read; valid until the next call. NULL:
 * none.
 */
const char *container_names_denied(const struct cgroup_host *host);

/*
 * container_outer_len - the length of the outermost container of the cgroup at @path, which is @path or above it; without
 * one, of all of @path.
 */
size_t container_outer_len(const char *path);

/* container_is_pod - whether a cgroup with this runtime is a pod's, not a single container's. */
bool container_is_pod(const char *runtime);

/* A resolved container or pod. */
struct container {
	const char *runtime;
	char name
		[3 *
		 CONTAINER_NAME_MAX]; /* the whole id, or the unescaped name; for a pod NAMESPACE/NAME or the uid */
	struct cgroup *cgroups; /* none is below another */
	size_t cnt;
};

/*
 * container_resolve - the container named by @text: its name, with its pod (POD/NAME, NAMESPACE/POD/NAME) if ambiguous;
 * its id or at least the first 4 digits of it (also as "docker://ID", which Kubernetes prints); a pod's uid, or the
 * whole name of a systemd unit (nginx.service). A whole id or name takes precedence over a prefix of another.
 *
 * @is_pod: the pod named by NAME, NAMESPACE/NAME, its uid, or a podman pod's id or at least 4 digits of it. Yields all
 * its containers if they have no common cgroup.
 * Return: 0, and the caller frees with container_release; else -errno, already logged with the candidates: -ENOENT
 * unknown, -ENOTUNIQ ambiguous, -EMEDIUMTYPE in cgroup v1 or outside our cgroup namespace, -ENOTSUP no v2 tree, -EINVAL
 * empty, -ENOMEM.
 */
int container_resolve(const struct cgroup_host *host, const char *text, bool is_pod,
		      struct container *out);
void container_release(struct container *box);

/*
 * container_parse - identify the owner of the cgroup at @path, from the tree's root, by the last two components.
 * @name has room for CONTAINER_NAME_MAX bytes.
 *
 * Return: the runtime, never freed; NULL: not a container's.
 */
const char *container_parse(const char *path, char *name);

#endif
