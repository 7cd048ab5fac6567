#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/cleantext.h"
#include "base/host.h"
#include "base/log.h"

int stream_own(int fd)
{
	char path[32];
	struct stat st;
	int own;

	if (fstat(fd, &st) || !(S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode)))
		return fd;
	/* a descriptor for reading only stays as it is */
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return fd;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return own < 0 ? fd : own;
}

ssize_t stream_write(int fd, const void *bytes, size_t len)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };
	ssize_t done;

	if (poll(&pfd, 1, 0) <= 0)
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

void stream_wait(int fd, int wait_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLOUT };

	poll(&pfd, 1, wait_ms);
}

void openhint_read(int err)
{
	if (err == -ENOENT)
		log_hint("'netfgraph record -o FILE' makes a recording");
	else if (err == -EISDIR)
		log_hint("give the name of a file in this directory");
	else if (err == -EACCES)
		log_hint("its owner and root may read it");
}

/* A file cannot be made in the directory that the first @len bytes of @path name. */
static void hint_directory(const char *path, size_t len)
{
	struct strbuf hint = { 0 };
	char *dir = strndup(path, len);

	if (!dir)
		return;
	if (!access(dir, F_OK)) {
		log_hint("that directory takes no new files: -o takes a file elsewhere");
	} else {
		strbuf_str(&hint, "mkdir -p ");
		strbuf_shell(&hint, dir);
		log_hint("%s makes the directory", strbuf_cstr(&hint));
	}
	strbuf_release(&hint);
	free(dir);
}

void openhint_directory(const char *dir, int err)
{
	if (err == -ENOENT)
		hint_directory(dir, strlen(dir));
	else if (err == -EACCES)
		log_hint("give a directory that you may write to");
}

/* openhint_write - as openhint_read, for the output file @path. */
static void openhint_write(const char *path, int err)
{
	const char *slash = strrchr(path, '/');

	if (err == -ELOOP)
		log_hint("a symbolic link in it leads back to itself: -o takes another name");
	else if (err == -ENOENT && slash && slash > path)
		hint_directory(path, (size_t)(slash - path));
	else if (err == -EISDIR)
		log_hint("-o takes the name of a file");
	else if (err == -EOPNOTSUPP)
		log_hint("-o takes a file on a disk or in memory, such as /tmp/trace");
	else if (err == -EACCES)
		log_hint("-o takes a file in a directory that you may write to");
}

#define STALL_MS   2000
#define FINISH_NS  30000000000ull
#define LOOK_MS    50 /* how often we look whether to stop */
#define OPEN_FLAGS (O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
#define OPEN_MODE  0600

const char *outfile_name(const struct outfile *f)
{
	return f->path ? f->path : "standard output";
}

const char *outfile_strerror(int err)
{
	if (err == -EPIPE)
		return "its reader is gone";
	if (err == -ETIMEDOUT)
		return "its reader has stopped reading";
	return strerror(-err);
}

/* ---- open ---- */

/* Return: whether @path is in a sticky world-writable directory; *owner: the directory's owner. */
static bool is_in_sticky_dir(const char *path, uid_t *owner)
{
	char copy[PATH_MAX];
	struct stat st;

	if (strlen(path) >= sizeof(copy))
		return false;
	strcpy(copy, path);
	if (stat(dirname(copy), &st) || !(st.st_mode & S_ISVTX) || !(st.st_mode & S_IWOTH))
		return false;
	*owner = st.st_uid;
	return true;
}

static bool is_trusted(const struct stat *st, uid_t dir_owner)
{
	return st->st_uid == geteuid() || st->st_uid == dir_owner;
}

