#ifndef NFG_SCOPE_TERMINAL_H
#define NFG_SCOPE_TERMINAL_H

#include <stddef.h>
#include <stdint.h>

#define TERMINAL_HOLDERS_MAX 64
#define TERMINAL_SOCKETS_MAX 64

/*
 * The processes that forward our output to the user's screen: those at the other end of our terminal (sshd, script, a
 * terminal emulator) and of our ancestors' terminals (sudo makes one of its own). If a server (tmux, screen) is at
 * that end: its clients, and the processes at the other end of the clients' terminals.
 */
struct terminal {
	uint32_t holders[TERMINAL_HOLDERS_MAX]; /* process ids */
	size_t holder_cnt;
	uint64_t sockets[TERMINAL_SOCKETS_MAX]; /* inodes of their sockets */
	size_t socket_cnt;
};

/*
 * terminal_find - find these processes in @proc ("/proc"), starting from process @tgid.
 *
 * Skips processes that it may not inspect, and those beyond TERMINAL_HOLDERS_MAX. All processes that have a terminal
 * and the user and executable of a server count as its clients, even if they are clients of another such server.
 * Return: 0, also if there are none, or -errno when @proc has no process @tgid.
 */
int terminal_find(struct terminal *term, const char *proc, uint32_t tgid);

#endif
