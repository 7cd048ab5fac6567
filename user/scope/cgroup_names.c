#include "scope/cgroup_names.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "scope/container.h"
#include "scope/container_names.h"

struct known {
	uint64_t id;
	char *path;      /* NULL: it was not in the tree when that was read for it */
	char *container; /* NULL: none */
};

struct cgroup_names {
	struct cgroup_host host;
	bool has_host;
	struct known *items;
	size_t cnt;
	size_t cap;
	struct hash by_id;
	struct container_set set; /* those of the beginning */
	struct hash by_path;      /* of these, but for slices: they have what others are in */
	uint64_t wait_ns;         /* until then the tree is not read again */
};

static const struct known *known_of(const struct cgroup_names *names, uint64_t id)
{
	for (uint32_t at = 0, item; hash_next(&names->by_id, hash_u64(id), &at, &item);) {
		if (names->items[item].id == id)
			return &names->items[item];
	}
	return NULL;
}

/* Slices have what others are in. */
static bool is_slice(const struct container_seen *seen)
{
	const size_t len = strlen(seen->name);

	return !strcmp(seen->runtime, "unit") && len > 6 && !strcmp(seen->name + len - 6, ".slice");
}

static int index_set(struct cgroup_names *names)
{
	const struct container_set *set = &names->set;

	for (size_t i = 0; i < set->cnt; i++) {
		const char *path = set->items[i].path;

		if (!is_slice(&set->items[i]) &&
		    hash_add(&names->by_path, hash_bytes(path, strlen(path)), (uint32_t)i))
			return -ENOMEM;
	}
	return 0;
}

static const struct container_seen *container_at(const struct cgroup_names *names, const char *path,
						 size_t len)
{
	const uint64_t hash = hash_bytes(path, len);

	for (uint32_t at = 0, item; hash_next(&names->by_path, hash, &at, &item);) {
		const struct container_seen *seen = &names->set.items[item];

		if (!strncmp(seen->path, path, len) && !seen->path[len])
			return seen;
	}
	return NULL;
}

/* The innermost container, pod or unit around a cgroup, but for slices; NULL: none. */
static const struct container_seen *container_around(const struct cgroup_names *names,
						     const char *path)
{
	const struct container_seen *found = container_at(names, path, strlen(path));

	for (size_t len = strlen(path); !found && len-- > 1;) {
		if (path[len] == '/')
			found = container_at(names, path, len);
	}
	return found;
}

static void container_put(struct strbuf *out, const struct container_seen *seen)
{
	const bool is_pod = container_is_pod(seen->runtime);

	if (seen->namespace && *seen->namespace && *seen->pod)
		strbuf_printf(out, "%s/", seen->namespace);
	if (*seen->pod)
		strbuf_printf(out, "%s%s", seen->pod, is_pod ? "" : "/");
	if (is_pod)
		strbuf_str(out, *seen->pod ? "" : seen->pod_uid);
	else if (*seen->name)
		strbuf_str(out, seen->name);
	else
		strbuf_printf(out, "%.*s", CONTAINER_ID_SHORT, seen->id);
}

/* A container that came later is known by the path alone, its own or that of a cgroup above. */
static void later_put(struct strbuf *out, const char *path)
{
	char above[PATH_MAX];
	char name[CONTAINER_NAME_MAX];
	const char *runtime = NULL;

	snprintf(above, sizeof(above), "%s", path);
	while (!runtime && above[0] && above[1]) {
		runtime = container_parse(above, name);
		*strrchr(above, '/') = '\0';
	}
	if (runtime && !container_is_pod(runtime) && container_is_id(name))
		strbuf_printf(out, "%.*s", CONTAINER_ID_SHORT, name);
	else if (runtime)
		strbuf_str(out, name);
}

/* Return: 0 or -ENOMEM; *@out is NULL if it is in none. */
static int name_container(const struct cgroup_names *names, const char *path, char **out)
{
	const struct container_seen *seen;
	struct strbuf text = { 0 };
	char own[PATH_MAX];

	*out = NULL;
	/* what a container makes inside itself is part of it, whatever its name */
	snprintf(own, sizeof(own), "%.*s", (int)container_outer_len(path), path);
	seen = container_around(names, own);
	if (seen)
		container_put(&text, seen);
	else
		later_put(&text, own);
	if (text.len || text.failed)
		*out = strdup(strbuf_cstr(&text));
	strbuf_release(&text);
	return (text.failed || !*out) && text.len ? -ENOMEM : 0;
}

/* @path: NULL: it is gone. Return: 0 or -ENOMEM. */
static int known_add(struct cgroup_names *names, uint64_t id, const char *path)
{
	struct known known = { .id = id };

	if (known_of(names, id) || names->cnt >= CGROUP_NAMES_MAX)
		return 0;
	if (VEC_RESERVE(names->items, names->cap, names->cnt + 1))
		return -ENOMEM;
	known.path = path ? strdup(path) : NULL;
	if ((path && (!known.path || name_container(names, path, &known.container))) ||
	    hash_add(&names->by_id, hash_u64(id), (uint32_t)names->cnt)) {
		free(known.path);
		free(known.container);
		return -ENOMEM;
	}
	names->items[names->cnt++] = known;
	return 0;
}

static int visit(void *ctx, const struct cgroup_seen *seen)
{
	return known_add(ctx, seen->id, seen->path);
}

int cgroup_names_new(struct cgroup_names **out, const struct cgroup_host *host)
{
	struct cgroup_names *names = calloc(1, sizeof(*names));
	int err = 0;

	if (!names)
		return -ENOMEM;
	names->has_host = host != NULL;
	if (host) {
		names->host = *host;
		err = container_set_read(&names->host, &names->set);
	}
	if (!err)
		err = index_set(names);
	if (host && !err)
		err = cgroup_walk(&names->host, "/", visit, names);
	if (err) {
		cgroup_names_free(names);
		return err;
	}
	*out = names;
	return 0;
}

void cgroup_names_free(struct cgroup_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->cnt; i++) {
		free(names->items[i].path);
		free(names->items[i].container);
	}
	free(names->items);
	hash_release(&names->by_id);
	hash_release(&names->by_path);
	container_set_release(&names->set);
	free(names);
}

int cgroup_names_learn(struct cgroup_names *names, uint64_t id, uint64_t now_ns)
{
	int err;

	if (!names->has_host || known_of(names, id) || names->cnt >= CGROUP_NAMES_MAX ||
	    now_ns < names->wait_ns)
		return 0;
	names->wait_ns = now_ns + CGROUP_NAMES_WALK_NS;
	err = cgroup_walk(&names->host, "/", visit, names);
	/* it was there when its task ran, and ids are not used again; unreadable cgroups have no names, either */
	if (err != -ENOMEM)
		err = known_add(names, id, NULL);
	return err;
}

void cgroup_names_get(const struct cgroup_names *names, uint64_t id, struct text *path,
		      struct text *container)
{
	const struct known *known = known_of(names, id);

	*path = text_from(known ? known->path : NULL);
	*container = text_from(known ? known->container : NULL);
}
