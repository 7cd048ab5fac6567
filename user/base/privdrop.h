#ifndef NFG_BASE_PRIVDROP_H
#define NFG_BASE_PRIVDROP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A set of capabilities: bit CAP_* of linux/capability.h. */
#define PRIVDROP_CAP(cap) (1ull << (cap))

/* privdrop_has - whether this process may use capability @cap. */
bool privdrop_has(int cap);

/*
 * privdrop_works - whether @does succeeds without capabilities.
 *
 * @does runs with an empty effective set, which is restored afterwards.
 */
bool privdrop_works(bool (*does)(void *ctx), void *ctx);

/*
 * privdrop_gained - permanently give up the capabilities from the program's file (setcap), and no others.
 *
 * For verbs that need none: files are then read and written with the user's own rights. No effect under sudo.
 */
void privdrop_gained(void);

/* privdrop_all - in a new process: give up all capabilities; the program that it execs gets none either. */
void privdrop_all(void);

/*
 * privdrop - permanently give up the privileges that this process no longer needs.
 *
 * All capabilities except @keep leave every set, including the bounding set if allowed; exec grants no new ones
 * (no_new_privs); and seccomp refuses system calls that neither reading nor tracing makes: most with EPERM; those
 * that only an intruder would make (execve, ptrace, mount and others) end the process. Existing child processes are
 * unaffected.
 *
 * @uses_bpf: bpf() is still needed. If the kernel refuses to drop something, -v logs it; it is not an error.
 */
void privdrop(uint64_t keep, bool uses_bpf);

/*
 * privdrop_helper - the same for a process of our own that parses files of others, which may take it over: it may read
 * files, allocate memory and answer, and nothing else. If it has @keep, CAP_SETUID and CAP_SETGID, it becomes a user
 * without files (65534), except for its real user. It still ends with its parent.
 *
 * Return: 0 or -errno; after an error it may have any part of its privileges, and must exit.
 */
int privdrop_helper(uint64_t keep);

/* A user that the traced command may run as. */
struct runas {
	char *name;
	char *home;
	char *shell;
	uid_t uid;
	gid_t gid;
};

/*
 * runas_find - find the user with the name or number @name.
 *
 * Return: 0, -ENOMEM, or VERDICT_USAGE after an error message: no such user, or capabilities are missing. After 0 the
 * caller frees with runas_release.
 */
int runas_find(struct runas *who, const char *name);
void runas_release(struct runas *who);

/*
 * runas_become - change this process to that user: groups, ids, HOME, USER, LOGNAME and SHELL, without capabilities.
 *
 * Return: 0 or -errno; after an error the process may be half changed and must exit.
 */
int runas_become(const struct runas *who);

/* runas_told_by_sudo - the name of the user who ran us as root with sudo; NULL: not under sudo. */
const char *runas_told_by_sudo(void);

/* ---- files that are opened before privileges go ---- */

/* infile_open - open @path for reading ("-": standard input). Return: a descriptor that the caller closes, or -errno. */
int infile_open(const char *path);

/*
 * infile_keep - open @path now, because privileges may be gone later; the next infile_open of the same path returns
 * that descriptor. One file at a time. Return: 0 or -errno.
 */
int infile_keep(const char *path);

#endif
