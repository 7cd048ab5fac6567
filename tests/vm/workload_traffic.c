/* The commands that send and receive: TCP, UDP, UNIX sockets, and what sleeps in them. */
#include "workload.h"

#include <linux/net_tstamp.h>
#include <linux/vm_sockets.h>
#include <netinet/tcp.h>
#include <pty.h>

#define FLOOD_BATCH 16

/*
 * tcp: one task.  Per round one socket, connect, accept4, two close, and for the 64 bytes each way
 * two send and two recv.  Once before: socket, bind, getsockname, listen; and a close at the end.
 * All packets are handled within connect, send and close, so that accept4 and recv find what they
 * want without sleeping unless the kernel is overloaded and hands over to ksoftirqd.
 */
int run_tcp(unsigned long n)
{
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);
	unsigned long i;
	int client, server;

	for (i = 0; i < n; i++) {
		client = connect_loopback(&addr);
		server = accept_one(listener);
		round_trip(client, server);
		close(client);
		close(server);
	}
	close(listener);
	say("tcp: %lu connections", n);
	return 0;
}

/*
 * udp: one task.  Once socket, bind, getsockname, connect (to itself) and close; per round one send
 * and one recv of 64 bytes.
 */
int run_udp(unsigned long n)
{
	struct sockaddr_in addr;
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;

	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	for (i = 0; i < n; i++)
		send_to_self(fd);
	close(fd);
	say("udp: %lu datagrams", n);
	return 0;
}

/* udp6: the same over ::1. */
int run_udp6(unsigned long n)
{
	struct sockaddr_in6 addr = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t len = sizeof(addr);
	int fd = new_socket(AF_INET6, SOCK_DGRAM);

	if (bind(fd, (struct sockaddr *)&addr, len) ||
	    getsockname(fd, (struct sockaddr *)&addr, &len) ||
	    connect(fd, (struct sockaddr *)&addr, len))
		fail("a socket to itself");
	for (unsigned long i = 0; i < n; i++)
		send_to_self(fd);
	close(fd);
	say("udp6: %lu datagrams", n);
	return 0;
}

/* An address of this host with a port. Return: its length. */
static socklen_t local(struct sockaddr_storage *addr, int family, in_port_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
				    .sin6_addr = IN6ADDR_LOOPBACK_INIT,
				    .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				  .sin_port = htons(port) };

	memset(addr, 0, sizeof(*addr));
	if (family == AF_INET6)
		memcpy(addr, &in6, sizeof(in6));
	else
		memcpy(addr, &in, sizeof(in));
	return family == AF_INET6 ? sizeof(in6) : sizeof(in);
}

static int socket_at(int family, int type, in_port_t port)
{
	struct sockaddr_storage addr;
	socklen_t len = local(&addr, family, port);
	int fd = new_socket(family, type);
	int on = 1;

	if (type == SOCK_STREAM && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)))
		fail("SO_REUSEADDR");
	if (bind(fd, (struct sockaddr *)&addr, len))
		fail("bind");
	return fd;
}

static void want_stamps(int fd)
{
	int on = 1;

	if (getenv("STAMPS") && setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on)))
		fail("SO_TIMESTAMPNS");
}

/* bound: it takes what comes to that port, up to its buffer's size, and reads none of it. $STAMPS: it wants time stamps. */
int run_bound(unsigned long seconds)
{
	const char *port = getenv("PORT");
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = new_socket(AF_INET, SOCK_DGRAM);

	any.sin_port = htons(port ? (in_port_t)strtoul(port, NULL, 10) : 0);
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)))
		fail("bind");
	want_stamps(fd);
	sleep_ms(seconds * 1000);
	close(fd);
	return 0;
}

static void connect_to(int fd, int family, in_port_t port)
{
	struct sockaddr_storage addr;
	socklen_t len = local(&addr, family, port);

	if (connect(fd, (struct sockaddr *)&addr, len))
		fail("connect");
}

static void same_datagrams(int family, in_port_t port, unsigned long n)
{
	int in = socket_at(family, SOCK_DGRAM, port);
	int out = socket_at(family, SOCK_DGRAM, port + 1);

	connect_to(out, family, port);
	for (unsigned long i = 0; i < n; i++) {
		send_msg(out);
		if (!recv_msg(in))
			fail_msg("recv: empty");
	}
	close(out);
	close(in);
}

