/* Where this host has its cgroup v2 tree. */
#include "scope/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"

#define CGROUP2_MAGIC 0x63677270 /* CGROUP2_SUPER_MAGIC of linux/magic.h */

static bool statfs_is_cgroup2(const char *path)
{
	struct statfs fs;

	return !statfs(path, &fs) && (uint32_t)fs.f_type == CGROUP2_MAGIC;
}

/* mountinfo writes blanks and backslashes as \040: put them back, in place. */
static void octal_unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from;) {
		if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
		    from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

struct mount {
	char *root;  /* what of the file system is mounted */
	char *point; /* where */
	char *type;
};

/* "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw", cut in place. */
static bool mount_parse(char *line, struct mount *mnt)
{
	char *save = NULL;
	char *rest = strstr(line, " - ");
	char *fields[5];

	if (!rest)
		return false;
	*rest = '\0';
	for (size_t i = 0; i < 5; i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &save);
		if (!fields[i])
			return false;
	}
	mnt->root = fields[3];
	mnt->point = fields[4];
	mnt->type = strtok_r(rest + 3, " ", &save);
	octal_unescape(mnt->root);
	octal_unescape(mnt->point);
	return mnt->type != NULL;
}

/* A mount of the whole tree is better than one of a part; of equal mounts the first one counts. */
static void mount_consider(struct cgroup_host *host, const struct mount *mnt, bool *is_whole)
{
	bool whole = !strcmp(mnt->root, "/");

	if (!strcmp(mnt->type, "cgroup"))
		host->is_hybrid = true;
	if (strcmp(mnt->type, "cgroup2") || (host->root[0] && (*is_whole || !whole)))
		return;
	if (strlen(mnt->point) >= sizeof(host->root) || !host->is_cgroup2(mnt->point))
		return; /* something is mounted over it */
	strcpy(host->root, mnt->point);
	*is_whole = whole;
}

int cgroup_host_find(struct cgroup_host *host, const char *proc,
		     bool (*is_cgroup2)(const char *path))
{
	char path[PATH_MAX + 32];
	bool is_whole = false;
	size_t size = 0;
	char *line = NULL;
	FILE *file;

	memset(host, 0, sizeof(*host));
	snprintf(host->proc, sizeof(host->proc), "%s", proc);
	host->is_cgroup2 = is_cgroup2 ? is_cgroup2 : statfs_is_cgroup2;
	snprintf(path, sizeof(path), "%s/self/mountinfo", host->proc);
	file = fopen(path, "re");
	if (!file) {
		host->lack = "the mounts of this host cannot be read from /proc/self/mountinfo";
		return -errno;
	}
	while (getline(&line, &size, file) > 0) {
		struct mount mnt;

		if (mount_parse(line, &mnt))
			mount_consider(host, &mnt, &is_whole);
	}
	free(line);
	fclose(file);
	if (!host->root[0]) {
		host->lack = host->is_hybrid
				     ? "this host has cgroup v1 only: BPF sees cgroup v2 only"
				     : "no cgroup v2 file system is mounted here";
		return -ENOTSUP;
	}
	/* only the host's root cgroup has no type */
	snprintf(path, sizeof(path), "%s/cgroup.type", host->root);
	host->is_namespaced = !is_whole || !access(path, F_OK);
	return 0;
}

void cgroup_explain_lack(const struct cgroup_host *host)
{
	if (!host->lack)
		return;
	log_error("%s", host->lack);
	if (host->is_hybrid)
		log_hint(
			"choose by process (-p PID, --tid, --comm) or network namespace (--netns PID), or boot with systemd.unified_cgroup_hierarchy=1");
	else
		log_hint(
			"mount -t cgroup2 none /sys/fs/cgroup, or choose by process (-p PID, --tid, --comm) or network namespace (--netns PID)");
}
