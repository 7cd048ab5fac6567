#ifndef NFG_PROCESS_ADDR2LINE_H
#define NFG_PROCESS_ADDR2LINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * An addr2line in a separate process that answers one address after the other over two pipes: llvm-addr2line or, if
 * that is not installed, the one of binutils. It has no capabilities, ignores Ctrl-C, and ends with us.
 */
struct addr2line {
	pid_t pid;  /* 0: none */
	int ask_fd; /* ours to write to */
	int answer_fd;
};

/* addr2line_find - whether one is installed. Return: 0 or -ENOENT. */
int addr2line_find(void);

/* The path, in that process, of the file that it inherits. */
#define ADDR2LINE_INHERITED "/proc/self/fd/3"

/*
 * addr2line_fork - create the process, before privdrop forbids execve. It waits for addr2line_open.
 *
 * @fd: a file that it inherits, for files in directories that only capabilities can access; -1: none.
 * Return: 0 or -errno. Call addr2line_end in both cases.
 */
int addr2line_fork(struct addr2line *al, int fd);

/*
 * addr2line_open - let it read the object at @path. Return: 0 or -errno; an unusable file shows only in
 * addr2line_ask.
 */
int addr2line_open(struct addr2line *al, const char *path);

/*
 * addr2line_ask - the line for @addr, an address in the object: "net/socket.c:2104", "??:0".
 *
 * @line: room for @size bytes; a longer line is cut. Return: 0; -ETIMEDOUT: no whole line within @timeout_ms; -EPIPE:
 * it has ended; -EPROTO: it printed more than a line; -EINTR: a signal that ends the trace arrived; or another
 * -errno. It is unusable after an error.
 */
int addr2line_ask(struct addr2line *al, uint64_t addr, unsigned int timeout_ms, char *line,
		  size_t size);

/* addr2line_end - terminate it and wait for it. */
void addr2line_end(struct addr2line *al);

#endif
