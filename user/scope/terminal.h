#ifndef NFG_SCOPE_TERMINAL_H
#define NFG_SCOPE_TERMINAL_H

#include <stddef.h>
#include <stdint.h>

#define TERMINAL_HOLDERS_MAX 64
#define TERMINAL_SOCKETS_MAX 64

/*
 * Who carries what we print to the user's eyes: the processes that hold the other end of our
 * terminal (sshd, script, a terminal emulator), of the terminals of our ancestors (sudo makes one of its
 * own), and, where that end is held by a server (tmux, screen), its clients and those who hold theirs.
 */
struct terminal {
	uint32_t holders[TERMINAL_HOLDERS_MAX]; /* process ids */
	size_t holder_cnt;
	uint64_t sockets[TERMINAL_SOCKETS_MAX]; /* inodes of the sockets they have */
	size_t socket_cnt;
};

/*
 * terminal_find - look for them in @proc ("/proc"), from process @tgid on.
 *
 * Whoever may not be looked into is passed over, and more than fit are left out. A server's clients are
 * the processes of the same user and executable that have a terminal, also those of another such server.
 * Return: 0, also when there are none, or -errno when @proc shows no process @tgid.
 */
int terminal_find(struct terminal *term, const char *proc, uint32_t tgid);

#endif
