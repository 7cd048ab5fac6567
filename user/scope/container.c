#include "scope/container.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"
#include "scope/container_names.h"

/* Fills a set of containers. Private to user/scope/; the public part is in container.h. */
struct container_walk {
	struct container_set *set;
	struct container_names names; /* freed with container_names_release */
};

/* ---- the containers of the cgroup tree ---- */

void container_set_release(struct container_set *set)
{
	for (size_t i = 0; i < set->cnt; i++) {
		struct container_seen *item = &set->items[i];

		free(item->id);
		free(item->name);
		free(item->pod);
		free(item->namespace);
		free(item->pod_uid);
		free(item->path);
	}
	free(set->items);
	*set = (struct container_set){ 0 };
}

/* Stores copies. Return: 0 or -ENOMEM. */
static int set_add(struct container_set *set, const struct container_seen *item)
{
	struct container_seen *copy;

	if (VEC_RESERVE(set->items, set->cap, set->cnt + 1))
		return -ENOMEM;
	copy = &set->items[set->cnt++];
	*copy = (struct container_seen){
		.runtime = item->runtime,
		.id = strdup(item->id),
		.name = strdup(item->name),
		.pod = strdup(item->pod),
		.namespace = strdup(item->namespace),
		.pod_uid = strdup(item->pod_uid),
		.path = strdup(item->path),
	};
	return copy->id && copy->name && copy->pod && copy->namespace && copy->pod_uid && copy->path
		       ? 0
		       : -ENOMEM;
}

bool container_is_pod(const char *runtime)
{
	return !strcmp(runtime, "pod") || !strcmp(runtime, "podman pod");
}

/* The length of the outermost container above @path, looked for behind @from bytes; 0: there is none. */
static size_t container_above(const char *path, size_t from)
{
	char above[PATH_MAX];
	char name[CONTAINER_NAME_MAX];

	for (const char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *runtime;

		if ((size_t)(slash - path) >= sizeof(above))
			break;
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		runtime = container_parse(above, name);
		if (runtime && !container_is_pod(runtime))
			return strlen(above);
	}
	return 0;
}

/*
 * container_realm - the length of the part of @path below which another party creates and names cgroups: a user's slice
 * with its slash, or the outermost container above. There a cgroup can be given the id of any container of the host.
 *
 * Return: 0: the host creates the cgroups there.
 */
static size_t container_realm(const char *path)
{
	unsigned int uid;
	int len = 0;

	if (sscanf(path, "/user.slice/user-%u.slice/%n", &uid, &len) == 1 && uid && len)
		return (size_t)len;
	return container_above(path, 1);
}

size_t container_outer_len(const char *path)
{
	const size_t realm = container_realm(path);
	const bool is_user = realm && path[realm - 1] == '/';
	const size_t len = is_user ? container_above(path, realm) : realm;

	return len ? len : strlen(path);
}

/* container_is_one_realm - whether the cgroups at @a and @b are both the host's own, one user's, or in one container. */
static bool container_is_one_realm(const char *a, const char *b)
{
	size_t len = container_realm(a);

	return container_realm(b) == len && !strncmp(a, b, len);
}

/*
 * Whether state files may name the container at @path: not inside another container. In a user's slice only that user's
 * files do.
 */
static bool may_have_name(const char *path)
{
	size_t realm = container_realm(path);

	return !realm || path[realm - 1] == '/';
}

/* The pod whose cgroup is @path or is above it; @uid is "" if there is none. */
static void pod_above(const char *path, char *uid)
{
	char above[PATH_MAX];
	const char *runtime;
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/'))) {
		runtime = container_parse(above, uid);
		if (runtime && container_is_pod(runtime))
			return;
		*slash = '\0';
	}
	uid[0] = '\0';
}

