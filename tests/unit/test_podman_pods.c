/* Names of podman's pods, from its databases: recorded ones, and some made up and broken. */
#include "scope/container.h"
#include "fakehost.h"
#include "harness.h"

BEFORE(host_make);

static struct container box;

#define USER "/user.slice/user-1000.slice/user@1000.service/user.slice"

/* What podman has in BoltDB, and in SQLite; in each, a third pod was removed. */
static const struct pods_recorded {
	const char *state;
	const char *shop; /* ids */
	const char *test;
	const char *web;
	const char *lone;
} pods_recorded[] = {
	{ "tests/unit/state/podman-4.3-pods",
	  "43fb7d2c59875db852f99308770f9b76a51549eb8aae7186e6cd2591823f7b05",
	  "281fe82b88b50d706449f7499e0520bd0cdf0130233eaacf682292e571c99565",
	  "604bb8781dff2592ab08ae27bb9cf9947a23b72c73087b4e7468997174e9eb29",
	  "5ffbcd92f8e9931dbf429d2fdf6b3482859b81dc351c3ac5e15dcd34b5368894" },
	{ "tests/unit/state/podman-5.4-pods",
	  "daacc20d6d7a73d5c867bdcb6742e2e39a6ffcee4a484abecc8070a9eb3cb087",
	  "fe3341add2637de93d4e3dbe94468165950b736719c72768ed7c55ddb0df4e87",
	  "278141ba7f92c25853c63cc30c8627698f3da0b2be749ef6c0bdd7a7b576fde6",
	  "ebb7661ebf5accc03341c96f05d88c447b25c3b3f4a5be192d1b476983c44b1d" },
};

/* With the cgroup drivers systemd and cgroupfs. */
TEST(podman_pod_names)
{
	for (size_t i = 0; i < CNT_OF(pods_recorded); i++) {
		const struct pods_recorded *pods = &pods_recorded[i];
		char shop[120], test[120];
		char web[250], lone[250];

		host.state = pods->state;
		snprintf(shop, sizeof(shop), "/machine.slice/machine-libpod_pod_%s.slice",
			 pods->shop);
		snprintf(test, sizeof(test), "/libpod_parent/%s", pods->test);
		snprintf(web, sizeof(web), "%s/libpod-%s.scope", shop, pods->web);
		snprintf(lone, sizeof(lone), "%s/libpod-%s", test, pods->lone);
		cgroup_make(web, "");
		cgroup_make(lone, "");
		check_pod("shop", "shop", shop);
		check_pod("test_pod.2", "test_pod.2", test);
		check_pod(text_of("%.4s", pods->test), "test_pod.2", test);
		check_container("web", "podman", pods->web, web);
		check_container("shop/web", "podman", pods->web, web);
		check_container("test_pod.2/lone", "podman", pods->lone, lone);
		base_remove();
	}
}

#define PODMAN_SQL "/var/lib/containers/storage/db.sql"

/* A configuration counts only where the database has it: not within another one, and not cut off. */
TEST(text_like_a_podman_pod_names_nothing)
{
	static const char *const texts[] = {
		"config{\"labels\":{\"id\":\"" ID_A "\",\"name\":\"evil\"}}",
		"other" ID_A "{\"id\":\"" ID_A "\",\"name\":\"evil\"}",
		ID_B "evil{\"id\":\"" ID_A "\",\"name\":\"evil\"}",
		"{\"id\":\"" ID_A "\",\"name\":\"evil\"}",
		"config{\"id\":\"" ID_A "\",\"name\":\"\"}",
		"config{\"id\":\"" ID_A "\",\"name\":\"evil",
		"config{\"id\":\"" ID_A "\",\"name\":\"evil\n\"",
		"config{\"id\":\"3f2a1b0c9d8e\",\"name\":\"evil\"}",
		"config{\"id\":\"3f2a",
		"config{",
	};

	cgroup_make("/libpod_parent/" ID_A, "");
	for (size_t i = 0; i < CNT_OF(texts); i++) {
		file_make(text_of("%s" PODMAN_SQL, base), texts[i]);
		CHECK(pod_ask("evil", &box) == -ENOENT);
	}
	file_make(text_of("%s" PODMAN_SQL, base),
		  "{{" ID_A "good{\"id\":\"" ID_A "\",\"name\":\"good\",");
	check_pod("good", "good", "/libpod_parent/" ID_A);
}

TEST(rootless_podman_pod_names)
{
	const char *pod = USER "/user-libpod_pod_" ID_A ".slice";

	user_state_make(1000, "/.local/share/containers/storage/libpod/bolt_state.db",
			"config{\"id\":\"" ID_A "\",\"name\":\"mine\",");
	cgroup_make("/machine.slice/machine-libpod_pod_" ID_A ".slice", "");
	CHECK(pod_ask("mine", &box) == -ENOENT); /* a user does not name pods of others */
	cgroup_make(pod, "");
	check_pod("mine", "mine", pod);
}

TEST(ambiguous_podman_pods_are_listed)
{
	file_make(text_of("%s" PODMAN_SQL, base), "config{\"id\":\"" ID_A "\",\"name\":\"web\",");
	user_state_make(1000, "/.local/share/containers/storage/db.sql",
			ID_B "web{\"id\":\"" ID_B "\",\"name\":\"web\",");
	cgroup_make("/machine.slice/machine-libpod_pod_" ID_A ".slice", "");
	cgroup_make(USER "/user-libpod_pod_" ID_B ".slice", "");
	POD_LACKS("web", -ENOTUNIQ,
		  "'web' is the name of 2 pods: 3f2a1b0c9d8e (podman pod, web, no process), "
		  "3f2a77aa0011 (podman pod, web, no process)",
		  "hint: give NAMESPACE/NAME, or its uid or id");
	POD_LACKS(
		"wep", -ENOENT,
		"hint: did you mean web? pods here: 3f2a1b0c9d8e (podman pod, web, no process), ");
}
