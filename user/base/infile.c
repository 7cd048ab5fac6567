#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const char *kept_path;
static int kept_fd = -1;

static int open_now(const char *path)
{
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC)
				   : fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

int infile_open(const char *path)
{
	if (kept_fd < 0 || strcmp(path, kept_path) != 0)
		return open_now(path);
	int fd = kept_fd;

	kept_fd = -1;
	return fd;
}

int infile_keep(const char *path)
{
	int fd = open_now(path);

	if (fd < 0)
		return fd;
	if (kept_fd >= 0)
		close(kept_fd);
	kept_path = path;
	kept_fd = fd;
	return 0;
}
