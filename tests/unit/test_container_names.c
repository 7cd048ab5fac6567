/* Names of containers and pods, from state directories: recorded ones, and some made up and broken. */
#include "scope/container.h"
#include "base/strbuf.h"
#include "fakehost.h"
#include "harness.h"
#include "session/verb_list.h"

BEFORE(host_make);

static struct container box;

#define POD_UID  "0a1b2c3d-1111-2222-3333-444455556666"
#define POD      "/kubepods.slice/kubepods-pod0a1b2c3d_1111_2222_3333_444455556666.slice"
#define POD_DIR  "/kubepods/burstable/pod" POD_UID
#define WEB_NAME "{\"Name\":\"/web\"}"
#define USER     "/user.slice/user-1000.slice/user@1000.service/user.slice"

static bool recorded_home_of(uint32_t uid, char *home, size_t size)
{
	return snprintf(home, size, "%s/home/%u", host.state, uid) < (int)size;
}

/* A host with recorded state: a folder of tests/unit/state. */
static void recorded_make(const char *name)
{
	static char state[64];

	snprintf(state, sizeof(state), "tests/unit/state/%s", name);
	host.state = state;
	host.home_of = recorded_home_of;
}

#define DOCKER_WEB  "f39775d6f9cbdb9e255c28bdc06d487e790f79580ec7459c55cbb17920d9ebd7"
#define DOCKER_RUNS "dca020d27c8f4cfd8e139a8dee2494caa779efbaa1d84e55d692e2387123553c"

/* Names of the containers that a recorded host has in these cgroups. */
struct named {
	const char *text;
	const char *runtime;
	const char *id;
	const char *path;
};

static void check_names(const struct named *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		cgroup_make(rows[i].path, "");
	for (size_t i = 0; i < cnt; i++)
		check_container(rows[i].text, rows[i].runtime, rows[i].id, rows[i].path);
}

#define NAMES(...)                                         \
	check_names((const struct named[]){ __VA_ARGS__ }, \
		    CNT_OF(((const struct named[]){ __VA_ARGS__ })))

TEST_ONE(docker_names, recorded_make("docker-20.10"),
	 NAMES({ "shop_web", "docker", DOCKER_WEB, "/system.slice/docker-" DOCKER_WEB ".scope" },
	       { "runs", "docker", DOCKER_RUNS, "/docker/" DOCKER_RUNS },
	       { "dca0", "docker", DOCKER_RUNS, "/docker/" DOCKER_RUNS }));

TEST(docker_data_root)
{
	file_make(text_of("%s/etc/docker/daemon.json", base),
		  "{ \"debug\": true, \"data-root\": \"/srv/docker\" }");
	file_make(text_of("%s/srv/docker/containers/" ID_A "/config.v2.json", base), WEB_NAME);
	cgroup_make("/other.slice/" ID_A, ""); /* --cgroup-parent */
	check_container("web", "docker", ID_A, "/other.slice/" ID_A);
}

#define PODMAN_WEB  "6eed7b8b9d3d482f071c7056ada90fec689f7905946cda4fff9b58788f9146ee"
#define PODMAN_VOL  "c1aea31e116c65ca556d49b49baf7eb8db743d671113625edb211ab0f3824c4c"
#define PODMAN_POD  "313e7ce2ead9cce2bfab3eddec5a9acd79fe6f06de22cd2c902aff6c52faf15d"
#define PODMAN_IN   "1a069e7cd0422f98f4a005eb68aa7f6a7d8776eaccef416b055ba36ffdace298"
#define PODMAN_UNIT "/system.slice/web.service/libpod-payload-" PODMAN_VOL
#define PODMAN_DIR  "/machine.slice/machine-libpod_pod_" PODMAN_POD ".slice"

TEST(podman_names)
{
	recorded_make("podman-4.3");
	/* the second: --cgroups=split, as with quadlets */
	cgroup_make("/machine.slice/libpod-" PODMAN_WEB ".scope/container", "");
	NAMES({ "shop_web", "podman", PODMAN_WEB, "/machine.slice/libpod-" PODMAN_WEB ".scope" },
	      { "volatile", "podman", PODMAN_VOL, PODMAN_UNIT },
	      { "inpod", "podman", PODMAN_IN, PODMAN_DIR "/libpod-" PODMAN_IN ".scope" });
	check_pod("313e7", PODMAN_POD, PODMAN_DIR);
	check_pod(PODMAN_POD, PODMAN_POD, PODMAN_DIR);
}

