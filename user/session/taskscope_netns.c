/* Network namespaces: those of --netns, and those that tasks of the cgroups in scope use. */
#include "session/taskscope_parts.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

uint32_t taskscope_netns_of(struct taskscope *sc, uint32_t tid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", tid);
	if (!stat(path, &st))
		return (uint32_t)st.st_ino;
	if (errno == EACCES || errno == EPERM) {
		/* a task that just ended is refused too */
		snprintf(path, sizeof(path), "/proc/%u", tid);
		sc->hidden_cnt += !access(path, F_OK);
	}
	return 0;
}

static struct taskscope_netns *find_known(struct taskscope *sc, uint32_t inum)
{
	for (size_t i = 0; i < sc->known_cnt; i++) {
		if (sc->known[i].inum == inum)
			return &sc->known[i];
	}
	return NULL;
}

static void learn_netns(void *ctx, uint32_t tgid)
{
	struct taskscope *sc = ctx;
	uint32_t inum = taskscope_netns_of(sc, tgid);

	if (!inum || find_known(sc, inum))
		return;
	if (sc->known_cnt == TASKSCOPE_NETNS_MAX) {
		if (!sc->is_crowded)
			log_warn(
				"packets in softirqs are traced in %u network namespaces, and not in others",
				TASKSCOPE_NETNS_MAX);
		sc->is_crowded = true;
		return;
	}
	sc->known[sc->known_cnt++] = (struct taskscope_netns){ inum, NFG_NETNS_OURS, false };
	sc->has_new_netns = true;
}

/* If a task outside the scope uses a namespace too, the namespace does not identify a packet's owner. */
static void find_sharers(void *ctx, uint32_t tgid)
{
	struct taskscope *sc = ctx;
	struct taskscope_netns *known;

	if (bpfobj_scope_get(sc->obj, tgid) & NFG_SCOPE_CGROUP)
		return;
	known = find_known(sc, taskscope_netns_of(sc, tgid));
	if (known && known->whose != NFG_NETNS_SHARED) {
		known->whose = NFG_NETNS_SHARED;
		known->is_told = false;
	}
}

static int learn_all(struct taskscope *sc)
{
	int err = 0;

	for (size_t i = 0; i < sc->target_cnt; i++) {
		int cnt = cgroup_pids(&sc->cgroup_host, sc->targets[i].path, CGROUP_PROCS, true,
				      learn_netns, sc);

		if (cnt < 0 && cnt != -ENOENT) /* a removed one may come back */
			err = err ? err : cnt;
	}
	return err;
}

int taskscope_follow_netns(struct taskscope *sc)
{
	int err = learn_all(sc);

	/* until it succeeds: a new namespace must not pass for ours alone */
	if (sc->has_new_netns && !err)
		err = taskscope_each_process(find_sharers, sc);
	if (err)
		return err;
	sc->has_new_netns = false;
	for (size_t i = 0; i < sc->known_cnt && !err; i++) {
		if (!sc->known[i].is_told)
			err = bpfobj_scope_netns(sc->obj, sc->known[i].inum, sc->known[i].whose);
		sc->known[i].is_told = !err;
	}
	return err;
}

/* With --netns alone, everything in a namespace is ours; with a cgroup too, the socket decides. */
int taskscope_mark_netns(struct taskscope *sc)
{
	uint8_t whose = sc->target_cnt ? NFG_NETNS_SHARED : NFG_NETNS_OURS;
	int err = 0;

	for (size_t i = 0; i < sc->netns_cnt && !err; i++)
		err = bpfobj_scope_netns(sc->obj, sc->netns[i], whose);
	if (!err && sc->target_cnt && !sc->netns_cnt)
		err = taskscope_follow_netns(sc);
	return err;
}
