/* cgroups, containers and network namespaces by name, against trees made up in a directory. */
#include "scope/container.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "harness.h"
#include "scope/netns.h"

#define ID_A "3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a"
#define ID_B "3f2a77aa00112233445566778899aabbccddeeff00112233445566778899aabb"
#define ID_C "beef00000000000000000000000000000000000000000000000000000000cafe"

static char base[64];
static char tree[80];
static char proc[80];
static char run[80];
static char said[16384];
static struct cgroup_host host;

/* ---- the made-up host ---- */

__attribute__((format(printf, 1, 2))) static const char *text_of(const char *fmt, ...)
{
	static char texts[4][PATH_MAX];
	static unsigned int turn;
	char *text = texts[turn++ % 4];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, PATH_MAX, fmt, args);
	va_end(args);
	return text;
}

static void dirs_make(const char *full)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", full);
	for (char *at = path + 1; *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(path, 0755);
		*at = '/';
	}
	CHECK(!mkdir(path, 0755) || errno == EEXIST);
}

static void file_make(const char *full, const char *content)
{
	char dir[PATH_MAX];
	FILE *file;

	snprintf(dir, sizeof(dir), "%s", full);
	*strrchr(dir, '/') = '\0';
	dirs_make(dir);
	file = fopen(full, "we");
	CHECK(file);
	fputs(content, file);
	CHECK(!fclose(file));
}

static void cgroup_make(const char *path, const char *pids)
{
	file_make(text_of("%s%s/cgroup.procs", tree, path), pids);
	file_make(text_of("%s%s/cgroup.threads", tree, path), pids);
}

static void process_make(unsigned int pid, const char *comm, const char *cgroups)
{
	file_make(text_of("%s/%u/comm", proc, pid), text_of("%s\n", comm));
	file_make(text_of("%s/%u/cgroup", proc, pid), cgroups);
}

static bool fake_is_cgroup2(const char *path)
{
	return !strncmp(path, tree, strlen(tree));
}

static void base_remove(void)
{
	if (system(text_of("rm -rf '%s'", base)))
		printf("  %s is left behind\n", base);
}

static void mountinfo_make(const char *content)
{
	file_make(text_of("%s/self/mountinfo", proc), content);
}

static void host_make(void)
{
	char dir[] = "/tmp/nfg-container-XXXXXX";

	CHECK(mkdtemp(dir));
	CHECK(realpath(dir, base));
	atexit(base_remove);
	snprintf(tree, sizeof(tree), "%s/cg", base);
	snprintf(proc, sizeof(proc), "%s/proc", base);
	snprintf(run, sizeof(run), "%s/netns", base);
	dirs_make(tree);
	dirs_make(run);
	mountinfo_make(text_of("23 1 0:21 / /proc rw - proc proc rw\n"
			       "31 23 0:28 / %s rw,relatime shared:4 - cgroup2 cgroup2 rw\n",
			       tree));
	CHECK(!cgroup_host_find(&host, proc, fake_is_cgroup2));
}

static int saved_stderr;

static void listen_begin(void)
{
	fflush(stderr);
	saved_stderr = dup(STDERR_FILENO);
	CHECK(freopen(text_of("%s/said", base), "w+", stderr));
}

static void listen_end(void)
{
	size_t len;

	fflush(stderr);
	rewind(stderr);
	len = fread(said, 1, sizeof(said) - 1, stderr);
	said[len] = '\0';
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
}

#define SAYS(part)                                                                  \
	do {                                                                        \
		if (!strstr(said, part)) {                                          \
			printf("  %s:%d: said \"%s\"\n", __FILE__, __LINE__, said); \
			fflush(stdout);                                             \
			_exit(1);                                                   \
		}                                                                   \
	} while (0)

/* One line that names what is wrong, one hint. */
static void check_form(void)
{
	const char *line = strchr(said, '\n');

	SAYS("netfgraph: ");
	CHECK(line);
	if (strncmp(line + 1, "hint: ", 6) || !strchr(line + 1, '\n') ||
	    strchr(line + 1, '\n')[1]) {
		printf("  said \"%s\"\n", said);
		CHECK(!"an error and a hint");
	}
}

static int cgroup_ask(const char *text, struct cgroup *cg)
{
	int err;

	listen_begin();
	err = cgroup_resolve(&host, text, cg);
	listen_end();
	if (err)
		check_form();
	else
		CHECK_STR(said, "");
	return err;
}

