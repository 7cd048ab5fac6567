#ifndef NFG_BASE_CHILD_H
#define NFG_BASE_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct runas;

/* The traced command: forked before anything is attached, so that it holds no BPF descriptor. */
struct child {
	pid_t pid;
	int go_fd;   /* a byte written here starts the command; closing it ends the process */
	int fail_fd; /* carries errno when exec failed */
	bool is_done;
	int status; /* as waitpid gives it */
};

/* child_find - whether execvp would find @command, in PATH unless it has a slash. Return: 0 or -ENOENT. */
int child_find(const char *command);

/*
 * child_fork - fork the process, with the signal handling from before signals_catch; it waits for child_start.
 *
 * @who: the user to run the command as; NULL: ours. Return: 0 or -errno.
 */
int child_fork(struct child *ch, char **argv, const struct runas *who);

/* child_start - let the process exec the command. Return: 0, or -errno of its exec or runas_become. */
int child_start(struct child *ch);

/* child_poll - whether the command has ended. */
bool child_poll(struct child *ch);

/*
 * child_exit_code - the status that a shell would report: the command's own, or 128 + signal. Only after it has ended.
 */
int child_exit_code(const struct child *ch);

/* child_release - end the process if its command never started; a running command goes on. */
void child_release(struct child *ch);

/* ---- processes beside this one ---- */

/*
 * A process of our own that answers over two pipes, its standard input and output, so that input from others is parsed
 * apart from the tracer. It ignores the signals that stop us, is in a session of its own, and ends when we end.
 */
struct helper {
	pid_t pid;  /* 0: none */
	int ask_fd; /* ours to write to */
	int answer_fd;
};

#define HELPER_NONE    ((struct helper){ .ask_fd = -1, .answer_fd = -1 })
#define HELPER_FILE_FD 3

/*
 * helper_fork - start the process, which runs @run and ends. It has only the two pipes, and @file_fd as HELPER_FILE_FD;
 * -1: none. @run gives up the privileges it does not need.
 *
 * From then on writes to a closed pipe are errors (signals_ignore_writes). Return: 0 or -errno. Call helper_end in both
 * cases.
 */
int helper_fork(struct helper *h, int file_fd, void (*run)(void *ctx), void *ctx);

/*
 * helper_ask - write a question of at most PIPE_BUF bytes, without waiting. Return: 0; -EAGAIN: it did not take the earlier
 * ones; -EPIPE or another -errno.
 */
int helper_ask(const struct helper *h, const void *bytes, size_t len);

/*
 * helper_wait - wait until host_time_ns() is @end_ns for something to read, or the end. Return: 0; -ETIMEDOUT; -EINTR:
 * Ctrl-C was pressed since *signals_stop_cnt was @stop_cnt; or another -errno.
 */
int helper_wait(const struct helper *h, uint64_t end_ns, int stop_cnt);

/* helper_abandon - terminate it without waiting for it, because not even SIGKILL ends some waits. */
void helper_abandon(struct helper *h);

/* helper_is_gone - after helper_abandon, as often as wanted: whether it has ended. Then nothing is left of it. */
bool helper_is_gone(struct helper *h);

/* helper_end - terminate it and wait for it. */
void helper_end(struct helper *h);

/* ---- signal handling of this program and its command ---- */

/* signals_stop_cnt - the number of SIGINT, SIGTERM and SIGHUP received. */
extern const volatile int *const signals_stop_cnt;

/* signals_stop_sig - which of them came first; 0: none did. */
int signals_stop_sig(void);

/*
 * signals_catch - count SIGINT, SIGTERM and SIGHUP instead of dying; signals that are already ignored (nohup, a shell's
 * background job) stay ignored.
 *
 * SIGCHLD only ends sleeps early.
 */
void signals_catch(void);

/* signals_ignore_writes - SIGPIPE and SIGXFSZ become errors of write(2), which are reported. */
void signals_ignore_writes(void);

/* signals_restore - in a new process, or before the last writes: undo signals_catch and signals_ignore_writes. */
void signals_restore(void);

#endif
