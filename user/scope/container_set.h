#ifndef NFG_SCOPE_CONTAINER_SET_H
#define NFG_SCOPE_CONTAINER_SET_H

#include "scope/container_names.h"

/* Fills a set of containers. Private to user/scope/; the public part is in container.h. */
struct container_walk {
	struct container_set *set;
	struct container_names names; /* freed with container_names_release */
};

/*
 * container_walk_add - add the container, pod or unit of the cgroup at @path, if any, with its names.
 *
 * Return: 0 or -ENOMEM.
 */
int container_walk_add(struct container_walk *walk, const char *path);

/*
 * container_realm - the length of the part of @path below which another party creates and names cgroups: a user's
 * slice with its slash, or the outermost container above. A cgroup there may have the id of any container of the
 * host.
 *
 * Return: 0: the host created it.
 */
size_t container_realm(const char *path);

/* container_is_one_realm - whether the cgroups at @a and @b are both the host's own, one user's, or in one container. */
bool container_is_one_realm(const char *a, const char *b);

#endif