static int container_ask(const char *text, struct container *box)
{
	int err;

	listen_begin();
	err = container_resolve(&host, text, box);
	listen_end();
	if (err)
		check_form();
	else
		CHECK_STR(said, "");
	return err;
}

static void check_cgroup(const char *text, const char *path)
{
	struct cgroup cg;
	struct stat st;

	if (cgroup_ask(text, &cg)) {
		printf("  %s: %s", text, said);
		CHECK(!"resolves");
	}
	CHECK_STR(cg.path, path);
	CHECK(!fstat(cg.fd, &st) && st.st_ino == cg.id);
	cgroup_release(&cg);
	CHECK(cg.fd == -1);
}

static void check_container(const char *text, const char *runtime, const char *name,
			    const char *path)
{
	struct container box;

	if (container_ask(text, &box)) {
		printf("  %s: %s", text, said);
		CHECK(!"resolves");
	}
	CHECK_STR(box.runtime, runtime);
	CHECK_STR(box.name, name);
	CHECK(box.cnt == 1);
	CHECK_STR(box.cgroups[0].path, path);
	container_release(&box);
}

/* ---- where the tree is ---- */

static int find_with(const char *mountinfo)
{
	mountinfo_make(mountinfo);
	return cgroup_host_find(&host, proc, fake_is_cgroup2);
}

TEST(root_is_found_in_mountinfo)
{
	host_make();
	CHECK_STR(host.root, tree);
	CHECK(!host.is_hybrid && !host.is_namespaced && !host.lack);

	/* hybrid */
	CHECK(!find_with(
		text_of("33 31 0:30 / /x/cpu rw - cgroup cgroup rw,cpu\n"
			"41 31 0:38 / %s/unified rw shared:7 master:1 - cgroup2 cgroup2 rw\n",
			tree)));
	CHECK_STR(host.root, text_of("%s/unified", tree));
	CHECK(host.is_hybrid && !host.is_namespaced);

	/* a part of it mounted elsewhere does not count while the whole is there; blanks */
	CHECK(!find_with(text_of("40 31 0:38 /web %s/part rw - cgroup2 cgroup2 rw\n"
				 "41 31 0:38 / %s/a\\040b rw - cgroup2 cgroup2 rw\n"
				 "42 31 0:38 / %s/again rw - cgroup2 cgroup2 rw\n",
				 tree, tree, tree)));
	CHECK_STR(host.root, text_of("%s/a b", tree));
	CHECK(!find_with(text_of("40 31 0:38 /web %s/part rw - cgroup2 cgroup2 rw\n", tree)));
	CHECK(host.is_namespaced);

	/* something is mounted over the first */
	CHECK(!find_with(text_of("40 31 0:38 / /hidden rw - cgroup2 cgroup2 rw\n"
				 "41 31 0:38 / %s rw - cgroup2 cgroup2 rw\n",
				 tree)));
	CHECK_STR(host.root, tree);
}

TEST(namespaced_root_has_a_type)
{
	host_make();
	file_make(text_of("%s/cgroup.type", tree), "domain\n");
	CHECK(!cgroup_host_find(&host, proc, fake_is_cgroup2));
	CHECK(host.is_namespaced);
}

TEST(v1_only_is_said)
{
	struct container box;
	struct cgroup cg;

	host_make();
	CHECK(find_with("33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n") == -ENOTSUP);
	CHECK(cgroup_ask("web", &cg) == -ENOTSUP);
	SAYS("this host has cgroup v1 only");
	SAYS("-p PID");
	SAYS("--netns");
	CHECK(container_ask("web", &box) == -ENOTSUP);
	SAYS("this host has cgroup v1 only");
	process_make(77, "nginx", "4:memory:/docker/" ID_A "\n0::/\n");
	CHECK(container_ask("3f2a", &box) == -ENOTSUP);
	SAYS("container '3f2a' is in cgroup v1 only");
	SAYS("--netns 77");
}

TEST(no_cgroups_at_all_is_said)
{
	struct cgroup cg;

	host_make();
	CHECK(find_with("23 1 0:21 / /proc rw - proc proc rw\nnonsense\n\n - \n") == -ENOTSUP);
	CHECK(cgroup_ask("web", &cg) == -ENOTSUP);
	SAYS("no cgroup v2 file system is mounted");
	CHECK(cgroup_host_find(&host, text_of("%s/none", base), NULL) == -ENOENT);
	CHECK(host.lack);
}

