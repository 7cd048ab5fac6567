/* Resolves the cgroup that a user names, and the messages if there is none. */
#include "scope/cgroup_tree.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"

#define CANDIDATES_SHOWN 10
#define NEAR_ERRORS_MAX  2 /* names of units share their endings */

/* A few names in one line, the most alike first. */
struct candidates {
	struct strbuf list;
	char **names;
	size_t cnt;
	size_t cap;
};

static void candidates_add(struct candidates *cands, const char *name)
{
	if (VEC_RESERVE(cands->names, cands->cap, cands->cnt + 1))
		return;
	cands->names[cands->cnt] = strdup(name);
	if (cands->names[cands->cnt])
		cands->cnt++;
}

static size_t common_len(const char *a, const char *b)
{
	size_t len = 0;

	while (a[len] && a[len] == b[len])
		len++;
	return len;
}

static int compare_alike(const void *a, const void *b, void *wanted)
{
	const char *left = *(char *const *)a;
	const char *right = *(char *const *)b;
	size_t left_len = common_len(left, wanted);
	size_t right_len = common_len(right, wanted);

	if (left_len != right_len)
		return left_len > right_len ? -1 : 1;
	return strcmp(left, right);
}

/* "a, b, c and 17 more"; borrowed until the release. */
static const char *candidates_line(struct candidates *cands, char *wanted)
{
	size_t shown = cands->cnt > CANDIDATES_SHOWN + 1 ? CANDIDATES_SHOWN : cands->cnt;

	if (cands->cnt)
		qsort_r(cands->names, cands->cnt, sizeof(*cands->names), compare_alike, wanted);
	for (size_t i = 0; i < shown; i++)
		strbuf_printf(&cands->list, "%s%s", i ? ", " : "", cands->names[i]);
	if (shown < cands->cnt)
		strbuf_printf(&cands->list, " and %zu more", cands->cnt - shown);
	strbuf_add(&cands->list, "", 1);
	return strbuf_ok(&cands->list) ? cands->list.ptr : "";
}

static void candidates_release(struct candidates *cands)
{
	for (size_t i = 0; i < cands->cnt; i++)
		free(cands->names[i]);
	free(cands->names);
	strbuf_release(&cands->list);
}

struct name_search {
	const char *name;
	struct candidates cands;
};

static int visit_name(void *ctx, const struct cgroup_seen *seen)
{
	struct name_search *search = ctx;

	if (!strcmp(seen->name, search->name))
		candidates_add(&search->cands, seen->path);
	return 0;
}

