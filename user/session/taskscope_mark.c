/* Marks the tasks that exist when the trace begins. */
#include "session/taskscope_parts.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "kernel/comms.h"
#include "options/scopeopts.h"
#include "options/taskfilter.h"
#include "session/taskscope.h"

#define PF_KTHREAD 0x00200000u /* linux/sched.h */

/* ---- ids ---- */

static void take_ids(void *ctx, const struct nfg_task_seen *seen)
{
	struct taskscope *sc = ctx;

	pidns_take(&sc->pidns, seen->ns_tid, seen->task.tid);
}

static void leave_out(void *ctx, uint32_t id)
{
	struct taskscope *sc = ctx;
	uint32_t tid = taskscope_tid_in_proc(sc, id);

	if (tid && !num_list_has(&sc->opts->tids, id))
		bpfobj_scope(sc->obj, tid, NFG_SCOPE_CARRIER, 0);
}

int taskscope_learn_ids(struct taskscope *sc)
{
	int err;

	if (!sc->pidns.inum)
		return 0;
	err = bpfobj_each_task(sc->obj, take_ids, sc);
	if (!err && !pidns_tid(&sc->pidns, (uint32_t)getpid()))
		err = -ESRCH;
	if (!err)
		err = host_threads(sc->pidns.proc_tgid, leave_out, sc);
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

/* The kernel is asked again about a task that is new. */
uint32_t taskscope_tid(struct taskscope *sc, uint32_t id)
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
static void mark(struct taskscope *sc, uint32_t tid, uint8_t bits)
{
	if (!tid)
		return;
	if ((bpfobj_scope_get(sc->obj, tid) & bits) != bits)
		sc->is_new = true;
	bpfobj_scope(sc->obj, tid, bits, 0);
}

static void mark_thread(void *ctx, uint32_t id)
{
	mark(ctx, taskscope_tid_in_proc(ctx, id), NFG_SCOPE_TASK);
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

/* All threads of a process, until a look finds no new ones. Threads that these start inherit the mark. */
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

int taskscope_mark_named(struct taskscope *sc, uint32_t command_pid)
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
			return -ESRCH;
		}
		mark(sc, tid, NFG_SCOPE_TASK | NFG_SCOPE_ALONE);
	}
	if (command_pid && scopeopts_is_command(opts))
		mark(sc, taskscope_tid(sc, command_pid), NFG_SCOPE_TASK | NFG_SCOPE_INHERIT);
	return err;
}

int taskscope_mark_target(struct taskscope *sc, const struct taskscope_target *target, uint64_t id)
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

/* The program at exec writes the same byte: again if the name has changed meanwhile. */
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
		mark(sc, tid, bits);
}

int taskscope_each_process(void (*visit)(void *ctx, uint32_t tgid), void *ctx)
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
	struct taskscope *sc = ctx;
	int cnt = host_threads(tgid, look_at_thread, sc);

	if (cnt < 0 && cnt != -ESRCH)
		sc->hidden_cnt++;
}

int taskscope_mark_all(struct taskscope *sc)
{
	return taskscope_each_process(look_at_process, sc);
}

/* The processes, and in softirqs the packets of their sockets. */
int taskscope_mark_terminal(struct taskscope *sc)
{
	const struct terminal *term = &sc->terminal;
	int err = 0;
	int cnt;

	for (size_t i = 0; i < term->holder_cnt; i++) {
		if (num_list_has(&sc->opts->pids, term->holders[i]))
			continue;
		log_info("not traced: process %u, which forwards this terminal's output",
			 term->holders[i]);
		cnt = host_threads(term->holders[i], leave_out, sc);
		if (cnt < 0 && cnt != -ESRCH)
			return cnt;
	}
	for (size_t i = 0; taskscope_has_packets(sc) && i < term->socket_cnt && !err; i++)
		err = bpfobj_scope_socket(sc->obj, term->sockets[i]);
	return err;
}
