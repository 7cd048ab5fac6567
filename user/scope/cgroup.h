#ifndef NFG_SCOPE_CGROUP_H
#define NFG_SCOPE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The cgroup v2 tree. BPF helpers support only this hierarchy; a cgroup's id is its kernfs id, the inode number of
 * its directory (`stat -c %i`).
 *
 * Errors in user input are logged here, with log_error and log_hint; callers log nothing.
 */
struct cgroup_host {
	char proc[PATH_MAX]; /* the procfs mount: "/proc" */
	char root[PATH_MAX]; /* the cgroup2 mount, no trailing slash; "": none */
	bool is_hybrid;      /* cgroup v1 is mounted too, and has the controllers */
	bool is_namespaced; /* the root is not the host's: a cgroup namespace, or a part of the tree is mounted */
	const char *lack; /* why there is no v2 tree, one line; NULL: there is one */
	/* whether a directory is in cgroup2, by statfs; replaced in tests */
	bool (*is_cgroup2)(const char *path);
	/*
	 * for tests: a prefix for /var and /run, where container runtimes keep their state (NULL: none), and the home
	 * of a user (NULL: from passwd)
	 */
	const char *state;
	bool (*home_of)(uint32_t uid, char *home, size_t size);
};

struct cgroup {
	uint64_t id;
	unsigned int level; /* depth below the root (0); equals the kernel's unless is_namespaced */
	int fd;             /* the directory, open for reading, as a BPF cgroup array needs it */
	char path
		[PATH_MAX]; /* from the root, as in /proc/PID/cgroup: "/", "/system.slice/a.service" */
};

/*
 * cgroup_host_find - find this host's v2 tree in @proc/self/mountinfo (@proc is "/proc" except in tests): unified,
 * hybrid, or mounted elsewhere. @is_cgroup2: NULL: statfs.
 *
 * Logs nothing (see cgroup_explain_lack). Return: 0, -ENOTSUP when the host has only cgroup v1 or no cgroups (see
 * lack), -errno when mountinfo cannot be read.
 */
int cgroup_host_find(struct cgroup_host *host, const char *proc,
		     bool (*is_cgroup2)(const char *path));

/* cgroup_explain_lack - log why there is no v2 tree and what to use instead. */
void cgroup_explain_lack(const struct cgroup_host *host);

/*
 * cgroup_resolve - the cgroup named by @text: a path below the mount (/sys/fs/cgroup/web), a path from the tree's
 * root (/web, web, system.slice/x.service), or a decimal id. A cgroup with a number as its path needs a slash: /123.
 *
 * Return: 0, and the caller closes with cgroup_release; else -errno, already logged: -ENOENT no such path or id,
 * -ENOTDIR, -EMEDIUMTYPE not in cgroup v2, -ENOTSUP no v2 tree, -EINVAL empty.
 */
int cgroup_resolve(const struct cgroup_host *host, const char *text, struct cgroup *out);

/*
 * cgroup_open - open the cgroup at @path from the tree's root; logs nothing.
 *
 * Return: 0, the caller closes with cgroup_release, or -errno.
 */
int cgroup_open(const struct cgroup_host *host, const char *path, struct cgroup *out);

/* cgroup_release - close it. Zeroed storage must not be released: its fd is 0. */
void cgroup_release(struct cgroup *cg);

struct cgroup_seen {
	const char *path; /* from the tree's root; borrowed during the visit */
	const char *name; /* its last component; "" for the root */
	uint64_t id;
	unsigned int level;
};

/*
 * cgroup_walk - call @visit for the cgroup at @path and all its descendants, parents first, until it returns nonzero.
 * Leaves are not opened; a cgroup that is removed during the walk is skipped.
 *
 * Return: 0, @visit's nonzero value, or -errno: @path itself cannot be read, or a cgroup below it cannot for a reason
 * other than its permissions.
 */
int cgroup_walk(const struct cgroup_host *host, const char *path,
		int (*visit)(void *ctx, const struct cgroup_seen *seen), void *ctx);

/*
 * cgroup_pids - call @visit with every process of the cgroup at @path and of its descendants, with every thread in a
 * threaded cgroup; with 0 for each task of a pid namespace that we cannot see. A task that moves during the walk may be
 * seen twice, or not at all.
 *
 * Return: the number of calls, or -errno: @path itself, or the tasks of an existing cgroup, cannot be read.
 */
int cgroup_pids(const struct cgroup_host *host, const char *path,
		void (*visit)(void *ctx, uint32_t pid), void *ctx);

#endif