TEST(containerd_names)
{
	recorded_make("containerd-1.6");
	cgroup_make(POD "/cri-containerd-" ID_C ".scope", "");
	NAMES({ "nginx", "containerd", ID_A, POD "/cri-containerd-" ID_A ".scope" },
	      { "web-0/nginx", "containerd", ID_A, POD "/cri-containerd-" ID_A ".scope" },
	      { "shop/web-0/nginx", "containerd", ID_A, POD "/cri-containerd-" ID_A ".scope" });
	EACH_PART(text, "web-0; shop/web-0; " POD_UID) /* its containers name it */
		check_pod(text, "shop/web-0", POD);
}

TEST_ONE(k3s_names, recorded_make("k3s-1.27"),
	 NAMES({ "nginx", "containerd", ID_A, POD_DIR "/" ID_A }),
	 check_pod("shop/web-0", "shop/web-0", POD_DIR));
TEST_ONE(kubelet_names, recorded_make("kubelet-1.27"),
	 NAMES({ "nginx", "kubernetes", ID_A, POD_DIR "/" ID_A },
	       { "web-0/nginx", "kubernetes", ID_A, POD_DIR "/" ID_A }),
	 check_pod("web-0", "shop/web-0", POD_DIR));

TEST(crio_names)
{
	recorded_make("crio-1.24");
	cgroup_make(POD "/crio-" ID_C ".scope", "");
	NAMES({ "nginx", "cri-o", ID_A, POD "/crio-" ID_A ".scope" },
	      { "side", "cri-o", ID_B, POD "/crio-" ID_B ".scope" }); /* in containers.json only */
	check_pod("web-0", "shop/web-0", POD);
}

TEST_ONE(docker_of_kubernetes_names, recorded_make("docker-20.10-cri"),
	 NAMES({ "nginx", "docker", ID_A, POD_DIR "/" ID_A }),
	 check_pod("shop/web-0", "shop/web-0", POD_DIR));
TEST_ONE(nerdctl_names, recorded_make("nerdctl-1.4"),
	 NAMES({ "web", "containerd", ID_A, "/default/" ID_A },
	       { "db", "containerd", ID_B, "/system.slice/nerdctl-" ID_B ".scope" },
	       { "mine", "containerd", ID_C, USER "/nerdctl-" ID_C ".scope" }));

/* A static pod's uid is a hash without dashes. */
TEST(static_pods)
{
	const char *pod = "/kubepods/burstable/pod0a1b2c3d111122223333444455556666";

	dirs_make(text_of("%s/var/log/pods/kube-system_etcd-a_0a1b2c3d111122223333444455556666",
			  base));
	cgroup_make(text_of("%s/" ID_A, pod), "");
	check_pod("kube-system/etcd-a", "kube-system/etcd-a", pod);
	check_container("3f2a", "kubernetes", ID_A, text_of("%s/" ID_A, pod));
}

/* ---- whose files count ---- */

#define STORAGE "/.local/share/containers/storage/overlay-containers/containers.json"

TEST(rootless_podman_and_docker_names)
{
	user_state_make(1000, STORAGE, "[{\"id\":\"" ID_A "\",\"names\":[\"mine\"]}]");
	user_state_make(1000, "/.local/share/docker/containers/" ID_B "/config.v2.json",
			"{\"Name\":\"/own\"}");
	cgroup_make(USER "/libpod-" ID_A ".scope", "");
	cgroup_make(USER "/docker-" ID_B ".scope", "");
	check_container("mine", "podman", ID_A, USER "/libpod-" ID_A ".scope");
	check_container("own", "docker", ID_B, USER "/docker-" ID_B ".scope");
}

TEST(users_name_no_containers_of_others)
{
	user_state_make(1000, STORAGE,
			"[{\"id\":\"" ID_A "\",\"names\":[\"web\"]},"
			"{\"id\":\"" ID_B "\",\"names\":[\"web\"]}]");
	cgroup_make("/system.slice/docker-" ID_A ".scope", "");
	cgroup_make("/user.slice/user-1001.slice/user@1001.service/libpod-" ID_B ".scope", "");
	CHECK(container_ask("web", &box) == -ENOENT);
}

/* What root may read and the user may not is not read for the user. */
TEST(users_do_not_read_with_roots_rights)
{
	if (geteuid())
		SKIP("only root has more rights than a user");
	user_state_make(1000, "/x", "");
	file_make(text_of("%s/secret/containers.json", base),
		  "[{\"id\":\"" ID_A "\",\"names\":[\"web\"]}]");
	CHECK(!chmod(text_of("%s/secret", base), 0700));
	dirs_make(text_of("%s/home/1000/.local/share/containers/storage", base));
	CHECK(!symlink(text_of("%s/secret", base),
		       text_of("%s/home/1000/.local/share/containers/storage/overlay-containers",
			       base)));
	cgroup_make(USER "/libpod-" ID_A ".scope", "");
	CHECK(container_ask("web", &box) == -ENOENT);
	CHECK(!chmod(text_of("%s/secret", base), 0755)); /* else it does work */
	check_container("web", "podman", ID_A, USER "/libpod-" ID_A ".scope");
}