int outfile_open_dir(const char *path)
{
	char copy[PATH_MAX];
	size_t len = strlen(path);
	struct stat st;
	bool is_link;
	uid_t owner;
	int fd;

	while (len > 1 && path[len - 1] == '/') /* after a link it means the directory there */
		len--;
	if (len >= sizeof(copy))
		return -ENAMETOOLONG;
	snprintf(copy, sizeof(copy), "%.*s", (int)len, path);
	if (is_in_sticky_dir(copy, &owner)) {
		/* other users cannot replace entries of ours or of the directory's owner */
		is_link = !lstat(copy, &st) && S_ISLNK(st.st_mode);
		if (is_link && !is_trusted(&st, owner))
			return -ELOOP;
		fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (is_link ? 0 : O_NOFOLLOW));
		if (fd < 0)
			return -errno;
		if (is_link || (!fstat(fd, &st) && is_trusted(&st, owner)))
			return fd;
		close(fd);
		return -EACCES;
	}
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_path(struct outfile *f, int flags)
{
	f->fd = open(f->path, flags | O_EXCL, OPEN_MODE);
	f->is_new = f->fd >= 0;
	if (f->fd < 0 && errno == EEXIST)
		f->fd = open(f->path, flags, OPEN_MODE);
	f->is_own_fd = f->fd >= 0;
	return f->is_own_fd ? 0 : -errno;
}

/*
 * In a sticky directory: refuse files of other users, and files with a second name, which may be another user's link.
 */
static bool may_take(const struct outfile *f, const struct stat *st, uid_t dir_owner)
{
	if (S_ISREG(st->st_mode))
		return is_trusted(st, dir_owner) && (f->is_new || st->st_nlink == 1);
	return !S_ISFIFO(st->st_mode) || is_trusted(st, dir_owner);
}

/* Create a file with a random name in the directory of @path. *name: it. Return: a descriptor or -errno. */
static int open_temporary(const char *path, char name[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	int len = snprintf(name, PATH_MAX, "%.*s.netfgraph-XXXXXX",
			   slash ? (int)(slash + 1 - path) : 0, path);
	int fd = len < PATH_MAX ? mkostemp(name, O_CLOEXEC) : -1;

	return fd >= 0 ? fd : len < PATH_MAX ? -errno : -ENAMETOOLONG;
}

/*
 * Open a file without a name where the file @f is to be, so that it is known early whether it can be created. It leaves
 * nothing behind, however this process ends.
 */
static int open_unnamed(struct outfile *f)
{
	const char *slash = strrchr(f->path, '/');
	char name[PATH_MAX];

	if (snprintf(name, sizeof(name), "%.*s.", slash ? (int)(slash + 1 - f->path) : 0,
		     f->path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	f->fd = open(name, O_TMPFILE | O_WRONLY | O_CLOEXEC, OPEN_MODE);
	if (f->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		/* such a file cannot get a name later; another is created then */
		f->fd = open_temporary(f->path, name);
		if (f->fd < 0)
			return f->fd;
		unlink(name);
	}
	f->is_unnamed = f->is_own_fd = f->fd >= 0;
	return f->is_own_fd ? 0 : -errno;
}

/* Whether nothing has the name @path, so that a file may get it later. */
static bool is_free_name(const char *path)
{
	struct stat st;

	return path[strlen(path) - 1] != '/' && lstat(path, &st) && errno == ENOENT;
}

#ifndef CONFIGFS_MAGIC /* not in linux/magic.h */
#define CONFIGFS_MAGIC 0x62656570
#endif

/* Whether an open file is a setting, or something to read, of the kernel. */
static bool is_of_kernel(int fd, const struct stat *st)
{
	static const unsigned int pseudo[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,    CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		TRACEFS_MAGIC,    DEBUGFS_MAGIC,  SECURITYFS_MAGIC,   SELINUX_MAGIC,
		BPF_FS_MAGIC,     EFIVARFS_MAGIC, BINFMTFS_MAGIC,     CONFIGFS_MAGIC,
	};
	struct statfs fs;

	if (!S_ISREG(st->st_mode) || fstatfs(fd, &fs))
		return false;
	for (size_t i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++) {
		if ((unsigned int)fs.f_type == pseudo[i])
			return true;
	}
	return false;
}

static int open_checked(struct outfile *f, const volatile int *stop_cnt)
{
	const struct timespec look = { .tv_nsec = LOOK_MS * 1000000 };
	uid_t owner = 0;
	bool is_sticky = is_in_sticky_dir(f->path, &owner);
	int flags = OPEN_FLAGS;
	struct stat st;
	int err;

	if (f->is_held && is_free_name(f->path))
		return open_unnamed(f);
	/* in a sticky directory nobody else can replace our link */
	if (is_sticky && !lstat(f->path, &st) && S_ISLNK(st.st_mode) && !is_trusted(&st, owner))
		return -ELOOP;
	if (is_sticky && (lstat(f->path, &st) || !S_ISLNK(st.st_mode)))
		flags |= O_NOFOLLOW;
	err = open_path(f, flags);
	while (err == -ENXIO && !stat(f->path, &st) && S_ISFIFO(st.st_mode) &&
	       !(stop_cnt && *stop_cnt)) {
		if (is_sticky && !may_take(f, &st, owner))
			return -EACCES;
		nanosleep(&look, NULL);
		err = open_path(f, flags);
	}
	if (err)
		return err;
	if (fstat(f->fd, &st))
		return -errno;
	if (is_sticky && !may_take(f, &st, owner))
		return -EACCES;
	if (is_of_kernel(f->fd, &st))
		return -EOPNOTSUPP;
	f->is_stream = !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	return 0;
}

static int open_stdout(struct outfile *f)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st))
		return -errno;
	f->path = NULL;
	f->is_stream = !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode);
	f->fd = stream_own(STDOUT_FILENO);
	f->is_own_fd = f->fd != STDOUT_FILENO;
	return 0;
}

