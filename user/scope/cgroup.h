#ifndef NFG_SCOPE_CGROUP_H
#define NFG_SCOPE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The cgroup v2 tree. BPF helpers know this hierarchy only; a cgroup's id is its kernfs id,
 * which is also the inode number of its directory (`stat -c %i`).
 *
 * Errors in what a person typed are explained here, by log_error and log_hint; the caller gets the
 * -errno and prints nothing.
 */
struct cgroup_host {
	char proc[PATH_MAX]; /* where procfs is: "/proc" */
	char root[PATH_MAX]; /* where cgroup2 is mounted, no slash at its end; "" when nowhere */
	bool is_hybrid;      /* cgroup v1 is mounted too: controllers live there, not in our tree */
	bool is_namespaced; /* the root is not the host's: a cgroup namespace, or part of the tree */
	const char *lack;   /* why there is no v2 tree: one line; NULL when there is one */
	/* whether a directory is in cgroup2, by statfs; tests with a fake tree have their own */
	bool (*is_cgroup2)(const char *path);
	/* where the state of container runtimes is, for tests: what stands before /var and /run, NULL nothing, and
	 * who is whose home, NULL as in passwd */
	const char *state;
	bool (*home_of)(uint32_t uid, char *home, size_t size);
};

struct cgroup {
	uint64_t id;
	unsigned int
		level; /* depth below the root, which is 0; the kernel's unless is_namespaced */
	int fd;        /* the directory, open for reading: what a BPF cgroup array wants */
	char path
		[PATH_MAX]; /* from the root, as in /proc/PID/cgroup: "/", "/system.slice/a.service" */
};

/*
 * cgroup_host_find - where this host's v2 tree is, from @proc/self/mountinfo ("/proc" but for
 * tests): unified, hybrid, or anywhere else. @is_cgroup2 NULL is statfs.
 *
 * Says nothing: cgroup_explain_lack does. Return: 0, -ENOTSUP when the host has cgroup v1 only or
 * no cgroups (lack says which), -errno when mountinfo cannot be read.
 */
int cgroup_host_find(struct cgroup_host *host, const char *proc,
		     bool (*is_cgroup2)(const char *path));

/* cgroup_explain_lack - log why there is no v2 tree and what to use instead. */
void cgroup_explain_lack(const struct cgroup_host *host);

/*
 * cgroup_resolve - the cgroup a person means by @text: a path below the mount
 * (/sys/fs/cgroup/web), a path from the tree's root (/web, web, system.slice/x.service), or a
 * decimal id. A cgroup whose path is a number is written with a slash: /123.
 *
 * Return: 0, the caller closes with cgroup_release; else -errno, explained: -ENOENT no such path
 * or id, -ENOTDIR, -EMEDIUMTYPE not in cgroup v2, -ENOTSUP no v2 tree, -EINVAL empty.
 */
int cgroup_resolve(const struct cgroup_host *host, const char *text, struct cgroup *out);

/*
 * cgroup_open - the cgroup at @path from the tree's root; says nothing.
 *
 * Return: 0, the caller closes with cgroup_release, or -errno.
 */
int cgroup_open(const struct cgroup_host *host, const char *path, struct cgroup *out);

/*
 * cgroup_open_id - the cgroup with this id: one system call with CAP_DAC_READ_SEARCH, else a
 * walk; says nothing.
 *
 * Return: 0, the caller closes with cgroup_release; -ENOENT, or another -errno.
 */
int cgroup_open_id(const struct cgroup_host *host, uint64_t id, struct cgroup *out);

/* cgroup_release - close it. Zeroed storage must not be released: its fd is 0. */
void cgroup_release(struct cgroup *cg);

struct cgroup_seen {
	const char *path; /* from the tree's root; borrowed during the visit */
	const char *name; /* its last component; "" for the root */
	uint64_t id;
	unsigned int level;
};

/*
 * cgroup_walk - call @visit for the cgroup at @path and all below it, parents first, until it
 * returns other than 0. Leaves are not opened; a cgroup that goes away meanwhile is skipped.
 *
 * Return: 0, what @visit returned, or -errno when @path itself cannot be read.
 */
int cgroup_walk(const struct cgroup_host *host, const char *path,
		int (*visit)(void *ctx, const struct cgroup_seen *seen), void *ctx);

enum cgroup_tasks {
	CGROUP_PROCS,   /* process ids; thread ids in a threaded cgroup, which has no others */
	CGROUP_THREADS, /* thread ids */
};

/*
 * cgroup_pids - call @visit with every task of the cgroup at @path and, with @is_recursive, of its
 * descendants. Tasks of a pid namespace we cannot see are left out. One that moves meanwhile may
 * be seen twice, or never.
 *
 * Return: how many, or -errno when @path itself cannot be read.
 */
int cgroup_pids(const struct cgroup_host *host, const char *path, enum cgroup_tasks which,
		bool is_recursive, void (*visit)(void *ctx, uint32_t pid), void *ctx);

#endif
