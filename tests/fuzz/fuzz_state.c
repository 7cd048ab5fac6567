/*
 * State files of container runtimes, on a made-up host: any content is read to its end and no further, and what comes
 * of it is a container's name or nothing. The input is cut at zero bytes: what is asked for, docker's config.v2.json,
 * a bundle's config.json, containers.json, nerdctl's file. podman's database is the whole input.
 */
#include "madehost.h"
#include "base/json.h"
#include "scope/container.h"
#include "session/verb_list.h"

#define ID      "3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a"
#define ID_TASK "beef00000000000000000000000000000000000000000000000000000000cafe"
#define UID     "0a1b2c3d-1111-2222-3333-444455556666"
#define TASKS   "run/containerd/io.containerd.runtime.v2.task/k8s.io/"

static const char *const files[] = {
	"var/lib/docker/containers/" ID "/config.v2.json",
	TASKS ID_TASK "/config.json",
	"var/lib/containers/storage/overlay-containers/containers.json",
	"var/lib/nerdctl/1935db59/names/default/db",
};

#define FILE_CNT (sizeof(files) / sizeof(files[0]))

static int fds[FILE_CNT];
static int podman_fd;

static void make_dirs(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s", place(name));
	for (char *at = path + strlen(base) + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
}

static int make_file(const char *name)
{
	int fd;

	make_dirs(name);
	fd = open(place(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	return fd;
}

static void make_host(void)
{
	make_base();
	make_dirs("proc/");
	make_dirs("tree/docker/" ID "/");
	make_dirs("tree/kubepods/pod" UID "/" ID_TASK "/");
	make_dirs("tree/machine.slice/libpod-" ID ".scope/");
	for (size_t i = 0; i < FILE_CNT; i++)
		fds[i] = make_file(files[i]);
	podman_fd = make_file("var/lib/containers/storage/db.sql");
}

/* Values stay inside of the document, and strings inside of their buffer. */
static void check_json(struct text doc)
{
	struct text member = json_member(doc, "Name");
	struct text value;
	char out[8];

	CHECK(!member.len ||
	      (member.ptr >= doc.ptr && member.ptr + member.len <= doc.ptr + doc.len));
	json_string(member, out, sizeof(out));
	CHECK(strnlen(out, sizeof(out)) < sizeof(out));
	for (size_t at = 0; json_element(doc, &at, &value);)
		CHECK(value.len && at <= doc.len && value.ptr + value.len == doc.ptr + at);
}

static void check_table(const struct cgroup_host *host)
{
	struct container_set set;
	struct strbuf out = { 0 };

	CHECK(!container_set_read(host, &set));
	CHECK(set.cnt == 5); /* with the pod, and machine.slice */
	containers_put(&(struct tablew){ .out = &out }, &set);
	for (size_t i = 0, lines = 0; i < out.len; i++) {
		lines += out.ptr[i] == '\n';
		CHECK(out.ptr[i] == '\n' || (unsigned char)out.ptr[i] >= ' ');
		CHECK(lines <= set.cnt + 1);
	}
	containers_put(&(struct tablew){ .out = &out, .form = TABLE_ARRAY }, &set);
	CHECK(strbuf_ok(&out));
	strbuf_release(&out);
	container_set_release(&set);
}

/* Each goes through all files, which takes a system call for each of their folders: one of them for an input. */
static void check_names(const struct cgroup_host *host, const char *name)
{
	struct container box;

	switch (strlen(name) % 3) {
	case 0:
		check_table(host);
		return;
	case 1:
		if (!container_resolve(host, name, false, &box))
			container_release(&box);
		return;
	default:
		if (!container_resolve(host, name, true, &box))
			container_release(&box);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = fuzz_string(data, len);
	const char *at = text + strlen(text);
	struct cgroup_host host = { .is_cgroup2 = is_any };

	if (!*base)
		make_host();
	check_json((struct text){ text, len });
	CHECK(!ftruncate(podman_fd, 0));
	CHECK(pwrite(podman_fd, data, len, 0) == (ssize_t)len);
	for (size_t i = 0; i < FILE_CNT; i++) {
		size_t part_len;

		at += at < text + len;
		part_len = strlen(at);
		CHECK(!ftruncate(fds[i], 0));
		CHECK(pwrite(fds[i], at, part_len, 0) == (ssize_t)part_len);
		at += part_len;
	}
	snprintf(host.proc, sizeof(host.proc), "%s/proc", base);
	snprintf(host.root, sizeof(host.root), "%s/tree", base);
	host.state = base;
	check_names(&host, text);
	free(text);
	return 0;
}
