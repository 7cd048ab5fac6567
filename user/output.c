#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"

int output_open(struct output *out, const char *path)
{
	struct stat st;
	int err;

	*out = (struct output){ .path = path, .fd = STDOUT_FILENO };
	if (path) {
		out->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
		if (out->fd < 0) {
			err = -errno;
			log_error("cannot write '%s': %s", path, strerror(-err));
			return err;
		}
	}
	out->is_live = !fstat(out->fd, &st) && !S_ISREG(st.st_mode);
	return 0;
}

static int fail(struct output *out, int err)
{
	if (!out->err) {
		out->err = err;
		log_error("cannot write the trace to '%s': %s",
			  out->path ? out->path : "standard output", strerror(-err));
	}
	return out->err;
}

int output_flush(struct output *out)
{
	size_t done = 0;

	if (out->err)
		return out->err;
	if (!strbuf_ok(&out->buf))
		return fail(out, -ENOMEM);
	while (done < out->buf.len) {
		ssize_t len = write(out->fd, out->buf.ptr + done, out->buf.len - done);

		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return fail(out, -errno);
		done += (size_t)len;
	}
	strbuf_reset(&out->buf);
	return 0;
}

int output_close(struct output *out)
{
	int err = output_flush(out);

	strbuf_release(&out->buf);
	if (out->path && out->fd >= 0 && close(out->fd) && !err)
		err = fail(out, -errno);
	out->fd = -1;
	return err;
}