/* Both ends are reset, so that their ports are free at once. */
static void same_connection(int family, in_port_t port, unsigned long n)
{
	const struct linger reset = { .l_onoff = 1 };
	int listener = socket_at(family, SOCK_STREAM, port);
	int near = socket_at(family, SOCK_STREAM, port + 1);
	int far;

	if (listen(listener, 1))
		fail("listen");
	connect_to(near, family, port);
	far = accept_one(listener);
	for (unsigned long i = 0; i < n; i++)
		round_trip(near, far);
	if (setsockopt(near, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)) ||
	    setsockopt(far, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)))
		fail("SO_LINGER");
	close(near);
	close(far);
	close(listener);
}

int run_same_ports(unsigned long n)
{
	same_datagrams(AF_INET, 5040, n);
	same_datagrams(AF_INET6, 5042, n);
	same_connection(AF_INET, 5044, n);
	same_connection(AF_INET6, 5046, n);
	return 0;
}

/* Per round one connection over @family, and 64 bytes each way. */
static void stream_rounds(unsigned long n, int family, int protocol)
{
	struct sockaddr_storage addr;
	socklen_t len = local(&addr, family, 0);
	int listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);

	if (listener < 0 || bind(listener, (struct sockaddr *)&addr, len) || listen(listener, 16) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		fail("a listener");
	for (unsigned long i = 0; i < n; i++) {
		int client = socket(family, SOCK_STREAM | SOCK_CLOEXEC, protocol);
		int server;

		if (client < 0 || connect(client, (struct sockaddr *)&addr, len))
			fail("connect");
		server = accept_one(listener);
		round_trip(client, server);
		close(client);
		close(server);
	}
	close(listener);
}

int run_tcp6(unsigned long n)
{
	stream_rounds(n, AF_INET6, 0);
	say("tcp6: %lu connections", n);
	return 0;
}

int run_mptcp(unsigned long n)
{
	stream_rounds(n, AF_INET, 262); /* IPPROTO_MPTCP */
	say("mptcp: %lu connections", n);
	return 0;
}

/* A listener with room for one that accepts nobody, and N connects after the queue is full, each with one SYN. */
int run_overflow(unsigned long n)
{
	struct sockaddr_storage addr;
	socklen_t len = local(&addr, AF_INET, 0);
	int listener = new_socket(AF_INET, SOCK_STREAM);
	int fd;

	if (bind(listener, (struct sockaddr *)&addr, len) || listen(listener, 0) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len))
		fail("a listener");
	fd = new_socket(AF_INET, SOCK_STREAM);
	if (connect(fd, (struct sockaddr *)&addr, len))
		fail("connect");
	for (unsigned long i = 0; i < n; i++) {
		int late = new_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK);

		if (!connect(late, (struct sockaddr *)&addr, len) || errno != EINPROGRESS)
			fail("a connect to a full queue");
		close(late);
	}
	close(fd);
	close(listener);
	say("overflow: %lu SYNs too many", n);
	return 0;
}

/* unix: one task, one stream socketpair; per round two send and two recv of 64 bytes. */
int run_unix(unsigned long n)
{
	unsigned long i;
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd))
		fail("socketpair");
	for (i = 0; i < n; i++)
		round_trip(fd[0], fd[1]);
	close(fd[0]);
	close(fd[1]);
	say("unix: %lu round trips", n);
	return 0;
}

/*
 * vsock: one task, whose socket is connected to another of this host; per round one send and one recv of 64 bytes. The module
 * vsock_loopback has to be loaded.
 */
int run_vsock(unsigned long n)
{
	struct sockaddr_vm addr = { .svm_family = AF_VSOCK,
				    .svm_cid = VMADDR_CID_LOCAL,
				    .svm_port = 5000 };
	int listener = new_socket(AF_VSOCK, SOCK_STREAM);
	int near = new_socket(AF_VSOCK, SOCK_STREAM);
	int far;

	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1) ||
	    connect(near, (struct sockaddr *)&addr, sizeof(addr)))
		fail("a connection over vsock");
	far = accept_one(listener);
	for (unsigned long i = 0; i < n; i++) {
		send_msg(near);
		if (!recv_msg(far))
			fail_msg("recv: empty");
	}
	close(near);
	close(far);
	close(listener);
	say("vsock: %lu messages", n);
	return 0;
}

/* Whether a process sleeps, by the state field of its stat file. */
static bool sleeps(pid_t pid)
{
	char path[64], line[512];
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		fail(path);
	if (!fgets(line, sizeof(line), f))
		fail(path);
	fclose(f);
	end = strrchr(line, ')');
	return end && end[1] == ' ' && end[2] == 'S';
}

static void send_late(int fd, pid_t receiver, unsigned long ms)
{
	while (!sleeps(receiver))
		sleep_ms(1);
	sleep_ms(ms);
	send_msg(fd);
	exit(0);
}

