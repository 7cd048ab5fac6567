// SPDX-License-Identifier: GPL-2.0
/*
 * Network work of a known amount, for the live tests.
 *
 * Every command says what it guarantees: which system calls it makes on sockets, how often, and in
 * which tasks.  Nothing else in this program touches a socket.  Only loopback addresses are used,
 * and only ports that the kernel picks; "lo" has to be up.
 *
 * getsockname() is what is used for calls to be counted: on an IPv4 socket each one is exactly one
 * call of __sys_getsockname() and of inet_getname(), in all kernels from 5.10 to 7.2 (7.2 puts
 * do_getsockname() between them), it never sleeps, and the C library never calls it by itself.
 *
 * Build: cc -static -O2 -pthread -o workload workload.c
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MSG_SIZE    64
#define FLOOD_BATCH 16
#define TIMED_CALLS 1000
#define TIMED_SENDS 100

struct command {
	const char *name;
	const char *arg;   /* what the argument is called; in brackets: optional, 1 if absent */
	unsigned long max; /* the largest argument allowed */
	int (*run)(unsigned long n);
	const char *help;
};

static void fail(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void fail_msg(const char *what)
{
	fprintf(stderr, "workload: %s\n", what);
	exit(1);
}

/* Text must not wait in a buffer when this forks, or when a reader waits for it. */
static void say(const char *fmt, unsigned long n)
{
	printf(fmt, n);
	putchar('\n');
	if (fflush(stdout))
		fail("stdout");
}

static int new_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	return fd;
}

/* Bind to 127.0.0.1 and a free port; *addr says which. */
static void bind_loopback(int fd, struct sockaddr_in *addr)
{
	socklen_t len = sizeof(*addr);

	memset(addr, 0, sizeof(*addr));
	addr->sin_family = AF_INET;
	addr->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)addr, sizeof(*addr)))
		fail("bind");
	if (getsockname(fd, (struct sockaddr *)addr, &len))
		fail("getsockname");
}

static int listen_loopback(struct sockaddr_in *addr)
{
	int fd = new_socket(AF_INET, SOCK_STREAM);

	bind_loopback(fd, addr);
	if (listen(fd, 16))
		fail("listen");
	return fd;
}

static int connect_loopback(const struct sockaddr_in *addr)
{
	int fd = new_socket(AF_INET, SOCK_STREAM);

	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		fail("connect");
	return fd;
}

static int accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		fail("accept");
	return fd;
}

static void send_msg(int fd)
{
	char msg[MSG_SIZE];

	memset(msg, 'x', sizeof(msg));
	if (send(fd, msg, sizeof(msg), MSG_NOSIGNAL) != (ssize_t)sizeof(msg))
		fail("send");
}

/* One recv() for one message; false at the end of the stream. */
static bool recv_msg(int fd)
{
	char msg[MSG_SIZE];
	ssize_t n;

	n = recv(fd, msg, sizeof(msg), 0);
	if (n < 0)
		fail("recv");
	if (n == 0)
		return false;
	if (n != (ssize_t)sizeof(msg) || msg[0] != 'x' || msg[MSG_SIZE - 1] != 'x')
		fail_msg("recv: not the message that was sent");
	return true;
}

/* There and back again: two send() and two recv(). */
static void round_trip(int a, int b)
{
	send_msg(a);
	if (!recv_msg(b))
		fail_msg("recv: unexpected end of stream");
	send_msg(b);
	if (!recv_msg(a))
		fail_msg("recv: unexpected end of stream");
}

static void ask_name(int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		fail("getsockname");
}

static unsigned long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000;
}

static void sleep_ms(unsigned long ms)
{
	struct timespec ts;

	ts.tv_sec = (time_t)(ms / 1000);
	ts.tv_nsec = (long)(ms % 1000) * 1000000;
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* Keep to one CPU, if there are as many. */
static void pin_to(unsigned int nth)
{
	cpu_set_t allowed, one;
	unsigned int cpu;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		fail("sched_getaffinity");
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || nth--)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			fail("sched_setaffinity");
		return;
	}
}