/* Whether links lead in a circle, so that nobody can open it; others are refused. */
static bool is_loop(const char *path)
{
	struct stat st;

	return stat(path, &st) && errno == ELOOP;
}

static int open_file(struct outfile *f, const char *path, bool is_held,
		     const volatile int *stop_cnt)
{
	int err;

	*f = (struct outfile){ .path = path, .fd = -1, .is_held = is_held, .wait_ms = -1 };
	if (path && strcmp(path, "/dev/stdout") != 0)
		err = open_checked(f, stop_cnt);
	else
		err = open_stdout(f);
	/* if opened twice, the two descriptors would overwrite each other's output */
	if (!err && f->path && outfile_is_same(f, STDOUT_FILENO)) {
		close(f->fd);
		err = open_stdout(f);
	}
	if (!err)
		return 0;
	if (err == -ENXIO && stop_cnt && *stop_cnt)
		log_error("'%s' was never opened by a reader", outfile_name(f));
	else
		log_error("cannot write '%s': %s", outfile_name(f),
			  err == -EOPNOTSUPP ? "that is a file of the kernel" : strerror(-err));
	if ((err == -ELOOP || err == -EACCES) && path && !is_loop(path) &&
	    is_in_sticky_dir(path, &(uid_t){ 0 }))
		log_hint(
			"a link, file or FIFO of another user, or a file with several names, is refused in a world-writable directory");
	else if (path)
		openhint_write(path, err);
	outfile_abandon(f);
	return err;
}

int outfile_open(struct outfile *f, const char *path, const volatile int *stop_cnt)
{
	return open_file(f, path, false, stop_cnt);
}

int outfile_open_held(struct outfile *f, const char *path, const volatile int *stop_cnt)
{
	return open_file(f, path, true, stop_cnt);
}

bool outfile_is_same(const struct outfile *f, int fd)
{
	struct stat ours;
	struct stat st;

	return !fstat(f->fd, &ours) && !fstat(fd, &st) && S_ISREG(ours.st_mode) &&
	       ours.st_dev == st.st_dev && ours.st_ino == st.st_ino;
}

