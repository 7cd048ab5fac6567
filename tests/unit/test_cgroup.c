/* cgroups by path and by id, against trees made up in a directory. */
#include "scope/cgroup.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <time.h>

#include "fakehost.h"
#include "harness.h"
#include "scope/container.h"

BEFORE(host_make);

static struct container box;

static struct cgroup cg;

static void check_cgroup(const char *text, const char *path)
{
	struct stat st;

	in_case("'%s'", text);
	CHECK(!cgroup_ask(text, &cg));
	CHECK_STR(cg.path, path);
	CHECK(!fstat(cg.fd, &st) && st.st_ino == cg.id);
	cgroup_release(&cg);
	CHECK(cg.fd == -1);
}

/* ---- where the tree is ---- */

static int find_with(const char *mountinfo)
{
	mountinfo_make(mountinfo);
	return cgroup_host_find(&host, proc, fake_is_cgroup2);
}

TEST(root_is_found_in_mountinfo)
{
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

TEST_ONE(namespaced_root_has_a_type, file_make(text_of("%s/cgroup.type", tree), "domain\n"),
	 CHECK(!cgroup_host_find(&host, proc, fake_is_cgroup2)), CHECK(host.is_namespaced));

TEST(v1_only_is_said)
{
	CHECK(find_with("33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n") == -ENOTSUP);
	CGROUP_LACKS("web", -ENOTSUP, "this host has cgroup v1 only", "-p PID", "--netns");
	CONTAINER_LACKS("web", -ENOTSUP, "this host has cgroup v1 only");
	process_make(77, "nginx", "4:memory:/docker/" ID_A "\n0::/\n");
	CONTAINER_LACKS("3f2a", -ENOTSUP, "container '3f2a' is in cgroup v1 only", "--netns 77");
}

TEST(no_cgroups_at_all_is_said)
{
	CHECK(find_with("23 1 0:21 / /proc rw - proc proc rw\nnonsense\n\n - \n") == -ENOTSUP);
	CGROUP_LACKS("web", -ENOTSUP, "no cgroup v2 file system is mounted");
	CHECK(cgroup_host_find(&host, text_of("%s/none", base), NULL) == -ENOENT);
	CHECK(host.lack);
}

/* ---- cgroups ---- */

TEST(paths_of_all_forms)
{
	cgroup_make("/web", "");
	cgroup_make("/system.slice/x.service", "");
	cgroup_make("/123", "");
	EACH_PART(text, "web; /web; /web/; ./web")
		check_cgroup(text, "/web");
	check_cgroup(text_of("%s/web", tree), "/web");
	check_cgroup(text_of("%s/system.slice//x.service/", tree), "/system.slice/x.service");
	check_cgroup("system.slice/x.service", "/system.slice/x.service");
	EACH_PART(text, "system.slice/../web")
		check_cgroup(text, "/web");
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
	struct stat st;

	cgroup_make("/system.slice/x.service/inner", "");
	cgroup_make("/123456789012", "");
	CHECK(!stat(text_of("%s/system.slice/x.service/inner", tree), &st));
	check_cgroup(text_of("%llu", (unsigned long long)st.st_ino),
		     "/system.slice/x.service/inner");
	CHECK(!stat(tree, &st));
	check_cgroup(text_of("%llu", (unsigned long long)st.st_ino), "/");
	CGROUP_LACKS("99999999999999999", -ENOENT, "no cgroup has the id 99999999999999999");
	CHECK(cgroup_ask("99999999999999999999999", &cg) == -ENOENT);
	CHECK(cgroup_ask("0", &cg) == -ENOENT);
	CGROUP_LACKS("123456789012", -ENOENT,
		     "hint: write /123456789012 for the cgroup of that name");
	process_make(4, "x", "4:memory:/a\n0::/system.slice/x.service\n");
	CGROUP_LACKS("4", -ENOENT,
		     "hint: 4 is a process in the cgroup /system.slice/x.service; -p 4");
}

TEST(bad_paths_are_explained)
{
	cgroup_make("/system.slice/nginx.service", "");
	cgroup_make("/system.slice/ssh.service", "");
	CHECK(cgroup_ask("", &cg) == -EINVAL);
	CGROUP_LACKS(
		"system.slice/ngin.service", -ENOENT,
		"netfgraph: no cgroup 'system.slice/ngin.service'\n",
		"hint: did you mean nginx.service? below /system.slice there are: nginx.service, ssh.service\n");
	CGROUP_LACKS("system.slice/web.service", -ENOENT,
		     "hint: below /system.slice there are: nginx.service, ssh.service\n");
	CGROUP_LACKS("sytem.slice/a/b", -ENOENT,
		     "hint: did you mean system.slice? below / there are: system.slice\n");
	CGROUP_LACKS("sshd.slice/a/b", -ENOENT, "hint: below / there are: system.slice\n");
	CGROUP_LACKS("nginx.service", -ENOENT, "hint: there is /system.slice/nginx.service\n");
	CGROUP_LACKS("system.slice/ssh.service/x", -ENOENT,
		     "/system.slice/ssh.service has no cgroups below it");
	CGROUP_LACKS("system.slice/ssh.service/cgroup.procs", -ENOTDIR, "cgroups are directories");
	CGROUP_LACKS("/etc", -EMEDIUMTYPE, "'/etc' is not in the cgroup v2 tree");
	CHECK(cgroup_ask("../proc", &cg) == -EMEDIUMTYPE);
	CHECK(cgroup_ask("/no/such/path", &cg) == -ENOENT);
}

TEST(long_names_do_no_harm)
{
	char name[PATH_MAX * 2];

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

/* The tasks in the cgroup, how many or what error, and the sum of their numbers. */
static void check_pids(const char *path, int want, uint32_t want_sum)
{
	uint32_t sum = 0;

	CHECK(cgroup_pids(&host, path, visit_sum, &sum) == want && sum == want_sum);
}

TEST(tasks_of_all_below)
{
	cgroup_make("/web", "10\n11\n");
	cgroup_make("/web/a/b", "100\n0\n");
	cgroup_make("/webby", "1000\n");
	check_pids("/web", 4, 121);
	check_pids("/gone", -ENOENT, 0);
	check_pids("/", 5, 1121);
}

/* The others are seen all the same. */
TEST(tasks_that_cannot_be_read_are_an_error)
{
	cgroup_make("/web", "10\n");
	dirs_make(text_of("%s/web/a/cgroup.procs", tree)); /* reading it gives -EISDIR */
	cgroup_make("/web/b", "7\n");
	check_pids("/web", -EISDIR, 17);
	check_pids("/web/b", 1, 7);
	/* one that has just gone has no such file */
	dirs_make(text_of("%s/gone", tree));
	check_pids("/gone", 0, 0);
}

static int visit_cnt(void *ctx, const struct cgroup_seen *seen)
{
	++*(unsigned int *)ctx;
	return 0;
}

static double cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* a busy host makes it late, not slow */
	return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

TEST(walk_without_file_descriptors_is_an_error)
{
	const struct rlimit limit = { 12, 12 };
	unsigned int cnt = 0;

	dirs_make(text_of("%s/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15", tree));
	CHECK(!cgroup_walk(&host, "/1", visit_cnt, &cnt) && cnt == 15);
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	CHECK(cgroup_walk(&host, "/1", visit_cnt, &cnt) == -EMFILE);
}

/* A thousand pods of nine leaves, and a container at the end of it. */
TEST(ten_thousand_cgroups_are_quick)
{
	unsigned int cnt = 0;
	double best_ms = 1e9;
	struct stat st;

	for (int i = 0; i < 1000; i++) {
		for (int k = 0; k < 9; k++)
			dirs_make(text_of("%s/slice%d/leaf%d", tree, i, k));
	}
	cgroup_make("/zz/docker-" ID_A ".scope", "7\n");
	CHECK(!stat(text_of("%s/zz/docker-" ID_A ".scope", tree), &st));
	CHECK(!cgroup_walk(&host, "/", visit_cnt, &cnt) && cnt == 10003);
	for (int i = 0; i < 3; i++) {
		double start = cpu_ms();
		double spent_ms;

		check_cgroup(text_of("%llu", (unsigned long long)st.st_ino),
			     "/zz/docker-" ID_A ".scope");
		check_container("3f2a", "docker", ID_A, "/zz/docker-" ID_A ".scope");
		spent_ms = (cpu_ms() - start) / 2;
		best_ms = spent_ms < best_ms ? spent_ms : best_ms;
	}
	in_case("%.0f ms for one of 10,000", best_ms);
	CHECK(best_ms < 200);
}

TEST(this_host_agrees)
{
	struct cgroup_host real;
	struct cgroup by_path;
	struct cgroup by_id;
	char id[24];

	if (cgroup_host_find(&real, "/proc", NULL))
		SKIP("no cgroup v2 here");
	CHECK(!cgroup_resolve(&real, "/", &by_path));
	snprintf(id, sizeof(id), "%" PRIu64, by_path.id);
	CHECK(!cgroup_resolve(&real, id, &by_id));
	CHECK_STR(by_id.path, "/");
	cgroup_release(&by_path);
	cgroup_release(&by_id);
}