/* Wait for one child, whichever if pid is -1. */
static void reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		fail("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a child failed");
}

static pid_t new_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	return pid;
}

/*
 * tcp: one task.  Per round one socket, connect, accept4, two close, and for the 64 bytes each way
 * two send and two recv.  Once before: socket, bind, getsockname, listen; and a close at the end.
 * All packets are handled within connect, send and close, so that accept4 and recv find what they
 * want without sleeping unless the kernel is overloaded and hands over to ksoftirqd.
 */
static int run_tcp(unsigned long n)
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
static int run_udp(unsigned long n)
{
	struct sockaddr_in addr;
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;

	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	for (i = 0; i < n; i++) {
		send_msg(fd);
		if (!recv_msg(fd))
			fail_msg("recv: empty");
	}
	close(fd);
	say("udp: %lu datagrams", n);
	return 0;
}

/* unix: one task, one stream socketpair; per round two send and two recv of 64 bytes. */
static int run_unix(unsigned long n)
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
static int run_recv_block(unsigned long ms)
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
static int run_recv_block_unix(unsigned long ms)
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
static int run_connect_refused(unsigned long n)
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

/* calls: one task, exactly n getsockname() on one UDP socket, which is never bound. */
static int run_calls(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;

	for (i = 0; i < n; i++)
		ask_name(fd);
	close(fd);
	say("calls: %lu getsockname", n);
	return 0;
}

/*
 * asked: one task, and in it one more thread.  For each line of stdin, a number, both make that many
 * getsockname() on one UDP socket, at the same time; then a line is printed.  Ends after n lines or with stdin.
 */
struct asked {
	pthread_barrier_t begin, end;
	unsigned long cnt;
	int fd;
};

static void ask_often(struct asked *asked)
{
	unsigned long i;

	for (i = 0; i < asked->cnt; i++)
		ask_name(asked->fd);
}

static void *asked_main(void *arg)
{
	struct asked *asked = arg;

	for (;;) {
		pthread_barrier_wait(&asked->begin);
		if (!asked->cnt)
			return NULL;
		ask_often(asked);
		pthread_barrier_wait(&asked->end);
	}
}

static int run_asked(unsigned long n)
{
	struct asked asked = { .fd = new_socket(AF_INET, SOCK_DGRAM) };
	char line[32];
	pthread_t id;

	if (pthread_barrier_init(&asked.begin, NULL, 2) ||
	    pthread_barrier_init(&asked.end, NULL, 2) ||
	    pthread_create(&id, NULL, asked_main, &asked))
		fail_msg("cannot start a thread");
	while (n-- && fgets(line, sizeof(line), stdin)) {
		asked.cnt = strtoul(line, NULL, 10);
		if (!asked.cnt)
			break;
		pthread_barrier_wait(&asked.begin);
		ask_often(&asked);
		pthread_barrier_wait(&asked.end);
		say("asked: %lu getsockname by each of two", asked.cnt);
	}
	asked.cnt = 0;
	pthread_barrier_wait(&asked.begin);
	pthread_join(id, NULL);
	close(asked.fd);
	return 0;
}

static uint64_t time_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* What the fastest of n rounds of @cnt calls takes, which is one that no clock tick fell into. */
static uint64_t fastest_ns(unsigned long n, int cnt, void (*call)(int fd), int fd)
{
	uint64_t best_ns = UINT64_MAX;

	while (n--) {
		uint64_t begin_ns = time_ns();
		uint64_t took_ns;

		for (int i = 0; i < cnt; i++)
			call(fd);
		took_ns = time_ns() - begin_ns;
		if (took_ns < best_ns)
			best_ns = took_ns;
	}
	return best_ns;
}

/* timed: n rounds of TIMED_CALLS getsockname() on one UDP socket. */
static int run_timed(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);

	say("timed: %lu ns for 1000 calls", fastest_ns(n, TIMED_CALLS, ask_name, fd));
	close(fd);
	return 0;
}