/* ---- hostile and broken files ---- */

static void docker_make(const char *id, const char *content)
{
	cgroup_make(text_of("/docker/%s", id), "");
	file_make(text_of("%s/var/lib/docker/containers/%s/config.v2.json", base, id), content);
}

TEST(broken_files_name_nothing)
{
	EACH_PART(broken, "; {; []; null; {\"Name\":7}; {\"Name\":\"/web; "
			  "{\"Name\":{\"Name\":\"/web\"}}; {\"Name\":\"/w\\u0000eb\"}; "
			  "{\"Name\":\"\"}; {\"Name\":\"/\"}; \xff\xfe{\"Name\":\"/web\"}") {
		docker_make(ID_A, broken);
		CHECK(container_ask("web", &box) == -ENOENT);
		check_container("3f2a", "docker", ID_A, "/docker/" ID_A); /* the id still does */
	}
}

TEST(pipes_and_directories_are_not_read)
{
	const char *dir = "/var/lib/docker/containers/" ID_A;

	cgroup_make("/docker/" ID_A, "");
	dirs_make(text_of("%s%s", base, dir));
	CHECK(!mkfifo(text_of("%s%s/config.v2.json", base, dir), 0600));
	CHECK(container_ask("web", &box) == -ENOENT);
	CHECK(!unlink(text_of("%s%s/config.v2.json", base, dir)));
	dirs_make(text_of("%s%s/config.v2.json", base, dir));
	CHECK(container_ask("web", &box) == -ENOENT);
}

/* A user's file costs nothing, however large and however often it is there; reading it takes time. */
TEST(users_do_not_keep_root_reading)
{
	const char *dir = "/.local/share/nerdctl/1935db59/names/default";
	char large[PATH_MAX];

	user_state_make(1000, text_of("%s/web", dir), ID_A);
	cgroup_make(USER "/nerdctl-" ID_A ".scope", "");
	CHECK(!container_ask("web", &box));
	container_release(&box);
	snprintf(large, sizeof(large), "%s/home/1000/large", base);
	file_make(large, "");
	CHECK(!truncate(large, 15 << 20));
	for (int i = 0; i < 8; i++)
		CHECK(!symlink(large, text_of("%s/home/1000%s/a%d", base, dir, i)));
	CHECK(container_ask("web", &box) == -ENOENT); /* it comes after those */
}

TEST(names_too_long_are_none)
{
	char name[400];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	docker_make(ID_A, text_of("{\"Name\":\"/%s\"}", name));
	CHECK(container_ask(name, &box) == -ENOENT);
	check_container("3f2a", "docker", ID_A, "/docker/" ID_A);
}

/* ---- what is said ---- */

TEST(hostile_names_are_escaped)
{
	struct container_set set;
	struct strbuf out = { 0 };

	docker_make(ID_A, "{\"Name\":\"/\\u001b[31mred\\n\\u202e x\"}");
	CONTAINER_LACKS("nobody", -ENOENT,
			"3f2a1b0c9d8e (docker, \\x1b[31mred\\x0a\\xe2\\x80\\xae x, no process)");
	CHECK(!container_set_read(&host, &set));
	containers_put(&(struct tablew){ .out = &out }, &set);
	strbuf_char(&out, '\0');
	CHECK_STR(
		strchr(out.ptr, '\n') + 1,
		"docker   3f2a1b0c9d8e  \\x1b[31mred\\x0a\\xe2\\x80\\xae\\x20x  -    /docker/" ID_A
		"\n");
	strbuf_reset(&out);
	containers_put(&(struct tablew){ .out = &out, .form = TABLE_ARRAY }, &set);
	CHECK_BUF(&out,
		  "[\n  {\"runtime\": \"docker\", \"id\": \"" ID_A
		  "\", \"name\": \"\\u001b[31mred\\u000a\\u202e x\", \"pod\": null, "
		  "\"namespace\": null, \"pod_uid\": null, \"cgroup\": \"/docker/" ID_A "\"}\n]\n");
	containers_put(&(struct tablew){ .out = &out, .form = TABLE_CSV, .host = "web-1" }, &set);
	CHECK_BUF(&out,
		  "host,runtime,id,name,pod,namespace,pod_uid,cgroup\n"
		  "web-1,docker," ID_A ",\\x1b[31mred\\x0a\\xe2\\x80\\xae x,,,,/docker/" ID_A "\n");
	container_set_release(&set);
}