static int add_container(struct container_walk *walk, const char *path, const char *runtime,
			 const char *name)
{
	struct container_label label = { 0 };
	struct container_label pod = { 0 };
	bool is_pod = container_is_pod(runtime);
	bool has_id = is_pod || container_is_id(name);
	char uid[CONTAINER_NAME_MAX];
	struct container_seen item = { .runtime = runtime, .path = (char *)path };

	pod_above(path, uid);
	if (has_id && !is_pod && may_have_name(path))
		container_names_find(&walk->names, path, name, &label);
	if (uid[0] && may_have_name(path))
		container_names_pod(&walk->names, path, uid, &pod);
	/* the cgroup's name does not tell the runtime, but its state file does */
	if (label.runtime && (!strcmp(runtime, "container") || !strcmp(runtime, "kubernetes")))
		item.runtime = label.runtime;
	item.id = (char *)(has_id ? name : "");
	item.name = (char *)(has_id ? label.name : name);
	item.pod_uid = uid;
	item.pod = pod.pod[0] ? pod.pod : label.pod;
	item.namespace = pod.pod[0] ? pod.namespace : label.namespace;
	return set_add(walk->set, &item);
}

/* Add the container, pod or unit of a cgroup, if any, with its names. Return: 0 or -ENOMEM. */
static int visit_add(void *ctx, const struct cgroup_seen *seen)
{
	struct container_walk *walk = ctx;
	char name[CONTAINER_NAME_MAX];
	const char *runtime = container_parse(seen->path, name);
	const struct container_seen unit = { .runtime = "unit",
					     .id = "",
					     .name = (char *)seen->name,
					     .pod = "",
					     .namespace = "",
					     .pod_uid = "",
					     .path = (char *)seen->path };
	int err = 0;

	if (runtime)
		err = add_container(walk, seen->path, runtime, name);
	else if (glob_match("*.service", seen->name) || glob_match("*.scope", seen->name) ||
		 glob_match("*.slice", seen->name))
		err = set_add(walk->set, &unit);
	return walk->names.failed ? -ENOMEM : err;
}

/* Sorts by path, so that parents come before their children. */
static int compare_path(const void *a, const void *b)
{
	return strcmp(((const struct container_seen *)a)->path,
		      ((const struct container_seen *)b)->path);
}

/* A container's files also describe its pod. */
static int pods_name(struct container_set *set)
{
	for (size_t i = 0; i < set->cnt; i++) {
		struct container_seen *pod = &set->items[i];

		for (size_t k = 0; container_is_pod(pod->runtime) && !pod->pod[0] && k < set->cnt;
		     k++) {
			const struct container_seen *item = &set->items[k];

			if (!item->pod[0] || strcmp(item->pod_uid, pod->pod_uid) ||
			    !container_is_one_realm(pod->path, item->path))
				continue;
			free(pod->pod);
			free(pod->namespace);
			pod->pod = strdup(item->pod);
			pod->namespace = strdup(item->namespace);
			if (!pod->pod || !pod->namespace)
				return -ENOMEM;
		}
	}
	return 0;
}

int container_set_read(const struct cgroup_host *host, struct container_set *set)
{
	struct container_walk walk = { .set = set, .names = { .host = host } };
	int err;

	*set = (struct container_set){ 0 };
	err = cgroup_walk(host, "/", visit_add, &walk);
	container_names_release(&walk.names);
	if (err && err != -ENOMEM) {
		log_error("cannot read the cgroup tree at %s: %s", host->root, strerror(-err));
		log_hint("its directories must be readable");
	}
	if (err)
		return err;
	if (set->cnt)
		qsort(set->items, set->cnt, sizeof(*set->items), compare_path);
	return pods_name(set);
}

static void visit_first(void *ctx, uint32_t pid)
{
	uint32_t *first = ctx;

	if (pid && (!*first || pid < *first))
		*first = pid;
}

/*
 * container_describe - append "3f2a1b0c9d8e (docker, web, nginx 1234)": id, runtime, name, a process. @is_long: the
 * whole id, because the user may have typed the short one. Names are not escaped. Private to user/scope/.
 */
static void container_describe(const struct cgroup_host *host, const struct container_seen *item,
			       bool is_long, struct strbuf *line)
{
	bool is_short = container_is_id(item->id) && !is_long;
	uint32_t pid = 0;
	char comm[32];
	char task[16];

	cgroup_pids(host, item->path, visit_first, &pid);
	if (item->id[0])
		strbuf_printf(line, "%.*s (%s, ",
			      is_short ? CONTAINER_ID_SHORT : CONTAINER_NAME_MAX, item->id,
			      item->runtime);
	else
		strbuf_printf(line, "%s (%s, ", item->name, item->runtime);
	/* "default/web-0/nginx": the name that a user may type; none if only the id is known */
	if (item->id[0] && (item->name[0] || item->pod[0])) {
		if (item->namespace[0] && item->pod[0])
			strbuf_printf(line, "%s/", item->namespace);
		strbuf_printf(line, "%s%s%s, ", item->pod, item->pod[0] && item->name[0] ? "/" : "",
			      item->name);
	}
	if (pid) {
		snprintf(task, sizeof(task), "%u", pid);
		host_comm(host->proc, task, comm, sizeof(comm));
		strbuf_printf(line, "%s %u)", comm, pid);
	} else {
		strbuf_str(line, "no process)");
	}
}

