#include "scope/container_names.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"

/*
 * State files of container runtimes. The user can write the files of a user's own runtime, so they are read with that
 * user's rights, if we are root: setfsuid, which affects only this thread.
 */
#define STATEFILE_BYTES_MAX (16 << 20) /* a larger one is refused */

static int names_read_all(int fd, struct strbuf *out)
{
	ssize_t got;

	strbuf_reset(out);
	do {
		if (!strbuf_reserve(out, 16 << 10))
			return -ENOMEM;
		got = read(fd, out->ptr + out->len, out->cap - out->len);
		if (got < 0)
			return -errno;
		out->len += (size_t)got;
		if (out->len > STATEFILE_BYTES_MAX)
			return -EFBIG;
	} while (got);
	return 0;
}

/*
 * statefile_read - read the regular file at @path; never reads or waits for a device or a pipe.
 *
 * Logs nothing. Return: 0, -EINVAL not a regular file, -EFBIG, -ENOMEM, or -errno of opening or reading it; the
 * caller releases @out in all cases.
 */
static int statefile_read(const char *path, struct strbuf *out)
{
	/* O_PATH only looks the file up: a device is not opened, a pipe does not block */
	int place = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	struct stat st;
	int err;
	int fd;

	if (place < 0)
		return -errno;
	err = fstat(place, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = err ? -1 : open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!err)
		err = fd < 0 ? -errno : names_read_all(fd, out);
	if (fd >= 0)
		close(fd);
	close(place);
	return err;
}

/* ---- names of cgroups; another runtime is another row of the table ---- */

enum id_kind {
	ID_HEX,       /* hex digits, at least as many as are printed; a prefix identifies it */
	ID_HEX_WHOLE, /* exactly 64 of them: no prefix identifies it */
	ID_NAME,      /* a name, with \x2d for - */
	ID_POD,       /* a uid, with _ for - */
};

/* The first row that matches the last component of a cgroup's path applies. */
static const struct layout {
	const char *runtime;
	const char *parent; /* glob of the component above; NULL: any */
	const char *glob;   /* glob of the last component */
	const char *before; /* the id follows this */
	const char *after;  /* and ends in front of this */
	enum id_kind kind;
} layouts[] = {
	/* systemd's cgroup driver: system.slice, machine.slice, kubepods-*.slice, user.slice/... */
	{ "docker", NULL, "docker-*.scope", "docker-", ".scope", ID_HEX },
	{ "containerd", NULL, "cri-containerd-*.scope", "cri-containerd-", ".scope", ID_HEX },
	{ "containerd", NULL, "nerdctl-*.scope", "nerdctl-", ".scope", ID_HEX },
	{ "cri-o", NULL, "crio-*.scope", "crio-", ".scope", ID_HEX },
	{ "podman", NULL, "libpod-*.scope", "libpod-", ".scope", ID_HEX },
	{ "pod", NULL, "*kubepods*-pod*.slice", "-pod", ".slice", ID_POD },
	{ "podman pod", NULL, "*-libpod_pod_*.slice", "-libpod_pod_", ".slice", ID_HEX },
	/* the cgroupfs driver */
	{ "docker", "docker", "*", "", "", ID_HEX },
	{ "kubernetes", "pod*-*-*-*-*", "*", "", "", ID_HEX },
	/* a static pod's uid is a hash */
	{ "kubernetes", "pod????????????????????????????????", "*", "", "", ID_HEX },
	{ "podman pod", "libpod_parent", "*", "", "", ID_HEX },
	{ "cri-o", NULL, "crio-*", "crio-", "", ID_HEX },
	{ "podman", NULL, "libpod-payload-*", "libpod-payload-", "", ID_HEX },
	{ "podman", NULL, "libpod-*", "libpod-", "", ID_HEX },
	{ "pod", "kubepods", "pod*", "pod", "", ID_POD },
	{ "pod", "burstable", "pod*", "pod", "", ID_POD },
	{ "pod", "besteffort", "pod*", "pod", "", ID_POD },
	/* engines that use names */
	{ "nspawn", NULL, "systemd-nspawn@*.service", "@", ".service", ID_NAME },
	{ "machine", NULL, "machine-*.scope", "machine-", ".scope", ID_NAME },
	{ "lxc", NULL, "lxc.payload.*", "lxc.payload.", "", ID_NAME },
	{ "lxc", "lxc", "[!.]*", "", "", ID_NAME },
	/* any other engine, also ctr and --cgroup-parent */
	{ "container", NULL, "*", "", "", ID_HEX_WHOLE },
};

