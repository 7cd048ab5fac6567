#include "scope/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t statefile_enter(uint32_t uid)
{
	return (uint32_t)setfsuid(uid ? uid : geteuid());
}

void statefile_leave(uint32_t before)
{
	setfsuid(before);
}

static int read_all(int fd, struct strbuf *out)
{
	ssize_t got;

	strbuf_reset(out);
	do {
		if (!strbuf_reserve(out, 16 << 10))
			return -ENOMEM;
		got = read(fd, out->ptr + out->len, out->cap - out->len);
		if (got < 0)
			return -errno;
		out->len += (size_t)got;
		if (out->len > STATEFILE_BYTES_MAX)
			return -EFBIG;
	} while (got);
	return 0;
}

int statefile_read(const char *path, struct strbuf *out)
{
	/* O_PATH opens nothing: a device does not notice, a pipe does not block */
	int place = open(path, O_PATH | O_CLOEXEC);
	char link[32];
	struct stat st;
	int err;
	int fd;

	if (place < 0)
		return -errno;
	err = fstat(place, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", place);
	fd = err ? -1 : open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (!err)
		err = fd < 0 ? -errno : read_all(fd, out);
	if (fd >= 0)
		close(fd);
	close(place);
	return err;
}
