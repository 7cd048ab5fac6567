#include "session/silence.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "base/parse.h"
#include "options/opts.h"
#include "scope/cgroup.h"

/* More threads than this are not asked: three reads each. */
#define ASKED_MAX 1024

/* ---- who cannot call anything ---- */

/* A zombie calls nothing any more. */
static bool has_ended(uint64_t tid)
{
	char path[64];
	char state = 'X';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", tid);
	file = fopen(path, "re");
	if (!file)
		return true;
	/* pid (comm) state; a comm may hold parentheses and blanks */
	if (fscanf(file, "%*u (%*[^)])%*[)] %c", &state) != 1)
		state = '?';
	fclose(file);
	return state == 'Z' || state == 'X';
}

static bool have_ended(const struct num_list *list)
{
	for (size_t i = 0; i < list->cnt; i++) {
		if (!has_ended(list->items[i]))
			return false;
	}
	return true;
}

static bool put_ended(struct strbuf *out, const struct opts *opts)
{
	const size_t cnt = opts->pids.cnt + opts->tids.cnt;

	if (!cnt || !have_ended(&opts->pids) || !have_ended(&opts->tids))
		return false;
	if (cnt > 1)
		strbuf_str(out, opts->tids.cnt ? "these tasks have ended"
					       : "these processes have ended");
	else if (opts->pids.cnt)
		strbuf_printf(out, "process %" PRIu64 " has ended", opts->pids.items[0]);
	else
		strbuf_printf(out, "task %" PRIu64 " has ended", opts->tids.items[0]);
	return true;
}

static void ignore(void *ctx, uint32_t pid)
{
	(void)ctx;
	(void)pid;
}

static bool put_empty(struct strbuf *out, const struct taskscope *sc)
{
	bool has_any = false;

	for (size_t i = 0; i < sc->target_cnt; i++) {
		struct cgroup cg;
		int cnt;

		if (cgroup_open(&sc->cgroup_host, sc->targets[i].path, &cg))
			continue; /* removed */
		has_any = true;
		cgroup_release(&cg);
		cnt = cgroup_pids(&sc->cgroup_host, sc->targets[i].path, ignore, NULL);
		if (cnt != 0)
			return false;
	}
	if (!sc->target_cnt)
		return false;
	if (sc->target_cnt > 1)
		strbuf_str(out, "these cgroups have no task now");
	else
		strbuf_printf(out, "cgroup %s %s", sc->targets[0].path,
			      has_any ? "has no task now" : "is gone");
	return true;
}

bool silence_why(const struct taskscope *sc, struct strbuf *out)
{
	return put_ended(out, sc->opts) || put_empty(out, sc);
}

/* ---- who did not ---- */

/* What the tasks of a scope have run. */
struct run_sum {
	uint64_t run_ns;
	size_t task_cnt;
	bool is_running; /* one of them is, or could: what it has run is not counted yet */
	bool is_unknown;
};

static void add_task(void *ctx, uint32_t tid)
{
	struct run_sum *sum = ctx;
	struct host_thread_stat stat;
	uint64_t run_ns;
	char path[64];
	FILE *file;

	if (sum->is_unknown || ++sum->task_cnt > ASKED_MAX) {
		sum->is_unknown = true;
		return;
	}
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/schedstat", tid);
	file = fopen(path, "re");
	sum->is_unknown = !file || fscanf(file, "%" SCNu64, &run_ns) != 1 ||
			  host_thread_stat(tid, tid, &stat) != 0;
	if (file)
		fclose(file);
	if (sum->is_unknown)
		return;
	sum->run_ns += run_ns;
	sum->is_running |= stat.state == 'R';
}

static void add_process(void *ctx, uint32_t tgid)
{
	struct run_sum *sum = ctx;

	/* 0: of a pid namespace that we do not see */
	if (!sum->is_unknown && (!tgid || host_threads(tgid, add_task, sum) < 0))
		sum->is_unknown = true;
}

/* Options of different kinds narrow each other, so processes and tasks are all there can be. */
static struct run_sum run_sum_of(const struct taskscope *sc)
{
	const struct opts *opts = sc->opts;
	struct run_sum sum = { 0 };

	for (size_t i = 0; i < opts->pids.cnt; i++)
		add_process(&sum, (uint32_t)opts->pids.items[i]);
	for (size_t i = 0; i < opts->tids.cnt; i++)
		add_task(&sum, (uint32_t)opts->tids.items[i]);
	for (size_t i = 0; !opts->pids.cnt && !opts->tids.cnt && i < sc->target_cnt; i++) {
		if (cgroup_pids(&sc->cgroup_host, sc->targets[i].path, add_process, &sum) < 0)
			sum.is_unknown = true;
	}
	return sum;
}

