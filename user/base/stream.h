#ifndef NFG_BASE_STREAM_H
#define NFG_BASE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Writes to pipes, terminals and sockets without blocking in write(2), so that signals and timeouts work even if the
 * reader has stopped reading.
 */

/*
 * stream_own - a private non-blocking descriptor for the file of @fd.
 *
 * O_NONBLOCK belongs to the open file description, which others share, the traced command above all; so the file is
 * opened again. Return: a new descriptor, or @fd itself if that is impossible (a socket, no /proc).
 */
int stream_own(int fd);

/*
 * stream_write - write as much as fits.
 *
 * Writes at most PIPE_BUF bytes to a blocking descriptor: poll(2) guarantees room for these.
 * Return: bytes written, or -errno; -EAGAIN: no room.
 */
ssize_t stream_write(int fd, const void *bytes, size_t len);

/* stream_is_left - whether nobody can read what is written to @fd: the pipe, socket or terminal has no other end. */
bool stream_is_left(int fd);

/* stream_wait - wait for room, a signal, or @wait_ms; -1: no limit. */
void stream_wait(int fd, int wait_ms);

#endif