/* ---- cgroups ---- */

TEST(paths_of_all_forms)
{
	struct cgroup cg;

	host_make();
	cgroup_make("/web", "");
	cgroup_make("/system.slice/x.service", "");
	cgroup_make("/123", "");
	check_cgroup("web", "/web");
	check_cgroup("/web", "/web");
	check_cgroup("/web/", "/web");
	check_cgroup("./web", "/web");
	check_cgroup(text_of("%s/web", tree), "/web");
	check_cgroup(text_of("%s/system.slice//x.service/", tree), "/system.slice/x.service");
	check_cgroup("system.slice/x.service", "/system.slice/x.service");
	check_cgroup("system.slice/../web", "/web");
	check_cgroup("/", "/");
	check_cgroup(tree, "/");
	check_cgroup("/123", "/123");
	CHECK(!cgroup_ask("system.slice/x.service", &cg) && cg.level == 2);
	cgroup_release(&cg);
	CHECK(!cgroup_ask("/", &cg) && cg.level == 0);
	cgroup_release(&cg);
}

TEST(ids_are_inodes)
{
	struct cgroup cg;
	struct stat st;

	host_make();
	cgroup_make("/system.slice/x.service/inner", "");
	cgroup_make("/123456789012", "");
	CHECK(!stat(text_of("%s/system.slice/x.service/inner", tree), &st));
	check_cgroup(text_of("%llu", (unsigned long long)st.st_ino),
		     "/system.slice/x.service/inner");
	CHECK(!stat(tree, &st));
	check_cgroup(text_of("%llu", (unsigned long long)st.st_ino), "/");
	CHECK(cgroup_ask("99999999999999999", &cg) == -ENOENT);
	SAYS("no cgroup has the id 99999999999999999");
	CHECK(cgroup_ask("99999999999999999999999", &cg) == -ENOENT);
	CHECK(cgroup_ask("0", &cg) == -ENOENT);
	CHECK(cgroup_ask("123456789012", &cg) == -ENOENT);
	SAYS("hint: write /123456789012 for the cgroup of that name");
	process_make(4, "x", "4:memory:/a\n0::/system.slice/x.service\n");
	CHECK(cgroup_ask("4", &cg) == -ENOENT);
	SAYS("hint: 4 is a process in the cgroup /system.slice/x.service; -p 4");
}

TEST(bad_paths_are_explained)
{
	struct cgroup cg;

	host_make();
	cgroup_make("/system.slice/nginx.service", "");
	cgroup_make("/system.slice/ssh.service", "");
	CHECK(cgroup_ask("", &cg) == -EINVAL);
	CHECK(cgroup_ask("system.slice/ngin.service", &cg) == -ENOENT);
	SAYS("netfgraph: no cgroup 'system.slice/ngin.service'\n");
	SAYS("hint: below /system.slice there are: nginx.service, ssh.service\n");
	CHECK(cgroup_ask("sshd.slice/a/b", &cg) == -ENOENT);
	SAYS("hint: below / there are: system.slice\n");
	CHECK(cgroup_ask("nginx.service", &cg) == -ENOENT);
	SAYS("hint: there is /system.slice/nginx.service\n");
	CHECK(cgroup_ask("system.slice/ssh.service/x", &cg) == -ENOENT);
	SAYS("/system.slice/ssh.service has no cgroups below it");
	CHECK(cgroup_ask("system.slice/ssh.service/cgroup.procs", &cg) == -ENOTDIR);
	SAYS("cgroups are directories");
	CHECK(cgroup_ask("/etc", &cg) == -EMEDIUMTYPE);
	SAYS("'/etc' is not in the cgroup v2 tree");
	CHECK(cgroup_ask("../proc", &cg) == -EMEDIUMTYPE);
	CHECK(cgroup_ask("/no/such/path", &cg) == -ENOENT);
}

TEST(long_names_do_no_harm)
{
	struct container box;
	char name[PATH_MAX * 2];
	struct cgroup cg;

	host_make();
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	CHECK(cgroup_ask(name, &cg) == -ENAMETOOLONG);
	name[300] = '\0';
	CHECK(cgroup_ask(name, &cg) == -ENAMETOOLONG);
	CHECK(container_ask(name, &box) == -ENOENT);
}

static void visit_sum(void *ctx, uint32_t pid)
{
	*(uint32_t *)ctx += pid;
}

