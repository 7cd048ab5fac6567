#include "scope/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/host.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "base/vec.h"

/* ---- the cgroup v2 tree of this host ---- */

#define CGROUP2_MAGIC 0x63677270 /* CGROUP2_SUPER_MAGIC of linux/magic.h */

static bool statfs_is_cgroup2(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (uint32_t)fs.f_type == CGROUP2_MAGIC;
}

/* mountinfo writes blanks and backslashes as \040: decode them in place. */
static void octal_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/*
 * "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw", cut in place. A mount of the whole tree is
 * better than a mount of a part; of equal mounts the first one wins.
 */
static void mount_consider(struct cgroup_host *host, char *line, bool *is_whole)
{
	char *save = NULL;
	char *rest = strstr(line, " - ");
	char *fields[5];
	const char *type;
	char *root;
	char *point;

	if (!rest)
		return;
	*rest = '\0';
	for (size_t i = 0; i < 5; i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return;
	}
	root = fields[3];
	point = fields[4];
	type = strtok_r(rest + 3, " ", &save);
	if (!type)
		return;
	octal_unescape(root);
	octal_unescape(point);
	if (!strcmp(type, "cgroup"))
		host->is_hybrid = true;
	if (strcmp(type, "cgroup2") || (host->root[0] && (*is_whole || strcmp(root, "/"))))
		return;
	if (strlen(point) >= sizeof(host->root) || !host->is_cgroup2(point))
		return; /* another file system is mounted over it */
	strcpy(host->root, point);
	*is_whole = !strcmp(root, "/");
}

int cgroup_host_find(struct cgroup_host *host, const char *proc,
		     bool (*is_cgroup2)(const char *path))
{
	char path[PATH_MAX + 32];
	bool is_whole = false;
	size_t size = 0;
	char *line = NULL;
	FILE *file;

	memset(host, 0, sizeof(*host));
	snprintf(host->proc, sizeof(host->proc), "%s", proc);
	host->is_cgroup2 = is_cgroup2 ? is_cgroup2 : statfs_is_cgroup2;
	file = host_open("%s/self/mountinfo", host->proc);
	if (!file) {
		host->lack = "the mounts of this host cannot be read from /proc/self/mountinfo";
		return -errno;
	}
	while (getline(&line, &size, file) > 0)
		mount_consider(host, line, &is_whole);
	free(line);
	fclose(file);
	if (!host->root[0]) {
		host->lack = host->is_hybrid
				     ? "this host has cgroup v1 only: BPF sees cgroup v2 only"
				     : "no cgroup v2 file system is mounted here";
		return -ENOTSUP;
	}
	/* only the host's root cgroup has no type */
	snprintf(path, sizeof(path), "%s/cgroup.type", host->root);
	host->is_namespaced = !is_whole || !access(path, F_OK);
	return 0;
}

void cgroup_explain_lack(const struct cgroup_host *host)
{
	if (!host->lack)
		return;
	log_error("%s", host->lack);
	if (host->is_hybrid)
		log_hint(
			"choose by process (-p PID, --tid, --comm) or network namespace (--netns PID), or boot with systemd.unified_cgroup_hierarchy=1");
	else
		log_hint(
			"mount -t cgroup2 none /sys/fs/cgroup, or choose by process (-p PID, --tid, --comm) or network namespace (--netns PID)");
}

/* ---- one by path or id, all below one, the tasks of one ---- */

#define KERNFS_HANDLE 0xfe /* FILEID_KERNFS in linux/exportfs.h */

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

/* The kernfs id; equals the inode number where inode numbers have 64 bits. */
static int cgroup_id_of(int fd, uint64_t *id)
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

/* cgroup_below_root - @full without the mount point: "/" for the mount point itself, NULL outside it. */
static const char *cgroup_below_root(const struct cgroup_host *host, const char *full)
{
	size_t len = strlen(host->root);

	if (strncmp(full, host->root, len))
		return NULL;
	if (!full[len])
		return "/";
	return full[len] == '/' ? full + len : NULL;
}

