#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "base/privdrop.h"

#define PATH_DEFAULT "/bin:/usr/bin" /* as in execvp */

int child_find(const char *command)
{
	const char *dir = getenv("PATH");
	char path[PATH_MAX];
	size_t len;

	if (!*command)
		return -ENOENT;
	if (strchr(command, '/'))
		return access(command, F_OK) && errno == ENOENT ? -ENOENT : 0;
	for (dir = dir ? dir : PATH_DEFAULT;; dir += len + 1) {
		len = strcspn(dir, ":");
		snprintf(path, sizeof(path), "%.*s%s%s", (int)len, dir, len ? "/" : "", command);
		if (!access(path, F_OK) || errno != ENOENT)
			return 0;
		if (!dir[len])
			return -ENOENT;
	}
}

/* In the new process: wait for child_start, then exec the command or report the error. */
static void child_run(char **argv, const struct runas *who, int go_fd, int fail_fd)
{
	char go;
	int err;

	signals_restore();
	if (read(go_fd, &go, 1) != 1)
		_exit(0);
	err = who ? -runas_become(who) : 0;
	if (!err) {
		execvp(argv[0], argv);
		err = errno;
	}
	if (write(fail_fd, &err, sizeof(err)) != sizeof(err))
		_exit(126);
	_exit(err == ENOENT ? 127 : 126);
}

int child_fork(struct child *ch, char **argv, const struct runas *who)
{
	int fail[2];
	int go[2];
	int err;

	*ch = (struct child){ .go_fd = -1, .fail_fd = -1 };
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(fail, O_CLOEXEC)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	ch->pid = fork();
	if (!ch->pid) {
		close(go[1]);
		child_run(argv, who, go[0], fail[1]);
	}
	err = ch->pid < 0 ? -errno : 0;
	close(go[0]);
	close(fail[1]);
	ch->go_fd = go[1];
	ch->fail_fd = fail[0];
	if (err)
		child_release(ch);
	return err;
}

int child_start(struct child *ch)
{
	int err = 0;

	if (write(ch->go_fd, "g", 1) != 1)
		err = errno;
	close(ch->go_fd);
	ch->go_fd = -1;
	/* a successful exec closes the other end, so the read returns nothing */
	if (!err && read(ch->fail_fd, &err, sizeof(err)) != sizeof(err))
		err = 0;
	close(ch->fail_fd);
	ch->fail_fd = -1;
	return -err;
}

bool child_poll(struct child *ch)
{
	if (!ch->is_done && waitpid(ch->pid, &ch->status, WNOHANG) == ch->pid)
		ch->is_done = true;
	return ch->is_done;
}

int child_exit_code(const struct child *ch)
{
	return WIFSIGNALED(ch->status) ? 128 + WTERMSIG(ch->status) : WEXITSTATUS(ch->status);
}

void child_release(struct child *ch)
{
	if (ch->go_fd >= 0)
		close(ch->go_fd);
	if (ch->fail_fd >= 0)
		close(ch->fail_fd);
	ch->go_fd = -1;
	ch->fail_fd = -1;
}

/* ---- processes beside this one ---- */

#define LOOK_MS 200 /* until a signal is noticed */

/* Close all other descriptors, such as a pager's pipe. */
static void keep_only(int in_fd, int out_fd, int file_fd)
{
	const int first_free = HELPER_FILE_FD + 1;
	int null_fd;

	/* the descriptors may have any numbers, also the target ones */
	in_fd = fcntl(in_fd, F_DUPFD, first_free);
	out_fd = fcntl(out_fd, F_DUPFD, first_free);
	file_fd = file_fd < 0 ? -1 : fcntl(file_fd, F_DUPFD, first_free);
	null_fd = open("/dev/null", O_WRONLY);
	if (in_fd < 0 || out_fd < 0 || null_fd < 0 || dup2(null_fd, STDERR_FILENO) < 0 ||
	    dup2(in_fd, STDIN_FILENO) < 0 || dup2(out_fd, STDOUT_FILENO) < 0)
		_exit(126);
	closefrom(file_fd >= 0 && dup2(file_fd, HELPER_FILE_FD) >= 0 ? first_free : HELPER_FILE_FD);
}

static void helper_begin(int in_fd, int out_fd, int file_fd, pid_t parent)
{
	static const int kept_from[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };

	signals_restore();
	/* Ctrl-C, timeout(1), a closed terminal and systemd stop us, and rows drained afterwards still need answers. */
	for (size_t i = 0; i < sizeof(kept_from) / sizeof(kept_from[0]); i++)
		signal(kept_from[i], SIG_IGN);
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	keep_only(in_fd, out_fd, file_fd);
}

