/* Ids of tasks in pid namespaces, against a made-up /proc. */
#include "scope/netns.h"
#include "fakehost.h"
#include "harness.h"

static struct pidns ns;

BEFORE(host_make);
AT_END(pidns_release(&ns));

static void link_make(const char *task, const char *kind, const char *link)
{
	dirs_make(text_of("%s/%s/ns", proc, task));
	CHECK(!symlink(link, text_of("%s/%s/ns/%s", proc, task, kind)));
}

/* We have these ids, in the namespace of /proc and those below it; and a first process is there. */
static void proc_make(const char *ids, const char *ours, const char *of_first)
{
	link_make("self", "pid", ours);
	link_make("1", "pid", of_first);
	file_make(text_of("%s/self/status", proc),
		  text_of("Name:\tnetfgraph\nTgid:\t%d\nNStgid:%s\nNSpid:%s\n", atoi(ids + 1), ids,
			  ids));
}

static void find_ours(const char *ids, const char *ours, const char *of_first)
{
	proc_make(ids, ours, of_first);
	CHECK(!pidns_find(&ns, proc));
}

TEST(first_namespace_needs_no_table)
{
	find_ours("\t812", "pid:[4026531836]", "pid:[4026531836]");
	CHECK(!ns.inum && ns.proc_tgid == 812);
	pidns_take(&ns, 5, 7);
	CHECK(pidns_tid(&ns, 5) == 5);
	CHECK(pidns_proc_id(&ns, 7) == 7);
}

/* CONFIG_PID_NS is off. */
TEST(kernel_without_namespaces)
{
	dirs_make(text_of("%s/self", proc));
	file_make(text_of("%s/self/status", proc), "Name:\tnetfgraph\nTgid:\t812\nPid:\t812\n");
	CHECK(!pidns_find(&ns, proc) && !ns.inum && ns.proc_tgid == 812);
}

TEST(ids_are_translated)
{
	find_ours("\t5", "pid:[4026532133]", "pid:[4026532133]");
	CHECK(ns.inum == 4026532133u && !ns.proc_is_first && ns.proc_tgid == 5);
	CHECK(!pidns_tid(&ns, 5) && !pidns_proc_id(&ns, 900));
	pidns_take(&ns, 5, 900);
	pidns_take(&ns, 0, 901); /* it is in another namespace */
	CHECK(pidns_tid(&ns, 5) == 900);
	CHECK(pidns_proc_id(&ns, 900) == 5);
	CHECK(!pidns_proc_id(&ns, 901) && !pidns_tid(&ns, 0));
	/* what is out of range is nobody's */
	pidns_take(&ns, 5, UINT32_MAX);
	pidns_take(&ns, UINT32_MAX, 900);
	CHECK(pidns_tid(&ns, 5) == 900 && !pidns_tid(&ns, UINT32_MAX));
	CHECK(!pidns_proc_id(&ns, UINT32_MAX));
}

TEST(ids_are_reused)
{
	find_ours("\t5", "pid:[4026532133]", "pid:[4026532133]");
	pidns_take(&ns, 5, 900);
	pidns_take(&ns, 5, 950);
	CHECK(pidns_tid(&ns, 5) == 950 && pidns_proc_id(&ns, 950) == 5);
	CHECK(!pidns_proc_id(&ns, 900));
	pidns_take(&ns, 6, 950);
	CHECK(pidns_proc_id(&ns, 950) == 6 && pidns_tid(&ns, 6) == 950);
}

/* /proc is the host's: what it says needs no translation, getpid() does. */
TEST(proc_of_the_first_namespace)
{
	find_ours("\t900\t5", "pid:[4026532133]", "pid:[4026531836]");
	CHECK(ns.inum == 4026532133u && ns.proc_is_first && ns.proc_tgid == 900);
	pidns_take(&ns, 5, 900);
	CHECK(pidns_tid(&ns, 5) == 900);
	CHECK(pidns_proc_id(&ns, 901) == 901);
}

static void check_refused(int err, const char *why)
{
	listen_begin();
	CHECK(pidns_find(&ns, proc) == err);
	listen_end();
	SAYS(why);
	check_form();
}

TEST_ONE(proc_of_another_namespace_is_refused,
	 proc_make("\t7\t1", "pid:[4026532140]", "pid:[4026532133]"),
	 file_make(text_of("%s/uptime", proc), "1.00 1.00\n"),
	 check_refused(-EXDEV, "another pid namespace"));

/* Our namespace is above that of /proc, or beside it. */
TEST_ONE(proc_without_us_is_refused, file_make(text_of("%s/uptime", proc), "1.00 1.00\n"),
	 check_refused(-EXDEV, "another pid namespace"));

TEST_ONE(proc_that_is_not_mounted, check_refused(-ENOENT, "/proc is not mounted"));
