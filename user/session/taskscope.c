#include "session/taskscope.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "options/commglob.h"
#include "session/taskscope_parts.h"

#define TICK_NS     100000000ull
#define NETNS_SHARE 20 /* share of time spent scanning for namespaces in use, as 1/N */

static uint8_t need_of(const struct opts *opts, bool has_command)
{
	uint8_t need = 0;

	if (has_command || opts->pids.cnt || opts->tids.cnt)
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
	int err = terminal_find(&sc->terminal, "/proc", (uint32_t)getpid());

	if (err)
		log_warn(
			"the processes that forward this terminal's output are traced too: cannot find them: %s",
			strerror(-err));
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
		find_terminal(sc);
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
	err = taskscope_mark_named(sc, command_pid);
	if (err)
		return err;
	err = tell_comms(sc);
	for (size_t i = 0; i < sc->target_cnt && !err; i++)
		err = taskscope_mark_target(sc, &sc->targets[i]);
	if (!err && (sc->need & (NFG_SCOPE_NETNS | NFG_SCOPE_COMM) || taskscope_has_packets(sc)))
		err = taskscope_mark_all(sc);
	if (!err)
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

static void sync_gates(struct taskscope *sc)
{
	int err = bpfobj_sync(sc->obj);

	if (err)
		note_failure(sc, err);
}

void taskscope_take(struct taskscope *sc, struct bpfobj *obj, const struct nfg_task_rec *rec)
{
	sc->obj = obj;
	if (rec->kind == NFG_TASK_MOVED)
		sync_gates(sc);
}

static int follow_path(struct taskscope *sc, struct taskscope_target *target)
{
	struct cgroup cg;
	int err = 0;

	if (cgroup_open(&sc->cgroup_host, target->path, &cg))
		return 0; /* removed; it may come back */
	if (cg.id != target->id) {
		err = taskscope_mark_target(sc, target);
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
	err = taskscope_follow_netns(sc);
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
