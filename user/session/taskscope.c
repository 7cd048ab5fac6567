#include "session/taskscope.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attach/bpfobj.h"
#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/comms.h"
#include "kernel/probe.h"
#include "options/opts.h"
#include "scope/cgroup.h"
#include "scope/container.h"
#include "scope/netns.h"
#include "scope/terminal.h"

/* ---- the inside of a task scope ---- */

static uint32_t taskscope_tid(struct taskscope *sc, uint32_t id);

/* ---- options to cgroups and namespaces ---- */

static bool names_cgroups(const struct opts *opts)
{
	return opts->cgroups.cnt || opts->containers.cnt || opts->pods.cnt;
}

static int each_of_paths(const struct opts *opts, const struct cgroup_host *host,
			 int (*visit)(void *ctx, const struct cgroup *cg), void *ctx)
{
	for (size_t i = 0; i < opts->cgroups.cnt; i++) {
		struct cgroup cg;
		int err = cgroup_resolve(host, opts->cgroups.items[i], &cg);

		if (err)
			return err;
		err = visit(ctx, &cg);
		cgroup_release(&cg);
		if (err)
			return err;
	}
	return 0;
}

/* Of --container or --pod. */
static int each_of_containers(const struct str_list *names, bool is_pod,
			      const struct cgroup_host *host,
			      int (*visit)(void *ctx, const struct cgroup *cg), void *ctx)
{
	for (size_t i = 0; i < names->cnt; i++) {
		struct container box;
		int err = container_resolve(host, names->items[i], is_pod, &box);

		if (err)
			return err;
		log_info("container %s (%s): %s", box.name, box.runtime, box.cgroups[0].path);
		for (size_t k = 0; k < box.cnt && !err; k++)
			err = visit(ctx, &box.cgroups[k]);
		container_release(&box);
		if (err)
			return err;
	}
	return 0;
}

int taskscope_each_cgroup(const struct opts *opts, struct cgroup_host *host,
			  int (*visit)(void *ctx, const struct cgroup *cg), void *ctx)
{
	int err;

	if (!names_cgroups(opts))
		return 0;
	err = cgroup_host_find(host, "/proc", NULL);
	if (err)
		cgroup_explain_lack(host);
	if (!err)
		err = each_of_paths(opts, host, visit, ctx);
	if (!err)
		err = each_of_containers(&opts->containers, false, host, visit, ctx);
	if (!err)
		err = each_of_containers(&opts->pods, true, host, visit, ctx);
	return err;
}

