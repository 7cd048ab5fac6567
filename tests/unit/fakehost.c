#include "fakehost.h"

#include <stdarg.h>

#include "harness.h"

char base[64];
char tree[80];
char proc[80];
char run[80];
struct cgroup_host host;

const char *text_of(const char *fmt, ...)
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

void dirs_make(const char *full)
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

void file_make(const char *full, const char *content)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", full);
	*strrchr(dir, '/') = '\0';
	dirs_make(dir);
	file_put(full, content);
}

void user_state_make(unsigned int uid, const char *path, const char *content)
{
	const char *home = text_of("%s/home/%u", base, uid);

	file_make(text_of("%s%s", home, path), content);
	if (geteuid())
		return;
	CHECK(!system(text_of("chown -R %u %s && chmod 700 %s", uid, home, home)));
	CHECK(!chmod(base, 0755));
}

void cgroup_make(const char *path, const char *pids)
{
	file_make(text_of("%s%s/cgroup.procs", tree, path), pids);
	file_make(text_of("%s%s/cgroup.threads", tree, path), pids);
}

void process_make(unsigned int pid, const char *comm, const char *cgroups)
{
	file_make(text_of("%s/%u/comm", proc, pid), text_of("%s\n", comm));
	file_make(text_of("%s/%u/cgroup", proc, pid), cgroups);
}

bool fake_is_cgroup2(const char *path)
{
	return !strncmp(path, tree, strlen(tree));
}

static bool fake_home_of(uint32_t uid, char *home, size_t size)
{
	return snprintf(home, size, "%s/home/%u", base, uid) < (int)size;
}

void base_remove(void)
{
	if (system(text_of("rm -rf '%s'", base)))
		printf("  %s is left behind\n", base);
}

void mountinfo_make(const char *content)
{
	file_make(text_of("%s/self/mountinfo", proc), content);
}

void host_make(void)
{
	char dir[] = "/tmp/nfg-container-XXXXXX";
	char real[PATH_MAX]; /* checked string functions ask for as much */

	CHECK(mkdtemp(dir) && realpath(dir, real));
	CHECK(strlen(real) < sizeof(base));
	memcpy(base, real, strlen(real) + 1);
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
	host.state = base;
	host.home_of = fake_home_of;
}

void check_form(void)
{
	const char *line = strchr(said, '\n');

	SAYS("netfgraph: ");
	CHECK(line && !strncmp(line + 1, "hint: ", 6));
	CHECK(strchr(line + 1, '\n') && !strchr(line + 1, '\n')[1]);
}

/* The end of what cgroup_ask() and such listen to: it says what is wrong, or nothing. */
static int heard(int err)
{
	listen_end();
	if (err)
		check_form();
	else
		CHECK_STR(said, "");
	return err;
}

int cgroup_ask(const char *text, struct cgroup *cg)
{
	listen_begin();
	return heard(cgroup_resolve(&host, text, cg));
}

int container_ask(const char *text, struct container *box)
{
	listen_begin();
	return heard(container_resolve(&host, text, false, box));
}

int pod_ask(const char *text, struct container *box)
{
	listen_begin();
	return heard(container_resolve(&host, text, true, box));
}

void check_lacks(int got, int want, ...)
{
	va_list parts;

	in_case("%d, \"%s\"", got, said);
	CHECK(got == want);
	va_start(parts, want);
	for (const char *part; (part = va_arg(parts, const char *));)
		SAYS(part);
	va_end(parts);
}

static void check_box(const char *text, struct container *box, int err, const char *name,
		      const char *path)
{
	in_case("'%s': %s", text, said);
	CHECK(!err);
	CHECK_STR(box->name, name);
	CHECK(box->cnt == 1);
	CHECK_STR(box->cgroups[0].path, path);
	container_release(box);
}

void check_container(const char *text, const char *runtime, const char *name, const char *path)
{
	struct container box;
	int err = container_ask(text, &box);

	if (!err)
		CHECK_STR(box.runtime, runtime);
	check_box(text, &box, err, name, path);
}

void check_pod(const char *text, const char *name, const char *path)
{
	struct container box;

	check_box(text, &box, pod_ask(text, &box), name, path);
}
