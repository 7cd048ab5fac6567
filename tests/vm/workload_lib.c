/* What the commands share. */
#include "workload.h"

#include <sched.h>

#define MSG_SIZE 64

void fail(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(1);
}

void fail_msg(const char *what)
{
	fprintf(stderr, "workload: %s\n", what);
	exit(1);
}

void say(const char *fmt, unsigned long n)
{
	printf(fmt, n);
	putchar('\n');
	if (fflush(stdout))
		fail("stdout");
}

int new_socket(int family, int type)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	if (fd < 0)
		fail("socket");
	return fd;
}

void bind_loopback(int fd, struct sockaddr_in *addr)
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

int listen_loopback(struct sockaddr_in *addr)
{
	int fd = new_socket(AF_INET, SOCK_STREAM);

	bind_loopback(fd, addr);
	if (listen(fd, 16))
		fail("listen");
	return fd;
}

int connect_loopback(const struct sockaddr_in *addr)
{
	int fd = new_socket(AF_INET, SOCK_STREAM);

	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		fail("connect");
	return fd;
}

int accept_one(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		fail("accept");
	return fd;
}

void send_msg(int fd)
{
	char msg[MSG_SIZE];

	memset(msg, 'x', sizeof(msg));
	if (send(fd, msg, sizeof(msg), MSG_NOSIGNAL) != (ssize_t)sizeof(msg))
		fail("send");
}

bool recv_msg(int fd)
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

void send_to_self(int fd)
{
	send_msg(fd);
	if (!recv_msg(fd))
		fail_msg("recv: empty");
}

void round_trip(int a, int b)
{
	send_msg(a);
	if (!recv_msg(b))
		fail_msg("recv: unexpected end of stream");
	send_msg(b);
	if (!recv_msg(a))
		fail_msg("recv: unexpected end of stream");
}

void ask_name(int fd)
{
	struct sockaddr_in addr;
	socklen_t len = sizeof(addr);

	if (getsockname(fd, (struct sockaddr *)&addr, &len))
		fail("getsockname");
}

unsigned long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000 + (unsigned long)ts.tv_nsec / 1000000;
}

void sleep_ms(unsigned long ms)
{
	struct timespec ts;

	ts.tv_sec = (time_t)(ms / 1000);
	ts.tv_nsec = (long)(ms % 1000) * 1000000;
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

void pin_to(unsigned int nth)
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

void reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) < 0)
		fail("waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("a child failed");
}

pid_t new_child(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	return pid;
}
