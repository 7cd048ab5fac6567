#include "session/taskscope.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scope/cgroup.h"
#include "scope/container.h"
#include "base/host.h"
#include "base/log.h"
#include "options/taskfilter.h"
#include "scope/netns.h"
#include "scope/terminal.h"

#define TICK_NS       100000000ull
#define NETNS_SHARE   20   /* a part in so many of our time for looking where tasks in scope are */
#define NETNS_CNT_MAX 1024 /* as many as the programs' map holds */
#define PF_KTHREAD    0x00200000u

struct target {
	char *path; /* from the tree's root */
	uint64_t id;
};

struct netns_known {
	uint32_t inum;
	uint8_t whose; /* NFG_NETNS_* */
	bool is_told;  /* the programs know */
};

struct taskscope {
	const struct opts *opts;
	uint8_t need;
	struct cgroup_host cgroup_host;
	struct target *targets;
	size_t target_cnt;
	uint32_t *netns; /* of --netns */
	size_t netns_cnt;
	struct netns_known known[NETNS_CNT_MAX]; /* what tasks in scope use */
	size_t known_cnt;
	struct terminal terminal; /* empty with --include-terminal */
	bool has_failed;          /* the last tick or sync: what it could not do is tried again */
	uint64_t next_tick_ns;
	uint64_t next_netns_ns;
	struct bpfobj *obj; /* during a visit */
	bool is_new;        /* during a visit: something was not marked before */
};

/* ---- resolving ---- */

