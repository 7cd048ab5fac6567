#ifndef NFG_SESSION_READY_H
#define NFG_SESSION_READY_H

#include "options/opts.h"

/*
 * Who waits for a trace to begin: the reader of --ready-fd, and the service manager that set NOTIFY_SOCKET.
 *
 * Descriptors are -1 where nobody waits.
 */
struct ready {
	int fd;
	int socket_fd;
};

#define READY_NONE ((struct ready){ .fd = -1, .socket_fd = -1 })

/*
 * ready_open - take over the descriptor of --ready-fd, and connect to NOTIFY_SOCKET; a failure of the latter is a warning.
 *
 * Call it before processes are made, which would keep the descriptor open. Return: 0, or VERDICT_USAGE after an error
 * message. Call ready_close in both cases.
 */
int ready_open(struct ready *ready, const struct opts *opts);

/* ready_tell - write a newline to the descriptor and close it, and send READY=1. A failure is a warning. */
void ready_tell(struct ready *ready);

void ready_close(struct ready *ready);

#endif
