#include "process/runas.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "process/privdrop.h"

static const struct passwd *find(const char *name)
{
	const struct passwd *entry = getpwnam(name);
	uint64_t number;

	if (!entry && !parse_u64(name, 0, UINT32_MAX - 1, &number))
		entry = getpwuid((uid_t)number);
	return entry;
}

static int copy(struct runas *who, const struct passwd *entry)
{
	*who = (struct runas){
		.name = strdup(entry->pw_name),
		.home = strdup(entry->pw_dir),
		.shell = strdup(entry->pw_shell),
		.uid = entry->pw_uid,
		.gid = entry->pw_gid,
	};
	if (who->name && who->home && who->shell)
		return 0;
	runas_release(who);
	return -ENOMEM;
}

int runas_find(struct runas *who, const char *name)
{
	const struct passwd *entry = find(name);

	if (!entry) {
		log_error("--user: there is no user '%s'", name);
		log_hint("`getent passwd` lists all users");
		return -ENOENT;
	}
	if (!privdrop_has(CAP_SETUID) || !privdrop_has(CAP_SETGID)) {
		log_error("--user: cannot run a command as '%s' without CAP_SETUID and CAP_SETGID",
			  name);
		log_hint("run it with sudo");
		return -EPERM;
	}
	return copy(who, entry);
}

void runas_release(struct runas *who)
{
	free(who->name);
	free(who->home);
	free(who->shell);
	*who = (struct runas){ 0 };
}

static int environment_set(const struct runas *who)
{
	const char *const vars[][2] = {
		{ "HOME", who->home },
		{ "USER", who->name },
		{ "LOGNAME", who->name },
		{ "SHELL", *who->shell ? who->shell : "/bin/sh" },
	};

	for (size_t i = 0; i < sizeof(vars) / sizeof(vars[0]); i++) {
		if (setenv(vars[i][0], vars[i][1], 1))
			return -errno;
	}
	return 0;
}

int runas_become(const struct runas *who)
{
	/* ambient capabilities would survive the change of user and exec */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
	    initgroups(who->name, who->gid) || setresgid(who->gid, who->gid, who->gid) ||
	    setresuid(who->uid, who->uid, who->uid))
		return -errno;
	return environment_set(who);
}

const char *runas_told_by_sudo(void)
{
	const char *name = getenv("SUDO_USER");

	return !geteuid() && name && *name && strcmp(name, "root") != 0 ? name : NULL;
}