static int add_target(struct taskscope *sc, const struct cgroup *cg)
{
	struct target *targets = realloc(sc->targets, (sc->target_cnt + 1) * sizeof(*sc->targets));

	if (!targets)
		return -ENOMEM;
	sc->targets = targets;
	targets[sc->target_cnt].id = cg->id;
	targets[sc->target_cnt].path = strdup(cg->path);
	if (!targets[sc->target_cnt].path)
		return -ENOMEM;
	sc->target_cnt++;
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

static int resolve_containers(struct taskscope *sc)
{
	for (size_t i = 0; i < sc->opts->containers.cnt; i++) {
		struct container box;
		int err = container_resolve(&sc->cgroup_host, sc->opts->containers.items[i], &box);

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

static int resolve(struct taskscope *sc)
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
		err = resolve_containers(sc);
	if (!err)
		err = resolve_netns(sc);
	if (err == -ENOMEM)
		log_error("out of memory");
	return err;
}

static uint8_t need_of(const struct opts *opts, bool has_command)
{
	uint8_t need = 0;

	if (has_command || opts->pids.cnt || opts->tids.cnt)
		need |= NFG_SCOPE_TASK;
	if (opts->cgroups.cnt || opts->containers.cnt)
		need |= NFG_SCOPE_CGROUP;
	if (opts->netns.cnt)
		need |= NFG_SCOPE_NETNS;
	if (opts->comms.cnt)
		need |= NFG_SCOPE_COMM;
	return need;
}

int taskscope_new(struct taskscope **out, const struct opts *opts, bool has_command)
{
	struct taskscope *sc = calloc(1, sizeof(*sc));
	int err;

	if (!sc)
		return -ENOMEM;
	sc->opts = opts;
	sc->need = need_of(opts, has_command);
	if (!opts->include_terminal)
		terminal_find(&sc->terminal, "/proc", (uint32_t)getpid());
	err = resolve(sc);
	if (err) {
		taskscope_free(sc);
		return err;
	}
	*out = sc;
	return 0;
}

void taskscope_free(struct taskscope *sc)
{
	if (!sc)
		return;
	for (size_t i = 0; i < sc->target_cnt; i++)
		free(sc->targets[i].path);
	free(sc->targets);
	free(sc->netns);
	free(sc);
}

bool taskscope_has_packets(const struct taskscope *sc)
{
	return sc->need && !(sc->need & ~(NFG_SCOPE_CGROUP | NFG_SCOPE_NETNS));
}

bool taskscope_looks_into_processes(const struct taskscope *sc)
{
	return sc->target_cnt && !sc->netns_cnt && taskscope_has_packets(sc);
}

void taskscope_configure(const struct taskscope *sc, struct nfg_cfg *cfg)
{
	cfg->scope_need = sc->need;
	cfg->scope_packets = taskscope_has_packets(sc);
	cfg->scope_by_cgroup = (sc->need & NFG_SCOPE_CGROUP) != 0;
	cfg->scope_by_netns = (sc->need & NFG_SCOPE_NETNS) != 0;
	cfg->skip_sockets = taskscope_has_packets(sc) && sc->terminal.socket_cnt;
}

/* ---- tasks that are there already ---- */

static void mark(struct taskscope *sc, uint32_t tid, uint8_t bits)
{
	if ((bpfobj_scope_get(sc->obj, tid) & bits) != bits)
		sc->is_new = true;
	bpfobj_scope(sc->obj, tid, bits, 0);
}

static void mark_thread(void *ctx, uint32_t tid)
{
	mark(ctx, tid, NFG_SCOPE_TASK);
}

/* All threads of a process; again until none came while we looked (later ones inherit). */
static int mark_process(struct taskscope *sc, uint32_t tgid)
{
	int cnt;

	do {
		sc->is_new = false;
		cnt = host_threads(tgid, mark_thread, sc);
		if (cnt < 0) {
			log_error("cannot trace process %u: %s", tgid, strerror(-cnt));
			return cnt;
		}
	} while (sc->is_new);
	return 0;
}

static int mark_tasks(struct taskscope *sc, uint32_t command_pid)
{
	const struct opts *opts = sc->opts;
	int err = 0;

	for (size_t i = 0; i < opts->pids.cnt && !err; i++)
		err = mark_process(sc, (uint32_t)opts->pids.items[i]);
	for (size_t i = 0; i < opts->tids.cnt && !err; i++) {
		uint32_t tid = (uint32_t)opts->tids.items[i];
		char path[32];

		snprintf(path, sizeof(path), "/proc/%u", tid);
		if (access(path, F_OK)) {
			log_error("cannot trace task %u: no such task", tid);
			return -ESRCH;
		}
		mark(sc, tid, NFG_SCOPE_TASK | NFG_SCOPE_ALONE);
	}
	if (command_pid)
		mark(sc, command_pid, NFG_SCOPE_TASK | NFG_SCOPE_INHERIT);
	return err;
}

static void mark_cgroup_task(void *ctx, uint32_t tid)
{
	mark(ctx, tid, NFG_SCOPE_CGROUP);
}

static int mark_cgroup(void *ctx, const struct cgroup_seen *seen)
{
	struct taskscope *sc = ctx;

	return bpfobj_scope_cgroup(sc->obj, seen->id);
}

/* The cgroup, what is below it, and the tasks in all of them. */
static int mark_target(struct taskscope *sc, const struct target *target)
{
	int err = cgroup_walk(&sc->cgroup_host, target->path, mark_cgroup, sc);

	if (err)
		return err;
	do {
		sc->is_new = false;
		err = cgroup_pids(&sc->cgroup_host, target->path, CGROUP_THREADS, true,
				  mark_cgroup_task, sc);
	} while (err > 0 && sc->is_new);
	return err < 0 ? err : 0;
}

static uint32_t netns_of(const char *task)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%s/ns/net", task);
	return stat(path, &st) ? 0 : (uint32_t)st.st_ino;
}

static bool is_kthread(const char *task)
{
	char path[64];
	unsigned int flags = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/stat", task);
	file = fopen(path, "re");
	if (!file)
		return false;
	/* pid (comm) state ppid pgrp session tty tpgid flags; a comm may hold parentheses and blanks */
	if (fscanf(file, "%*u (%*[^)])%*[)] %*c %*d %*d %*d %*d %*d %u", &flags) != 1)
		flags = 0;
	fclose(file);
	return flags & PF_KTHREAD;
}

static bool has_wanted_comm(const struct taskscope *sc, const char *task)
{
	char comm[32] = "";
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", task);
	file = fopen(path, "re");
	if (!file)
		return false;
	if (!fgets(comm, sizeof(comm), file))
		comm[0] = '\0';
	fclose(file);
	return taskfilter_has_comm(sc->opts, (struct text){ comm, strcspn(comm, "\n") }, 0);
}

static bool is_wanted_netns(const struct taskscope *sc, uint32_t inum)
{
	for (size_t i = 0; i < sc->netns_cnt; i++) {
		if (sc->netns[i] == inum)
			return true;
	}
	return false;
}

static void look_at_thread(void *ctx, uint32_t tid)
{
	struct taskscope *sc = ctx;
	char task[16];
	uint8_t bits = 0;

	snprintf(task, sizeof(task), "%u", tid);
	if (sc->need & NFG_SCOPE_NETNS && is_wanted_netns(sc, netns_of(task)))
		bits |= NFG_SCOPE_NETNS;
	if (sc->need & NFG_SCOPE_COMM && has_wanted_comm(sc, task))
		bits |= NFG_SCOPE_COMM;
	if (taskscope_has_packets(sc) && is_kthread(task))
		bits |= NFG_SCOPE_KTHREAD;
	if (bits)
		mark(sc, tid, bits);
}

/* Calls @visit with every process id. */
static int each_process(void (*visit)(void *ctx, uint32_t tgid), void *ctx)
{
	const struct dirent *entry;
	DIR *dir = opendir("/proc");

	if (!dir)
		return -errno;
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			visit(ctx, (uint32_t)strtoul(entry->d_name, NULL, 10));
	}
	closedir(dir);
	return 0;
}

