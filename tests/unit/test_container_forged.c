/* Cgroups that users and containers make, with the ids and names of the host's containers. */
#include "scope/container.h"
#include "fakehost.h"
#include "harness.h"

BEFORE(host_make);

static struct container box;

#define POD_UID "0a1b2c3d-1111-2222-3333-444455556666"
#define USER    "/user.slice/user-1000.slice/user@1000.service/user.slice"
#define OTHER   "/user.slice/user-1001.slice/user@1001.service/user.slice"
#define WEB     "/system.slice/docker-" ID_A ".scope"

static bool made_home_of(uint32_t uid, char *home, size_t size)
{
	return snprintf(home, size, "%s/home/%u", base, uid) < (int)size;
}

static void docker_name(const char *root, const char *id, const char *name)
{
	file_make(text_of("%s%s/docker/containers/%s/config.v2.json", base, root, id),
		  text_of("{\"Name\":\"/%s\"}", name));
}

/* The host's container "web", and homes for users that others may enter. */
static void web_make(void)
{
	CHECK(!chmod(base, 0755));
	host.home_of = made_home_of;
	cgroup_make(WEB, "");
	docker_name("/var/lib", ID_A, "web");
}

TEST(users_do_not_join_containers)
{
	web_make();
	cgroup_make(USER "/docker-" ID_A ".scope", "");
	docker_name("/home/1000/.local/share", ID_A, "web");
	check_container("web", "docker", ID_A, WEB);
	check_container("3f2a", "docker", ID_A, WEB);
	check_container(ID_A, "docker", ID_A, WEB);
}

TEST(containers_do_not_join_containers)
{
	web_make();
	cgroup_make("/lxc.payload.guest/system.slice/docker-" ID_A ".scope", "");
	cgroup_make("/docker/" ID_B "/docker/" ID_A, "");
	check_container("web", "docker", ID_A, WEB);
	check_container("3f2a1", "docker", ID_A, WEB);
}

/* Files of the host's runtimes say nothing of a container within a container. */
TEST(nested_containers_have_no_names)
{
	docker_name("/var/lib", ID_A, "web");
	cgroup_make("/lxc.payload.guest/docker/" ID_A, "");
	CHECK(container_ask("web", &box) == -ENOENT);
	check_container("3f2a", "docker", ID_A, "/lxc.payload.guest/docker/" ID_A);
}

/* Nobody can tell which of two users has the container; their ids do not, either. */
TEST_ONE(two_users_with_one_id_are_two, cgroup_make(USER "/docker-" ID_A ".scope", ""),
	 cgroup_make(OTHER "/docker-" ID_A ".scope", ""),
	 CONTAINER_LACKS("3f2a", -ENOTUNIQ,
			 "hint: choose one with --cgroup: " USER "/docker-" ID_A ".scope, " OTHER
			 "/docker-"));

TEST(a_users_own_name_is_ambiguous)
{
	web_make();
	cgroup_make(USER "/docker-" ID_B ".scope", "");
	docker_name("/home/1000/.local/share", ID_B, "web");
	CONTAINER_LACKS("web", -ENOTUNIQ, "hint: choose one by its id");
	check_container("3f2a1", "docker", ID_A, WEB);
}

TEST(users_do_not_join_pods)
{
	const char *pod = "/kubepods/pod" POD_UID;

	cgroup_make("/kubepods/pod" POD_UID "/" ID_A, "");
	cgroup_make(USER "/kubepods/pod" POD_UID "/" ID_B, "");
	dirs_make(text_of("%s/var/log/pods/shop_web-0_" POD_UID, base));
	for (int by_uid = 0; by_uid < 2; by_uid++) {
		CHECK(!container_resolve(&host, by_uid ? POD_UID : "web-0", true, &box));
		CHECK(box.cnt == 1);
		CHECK_STR(box.cgroups[0].path, pod);
		container_release(&box);
	}
}