TEST(tasks_of_all_below)
{
	uint32_t sum = 0;

	host_make();
	cgroup_make("/web", "10\n11\n");
	cgroup_make("/web/a/b", "100\n0\n");
	cgroup_make("/webby", "1000\n");
	file_make(text_of("%s/web/a/cgroup.threads", tree), "5\n6\n");
	CHECK(cgroup_pids(&host, "/web", CGROUP_PROCS, true, visit_sum, &sum) == 3);
	CHECK(sum == 121);
	sum = 0;
	CHECK(cgroup_pids(&host, "/web", CGROUP_THREADS, true, visit_sum, &sum) == 5);
	CHECK(sum == 132);
	sum = 0;
	CHECK(cgroup_pids(&host, "/web", CGROUP_PROCS, false, visit_sum, &sum) == 2);
	CHECK(sum == 21);
	CHECK(cgroup_pids(&host, "/gone", CGROUP_PROCS, true, visit_sum, &sum) == -ENOENT);
	sum = 0;
	CHECK(cgroup_pids(&host, "/", CGROUP_PROCS, true, visit_sum, &sum) == 4);
}

static int visit_cnt(void *ctx, const struct cgroup_seen *seen)
{
	(void)seen;
	++*(unsigned int *)ctx;
	return 0;
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* A thousand pods of nine leaves, and a container at the end of it. */
TEST(ten_thousand_cgroups_are_quick)
{
	unsigned int cnt = 0;
	double best_ms = 1e9;
	struct stat st;

	host_make();
	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 9; k++)
			dirs_make(text_of("%s/slice%d/leaf%d", tree, i, k));
	}
	cgroup_make("/zz/docker-" ID_A ".scope", "7\n");
	CHECK(!stat(text_of("%s/zz/docker-" ID_A ".scope", tree), &st));
	CHECK(!cgroup_walk(&host, "/", visit_cnt, &cnt));
	CHECK(cnt == 10003);
	for (int i = 0; i < 3; i++) {
		double start = now_ms();
		double spent_ms;

		check_cgroup(text_of("%llu", (unsigned long long)st.st_ino),
			     "/zz/docker-" ID_A ".scope");
		check_container("3f2a", "docker", ID_A, "/zz/docker-" ID_A ".scope");
		spent_ms = (now_ms() - start) / 2;
		best_ms = spent_ms < best_ms ? spent_ms : best_ms;
	}
	if (best_ms >= 200)
		printf("  %.0f ms for one of 10,000\n", best_ms);
	CHECK(best_ms < 200);
}

TEST(this_host_agrees)
{
	struct cgroup_host real;
	struct cgroup by_path;
	struct cgroup by_id;

	if (cgroup_host_find(&real, "/proc", NULL))
		SKIP("no cgroup v2 here");
	CHECK(!cgroup_resolve(&real, "/", &by_path));
	CHECK(!cgroup_open_id(&real, by_path.id, &by_id));
	CHECK_STR(by_id.path, "/");
	cgroup_release(&by_path);
	cgroup_release(&by_id);
}

/* ---- containers ---- */

#define POD_UID     "0a1b2c3d-1111-2222-3333-444455556666"
#define POD_UID_LOW "0a1b2c3d_1111_2222_3333_444455556666"
#define POD_SLICE                                   \
	"/kubepods.slice/kubepods-burstable.slice/" \
	"kubepods-burstable-pod" POD_UID_LOW ".slice"