/* cgroup_open_full - open the directory @full; fills in everything except the path. Return: 0 or -errno. */
static int cgroup_open_full(const char *full, struct cgroup *out)
{
	int err;

	out->fd = open(full, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (out->fd < 0)
		return -errno;
	err = cgroup_id_of(out->fd, &out->id);
	if (err)
		cgroup_release(out);
	return err;
}

/* cgroup_join - join the mount point and @path. Return: 0 or -ENAMETOOLONG. */
static int cgroup_join(const struct cgroup_host *host, const char *path, char full[PATH_MAX])
{
	int len = snprintf(full, PATH_MAX, "%s%s%s", host->root, path[0] == '/' ? "" : "/", path);

	return len >= PATH_MAX ? -ENAMETOOLONG : 0;
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
	err = cgroup_join(host, path, full);
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
	out->level = 0;
	for (const char *at = below; *at; at++)
		out->level += at[0] == '/' && at[1] != '/' && at[1];
	return 0;
}

/* ---- the walk ---- */

struct walk {
	struct strbuf path; /* from the tree's root, without a trailing slash */
	unsigned int level;
	int (*visit)(void *ctx, const struct cgroup_seen *seen);
	void *ctx;
};

static int visit_one(struct walk *walk, const struct stat *st)
{
	const char *path = strbuf_cstr(&walk->path);
	struct cgroup_seen seen = { .id = st->st_ino, .level = walk->level };

	if (!strbuf_ok(&walk->path))
		return -ENOMEM;
	seen.path = *path ? path : "/";
	seen.name = strrchr(seen.path, '/') + 1;
	return walk->visit(walk->ctx, &seen);
}

static int walk_children(struct walk *walk, int fd);

/* A kernfs directory has two links and one for each child: a leaf need not be opened. */
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

/* Takes ownership of @fd. */
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
	struct walk walk = { .visit = visit, .ctx = ctx };
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
	const char *below;
	int len;
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
	len = host_link(full, sizeof(full), "/proc/self/fd/%d", fd);
	close(fd);
	if (len < 0)
		return len;
	below = cgroup_below_root(host, full);
	return below ? cgroup_open(host, below, out) : -ENOENT;
}

static int visit_id(void *ctx, const struct cgroup_seen *seen)
{
	struct cgroup *search = ctx;

	if (seen->id != search->id)
		return 0;
	snprintf(search->path, sizeof(search->path), "%s", seen->path);
	return 1;
}

/* Open the cgroup with this id: one system call with CAP_DAC_READ_SEARCH, else a walk. */
static int cgroup_open_id(const struct cgroup_host *host, uint64_t id, struct cgroup *out)
{
	struct cgroup search = { .id = id };
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
	int cnt;
	int err; /* the first error; cgroups that disappeared are not errors */
	void (*visit)(void *ctx, uint32_t pid);
	void *ctx;
};

/* Return: 0 or -errno; a threaded cgroup answers cgroup.procs with -EOPNOTSUPP. */
static int tasks_read(struct task_visit *tasks, const char *path, const char *name)
{
	FILE *file = host_open("%s%s/%s", tasks->host->root, path, name);
	unsigned int pid;
	int err = 0;

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
	int err = tasks_read(tasks, seen->path, "cgroup.procs");

	if (err == -EOPNOTSUPP)
		err = tasks_read(tasks, seen->path, "cgroup.threads");
	if (!tasks->err && err != -ENOENT && err != -ENODEV)
		tasks->err = err;
	return 0;
}

int cgroup_pids(const struct cgroup_host *host, const char *path,
		void (*visit)(void *ctx, uint32_t pid), void *ctx)
{
	struct task_visit tasks = { .host = host, .visit = visit, .ctx = ctx };
	int err = cgroup_walk(host, path, visit_tasks, &tasks);

	if (!err)
		err = tasks.err;
	return err ? err : tasks.cnt;
}

/* ---- the cgroup that a user names ---- */

#define CANDIDATES_SHOWN 10
#define NEAR_ERRORS_MAX  2 /* names of units often end alike */

