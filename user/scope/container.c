#include "scope/container.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "scope/container_layout.h"

#define ID_TYPED_MIN     4 /* digits of an id that a person must give */
#define CANDIDATES_SHOWN 16

/* ---- what the tree has ---- */

enum fit {
	FIT_NONE,
	FIT_UNIT,  /* no container: a systemd unit's whole name */
	FIT_BEGIN, /* the id begins so */
	FIT_WHOLE,
};

struct found {
	const char *runtime;
	char *name;
	char *path;
	enum fit fit;
};

struct finds {
	const char *wanted;
	struct found *items;
	size_t cnt;
	size_t cap;
	enum fit best;
	bool failed;
};

static enum fit fit_of(const char *wanted, const char *runtime, const char *name, const char *last)
{
	size_t len = strlen(wanted);

	if (runtime && (!strcmp(wanted, name) || !strcmp(wanted, last)))
		return FIT_WHOLE;
	if (runtime && len >= ID_TYPED_MIN && container_hex_len(wanted) == len &&
	    container_is_id(name) && !strncmp(wanted, name, len))
		return FIT_BEGIN;
	if (!strcmp(wanted, last) && (glob_match("*.service", last) ||
				      glob_match("*.scope", last) || glob_match("*.slice", last)))
		return FIT_UNIT;
	return FIT_NONE;
}

static void finds_add(struct finds *finds, const struct found *found)
{
	struct found *item;

	if (VEC_RESERVE(finds->items, finds->cap, finds->cnt + 1)) {
		finds->failed = true;
		return;
	}
	item = &finds->items[finds->cnt];
	*item = *found;
	item->name = strdup(found->name);
	item->path = strdup(found->path);
	finds->cnt++;
	if (!item->name || !item->path)
		finds->failed = true;
	else if (item->fit > finds->best)
		finds->best = item->fit;
}

static void finds_release(struct finds *finds)
{
	for (size_t i = 0; i < finds->cnt; i++) {
		free(finds->items[i].name);
		free(finds->items[i].path);
	}
	free(finds->items);
}

static int visit_find(void *ctx, const struct cgroup_seen *seen)
{
	struct finds *finds = ctx;
	char name[CONTAINER_NAME_MAX];
	const char *runtime = container_parse(seen->path, name);
	enum fit fit = fit_of(finds->wanted, runtime, name, seen->name);

	if (!runtime && fit != FIT_NONE) {
		runtime = "unit";
		snprintf(name, sizeof(name), "%s", seen->name);
	}
	if (runtime) {
		struct found found = {
			.runtime = runtime, .name = name, .path = (char *)seen->path, .fit = fit
		};

		finds_add(finds, &found);
	}
	return finds->failed ? -ENOMEM : 0;
}

/* A cgroup that fits less well than the best one is no match. */
static void finds_keep_best(struct finds *finds)
{
	for (size_t i = 0; i < finds->cnt; i++) {
		if (finds->items[i].fit != finds->best)
			finds->items[i].fit = FIT_NONE;
	}
}

/* By path, so that parents come before their children. */
static int compare_path(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->path, ((const struct found *)b)->path);
}

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return !strncmp(path, above, len) && path[len] == '/';
}

/* A cgroup below an earlier one of the same container belongs to that one. */
static bool is_covered(const struct finds *finds, size_t index)
{
	const struct found *item = &finds->items[index];

	for (size_t i = 0; i < index; i++) {
		const struct found *other = &finds->items[i];

		if (other->fit && !strcmp(other->name, item->name) &&
		    is_below(item->path, other->path))
			return true;
	}
	return false;
}

/* Return: the first match, and whether all matches are one container; NULL when there is none. */
static const struct found *finds_match(struct finds *finds, bool *is_unique)
{
	const struct found *first = NULL;

	*is_unique = true;
	for (size_t i = 0; i < finds->cnt; i++) {
		struct found *item = &finds->items[i];

		if (!item->fit)
			continue;
		if (is_covered(finds, i)) {
			item->fit = FIT_NONE;
			continue;
		}
		if (!first)
			first = item;
		else if (!container_is_id(item->name) || strcmp(first->name, item->name))
			*is_unique = false;
	}
	return first;
}