/* longest: n getsockname() on one UDP socket; how long the slowest took. */
static int run_longest(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	uint64_t longest_ns = 0;

	while (n--) {
		uint64_t begin_ns = time_ns();
		uint64_t took_ns;

		ask_name(fd);
		took_ns = time_ns() - begin_ns;
		if (took_ns > longest_ns)
			longest_ns = took_ns;
	}
	say("longest: %lu ns", longest_ns);
	close(fd);
	return 0;
}

static void send_to_self(int fd)
{
	send_msg(fd);
	if (!recv_msg(fd))
		fail_msg("recv: empty");
}

/* timed-udp: n rounds of TIMED_SENDS datagrams, sent to itself and received, each by one call. */
static int run_timed_udp(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	struct sockaddr_in addr;

	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	say("timed: %lu ns for 1000 calls",
	    fastest_ns(n, TIMED_SENDS, send_to_self, fd) * (TIMED_CALLS / TIMED_SENDS));
	close(fd);
	return 0;
}

#define RATE_NS  100000000
#define RATE_MAX 600

/* rate: datagrams, sent to itself and received, for n times 100 ms; prints how many in each. */
static int run_rate(unsigned long n)
{
	static unsigned long cnts[RATE_MAX];
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	struct sockaddr_in addr;
	uint64_t begin_ns;

	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	begin_ns = time_ns();
	for (unsigned long i = 0; i < n; i++) {
		while (time_ns() - begin_ns < (i + 1) * RATE_NS) {
			send_to_self(fd);
			cnts[i]++;
		}
	}
	say("rate: %lu times 100 ms", n);
	for (unsigned long i = 0; i < n; i++)
		say("%lu", cnts[i]);
	close(fd);
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
static int run_pingpong(unsigned long seconds)
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
static int run_flood(unsigned long n)
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

/* udp-to: one task, n sendto() to port 5000 of the address in $TO, a millisecond apart; nobody need listen. */
static int run_udp_to(unsigned long n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5000) };
	const char *address = getenv("TO");
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;

	if (!address || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		fail_msg("TO is no IPv4 address");
	for (i = 0; i < n; i++) {
		if (sendto(fd, "datagram", 8, 0, (struct sockaddr *)&to, sizeof(to)) != 8)
			fail("sendto");
		usleep(1000);
	}
	close(fd);
	say("udp-to: %lu datagrams", n);
	return 0;
}

/* $RUN in a terminal of its own, like the shell of an ssh session; *master is the other end. */
static pid_t run_in_terminal(int *master)
{
	const char *command = getenv("RUN");
	pid_t pid;

	if (!command)
		fail_msg("RUN is not set");
	pid = forkpty(master, NULL, NULL, NULL);
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
static int run_relay(unsigned long n)
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
	job = run_in_terminal(&master);
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

/* fork: n children, all alive at once, each with exactly one getsockname(). */
static int run_fork(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;
	char byte;
	int gate[2];

	if (pipe(gate))
		fail("pipe");
	for (i = 0; i < n; i++) {
		if (new_child() != 0)
			continue;
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 0)
			fail_msg("gate");
		ask_name(fd);
		_exit(0);
	}
	close(gate[1]);
	for (i = 0; i < n; i++)
		reap(-1);
	close(fd);
	say("fork: %lu children", n);
	return 0;
}

static pthread_barrier_t barrier;

static void *thread_main(void *arg)
{
	pthread_barrier_wait(&barrier);
	ask_name(*(int *)arg);
	return NULL;
}