/* A few names in one line, the most similar first. */
struct candidates {
	const char *wanted; /* for visit_name */
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

/* "a, b, c and 17 more"; valid until the release. */
static const char *candidates_line(struct candidates *cands, char *wanted)
{
	size_t shown = cands->cnt > CANDIDATES_SHOWN + 1 ? CANDIDATES_SHOWN : cands->cnt;

	if (cands->cnt)
		qsort_r(cands->names, cands->cnt, sizeof(*cands->names), compare_alike, wanted);
	for (size_t i = 0; i < shown; i++)
		strbuf_printf(&cands->list, "%s%s", i ? ", " : "", cands->names[i]);
	if (shown < cands->cnt)
		strbuf_printf(&cands->list, " and %zu more", cands->cnt - shown);
	return strbuf_cstr(&cands->list);
}

static void candidates_release(struct candidates *cands)
{
	for (size_t i = 0; i < cands->cnt; i++)
		free(cands->names[i]);
	free(cands->names);
	strbuf_release(&cands->list);
}

static int visit_name(void *ctx, const struct cgroup_seen *seen)
{
	struct candidates *cands = ctx;

	if (!strcmp(seen->name, cands->wanted))
		candidates_add(cands, seen->path);
	return 0;
}

/* "did you mean X? ", or "". @missing: a path component, possibly followed by a slash and more. */
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

/* Cuts @full down to the part that exists. Return: the first component that does not. */
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

/* Suggest the same name elsewhere in the tree, else the children of the nearest existing parent. */
static void hint_missing(const struct cgroup_host *host, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct candidates alike = { .wanted = slash ? slash + 1 : path };
	struct candidates children = { 0 };
	const struct dirent *entry;
	char full[PATH_MAX];
	const char *below;
	const char *line;
	const char *near;
	char *missing;
	DIR *dir;

	if (*alike.wanted)
		cgroup_walk(host, "/", visit_name, &alike);
	if (cgroup_join(host, path, full)) {
		log_hint("the cgroup tree is at %s", host->root);
	} else if (alike.cnt) {
		line = candidates_line(&alike, full);
		log_hint("there is %s", line);
	} else {
		missing = cut_to_existing(host, full);
		dir = opendir(full);
		while (dir && (entry = readdir(dir))) {
			if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
				candidates_add(&children, entry->d_name);
		}
		if (dir)
			closedir(dir);
		line = candidates_line(&children, missing);
		below = cgroup_below_root(host, full);
		near = children_near(&children, missing);
		if (children.cnt)
			log_hint("%sbelow %s there are: %s", near, below ? below : full, line);
		else
			log_hint("%s has no cgroups below it", below ? below : full);
	}
	candidates_release(&children);
	candidates_release(&alike);
}

/* Outside the mount point: cgroup2 may be mounted there too, whole or in part. */
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

static int cgroup_resolve_path(const struct cgroup_host *host, const char *text, struct cgroup *out)
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
	if (!err)
		return 0;
	cgroup_release(out);
	if (err == -ENOENT) {
		log_error("no cgroup '%s'", text);
		hint_missing(host, path);
	} else if (err == -ENOTDIR) {
		log_error("'%s' is not a cgroup: cgroups are directories", text);
		log_hint("name the directory the file is in");
	} else if (err != -EMEDIUMTYPE) {
		log_error("cannot open cgroup '%s': %s", text, strerror(-err));
		log_hint("the cgroup tree is at %s", host->root);
	} else {
		log_error("'%s' is not in the cgroup v2 tree", text);
		if (host->is_hybrid)
			log_hint(
				"the tree is at %s; the other directories beside it are cgroup v1, which BPF does not see",
				host->root);
		else
			log_hint("the tree is at %s: give a path from there, such as system.slice",
				 host->root);
	}
	return err;
}

static void explain_id(const struct cgroup_host *host, const char *text)
{
	char path[PATH_MAX];
	struct cgroup named;

	log_error("no cgroup has the id %s", text);
	if (!cgroup_open(host, text, &named)) {
		log_hint("write /%s for the cgroup of that name", text);
		cgroup_release(&named);
	} else if (strlen(text) <= 10 && host_cgroup(host->proc, text, path)) { /* a pid */
		log_hint("%s is a process in the cgroup %s; -p %s traces the process", text, path,
			 text);
	} else {
		log_hint("an id is the inode number of the cgroup's directory: stat -c %%i %s/...",
			 host->root);
	}
}

int cgroup_resolve(const struct cgroup_host *host, const char *text, struct cgroup *out)
{
	uint64_t id;
	int err;

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
		return cgroup_resolve_path(host, text, out);
	err = parse_u64(text, 1, UINT64_MAX, &id) ? -ENOENT : cgroup_open_id(host, id, out);
	if (err == -ENOENT) {
		explain_id(host, text);
	} else if (err) {
		log_error("cannot look for the cgroup with id %s: %s", text, strerror(-err));
		log_hint("the cgroup tree is at %s", host->root);
	}
	return err;
}