size_t container_hex_len(const char *text)
{
	return strspn(text, "0123456789abcdef");
}

bool container_is_id(const char *name)
{
	size_t len = container_hex_len(name);

	return len >= CONTAINER_ID_SHORT && !name[len];
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* systemd writes \x2d for - in the names of units. */
static void unit_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] == 'x' && hex_digit(from[2]) >= 0 &&
		    hex_digit(from[3]) >= 0 && (from[2] != '0' || from[3] != '0')) {
			*to++ = (char)(hex_digit(from[2]) << 4 | hex_digit(from[3]));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool layout_fits(const struct layout *layout, const char *parent, const char *last,
			char *name)
{
	const char *start;
	size_t len;

	if (layout->parent && !glob_match(layout->parent, parent))
		return false;
	if (!glob_match(layout->glob, last))
		return false;
	start = strstr(last, layout->before);
	if (!start)
		return false;
	start += strlen(layout->before);
	len = strlen(start);
	if (len < strlen(layout->after) || len >= CONTAINER_NAME_MAX)
		return false;
	len -= strlen(layout->after);
	memcpy(name, start, len);
	name[len] = '\0';
	switch (layout->kind) {
	case ID_HEX:
		return container_is_id(name);
	case ID_HEX_WHOLE:
		return container_hex_len(name) == 64 && !name[64];
	case ID_POD:
		for (char *at = name; *at; at++)
			*at = *at == '_' ? '-' : *at;
		break;
	case ID_NAME:
		unit_unescape(name);
		break;
	}
	return name[0];
}

const char *container_parse(const char *path, char *name)
{
	const char *last = strrchr(path, '/');
	char parent[CONTAINER_NAME_MAX] = "";
	const char *above = last;
	size_t len;

	if (!last)
		return NULL;
	while (above > path && above[-1] != '/')
		above--;
	len = (size_t)(last - above);
	if (len < sizeof(parent)) {
		memcpy(parent, above, len);
		parent[len] = '\0';
	}
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layout_fits(&layouts[i], parent, last + 1, name))
			return layouts[i].runtime;
	}
	return NULL;
}

/* Limits for a book: it may belong to any user, who can link a thousand names to one large file. */
#define PAGES_MAX      65536
#define BOOK_BYTES_MAX (4 * STATEFILE_BYTES_MAX)

/* A container that has no state file of its own. */
struct container_page {
	char id[CONTAINER_NAME_MAX];
	struct container_label label;
};

static bool names_is_known(const struct container_label *label)
{
	return label->name[0] || label->pod[0];
}

/* ---- contents of the files ---- */

/* Return: the file's content; empty if it cannot be read, logged with -v unless it does not exist. */
static struct text file_text(struct container_names *names, const char *path)
{
	int err;

	strbuf_reset(&names->file);
	err = statefile_read(path, &names->file);
	names->read_bytes += names->file.len;
	if (!err)
		return (struct text){ names->file.ptr, names->file.len };
	if (err == -ENOMEM)
		names->failed = true;
	else if (err != -ENOENT && err != -ENOTDIR)
		log_info("names of containers in '%s' are not used: %s", path, strerror(-err));
	return (struct text){ 0 };
}

