#ifndef NFG_PROCESS_RUNAS_H
#define NFG_PROCESS_RUNAS_H

#include <sys/types.h>

/* Somebody the traced command may run as. */
struct runas {
	char *name;
	char *home;
	char *shell;
	uid_t uid;
	gid_t gid;
};

/*
 * runas_find - the user of that name, or of that number.
 *
 * Return: 0 or -errno, which has been said: -ENOENT when there is none, -EPERM when we may not run anything
 * as him. With 0, runas_release is to be called.
 */
int runas_find(struct runas *who, const char *name);
void runas_release(struct runas *who);

/*
 * runas_become - this process is that user's from here on: groups, ids, no capability that we had, HOME,
 * USER, LOGNAME and SHELL.
 *
 * Return: 0 or -errno; then it may be half done and must not go on.
 */
int runas_become(const struct runas *who);

/* runas_told_by_sudo - who called sudo to run us as root; NULL: nobody. */
const char *runas_told_by_sudo(void);

#endif
