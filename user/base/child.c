#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