/* "k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT"; none of the parts has a _. The container "POD" only holds namespaces. */
static bool label_kubernetes(struct container_label *label, const char *text)
{
	char parts[3][CONTAINER_NAME_MAX];

	if (sscanf(text, "k8s_%255[^_]_%255[^_]_%255[^_]_", parts[0], parts[1], parts[2]) != 3)
		return false;
	if (strcmp(parts[0], "POD"))
		strcpy(label->name, parts[0]);
	strcpy(label->pod, parts[1]);
	strcpy(label->namespace, parts[2]);
	return true;
}

/* The first of two members that exists. */
static void label_part(struct text object, const char *key, const char *other_key, char *part)
{
	if (!json_string(json_member(object, key), part, CONTAINER_NAME_MAX))
		json_string(json_member(object, other_key), part, CONTAINER_NAME_MAX);
}

/* From the config.json that containerd, nerdctl and CRI-O write for runc. */
static void label_bundle(struct container_label *label, struct text file)
{
	struct text notes = json_member(file, "annotations");

	label_part(notes, "io.kubernetes.cri.container-name", "io.kubernetes.container.name",
		   label->name);
	label_part(notes, "io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name", label->pod);
	label_part(notes, "io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace",
		   label->namespace);
	if (!label->pod[0])
		json_string(json_member(notes, "nerdctl/name"), label->name, sizeof(label->name));
	else if (!strcmp(label->name, "POD"))
		label->name[0] = '\0';
}

/* ---- files for one id ---- */

__attribute__((format(printf, 2, 3))) static bool path_print(char path[PATH_MAX], const char *fmt,
							     ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(path, PATH_MAX, fmt, args);
	va_end(args);
	return len < PATH_MAX;
}

static const char *state_of(const struct cgroup_host *host)
{
	return host->state ? host->state : "";
}

/* The data root of docker's daemon, which daemon.json may set. */
static const char *docker_root(struct container_names *names)
{
	const char *state = state_of(names->host);
	char path[PATH_MAX];
	char root[PATH_MAX];
	struct text file;

	if (names->data_root[0])
		return names->data_root;
	if (!path_print(path, "%s/etc/docker/daemon.json", state))
		return "";
	file = file_text(names, path);
	if (!json_string(json_member(file, "data-root"), root, sizeof(root)) || root[0] != '/')
		strcpy(root, "/var/lib/docker");
	if (!path_print(names->data_root, "%s%s", state, root))
		names->data_root[0] = '\0';
	return names->data_root;
}

static void find_docker(struct container_names *names, const char *root, const char *id,
			struct container_label *label)
{
	char path[PATH_MAX];
	char text[CONTAINER_NAME_MAX];
	const char *name = text;

	if (!path_print(path, "%s/containers/%s/config.v2.json", root, id) ||
	    !json_string(json_member(file_text(names, path), "Name"), text, sizeof(text)))
		return;
	if (name[0] == '/')
		name++;
	label->runtime = "docker";
	if (!label_kubernetes(label, name))
		strcpy(label->name, name);
}

static const struct bundle {
	const char *runtime;
	const char *place; /* the id goes between these */
	const char *file;
} bundles[] = {
	{ "containerd", "/run/containerd/io.containerd.runtime.v2.task/*", "config.json" },
	{ "containerd", "/run/k3s/containerd/io.containerd.runtime.v2.task/*", "config.json" },
	{ "cri-o", "/run/containers/storage/*-containers", "userdata/config.json" },
};

static void find_bundle(struct container_names *names, const struct bundle *bundle, const char *id,
			struct container_label *label)
{
	char pattern[PATH_MAX];
	glob_t found = { 0 };

	if (path_print(pattern, "%s%s/%s/%s", state_of(names->host), bundle->place, id,
		       bundle->file) &&
	    !glob(pattern, GLOB_NOSORT, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc && !names_is_known(label); i++)
			label_bundle(label, file_text(names, found.gl_pathv[i]));
		if (names_is_known(label))
			label->runtime = bundle->runtime;
	}
	globfree(&found);
}

