/* Network namespaces by name, process and number, against a made-up host. */
#include "scope/netns.h"
#include "fakehost.h"
#include "harness.h"

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
BEFORE(net_host_make);

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

	EACH(c, netns_cases) {
		in_case("'%s'", c->text);
		CHECK(!netns_ask(c->text, &inum) && inum == c->inum);
		CHECK(!said[0] == !c->is_warned);
	}
	SAYS("has network namespace 4294967295");
	CHECK(!netns_ask(text_of("%s/1234/ns/net", proc), &inum) && inum == 4026532301);
	CHECK(!netns_ask(text_of("%s/1234", run), &inum) && inum == 4026532999);
}

TEST(netns_errors_list_candidates)
{
	uint32_t inum;

	CHECK(netns_ask("green", &inum) == -ENOENT);
	SAYS("no network namespace 'green'");
	SAYS("blue");
	SAYS("1 (init)");
	CHECK(netns_ask("99", &inum) == -ESRCH);
	SAYS("no process 99");
	EACH_PART(none,
		  "4026531823; 4294967296; 99999999999999999999") /* that is no number of one */
		CHECK(netns_ask(none, &inum) == -ESRCH);
	CHECK(netns_ask("", &inum) == -EINVAL);
	EACH_PART(none, "..; /no/such")
		CHECK(netns_ask(none, &inum) == -ENOENT);
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
