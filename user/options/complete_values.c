/* Candidates for values: from tables, the kernel, /proc and the cgroup tree. */
#include "options/complete.h"

#include <ctype.h>
#include <dirent.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "base/strbuf.h"
#include "kernel/ksyms.h"
#include "kernel/tracepoint.h"
#include "scope/container.h"
#include "scope/netns.h"
#include "select/presets.h"

/* The destination of candidates, and the bytes of the word that precede each. */
struct values {
	struct strbuf *out;
	const struct complete_ask *ask;
	size_t keep;
};

static void complete_values_put(const struct values *v, const char *name, const char *what)
{
	complete_put(v->out, v->ask, v->keep, name, what);
}

static const char *typed(const struct values *v)
{
	return v->ask->word + v->keep;
}

/* Also keep the part of the value up to the last of @separators. */
static void keep_items(struct values *v, const char *separators)
{
	for (size_t i = v->keep; v->ask->word[i]; i++) {
		if (strchr(separators, v->ask->word[i]))
			v->keep = i + 1;
	}
}

/* ---- functions ---- */

static void complete_put_func(void *ctx, const char *name)
{
	complete_values_put(ctx, name, NULL);
}

/* A kernel has too many to list all: without a beginning, list those on the main path. */
static void complete_put_funcs(struct values *v)
{
	if (*typed(v) == '+')
		v->keep++;
	if (*typed(v)) {
		ksymnames_visit("/proc/kallsyms", typed(v), complete_put_func, v);
		return;
	}
	for (size_t i = 0; i < preset_main_path_cnt; i++) {
		const char *names = preset_main_path[i].funcs;
		char name[64];

		for (struct text word; (word = text_word(&names)).len;) {
			snprintf(name, sizeof(name), "%.*s", (int)word.len, word.ptr);
			complete_values_put(v, name, NULL);
		}
	}
}

/* ---- tracepoints ---- */

/* NAME alone only once it is begun; and without a beginning, those that have a system: the network's, among others. */
static void put_point(void *ctx, const char *full_name)
{
	const struct values *v = ctx;
	const char *colon = strchr(full_name, ':');

	if (colon || *typed(v))
		complete_values_put(v, full_name, NULL);
	if (colon && *typed(v))
		complete_values_put(v, colon + 1, NULL);
}

static void put_points(struct values *v)
{
	tracepoint_names("/sys/kernel/btf", put_point, v);
}

/* ---- tasks ---- */

static void complete_comm_of(const char *pid, char *comm, size_t size)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	file = fopen(path, "re");
	if (!file || !fgets(comm, (int)size, file))
		*comm = '\0';
	if (file)
		fclose(file);
	comm[strcspn(comm, "\n")] = '\0';
}

static void each_process(struct values *v,
			 void (*visit)(struct values *v, const char *pid, const char *comm))
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	char comm[64];

	while (dir && (entry = readdir(dir))) {
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		complete_comm_of(entry->d_name, comm, sizeof(comm));
		visit(v, entry->d_name, comm);
	}
	if (dir)
		closedir(dir);
}

static void put_pid(struct values *v, const char *pid, const char *comm)
{
	complete_values_put(v, pid, comm);
}

static void complete_put_comm(struct values *v, const char *pid, const char *comm)
{
	(void)pid;
	complete_values_put(v, comm, NULL);
}

static void put_pids(struct values *v)
{
	keep_items(v, ",");
	each_process(v, put_pid);
}

static void put_comms(struct values *v)
{
	each_process(v, complete_put_comm);
}

static void put_users(struct values *v)
{
	const struct passwd *user;

	setpwent();
	while ((user = getpwent()))
		complete_values_put(v, user->pw_name, user->pw_gecos);
	endpwent();
}

/* ---- cgroups, containers, namespaces ---- */

struct cgroup_values {
	struct values *v;
	const char *root; /* precedes each path */
	bool is_bare;     /* without the leading slash */
};

static int put_cgroup(void *ctx, const struct cgroup_seen *seen)
{
	const struct cgroup_values *values = ctx;
	struct strbuf path = { 0 };

	strbuf_printf(&path, "%s%s", values->root, seen->path + values->is_bare);
	strbuf_char(&path, '\0');
	if (strbuf_ok(&path))
		complete_values_put(values->v, path.ptr, NULL);
	strbuf_release(&path);
	return 0;
}

/* All forms that cgroup_resolve accepts: below the mount, from the tree's root, and the latter without its slash. */
static void complete_put_cgroups(struct values *v)
{
	struct cgroup_host host;
	const char *word = typed(v);
	struct cgroup_values values = { v, "", *word && *word != '/' };

	if (cgroup_host_find(&host, "/proc", NULL))
		return;
	if (!strncmp(word, host.root, strlen(host.root)))
		values.root = host.root;
	cgroup_walk(&host, "/", put_cgroup, &values);
}

/* The digits of an id that runtimes print; the whole id if the user has typed more. */
static void put_id(struct values *v, const char *id, const char *runtime)
{
	char text[CONTAINER_NAME_MAX];
	const int len =
		strlen(typed(v)) > CONTAINER_ID_SHORT ? (int)sizeof(text) - 1 : CONTAINER_ID_SHORT;

	if (!*id)
		return;
	snprintf(text, sizeof(text), "%.*s", len, id);
	complete_values_put(v, text, runtime);
}

