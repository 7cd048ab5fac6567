#include "process/addr2line.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "process/child.h"
#include "process/privdrop.h"
#include "process/signals.h"

/* LLVM's reads only the needed parts of a vmlinux; binutils' reads everything before them. */
static const char *const programs[] = { "llvm-addr2line", "addr2line" };
#define FILE_FD     3   /* ADDR2LINE_INHERITED */
#define LOOK_MS     200 /* after which a signal is noticed */
#define PROGRAM_CNT (sizeof(programs) / sizeof(programs[0]))

int addr2line_find(void)
{
	for (size_t i = 0; i < PROGRAM_CNT; i++) {
		if (!child_find(programs[i]))
			return 0;
	}
	return -ENOENT;
}

/* ---- in its process ---- */

/* Byte by byte, because the bytes after the path are for the program. Return: whether there was one. */
static bool read_path(char *path, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (read(STDIN_FILENO, &path[i], 1) != 1)
			return false;
		if (!path[i])
			return i > 0;
	}
	return false;
}

/* Nothing of ours stays open, such as a pager's pipe. */
static void keep_only(int in_fd, int out_fd, int file_fd)
{
	const int first_free = FILE_FD + 1;
	int null_fd;

	/* they may have any numbers, these too */
	in_fd = fcntl(in_fd, F_DUPFD, first_free);
	out_fd = fcntl(out_fd, F_DUPFD, first_free);
	file_fd = file_fd < 0 ? -1 : fcntl(file_fd, F_DUPFD, first_free);
	null_fd = open("/dev/null", O_WRONLY);
	if (in_fd < 0 || out_fd < 0 || null_fd < 0 || dup2(null_fd, STDERR_FILENO) < 0 ||
	    dup2(in_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0)
		_exit(126);
	closefrom(file_fd >= 0 && dup2(file_fd, FILE_FD) >= 0 ? first_free : FILE_FD);
}

static void run(int in_fd, int out_fd, int file_fd, pid_t parent)
{
	char path[PATH_MAX];

	signals_restore();
	/* Survive Ctrl-C: rows drained afterwards still need source lines. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	keep_only(in_fd, out_fd, file_fd);
	privdrop_all();
	/* do not wait for things that this host lacks */
	unsetenv("DEBUGINFOD_URLS");
	if (!read_path(path, sizeof(path)))
		_exit(0);
	for (size_t i = 0; i < PROGRAM_CNT; i++)
		execlp(programs[i], programs[i], "-e", path, (char *)NULL);
	_exit(127);
}

/* ---- in ours ---- */

static void close_both(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

int addr2line_fork(struct addr2line *al, int fd)
{
	const pid_t parent = getpid();
	int answer[2];
	int ask[2];
	int err;

	*al = (struct addr2line){ .ask_fd = -1, .answer_fd = -1 };
	if (pipe2(ask, O_CLOEXEC))
		return -errno;
	if (pipe2(answer, O_CLOEXEC)) {
		err = -errno;
		close_both(ask);
		return err;
	}
	signals_ignore_writes();
	fflush(NULL);
	al->pid = fork();
	if (!al->pid)
		run(ask[0], answer[1], fd, parent);
	err = al->pid < 0 ? -errno : 0;
	if (err)
		al->pid = 0;
	close(ask[0]);
	close(answer[1]);
	al->ask_fd = ask[1];
	al->answer_fd = answer[0];
	return err;
}

/* It reads one short line at a time: there is always room in the pipe. */
static int write_all(int fd, const char *bytes, size_t len)
{
	ssize_t done;

	do
		done = write(fd, bytes, len);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EPIPE;
}

int addr2line_open(struct addr2line *al, const char *path)
{
	const size_t size = strlen(path) + 1;

	return size > PATH_MAX ? -ENAMETOOLONG : write_all(al->ask_fd, path, size);
}

static int64_t now_ms(void)
{
	return (int64_t)(host_time_ns() / 1000000);
}

/*
 * Return: 0 once there is something to read, or its end; -EINTR: Ctrl-C came, and there were no longer @stop_cnt; or
 * another -errno.
 */
static int wait_until(int fd, int64_t end_ms, int stop_cnt)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	while (*signals_stop_cnt == stop_cnt) {
		const int64_t left_ms = end_ms - now_ms();
		/* a signal may come just before */
		int cnt = poll(&pfd, 1,
			       left_ms < 0         ? 0
			       : left_ms < LOOK_MS ? (int)left_ms
						   : LOOK_MS);

		if (cnt > 0)
			return 0;
		if (cnt < 0 && errno != EINTR)
			return -errno;
		if (now_ms() >= end_ms)
			return -ETIMEDOUT;
	}
	return -EINTR;
}

int addr2line_ask(struct addr2line *al, uint64_t addr, unsigned int timeout_ms, char *line,
		  size_t size)
{
	const int64_t end_ms = now_ms() + timeout_ms;
	const int stop_cnt = *signals_stop_cnt;
	char question[24];
	size_t len = 0;
	char part[512];
	int err;

	snprintf(question, sizeof(question), "0x%" PRIx64 "\n", addr);
	err = write_all(al->ask_fd, question, strlen(question));
	while (!err) {
		ssize_t got;

		err = wait_until(al->answer_fd, end_ms, stop_cnt);
		if (err)
			return err;
		got = read(al->answer_fd, part, sizeof(part));
		if (got <= 0)
			return -EPIPE;
		for (ssize_t i = 0; i < got; i++) {
			if (part[i] == '\n') {
				line[len] = '\0';
				/* a name with a line's end: what follows would be the next answer */
				return i + 1 < got ? -EPROTO : 0;
			}
			if (len + 1 < size)
				line[len++] = part[i];
		}
		/* it writes and writes */
		if (now_ms() >= end_ms)
			err = -ETIMEDOUT;
	}
	return err;
}

void addr2line_end(struct addr2line *al)
{
	if (al->ask_fd >= 0)
		close(al->ask_fd);
	if (al->answer_fd >= 0)
		close(al->answer_fd);
	if (al->pid > 0) {
		kill(al->pid, SIGKILL);
		while (waitpid(al->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	*al = (struct addr2line){ .ask_fd = -1, .answer_fd = -1 };
}
