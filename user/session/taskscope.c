#include "session/taskscope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "kernel/policy.h"
#include "options/commglob.h"
#include "options/scopeopts.h"
#include "session/taskscope_parts.h"

#define TICK_NS 100000000ull

static uint8_t need_of(const struct opts *opts)
{
	uint8_t need = 0;

	if (scopeopts_is_command(opts) || opts->pids.cnt || opts->tids.cnt)
		need |= NFG_SCOPE_TASK;
	if (opts->cgroups.cnt || opts->containers.cnt || opts->pods.cnt)
		need |= NFG_SCOPE_CGROUP;
	if (opts->netns.cnt)
		need |= NFG_SCOPE_NETNS;
	if (opts->comms.cnt)
		need |= NFG_SCOPE_COMM;
	return need;
}

/* A trace without it shows more than was asked for, but what was asked for too. */
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

/* The names by which exec brings a task into the scope. */
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

/* The next tick tries again. One message until that succeeds. */
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
	uint64_t lost_moves = sc->target_cnt ? bpfobj_lost_moves(sc->obj) : 0;
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

static int follow_path(struct taskscope *sc, struct taskscope_target *target)
{
	struct cgroup cg;
	int err = 0;

	if (cgroup_open(&sc->cgroup_host, target->path, &cg))
		return 0; /* removed; it may come back */
	/* a program has mostly seen it made, before any task could be in it */
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
		int target_err = follow_path(sc, &sc->targets[i]);

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