static const struct {
	const char *path;
	const char *runtime; /* NULL: no container */
	const char *name;
} path_cases[] = {
	{ "/system.slice/docker-" ID_A ".scope", "docker", ID_A },
	{ "/my.slice/docker-" ID_A ".scope", "docker", ID_A },
	{ "/docker/" ID_A, "docker", ID_A },
	{ POD_SLICE "/cri-containerd-" ID_A ".scope", "containerd", ID_A },
	{ "/kubepods/burstable/pod" POD_UID "/" ID_A, "kubernetes", ID_A },
	{ "/kubepods/pod" POD_UID "/" ID_A, "kubernetes", ID_A },
	{ POD_SLICE "/crio-" ID_A ".scope", "cri-o", ID_A },
	{ "/kubepods/besteffort/pod" POD_UID "/crio-" ID_A, "cri-o", ID_A },
	{ POD_SLICE, "pod", POD_UID },
	{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" POD_UID_LOW ".slice", "pod",
	  POD_UID },
	{ "/kubepods/burstable/pod" POD_UID, "pod", POD_UID },
	{ "/kubepods/pod" POD_UID, "pod", POD_UID },
	{ "/system.slice/nerdctl-" ID_A ".scope", "containerd", ID_A },
	{ "/default/" ID_A, "container", ID_A },
	{ "/machine.slice/libpod-" ID_A ".scope", "podman", ID_A },
	{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope",
	  "podman", ID_A },
	{ "/libpod_parent/libpod-" ID_A, "podman", ID_A },
	{ "/machine.slice/systemd-nspawn@web.service", "nspawn", "web" },
	{ "/machine.slice/systemd-nspawn@my\\x2dbox.service", "nspawn", "my-box" },
	{ "/machine.slice/machine-my\\x2dbox.scope", "machine", "my-box" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope", "machine", "qemu-1-vm" },
	{ "/machine.slice/machine-\\x2", NULL, NULL },
	{ "/machine.slice/machine-a\\x2.scope", "machine", "a\\x2" },
	{ "/lxc.payload.db", "lxc", "db" },
	{ "/lxc.payload.proj_db", "lxc", "proj_db" },
	{ "/lxc/db", "lxc", "db" },
	/* the monitors beside them, and what only looks like one */
	{ "/machine.slice/libpod-conmon-" ID_A ".scope", NULL, NULL },
	{ POD_SLICE "/crio-conmon-" ID_A ".scope", NULL, NULL },
	{ "/lxc.monitor.db", NULL, NULL },
	{ "/docker/buildkit", NULL, NULL },
	{ "/system.slice/docker.service", NULL, NULL },
	{ "/system.slice/docker-.scope", NULL, NULL },
	{ "/kubepods.slice/kubepods-burstable.slice", NULL, NULL },
	{ "/kubepods.slice", NULL, NULL },
	{ "/lxc.payload.", NULL, NULL },
	{ "/machine.slice", NULL, NULL },
	{ "/", NULL, NULL },
	{ "", NULL, NULL },
};

TEST(paths_of_all_runtimes)
{
	for (size_t i = 0; i < sizeof(path_cases) / sizeof(path_cases[0]); i++) {
		char name[CONTAINER_NAME_MAX];
		const char *runtime = container_parse(path_cases[i].path, name);

		if (!runtime != !path_cases[i].runtime)
			printf("  %s: %s\n", path_cases[i].path, runtime ? runtime : "none");
		CHECK(!runtime == !path_cases[i].runtime);
		if (!runtime)
			continue;
		CHECK_STR(runtime, path_cases[i].runtime);
		CHECK_STR(name, path_cases[i].name);
	}
}

/* Every layout through the whole resolver, by name, by beginning, by component. */
TEST(layouts_resolve)
{
	for (size_t i = 0; i < sizeof(path_cases) / sizeof(path_cases[0]); i++) {
		const char *path = path_cases[i].path;
		const char *name = path_cases[i].name;
		const char *runtime = path_cases[i].runtime;

		if (!runtime)
			continue;
		host_make();
		cgroup_make(path, "12\n");
		check_container(name, runtime, name, path);
		check_container(strrchr(path, '/') + 1, runtime, name, path);
		if (!strcmp(name, ID_A)) {
			check_container("3f2a", runtime, name, path);
			check_container("docker://" ID_A, runtime, name, path);
		}
		base_remove();
	}
}

static void three_make(void)
{
	host_make();
	cgroup_make("/system.slice/docker-" ID_A ".scope", "12\n9\n");
	cgroup_make("/machine.slice/libpod-" ID_B ".scope/container", "44\n");
	cgroup_make("/machine.slice/systemd-nspawn@web.service/payload", "");
	cgroup_make("/system.slice/nginx.service", "3\n");
	process_make(9, "nginx", "0::/system.slice/docker-" ID_A ".scope\n");
	process_make(44, "a b", "0::/\n");
}

TEST(ambiguous_ids_are_listed)
{
	struct container box;

	three_make();
	CHECK(container_ask("3f2a", &box) == -ENOTUNIQ);
	SAYS("'3f2a' is the beginning of the ids of 2 containers: ");
	SAYS("3f2a1b0c9d8e (docker, nginx 9)");
	SAYS("3f2a77aa0011 (podman, a b 44)");
	SAYS("hint: give more digits of the id\n");
	check_container("3f2a7", "podman", ID_B, "/machine.slice/libpod-" ID_B ".scope");
	check_container("3f2a1", "docker", ID_A, "/system.slice/docker-" ID_A ".scope");
}

TEST(unknown_names_list_candidates)
{
	struct container box;

	three_make();
	CHECK(container_ask("shop", &box) == -ENOENT);
	SAYS("no container 'shop' in the cgroup tree");
	SAYS("known to them only");
	SAYS("3f2a1b0c9d8e (docker, nginx 9)");
	SAYS("web (nspawn, no process)");
	CHECK(container_ask("3f2", &box) == -ENOENT);
	SAYS("at least 4 digits");
	CHECK(container_ask("", &box) == -EINVAL);
	CHECK(container_ask("docker://", &box) == -EINVAL);
	CHECK(container_ask("nginx", &box) == -ENOENT); /* the host's, not a container */
	CHECK(container_ask(ID_C, &box) == -ENOENT);
	SAYS("no container has the id");
	check_container("nginx.service", "unit", "nginx.service", "/system.slice/nginx.service");
}

TEST(no_containers_is_said)
{
	struct container box;

	host_make();
	CHECK(container_ask("web", &box) == -ENOENT);
	SAYS("the cgroup tree has no containers");
}

TEST(many_candidates_are_cut)
{
	struct container box;

	host_make();
	for (int i = 0; i < 40; i++)
		cgroup_make(text_of("/lxc.payload.box%d", i), "");
	CHECK(container_ask("nobody", &box) == -ENOENT);
	SAYS(" and 24 more\n");
}

TEST(same_name_twice_is_ambiguous)
{
	struct container box;

	host_make();
	cgroup_make("/lxc.payload.web", "");
	cgroup_make("/machine.slice/machine-web.scope", "");
	cgroup_make("/lxc.payload.web2", "");
	CHECK(container_ask("web", &box) == -ENOTUNIQ);
	SAYS("'web' is the name of 2 containers");
	SAYS("hint: choose one with --cgroup: ");
	SAYS("/lxc.payload.web");
	SAYS("/machine.slice/machine-web.scope");
	check_container("web2", "lxc", "web2", "/lxc.payload.web2");
}

/* A name of hex digits is no beginning of an id, and a whole name comes first. */
TEST(whole_names_come_first)
{
	host_make();
	cgroup_make("/system.slice/docker-" ID_C ".scope", "");
	cgroup_make("/lxc.payload.beef", "");
	cgroup_make("/lxc.payload.beef2", "");
	check_container("beef", "lxc", "beef", "/lxc.payload.beef");
	check_container("beef0", "docker", ID_C, "/system.slice/docker-" ID_C ".scope");
}

TEST(one_container_may_have_two_cgroups)
{
	struct container box;

	host_make();
	cgroup_make("/a.slice/docker-" ID_A ".scope/docker/" ID_B, "1\n");
	cgroup_make("/a.slice/docker-" ID_A ".scope/init/docker-" ID_A ".scope", "1\n");
	cgroup_make("/b.slice/docker-" ID_A ".scope", "2\n");
	CHECK(!container_ask("3f2a1b", &box));
	CHECK(box.cnt == 2);
	CHECK(strcmp(box.cgroups[0].path, box.cgroups[1].path));
	CHECK(box.cgroups[0].level == 2 && box.cgroups[1].level == 2);
	container_release(&box);
	check_container("3f2a77", "docker", ID_B, "/a.slice/docker-" ID_A ".scope/docker/" ID_B);
}

TEST(strays_are_found_in_proc)
{
	struct container box;

	host_make();
	process_make(300, "x", "4:memory:/docker/" ID_A "/sub\n0::/\n");
	process_make(70, "x", "4:memory:/docker/" ID_A "\n0::/\n");
	process_make(80, "x", "0::/../docker-" ID_C ".scope\n");
	CHECK(container_ask("3f2a", &box) == -EMEDIUMTYPE);
	SAYS("container '3f2a' is in cgroup v1 only");
	SAYS("--netns 70");
	CHECK(container_ask("beef", &box) == -EMEDIUMTYPE);
	SAYS("container 'beef' is outside of the cgroup tree");
}

/* ---- network namespaces ---- */

static int fake_inum(const char *path, uint32_t *inum)
{
	FILE *file = fopen(path, "re");
	int cnt;

	if (!file)
		return -errno;
	cnt = fscanf(file, "net %u", inum);
	fclose(file);
	return cnt == 1 ? 0 : -EINVAL;
}

static struct netns_host net_host;

static void net_make(unsigned int pid, const char *comm, const char *link)
{
	process_make(pid, comm, "0::/\n");
	dirs_make(text_of("%s/%u/ns", proc, pid));
	CHECK(!symlink(link, text_of("%s/%u/ns/net", proc, pid)));
}

static void net_host_make(void)
{
	host_make();
	netns_host_init(&net_host);
	snprintf(net_host.proc, sizeof(net_host.proc), "%s", proc);
	snprintf(net_host.run, sizeof(net_host.run), "%s", run);
	net_host.inum_of = fake_inum;
	net_make(1, "init", "net:[4026531833]");
	net_make(1234, "nginx", "net:[4026532301]");
	net_make(1235, "nginx", "net:[4026532301]");
	file_make(text_of("%s/blue", run), "net 4026532400");
	file_make(text_of("%s/1234", run), "net 4026532999");
	file_make(text_of("%s/77", run), "net 4026532777");
	file_make(text_of("%s/mounts", base), "mnt 1");
}

static int netns_ask(const char *text, uint32_t *inum)
{
	int err;

	*inum = 0;
	listen_begin();
	err = netns_resolve(&net_host, text, inum);
	listen_end();
	if (err)
		check_form();
	return err;
}

static const struct {
	const char *text;
	uint32_t inum;
	bool is_warned;
} netns_cases[] = {
	{ "1234", 4026532301, false }, /* a pid before a name */
	{ "77", 4026532777, false },   /* a name before a number */
	{ "1", 4026531833, false },
	{ "blue", 4026532400, false },
	{ "4026532400", 4026532400, false },
	{ "4026531833", 4026531833, false },
	{ "net:[4026532301]", 4026532301, false },
	{ "4026539999", 4026539999, true },
	{ "4294967295", 4294967295, true },
};

TEST(netns_of_all_forms)
{
	uint32_t inum;

	net_host_make();
	for (size_t i = 0; i < sizeof(netns_cases) / sizeof(netns_cases[0]); i++) {
		CHECK(!netns_ask(netns_cases[i].text, &inum));
		CHECK(inum == netns_cases[i].inum);
		CHECK(!said[0] == !netns_cases[i].is_warned);
	}
	SAYS("has network namespace 4294967295");
	CHECK(!netns_ask(text_of("%s/1234/ns/net", proc), &inum) && inum == 4026532301);
	CHECK(!netns_ask(text_of("%s/1234", run), &inum) && inum == 4026532999);
}

TEST(netns_errors_list_candidates)
{
	uint32_t inum;

	net_host_make();
	CHECK(netns_ask("green", &inum) == -ENOENT);
	SAYS("no network namespace 'green'");
	SAYS("blue");
	SAYS("1 (init)");
	CHECK(netns_ask("99", &inum) == -ESRCH);
	SAYS("no process 99");
	CHECK(netns_ask("4026531823", &inum) == -ESRCH); /* no namespace has such a number */
	CHECK(netns_ask("4294967296", &inum) == -ESRCH);
	CHECK(netns_ask("99999999999999999999", &inum) == -ESRCH);
	CHECK(netns_ask("", &inum) == -EINVAL);
	CHECK(netns_ask("..", &inum) == -ENOENT);
	CHECK(netns_ask("/no/such", &inum) == -ENOENT);
	CHECK(netns_ask(text_of("%s/mounts", base), &inum) == -EINVAL);
	SAYS("is not a network namespace");
	CHECK(netns_ask("net:[12", &inum) == -ENOENT);
}

TEST(netns_of_this_host)
{
	struct netns_host real;
	uint32_t by_path;
	uint32_t by_pid;

	netns_host_init(&real);
	if (access("/proc/self/ns/net", R_OK))
		SKIP("no network namespaces here");
	CHECK(!netns_resolve(&real, "/proc/self/ns/net", &by_path));
	CHECK(!netns_resolve(&real, text_of("%d", (int)getpid()), &by_pid));
	CHECK(by_path == by_pid && by_path);
	CHECK(!real.inum_of("/proc/self/ns/net", &by_pid) && by_path == by_pid);
	CHECK(real.inum_of("/proc/self/ns/mnt", &by_pid) == -EINVAL);
	CHECK(real.inum_of("/proc/self/stat", &by_pid) == -EINVAL);
}