static void children_add(const char *full, struct candidates *cands)
{
	const struct dirent *entry;
	DIR *dir = opendir(full);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			candidates_add(cands, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* "did you mean X? ", or "". @missing: a component, and perhaps more after a slash. */
static const char *children_near(const struct candidates *children, const char *missing)
{
	static char text[SUGGEST_NAMES * (SUGGEST_NAME_BYTES + 4) + 32];
	char name[SUGGEST_NAME_BYTES];
	struct suggest near;

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(missing, "/"), missing);
	suggest_begin(&near, name);
	for (size_t i = 0; i < children->cnt; i++)
		suggest_add(&near, children->names[i]);
	if (near.least > NEAR_ERRORS_MAX || !near.cnt)
		return "";
	snprintf(text, sizeof(text), "did you mean %s? ", suggest_text(&near));
	return text;
}

/* Cuts @full down to what exists. Return: the first component that does not. */
static char *cut_to_existing(const struct cgroup_host *host, char *full)
{
	char *missing = full + strlen(full);
	char *slash;

	while (access(full, F_OK) && strlen(full) > strlen(host->root)) {
		slash = strrchr(full, '/');
		*slash = '\0';
		missing = slash + 1;
	}
	return missing;
}

/* The same name elsewhere in the tree, else what the nearest existing parent has. */
static void hint_missing(const struct cgroup_host *host, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct name_search search = { .name = slash ? slash + 1 : path };
	struct candidates children = { 0 };
	char full[PATH_MAX];
	const char *below;
	const char *line;
	const char *near;
	char *missing;

	if (*search.name)
		cgroup_walk(host, "/", visit_name, &search);
	if (cgroup_join(host, path, full, sizeof(full))) {
		log_hint("the cgroup tree is at %s", host->root);
	} else if (search.cands.cnt) {
		line = candidates_line(&search.cands, full);
		log_hint("there is %s", line);
	} else {
		missing = cut_to_existing(host, full);
		children_add(full, &children);
		line = candidates_line(&children, missing);
		below = cgroup_below_root(host, full);
		near = children_near(&children, missing);
		if (children.cnt)
			log_hint("%sbelow %s there are: %s", near, below ? below : full, line);
		else
			log_hint("%s has no cgroups below it", below ? below : full);
	}
	candidates_release(&children);
	candidates_release(&search.cands);
}

static void explain_outside(const struct cgroup_host *host, const char *text)
{
	log_error("'%s' is not in the cgroup v2 tree", text);
	if (host->is_hybrid)
		log_hint(
			"the tree is at %s; the other directories beside it are cgroup v1, which BPF does not see",
			host->root);
	else
		log_hint("the tree is at %s: give a path from there, such as system.slice",
			 host->root);
}

static int explain_path(const struct cgroup_host *host, const char *text, const char *path, int err)
{
	switch (err) {
	case -ENOENT:
		log_error("no cgroup '%s'", text);
		hint_missing(host, path);
		break;
	case -ENOTDIR:
		log_error("'%s' is not a cgroup: cgroups are directories", text);
		log_hint("name the directory the file is in");
		break;
	case -EMEDIUMTYPE:
		explain_outside(host, text);
		break;
	default:
		log_error("cannot open cgroup '%s': %s", text, strerror(-err));
		log_hint("the cgroup tree is at %s", host->root);
	}
	return err;
}

/* Outside of the mount point: cgroup2 may be mounted there too, whole or in part. */
static int resolve_elsewhere(const struct cgroup_host *host, const char *text, struct cgroup *out)
{
	struct cgroup there;
	struct stat st;
	int err;

	if (stat(text, &st))
		return errno == ENOTDIR ? -ENOTDIR : -ENOENT;
	if (!host->is_cgroup2(text))
		return -EMEDIUMTYPE;
	err = cgroup_open_full(text, &there);
	if (err)
		return err;
	err = cgroup_open_id(host, there.id, out);
	cgroup_release(&there);
	return err == -ENOENT ? -EMEDIUMTYPE : err;
}

static int resolve_path(const struct cgroup_host *host, const char *text, struct cgroup *out)
{
	const char *below = cgroup_below_root(host, text);
	const char *path = below ? below : text;
	int err;

	err = cgroup_open(host, path, out);
	if (err && !below && text[0] == '/') {
		int there = resolve_elsewhere(host, text, out);

		err = there == -ENOENT ? err : there;
	}
	if (!err && !host->is_cgroup2(host->root))
		err = -EMEDIUMTYPE;
	if (err) {
		cgroup_release(out);
		return explain_path(host, text, path, err);
	}
	return 0;
}

/* "0::/system.slice/x.service", if the id is a pid after all. */
static bool path_of_pid(const struct cgroup_host *host, const char *pid, char *path)
{
	char full[PATH_MAX + 64];
	char *line = NULL;
	size_t size = 0;
	bool is_found = false;
	FILE *file;

	if (strlen(pid) > 10)
		return false;
	snprintf(full, sizeof(full), "%s/%s/cgroup", host->proc, pid);
	file = fopen(full, "re");
	if (!file)
		return false;
	while (!is_found && getline(&line, &size, file) > 0) {
		is_found = !strncmp(line, "0::/", 4);
		line[strcspn(line, "\n")] = '\0';
		if (is_found)
			snprintf(path, PATH_MAX, "%s", line + 3);
	}
	free(line);
	fclose(file);
	return is_found;
}

static void explain_id(const struct cgroup_host *host, const char *text)
{
	char path[PATH_MAX];
	struct cgroup named;

	log_error("no cgroup has the id %s", text);
	if (!cgroup_open(host, text, &named)) {
		log_hint("write /%s for the cgroup of that name", text);
		cgroup_release(&named);
	} else if (path_of_pid(host, text, path)) {
		log_hint("%s is a process in the cgroup %s; -p %s traces the process", text, path,
			 text);
	} else {
		log_hint("an id is the inode number of the cgroup's directory: stat -c %%i %s/...",
			 host->root);
	}
}

static int resolve_id(const struct cgroup_host *host, const char *text, struct cgroup *out)
{
	uint64_t id;
	int err;

	if (parse_u64(text, 1, UINT64_MAX, &id))
		err = -ENOENT;
	else
		err = cgroup_open_id(host, id, out);
	if (!err)
		return 0;
	if (err == -ENOENT) {
		explain_id(host, text);
		return err;
	}
	log_error("cannot look for the cgroup with id %s: %s", text, strerror(-err));
	log_hint("the cgroup tree is at %s", host->root);
	return err;
}

int cgroup_resolve(const struct cgroup_host *host, const char *text, struct cgroup *out)
{
	out->fd = -1;
	if (host->lack) {
		cgroup_explain_lack(host);
		return -ENOTSUP;
	}
	if (!text[0]) {
		log_error("the name of the cgroup is empty");
		log_hint("give its path from %s, or its id; / means all of them", host->root);
		return -EINVAL;
	}
	if (text[strspn(text, "0123456789")])
		return resolve_path(host, text, out);
	return resolve_id(host, text, out);
}
