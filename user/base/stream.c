#include "base/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int stream_own(int fd)
{
	char path[32];
	struct stat st;
	int own;

	if (fstat(fd, &st) || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return fd;
	/* what cannot be written stays that */
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? fd : own;
}

static bool has_room(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	return poll(&pfd, 1, 0) > 0;
}

ssize_t stream_write(int fd, const void *bytes, size_t len)
{
	ssize_t done;

	if (!has_room(fd))
		return -EAGAIN;
	done = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (done < 0 && errno == ENOTSOCK) {
		int flags = fcntl(fd, F_GETFL);

		if (len > PIPE_BUF && (flags < 0 || !(flags & O_NONBLOCK)))
			len = PIPE_BUF;
		done = write(fd, bytes, len);
	}
	if (done >= 0)
		return done;
	return errno == EINTR || errno == EWOULDBLOCK ? -EAGAIN : -errno;
}

bool stream_is_left(int fd)
{
	struct pollfd pfd = { .fd = fd };

	return poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLERR | POLLHUP);
}

void stream_wait(int fd, int wait_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	poll(&pfd, 1, wait_ms);
}
