/*
 * What /proc and names of cgroups say, and what is asked for: a made-up host of a few files. The input is cut at
 * zero bytes: the name that is asked for, mountinfo, a process's cgroup file, its stat, its comm.
 */
#include "madehost.h"
#include "scope/container.h"
#include "base/host.h"
#include "scope/netns.h"
#include "scope/terminal.h"

static int inum_of(const char *path, uint32_t *inum)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	*inum = (uint32_t)st.st_ino;
	return 0;
}

static void write_file(const char *name, const char *text, size_t len)
{
	FILE *file = fopen(place(name), "we");

	CHECK(file && fwrite(text, 1, len, file) == len && !fclose(file));
}

/* Files that every input writes, open from the first one on. */
static const char *const files[] = { "proc/self/mountinfo", "proc/7/cgroup", "proc/7/stat",
				     "proc/7/comm" };

#define FILE_CNT (sizeof(files) / sizeof(files[0]))

static int fds[FILE_CNT];

static void make_host(void)
{
	static const char *const dirs[] = {
		"proc",
		"proc/self",
		"proc/7",
		"proc/7/ns",
		"proc/7/fd",
		"run",
		"tree",
		"tree/system.slice",
		"tree/system.slice/docker-3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a.scope",
		"tree/system.slice/nginx.service",
		"tree/lxc.payload.web"
	};

	make_base();
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		CHECK(!mkdir(place(dirs[i]), 0755));
	write_file("proc/7/ns/net", "", 0);
	write_file("run/web", "", 0);
	write_file("tree/cgroup.procs", "1\n7\n", 4);
	write_file("tree/cgroup.threads", "1\n7\n", 4);
	for (size_t i = 0; i < FILE_CNT; i++) {
		fds[i] = open(place(files[i]), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		CHECK(fds[i] >= 0);
	}
}

/* The next part of the input, as a string; empty when there is no more. */
static const char *take_part(char **rest, const char *end)
{
	const char *part = *rest;

	*rest += strlen(part);
	if (*rest < end)
		++*rest;
	return part;
}

static void check_names(const struct cgroup_host *host, const char *name)
{
	char box_name[CONTAINER_NAME_MAX];
	struct netns_host netns;
	struct container box;
	struct cgroup cg;
	uint32_t inum;

	if (container_parse(name, box_name))
		CHECK(strnlen(box_name, sizeof(box_name)) < sizeof(box_name));
	if (!cgroup_resolve(host, name, &cg))
		cgroup_release(&cg);
	if (!container_resolve(host, name, false, &box))
		container_release(&box);
	if (!container_resolve(host, name, true, &box))
		container_release(&box);
	netns_host_init(&netns);
	snprintf(netns.proc, sizeof(netns.proc), "%s/proc", base);
	snprintf(netns.run, sizeof(netns.run), "%s/run", base);
	netns.inum_of = inum_of;
	netns_resolve(&netns, name, &inum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = fuzz_string(data, len);
	char *rest = text;
	const char *name = take_part(&rest, text + len);
	struct cgroup_host host;
	struct terminal term;
	char proc[80];

	if (!*base)
		make_host();
	for (size_t i = 0; i < FILE_CNT; i++) {
		const char *part = take_part(&rest, text + len);
		size_t part_len = strlen(part);

		CHECK(!ftruncate(fds[i], 0));
		CHECK(pwrite(fds[i], part, part_len, 0) == (ssize_t)part_len);
	}
	snprintf(proc, sizeof(proc), "%s/proc", base);
	if (cgroup_host_find(&host, proc, is_any))
		cgroup_explain_lack(&host);
	/* what was found is not where the tree is */
	snprintf(host.root, sizeof(host.root), "%s/tree", base);
	host.lack = NULL;
	host.state = base;
	check_names(&host, name);
	terminal_find(&term, proc, 7);
	free(text);
	return 0;
}