/* ---- books: files for many ids ---- */

static void page_add(struct container_names *names, struct container_book *book, const char *id,
		     const struct container_label *label)
{
	if (book->cnt >= PAGES_MAX || !container_is_id(id) || strlen(id) >= CONTAINER_NAME_MAX ||
	    !names_is_known(label))
		return;
	if (VEC_RESERVE(book->pages, book->cap, book->cnt + 1)) {
		names->failed = true;
		return;
	}
	strcpy(book->pages[book->cnt].id, id);
	book->pages[book->cnt++].label = *label;
}

/* containers.json of containers/storage: [{"id": ..., "names": [...]}, ...], of podman and CRI-O. */
static void read_storage(struct container_names *names, struct container_book *book,
			 const char *path)
{
	struct text list = file_text(names, path);
	struct text container;

	for (size_t at = 0; json_element(list, &at, &container);) {
		struct container_label label = { 0 };
		char id[CONTAINER_NAME_MAX];
		struct text first = { 0 };
		size_t name_at = 0;

		json_string(json_member(container, "id"), id, sizeof(id));
		json_element(json_member(container, "names"), &name_at, &first);
		json_string(first, label.name, sizeof(label.name));
		if (label_kubernetes(&label, label.name))
			label.runtime = "cri-o";
		page_add(names, book, id, &label);
	}
}

/* A nerdctl file has the name of its container, and contains its id. */
static void read_nerdctl(struct container_names *names, struct container_book *book,
			 const char *path)
{
	struct container_label label = { .runtime = "containerd" };
	struct text id = file_text(names, path);
	char whole[CONTAINER_NAME_MAX];

	if (id.len >= sizeof(whole))
		return;
	snprintf(whole, sizeof(whole), "%.*s", (int)id.len, id.len ? id.ptr : "");
	snprintf(label.name, sizeof(label.name), "%s", strrchr(path, '/') + 1);
	page_add(names, book, whole, &label);
}

/* The kubelet's links: POD_NAMESPACE_CONTAINER-ID.log. */
static void read_log(struct container_names *names, struct container_book *book, const char *path)
{
	struct container_label label = { 0 };
	char id[CONTAINER_NAME_MAX] = "";
	char *dash;

	if (sscanf(strrchr(path, '/') + 1, "%255[^_]_%255[^_]_%255[^_.]", label.pod,
		   label.namespace, label.name) != 3)
		return;
	dash = strrchr(label.name, '-');
	if (!dash)
		return;
	*dash = '\0';
	strcpy(id, dash + 1);
	page_add(names, book, id, &label);
}

/* Whether the bytes of @file before @at are @part. */
static bool is_before(struct text file, size_t at, const char *part)
{
	size_t len = strlen(part);

	return at >= len && !memcmp(file.ptr + at - len, part, len);
}

/*
 * podman's database, the only source for the names of its pods, a BoltDB or SQLite file: a page for each pod. Both keep
 * a pod's configuration as JSON, whose start is in one piece: this searches for it and does not interpret the pages of
 * the database. A pod never changes its name, so a page that is no longer in use has the same name as the current one.
 */
