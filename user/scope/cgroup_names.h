#ifndef NFG_SCOPE_CGROUP_NAMES_H
#define NFG_SCOPE_CGROUP_NAMES_H

#include <stdint.h>

#include "base/strbuf.h"
#include "scope/cgroup.h"

/*
 * The paths and containers of cgroups by their ids, of this host, for as long as a trace runs: cgroups that come are
 * looked up when they are first asked for, those that go keep their names.
 */
struct cgroup_names;

#define CGROUP_NAMES_MAX     65536u     /* further cgroups have no names */
#define CGROUP_NAMES_WALK_NS 100000000u /* the tree is read again after so long, at the earliest */

/*
 * cgroup_names_new - read the tree of @host and the names of its containers; @host: NULL: there is none. It is copied.
 * Return: 0, or -errno, already logged unless -ENOMEM. Caller frees with cgroup_names_free.
 */
int cgroup_names_new(struct cgroup_names **out, const struct cgroup_host *host);
void cgroup_names_free(struct cgroup_names *names);

/*
 * cgroup_names_learn - read the tree again if @id is new, but not twice for the same one, nor if there are CGROUP_NAMES_MAX
 * names. Return: 0 or -ENOMEM.
 */
int cgroup_names_learn(struct cgroup_names *names, uint64_t id, uint64_t now_ns);

/*
 * cgroup_names_get - set @path and @container, as --container takes it: the name with its pod, or the first digits of the id;
 * of a systemd unit its name. Cgroups that a container made inside itself are its own. len 0: unknown, or it is in none.
 */
void cgroup_names_get(const struct cgroup_names *names, uint64_t id, struct text *path,
		      struct text *container);

#endif