#define ID_TYPED_MIN     4 /* digits of an id that a user must give */
#define CANDIDATES_SHOWN 16

/* ---- matching ---- */

enum fit {
	FIT_NONE,
	FIT_UNIT,  /* not a container: a systemd unit's whole name */
	FIT_BEGIN, /* the id begins with it */
	FIT_WHOLE,
};

struct search {
	const char *wanted;
	bool is_pod; /* search for a pod */
	struct container_set set;
	enum fit best;
};

static bool is_id_begin(const char *wanted, const char *id)
{
	size_t len = strlen(wanted);

	return len >= ID_TYPED_MIN && container_hex_len(wanted) == len && container_is_id(id) &&
	       !strncmp(wanted, id, len);
}

/* The rest of @text after @above and a slash; NULL: it does not begin so. */
static const char *rest_below(const char *text, const char *above)
{
	size_t len = strlen(above);

	return !strncmp(text, above, len) && text[len] == '/' ? text + len + 1 : NULL;
}

/* Whether @text is @a, a slash, and @b. */
static bool is_joined(const char *text, const char *a, const char *b)
{
	const char *rest = rest_below(text, a);

	return rest && *a && *b && !strcmp(rest, b);
}

/* Whether @text is POD/NAME or NAMESPACE/POD/NAME. */
static bool is_in_pod(const char *text, const struct container_seen *item)
{
	const char *rest = rest_below(text, item->namespace);

	return is_joined(text, item->pod, item->name) ||
	       (rest && item->namespace[0] && is_joined(rest, item->pod, item->name));
}

static enum fit fit_pod(const char *wanted, const struct container_seen *item)
{
	if (item->pod[0] &&
	    (!strcmp(wanted, item->pod) || is_joined(wanted, item->namespace, item->pod)))
		return FIT_WHOLE;
	if (!item->pod_uid[0])
		return FIT_NONE;
	if (!strcmp(wanted, item->pod_uid))
		return FIT_WHOLE;
	return is_id_begin(wanted, item->pod_uid) ? FIT_BEGIN : FIT_NONE;
}

static enum fit fit_of(const struct search *search, const struct container_seen *item)
{
	const char *wanted = search->wanted;

	if (search->is_pod)
		return fit_pod(wanted, item);
	if (!strcmp(item->runtime, "unit"))
		return strcmp(wanted, item->name) ? FIT_NONE : FIT_UNIT;
	if (!strcmp(wanted, item->id) || !strcmp(wanted, item->name) ||
	    !strcmp(wanted, strrchr(item->path, '/') + 1) || is_in_pod(wanted, item))
		return FIT_WHOLE;
	return is_id_begin(wanted, item->id) ? FIT_BEGIN : FIT_NONE;
}

/* Keeps only the best matches: a cgroup that fits less well does not match. */
static void search_fit(struct search *search)
{
	for (size_t i = 0; i < search->set.cnt; i++) {
		struct container_seen *item = &search->set.items[i];

		item->fit = fit_of(search, item);
		if (item->fit > search->best)
			search->best = item->fit;
	}
	for (size_t i = 0; i < search->set.cnt; i++) {
		if (search->set.items[i].fit != search->best)
			search->set.items[i].fit = FIT_NONE;
	}
}

/*
 * Whether two cgroups belong to one container, or to one pod if pods are wanted. This needs an id. Users and
 * containers can give their own cgroups any id.
 */
static bool container_is_same(const struct search *search, const struct container_seen *a,
			      const struct container_seen *b)
{
	if (!container_is_one_realm(a->path, b->path))
		return false;
	if (!search->is_pod)
		return a->id[0] && !strcmp(a->id, b->id);
	if (a->pod_uid[0] || b->pod_uid[0])
		return !strcmp(a->pod_uid, b->pod_uid);
	return !strcmp(a->pod, b->pod) && !strcmp(a->namespace, b->namespace);
}