/* ---- write ---- */

static int output_failed(struct outfile *f, int err)
{
	f->unwritten_bytes += f->queue.len - f->queue_at;
	if (f->whole_rows && f->is_stream && f->queue_at)
		f->is_torn = f->whole_rows(f->queue.ptr, f->queue_at) < f->queue_at;
	strbuf_reset(&f->queue);
	f->queue_at = 0;
	f->err = err;
	return err;
}

static int write_file(struct outfile *f, const char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		ssize_t part = write(f->fd, bytes + at, len - at);

		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0) {
			int err = part ? -errno : -EIO;
			size_t torn_bytes = f->whole_rows ? at - f->whole_rows(bytes, at) : 0;
			uint64_t end = f->bytes - torn_bytes;

			if (torn_bytes) {
				outfile_cut(f, end);
				f->is_torn = f->bytes != end;
			}
			return output_failed(f, err);
		}
		f->bytes += (size_t)part;
		at += (size_t)part;
	}
	return 0;
}

/* Write as much of the queue as fits. */
static int push(struct outfile *f)
{
	while (f->queue_at < f->queue.len) {
		ssize_t part =
			stream_write(f->fd, f->queue.ptr + f->queue_at, f->queue.len - f->queue_at);

		if (part == -EAGAIN)
			return 0;
		if (part < 0)
			return output_failed(f, (int)part);
		f->bytes += (size_t)part;
		f->queue_at += (size_t)part;
	}
	strbuf_reset(&f->queue);
	f->queue_at = 0;
	return 0;
}

static bool output_is_over(struct outfile *f, uint64_t moved_ns)
{
	uint64_t now = host_time_ns();

	if (f->stop_cnt && *f->stop_cnt != f->stopped_cnt) {
		if (f->wait_ms >= 0)
			return true;
		outfile_limit(f, f->stop_cnt); /* the first caller gets the value read */
	}
	if (f->end_ns && now >= f->end_ns)
		return true;
	return f->wait_ms > 0 && now - moved_ns >= (uint64_t)f->wait_ms * 1000000;
}

static int push_all(struct outfile *f)
{
	uint64_t moved_ns = host_time_ns();
	int err = push(f);

	while (!err && f->wait_ms && outfile_is_behind(f)) {
		size_t at = f->queue_at;

		if (output_is_over(f, moved_ns))
			return output_failed(f, -ETIMEDOUT);
		stream_wait(f->fd, f->wait_ms < 0 && !f->stop_cnt ? -1 : LOOK_MS);
		err = push(f);
		if (f->queue_at != at)
			moved_ns = host_time_ns();
	}
	return err;
}

static int outfile_put(struct outfile *f, const void *bytes, size_t len)
{
	if (!f->is_stream && !f->is_held)
		return write_file(f, bytes, len);
	strbuf_add(&f->queue, bytes, len);
	if (!strbuf_ok(&f->queue))
		return output_failed(f, -ENOMEM);
	return f->is_held ? 0 : push_all(f);
}

void outfile_look(struct outfile *f)
{
	struct pollfd pfd = { .fd = f->fd };

	if (f->path || !f->is_stream || f->is_held || f->err)
		return;
	/* the pipe, socket or terminal has no other end */
	if (poll(&pfd, 1, 0) > 0 && pfd.revents & (POLLERR | POLLHUP))
		output_failed(f, -EPIPE);
}

/* Drop the old contents, before the first byte is written. */
static int replace(struct outfile *f)
{
	int flags;

	f->is_begun = true;
	if (f->is_stream)
		return 0;
	if (f->path && f->is_own_fd) {
		if (ftruncate(f->fd, 0) && errno != EINVAL) /* a device without a size */
			return output_failed(f, -errno);
		return 0;
	}
	/* another process opened the file, and may have written to it */
	flags = fcntl(f->fd, F_GETFL);
	f->base = lseek(f->fd, 0, flags >= 0 && flags & O_APPEND ? SEEK_END : SEEK_CUR);
	if (f->base < 0)
		f->base = 0;
	return 0;
}