TEST(ambiguous_names_are_listed)
{
	docker_make(ID_A, WEB_NAME);
	cgroup_make("/machine.slice/libpod-" ID_C ".scope", "77\n");
	process_make(77, "nginx", "0::/\n");
	file_make(text_of("%s/var/lib/containers/storage/overlay-containers/containers.json", base),
		  "[{\"id\":\"" ID_C "\",\"names\":[\"web\"]}]");
	CONTAINER_LACKS(
		"web", -ENOTUNIQ,
		"'web' is the name of 2 containers: 3f2a1b0c9d8e (docker, web, no process), "
		"beef00000000 (podman, web, nginx 77)",
		"hint: choose one by its id");
	check_container("beef", "podman", ID_C, "/machine.slice/libpod-" ID_C ".scope");
}

TEST(mistyped_names_get_a_suggestion)
{
	docker_make(ID_A, "{\"Name\":\"/frontend\"}");
	cgroup_make("/system.slice/nginx.service", "");
	CONTAINER_LACKS(
		"fronted", -ENOENT,
		"hint: did you mean frontend? containers here: 3f2a1b0c9d8e (docker, frontend,");
	CONTAINER_LACKS("nginx", -ENOENT, "hint: did you mean nginx.service? ");
}

static void two_pods_make(void)
{
	cgroup_make("/kubepods/pod" POD_UID "/" ID_A, "");
	cgroup_make("/kubepods/pod99999999-1111-2222-3333-444455556666/" ID_B, "");
	dirs_make(text_of("%s/var/log/pods/shop_web-0_" POD_UID, base));
	dirs_make(text_of("%s/var/log/pods/test_web-0_99999999-1111-2222-3333-444455556666", base));
}

TEST(ambiguous_pods_are_listed)
{
	two_pods_make();
	POD_LACKS("web-0", -ENOTUNIQ,
		  "'web-0' is the name of 2 pods: " POD_UID " (pod, shop/web-0, no process), ",
		  "(pod, test/web-0, no process)", "hint: give NAMESPACE/NAME, or its uid or id");
	check_pod("shop/web-0", "shop/web-0", "/kubepods/pod" POD_UID);
	check_pod("99999999-1111-2222-3333-444455556666", "test/web-0",
		  "/kubepods/pod99999999-1111-2222-3333-444455556666");
}

TEST(unknown_pods_list_candidates)
{
	two_pods_make();
	POD_LACKS("web-1", -ENOENT, "no pod 'web-1' in the cgroup tree",
		  "hint: did you mean web-0? pods here: " POD_UID
		  " (pod, shop/web-0, no process), ");
	CHECK(pod_ask("prod/web-0", &box) == -ENOENT);
	CHECK(pod_ask("/web-0", &box) == -ENOENT);
	CHECK(pod_ask("", &box) == -EINVAL);
	CONTAINER_LACKS("web-0", -ENOENT, "hint: did you mean --pod web-0? ");
}

/* Without a cgroup for the pod, as crictl makes them: each container's counts. */
TEST(pods_without_a_cgroup)
{
	recorded_make("containerd-1.6");
	cgroup_make("/k8s.io/" ID_A, "");
	cgroup_make("/k8s.io/" ID_C, "");
	CHECK(!pod_ask("shop/web-0", &box));
	CHECK_STR(box.name, "shop/web-0");
	CHECK(box.cnt == 2);
	container_release(&box);
}

TEST(names_of_version_1_are_found)
{
	docker_make(ID_A, WEB_NAME);
	CHECK(!system(text_of("rm -r %s/docker", tree)));
	process_make(70, "x", "4:memory:/docker/" ID_A "\n0::/\n");
	CONTAINER_LACKS("web", -EMEDIUMTYPE, "container 'web' is in cgroup v1 only");
}

TEST(the_table_has_all_but_units)
{
	struct container_set set;
	struct strbuf out = { 0 };

	recorded_make("containerd-1.6");
	cgroup_make(POD "/cri-containerd-" ID_A ".scope", "");
	cgroup_make("/lxc.payload.db", "");
	cgroup_make("/system.slice/nginx.service", "");
	CHECK(!container_set_read(&host, &set));
	containers_put(&(struct tablew){ .out = &out }, &set);
	CHECK_BUF(
		&out,
		"RUNTIME     ID                                    NAME   POD         CGROUP\n"
		"pod         " POD_UID "  -      shop/web-0  " POD "\n"
		"containerd  3f2a1b0c9d8e                          nginx  shop/web-0  " POD
		"/cri-containerd-" ID_A ".scope\n"
		"lxc         -                                     db     -           /lxc.payload.db\n");
	container_set_release(&set);
}
