#ifndef NFG_SCOPE_CGROUP_TREE_H
#define NFG_SCOPE_CGROUP_TREE_H

#include "scope/cgroup.h"

/* Paths of the cgroup tree. Private to user/scope/. */

/* cgroup_below_root - @full without the mount point: "/" for the mount point itself, NULL outside it. */
const char *cgroup_below_root(const struct cgroup_host *host, const char *full);

/* cgroup_join - join the mount point and @path. Return: 0 or -ENAMETOOLONG. */
int cgroup_join(const struct cgroup_host *host, const char *path, char *full, size_t size);

/* cgroup_open_full - open the directory @full; fills in everything except the path. Return: 0 or -errno. */
int cgroup_open_full(const char *full, struct cgroup *out);

#endif