/* threads: n more threads, all alive at once, each with exactly one getsockname(). */
static int run_threads(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	pthread_attr_t attr;
	pthread_t *id = calloc(n, sizeof(*id));
	unsigned long i;

	if (!id || pthread_attr_init(&attr) || pthread_attr_setstacksize(&attr, 65536) ||
	    pthread_barrier_init(&barrier, NULL, (unsigned int)n))
		fail_msg("cannot set up threads");
	for (i = 0; i < n; i++)
		if (pthread_create(&id[i], &attr, thread_main, &fd))
			fail_msg("cannot start a thread");
	for (i = 0; i < n; i++)
		pthread_join(id[i], NULL);
	free(id);
	close(fd);
	say("threads: %lu threads", n);
	return 0;
}

/* A call whose third argument tells which task made it, and as what. */
static void call_as(const char *what, unsigned long number)
{
	char comm[16];

	snprintf(comm, sizeof(comm), "%s%lu", what, number);
	if (*what && prctl(PR_SET_NAME, comm))
		fail("prctl");
	/* no protocol has such a number */
	if (socket(AF_UNIX, SOCK_STREAM, (int)number) >= 0)
		fail_msg("socket: it was made");
}

static void *renamed_thread(void *arg)
{
	call_as("w", *(unsigned long *)arg + 400000);
	return NULL;
}

/* Written by somebody else, in the middle of the task's life. */
static void rename_task(pid_t pid, unsigned long number)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	file = fopen(path, "w");
	if (!file || fprintf(file, "v%lu", number) < 0 || fclose(file))
		fail(path);
}

static void be_named(unsigned long i)
{
	unsigned long number = i;
	pthread_t thread;

	call_as("", 100000 + i);
	call_as("t", 200000 + i);
	rename_task(getpid(), 300000 + i);
	call_as("", 300000 + i);
	if (i % 10)
		return;
	if (pthread_create(&thread, NULL, renamed_thread, &number) || pthread_join(thread, NULL))
		fail_msg("pthread_create");
	call_as("", 300000 + i);
}

/*
 * names: n children one after the other. The third argument of their calls of socket(), P, tells what their
 * task is called: 100000 and up: "workload", 200000: "tP", 300000: "vP", 400000: "wP", which is a thread.
 * Three calls each, in every tenth child two more.
 */
static int run_names(unsigned long n)
{
	unsigned long i;

	for (i = 0; i < n; i++) {
		pid_t child = new_child();

		if (!child) {
			be_named(i);
			_exit(0);
		}
		reap(child);
	}
	say("names: %lu children", n);
	return 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * hold: one task, blocked in one accept() for that many seconds; a signal then ends it with EINTR.
 * The line is printed before the call.
 */
static int run_hold(unsigned long seconds)
{
	/* The repetition is for a signal that comes before accept() sleeps. */
	struct itimerval timer = { .it_value.tv_sec = (time_t)seconds, .it_interval.tv_sec = 1 };
	struct sigaction act = { .sa_handler = on_alarm };
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);

	if (sigaction(SIGALRM, &act, NULL) || setitimer(ITIMER_REAL, &timer, NULL))
		fail("setitimer");
	say("hold: %lu seconds in accept", seconds);
	if (accept(listener, NULL, NULL) >= 0)
		fail_msg("accept: someone connected");
	if (errno != EINTR)
		fail("accept");
	close(listener);
	return 0;
}

static int run_shell(void)
{
	const char *run = getenv("RUN");

	if (!run)
		fail_msg("RUN is not set");
	execl("/bin/sh", "sh", "-c", run, (char *)NULL);
	fail("sh");
	return 1;
}

/*
 * no-links: $RUN by the shell, for which BPF_LINK_CREATE fails with that error number.
 */
static int run_no_links(unsigned long err)
{
	struct sock_filter insns[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BPF_LINK_CREATE, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned int)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(insns) / sizeof(insns[0]), insns };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		fail("prctl");
	return run_shell();
}

/*
 * no-cap: $RUN by the shell, which cannot have that capability.
 */
static int run_no_cap(unsigned long cap)
{
	if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
		fail("prctl");
	return run_shell();
}