/* ---- candidates ---- */

static void visit_first(void *ctx, uint32_t pid)
{
	uint32_t *first = ctx;

	if (!*first || pid < *first)
		*first = pid;
}

static void comm_read(const struct cgroup_host *host, uint32_t pid, char *comm, size_t size)
{
	char path[PATH_MAX + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%u/comm", host->proc, pid);
	file = fopen(path, "re");
	if (!file || !fgets(comm, (int)size, file))
		snprintf(comm, size, "?");
	comm[strcspn(comm, "\n")] = '\0';
	if (file)
		fclose(file);
}

/* "3f2a1b0c9d8e (docker, nginx 1234)"; a whole id when the short one could be what was typed. */
static void candidate_add(const struct cgroup_host *host, const struct found *item, bool is_long,
			  struct strbuf *line)
{
	bool is_short = container_is_id(item->name) && !is_long;
	uint32_t pid = 0;
	char comm[32];

	cgroup_pids(host, item->path, CGROUP_PROCS, true, visit_first, &pid);
	strbuf_printf(line, "%.*s (%s, ", is_short ? CONTAINER_ID_SHORT : CONTAINER_NAME_MAX,
		      item->name, item->runtime);
	if (pid) {
		comm_read(host, pid, comm, sizeof(comm));
		strbuf_printf(line, "%s %u)", comm, pid);
	} else {
		strbuf_str(line, "no process)");
	}
}

/* Matches only, or all containers. Return: how many. */
static size_t candidates_add(const struct cgroup_host *host, const struct finds *finds,
			     bool only_matches, struct strbuf *line)
{
	bool is_long = strlen(finds->wanted) >= CONTAINER_ID_SHORT;
	size_t cnt = 0;

	for (size_t i = 0; i < finds->cnt; i++) {
		const struct found *item = &finds->items[i];

		if (only_matches && !item->fit)
			continue;
		if (cnt++ >= CANDIDATES_SHOWN)
			continue;
		if (cnt > 1)
			strbuf_str(line, ", ");
		candidate_add(host, item, is_long && only_matches, line);
	}
	if (cnt > CANDIDATES_SHOWN)
		strbuf_printf(line, " and %zu more", cnt - CANDIDATES_SHOWN);
	return cnt;
}

static void paths_add(const struct finds *finds, struct strbuf *line)
{
	size_t cnt = 0;

	for (size_t i = 0; i < finds->cnt && cnt < CANDIDATES_SHOWN; i++) {
		if (finds->items[i].fit)
			strbuf_printf(line, "%s%s", cnt++ ? ", " : "", finds->items[i].path);
	}
}

static int explain_ambiguous(const struct cgroup_host *host, const struct finds *finds)
{
	struct strbuf line = { 0 };
	bool is_prefix = finds->best == FIT_BEGIN;
	size_t cnt;

	cnt = candidates_add(host, finds, true, &line);
	log_error("'%s' %s %zu %s: %.*s", finds->wanted,
		  is_prefix ? "is the beginning of the ids of" : "is the name of", cnt,
		  finds->best == FIT_UNIT ? "units" : "containers", (int)line.len,
		  line.ptr ? line.ptr : "");
	strbuf_reset(&line);
	paths_add(finds, &line);
	if (is_prefix)
		log_hint("give more digits of the id");
	else
		log_hint("choose one with --cgroup: %.*s", (int)line.len, line.ptr ? line.ptr : "");
	strbuf_release(&line);
	return -ENOTUNIQ;
}

/* Names, and the digits that are shown of ids. */
static const char *names_near(const struct finds *finds)
{
	char name[SUGGEST_NAME_BYTES];
	struct suggest near;

	suggest_begin(&near, finds->wanted);
	for (size_t i = 0; i < finds->cnt; i++) {
		snprintf(name, sizeof(name), "%.*s",
			 container_is_id(finds->items[i].name) ? CONTAINER_ID_SHORT
							       : SUGGEST_NAME_BYTES - 1,
			 finds->items[i].name);
		suggest_add(&near, name);
	}
	return suggest_text(&near);
}

static int explain_unknown(const struct cgroup_host *host, const struct finds *finds)
{
	size_t len = strlen(finds->wanted);
	const char *near = names_near(finds);
	struct strbuf line = { 0 };

	if (container_hex_len(finds->wanted) == len && len < ID_TYPED_MIN)
		log_error("no container is called '%s', and an id needs at least %d digits",
			  finds->wanted, ID_TYPED_MIN);
	else if (container_is_id(finds->wanted))
		log_error("no container has the id '%s'", finds->wanted);
	else
		log_error(
			"no container '%s' in the cgroup tree: names given with docker, podman or Kubernetes are known to them only, give the id",
			finds->wanted);
	if (candidates_add(host, finds, false, &line))
		log_hint("%s%s%scontainers here: %.*s", *near ? "did you mean " : "", near,
			 *near ? "? " : "", (int)line.len, line.ptr ? line.ptr : "");
	else
		log_hint(
			"the cgroup tree has no containers; --cgroup PATH takes any cgroup, --netns PID any network namespace");
	strbuf_release(&line);
	return -ENOENT;
}

/* ---- /proc: containers that are not in the tree ---- */

struct strays {
	const char *wanted;
	uint32_t pid; /* the lowest that is in the container; 0 none */
	bool is_v1;   /* else outside of our cgroup namespace */
};

/* "4:memory:/docker/ID" of cgroup v1, "0::/system.slice/docker-ID.scope" of v2. */
static bool stray_line(const char *wanted, char *line)
{
	char *path = strchr(line, '/');
	char name[CONTAINER_NAME_MAX];
	char *slash;

	if (!path)
		return false;
	path[strcspn(path, "\n")] = '\0';
	while (path[0]) {
		const char *runtime = container_parse(path, name);

		if (runtime && fit_of(wanted, runtime, name, strrchr(path, '/') + 1) >= FIT_BEGIN)
			return true;
		slash = strrchr(path, '/');
		*slash = '\0';
	}
	return false;
}

static void stray_read(const struct cgroup_host *host, const char *pid, struct strays *strays)
{
	char path[PATH_MAX + 300];
	uint32_t number = (uint32_t)strtoul(pid, NULL, 10);
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	if (strays->pid && number > strays->pid)
		return;
	snprintf(path, sizeof(path), "%s/%s/cgroup", host->proc, pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (getline(&line, &size, file) > 0) {
		bool is_v1 = strncmp(line, "0::", 3) != 0;

		if (stray_line(strays->wanted, line)) {
			strays->pid = number;
			strays->is_v1 = is_v1;
			break;
		}
	}
	free(line);
	fclose(file);
}

static void strays_find(const struct cgroup_host *host, struct strays *strays)
{
	const struct dirent *entry;
	DIR *dir = opendir(host->proc);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			stray_read(host, entry->d_name, strays);
	}
	if (dir)
		closedir(dir);
}

/* Return: 0 when no process is in such a container. */
static int explain_stray(const struct cgroup_host *host, const char *wanted)
{
	struct strays strays = { .wanted = wanted };

	strays_find(host, &strays);
	if (!strays.pid)
		return 0;
	if (strays.is_v1)
		log_error("container '%s' is in cgroup v1 only: BPF sees cgroup v2 only", wanted);
	else
		log_error("container '%s' is outside of the cgroup tree seen here, %s", wanted,
			  host->root);
	log_hint("--netns %u is its network namespace, -p %u its first process", strays.pid,
		 strays.pid);
	return -EMEDIUMTYPE;
}

/* ---- the answer ---- */

void container_release(struct container *box)
{
	for (size_t i = 0; i < box->cnt; i++)
		cgroup_release(&box->cgroups[i]);
	free(box->cgroups);
	box->cgroups = NULL;
	box->cnt = 0;
}

static int container_fill(const struct cgroup_host *host, const struct finds *finds,
			  const struct found *first, struct container *out)
{
	size_t cnt = 0;
	int err = 0;

	for (size_t i = 0; i < finds->cnt; i++)
		cnt += finds->items[i].fit != FIT_NONE;
	out->runtime = first->runtime;
	snprintf(out->name, sizeof(out->name), "%s", first->name);
	out->cgroups = calloc(cnt, sizeof(*out->cgroups));
	if (!out->cgroups)
		return -ENOMEM;
	for (size_t i = 0; i < finds->cnt && !err; i++) {
		if (!finds->items[i].fit)
			continue;
		err = cgroup_open(host, finds->items[i].path, &out->cgroups[out->cnt]);
		out->cnt += !err;
	}
	if (!err)
		return 0;
	container_release(out);
	log_error("cannot open the cgroup of container '%s': %s", finds->wanted, strerror(-err));
	log_hint("it may just have ended; the cgroup tree is at %s", host->root);
	return err;
}

static int container_choose(const struct cgroup_host *host, struct finds *finds,
			    struct container *out)
{
	const struct found *first;
	bool is_unique;
	int err;

	if (finds->cnt)
		qsort(finds->items, finds->cnt, sizeof(*finds->items), compare_path);
	finds_keep_best(finds);
	first = finds_match(finds, &is_unique);
	if (first)
		return is_unique ? container_fill(host, finds, first, out)
				 : explain_ambiguous(host, finds);
	err = explain_stray(host, finds->wanted);
	return err ? err : explain_unknown(host, finds);
}

/* Kubernetes prints containerd://ID. */
static const char *without_scheme(const char *text)
{
	const char *scheme = strstr(text, "://");

	return scheme ? scheme + 3 : text;
}

int container_resolve(const struct cgroup_host *host, const char *text, struct container *out)
{
	struct finds finds = { .wanted = without_scheme(text) };
	int err;

	memset(out, 0, sizeof(*out));
	if (!finds.wanted[0]) {
		log_error("the name of the container is empty");
		log_hint("give its id, or the beginning of it");
		return -EINVAL;
	}
	if (host->lack) {
		err = explain_stray(host, finds.wanted);
		if (!err)
			cgroup_explain_lack(host);
		return -ENOTSUP;
	}
	err = cgroup_walk(host, "/", visit_find, &finds);
	if (err) {
		log_error("cannot read the cgroup tree at %s: %s", host->root, strerror(-err));
		log_hint("its directories must be readable");
	} else {
		err = container_choose(host, &finds, out);
	}
	finds_release(&finds);
	return err;
}

/* ---- all of them ---- */

struct listing {
	size_t id_len;
	int (*visit)(void *ctx, const char *name, const char *runtime);
	void *ctx;
};

static int visit_list(void *ctx, const struct cgroup_seen *seen)
{
	const struct listing *listing = ctx;
	char name[CONTAINER_NAME_MAX];
	const char *runtime = container_parse(seen->path, name);

	if (!runtime)
		return 0;
	if (container_is_id(name) && strlen(name) > listing->id_len)
		name[listing->id_len] = '\0';
	return listing->visit(listing->ctx, name, runtime);
}

int container_list(const struct cgroup_host *host, size_t len,
		   int (*visit)(void *ctx, const char *name, const char *runtime), void *ctx)
{
	struct listing listing = { len > CONTAINER_ID_SHORT ? CONTAINER_NAME_MAX
							    : CONTAINER_ID_SHORT,
				   visit, ctx };

	return host->lack ? -ENOTSUP : cgroup_walk(host, "/", visit_list, &listing);
}