static void read_podman(struct container_names *names, struct container_book *book,
			const char *path)
{
	static const char before_id[] = "{\"id\":\"";
	const size_t before_len = sizeof(before_id) - 1;
	struct text file = file_text(names, path);
	const char *brace;

	for (size_t at = 0; at < file.len; at++) {
		char start[2 * CONTAINER_NAME_MAX];
		char id[CONTAINER_NAME_MAX];
		struct container_label label = { 0 };
		int len = 0;

		brace = memchr(file.ptr + at, '{', file.len - at);
		if (!brace)
			return;
		at = (size_t)(brace - file.ptr);
		if (file.len - at < before_len || memcmp(brace, before_id, before_len))
			continue;
		snprintf(start, sizeof(start), "%.*s",
			 (int)(file.len - at < sizeof(start) ? file.len - at : sizeof(start)),
			 brace);
		sscanf(start, "{\"id\":\"%64[0-9a-f]\",\"name\":\"%255[-_.0-9A-Za-z]\"%n", id,
		       label.pod, &len);
		if (!len || strlen(id) != 64)
			continue;
		/*
		 * In BoltDB the key, "config", precedes the value; in SQLite the columns ID and Name precede the column
		 * JSON. Text that looks like a configuration inside another one, such as in the labels of a container,
		 * has neither.
		 */
		if (is_before(file, at, "config") ||
		    (is_before(file, at, label.pod) && is_before(file, at - strlen(label.pod), id)))
			page_add(names, book, id, &label);
	}
}

static const struct {
	bool is_users; /* below a user's home, else below / */
	const char *pattern;
	void (*read)(struct container_names *names, struct container_book *book, const char *path);
} book_files[] = {
	{ true, "/.local/share/containers/storage/*-containers/*containers.json", read_storage },
	/* podman's, SQLite since 4.8, BoltDB before */
	{ true, "/.local/share/containers/storage/db.sql", read_podman },
	{ true, "/.local/share/containers/storage/libpod/db.sql", read_podman },
	{ true, "/.local/share/containers/storage/libpod/bolt_state.db", read_podman },
	{ true, "/.local/share/nerdctl/*/names/*/*", read_nerdctl },
	{ false, "/var/lib/containers/storage/*-containers/*containers.json", read_storage },
	{ false, "/run/containers/storage/*-containers/*containers.json", read_storage },
	{ false, "/var/lib/containers/storage/db.sql", read_podman },
	{ false, "/var/lib/containers/storage/libpod/db.sql", read_podman },
	{ false, "/var/lib/containers/storage/libpod/bolt_state.db", read_podman },
	{ false, "/run/containers/storage/db.sql", read_podman },
	{ false, "/run/containers/storage/libpod/db.sql", read_podman },
	{ false, "/run/containers/storage/libpod/bolt_state.db", read_podman },
	{ false, "/var/lib/nerdctl/*/names/*/*", read_nerdctl },
	{ false, "/var/log/containers/*.log", read_log },
};

static void book_read(struct container_names *names, struct container_book *book)
{
	const char *root = book->uid ? book->home : state_of(names->host);

	for (size_t i = 0; i < ARRAY_SIZE(book_files); i++) {
		char path[PATH_MAX];
		glob_t found = { 0 };
		bool is_found;

		if (book_files[i].is_users != (book->uid != 0) ||
		    !path_print(path, "%s%s", root, book_files[i].pattern))
			continue;
		is_found = !glob(path, 0, NULL, &found);
		for (size_t k = 0; is_found && k < found.gl_pathc && book->cnt < PAGES_MAX; k++) {
			if (names->read_bytes > BOOK_BYTES_MAX) {
				log_info(
					"names of containers in '%s' and later files are not used: "
					"more than %u MiB",
					found.gl_pathv[k], BOOK_BYTES_MAX >> 20);
				break;
			}
			book_files[i].read(names, book, found.gl_pathv[k]);
		}
		globfree(&found);
	}
}

static bool home_of(uint32_t uid, char *home, size_t size)
{
	const struct passwd *user = getpwuid(uid);

	return user && user->pw_dir[0] == '/' &&
	       snprintf(home, size, "%s", user->pw_dir) < (int)size;
}

/* Return: NULL if out of memory. */
static struct container_book *book_of(struct container_names *names, uint32_t uid)
{
	struct container_book *book;
	uint32_t before;