/*
 * Two tasks: the first makes a single recv(), which sleeps; the second, its child, makes a single
 * send() not before the first one has slept for that many milliseconds.  Hence that recv() takes at
 * least as long, and never much longer.
 */
static void recv_late(int receiver, int sender, unsigned long ms)
{
	unsigned long start;
	pid_t self = getpid(), child;

	child = new_child();
	if (child == 0)
		send_late(sender, self, ms);
	start = now_ms();
	if (!recv_msg(receiver))
		fail_msg("recv: empty");
	say("recv-block: %lu ms in recv", now_ms() - start);
	reap(child);
}

/* recv-block: see above, over UDP. */
int run_recv_block(unsigned long ms)
{
	struct sockaddr_in addr;
	int fd = new_socket(AF_INET, SOCK_DGRAM);

	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	recv_late(fd, fd, ms);
	close(fd);
	return 0;
}

/* recv-block-unix: see above, over a datagram socketpair. */
int run_recv_block_unix(unsigned long ms)
{
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fd))
		fail("socketpair");
	recv_late(fd[0], fd[1], ms);
	close(fd[0]);
	close(fd[1]);
	return 0;
}

/*
 * connect-refused: one task; per round one socket, one connect that fails with ECONNREFUSED, and
 * one close.  The port stays bound, without anyone listening, so no other program can answer.
 */
int run_connect_refused(unsigned long n)
{
	struct sockaddr_in addr;
	int holder = new_socket(AF_INET, SOCK_STREAM);
	unsigned long i;
	int fd;

	bind_loopback(holder, &addr);
	for (i = 0; i < n; i++) {
		fd = new_socket(AF_INET, SOCK_STREAM);
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			fail_msg("connect: was not refused");
		if (errno != ECONNREFUSED)
			fail("connect");
		close(fd);
	}
	close(holder);
	say("connect-refused: %lu refused", n);
	return 0;
}

static void no_delay(int fd)
{
	int one = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		fail("setsockopt");
}

static void answer(int listener, unsigned long cpu)
{
	int fd = accept_one(listener);

	pin_to((unsigned int)cpu);
	no_delay(fd);
	while (recv_msg(fd))
		send_msg(fd);
	exit(0);
}

/*
 * pingpong: two processes, on the first two CPUs if there are two, send 64 bytes to and fro over
 * one TCP connection for that many seconds, as fast as they can.  Every round trip is two send and
 * two recv; the count that is printed is exact.
 */
int run_pingpong(unsigned long seconds)
{
	unsigned long end, count = 0;
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);
	pid_t child;
	int fd;

	child = new_child();
	if (child == 0)
		answer(listener, 1);
	pin_to(0);
	fd = connect_loopback(&addr);
	no_delay(fd);
	for (end = now_ms() + seconds * 1000; now_ms() < end; count++) {
		send_msg(fd);
		if (!recv_msg(fd))
			fail_msg("recv: unexpected end of stream");
	}
	close(fd);
	close(listener);
	reap(child);
	say("pingpong: %lu round trips", count);
	return 0;
}

/*
 * flood: one task sends n datagrams to its own socket, in batches of 16, and receives each batch
 * when it is sent; every datagram takes a turn of the receiving softirq.  n send and n recv.
 */
int run_flood(unsigned long n)
{
	unsigned long done, batch, i;
	struct sockaddr_in addr;
	int fd = new_socket(AF_INET, SOCK_DGRAM);

	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	for (done = 0; done < n; done += batch) {
		batch = n - done < FLOOD_BATCH ? n - done : FLOOD_BATCH;
		for (i = 0; i < batch; i++)
			send_msg(fd);
		for (i = 0; i < batch; i++)
			if (!recv_msg(fd))
				fail_msg("recv: empty");
	}
	close(fd);
	say("flood: %lu datagrams", n);
	return 0;
}

