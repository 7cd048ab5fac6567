#include "kernel/livepatch.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL_CNT 3 /* PATCH/OBJECT/FUNCTION,POSITION */

struct livepatch {
	char **funcs;
	size_t cnt;
};

static void func_add(struct livepatch *lp, const char *name)
{
	size_t len = strcspn(name, ",");
	char **funcs;

	if (!name[len])
		return;
	funcs = realloc(lp->funcs, (lp->cnt + 1) * sizeof(*funcs));
	if (!funcs)
		return;
	lp->funcs = funcs;
	funcs[lp->cnt] = strndup(name, len);
	lp->cnt += !!funcs[lp->cnt];
}

static void dir_read(struct livepatch *lp, const char *path, unsigned int level)
{
	const struct dirent *entry;
	char below[PATH_MAX];
	DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (level == LEVEL_CNT) {
			func_add(lp, entry->d_name);
			continue;
		}
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) <
		    (int)sizeof(below))
			dir_read(lp, below, level + 1);
	}
	if (dir)
		closedir(dir);
}

struct livepatch *livepatch_new(const char *root)
{
	struct livepatch *lp = calloc(1, sizeof(*lp));

	if (lp)
		dir_read(lp, root, 1);
	return lp;
}

void livepatch_free(struct livepatch *lp)
{
	for (size_t i = 0; lp && i < lp->cnt; i++)
		free(lp->funcs[i]);
	if (lp)
		free(lp->funcs);
	free(lp);
}

bool livepatch_has(const struct livepatch *lp, const char *name)
{
	for (size_t i = 0; lp && i < lp->cnt; i++) {
		if (!strcmp(lp->funcs[i], name))
			return true;
	}
	return false;
}