	for (size_t i = 0; i < names->cnt; i++) {
		if (names->books[i].uid == uid)
			return &names->books[i];
	}
	if (VEC_RESERVE(names->books, names->cap, names->cnt + 1)) {
		names->failed = true;
		return NULL;
	}
	book = &names->books[names->cnt++];
	*book = (struct container_book){ .uid = uid };
	if (uid)
		book->has_home =
			(names->host->home_of ? names->host->home_of : home_of)(uid, book->home,
										sizeof(book->home));
	before = (uint32_t)setfsuid(uid ? uid : geteuid());
	names->read_bytes = 0;
	if (!uid || book->has_home)
		book_read(names, book);
	setfsuid(before);
	return book;
}

/* ---- the answer ---- */

/* The user whose runtime made the cgroup: "/user.slice/user-1000.slice/..." is user 1000's. */
static uint32_t names_owner_of(const char *path)
{
	unsigned int uid;
	int len = 0;

	if (sscanf(path, "/user.slice/user-%u.slice/%n", &uid, &len) == 1 && len)
		return uid;
	return 0;
}

/* Take what the book says of the id, unless something is known already. */
static void find_page(const struct container_book *book, const char *id,
		      struct container_label *label)
{
	for (size_t i = 0; i < book->cnt && !names_is_known(label); i++) {
		if (!strcmp(book->pages[i].id, id))
			*label = book->pages[i].label;
	}
}

void container_names_find(struct container_names *names, const char *path, const char *id,
			  struct container_label *label)
{
	uint32_t uid = names_owner_of(path);
	const struct container_book *book = book_of(names, uid);
	char root[PATH_MAX];

	if (!book || !container_is_id(id)) /* others choose the names of their cgroups */
		return;
	if (!uid) {
		find_docker(names, docker_root(names), id, label);
		for (size_t i = 0; i < ARRAY_SIZE(bundles) && !names_is_known(label); i++)
			find_bundle(names, &bundles[i], id, label);
	} else if (book->has_home && path_print(root, "%s/.local/share/docker", book->home)) {
		uint32_t before = (uint32_t)setfsuid(uid);

		find_docker(names, root, id, label);
		setfsuid(before);
	}
	find_page(book, id, label);
}

/* The kubelet's directories: NAMESPACE_POD_UID. */
static void find_kubelet(struct container_names *names, const char *uid,
			 struct container_label *label)
{
	char pattern[PATH_MAX];
	glob_t found = { 0 };

	if (uid[strspn(uid, "0123456789abcdef-")] ||
	    !path_print(pattern, "%s/var/log/pods/*_*_%s", state_of(names->host), uid))
		return;
	if (!glob(pattern, 0, NULL, &found) &&
	    sscanf(strrchr(found.gl_pathv[0], '/') + 1, "%255[^_]_%255[^_]_", label->namespace,
		   label->pod) != 2)
		label->namespace[0] = label->pod[0] = '\0';
	globfree(&found);
}

void container_names_pod(struct container_names *names, const char *path, const char *uid,
			 struct container_label *label)
{
	uint32_t owner = names_owner_of(path);
	const struct container_book *book;

	if (!owner)
		find_kubelet(names, uid, label);
	if (names_is_known(label) || !container_is_id(uid))
		return;
	book = book_of(names, owner);
	if (book)
		find_page(book, uid, label);
}

const char *container_names_denied(const struct cgroup_host *host)
{
	static const char *const dirs[] = {
		"/var/lib/docker/containers",
		"/run/containerd/io.containerd.runtime.v2.task",
		"/run/k3s/containerd/io.containerd.runtime.v2.task",
		"/var/lib/containers/storage",
		"/var/lib/nerdctl",
	};
	static char path[PATH_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (path_print(path, "%s%s", state_of(host), dirs[i]) &&
		    euidaccess(path, R_OK | X_OK) && errno == EACCES)
			return path;
	}
	return NULL;
}

void container_names_release(struct container_names *names)
{
	for (size_t i = 0; i < names->cnt; i++)
		free(names->books[i].pages);
	free(names->books);
	strbuf_release(&names->file);
	names->books = NULL;
	names->cnt = names->cap = 0;
}