static void look_at_process(void *ctx, uint32_t tgid)
{
	host_threads(tgid, look_at_thread, ctx);
}

/* ---- namespaces that tasks in scope use ---- */

static struct netns_known *find_known(struct taskscope *sc, uint32_t inum)
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
	uint32_t inum;
	char task[16];

	snprintf(task, sizeof(task), "%u", tgid);
	inum = netns_of(task);
	if (!inum || find_known(sc, inum) || sc->known_cnt == NETNS_CNT_MAX)
		return;
	sc->known[sc->known_cnt++] = (struct netns_known){ inum, NFG_NETNS_OURS, false };
	sc->is_new = true;
}

/* A namespace that somebody outside uses too does not tell whose a packet is. */
static void find_sharers(void *ctx, uint32_t tgid)
{
	struct taskscope *sc = ctx;
	struct netns_known *known;
	char task[16];

	if (bpfobj_scope_get(sc->obj, tgid) & NFG_SCOPE_CGROUP)
		return;
	snprintf(task, sizeof(task), "%u", tgid);
	known = find_known(sc, netns_of(task));
	if (known && known->whose != NFG_NETNS_SHARED) {
		known->whose = NFG_NETNS_SHARED;
		known->is_told = false;
	}
}

static int follow_netns(struct taskscope *sc)
{
	int err = 0;

	sc->is_new = false;
	for (size_t i = 0; i < sc->target_cnt; i++)
		cgroup_pids(&sc->cgroup_host, sc->targets[i].path, CGROUP_PROCS, true, learn_netns,
			    sc);
	if (sc->is_new)
		err = each_process(find_sharers, sc);
	for (size_t i = 0; i < sc->known_cnt && !err; i++) {
		if (!sc->known[i].is_told)
			err = bpfobj_scope_netns(sc->obj, sc->known[i].inum, sc->known[i].whose);
		sc->known[i].is_told = !err;
	}
	return err;
}

/* With --netns alone everything in it is ours; with a cgroup too, the socket has to say. */
static int mark_netns(struct taskscope *sc)
{
	uint8_t whose = sc->target_cnt ? NFG_NETNS_SHARED : NFG_NETNS_OURS;
	int err = 0;

	for (size_t i = 0; i < sc->netns_cnt && !err; i++)
		err = bpfobj_scope_netns(sc->obj, sc->netns[i], whose);
	if (!err && sc->target_cnt && !sc->netns_cnt)
		err = follow_netns(sc);
	return err;
}

static bool is_named(const struct num_list *list, uint32_t number)
{
	for (size_t i = 0; i < list->cnt; i++) {
		if (list->items[i] == number)
			return true;
	}
	return false;
}

static void leave_out(void *ctx, uint32_t tid)
{
	const struct taskscope *sc = ctx;

	if (!is_named(&sc->opts->tids, tid))
		bpfobj_scope(sc->obj, tid, NFG_SCOPE_CARRIER, 0);
}