/* Give a file that holds @bytes the name, in place of what has it. */
static int name_another(struct outfile *f, const void *bytes, size_t len)
{
	char name[PATH_MAX];
	int fd = open_temporary(f->path, name);
	int err;

	if (fd < 0)
		return output_failed(f, fd);
	close(f->fd);
	f->fd = fd;
	f->bytes = 0;
	err = write_file(f, bytes, len);
	if (!err && rename(name, f->path))
		err = output_failed(f, -errno);
	if (err)
		unlink(name);
	return err;
}

/* The first @bytes come before the name, so that nobody reads a part of them. */
static int first_bytes(struct outfile *f, const void *bytes, size_t len)
{
	char ours[32];
	int err;

	if (!f->is_unnamed) {
		err = replace(f);
		return err ? err : outfile_put(f, bytes, len);
	}
	err = write_file(f, bytes, len);
	snprintf(ours, sizeof(ours), "/proc/self/fd/%d", f->fd);
	/* without O_TMPFILE or /proc there is no link; somebody else may have taken the name meanwhile, too */
	if (!err && linkat(AT_FDCWD, ours, AT_FDCWD, f->path, AT_SYMLINK_FOLLOW))
		err = name_another(f, bytes, len);
	f->is_unnamed = err != 0;
	f->is_begun = !err;
	return err;
}

int outfile_begin(struct outfile *f)
{
	struct strbuf held = f->queue;
	int err;

	if (f->err || f->is_begun)
		return f->err;
	f->queue = (struct strbuf){ 0 };
	f->is_held = false;
	err = first_bytes(f, held.ptr, held.len);
	strbuf_release(&held);
	return err;
}

int outfile_write(struct outfile *f, const void *bytes, size_t len)
{
	if (f->err)
		return f->err;
	if (len && !f->is_begun && !f->is_held)
		return first_bytes(f, bytes, len);
	return outfile_put(f, bytes, len);
}

void outfile_limit(struct outfile *f, const volatile int *stop_cnt)
{
	f->wait_ms = STALL_MS;
	f->end_ns = host_time_ns() + FINISH_NS;
	f->stop_cnt = stop_cnt;
	f->stopped_cnt = *stop_cnt;
}

void outfile_cut(struct outfile *f, uint64_t bytes)
{
	struct stat st;

	if (f->is_stream || !f->is_begun || bytes > f->bytes || fstat(f->fd, &st))
		return;
	/* bytes after ours belong to another process */
	if (st.st_size != f->base + (off_t)f->bytes || ftruncate(f->fd, f->base + (off_t)bytes))
		return;
	lseek(f->fd, f->base + (off_t)bytes, SEEK_SET);
	f->bytes = bytes;
}

/* ---- rotate ---- */

