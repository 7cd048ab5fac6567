#include "scope/pidns.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "nfg_abi.h"

#define FIRST_INUM 0xEFFFFFFCu /* PROC_PID_INIT_INO of linux/proc_ns.h */

/* The number of the namespace that @task of @proc is in; 0: a kernel without them, or we may not see it. */
static uint32_t inum_of(const char *proc, const char *task)
{
	char path[PATH_MAX];
	char link[64];
	unsigned int inum;
	ssize_t len;

	snprintf(path, sizeof(path), "%s/%s/ns/pid", proc, task);
	len = readlink(path, link, sizeof(link) - 1);
	if (len < 0)
		return 0;
	link[len] = '\0';
	return sscanf(link, "pid:[%10u]", &inum) == 1 ? inum : 0;
}

/*
 * Our ids: in the namespace of @proc, and in those below it down to ours. Without pid namespaces the kernel tells the first
 * alone. Return: how many, 0: none, -errno: @proc has us not.
 */
static int read_own_ids(const char *proc, uint32_t *first)
{
	char path[PATH_MAX];
	char line[512];
	int cnt = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/self/status", proc);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		char *rest = NULL;

		if (!strncmp(line, "Tgid:", 5))
			*first = (uint32_t)strtoul(line + 5, NULL, 10);
		if (strncmp(line, "NStgid:", 7))
			continue;
		for (char *id = strtok_r(line + 7, " \t\n", &rest); id;
		     id = strtok_r(NULL, " \t\n", &rest))
			cnt++;
	}
	fclose(file);
	return cnt;
}

static int refuse(const char *proc)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/uptime", proc);
	if (access(path, F_OK)) {
		log_error("/proc is not mounted");
		log_hint("mount -t proc proc /proc");
		return -ENOENT;
	}
	log_error("/proc belongs to another pid namespace: its process ids are not ours");
	log_hint(
		"mount a /proc of this namespace (mount -t proc proc /proc), or enter the other one, too (nsenter "
		"--pid --mount)");
	return -EXDEV;
}

/* Ours is not among our process's ids there, so that only the first process can tell. */
static int refuse_hidden(const char *proc)
{
	log_error("cannot tell whose pid namespace %s belongs to: may not inspect its process 1",
		  proc);
	log_hint("with CAP_SYS_PTRACE it can be told; or mount a /proc of this namespace");
	return -EACCES;
}

int pidns_find(struct pidns *ns, const char *proc)
{
	int id_cnt;

	*ns = (struct pidns){ .proc_is_first = true };
	id_cnt = read_own_ids(proc, &ns->proc_tgid);
	if (id_cnt < 0)
		return refuse(proc);
	ns->inum = inum_of(proc, "self");
	if (ns->inum == FIRST_INUM)
		ns->inum = 0;
	if (!ns->inum)
		return 0;
	ns->proc_is_first = id_cnt > 1;
	if (ns->proc_is_first) {
		uint32_t first_inum = inum_of(proc, "1");

		if (!first_inum)
			return refuse_hidden(proc);
		if (first_inum != FIRST_INUM)
			return refuse(proc);
	}
	ns->tids = calloc(NFG_SCOPE_CNT, sizeof(*ns->tids));
	ns->ids = calloc(NFG_SCOPE_CNT, sizeof(*ns->ids));
	return ns->tids && ns->ids ? 0 : -ENOMEM;
}

void pidns_release(struct pidns *ns)
{
	free(ns->tids);
	free(ns->ids);
	*ns = (struct pidns){ 0 };
}

void pidns_take(struct pidns *ns, uint32_t id, uint32_t tid)
{
	if (!ns->inum || tid >= NFG_SCOPE_CNT || id >= NFG_SCOPE_CNT)
		return;
	ns->ids[tid] = id;
	if (!id)
		return;
	if (ns->tids[id] != tid && ns->ids[ns->tids[id]] == id)
		ns->ids[ns->tids[id]] = 0; /* another task had it */
	ns->tids[id] = tid;
}

uint32_t pidns_tid(const struct pidns *ns, uint32_t id)
{
	if (!ns->inum)
		return id;
	return id < NFG_SCOPE_CNT ? ns->tids[id] : 0;
}

uint32_t pidns_tid_in_proc(const struct pidns *ns, uint32_t id)
{
	return ns->proc_is_first ? id : pidns_tid(ns, id);
}

uint32_t pidns_proc_id(const struct pidns *ns, uint32_t tid)
{
	if (ns->proc_is_first)
		return tid;
	return tid < NFG_SCOPE_CNT ? ns->ids[tid] : 0;
}
