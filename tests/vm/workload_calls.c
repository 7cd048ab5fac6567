/* The commands that make one call again and again, and say how long it took. */
#include "workload.h"

#include <pthread.h>

#define TIMED_CALLS 1000
#define TIMED_SENDS 100
#define TIMED_FORKS 10

/* calls: one task, exactly n getsockname() on one UDP socket, which is never bound. */
int run_calls(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	unsigned long i;

	for (i = 0; i < n; i++)
		ask_name(fd);
	close(fd);
	say("calls: %lu getsockname", n);
	return 0;
}

/* pace: one task, a getsockname() every 2 ms, n in all. */
int run_pace(unsigned long n)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	int fd = new_socket(AF_INET, SOCK_DGRAM);

	for (unsigned long i = 0; i < n; i++) {
		ask_name(fd);
		nanosleep(&pause, NULL);
	}
	close(fd);
	say("pace: %lu getsockname", n);
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

int run_asked(unsigned long n)
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
int run_timed(unsigned long n)
{
	int fd = new_socket(AF_INET, SOCK_DGRAM);

	say("timed: %lu ns for 1000 calls", fastest_ns(n, TIMED_CALLS, ask_name, fd));
	close(fd);
	return 0;
}

/* longest: n getsockname() on one UDP socket; how long the slowest took. */
int run_longest(unsigned long n)
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

/* timed-udp: n rounds of TIMED_SENDS datagrams, sent to itself and received, each by one call. */
int run_timed_udp(unsigned long n)
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

static void fork_one(int fd)
{
	pid_t child = new_child();

	(void)fd;
	if (child == 0)
		_exit(0);
	reap(child);
}

/* timed-fork: n rounds of TIMED_FORKS children, which end at once, one after the other. */
int run_timed_fork(unsigned long n)
{
	say("timed: %lu ns for 1000 calls",
	    fastest_ns(n, TIMED_FORKS, fork_one, -1) * (TIMED_CALLS / TIMED_FORKS));
	return 0;
}

static int timed_server;

static void there_and_back(int fd)
{
	round_trip(fd, timed_server);
}

/* timed-tcp: n rounds of TIMED_SENDS round trips over one connection, all four calls by one task. */
int run_timed_tcp(unsigned long n)
{
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);
	int client = connect_loopback(&addr);

	timed_server = accept_one(listener);
	say("timed: %lu ns for 1000 calls",
	    fastest_ns(n, TIMED_SENDS, there_and_back, client) * (TIMED_CALLS / TIMED_SENDS));
	close(client);
	close(timed_server);
	close(listener);
	return 0;
}

#define RATE_NS 100000000

/* rate: datagrams, sent to itself and received, for n times 100 ms; prints how many in each. */
int run_rate(unsigned long n)
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
