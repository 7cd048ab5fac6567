#ifndef NFG_SCOPE_PODMAN_PODS_H
#define NFG_SCOPE_PODMAN_PODS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "scope/container.h"

/*
 * The pods in podman's database, a BoltDB or SQLite file. Both keep the configuration of a pod as JSON, in one piece
 * at its start: that is searched for, and the pages of the database are not interpreted. A pod never changes its name,
 * so a page that is no longer in use has the same name as the current one. Private to user/scope/.
 */
struct podman_pod {
	char id[CONTAINER_NAME_MAX];
	char name[CONTAINER_NAME_MAX];
};

/*
 * podman_pods_next - iterate over the pods in the database @file; *@at is 0 at first. A pod can come more than once.
 *
 * Return: whether there was another one.
 */
bool podman_pods_next(struct text file, size_t *at, struct podman_pod *pod);

#endif
