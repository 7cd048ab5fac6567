#include "base/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/color.h"
#include "base/log.h"

#define PAGER_DEFAULT "less -FRX"
#define PAGER_WIDE \
	"less -RSX" /* rows end at the screen's edge, and arrow keys move them: -F would not wait for these */
#define NOT_RUN   126 /* a shell's statuses: not executable, */
#define NOT_FOUND 127 /* not found */

static struct {
	const char *command;
	pid_t pid;
	int terminal_fd; /* our standard output */
	/* shared with the pager's process */
	volatile struct {
		bool has_text; /* text has arrived */
		bool is_wide;  /* some rows are wider than the terminal */
	} * shared;
	struct sigaction interrupt;
	struct sigaction quit;
	struct sigaction terminate;
	volatile sig_atomic_t is_terminated;
} pager;

/* Return: NULL: none. */
static const char *choose_command(void)
{
	const char *term = getenv("TERM");
	const char *command = secure_getenv("NETFGRAPH_PAGER");

	if (!term || !*term || !strcmp(term, "dumb") || !tty_is_foreground(STDOUT_FILENO))
		return NULL;
	if (!command)
		command = secure_getenv("PAGER");
	if (!command)
		return child_find("less") ? NULL : PAGER_DEFAULT;
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Becomes the pager when text arrives; without text no pager runs. */
static void pager_run(int in_fd, pid_t parent)
{
	struct pollfd pfd = { .fd = in_fd, .events = POLLIN };

	signals_restore();
	/* a pager that outlives us would fight with the shell for the terminal */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(0);
	while (poll(&pfd, 1, -1) < 0 && errno == EINTR)
		;
	if (!(pfd.revents & POLLIN))
		_exit(0);
	pager.shared->has_text = true;
	if (pager.shared->is_wide && !strcmp(pager.command, PAGER_DEFAULT))
		pager.command = PAGER_WIDE;
	if (dup2(in_fd, STDIN_FILENO) < 0)
		_exit(NOT_RUN);
	/* as git does: colours, and no alternate screen */
	setenv("LESS", pager.shared->is_wide ? "RSX" : "FRX", 0);
	setenv("LV", "-c", 0);
	execl("/bin/sh", "sh", "-c", pager.command, (char *)NULL);
	_exit(NOT_FOUND);
}

static pid_t fork_pager(const int ends[2])
{
	const pid_t parent = getpid();
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		pager_run(ends[0], parent);
	}
	return pid;
}

/* SIGTERM: end the pager; then writes to it fail, and pager_end ends us. A second one ends us at once. */
static void handle_terminate(int sig)
{
	int saved_errno = errno;

	pager.is_terminated = 1;
	kill(pager.pid, sig);
	errno = saved_errno;
}

/*
 * SIGINT and SIGQUIT: before any text, they end us and the process that waits to become the pager, because we may be
 * waiting for input. Later the pager handles them.
 */
static void handle_key(int sig)
{
	if (pager.shared->has_text)
		return;
	signal(sig, SIG_DFL);
	raise(sig);
}

static void catch_key(int sig, struct sigaction *before)
{
	const struct sigaction key = { .sa_handler = handle_key, .sa_flags = SA_RESTART };

	sigaction(sig, &key, before);
	if (before->sa_handler == SIG_IGN)
		sigaction(sig, before, NULL);
}

bool pager_start(void)
{
	const struct sigaction terminate = { .sa_handler = handle_terminate,
					     .sa_flags = SA_RESETHAND };
	int ends[2];

	pager.command = choose_command();
	if (!pager.command)
		return false;
	pager.shared = mmap(NULL, sizeof(*pager.shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pager.shared == MAP_FAILED || pipe2(ends, O_CLOEXEC))
		return false;
	pager.terminal_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	pager.pid = pager.terminal_fd < 0 ? -1 : fork_pager(ends);
	if (pager.pid < 0 || dup2(ends[1], STDOUT_FILENO) < 0) {
		close(ends[0]);
		close(ends[1]);
		close(pager.terminal_fd);
		return false;
	}
	close(ends[0]);
	close(ends[1]);
	signals_ignore_writes();
	catch_key(SIGINT, &pager.interrupt);
	catch_key(SIGQUIT, &pager.quit);
	sigaction(SIGTERM, &terminate, &pager.terminate);
	if (pager.terminate.sa_handler == SIG_IGN)
		sigaction(SIGTERM, &pager.terminate, NULL);
	log_hold(true);
	output_leavable(true);
	return true;
}

int pager_end(void)
{
	siginfo_t info;
	int status = 0;
	int code;

	/* output that the pager did not read must not appear after it */
	fflush(stdout);
	__fpurge(stdout);
	/* this was the last writer of the pipe: the pager sees the end of the text */
	dup2(pager.terminal_fd, STDOUT_FILENO);
	close(pager.terminal_fd);
	/* its pid stays reserved until no handler uses it */
	while (waitid(P_PID, (id_t)pager.pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	sigaction(SIGINT, &pager.interrupt, NULL);
	sigaction(SIGQUIT, &pager.quit, NULL);
	sigaction(SIGTERM, &pager.terminate, NULL);
	while (waitpid(pager.pid, &status, 0) < 0 && errno == EINTR)
		;
	output_leavable(false);
	log_hold(false);
	if (pager.is_terminated)
		raise(SIGTERM);
	code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	if (code != NOT_RUN && code != NOT_FOUND)
		return 0;
	log_error("cannot run the pager '%s'", pager.command);
	log_hint("--no-pager avoids it, and NETFGRAPH_PAGER chooses another");
	return -ECHILD;
}

void pager_table(const struct strbuf *text, size_t start)
{
	unsigned int columns;
	const char *line;
	const char *end;

	if (pager.pid <= 0 || !strbuf_ok(text) || text->len <= start)
		return;
	line = text->ptr + start;
	end = text->ptr + text->len;
	columns = tty_columns(pager.terminal_fd);
	while (line < end) {
		const char *line_end = memchr(line, '\n', (size_t)(end - line));

		line_end = line_end ? line_end : end;
		if ((size_t)(line_end - line) > columns)
			pager.shared->is_wide = true;
		line = line_end + 1;
	}
}

int pager_page(struct strbuf *text, color_find *paint, bool is_wanted)
{
	const bool is_paged = is_wanted && pager_start();
	int err = output_page(text, paint);
	int pager_err = is_paged ? pager_end() : 0;

	return err ? err : pager_err;
}