static int add_target(void *ctx, const struct cgroup *cg)
{
	struct taskscope *sc = ctx;
	char *path;

	if (VEC_RESERVE(sc->targets, sc->target_cap, sc->target_cnt + 1))
		return -ENOMEM;
	path = strdup(cg->path);
	if (!path)
		return -ENOMEM;
	sc->targets[sc->target_cnt++] = (struct taskscope_target){ .path = path, .id = cg->id };
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

/*
 * taskscope_resolve - find the cgroups and namespaces that the options name. Return: 0 or -errno, already logged
 * unless -ENOMEM.
 */
static int taskscope_resolve(struct taskscope *sc)
{
	int err = taskscope_each_cgroup(sc->opts, &sc->cgroup_host, add_target, sc);

	if (!err)
		err = resolve_netns(sc);
	return err;
}

/*
 * Network namespaces: those of --netns, or those of the cgroups in scope. The programs find the latter, and the
 * sockets that strangers open; this code finds the tasks that are there when the trace begins, and whether strangers
 * have gone.
 */

/* The time between scans while strangers stay: it doubles each time. */
#define PATIENCE_MIN_NS 100000000ull
#define PATIENCE_MAX_NS 10000000000ull
/* The share of time spent scanning, as 1/N: thousands of processes take longer than a tick. */
#define SCAN_SHARE 20

/*
 * taskscope_netns_of - the inode of the network namespace of task @id of /proc; 0: the task is gone, or we may not read
 * it (hidden_cnt).
 */
static uint32_t taskscope_netns_of(struct taskscope *sc, uint32_t id)
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

/* @id: the process's id in our pid namespace; 0: it has none there. */
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

/* @id: an id in /proc. */
static void netns_look_at_process(void *ctx, uint32_t id)
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

/* Tasks of other pid namespaces, which we cannot see, may use the network namespace of the first process of ours. */
static void suspect_hidden(struct taskscope *sc)
{
	uint32_t inum = sc->pidns.proc_is_first ? 0 : taskscope_netns_of(sc, 1);
	struct taskscope_netns *known = inum ? known_entry(sc, inum) : NULL;

	if (known)
		known->has_strangers = true;
}

/* Find the network namespaces that tasks in scope and strangers use now. */
static int scan(struct taskscope *sc)
{
	sc->known_cnt = 0;
	sc->proc_cnt = 0;
	suspect_hidden(sc);
	for (size_t i = 0; i < sc->target_cnt; i++) {
		int cnt = cgroup_pids(&sc->cgroup_host, sc->targets[i].path, add_proc, sc);

		if (cnt < 0 && cnt != -ENOENT) /* a removed one may come back */
			return cnt;
	}
	if (sc->proc_cnt)
		qsort(sc->procs, sc->proc_cnt, sizeof(*sc->procs), compare_procs);
	return host_processes(netns_look_at_process, sc);
}

/* Report strangers even in namespaces that no task in scope uses: such a task may come later. */
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

/*
 * Report the namespaces of --netns. With a cgroup too, they count as having strangers for ever, so the socket
 * decides.
 */
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

/*
 * taskscope_mark_netns - tell the programs who is in which network namespace, or those of --netns. Return: 0 or
 * -errno.
 */
static int taskscope_mark_netns(struct taskscope *sc)
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

/* If the scan found no stranger in the namespace, none is left of those that came before it began. */
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

/*
 * taskscope_follow_netns - look whether strangers are left in namespaces of the scope, once the programs have seen
 * some.
 * Return: 0 or -errno.
 */
static int taskscope_follow_netns(struct taskscope *sc, uint64_t now_ns)
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
		sc->has_shared = true; /* assume so: the scan is tried again */
	sc->scan_took_ns = host_time_ns() - now_ns;
	sc->patience_ns *= 2;
	if (sc->patience_ns > PATIENCE_MAX_NS)
		sc->patience_ns = PATIENCE_MAX_NS;
	return err;
}

/* ---- tasks that exist when the trace begins ---- */

#define PF_KTHREAD 0x00200000u /* linux/sched.h */

/* ---- ids ---- */

static void take_ids(void *ctx, const struct nfg_task_seen *seen)
{
	struct taskscope *sc = ctx;

	pidns_take(&sc->pidns, seen->ns_tid, seen->task.tid);
}

static void taskscope_leave_out(void *ctx, uint32_t id)
{
	struct taskscope *sc = ctx;
	uint32_t tid = taskscope_tid_in_proc(sc, id);

	if (tid && !num_list_has(&sc->opts->tids, id))
		bpfobj_scope(sc->obj, tid, NFG_SCOPE_CARRIER, 0);
}

/*
 * taskscope_learn_ids - learn the tids of the tasks in our pid namespace, if it is not the first, and exclude our own.
 * Return: 0 or -errno, already logged unless -ENOMEM.
 */
static int taskscope_learn_ids(struct taskscope *sc)
{
	int err;

	if (!sc->pidns.inum)
		return 0;
	err = bpfobj_each_task(sc->obj, take_ids, sc);
	if (!err && !pidns_tid(&sc->pidns, (uint32_t)getpid()))
		err = -ESRCH;
	if (!err)
		err = host_threads(sc->pidns.proc_tgid, taskscope_leave_out, sc);
	if (err >= 0)
		return 0;
	if (err != -ENOMEM) {
		log_error(
			"cannot learn the ids that tasks of this pid namespace have on the host: %s",
			strerror(-err));
		log_hint("run it in the host's pid namespace");
	}
	return err;
}

