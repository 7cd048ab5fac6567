/*
 * Network namespaces: those of --netns, or those of the cgroups in scope. The programs find the latter, and the sockets that
 * strangers open; here is found out who is there when the trace begins, and whether strangers have gone.
 */
#include "session/taskscope_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "session/taskscope.h"

/* Between scans while strangers stay: twice as long each time. */
#define PATIENCE_MIN_NS 100000000ull
#define PATIENCE_MAX_NS 10000000000ull
/* The share of time spent scanning, as 1/N: thousands of processes take longer than a tick. */
#define SCAN_SHARE 20

uint32_t taskscope_netns_of(struct taskscope *sc, uint32_t id)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%u/ns/net", id);
	if (!stat(path, &st))
		return (uint32_t)st.st_ino;
	if (errno == EACCES || errno == EPERM) {
		/* a task that just ended is refused too */
		snprintf(path, sizeof(path), "/proc/%u", id);
		sc->hidden_cnt += !access(path, F_OK);
	}
	return 0;
}

/* The entry of a namespace; NULL: no memory. */
static struct taskscope_netns *known_entry(struct taskscope *sc, uint32_t inum)
{
	for (size_t i = 0; i < sc->known_cnt; i++) {
		if (sc->known[i].inum == inum)
			return &sc->known[i];
	}
	if (VEC_RESERVE(sc->known, sc->known_cap, sc->known_cnt + 1))
		return NULL;
	sc->known[sc->known_cnt] = (struct taskscope_netns){ .inum = inum };
	return &sc->known[sc->known_cnt++];
}

/* @id: in our pid namespace; 0: it has none. */
static void add_proc(void *ctx, uint32_t id)
{
	struct taskscope *sc = ctx;
	uint32_t proc_id = id ? taskscope_proc_id(sc, taskscope_tid(sc, id)) : 0;

	sc->has_outsiders |= !id;
	if (proc_id && !VEC_RESERVE(sc->procs, sc->proc_cap, sc->proc_cnt + 1))
		sc->procs[sc->proc_cnt++] = proc_id;
}

static int compare_procs(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* @id: in /proc, as all that follows. */
static void look_at_process(void *ctx, uint32_t id)
{
	struct taskscope *sc = ctx;
	uint32_t inum = taskscope_netns_of(sc, id);
	struct taskscope_netns *known = inum ? known_entry(sc, inum) : NULL;

	if (!known)
		return;
	if (bsearch(&id, sc->procs, sc->proc_cnt, sizeof(*sc->procs), compare_procs))
		known->is_used = true;
	else
		known->has_strangers = true;
}

/* Tasks of other pid namespaces, whom we cannot see, may use what the first process of ours uses. */
static void suspect_hidden(struct taskscope *sc)
{
	uint32_t inum = sc->pidns.proc_is_first ? 0 : taskscope_netns_of(sc, 1);
	struct taskscope_netns *known = inum ? known_entry(sc, inum) : NULL;

	if (known)
		known->has_strangers = true;
}

/* Who is where now. */
static int scan(struct taskscope *sc)
{
	sc->known_cnt = 0;
	sc->proc_cnt = 0;
	suspect_hidden(sc);
	for (size_t i = 0; i < sc->target_cnt; i++) {
		int cnt = cgroup_pids(&sc->cgroup_host, sc->targets[i].path, CGROUP_PROCS, true,
				      add_proc, sc);

		if (cnt < 0 && cnt != -ENOENT) /* a removed one may come back */
			return cnt;
	}
	if (sc->proc_cnt)
		qsort(sc->procs, sc->proc_cnt, sizeof(*sc->procs), compare_procs);
	return taskscope_each_process(look_at_process, sc);
}

/* The kernel is told of strangers everywhere, for tasks in scope may come to them. */
static int tell_all(struct taskscope *sc, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; i < sc->known_cnt && !err; i++) {
		const struct taskscope_netns *known = &sc->known[i];

		if (known->has_strangers)
			err = bpfobj_scope_netns(sc->obj, known->inum, NFG_NETNS_STRANGER, now_ns);
		if (!err && known->is_used)
			err = bpfobj_scope_netns(sc->obj, known->inum, NFG_NETNS_USED, now_ns);
	}
	return err;
}

/* Namespaces of --netns. With a cgroup too, the socket decides, as if strangers always came. */
static int tell_named(struct taskscope *sc)
{
	int err = 0;

	for (size_t i = 0; i < sc->netns_cnt && !err; i++) {
		err = bpfobj_scope_netns(sc->obj, sc->netns[i], NFG_NETNS_USED, 0);
		if (!err && sc->target_cnt)
			err = bpfobj_scope_netns(sc->obj, sc->netns[i], NFG_NETNS_STRANGER,
						 UINT64_MAX);
	}
	return err;
}

int taskscope_mark_netns(struct taskscope *sc)
{
	int err;

	if (sc->netns_cnt)
		return tell_named(sc);
	if (!sc->target_cnt)
		return 0;
	err = scan(sc);
	if (!err)
		err = tell_all(sc, host_time_ns());
	if (!err && sc->has_outsiders)
		log_warn(
			"tasks in scope are outside this pid namespace: what comes in for them is not shown "
			"until they run");
	return err;
}

/* Where no stranger is left, none is that came before the scan began. */
static int settle(void *ctx, uint32_t inum)
{
	struct taskscope *sc = ctx;

	for (size_t i = 0; i < sc->known_cnt; i++) {
		if (sc->known[i].inum == inum && sc->known[i].has_strangers) {
			sc->has_shared = true;
			return 0;
		}
	}
	return bpfobj_scope_netns(sc->obj, inum, NFG_NETNS_SETTLED, sc->scan_ns);
}

int taskscope_follow_netns(struct taskscope *sc, uint64_t now_ns)
{
	const uint64_t news = bpfobj_netns_news(sc->obj);
	uint64_t share_ns;
	int err;

	if (news != sc->netns_news)
		sc->patience_ns = PATIENCE_MIN_NS;
	else if (!sc->has_shared)
		return 0;
	share_ns = sc->scan_took_ns * SCAN_SHARE;
	if (now_ns < sc->scan_ns + (share_ns > sc->patience_ns ? share_ns : sc->patience_ns))
		return 0;
	sc->netns_news = news;
	sc->scan_ns = now_ns;
	sc->has_shared = false;
	err = scan(sc);
	if (!err)
		err = bpfobj_shared_netns(sc->obj, settle, sc);
	if (err)
		sc->has_shared = true; /* as far as we know: it is tried again */
	sc->scan_took_ns = host_time_ns() - now_ns;
	sc->patience_ns *= 2;
	if (sc->patience_ns > PATIENCE_MAX_NS)
		sc->patience_ns = PATIENCE_MAX_NS;
	return err;
}