/* Those who carry what we print to the user, and in softirqs the packets of their sockets. */
static int leave_out_terminal(struct taskscope *sc)
{
	const struct terminal *term = &sc->terminal;
	int err = 0;

	for (size_t i = 0; i < term->holder_cnt; i++) {
		if (is_named(&sc->opts->pids, term->holders[i]))
			continue;
		log_info("not traced: process %u, which carries this terminal", term->holders[i]);
		host_threads(term->holders[i], leave_out, sc);
	}
	for (size_t i = 0; taskscope_has_packets(sc) && i < term->socket_cnt && !err; i++)
		err = bpfobj_scope_socket(sc->obj, term->sockets[i]);
	return err;
}

int taskscope_apply(struct taskscope *sc, struct bpfobj *obj, uint32_t command_pid)
{
	int err;

	sc->obj = obj;
	err = mark_tasks(sc, command_pid);
	if (err)
		return err;
	for (size_t i = 0; i < sc->target_cnt && !err; i++)
		err = mark_target(sc, &sc->targets[i]);
	if (!err && (sc->need & (NFG_SCOPE_NETNS | NFG_SCOPE_COMM) || taskscope_has_packets(sc)))
		err = each_process(look_at_process, sc);
	if (!err)
		err = mark_netns(sc);
	if (!err)
		err = leave_out_terminal(sc);
	if (err)
		log_error("cannot mark what is to be traced: %s", strerror(-err));
	return err;
}

/* ---- while the trace runs ---- */

/* What fails is tried again with the next tick; said once until it has succeeded. */
static void note_failure(struct taskscope *sc, int err)
{
	if (!sc->has_failed)
		log_warn("cannot mark what is to be traced: %s; events of it may be missing",
			 strerror(-err));
	sc->has_failed = true;
}

static void sync_gates(struct taskscope *sc)
{
	int err = bpfobj_sync(sc->obj);

	if (err)
		note_failure(sc, err);
}

void taskscope_take(struct taskscope *sc, struct bpfobj *obj, const struct nfg_task_rec *rec)
{
	char comm[17] = "";

	sc->obj = obj;
	if (rec->kind == NFG_TASK_MOVED)
		sync_gates(sc);
	if (rec->kind != NFG_TASK_NAMED || !(sc->need & NFG_SCOPE_COMM))
		return;
	memcpy(comm, rec->comm, sizeof(rec->comm));
	if (taskfilter_has_comm(sc->opts, (struct text){ comm, strlen(comm) }, 0))
		bpfobj_scope(obj, rec->tid, NFG_SCOPE_COMM, 0);
	else
		bpfobj_scope(obj, rec->tid, 0, NFG_SCOPE_COMM);
	sync_gates(sc);
}

static int follow_path(struct taskscope *sc, struct target *target)
{
	struct cgroup cg;
	int err = 0;

	if (cgroup_open(&sc->cgroup_host, target->path, &cg))
		return 0; /* removed; it may come back */
	if (cg.id != target->id) {
		err = mark_target(sc, target);
		if (!err)
			err = bpfobj_sync(sc->obj);
		if (!err)
			target->id = cg.id;
	}
	cgroup_release(&cg);
	return err == -ENOENT ? 0 : err; /* removed meanwhile: the next tick sees it */
}

static int follow_targets(struct taskscope *sc, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; i < sc->target_cnt; i++) {
		int target_err = follow_path(sc, &sc->targets[i]);

		err = err ? err : target_err;
	}
	if (err || !taskscope_looks_into_processes(sc) || now_ns < sc->next_netns_ns)
		return err;
	err = follow_netns(sc);
	/* it reads a file for each cgroup: thousands take longer than a tick */
	sc->next_netns_ns = now_ns + (host_time_ns() - now_ns) * NETNS_SHARE;
	return err;
}

void taskscope_tick(struct taskscope *sc, struct bpfobj *obj, uint64_t now_ns)
{
	bool is_again = sc->has_failed;
	int err;

	if ((!sc->target_cnt && !is_again) || now_ns < sc->next_tick_ns)
		return;
	sc->obj = obj;
	sc->next_tick_ns = now_ns + TICK_NS;
	err = follow_targets(sc, now_ns);
	if (!err && is_again)
		err = bpfobj_sync(obj);
	if (err)
		note_failure(sc, err);
	else
		sc->has_failed = false;
}