/*
 * taskscope_tid - the tid of the task with this id in our pid namespace; the kernel is asked about a new one. 0: it
 * is gone.
 */
static uint32_t taskscope_tid(struct taskscope *sc, uint32_t id)
{
	uint32_t tid = pidns_tid(&sc->pidns, id);

	if (!tid && !bpfobj_each_task(sc->obj, take_ids, sc))
		tid = pidns_tid(&sc->pidns, id);
	return tid;
}

uint32_t taskscope_tid_in_proc(struct taskscope *sc, uint32_t id)
{
	return sc->pidns.proc_is_first ? id : taskscope_tid(sc, id);
}

uint32_t taskscope_proc_id(const struct taskscope *sc, uint32_t tid)
{
	return pidns_proc_id(&sc->pidns, tid);
}

/* ---- marks ---- */

/* @tid 0: a task that is gone. */
static void taskscope_mark(struct taskscope *sc, uint32_t tid, uint8_t bits)
{
	if (!tid)
		return;
	if ((bpfobj_scope_get(sc->obj, tid) & bits) != bits)
		sc->is_new = true;
	bpfobj_scope(sc->obj, tid, bits, 0);
}

static void mark_thread(void *ctx, uint32_t id)
{
	taskscope_mark(ctx, taskscope_tid_in_proc(ctx, id), NFG_SCOPE_TASK);
}

/* -p with the id of a thread is obeyed, but seldom meant. */
static void warn_if_thread(uint32_t id)
{
	uint32_t tgid = comms_read_proc_process(NULL, id);

	if (tgid && tgid != id)
		log_warn(
			"-p %u: that is a thread of process %u, all of which is traced; --tid %u traces the thread alone",
			id, tgid, id);
}

/* Mark all threads of a process, until a look finds no new ones. Threads that these start inherit the mark. */
static int mark_process(struct taskscope *sc, uint32_t tgid)
{
	int cnt;

	do {
		sc->is_new = false;
		cnt = host_threads(tgid, mark_thread, sc);
		if (cnt < 0) {
			log_error("cannot trace process %u: %s", tgid, strerror(-cnt));
			if (cnt == -ESRCH)
				log_hint("%s", host_no_task_hint("/proc", tgid));
			return cnt;
		}
	} while (sc->is_new);
	return 0;
}

/*
 * taskscope_mark_named - mark the tasks of -p and --tid, or the command if it is the scope.
 *
 * Return: 0 or -errno, already logged unless -ENOMEM.
 */
static int taskscope_mark_named(struct taskscope *sc, uint32_t command_pid)
{
	const struct opts *opts = sc->opts;
	int err = 0;

	for (size_t i = 0; i < opts->pids.cnt && !err; i++) {
		warn_if_thread((uint32_t)opts->pids.items[i]);
		err = mark_process(sc, (uint32_t)opts->pids.items[i]);
	}
	for (size_t i = 0; i < opts->tids.cnt && !err; i++) {
		uint32_t id = (uint32_t)opts->tids.items[i];
		uint32_t tid = taskscope_tid_in_proc(sc, id);
		char path[32];

		snprintf(path, sizeof(path), "/proc/%u", id);
		if (!tid || access(path, F_OK)) {
			log_error("cannot trace task %u: no such task", id);
			log_hint("%s", host_no_task_hint("/proc", id));
			return -ESRCH;
		}
		taskscope_mark(sc, tid, NFG_SCOPE_TASK | NFG_SCOPE_ALONE);
	}
	if (command_pid && scopeopts_is_command(opts))
		taskscope_mark(sc, taskscope_tid(sc, command_pid),
			       taskscope_begins_at_exec(opts) ? NFG_SCOPE_INHERIT
							      : NFG_SCOPE_TASK | NFG_SCOPE_INHERIT);
	return err;
}