/* udp-to: one task, n sendto() of $BYTES, or 8, to port $PORT, or 5000, of the address in $TO, a millisecond apart; nobody need listen. */
int run_udp_to(unsigned long n)
{
	struct sockaddr_storage to;
	const char *address = getenv("TO");
	const char *port = getenv("PORT");
	const char *bytes = getenv("BYTES");
	const ssize_t len = bytes ? atoi(bytes) : 8;
	static const char data[1400] = "datagram";
	const int family = address && strchr(address, ':') ? AF_INET6 : AF_INET;
	const socklen_t to_len = local(&to, family, (in_port_t)(port ? atoi(port) : 5000));
	int fd = new_socket(family, SOCK_DGRAM);
	unsigned long i;

	if (len < 0 || len > (ssize_t)sizeof(data))
		fail_msg("BYTES is more than a datagram here has");
	if (!address ||
	    inet_pton(family, address,
		      family == AF_INET6 ? (void *)&((struct sockaddr_in6 *)&to)->sin6_addr
					 : (void *)&((struct sockaddr_in *)&to)->sin_addr) != 1)
		fail_msg("TO is no address");
	for (i = 0; i < n; i++) {
		if (sendto(fd, data, (size_t)len, 0, (struct sockaddr *)&to, to_len) != len)
			fail("sendto");
		usleep(1000);
	}
	close(fd);
	say("udp-to: %lu datagrams", n);
	return 0;
}

/* The next datagram leaves @ms from now, if its queue keeps that. */
static void send_timed(int fd, unsigned long ms)
{
	char letter = 'x';
	struct iovec iov = { &letter, 1 };
	union {
		char bytes[CMSG_SPACE(sizeof(uint64_t))];
		struct cmsghdr align;
	} control = { 0 };
	struct msghdr msg = { .msg_iov = &iov,
			      .msg_iovlen = 1,
			      .msg_control = &control,
			      .msg_controllen = sizeof(control) };
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	struct timespec now;
	uint64_t at_ns;

	clock_gettime(CLOCK_MONOTONIC, &now);
	at_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec + ms * 1000000;
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_TXTIME;
	cmsg->cmsg_len = CMSG_LEN(sizeof(at_ns));
	memcpy(CMSG_DATA(cmsg), &at_ns, sizeof(at_ns));
	if (sendmsg(fd, &msg, 0) != 1)
		fail("sendmsg");
}

int run_stamped(unsigned long n)
{
	const struct sock_txtime by_clock = { .clockid = CLOCK_MONOTONIC };
	const char *depart_ms = getenv("DEPART_MS");
	int in = socket_at(AF_INET, SOCK_DGRAM, 7100);
	int out = new_socket(AF_INET, SOCK_DGRAM);
	char letter;

	want_stamps(in);
	connect_to(out, AF_INET, 7100);
	if (depart_ms && setsockopt(out, SOL_SOCKET, SO_TXTIME, &by_clock, sizeof(by_clock)))
		fail("SO_TXTIME");
	for (unsigned long i = 0; i < n; i++) {
		if (depart_ms)
			send_timed(out, strtoul(depart_ms, NULL, 10));
		else if (send(out, "x", 1, 0) != 1)
			fail("send");
		if (recv(in, &letter, 1, 0) != 1)
			fail("recv");
	}
	close(out);
	close(in);
	say("stamped: %lu datagrams", n);
	return 0;
}

/* $RUN in a terminal of its own, like the shell of an ssh session; *master is the other end. */
static pid_t run_in_terminal(int *master, unsigned long columns)
{
	const struct winsize size = { .ws_row = 25, .ws_col = (unsigned short)columns };
	const char *command = getenv("RUN");
	pid_t pid;

	if (!command)
		fail_msg("RUN is not set");
	pid = forkpty(master, NULL, NULL, &size);
	if (pid < 0)
		fail("forkpty");
	if (pid)
		return pid;
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	fail("sh");
	return 0;
}

/*
 * relay: what sshd does.  Connects to port 7100 on loopback, runs the shell command in $RUN in a terminal,
 * and sends what it prints: one send for each read of the terminal.  Stops after n sends, or when the
 * command has ended.
 */
int run_relay(unsigned long n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(7100) };
	unsigned long cnt = 0;
	char text[4096];
	int fd, master;
	ssize_t len;
	pid_t job;

	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = connect_loopback(&to);
	no_delay(fd);
	job = run_in_terminal(&master, 80);
	while (cnt < n && (len = read(master, text, sizeof(text))) > 0) {
		if (send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
			fail("send");
		cnt++;
	}
	close(master);
	waitpid(job, NULL, 0);
	close(fd);
	say("relay: %lu sends", cnt);
	return 0;
}

/* terminal: runs the shell command in $RUN in a terminal of n columns, and writes what that shows to standard output. */
int run_terminal(unsigned long n)
{
	char text[4096];
	ssize_t len;
	int master;
	pid_t job = run_in_terminal(&master, n);

	while ((len = read(master, text, sizeof(text))) > 0) {
		if (write(STDOUT_FILENO, text, (size_t)len) != len)
			fail("write");
	}
	close(master);
	reap(job);
	return 0;
}
