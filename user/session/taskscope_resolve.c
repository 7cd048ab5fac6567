/* Options to cgroups and namespaces. */
#include "session/taskscope_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "scope/container.h"
#include "scope/netns.h"

static int add_target(struct taskscope *sc, const struct cgroup *cg)
{
	char *path;

	if (VEC_RESERVE(sc->targets, sc->target_cap, sc->target_cnt + 1))
		return -ENOMEM;
	path = strdup(cg->path);
	if (!path)
		return -ENOMEM;
	sc->targets[sc->target_cnt++] = (struct taskscope_target){ .path = path, .id = cg->id };
	return 0;
}

static int resolve_cgroups(struct taskscope *sc)
{
	for (size_t i = 0; i < sc->opts->cgroups.cnt; i++) {
		struct cgroup cg;
		int err = cgroup_resolve(&sc->cgroup_host, sc->opts->cgroups.items[i], &cg);

		if (err)
			return err;
		err = add_target(sc, &cg);
		cgroup_release(&cg);
		if (err)
			return err;
	}
	return 0;
}

/* Of --container or --pod. */
static int resolve_containers(struct taskscope *sc, const struct str_list *names,
			      int (*resolve)(const struct cgroup_host *host, const char *text,
					     struct container *out))
{
	for (size_t i = 0; i < names->cnt; i++) {
		struct container box;
		int err = resolve(&sc->cgroup_host, names->items[i], &box);

		if (err)
			return err;
		log_info("container %s (%s): %s", box.name, box.runtime, box.cgroups[0].path);
		for (size_t k = 0; k < box.cnt && !err; k++)
			err = add_target(sc, &box.cgroups[k]);
		container_release(&box);
		if (err)
			return err;
	}
	return 0;
}

static int resolve_netns(struct taskscope *sc)
{
	struct netns_host host;

	sc->netns = calloc(sc->opts->netns.cnt + 1, sizeof(*sc->netns));
	if (!sc->netns)
		return -ENOMEM;
	netns_host_init(&host);
	for (; sc->netns_cnt < sc->opts->netns.cnt; sc->netns_cnt++) {
		int err = netns_resolve(&host, sc->opts->netns.items[sc->netns_cnt],
					&sc->netns[sc->netns_cnt]);

		if (err)
			return err;
	}
	return 0;
}

int taskscope_resolve(struct taskscope *sc)
{
	int err = 0;

	if (sc->need & NFG_SCOPE_CGROUP) {
		err = cgroup_host_find(&sc->cgroup_host, "/proc", NULL);
		if (err)
			cgroup_explain_lack(&sc->cgroup_host);
	}
	if (!err)
		err = resolve_cgroups(sc);
	if (!err)
		err = resolve_containers(sc, &sc->opts->containers, container_resolve);
	if (!err)
		err = resolve_containers(sc, &sc->opts->pods, container_resolve_pod);
	if (!err)
		err = resolve_netns(sc);
	return err;
}
