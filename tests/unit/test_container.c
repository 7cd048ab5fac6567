/* Containers by name and by id, against trees made up in a directory. */
#include "scope/container.h"
#include "fakehost.h"
#include "harness.h"

BEFORE(host_make);

static struct container box;

#define POD_UID     "0a1b2c3d-1111-2222-3333-444455556666"
#define POD_UID_LOW "0a1b2c3d_1111_2222_3333_444455556666"
#define POD_SLICE                                   \
	"/kubepods.slice/kubepods-burstable.slice/" \
	"kubepods-burstable-pod" POD_UID_LOW ".slice"

static const struct {
	const char *path;
	const char *runtime;
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
	{ "/machine.slice/machine-a\\x2.scope", "machine", "a\\x2" },
	{ "/lxc.payload.db", "lxc", "db" },
	{ "/lxc.payload.proj_db", "lxc", "proj_db" },
	{ "/lxc/db", "lxc", "db" },
};

/* The monitors beside containers, and what only looks like one. */
static const char no_containers[] =
	"/machine.slice/machine-\\x2; /machine.slice/libpod-conmon-" ID_A ".scope; " POD_SLICE
	"/crio-conmon-" ID_A
	".scope; /lxc.monitor.db; /docker/buildkit; /system.slice/docker.service; "
	"/system.slice/docker-.scope; /kubepods.slice/kubepods-burstable.slice; /kubepods.slice; "
	"/lxc.payload.; /machine.slice; /; ";

TEST(paths_of_all_runtimes)
{
	char name[CONTAINER_NAME_MAX];

	EACH(c, path_cases) {
		in_case("'%s'", c->path);
		CHECK_STR(container_parse(c->path, name), c->runtime);
		CHECK_STR(name, c->name);
	}
	EACH_PART(path, no_containers)
		CHECK(!container_parse(path, name));
}

/* Every layout through the whole resolver: by name, by prefix, by component. */
TEST(layouts_resolve)
{
	EACH(c, path_cases) {
		cgroup_make(c->path, "12\n");
		check_container(c->name, c->runtime, c->name, c->path);
		check_container(strrchr(c->path, '/') + 1, c->runtime, c->name, c->path);
		if (!strcmp(c->name, ID_A)) {
			check_container("3f2a", c->runtime, c->name, c->path);
			check_container("docker://" ID_A, c->runtime, c->name, c->path);
		}
		base_remove();
	}
}

static void three_make(void)
{
	cgroup_make("/system.slice/docker-" ID_A ".scope", "12\n9\n");
	cgroup_make("/machine.slice/libpod-" ID_B ".scope/container", "44\n");
	cgroup_make("/machine.slice/systemd-nspawn@web.service/payload", "");
	cgroup_make("/system.slice/nginx.service", "3\n");
	process_make(9, "nginx", "0::/system.slice/docker-" ID_A ".scope\n");
	process_make(44, "a b", "0::/\n");
}

TEST(ambiguous_ids_are_listed)
{
	three_make();
	CONTAINER_LACKS("3f2a", -ENOTUNIQ, "'3f2a' is the beginning of the ids of 2 containers: ",
			"3f2a1b0c9d8e (docker, nginx 9)", "3f2a77aa0011 (podman, a b 44)",
			"hint: give more digits of the id\n");
	check_container("3f2a7", "podman", ID_B, "/machine.slice/libpod-" ID_B ".scope");
	check_container("3f2a1", "docker", ID_A, "/system.slice/docker-" ID_A ".scope");
}

TEST(unknown_names_list_candidates)
{
	three_make();
	CONTAINER_LACKS("shop", -ENOENT, "no container 'shop' in the cgroup tree",
			"3f2a1b0c9d8e (docker, nginx 9)", "web (nspawn, no process)");
	CONTAINER_LACKS("3f2", -ENOENT, "at least 4 digits");
	CHECK(container_ask("", &box) == -EINVAL);
	CHECK(container_ask("docker://", &box) == -EINVAL);
	CHECK(container_ask("nginx", &box) == -ENOENT); /* the host's, not a container */
	CONTAINER_LACKS(ID_C, -ENOENT, "no container has the id");
	check_container("nginx.service", "unit", "nginx.service", "/system.slice/nginx.service");
}

TEST_ONE(no_containers_is_said, CHECK(container_ask("web", &box) == -ENOENT),
	 SAYS("the cgroup tree has no containers"));

TEST(many_candidates_are_cut)
{
	for (int i = 0; i < 40; i++)
		cgroup_make(text_of("/lxc.payload.box%d", i), "");
	CONTAINER_LACKS("nobody", -ENOENT, " and 24 more\n");
}

TEST(same_name_twice_is_ambiguous)
{
	cgroup_make("/lxc.payload.web", "");
	cgroup_make("/machine.slice/machine-web.scope", "");
	cgroup_make("/lxc.payload.web2", "");
	CONTAINER_LACKS("web", -ENOTUNIQ, "'web' is the name of 2 containers",
			"hint: choose one with --cgroup: ", "/lxc.payload.web",
			"/machine.slice/machine-web.scope");
	check_container("web2", "lxc", "web2", "/lxc.payload.web2");
}

TEST(mistyped_names_have_a_suggestion)
{
	cgroup_make("/lxc.payload.database", "");
	cgroup_make("/system.slice/docker-" ID_A ".scope", "");
	CONTAINER_LACKS("databsae", -ENOENT, "hint: did you mean database? containers here: ");
	CONTAINER_LACKS("3f2a1b0c9d8f", -ENOENT,
			"hint: did you mean 3f2a1b0c9d8e? containers here: ");
	CONTAINER_LACKS("web", -ENOENT, "hint: containers here: ");
}

/* A container's name may look like the beginning of an id; a whole name takes precedence. */
TEST(whole_names_come_first)
{
	cgroup_make("/system.slice/docker-" ID_C ".scope", "");
	cgroup_make("/lxc.payload.beef", "");
	cgroup_make("/lxc.payload.beef2", "");
	check_container("beef", "lxc", "beef", "/lxc.payload.beef");
	check_container("beef0", "docker", ID_C, "/system.slice/docker-" ID_C ".scope");
}

TEST(one_container_may_have_two_cgroups)
{
	cgroup_make("/a.slice/docker-" ID_A ".scope/docker/" ID_B, "1\n");
	cgroup_make("/a.slice/docker-" ID_A ".scope/init/docker-" ID_A ".scope", "1\n");
	cgroup_make("/b.slice/docker-" ID_A ".scope", "2\n");
	CHECK(!container_ask("3f2a1b", &box) && box.cnt == 2);
	CHECK(strcmp(box.cgroups[0].path, box.cgroups[1].path));
	CHECK(box.cgroups[0].level == 2 && box.cgroups[1].level == 2);
	container_release(&box);
	check_container("3f2a77", "docker", ID_B, "/a.slice/docker-" ID_A ".scope/docker/" ID_B);
}

TEST(strays_are_found_in_proc)
{
	process_make(300, "x", "4:memory:/docker/" ID_A "/sub\n0::/\n");
	process_make(70, "x", "4:memory:/docker/" ID_A "\n0::/\n");
	process_make(80, "x", "0::/../docker-" ID_C ".scope\n");
	CONTAINER_LACKS("3f2a", -EMEDIUMTYPE, "container '3f2a' is in cgroup v1 only",
			"--netns 70");
	CONTAINER_LACKS("beef", -EMEDIUMTYPE, "container 'beef' is outside of the cgroup tree");
}