int helper_fork(struct helper *h, int file_fd, void (*run)(void *ctx), void *ctx)
{
	const pid_t parent = getpid();
	int answer[2];
	int ask[2];
	int err;

	*h = HELPER_NONE;
	if (pipe2(ask, O_CLOEXEC))
		return -errno;
	/* our end alone: a process that a file has taken over must not keep us waiting */
	err = fcntl(ask[1], F_SETFL, O_NONBLOCK) ? -errno : 0;
	if (!err && pipe2(answer, O_CLOEXEC))
		err = -errno;
	if (err) {
		close(ask[0]);
		close(ask[1]);
		return err;
	}
	signals_ignore_writes();
	fflush(NULL);
	h->pid = fork();
	if (!h->pid) {
		helper_begin(ask[0], answer[1], file_fd, parent);
		run(ctx);
		_exit(0);
	}
	err = h->pid < 0 ? -errno : 0;
	if (err)
		h->pid = 0;
	close(ask[0]);
	close(answer[1]);
	h->ask_fd = ask[1];
	h->answer_fd = answer[0];
	return err;
}

/* One question at a time, so the pipe has room, unless the process leaves questions where they are. */
int helper_ask(const struct helper *h, const void *bytes, size_t len)
{
	const ssize_t done = write(h->ask_fd, bytes, len);

	if (done < 0)
		return -errno;
	return (size_t)done == len ? 0 : -EPIPE;
}

int helper_wait(const struct helper *h, uint64_t end_ns, int stop_cnt)
{
	struct pollfd pfd = { .fd = h->answer_fd, .events = POLLIN };

	while (*signals_stop_cnt == stop_cnt) {
		const int64_t left_ns = (int64_t)(end_ns - host_time_ns());
		const int64_t left_ms = (left_ns + 999999) / 1000000;
		/* a signal may arrive just before poll */
		int cnt = poll(&pfd, 1,
			       left_ms < 0         ? 0
			       : left_ms < LOOK_MS ? (int)left_ms
						   : LOOK_MS);

		if (cnt > 0)
			return 0;
		if (cnt < 0 && errno != EINTR)
			return -errno;
		if (left_ns <= 0)
			return -ETIMEDOUT;
	}
	return -EINTR;
}

void helper_abandon(struct helper *h)
{
	if (h->ask_fd >= 0)
		close(h->ask_fd);
	if (h->answer_fd >= 0)
		close(h->answer_fd);
	if (h->pid > 0)
		kill(h->pid, SIGKILL);
	h->ask_fd = -1;
	h->answer_fd = -1;
}

bool helper_is_gone(struct helper *h)
{
	if (h->pid > 0 && waitpid(h->pid, NULL, WNOHANG))
		h->pid = 0;
	return !h->pid;
}

void helper_end(struct helper *h)
{
	helper_abandon(h);
	while (h->pid > 0 && waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*h = HELPER_NONE;
}

/* ---- signals ---- */

static volatile int stop_cnt;
static volatile int stop_sig;
const volatile int *const signals_stop_cnt = &stop_cnt;

static struct {
	int sig;
	bool is_ours;
	struct sigaction before;
} changed[] = {
	{ .sig = SIGINT },  { .sig = SIGTERM }, { .sig = SIGHUP },
	{ .sig = SIGCHLD }, { .sig = SIGPIPE }, { .sig = SIGXFSZ },
};
#define CHANGED_CNT (sizeof(changed) / sizeof(changed[0]))

static void on_stop(int sig)
{
	if (!stop_sig)
		stop_sig = sig;
	stop_cnt++;
}

int signals_stop_sig(void)
{
	return stop_sig;
}

static void on_child(int sig)
{
	(void)sig;
}

static void change(int sig, const struct sigaction *sa, bool is_kept_ignored)
{
	for (size_t i = 0; i < CHANGED_CNT; i++) {
		if (changed[i].sig != sig || changed[i].is_ours)
			continue;
		sigaction(sig, NULL, &changed[i].before);
		if (is_kept_ignored && changed[i].before.sa_handler == SIG_IGN)
			continue;
		changed[i].is_ours = !sigaction(sig, sa, NULL);
	}
}

void signals_catch(void)
{
	const struct sigaction stop = { .sa_handler = on_stop };
	const struct sigaction child = { .sa_handler = on_child,
					 .sa_flags = SA_RESTART | SA_NOCLDSTOP };

	change(SIGINT, &stop, true);
	change(SIGTERM, &stop, true);
	change(SIGHUP, &stop, true);
	change(SIGCHLD, &child, false);
}

void signals_ignore_writes(void)
{
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	change(SIGPIPE, &ignore, false);
	change(SIGXFSZ, &ignore, false);
}

void signals_restore(void)
{
	for (size_t i = 0; i < CHANGED_CNT; i++) {
		if (changed[i].is_ours)
			sigaction(changed[i].sig, &changed[i].before, NULL);
		changed[i].is_ours = false;
	}
}