bool taskscope_begins_at_exec(const struct opts *opts)
{
	return opts->events.cnt && scopeopts_is_command(opts);
}

/* The kernel may have skipped the program at exec. */
int taskscope_command_runs(struct taskscope *sc, uint32_t command_pid)
{
	int err;

	if (!taskscope_begins_at_exec(sc->opts))
		return 0;
	taskscope_mark(sc, taskscope_tid(sc, command_pid), NFG_SCOPE_TASK | NFG_SCOPE_INHERIT);
	err = bpfobj_sync(sc->obj);
	if (err)
		log_error("cannot trace the command: %s", strerror(-err));
	return err;
}

/*
 * taskscope_mark_target - a cgroup and all below it; @id: of the one that is there now. Return: 0 or -errno, not
 * logged.
 */
static int taskscope_mark_target(struct taskscope *sc, const struct taskscope_target *target,
				 uint64_t id)
{
	/* in a cgroup namespace a path is another cgroup's, seen from outside */
	return bpfobj_scope_cgroup(sc->obj, id, sc->cgroup_host.is_namespaced ? "" : target->path);
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
	return taskfilter_has_comm(sc->opts, (struct text){ comm, strcspn(comm, "\n") },
				   TASKFILTER_COMM_BYTES);
}

/* The program at exec writes the same byte, so mark again if the name has changed meanwhile. */
static void mark_by_comm(const struct taskscope *sc, uint32_t tid, const char *task)
{
	bool is_wanted = has_wanted_comm(sc, task);
	bool is_marked = false;

	while (is_wanted != is_marked) {
		bpfobj_scope(sc->obj, tid, is_wanted ? NFG_SCOPE_COMM : 0,
			     is_wanted ? 0 : NFG_SCOPE_COMM);
		is_marked = is_wanted;
		is_wanted = has_wanted_comm(sc, task);
	}
}

static void look_at_thread(void *ctx, uint32_t id)
{
	struct taskscope *sc = ctx;
	uint32_t tid = taskscope_tid_in_proc(sc, id);
	char task[16];
	uint8_t bits = 0;

	if (!tid)
		return;
	snprintf(task, sizeof(task), "%u", id);
	if (sc->need & NFG_SCOPE_COMM)
		mark_by_comm(sc, tid, task);
	if (taskscope_has_packets(sc) && is_kthread(task))
		bits |= NFG_SCOPE_KTHREAD;
	if (bits)
		taskscope_mark(sc, tid, bits);
}

static void mark_look_at_process(void *ctx, uint32_t tgid)
{
	struct taskscope *sc = ctx;
	int cnt = host_threads(tgid, look_at_thread, sc);

	if (cnt < 0 && cnt != -ESRCH)
		sc->hidden_cnt++;
}

/* taskscope_mark_all - mark all tasks by their own properties: name, kernel thread. Return: 0 or -errno. */
static int taskscope_mark_all(struct taskscope *sc)
{
	return host_processes(mark_look_at_process, sc);
}

/*
 * taskscope_mark_terminal - exclude the processes that forward our output to the user, and in softirqs the packets of
 * their sockets. Return: 0 or -errno.
 */
static int taskscope_mark_terminal(struct taskscope *sc)
{
	const struct terminal *term = &sc->terminal;
	int err = 0;
	int cnt;

	for (size_t i = 0; i < term->holder_cnt; i++) {
		if (num_list_has(&sc->opts->pids, term->holders[i]))
			continue;
		log_info("not traced: process %u, which forwards this terminal's output",
			 term->holders[i]);
		cnt = host_threads(term->holders[i], taskscope_leave_out, sc);
		if (cnt < 0 && cnt != -ESRCH)
			return cnt;
	}
	for (size_t i = 0; taskscope_has_packets(sc) && i < term->socket_cnt && !err; i++)
		err = bpfobj_scope_socket(sc->obj, term->sockets[i]);
	return err;
}

#define TICK_NS 100000000ull

