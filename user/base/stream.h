#ifndef NFG_BASE_STREAM_H
#define NFG_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Pipes, terminals and sockets, written to without ever waiting inside write(2): who reads them may
 * have stopped to, and we must still hear a signal or see that the time is over.
 */

/*
 * stream_own - a descriptor of our own for what @fd is, which does not wait.
 *
 * O_NONBLOCK belongs to the open file, which others may hold too, the traced command above all: so it
 * is opened anew. Return: a new descriptor, or @fd itself where that cannot be (a socket, no /proc).
 */
int stream_own(int fd);

/*
 * stream_write - write what there is room for.
 *
 * Of a descriptor that waits no more than PIPE_BUF at a time, which poll(2) vouches for.
 * Return: bytes, -EAGAIN: none now, or -errno.
 */
ssize_t stream_write(int fd, const void *bytes, size_t len);

/* stream_wait - until there is room, a signal comes, or @wait_ms are over; -1: without limit. */
void stream_wait(int fd, int wait_ms);

#endif
