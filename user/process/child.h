#ifndef NFG_PROCESS_CHILD_H
#define NFG_PROCESS_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct runas;

/* The traced command: forked before anything is attached, so that it holds no BPF descriptor. */
struct child {
	pid_t pid;
	int go_fd;   /* closing or writing it decides whether the command starts */
	int fail_fd; /* carries errno when exec failed */
	bool is_done;
	int status; /* as waitpid gives it */
};

/*
 * child_fork - make the process, with the signals as they were before us; it waits for child_start.
 *
 * @who: whose process the command is; NULL: ours. Return: 0 or -errno.
 */
int child_fork(struct child *ch, char **argv, const struct runas *who);

/* child_start - let it exec. Return: 0, or the -errno of its exec or of becoming that user. */
int child_start(struct child *ch);

/* child_poll - whether it has ended. */
bool child_poll(struct child *ch);

/* child_exit_code - what a shell would report: its status, or 128 + signal. Only when it has ended. */
int child_exit_code(const struct child *ch);

/* child_release - a command that never started ends without a trace; a running one goes on. */
void child_release(struct child *ch);

#endif