static uint8_t need_of(const struct opts *opts)
{
	uint8_t need = 0;

	if (scopeopts_is_command(opts) || opts->pids.cnt || opts->tids.cnt)
		need |= NFG_SCOPE_TASK;
	if (names_cgroups(opts))
		need |= NFG_SCOPE_CGROUP;
	if (opts->netns.cnt)
		need |= NFG_SCOPE_NETNS;
	if (opts->comms.cnt)
		need |= NFG_SCOPE_COMM;
	return need;
}

/* If the terminal's processes are not found, the trace shows more than was asked for, so this is only a warning. */
static void find_terminal(struct taskscope *sc)
{
	int err = terminal_find(&sc->terminal, "/proc", sc->pidns.proc_tgid);

	if (err)
		log_warn(
			"the processes that forward this terminal's output are traced too: cannot find them: %s",
			strerror(-err));
}

/* The ids of tasks in other namespaces are in memory that lockdown hides. */
static int find_pidns(struct taskscope *sc)
{
	int err = pidns_find(&sc->pidns, "/proc");

	if (err || !sc->pidns.inum)
		return err;
	if (policy_is_confidential()) {
		log_error(
			"cannot trace from within a pid namespace: lockdown is in confidentiality mode");
		log_hint("run it in the host's pid namespace");
		return -EPERM;
	}
	log_info("in a pid namespace: tasks are shown by their ids in the host's");
	return 0;
}

int taskscope_new(struct taskscope **out, const struct opts *opts)
{
	struct taskscope *sc = calloc(1, sizeof(*sc));
	int err;

	if (!sc)
		return -ENOMEM;
	sc->opts = opts;
	sc->need = need_of(opts);
	err = find_pidns(sc);
	if (!err && !opts->include_terminal)
		find_terminal(sc);
	if (!err)
		err = taskscope_resolve(sc);
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
	free(sc->known);
	free(sc->procs);
	free(sc->stale_cpus);
	pidns_release(&sc->pidns);
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
	cfg->comm_glob_cnt = (uint32_t)sc->opts->comms.cnt;
	cfg->pid_ns = sc->pidns.inum;
	cfg->skip_sockets = taskscope_has_packets(sc) && sc->terminal.socket_cnt;
}

/* Give the programs the names by which exec brings a task into the scope. */
static int tell_comms(const struct taskscope *sc)
{
	int err = 0;

	for (uint32_t i = 0; i < sc->opts->comms.cnt && !err; i++) {
		struct nfg_comm_glob glob;

		commglob_make(&glob, sc->opts->comms.items[i]);
		err = bpfobj_scope_comm(sc->obj, i, &glob);
	}
	return err;
}

int taskscope_apply(struct taskscope *sc, struct bpfobj *obj, uint32_t command_pid)
{
	int err;

	sc->obj = obj;
	sc->hidden_cnt = 0;
	err = taskscope_learn_ids(sc);
	if (!err)
		err = taskscope_mark_named(sc, command_pid);
	if (err)
		return err;
	err = tell_comms(sc);
	for (size_t i = 0; i < sc->target_cnt && !err; i++)
		err = taskscope_mark_target(sc, &sc->targets[i], sc->targets[i].id);
	if (!err && (sc->need & NFG_SCOPE_COMM || taskscope_has_packets(sc)))
		err = taskscope_mark_all(sc);
	if (!err && (sc->need & NFG_SCOPE_NETNS || taskscope_has_packets(sc)))
		err = taskscope_mark_netns(sc);
	if (!err)
		err = taskscope_mark_terminal(sc);
	if (err)
		log_error("cannot mark the tasks to trace: %s", strerror(-err));
	else if (sc->hidden_cnt)
		log_warn(
			"cannot inspect %u tasks without CAP_SYS_PTRACE: their calls may be missing, and their "
			"packets may be shown",
			sc->hidden_cnt);
	return err;
}

/* ---- while the trace runs ---- */