static const struct command commands[] = {
	{ "tcp", "[N]", 1000000, run_tcp, "N connections with a message each way" },
	{ "udp", "[N]", 100000000, run_udp, "N datagrams" },
	{ "udp-to", "N", 1000000, run_udp_to, "N datagrams to port 5000 of $TO" },
	{ "unix", "[N]", 100000000, run_unix, "N round trips over a socketpair" },
	{ "recv-block", "MS", 600000, run_recv_block, "one recv that takes MS milliseconds (UDP)" },
	{ "recv-block-unix", "MS", 600000, run_recv_block_unix, "the same with a socketpair" },
	{ "connect-refused", "[N]", 1000000, run_connect_refused, "N connects that are refused" },
	{ "calls", "N", 1000000000, run_calls, "N getsockname" },
	{ "asked", "N", 1000000, run_asked, "getsockname by two threads as stdin says, N times" },
	{ "longest", "N", 1000000000, run_longest,
	  "N getsockname; prints how long the slowest took" },
	{ "timed", "N", 1000000, run_timed, "N times 1000 getsockname; prints the fastest" },
	{ "timed-udp", "N", 1000000, run_timed_udp, "the same with datagrams" },
	{ "rate", "N", RATE_MAX, run_rate,
	  "datagrams for N times 100 ms; prints how many in each" },
	{ "pingpong", "SECONDS", 3600, run_pingpong, "round trips between two processes" },
	{ "flood", "N", 100000000, run_flood, "N datagrams in batches" },
	{ "fork", "N", 1000, run_fork, "N children with one getsockname each" },
	{ "threads", "N", 1000, run_threads, "N threads with one getsockname each" },
	{ "names", "N", 99999, run_names, "N children that rename themselves" },
	{ "relay", "N", 1000000, run_relay,
	  "$RUN in a terminal, at most N sends of its output to port 7100" },
	{ "hold", "SECONDS", 3600, run_hold, "SECONDS in accept" },
	{ "no-cap", "NUMBER", 63, run_no_cap, "$RUN without that capability" },
	{ "no-links", "ERRNO", 4095, run_no_links, "$RUN, where BPF_LINK_CREATE fails with ERRNO" },
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static int usage(void)
{
	size_t i;

	fputs("usage: workload [-g] COMMAND [ARG]\n"
	      "       workload -i PROGRAM [ARG...]\n"
	      "  -g  first print the process id and wait for a line, or the end, of stdin\n"
	      "  -i  become PROGRAM, with SIGINT as at a terminal: a script's background ignores it\n",
	      stderr);
	for (i = 0; i < N_COMMANDS; i++)
		fprintf(stderr, "  %-15s %-8s %s\n", commands[i].name, commands[i].arg,
			commands[i].help);
	return 2;
}

/* A plain decimal number from 1 to max, or 0. */
static unsigned long parse(const char *s, unsigned long max)
{
	unsigned long n;
	char *end;

	if (*s < '1' || *s > '9')
		return 0;
	errno = 0;
	n = strtoul(s, &end, 10);
	if (errno || *end || n > max)
		return 0;
	return n;
}

static void wait_gate(void)
{
	char c;

	say("%lu", (unsigned long)getpid());
	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		;
}

int main(int argc, char **argv)
{
	const struct command *cmd = NULL;
	unsigned long n = 1;
	bool gate = false;
	size_t i;

	if (argc > 2 && !strcmp(argv[1], "-i")) {
		signal(SIGINT, SIG_DFL);
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		return 127;
	}
	if (argc > 1 && !strcmp(argv[1], "-g")) {
		gate = true;
		argc--;
		argv++;
	}
	for (i = 0; i < N_COMMANDS && argc > 1; i++)
		if (!strcmp(argv[1], commands[i].name))
			cmd = &commands[i];
	if (!cmd || argc > 3 || (argc == 2 && cmd->arg[0] != '['))
		return usage();
	if (argc == 3)
		n = parse(argv[2], cmd->max);
	if (n == 0)
		return usage();
	if (gate)
		wait_gate();
	return cmd->run(n);
}
