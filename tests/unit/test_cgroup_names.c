/* Paths and containers of cgroups by id, also of those that come later or go. */
#include "scope/cgroup_names.h"

#include "fakehost.h"
#include "harness.h"

#define DOCKER_WEB "f39775d6f9cbdb9e255c28bdc06d487e790f79580ec7459c55cbb17920d9ebd7"

BEFORE(host_make);

static struct cgroup_names *names;

static void end(void)
{
	cgroup_names_free(names);
}
AFTER(end);

static uint64_t id_of(const char *path)
{
	struct stat st;

	CHECK(!stat(text_of("%s%s", tree, path), &st));
	return st.st_ino;
}

static void check_names(uint64_t id, const char *want_path, const char *want_container)
{
	struct text path;
	struct text container;

	in_case("'%s'", want_path);
	cgroup_names_get(names, id, &path, &container);
	CHECK_STR(text_of("%.*s", (int)path.len, path.ptr ? path.ptr : ""), want_path);
	CHECK_STR(text_of("%.*s", (int)container.len, container.ptr ? container.ptr : ""),
		  want_container);
}

TEST(cgroups_have_the_names_of_their_containers)
{
	host.state = "tests/unit/state/docker-20.10";
	cgroup_make("/system.slice/docker-" DOCKER_WEB ".scope/init", "");
	cgroup_make("/system.slice/docker-" ID_A ".scope", "");
	cgroup_make("/system.slice/nginx.service", "");
	cgroup_make("/system.slice/nginx.service2", "");
	CHECK(!cgroup_names_new(&names, &host));
	check_names(id_of("/system.slice/docker-" DOCKER_WEB ".scope"),
		    "/system.slice/docker-" DOCKER_WEB ".scope", "shop_web");
	check_names(id_of("/system.slice/docker-" DOCKER_WEB ".scope/init"),
		    "/system.slice/docker-" DOCKER_WEB ".scope/init", "shop_web");
	check_names(id_of("/system.slice/docker-" ID_A ".scope"),
		    "/system.slice/docker-" ID_A ".scope", "3f2a1b0c9d8e");
	check_names(id_of("/system.slice/nginx.service"), "/system.slice/nginx.service",
		    "nginx.service");
	check_names(id_of("/system.slice/nginx.service2"), "/system.slice/nginx.service2", "");
	check_names(id_of("/system.slice"), "/system.slice", "");
	check_names(1234567890123, "", "");
}

TEST(cgroups_that_come_are_found_and_those_that_go_stay)
{
	uint64_t gone;
	uint64_t come;

	cgroup_make("/web", "");
	CHECK(!cgroup_names_new(&names, &host));
	gone = id_of("/web");
	CHECK(!system(text_of("rm -r %s/web", tree)));
	cgroup_make("/docker/" ID_B "/x/y", "");
	come = id_of("/docker/" ID_B "/x/y");
	check_names(come, "", "");
	CHECK(!cgroup_names_learn(names, come, 1000));
	check_names(come, "/docker/" ID_B "/x/y", "3f2a77aa0011");
	check_names(gone, "/web", "");
}

TEST(the_tree_is_not_read_all_the_time)
{
	uint64_t second;

	CHECK(!cgroup_names_new(&names, &host));
	CHECK(!cgroup_names_learn(names, 1234567890123, 1000));
	cgroup_make("/second", "");
	second = id_of("/second");
	CHECK(!cgroup_names_learn(names, second, 1000 + CGROUP_NAMES_WALK_NS - 1));
	check_names(second, "", "");
	CHECK(!cgroup_names_learn(names, second, 1000 + CGROUP_NAMES_WALK_NS));
	check_names(second, "/second", "");
}

/* What comes meanwhile would be found if the tree were read. */
static void check_is_not_read(uint64_t id, uint64_t now_ns)
{
	cgroup_make("/unread", "");
	CHECK(!cgroup_names_learn(names, id, now_ns));
	check_names(id_of("/unread"), "", "");
}

TEST(the_tree_is_read_once_for_an_id_that_is_gone)
{
	CHECK(!cgroup_names_new(&names, &host));
	CHECK(!cgroup_names_learn(names, 1234567890123, 1000));
	check_is_not_read(1234567890123, 1000 + 10 * CGROUP_NAMES_WALK_NS);
	check_names(1234567890123, "", "");
}

/* Ids that are gone are counted, too. */
TEST(the_tree_is_not_read_when_no_name_can_be_added)
{
	uint64_t now_ns = 1000;

	CHECK(!cgroup_names_new(&names, &host));
	for (uint64_t i = 0; i < CGROUP_NAMES_MAX; i++)
		CHECK(!cgroup_names_learn(names, 1234567890123 + i,
					  now_ns += CGROUP_NAMES_WALK_NS));
	check_is_not_read(1ull << 60, now_ns + CGROUP_NAMES_WALK_NS);
}

/* A container names cgroups in itself as it likes, such as the host's containers. */
TEST(what_containers_make_inside_themselves_is_theirs)
{
	host.state = "tests/unit/state/docker-20.10";
	cgroup_make("/docker/" ID_B "/docker/" DOCKER_WEB, "");
	cgroup_make("/system.slice/docker-" DOCKER_WEB ".scope/system.slice/nginx.service", "");
	cgroup_make("/docker/" ID_A "/x", "");
	cgroup_make("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID_C
		    ".scope/docker/" DOCKER_WEB "/x",
		    "");
	CHECK(!cgroup_names_new(&names, &host));
	check_names(id_of("/docker/" ID_B "/docker/" DOCKER_WEB),
		    "/docker/" ID_B "/docker/" DOCKER_WEB, "3f2a77aa0011");
	check_names(id_of("/system.slice/docker-" DOCKER_WEB ".scope/system.slice/nginx.service"),
		    "/system.slice/docker-" DOCKER_WEB ".scope/system.slice/nginx.service",
		    "shop_web");
	check_names(id_of("/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID_C
			  ".scope/docker/" DOCKER_WEB "/x"),
		    "/user.slice/user-1000.slice/user@1000.service/user.slice/docker-" ID_C
		    ".scope/docker/" DOCKER_WEB "/x",
		    "beef00000000");
	/* also one that comes later */
	cgroup_make("/docker/" ID_A "/docker/" DOCKER_WEB, "");
	CHECK(!cgroup_names_learn(names, id_of("/docker/" ID_A "/docker/" DOCKER_WEB), 1000));
	check_names(id_of("/docker/" ID_A "/docker/" DOCKER_WEB),
		    "/docker/" ID_A "/docker/" DOCKER_WEB, "3f2a1b0c9d8e");
}

TEST(without_a_tree_there_are_no_names)
{
	CHECK(!cgroup_names_new(&names, NULL));
	CHECK(!cgroup_names_learn(names, 7, 1000));
	check_names(7, "", "");
}