/* The id that a user may type for the item. */
static const char *container_id_of(const struct search *search, const struct container_seen *item)
{
	return search->is_pod ? item->pod_uid : item->id;
}

/*
 * Whether a user or a container created the cgroup, with the id of a container of the host: it is not part of that
 * container.
 */
static bool is_forged(const struct search *search, const struct container_seen *item)
{
	const char *id = container_id_of(search, item);

	if (!id[0] || !container_realm(item->path))
		return false;
	for (size_t i = 0; i < search->set.cnt; i++) {
		const struct container_seen *other = &search->set.items[i];

		if (other->fit && !strcmp(container_id_of(search, other), id) &&
		    !container_realm(other->path))
			return true;
	}
	return false;
}

/* A cgroup below an earlier one of the same container belongs to that one. */
static bool is_covered(const struct search *search, const struct container_seen *item)
{
	for (const struct container_seen *other = search->set.items; other < item; other++) {
		if (!other->fit || !rest_below(item->path, other->path))
			continue;
		if (container_is_same(search, other, item))
			return true;
		if (!other->id[0] && !item->id[0] && !strcmp(other->name, item->name))
			return true;
	}
	return false;
}

/* Return: the first match, and whether all matches are one container; NULL if there is none. */
static const struct container_seen *search_match(struct search *search, bool *is_unique)
{
	const struct container_seen *first = NULL;

	*is_unique = true;
	for (size_t i = 0; i < search->set.cnt; i++) {
		struct container_seen *item = &search->set.items[i];

		if (item->fit && (is_covered(search, item) || is_forged(search, item)))
			item->fit = FIT_NONE;
		if (!item->fit)
			continue;
		if (!first)
			first = item;
		else if (!container_is_same(search, first, item))
			*is_unique = false;
	}
	return first;
}

/* ---- candidates ---- */

/* Add the matches only, or all alternatives. Return: how many. */
static size_t container_candidates_add(const struct cgroup_host *host, const struct search *search,
				       bool only_matches, struct strbuf *line)
{
	bool is_long = strlen(search->wanted) >= CONTAINER_ID_SHORT;
	size_t cnt = 0;

	for (size_t i = 0; i < search->set.cnt; i++) {
		const struct container_seen *item = &search->set.items[i];
		bool is_alternative = search->is_pod ? container_is_pod(item->runtime)
						     : strcmp(item->runtime, "unit") != 0;

		if (only_matches ? !item->fit : !is_alternative)
			continue;
		if (cnt++ >= CANDIDATES_SHOWN)
			continue;
		if (cnt > 1)
			strbuf_str(line, ", ");
		container_describe(host, item, is_long && search->best == FIT_BEGIN, line);
	}
	if (cnt > CANDIDATES_SHOWN)
		strbuf_printf(line, " and %zu more", cnt - CANDIDATES_SHOWN);
	return cnt;
}

/* Whether each match has an id that no earlier match has. */
static bool ids_differ(const struct search *search)
{
	for (size_t i = 0; i < search->set.cnt; i++) {
		const struct container_seen *item = &search->set.items[i];
		const char *id = container_id_of(search, item);

		if (item->fit && !id[0])
			return false;
		for (size_t k = 0; item->fit && k < i; k++) {
			if (search->set.items[k].fit &&
			    !strcmp(container_id_of(search, &search->set.items[k]), id))
				return false;
		}
	}
	return true;
}

static int explain_ambiguous(const struct cgroup_host *host, const struct search *search)
{
	struct strbuf line = { 0 };
	bool is_prefix = search->best == FIT_BEGIN;
	size_t cnt;

	cnt = container_candidates_add(host, search, true, &line);
	log_error("'%s' %s %zu %s: %s", search->wanted,
		  is_prefix ? "is the beginning of the ids of" : "is the name of", cnt,
		  search->is_pod             ? "pods"
		  : search->best == FIT_UNIT ? "units"
					     : "containers",
		  strbuf_cstr(&line));
	strbuf_reset(&line);
	for (size_t i = 0, shown = 0; i < search->set.cnt && shown < CANDIDATES_SHOWN; i++) {
		if (search->set.items[i].fit)
			strbuf_printf(&line, "%s%s", shown++ ? ", " : "",
				      search->set.items[i].path);
	}
	if (!ids_differ(search))
		log_hint("choose one with --cgroup: %s", strbuf_cstr(&line));
	else if (is_prefix)
		log_hint("give more digits of the id");
	else if (search->is_pod)
		log_hint("give NAMESPACE/NAME, or its uid or id");
	else
		log_hint("choose one by its id, or a pod's container by POD/NAME");
	strbuf_release(&line);
	return -ENOTUNIQ;
}