/* FILE, FILE.1, FILE.2 ... */
static int numbered(char *to, const struct outfile *f, unsigned int number)
{
	int len = number ? snprintf(to, PATH_MAX, "%s.%u", f->path, number)
			 : snprintf(to, PATH_MAX, "%s", f->path);

	return len < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int outfile_check_rotate(const struct outfile *f)
{
	if (f->path && !f->is_stream)
		return 0;
	log_error("--rotate: '%s' cannot be rotated", outfile_name(f));
	log_hint("-o FILE names a file that can");
	return -EINVAL;
}

int outfile_rotate(struct outfile *f, unsigned int cnt)
{
	char from[PATH_MAX];
	char to[PATH_MAX];
	int err = f->err;

	for (unsigned int i = cnt - 1; i > 0 && !err; i--) {
		if (numbered(from, f, i - 1) || numbered(to, f, i))
			err = -ENAMETOOLONG;
		else if (rename(from, to) && errno != ENOENT)
			err = -errno;
	}
	if (err)
		return output_failed(f, err);
	if (close(f->fd))
		err = -errno;
	f->fd = open(f->path, OPEN_FLAGS | O_EXCL | O_NOFOLLOW, OPEN_MODE);
	f->is_own_fd = f->fd >= 0;
	f->bytes = 0;
	if (f->fd < 0)
		err = -errno;
	return err ? output_failed(f, err) : 0;
}

/* ---- close ---- */

static int output_release(struct outfile *f)
{
	int err = f->is_own_fd && f->fd >= 0 && close(f->fd) ? -errno : 0;

	f->fd = -1;
	strbuf_release(&f->queue);
	return err;
}

int outfile_close(struct outfile *f)
{
	int err = outfile_begin(f);
	int close_err;

	if (!err)
		err = outfile_write(f, NULL, 0);
	close_err = output_release(f);
	return err ? err : close_err;
}

void outfile_abandon(struct outfile *f)
{
	struct stat ours;
	struct stat st;

	if (f->is_new && !f->is_begun && f->fd >= 0 && !fstat(f->fd, &ours) &&
	    !lstat(f->path, &st) && st.st_dev == ours.st_dev && st.st_ino == ours.st_ino &&
	    unlink(f->path))
		log_hint("cannot remove the empty '%s': %s", f->path, strerror(errno));
	output_release(f);
}

int wholefile_write(const char *path, struct text bytes)
{
	char name[PATH_MAX];
	int err;
	int fd;

	/* readers that search by ending ignore the temporary name: its end is random */
	if (snprintf(name, sizeof(name), "%s.XXXXXX", path) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = outfile_write(&(struct outfile){ .fd = fd }, bytes.ptr, bytes.len);
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

#define BANNER_LINES 4

static bool is_leavable; /* standard output's reader may leave */

void output_leavable(bool is)
{
	is_leavable = is;
}

int output_open(struct output *out, const char *path, const volatile int *stop_cnt)
{
	int err;

	*out = (struct output){ 0 };
	err = outfile_open(&out->file, path, stop_cnt);
	out->is_live = out->file.is_stream;
	return err;
}

int output_open_held(struct output *out, const char *path, const volatile int *stop_cnt)
{
	int err;

	*out = (struct output){ 0 };
	err = outfile_open_held(&out->file, path, stop_cnt);
	out->is_live = out->file.is_stream;
	return err;
}

bool output_was_left(const struct output *out)
{
	return out->err == -EPIPE && is_leavable && !out->file.path;
}

static int output_fail(struct output *out, int err)
{
	if (!out->err) {
		out->err = err;
		if (output_was_left(out))
			return err;
		/* no message if the reader is gone; if it only stopped reading, the message comes at the end */
		log_error("cannot write to '%s': %s%s", outfile_name(&out->file),
			  outfile_strerror(err),
			  out->file.is_torn && err != -EPIPE && err != -ETIMEDOUT
				  ? "; its last row is cut short"
				  : "");
	}
	return out->err;
}

/* ---- rows ---- */

/* Return: the length of the row at @bytes; 0: incomplete. A banner has four lines, every other row one. */
static size_t row_len(const char *bytes, size_t len)
{
	static const char rule[] = " ------";
	bool is_banner = len >= sizeof(rule) - 1 && !memcmp(bytes, rule, sizeof(rule) - 1);
	size_t at = 0;

	for (int lines = is_banner ? BANNER_LINES : 1; lines; lines--) {
		const char *end = memchr(bytes + at, '\n', len - at);

		if (!end)
			return 0;
		at = (size_t)(end + 1 - bytes);
	}
	return at;
}

static size_t whole_rows(const char *bytes, size_t len)
{
	size_t whole = 0;
	size_t row;

	while ((row = row_len(bytes + whole, len - whole)))
		whole += row;
	return whole;
}

void output_rows(struct output *out)
{
	out->file.whole_rows = whole_rows;
}

int output_begin(struct output *out)
{
	int err = outfile_begin(&out->file);

	return err ? output_fail(out, err) : 0;
}

int output_limit(struct output *out, uint64_t max_bytes, uint64_t rotate_bytes, uint32_t rotate_cnt)
{
	out->max_bytes = max_bytes;
	out->rotate_bytes = rotate_bytes;
	out->rotate_cnt = rotate_cnt;
	strbuf_add(&out->header, out->buf.ptr, out->buf.len);
	return rotate_bytes ? outfile_check_rotate(&out->file) : 0;
}

/* The length of the whole rows that fit; a file without rows gets at least one. */
static size_t rows_that_fit(const struct output *out, const char *bytes, size_t len)
{
	uint64_t limit = out->max_bytes ? out->max_bytes : out->rotate_bytes;
	uint64_t room = out->text_bytes < limit ? limit - out->text_bytes : 0;
	size_t fit = 0;

	if (len <= room)
		return len;
	while (fit < len) {
		size_t row = row_len(bytes + fit, len - fit);

		if (!row)
			row = len - fit;
		if (fit + row > room && (fit || out->text_bytes > out->header.len))
			break;
		fit += row;
	}
	return fit;
}

static int flush_limited(struct output *out)
{
	size_t at = 0;
	int err = 0;

	while (at < out->buf.len && !out->is_full && !err) {
		size_t len = rows_that_fit(out, out->buf.ptr + at, out->buf.len - at);

		out->text_bytes += len;
		err = outfile_write(&out->file, out->buf.ptr + at, len);
		at += len;
		if (err || at == out->buf.len)
			break;
		if (out->max_bytes) {
			out->is_full = true;
			log_warn("the trace ends here: '%s' has reached its --max-size",
				 outfile_name(&out->file));
			break;
		}
		err = outfile_rotate(&out->file, out->rotate_cnt);
		out->text_bytes = out->header.len;
		if (!err)
			err = outfile_write(&out->file, out->header.ptr, out->header.len);
	}
	return err;
}

int output_flush(struct output *out)
{
	int err;

	if (out->err)
		return out->err;
	if (!strbuf_ok(&out->buf))
		return output_fail(out, -ENOMEM);
	if (out->buf.len && (out->max_bytes || out->rotate_bytes))
		err = flush_limited(out);
	else
		err = outfile_write(&out->file, out->buf.ptr, out->buf.len);
	strbuf_reset(&out->buf);
	return err ? output_fail(out, err) : 0;
}

int output_close(struct output *out)
{
	int err = output_flush(out);
	int close_err;

	strbuf_release(&out->buf);
	strbuf_release(&out->header);
	close_err = outfile_close(&out->file);
	if (!err && close_err)
		err = output_fail(out, close_err);
	if (err == -ETIMEDOUT)
		log_hint("%" PRIu64 " bytes of text were not written%s; -o FILE needs no reader",
			 out->file.unwritten_bytes,
			 out->file.is_torn ? ", its last row is cut short" : "");
	return err;
}

void output_abandon(struct output *out)
{
	strbuf_release(&out->buf);
	strbuf_release(&out->header);
	outfile_abandon(&out->file);
}

int output_page(struct strbuf *text, color_find *paint)
{
	struct strbuf page = { 0 };
	int err = 0;

	clean_add(&page, text->ptr, text->len, CLEAN_PAGE);
	if (paint && color_in_output(NULL) && strbuf_ok(&page))
		color_lines(&page, 0, paint);
	if (!strbuf_ok(text) || !strbuf_ok(&page))
		err = ENOMEM;
	else if (fwrite(page.ptr, 1, page.len, stdout) != page.len || fflush(stdout))
		err = errno;
	strbuf_release(&page);
	strbuf_release(text);
	if (!err || (is_leavable && err == EPIPE))
		return 0;
	log_error("cannot write to standard output: %s", strerror(err));
	return -EIO;
}
