#ifndef NFG_PROCESS_RUNAS_H
#define NFG_PROCESS_RUNAS_H

#include <sys/types.h>

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
 * Return: 0, -ENOMEM, or after an error message -ENOENT: no such user; -EPERM: capabilities are missing. After 0
 * the caller frees with runas_release.
 */
int runas_find(struct runas *who, const char *name);
void runas_release(struct runas *who);

/*
 * runas_become - change this process to that user: groups, ids, HOME, USER, LOGNAME and SHELL, without our
 * capabilities.
 *
 * Return: 0 or -errno, after which the process may be half changed, and must exit.
 */
int runas_become(const struct runas *who);

/* runas_told_by_sudo - the name of the user who ran us as root with sudo; NULL: not under sudo. */
const char *runas_told_by_sudo(void);

#endif