/* Append "did you mean web? ", if a name is near. */
static void suggestion_add(const struct search *search, struct strbuf *line)
{
	char id[CONTAINER_ID_SHORT + 1];
	const char *text = NULL;
	struct suggest near;

	suggest_begin(&near, search->wanted);
	for (size_t i = 0; i < search->set.cnt; i++) {
		const struct container_seen *item = &search->set.items[i];
		size_t len = strlen(search->wanted);

		if (search->is_pod || strcmp(item->runtime, "unit")) {
			suggest_add(&near, search->is_pod ? item->pod : item->name);
			/* the digits of its id that are shown */
			snprintf(id, sizeof(id), "%s", container_id_of(search, item));
			if (id[0])
				suggest_add(&near, id);
		} else if (!strncmp(item->name, search->wanted, len) &&
			   !strcmp(item->name + len, ".service"))
			text = item->name;
	}
	for (size_t i = 0; i < search->set.cnt && !search->is_pod; i++) {
		if (fit_pod(search->wanted, &search->set.items[i]) != FIT_WHOLE)
			continue;
		strbuf_printf(line, "did you mean --pod %s? ", search->wanted);
		return;
	}
	if (!text)
		text = suggest_text(&near);
	if (*text)
		strbuf_printf(line, "did you mean %s? ", text);
}

static int explain_unknown(const struct cgroup_host *host, const struct search *search)
{
	const char *what = search->is_pod ? "pod" : "container";
	const char *denied = container_names_denied(host);
	size_t len = strlen(search->wanted);
	struct strbuf near = { 0 };
	struct strbuf line = { 0 };

	if (container_hex_len(search->wanted) == len && len < ID_TYPED_MIN)
		log_error("no %s is called '%s', and an id needs at least %d digits", what,
			  search->wanted, ID_TYPED_MIN);
	else if (container_is_id(search->wanted))
		log_error("no %s has the id '%s'", what, search->wanted);
	else
		log_error("no %s '%s' in the cgroup tree", what, search->wanted);
	suggestion_add(search, &near);
	if (container_candidates_add(host, search, false, &line))
		log_hint("%s%s%s%s%ss here: %s", strbuf_cstr(&near),
			 denied ? "only root may read the names in " : "", denied ? denied : "",
			 denied ? "; " : "", what, strbuf_cstr(&line));
	else
		log_hint(
			"%sthe cgroup tree has no %ss; --cgroup PATH takes any cgroup, --netns PID any network namespace",
			strbuf_cstr(&near), what);
	strbuf_release(&near);
	strbuf_release(&line);
	return -ENOENT;
}

/* ---- /proc: containers that are not in the tree ---- */

struct strays {
	const struct search *search;
	struct container_walk walk; /* over the paths in /proc */
	uint32_t pid;               /* the lowest in the container; 0: none */
	bool is_v1; /* the process is in cgroup v1; if not, outside our cgroup namespace */
};

/* Return: the container, pod or unit of the cgroup at @path; NULL: none, or out of memory. */
static const struct container_seen *stray_seen(struct strays *strays, const char *path)
{
	const struct cgroup_seen seen = { .path = path, .name = strrchr(path, '/') + 1 };
	struct container_set *set = strays->walk.set;
	size_t cnt = set->cnt;

	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(set->items[i].path, path))
			return &set->items[i];
	}
	if (visit_add(&strays->walk, &seen) || set->cnt == cnt)
		return NULL;
	return &set->items[cnt];
}

/* Parse "4:memory:/docker/ID" of cgroup v1 or "0::/system.slice/docker-ID.scope" of v2. */
static bool stray_line(struct strays *strays, char *line)
{
	char *path = strchr(line, '/');

	if (!path)
		return false;
	path[strcspn(path, "\n")] = '\0';
	while (path[0]) {
		const struct container_seen *seen = stray_seen(strays, path);

		if (seen && fit_of(strays->search, seen) >= FIT_BEGIN)
			return true;
		*strrchr(path, '/') = '\0';
	}
	return false;
}

