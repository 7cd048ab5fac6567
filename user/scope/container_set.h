#ifndef NFG_SCOPE_CONTAINER_SET_H
#define NFG_SCOPE_CONTAINER_SET_H

#include "scope/container_names.h"

/* A set of containers while it is filled. Private to user/scope/; what others see of it is in container.h. */
struct container_walk {
	struct container_set *set;
	struct container_names names; /* freed with container_names_release */
};

/*
 * container_walk_add - add what the cgroup at @path belongs to, with its names; nothing if to no container, pod or unit.
 *
 * Return: 0 or -ENOMEM.
 */
int container_walk_add(struct container_walk *walk, const char *path);

/*
 * container_realm - how many bytes of @path name the cgroup below which somebody else makes cgroups and chooses their
 * names: a user's slice with the slash behind it, or the outermost container above. A cgroup there may bear the id of
 * any container of the host.
 *
 * Return: 0 when it is the host's own.
 */
size_t container_realm(const char *path);

/* container_is_one_realm - whether the cgroups at @a and @b are both the host's own, one user's, or in one container. */
bool container_is_one_realm(const char *a, const char *b);

#endif
