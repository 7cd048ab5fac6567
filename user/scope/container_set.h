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

#endif