static void stray_read(const struct cgroup_host *host, const char *pid, struct strays *strays)
{
	uint32_t number = (uint32_t)strtoul(pid, NULL, 10);
	char *line = NULL;
	size_t size = 0;
	FILE *file;

	if (strays->pid && number > strays->pid)
		return;
	file = host_open("%s/%s/cgroup", host->proc, pid);
	if (!file)
		return;
	while (getline(&line, &size, file) > 0) {
		bool is_v1 = strncmp(line, "0::", 3) != 0;

		if (stray_line(strays, line)) {
			strays->pid = number;
			strays->is_v1 = is_v1;
			break;
		}
	}
	free(line);
	fclose(file);
}

/* Return: 0 if no process is in such a container. */
static int explain_stray(const struct cgroup_host *host, const struct search *search)
{
	const char *what = search->is_pod ? "pod" : "container";
	const struct dirent *entry;
	DIR *dir = opendir(host->proc);
	struct container_set set = { 0 };
	struct strays strays = { .search = search, .walk = { .set = &set, .names.host = host } };

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			stray_read(host, entry->d_name, &strays);
	}
	if (dir)
		closedir(dir);
	container_names_release(&strays.walk.names);
	container_set_release(&set);
	if (!strays.pid)
		return 0;
	if (strays.is_v1)
		log_error("%s '%s' is in cgroup v1 only: BPF sees cgroup v2 only", what,
			  search->wanted);
	else
		log_error("%s '%s' is outside of the cgroup tree seen here, %s", what,
			  search->wanted, host->root);
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

static int container_fill(const struct cgroup_host *host, const struct search *search,
			  const struct container_seen *first, struct container *out)
{
	int err = 0;

	out->runtime = search->is_pod ? "pod" : first->runtime;
	if (search->is_pod && first->pod[0])
		snprintf(out->name, sizeof(out->name), "%s%s%s", first->namespace,
			 first->namespace[0] ? "/" : "", first->pod);
	else
		snprintf(out->name, sizeof(out->name), "%s",
			 search->is_pod ? first->pod_uid
			 : first->id[0] ? first->id
					: first->name);
	out->cgroups = calloc(search->set.cnt, sizeof(*out->cgroups));
	if (!out->cgroups)
		return -ENOMEM;
	for (size_t i = 0; i < search->set.cnt && !err; i++) {
		if (!search->set.items[i].fit)
			continue;
		err = cgroup_open(host, search->set.items[i].path, &out->cgroups[out->cnt]);
		out->cnt += !err;
	}
	if (!err)
		return 0;
	container_release(out);
	log_error("cannot open the cgroup of %s '%s': %s", search->is_pod ? "pod" : "container",
		  search->wanted, strerror(-err));
	log_hint("it may just have ended; the cgroup tree is at %s", host->root);
	return err;
}

int container_resolve(const struct cgroup_host *host, const char *text, bool is_pod,
		      struct container *out)
{
	/* Kubernetes prints containerd://ID */
	const char *scheme = is_pod ? NULL : strstr(text, "://");
	struct search search = { .wanted = scheme ? scheme + 3 : text, .is_pod = is_pod };
	const struct container_seen *first;
	bool is_unique;
	int err;

	memset(out, 0, sizeof(*out));
	if (!search.wanted[0]) {
		log_error("the name of the %s is empty", is_pod ? "pod" : "container");
		log_hint("give its name or its id; 'netfgraph list --containers' shows them");
		return -EINVAL;
	}
	if (host->lack) {
		err = explain_stray(host, &search);
		if (!err)
			cgroup_explain_lack(host);
		return -ENOTSUP;
	}
	err = container_set_read(host, &search.set);
	if (!err) {
		search_fit(&search);
		first = search_match(&search, &is_unique);
		if (!first)
			err = explain_stray(host, &search);
		else if (is_unique)
			err = container_fill(host, &search, first, out);
		else
			err = explain_ambiguous(host, &search);
		if (!first && !err)
			err = explain_unknown(host, &search);
	}
	container_set_release(&search.set);
	return err;
}
