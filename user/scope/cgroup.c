/* The cgroup tree: one by path or id, all below one, the tasks of one. */
#include "scope/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "scope/cgroup_tree.h"

#define KERNFS_HANDLE 0xfe /* FILEID_KERNFS of linux/exportfs.h */

struct kernfs_handle {
	struct file_handle head;
	uint64_t id;
};

void cgroup_release(struct cgroup *cg)
{
	if (cg->fd >= 0)
		close(cg->fd);
	cg->fd = -1;
}

/* The kernfs id; equals the inode number if inode numbers have 64 bits. */
static int id_of(int fd, uint64_t *id)
{
	struct kernfs_handle handle = { .head.handle_bytes = sizeof(handle.id) };
	struct stat st;
	int mount_id;

	if (!name_to_handle_at(fd, "", &handle.head, &mount_id, AT_EMPTY_PATH) &&
	    handle.head.handle_type == KERNFS_HANDLE &&
	    handle.head.handle_bytes == sizeof(handle.id)) {
		memcpy(id, handle.head.f_handle, sizeof(*id));
		return 0;
	}
	if (fstat(fd, &st))
		return -errno;
	*id = st.st_ino;
	return 0;
}

static unsigned int level_of(const char *path)
{
	unsigned int level = 0;

	for (const char *at = path; *at; at++)
		level += at[0] == '/' && at[1] != '/' && at[1];
	return level;
}

const char *cgroup_below_root(const struct cgroup_host *host, const char *full)
{
	size_t len = strlen(host->root);

	if (strncmp(full, host->root, len))
		return NULL;
	if (!full[len])
		return "/";
	return full[len] == '/' ? full + len : NULL;
}

int cgroup_open_full(const char *full, struct cgroup *out)
{
	int err;

	out->fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	err = id_of(out->fd, &out->id);
	if (err)
		cgroup_release(out);
	return err;
}

int cgroup_join(const struct cgroup_host *host, const char *path, char *full, size_t size)
{
	int len = snprintf(full, size, "%s%s%s", host->root, path[0] == '/' ? "" : "/", path);

	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int cgroup_open(const struct cgroup_host *host, const char *path, struct cgroup *out)
{
	char full[PATH_MAX];
	char real[PATH_MAX];
	const char *below;
	int err;

	out->fd = -1;
	if (host->lack)
		return -ENOTSUP;
	err = cgroup_join(host, path, full, sizeof(full));
	if (err)
		return err;
	if (!realpath(full, real))
		return -errno;
	below = cgroup_below_root(host, real);
	if (!below)
		return -EMEDIUMTYPE;
	err = cgroup_open_full(real, out);
	if (err)
		return err;
	strcpy(out->path, below);
	out->level = level_of(below);
	return 0;
}

/* ---- the walk ---- */

struct walk {
	const struct cgroup_host *host;
	struct strbuf
		path; /* from the tree's root, without a slash at its end; NUL is not counted */
	unsigned int level;
	int (*visit)(void *ctx, const struct cgroup_seen *seen);
	void *ctx;
};

static int visit_one(struct walk *walk, const struct stat *st)
{
	struct cgroup_seen seen = { .id = st->st_ino, .level = walk->level };
	const char *slash;

	strbuf_add(&walk->path, "", 1);
	if (!strbuf_ok(&walk->path))
		return -ENOMEM;
	walk->path.len--;
	seen.path = walk->path.len ? walk->path.ptr : "/";
	slash = strrchr(seen.path, '/');
	seen.name = slash + 1;
	return walk->visit(walk->ctx, &seen);
}

static int walk_children(struct walk *walk, int fd);

/* A directory of kernfs has two links and one for each child: a leaf needs no look inside. */
static int walk_child(struct walk *walk, int parent, const char *name)
{
	size_t len = walk->path.len;
	struct stat st;
	int err;

	if (fstatat(parent, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(st.st_mode))
		return 0;
	strbuf_char(&walk->path, '/');
	strbuf_str(&walk->path, name);
	walk->level++;
	err = visit_one(walk, &st);
	if (!err && st.st_nlink != 2) {
		int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0)
			err = walk_children(walk, fd);
		else if (errno != ENOENT && errno != EACCES)
			err = -errno;
	}
	walk->level--;
	walk->path.len = len;
	return err;
}

/* Takes @fd. */
static int walk_children(struct walk *walk, int fd)
{
	const struct dirent *entry;
	int err = 0;
	DIR *dir;

	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = walk_child(walk, dirfd(dir), entry->d_name);
	}
	closedir(dir);
	return err;
}

