/* Why nothing may have been called in the scope. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session/taskscope.h"
#include "session/taskscope_parts.h"

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
		cnt = cgroup_pids(&sc->cgroup_host, sc->targets[i].path, CGROUP_PROCS, true, ignore,
				  NULL);
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

bool taskscope_why_silent(const struct taskscope *sc, struct strbuf *out)
{
	return put_ended(out, sc->opts) || put_empty(out, sc);
}
