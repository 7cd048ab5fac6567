#include "kernel/livepatch.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define LEVEL_CNT 3 /* PATCH/OBJECT/FUNCTION,POSITION */

struct livepatch {
	char **funcs;
	size_t cnt;
	size_t cap;
};

static int func_add(struct livepatch *lp, const char *name)
{
	size_t len = strcspn(name, ",");

	if (!name[len])
		return 0;
	if (VEC_RESERVE(lp->funcs, lp->cap, lp->cnt + 1))
		return -ENOMEM;
	lp->funcs[lp->cnt] = strndup(name, len);
	if (!lp->funcs[lp->cnt])
		return -ENOMEM;
	lp->cnt++;
	return 0;
}

/* Return: 0 or -ENOMEM; what cannot be read is not there. */
static int dir_read(struct livepatch *lp, const char *path, unsigned int level)
{
	const struct dirent *entry;
	char below[PATH_MAX];
	DIR *dir = opendir(path);
	int err = 0;

	while (dir && !err && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		if (level == LEVEL_CNT) {
			err = func_add(lp, entry->d_name);
			continue;
		}
		if (snprintf(below, sizeof(below), "%s/%s", path, entry->d_name) <
		    (int)sizeof(below))
			err = dir_read(lp, below, level + 1);
	}
	if (dir)
		closedir(dir);
	return err;
}

struct livepatch *livepatch_new(const char *root)
{
	struct livepatch *lp = calloc(1, sizeof(*lp));

	if (lp && dir_read(lp, root, 1)) {
		livepatch_free(lp);
		return NULL;
	}
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