void silence_begin(struct silence *silence, const struct taskscope *sc)
{
	const struct run_sum sum = run_sum_of(sc);

	*silence = (struct silence){ 0 };
	if (!sum.is_unknown)
		*silence = (struct silence){ .run_ns = sum.run_ns, .task_cnt = sum.task_cnt };
}

static bool put_idle(const struct silence *silence, const struct taskscope *sc, struct strbuf *out)
{
	const struct opts *opts = sc->opts;
	struct run_sum now;

	if (!silence->task_cnt)
		return false;
	now = run_sum_of(sc);
	if (now.is_unknown || now.is_running || now.task_cnt != silence->task_cnt ||
	    now.run_ns != silence->run_ns)
		return false;
	if (opts->pids.cnt + opts->tids.cnt > 1)
		strbuf_str(out, opts->tids.cnt ? "these tasks" : "these processes");
	else if (opts->pids.cnt)
		strbuf_printf(out, "process %" PRIu64, opts->pids.items[0]);
	else if (opts->tids.cnt)
		strbuf_printf(out, "task %" PRIu64, opts->tids.items[0]);
	else if (sc->target_cnt > 1)
		strbuf_str(out, "no task of these cgroups");
	else
		strbuf_printf(out, "no task of cgroup %s", sc->targets[0].path);
	strbuf_str(out, opts->pids.cnt + opts->tids.cnt ? " did not run in that time"
							: " ran in that time");
	return true;
}

/* Whether a task has one of the names. */
struct name_search {
	const struct str_list *comms;
	bool is_found;
};

static void look_at_task(void *ctx, uint32_t tid)
{
	struct name_search *search = ctx;
	char comm[64] = "";
	char path[64];
	FILE *file;

	if (search->is_found)
		return;
	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", tid);
	file = fopen(path, "re");
	if (!file)
		return;
	if (fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(file);
	for (size_t i = 0; i < search->comms->cnt; i++)
		search->is_found |= glob_match(search->comms->items[i], comm);
}

static void look_at_process(void *ctx, uint32_t tgid)
{
	host_threads(tgid, look_at_task, ctx);
}

static bool put_unnamed(const struct taskscope *sc, struct strbuf *out)
{
	struct name_search search = { .comms = &sc->opts->comms };

	if (!search.comms->cnt || host_processes(look_at_process, &search) || search.is_found)
		return false;
	if (search.comms->cnt == 1)
		strbuf_printf(out, "no task is named '%s' now", search.comms->items[0]);
	else
		strbuf_str(out, "no task has one of these names now");
	return true;
}

bool silence_likely(const struct silence *silence, const struct taskscope *sc, struct strbuf *out)
{
	return put_idle(silence, sc, out) || put_unnamed(sc, out);
}

/* ---- packets that were translated ---- */

/* Functions that may have a packet before NAT: of drivers and GRO up to prerouting, and of those who send. */
static bool is_before_nat(const char *name)
{
	static const char *const globs[] = {
		"ip_rcv",        "ip_rcv_core*", "ipv6_rcv",
		"ip6_rcv_core*", "*netif_r*",    "enqueue_to_backlog",
		"*gro_*",        "*xmit*",       "*transmit*",
		"*send*",        "*local_out*",  "*make_skb*",
		"*push_pend*",   "*connect*",
	};

	for (size_t i = 0; i < sizeof(globs) / sizeof(globs[0]); i++) {
		if (glob_match(globs[i], name))
			return true;
	}
	return false;
}

bool silence_nat(const struct opts *opts, const struct functab *tab, bool has_nat,
		 struct strbuf *out)
{
	const char *option = opts->graph_funcs.cnt || opts->presets.cnt ? "-G" : "-T";

	if (!has_nat || !opts->follows || opts->host_side)
		return false;
	for (size_t i = 0; i < tab->cnt; i++) {
		if (tab->funcs[i].is_start && is_before_nat(tab->funcs[i].name.ptr))
			return false;
	}
	strbuf_printf(
		out,
		"none of the functions has a received packet before NAT translates it: with %s ip_rcv (of IPv6 ipv6_rcv), one that matches there is followed",
		option);
	return true;
}

/* ---- what was not hit ---- */

void silence_points(const struct pointtab *points, struct strbuf *out)
{
	const struct point *only = points->points;

	if (points->cnt != 1)
		strbuf_printf(out, "none of the %zu tracepoints was hit", points->cnt);
	else
		strbuf_printf(out, "tracepoint '%.*s%s%.*s' was not hit", (int)only->system.len,
			      only->system.ptr, only->system.len ? ":" : "", (int)only->name.len,
			      only->name.ptr);
}
