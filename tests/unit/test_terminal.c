/* Which processes hold the other end of a terminal, in a made-up /proc. */
#include "scope/terminal.h"
#include "harness.h"
#include "fakehost.h"

static struct terminal term;

BEFORE(host_make);

/* @tty: the index of its terminal, -1 for none. */
static void add_process(unsigned int tgid, unsigned int parent, int tty, const char *exe)
{
	unsigned int nr = tty < 0 ? 0
				  : 136u << 8 | ((unsigned int)tty & 0xff) |
					    ((unsigned int)tty & 0xfff00) << 12;

	dirs_make(text_of("%s/%u/fd", proc, tgid));
	dirs_make(text_of("%s/%u/fdinfo", proc, tgid));
	file_put(text_of("%s/%u/stat", proc, tgid),
		 text_of("%u (a (b) c) S %u 1 1 %u 1 4194304\n", tgid, parent, nr));
	CHECK(!symlink(exe, text_of("%s/%u/exe", proc, tgid)));
}

static void add_fd(unsigned int tgid, unsigned int fd, const char *target, int tty)
{
	CHECK(!symlink(target, text_of("%s/%u/fd/%u", proc, tgid, fd)));
	file_put(text_of("%s/%u/fdinfo/%u", proc, tgid, fd),
		 tty < 0 ? "pos:\t0\nflags:\t02400002\n"
			 : text_of("pos:\t0\nmnt_id:\t24\ntty-index:\t%d\n", tty));
}

static struct terminal find(unsigned int tgid)
{
	struct terminal found;

	CHECK(!terminal_find(&found, proc, tgid));
	return found;
}

/* ssh: 10 listens, 11 is the session with the socket, 12 the shell, 13 we. */
static void add_session(void)
{
	add_process(10, 1, -1, "/usr/sbin/sshd");
	add_fd(10, 3, "socket:[900]", -1);
	add_process(11, 10, -1, "/usr/sbin/sshd");
	add_fd(11, 4, "socket:[901]", -1);
	add_fd(11, 7, "/dev/ptmx", 5);
	add_process(12, 11, 5, "/bin/bash");
	add_fd(12, 0, "/dev/pts/5", -1);
}

TEST(terminal_of_an_ssh_session)
{
	add_session();
	add_process(13, 12, 5, "netfgraph");
	term = find(13);
	CHECK(term.holder_cnt == 1 && term.holders[0] == 11);
	CHECK(term.socket_cnt == 1 && term.sockets[0] == 901);
}

TEST(terminal_of_somebody_else_is_no_business_of_ours)
{
	add_process(11, 1, -1, "/usr/bin/terminal");
	add_fd(11, 7, "/dev/pts/ptmx", 6); /* another of its windows */
	add_process(13, 11, 5, "netfgraph");
	add_process(14, 1, -1, "/usr/bin/other");
	add_fd(14, 7, "/dev/ptmx", 5); /* no ancestor: a terminal of another mount of devpts */
	term = find(13);
	CHECK(!term.holder_cnt && !term.socket_cnt);
}

/* sudo gives its command a terminal of its own, and passes on what that prints. */
TEST(terminal_in_a_terminal)
{
	add_session();
	add_process(13, 12, 5, "/usr/bin/sudo");
	add_fd(13, 9, "/dev/ptmx", 300);
	add_process(14, 13, 300, "netfgraph");
	term = find(14);
	CHECK(term.holder_cnt == 2 && term.holders[0] == 13 && term.holders[1] == 11);
}

TEST(terminal_of_a_server_with_clients)
{
	add_session();
	add_process(20, 1, -1, "/usr/bin/tmux"); /* the server */
	add_fd(20, 7, "/dev/ptmx", 6);
	add_fd(20, 8, "/dev/ptmx", 8);
	add_process(21, 20, 6, "/bin/bash");
	add_process(22, 21, 6, "netfgraph");
	add_process(30, 12, 5, "/usr/bin/tmux"); /* the client */
	add_process(31, 12, 5, "/usr/bin/top");
	term = find(22);
	CHECK(term.holder_cnt == 3);
	CHECK(term.holders[0] == 20 && term.holders[1] == 30 && term.holders[2] == 11);
}

TEST(terminal_there_is_none)
{
	add_process(1, 0, -1, "/sbin/init");
	add_fd(1, 3, "/dev/ptmx", 0);
	add_fd(1, 4, "/dev/ptmx", -1); /* of no terminal yet */
	add_process(13, 1, -1, "netfgraph");
	term = find(13);
	CHECK(!term.holder_cnt && terminal_find(&term, proc, 14) == -ENOENT);
}