static void put_containers(struct values *v)
{
	struct container_set set = { 0 };
	struct cgroup_host host;

	if (!cgroup_host_find(&host, "/proc", NULL) && !container_set_read(&host, &set)) {
		for (size_t i = 0; i < set.cnt; i++) {
			const struct container_seen *item = &set.items[i];

			if (container_is_pod(item->runtime) || !strcmp(item->runtime, "unit"))
				continue;
			if (*item->name)
				complete_values_put(v, item->name, item->runtime);
			put_id(v, item->id, item->runtime);
		}
	}
	container_set_release(&set);
}

/* The pod's name, alone and with its namespace; the id of a pod without a name. */
static void put_pod(struct values *v, const struct container_seen *pod)
{
	char whole[2 * CONTAINER_NAME_MAX];

	complete_values_put(v, *pod->pod ? pod->pod : pod->pod_uid, pod->runtime);
	if (!*pod->pod || !*pod->namespace)
		return;
	snprintf(whole, sizeof(whole), "%s/%s", pod->namespace, pod->pod);
	complete_values_put(v, whole, pod->runtime);
}

static void put_pods(struct values *v)
{
	struct container_set set = { 0 };
	struct cgroup_host host;

	if (!cgroup_host_find(&host, "/proc", NULL) && !container_set_read(&host, &set)) {
		for (size_t i = 0; i < set.cnt; i++) {
			if (container_is_pod(set.items[i].runtime))
				put_pod(v, &set.items[i]);
		}
	}
	container_set_release(&set);
}

static void put_netns(struct values *v)
{
	struct netns_host host;
	const struct dirent *entry;
	DIR *dir;

	netns_host_init(&host);
	dir = opendir(host.run);
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			complete_values_put(v, entry->d_name, NULL);
	}
	if (dir)
		closedir(dir);
}

/* ---- lists ---- */

static void put_cpus(struct values *v)
{
	struct cpu_set_list cpus;
	char text[256];

	keep_items(v, ",-");
	if (host_cpus(&cpus, text, sizeof(text)))
		return;
	for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++) {
		snprintf(text, sizeof(text), "%u", cpu);
		if (cpu_set_list_has(&cpus, cpu))
			complete_values_put(v, text, NULL);
	}
}

/* The words that have an effect; if "no" is typed, all words that can be turned off. */
static void complete_put_graph_opts(struct values *v)
{
	char name[64];

	keep_items(v, ",");
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		const struct graph_opt_def *def = &graph_opt_defs[i];
		const bool is_off = def->is_on || !strncmp(typed(v), "no", 2);

		snprintf(name, sizeof(name), "%s%s", is_off ? "no" : "", def->name);
		complete_values_put(v, name, def->help);
		if (*typed(v))
			complete_values_put(v, def->name, def->help);
	}
}

static void put_presets(struct values *v)
{
	for (size_t i = 0; i < preset_def_cnt; i++)
		complete_values_put(v, preset_defs[i].name, preset_defs[i].help);
}

/* The second of two keys; names of --by alone are in its definition. */
static void put_keys(struct values *v)
{
	if (!strchr(typed(v), ','))
		return;
	keep_items(v, ",");
	for (int i = 0; i < ROWKEY_MEMBER; i++)
		complete_values_put(v, rowkey_name((enum rowkey_by)i), NULL);
}

/* ---- by option ---- */

static const struct source {
	const char *option;
	void (*put)(struct values *v);
	const char *first; /* the first line of the answer */
} sources[] = {
	{ "trace-funcs", complete_put_funcs, "words" },
	{ "notrace-funcs", complete_put_funcs, "words" },
	{ "graph-funcs", complete_put_funcs, "words" },
	{ "nograph-funcs", complete_put_funcs, "words" },
	{ "event", put_points, "words" },
	{ "pid", put_pids, "list" },
	{ "tid", put_pids, "list" },
	{ "comm", put_comms, "words" },
	{ "user", put_users, "words" },
	{ "cgroup", complete_put_cgroups, "words" },
	{ "container", put_containers, "words" },
	{ "pod", put_pods, "words" },
	{ "netns", put_netns, "words" },
	{ "cpu", put_cpus, "list" },
	{ "graph-opts", complete_put_graph_opts, "list" },
	{ "preset", put_presets, "words" },
	{ "by", put_keys, "words" },
};

const char *complete_values(struct strbuf *out, const struct complete_ask *ask)
{
	struct values v = { out, ask, ask->keep };

	if (ask->what == COMPLETE_FUNC) {
		complete_put_funcs(&v);
		return "words";
	}
	for (int i = 0; ask->def->value.name && ask->def->value.name(i); i++)
		complete_values_put(&v, ask->def->value.name(i), NULL);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (strcmp(sources[i].option, ask->def->name) != 0)
			continue;
		sources[i].put(&v);
		return sources[i].first;
	}
	return strcmp(ask->def->arg, "FILE") != 0 ? "words" : "files";
}
