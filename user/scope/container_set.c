/* The containers of the cgroup tree, and their names. */
#include "scope/container_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/log.h"
#include "base/vec.h"
#include "scope/container_layout.h"

static void seen_release(struct container_seen *item)
{
	free(item->id);
	free(item->name);
	free(item->pod);
	free(item->namespace);
	free(item->pod_uid);
	free(item->path);
}

void container_set_release(struct container_set *set)
{
	for (size_t i = 0; i < set->cnt; i++)
		seen_release(&set->items[i]);
	free(set->items);
	*set = (struct container_set){ 0 };
}

/* Takes copies. Return: 0 or -ENOMEM. */
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

static bool is_pod_runtime(const char *runtime)
{
	return !strcmp(runtime, "pod") || !strcmp(runtime, "podman pod");
}

bool container_is_pod(const struct container_seen *item)
{
	return is_pod_runtime(item->runtime);
}

size_t container_realm(const char *path)
{
	char above[PATH_MAX];
	char name[CONTAINER_NAME_MAX];
	unsigned int uid;
	int len = 0;

	if (sscanf(path, "/user.slice/user-%u.slice/%n", &uid, &len) == 1 && uid && len)
		return (size_t)len;
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		const char *runtime;

		if ((size_t)(slash - path) >= sizeof(above))
			break;
		snprintf(above, sizeof(above), "%.*s", (int)(slash - path), path);
		runtime = container_parse(above, name);
		if (runtime && !is_pod_runtime(runtime))
			return strlen(above);
	}
	return 0;
}

bool container_is_one_realm(const char *a, const char *b)
{
	size_t len = container_realm(a);

	return container_realm(b) == len && !strncmp(a, b, len);
}

/* Whose files may name the container: a user's own files; none inside another container. */
static bool may_have_name(const char *path)
{
	size_t realm = container_realm(path);

	return !realm || path[realm - 1] == '/';
}

/* The pod that the cgroup at @path is, or is below; @uid is "" when there is none. */
static void pod_above(const char *path, char *uid)
{
	char above[PATH_MAX];
	const char *runtime;
	char *slash;

	snprintf(above, sizeof(above), "%s", path);
	while ((slash = strrchr(above, '/'))) {
		runtime = container_parse(above, uid);
		if (runtime && is_pod_runtime(runtime))
			return;
		*slash = '\0';
	}
	uid[0] = '\0';
}

static bool is_general(const char *runtime)
{
	return !strcmp(runtime, "container") || !strcmp(runtime, "kubernetes");
}

static int add_container(struct container_walk *walk, const char *path, const char *runtime,
			 const char *name)
{
	struct container_label label = { 0 };
	struct container_label pod = { 0 };
	bool is_pod = is_pod_runtime(runtime);
	bool has_id = is_pod || container_is_id(name);
	char uid[CONTAINER_NAME_MAX];
	struct container_seen item = { .runtime = runtime, .path = (char *)path };

	pod_above(path, uid);
	if (has_id && !is_pod && may_have_name(path))
		container_names_find(&walk->names, path, name, &label);
	if (uid[0] && may_have_name(path))
		container_names_pod(&walk->names, path, uid, &pod);
	if (label.runtime && is_general(runtime))
		item.runtime = label.runtime;
	item.id = (char *)(has_id ? name : "");
	item.name = (char *)(has_id ? label.name : name);
	item.pod_uid = uid;
	item.pod = pod.pod[0] ? pod.pod : label.pod;
	item.namespace = pod.pod[0] ? pod.namespace : label.namespace;
	return set_add(walk->set, &item);
}

static bool is_unit(const char *name)
{
	return glob_match("*.service", name) || glob_match("*.scope", name) ||
	       glob_match("*.slice", name);
}

int container_walk_add(struct container_walk *walk, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *last = slash ? slash + 1 : path;
	char name[CONTAINER_NAME_MAX];
	const char *runtime = container_parse(path, name);
	struct container_seen unit = { .runtime = "unit",
				       .id = "",
				       .name = (char *)last,
				       .pod = "",
				       .namespace = "",
				       .pod_uid = "",
				       .path = (char *)path };
	int err = 0;

	if (runtime)
		err = add_container(walk, path, runtime, name);
	else if (is_unit(last))
		err = set_add(walk->set, &unit);
	return walk->names.failed ? -ENOMEM : err;
}

static int visit_add(void *ctx, const struct cgroup_seen *seen)
{
	return container_walk_add(ctx, seen->path);
}

/* By path, so that parents come before their children. */
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

		for (size_t k = 0; container_is_pod(pod) && !pod->pod[0] && k < set->cnt; k++) {
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
