#ifndef NFG_BASE_STREAM_H
#define NFG_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writing to pipes, terminals and sockets without blocking in write(2): their reader may have stopped reading, and
 * signals and timeouts must still work.
 */

/*
 * stream_own - a non-blocking descriptor of our own for the file of @fd.
 *
 * O_NONBLOCK belongs to the open file, which others share, the traced command above all; so the file is opened
 * again. Return: a new descriptor, or @fd itself where that is impossible (a socket, no /proc).
 */
int stream_own(int fd);

/*
 * stream_write - write as much as there is room for.
 *
 * To a blocking descriptor at most PIPE_BUF bytes, for which poll(2) guarantees room.
 * Return: bytes written, -EAGAIN: no room, or -errno.
 */
ssize_t stream_write(int fd, const void *bytes, size_t len);

/* stream_wait - wait for room, a signal, or @wait_ms; -1: no limit. */
void stream_wait(int fd, int wait_ms);

#endif
