#include "session/ready.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/output.h"
#include "base/verdict.h"

/* Our own descriptors close on exec, so that one of them has not been inherited. */
static int take_fd(struct ready *ready, int fd)
{
	const int flags = fcntl(fd, F_GETFD);
	const int mode = fcntl(fd, F_GETFL);

	if (flags < 0 || mode < 0 || flags & FD_CLOEXEC) {
		log_error("--ready-fd: descriptor %d is not open", fd);
		log_hint("in a shell, %d>FILE behind the command opens it", fd);
		return VERDICT_USAGE;
	}
	if ((mode & O_ACCMODE) == O_RDONLY) {
		log_error("--ready-fd: descriptor %d is not open for writing", fd);
		return VERDICT_USAGE;
	}
	ready->fd = fd;
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	return 0;
}

/* As sd_notify(3) describes it: an absolute path, or an abstract name after '@'. */
static int socket_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const size_t len = strlen(path);
	int fd;
	int err;

	if (*path != '/' && *path != '@')
		return -EAFNOSUPPORT;
	if (len < 2 || len >= sizeof(addr.sun_path))
		return -EINVAL;
	memcpy(addr.sun_path, path, len);
	if (*path == '@')
		addr.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)&addr,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

int ready_open(struct ready *ready, const struct opts *opts)
{
	const char *path = getenv("NOTIFY_SOCKET");

	*ready = READY_NONE;
	if (path && *path) {
		ready->socket_fd = socket_connect(path);
		if (ready->socket_fd < 0)
			log_warn("nobody is told at NOTIFY_SOCKET='%s' when tracing begins: %s",
				 path, strerror(-ready->socket_fd));
	}
	return opts->ready_fd ? take_fd(ready, (int)opts->ready_fd) : 0;
}

static void ready_write(int fd, const char *what, const char *bytes)
{
	const size_t len = strlen(bytes);
	const ssize_t done = stream_write(fd, bytes, len);

	if (done < 0)
		log_warn("%s cannot be told that tracing has begun: %s", what,
			 strerror((int)-done));
}

void ready_tell(struct ready *ready)
{
	if (ready->fd >= 0)
		ready_write(ready->fd, "the reader of --ready-fd", "\n");
	if (ready->socket_fd >= 0)
		ready_write(ready->socket_fd, "NOTIFY_SOCKET", "READY=1");
	ready_close(ready);
}

void ready_close(struct ready *ready)
{
	if (ready->fd >= 0)
		close(ready->fd);
	if (ready->socket_fd >= 0)
		close(ready->socket_fd);
	*ready = READY_NONE;
}
