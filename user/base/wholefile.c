#include "base/wholefile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, struct text bytes)
{
	while (bytes.len) {
		ssize_t cnt = write(fd, bytes.ptr, bytes.len);

		if (cnt < 0 && errno != EINTR)
			return -errno;
		if (cnt <= 0)
			continue;
		bytes.ptr += cnt;
		bytes.len -= (size_t)cnt;
	}
	return 0;
}

/* Readers that look for names with a certain ending do not take this one for theirs. */
static int fill(char *name, const char *path, struct text bytes)
{
	int fd = mkostemp(name, O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, bytes);
	if (!err && (fchmod(fd, 0644) || fsync(fd)))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (!err && rename(name, path))
		err = -errno;
	if (err)
		unlink(name);
	return err;
}

int wholefile_write(const char *path, struct text bytes)
{
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%s.XXXXXX", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	return fill(name, path, bytes);
}