/* The next tick tries again; until it succeeds, one message is enough. */
static void note_failure(struct taskscope *sc, int err)
{
	if (!sc->has_failed)
		log_warn("cannot mark the tasks to trace: %s; some of their events may be missing",
			 strerror(-err));
	sc->has_failed = true;
}

static void add_stale(struct taskscope *sc, uint32_t cpu)
{
	for (size_t i = 0; i < sc->stale_cnt; i++) {
		if (sc->stale_cpus[i] == cpu)
			return;
	}
	if (VEC_RESERVE(sc->stale_cpus, sc->stale_cap, sc->stale_cnt + 1))
		sc->is_all_stale = true;
	else
		sc->stale_cpus[sc->stale_cnt++] = cpu;
}

struct moved {
	struct taskscope *sc;
	uint32_t proc_id; /* of its process, in /proc */
	bool is_in;
};

static void take_thread(void *ctx, uint32_t id)
{
	const struct moved *moved = ctx;
	struct host_thread_stat stat;

	if (!host_thread_stat(moved->proc_id, id, &stat) && stat.state == 'R' &&
	    !bpfobj_gate_fits(moved->sc->obj, stat.cpu, moved->is_in))
		add_stale(moved->sc, stat.cpu);
}

/* Threads that are not running are looked at when they are switched to. */
static void take_moved(struct taskscope *sc, const struct nfg_task_seen *seen)
{
	struct moved moved = {
		.sc = sc,
		.proc_id = taskscope_proc_id(sc, seen->task.tgid),
		.is_in = seen->is_in,
	};

	if (!seen->is_whole)
		add_stale(sc, seen->cpu);
	else if (!moved.proc_id || host_threads(moved.proc_id, take_thread, &moved) < 0)
		sc->is_all_stale = true;
}

void taskscope_take(struct taskscope *sc, struct bpfobj *obj, const struct nfg_task_seen *seen)
{
	sc->obj = obj;
	pidns_take(&sc->pidns, seen->ns_tid, seen->task.tid);
	if (seen->task.kind == NFG_TASK_MOVED)
		take_moved(sc, seen);
}

void taskscope_settle(struct taskscope *sc)
{
	uint64_t lost_moves = sc->target_cnt ? bpfobj_lost(sc->obj, BPFOBJ_LOST_MOVES) : 0;
	int err = 0;

	if (lost_moves != sc->lost_moves)
		sc->is_all_stale = true;
	sc->lost_moves = lost_moves;
	if (sc->is_all_stale)
		err = bpfobj_sync(sc->obj);
	for (size_t i = 0; i < sc->stale_cnt && !sc->is_all_stale && !err; i++)
		err = bpfobj_sync_cpu(sc->obj, sc->stale_cpus[i]);
	if (err)
		note_failure(sc, err);
	sc->stale_cnt = 0;
	sc->is_all_stale = false;
}

static int taskscope_follow_path(struct taskscope *sc, struct taskscope_target *target)
{
	struct cgroup cg;
	int err = 0;

	if (cgroup_open(&sc->cgroup_host, target->path, &cg))
		return 0; /* removed; it may come back */
	/* usually a program has seen its creation, before any task could be in it */
	if (cg.id != target->id && !bpfobj_has_cgroup(sc->obj, cg.id)) {
		err = taskscope_mark_target(sc, target, cg.id);
		if (!err)
			err = bpfobj_sync(sc->obj);
	}
	if (!err)
		target->id = cg.id;
	cgroup_release(&cg);
	return err == -ENOENT ? 0 : err; /* removed meanwhile: the next tick sees it */
}

static int follow_targets(struct taskscope *sc, uint64_t now_ns)
{
	int err = 0;

	for (size_t i = 0; i < sc->target_cnt; i++) {
		int target_err = taskscope_follow_path(sc, &sc->targets[i]);

		err = err ? err : target_err;
	}
	return err || !taskscope_looks_into_processes(sc) ? err
							  : taskscope_follow_netns(sc, now_ns);
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