int cgroup_walk(const struct cgroup_host *host, const char *path,
		int (*visit)(void *ctx, const struct cgroup_seen *seen), void *ctx)
{
	struct walk walk = { .host = host, .visit = visit, .ctx = ctx };
	struct cgroup top;
	struct stat st;
	int err;

	err = cgroup_open(host, path, &top);
	if (err)
		return err;
	walk.level = top.level;
	if (strcmp(top.path, "/"))
		strbuf_str(&walk.path, top.path);
	if (fstat(top.fd, &st)) {
		err = -errno;
		cgroup_release(&top);
	} else {
		st.st_ino = top.id;
		err = visit_one(&walk, &st);
		if (err)
			cgroup_release(&top);
		else
			err = walk_children(&walk, top.fd);
	}
	strbuf_release(&walk.path);
	return err;
}

/* ---- by id ---- */

static int open_by_handle(const struct cgroup_host *host, uint64_t id, struct cgroup *out)
{
	struct kernfs_handle handle = {
		.head.handle_bytes = sizeof(handle.id),
		.head.handle_type = KERNFS_HANDLE,
	};
	char full[PATH_MAX];
	char link[32];
	const char *below;
	ssize_t len;
	int mount;
	int fd;

	mount = open(host->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (mount < 0)
		return -errno;
	memcpy(handle.head.f_handle, &id, sizeof(id));
	fd = open_by_handle_at(mount, &handle.head, O_PATH | O_CLOEXEC);
	close(mount);
	if (fd < 0)
		return -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, full, sizeof(full) - 1);
	close(fd);
	if (len < 0)
		return -errno;
	full[len] = '\0';
	below = cgroup_below_root(host, full);
	return below ? cgroup_open(host, below, out) : -ENOENT;
}

struct id_search {
	uint64_t id;
	char path[PATH_MAX];
};

static int visit_id(void *ctx, const struct cgroup_seen *seen)
{
	struct id_search *search = ctx;

	if (seen->id != search->id)
		return 0;
	snprintf(search->path, sizeof(search->path), "%s", seen->path);
	return 1;
}

int cgroup_open_id(const struct cgroup_host *host, uint64_t id, struct cgroup *out)
{
	struct id_search search = { .id = id };
	int err;

	out->fd = -1;
	if (host->lack)
		return -ENOTSUP;
	if (!open_by_handle(host, id, out)) {
		if (out->id == id)
			return 0;
		cgroup_release(out);
	}
	err = cgroup_walk(host, "/", visit_id, &search);
	if (err <= 0)
		return err ? err : -ENOENT;
	return cgroup_open(host, search.path, out);
}

/* ---- its tasks ---- */

struct task_visit {
	const struct cgroup_host *host;
	enum cgroup_tasks which;
	bool is_recursive;
	int cnt;
	int err; /* the first, but for cgroups that went away */
	void (*visit)(void *ctx, uint32_t pid);
	void *ctx;
};

/* Return: 0 or -errno; a threaded cgroup answers cgroup.procs with -EOPNOTSUPP. */
static int tasks_read(struct task_visit *tasks, const char *path, const char *name)
{
	char full[PATH_MAX + 32];
	unsigned int pid;
	int err = 0;
	FILE *file;

	snprintf(full, sizeof(full), "%s%s/%s", tasks->host->root, path, name);
	file = fopen(full, "re");
	if (!file)
		return -errno;
	errno = 0;
	while (fscanf(file, "%u", &pid) == 1) {
		tasks->visit(tasks->ctx, pid);
		tasks->cnt++;
	}
	if (ferror(file))
		err = -errno;
	fclose(file);
	return err;
}

static int visit_tasks(void *ctx, const struct cgroup_seen *seen)
{
	struct task_visit *tasks = ctx;
	int err = -EOPNOTSUPP;

	if (tasks->which == CGROUP_PROCS)
		err = tasks_read(tasks, seen->path, "cgroup.procs");
	if (err == -EOPNOTSUPP)
		err = tasks_read(tasks, seen->path, "cgroup.threads");
	if (!tasks->err && err != -ENOENT && err != -ENODEV)
		tasks->err = err;
	return tasks->is_recursive ? 0 : 1;
}

int cgroup_pids(const struct cgroup_host *host, const char *path, enum cgroup_tasks which,
		bool is_recursive, void (*visit)(void *ctx, uint32_t pid), void *ctx)
{
	struct task_visit tasks = { .host = host,
				    .which = which,
				    .is_recursive = is_recursive,
				    .visit = visit,
				    .ctx = ctx };
	int err;

	err = cgroup_walk(host, path, visit_tasks, &tasks);
	if (err >= 0)
		err = tasks.err;
	return err ? err : tasks.cnt;
}
