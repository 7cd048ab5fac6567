/* The commands of which some calls are slow, for a reason that is known. */
#include "workload.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define EVERY     20
#define SLOW_MS   50
#define MANY      100
#define MSG_SIZE  64
#define LONG_SIZE 100000

/* Whether round i, from 0 on, is a slow one for that reason. */
static bool is_slow(unsigned long i, const char *why)
{
	const char *how = getenv("HOW");
	const char *every = getenv("EVERY");
	const unsigned long cnt = every ? strtoul(every, NULL, 10) : EVERY;

	return i % cnt == cnt - 1 && how && !strcmp(how, why);
}

/* How late the server is that sleeps: $LATE milliseconds, or as all others. */
static unsigned long late_ms(void)
{
	const char *late = getenv("LATE");

	return late ? strtoul(late, NULL, 10) : SLOW_MS;
}

static void burn_ms(unsigned long ms)
{
	const unsigned long end = now_ms() + ms;

	while (now_ms() < end)
		;
}

/* Each of these pages is a page fault. */
static void touch_ms(unsigned long ms)
{
	const unsigned long end = now_ms() + ms;
	const size_t bytes = 64 * 4096;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED || madvise(pages, bytes, MADV_NOHUGEPAGE))
		fail("mmap");
	while (now_ms() < end) {
		for (size_t at = 0; at < bytes; at += 4096)
			pages[at] = 1;
		if (madvise(pages, bytes, MADV_DONTNEED))
			fail("madvise");
	}
	munmap(pages, bytes);
}

/* Once to the disk and back. */
static void sync_disk(int fd)
{
	static char block[4096];

	if (pwrite(fd, block, sizeof(block), 0) != sizeof(block) || fsync(fd))
		fail("fsync");
}

/* A process beside the server, which makes it late when asked. */
struct helper {
	int ask;  /* a byte: now */
	int told; /* a byte: has begun */
	pthread_mutex_t *lock;
};

static bool get_byte(int fd)
{
	char byte;

	return read(fd, &byte, 1) == 1;
}

static void put_byte(int fd)
{
	if (write(fd, "", 1) != 1)
		fail("write");
}

/* A task that has the CPU for a moment when it is asked, and is called last. Return: where to ask it. */
static int new_last(void)
{
	int ask[2];

	if (pipe(ask))
		fail("pipe");
	if (new_child() == 0) {
		close(ask[1]);
		prctl(PR_SET_NAME, "last");
		while (get_byte(ask[0]))
			burn_ms(2);
		exit(0);
	}
	close(ask[0]);
	return ask[1];
}

static void help(const struct helper *helper, int told)
{
	const struct sched_param priority = { .sched_priority = 1 };
	const char *how = getenv("HOW");
	const bool is_queued = !strcmp(how, "queued");
	int last = -1;

	prctl(PR_SET_NAME, "helper");
	if ((is_queued || !strcmp(how, "kept")) && sched_setscheduler(0, SCHED_FIFO, &priority))
		fail("sched_setscheduler");
	if (is_queued)
		last = new_last();
	while (get_byte(helper->ask)) {
		if (is_queued) {
			sleep_ms(SLOW_MS / 10);
			burn_ms(SLOW_MS);
			put_byte(last);
			continue;
		}
		if (!strcmp(how, "kept")) {
			burn_ms(SLOW_MS);
			continue;
		}
		if (!strcmp(how, "stopped")) {
			sleep_ms(SLOW_MS);
			kill(getppid(), SIGCONT);
			continue;
		}
		pthread_mutex_lock(helper->lock);
		put_byte(told);
		sleep_ms(SLOW_MS);
		pthread_mutex_unlock(helper->lock);
	}
	exit(0);
}

static struct helper new_helper(void)
{
	pthread_mutexattr_t shared;
	struct helper helper;
	int ask[2], told[2];

	helper.lock = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (helper.lock == MAP_FAILED || pipe(ask) || pipe(told))
		fail("pipe");
	pthread_mutexattr_init(&shared);
	pthread_mutexattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(helper.lock, &shared);
	helper.ask = ask[0];
	if (new_child() == 0) {
		close(ask[1]);
		help(&helper, told[1]);
	}
	close(ask[0]);
	helper.ask = ask[1];
	helper.told = told[0];
	return helper;
}

/* Return: how many ms it took, without the way to the helper. @disk: "fsync": a descriptor. */
static unsigned long be_late(unsigned long i, const struct helper *helper, int disk)
{
	unsigned long begin;

	if (is_slow(i, "locked") || is_slow(i, "stopped"))
		put_byte(helper->ask);
	if (is_slow(i, "locked"))
		get_byte(helper->told);
	begin = now_ms();
	if (is_slow(i, "server"))
		sleep_ms(late_ms());
	if (is_slow(i, "burns"))
		burn_ms(SLOW_MS);
	if (is_slow(i, "faults"))
		touch_ms(SLOW_MS);
	if (is_slow(i, "fsync"))
		sync_disk(disk);
	if (is_slow(i, "kept") || is_slow(i, "queued"))
		put_byte(helper->ask);
	if (is_slow(i, "queued"))
		sleep_ms(SLOW_MS / 3);
	if (is_slow(i, "locked")) {
		pthread_mutex_lock(helper->lock);
		pthread_mutex_unlock(helper->lock);
	}
	if (is_slow(i, "stopped"))
		kill(getpid(), SIGSTOP);
	return now_ms() - begin;
}

/* Where the server or its helper keeps a CPU for 50 ms, the client has another one: otherwise its call begins after that. */
static bool is_late_awake(void)
{
	const char *how = getenv("HOW");

	return how && (!strcmp(how, "burns") || !strcmp(how, "faults") || !strcmp(how, "kept") ||
		       !strcmp(how, "queued"));
}

static void serve(int listener)
{
	const char *how = getenv("HOW");
	int fd = accept_one(listener);
	struct helper helper = { 0 };
	unsigned long late_ms = 0;
	unsigned long i;
	int disk = -1;

	prctl(PR_SET_NAME, "server");
	if (how && !strcmp(how, "fsync")) {
		disk = open(getenv("DISK"), O_RDWR);
		if (disk < 0)
			fail("DISK");
	}
	if (is_late_awake())
		pin_to(1);
	if (how && (!strcmp(how, "kept") || !strcmp(how, "queued") || !strcmp(how, "locked") ||
		    !strcmp(how, "stopped")))
		helper = new_helper();
	for (i = 0; recv_msg(fd); i++) {
		late_ms += be_late(i, &helper, disk);
		send_msg(fd);
	}
	say("uneven: the server was late by %lu ms", late_ms);
	exit(0);
}

/* So many messages to the other end by one call, and out there by another. */
static void send_many(const int ends[2], unsigned int cnt)
{
	static char bytes[LONG_SIZE];
	const char *how = getenv("HOW");
	const size_t size = how && !strcmp(how, "long") ? LONG_SIZE : MSG_SIZE;
	struct iovec part = { bytes, size };
	struct mmsghdr msgs[MANY];

	memset(msgs, 0, sizeof(msgs));
	for (unsigned int i = 0; i < cnt; i++) {
		msgs[i].msg_hdr.msg_iov = &part;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	if (sendmmsg(ends[0], msgs, cnt, MSG_NOSIGNAL) != (int)cnt)
		fail("sendmmsg");
	if (recv(ends[1], bytes, cnt * size, MSG_WAITALL) != (ssize_t)(cnt * size))
		fail("recv");
}

/*
 * uneven: the client makes n rounds of a nanosleep() of 1 ms, a sendmmsg() of one message to itself over a UNIX socket and
 * a recv() of it, and one send() and recv() over TCP to a second process, called server, which answers. Every 20th round
 * (or $EVERYth) is slow, by $HOW: "timer" sleeps for 50 ms instead of 1, "many" sends 100 messages to itself ("long" one of 100,000 bytes in
 * each round, so that none is slow by itself, and at the lowest priority, so that any other task goes before), and with others the server
 * answers 50 ms late: "server" sleeps, "burns" computes, "faults" touches fresh pages, "locked" waits for a lock that another
 * process has, "stopped" is stopped by a signal, "kept" has no CPU, because a task of higher priority has it, "queued" sleeps a
 * while, and then finds its CPU taken by such a task, and by a second one for the last moment, "fsync" writes to $DISK and waits until
 * that is there.
 */
int run_uneven(unsigned long n)
{
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);
	pid_t child = new_child();
	const char *how = getenv("HOW");
	unsigned long i;
	int fd, self[2];

	if (child == 0)
		serve(listener);
	if (is_late_awake())
		pin_to(0);
	if (how && !strcmp(how, "long") && setpriority(PRIO_PROCESS, 0, 19))
		fail("setpriority");
	fd = connect_loopback(&addr);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, self))
		fail("socketpair");
	for (i = 0; i < n; i++) {
		sleep_ms(is_slow(i, "timer") ? SLOW_MS : 1);
		send_many(self, is_slow(i, "many") ? MANY : 1);
		send_msg(fd);
		if (!recv_msg(fd))
			fail_msg("recv: unexpected end of stream");
	}
	close(fd);
	close(listener);
	reap(child);
	say("uneven: %lu rounds", n);
	return 0;
}

/* hog: n times 50 ms of work at real-time priority, each after 100 ms of sleep. Its task is called hog. */
int run_hog(unsigned long n)
{
	const struct sched_param priority = { .sched_priority = 1 };
	unsigned long i, end;

	prctl(PR_SET_NAME, "hog");
	if (sched_setscheduler(0, SCHED_FIFO, &priority))
		fail("sched_setscheduler");
	for (i = 0; i < n; i++) {
		sleep_ms(2 * SLOW_MS);
		for (end = now_ms() + SLOW_MS; now_ms() < end;)
			;
	}
	return 0;
}

#define STORM_TIMERS    6
#define STORM_PERIOD_NS 10000 /* the shortest that the kernel takes */

static void allow_storm(const char *path, const char *value)
{
	const int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		fail(path);
	close(fd);
}

/* storm: for so long hard interrupts in great number on the CPU that this begins on: timers of sampling, which nobody reads. */
int run_storm(unsigned long ms)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = STORM_PERIOD_NS };
	const int cpu = sched_getcpu();

	/* in this order: without the second limit the kernel does not take the first one */
	allow_storm("/proc/sys/kernel/perf_event_max_sample_rate", "10000000");
	allow_storm("/proc/sys/kernel/perf_cpu_time_max_percent", "0");
	for (int i = 0; i < STORM_TIMERS; i++) {
		if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC) < 0)
			fail("perf_event_open");
	}
	sleep_ms(ms);
	return 0;
}

#define BLAST_PORT  5000
#define BLAST_TAKER 64
#define BLAST_BURST 40

/* A socket that takes what is sent to all, and that nobody reads. */
static int new_taker(void)
{
	const int on = 1, bytes = 1;
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(BLAST_PORT) };
	const int fd = new_socket(AF_INET, SOCK_DGRAM);

	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) ||
	    bind(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("bind");
	return fd;
}

/*
 * blast: n times 40 datagrams to all on port 5000 of loopback, as fast as they go, each time after 100 ms. 64 sockets get each one, so
 * that it takes the receiving CPU much longer than this one.
 */
int run_blast(unsigned long n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(BLAST_PORT) };
	const int fd = new_socket(AF_INET, SOCK_DGRAM);
	const int on = 1;

	to.sin_addr.s_addr = htonl(0x7fffffff);
	if (setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on)))
		fail("SO_BROADCAST");
	for (int i = 0; i < BLAST_TAKER; i++)
		new_taker();
	for (unsigned long i = 0; i < n; i++) {
		sleep_ms(2 * SLOW_MS);
		for (int k = 0; k < BLAST_BURST; k++)
			sendto(fd, "datagram", 8, 0, (struct sockaddr *)&to, sizeof(to));
	}
	close(fd);
	say("blast: %lu datagrams", n * BLAST_BURST);
	return 0;
}

/* ---- odd rounds ---- */

#define ODD_BYTES   (512 * 1024)
#define BUF_BYTES   (32 * 1024)
#define LONG_BYTES  60000
#define LONG_CNT    4
#define BURST       100
#define BURST_BYTES 1000
#define BACKLOG     16 /* of listen_loopback */

static void set_buffers(int fd, int bytes)
{
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
		fail("setsockopt");
}

static bool recv_bytes(int fd, size_t cnt)
{
	static char bytes[ODD_BYTES];

	return recv(fd, bytes, cnt, MSG_WAITALL) == (ssize_t)cnt;
}

static void send_bytes(int fd, size_t cnt)
{
	static char bytes[ODD_BYTES];

	if (send(fd, bytes, cnt, MSG_NOSIGNAL) != (ssize_t)cnt)
		fail("send");
}

/* Both ends of a connection with small buffers: here, and of a child, called server. */
static int connect_child(void (*serve_it)(int fd))
{
	struct sockaddr_in addr;
	int listener = listen_loopback(&addr);
	int fd;

	set_buffers(listener, BUF_BYTES);
	if (new_child() == 0) {
		prctl(PR_SET_NAME, "server");
		serve_it(accept_one(listener));
		exit(0);
	}
	fd = connect_loopback(&addr);
	set_buffers(fd, BUF_BYTES);
	close(listener);
	return fd;
}

/* Reads all that is sent in a round, in odd ones late. */
static void read_late(int fd)
{
	for (unsigned long i = 0;; i++) {
		char first;

		if (recv(fd, &first, 1, MSG_PEEK) != 1)
			return;
		if (is_slow(i, "reader"))
			sleep_ms(SLOW_MS);
		if (!recv_bytes(fd, ODD_BYTES))
			return;
	}
}

static void run_reader(unsigned long n)
{
	int fd = connect_child(read_late);

	for (unsigned long i = 0; i < n; i++)
		send_bytes(fd, ODD_BYTES);
	close(fd);
	reap(-1);
}

/* Answers two bytes by one. */
static void answer_two(int fd)
{
	while (recv_bytes(fd, 2))
		send_bytes(fd, 1);
}

/* In odd rounds the two bytes are sent by two calls: the second waits for an acknowledgement, which the server puts off. */
static void run_nagle(unsigned long n)
{
	int fd = connect_child(answer_two);

	for (unsigned long i = 0; i < n; i++) {
		const bool is_odd = is_slow(i, "nagle");

		send_bytes(fd, is_odd ? 1 : 2);
		if (is_odd)
			send_bytes(fd, 1);
		if (!recv_bytes(fd, 1))
			fail("recv");
	}
	close(fd);
	reap(-1);
}

/* Four datagrams by one call, to a socket beside that nobody reads; in odd rounds too long for a packet. */
static void run_fragments(unsigned long n)
{
	static char bytes[LONG_BYTES];
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	struct mmsghdr msgs[LONG_CNT];
	struct sockaddr_in addr;
	struct iovec part = { .iov_base = bytes };

	bind_loopback(new_socket(AF_INET, SOCK_DGRAM), &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		fail("connect");
	memset(msgs, 0, sizeof(msgs));
	for (unsigned int i = 0; i < LONG_CNT; i++) {
		msgs[i].msg_hdr.msg_iov = &part;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	for (unsigned long i = 0; i < n; i++) {
		part.iov_len = is_slow(i, "fragments") ? LONG_BYTES : MSG_SIZE;
		if (sendmmsg(fd, msgs, LONG_CNT, 0) != LONG_CNT)
			fail("sendmmsg");
		sleep_ms(1);
	}
	close(fd);
}

/*
 * A datagram to itself and its receipt; in odd rounds, a hundred first to a socket beside with room for a few, from
 * which it then takes one more than there are, for 50 ms.
 */
static void run_overrun(unsigned long n)
{
	const struct timeval limit = { .tv_usec = SLOW_MS * 1000 };
	int fd = new_socket(AF_INET, SOCK_DGRAM);
	struct sockaddr_in addr;

	set_buffers(fd, 4 * BURST_BYTES);
	bind_loopback(fd, &addr);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		fail("connect");
	for (unsigned long i = 0; i < n; i++) {
		const int cnt = is_slow(i, "overrun") ? BURST : 1;

		for (int j = 0; j < cnt; j++)
			send_bytes(fd, BURST_BYTES);
		for (int j = 0; j < cnt && recv_bytes(fd, BURST_BYTES); j++)
			;
	}
	close(fd);
}

static void run_connects_to(const struct sockaddr_in *addr, unsigned long n)
{
	unsigned long failed_cnt = 0;

	for (unsigned long i = 0; i < n; i++) {
		int fd = new_socket(AF_INET, SOCK_STREAM);

		failed_cnt += connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) != 0;
		close(fd);
		sleep_ms(1); /* the server accepts */
	}
	say("connects: %lu failed", failed_cnt);
}

static void accept_all(int listener)
{
	prctl(PR_SET_NAME, "server");
	for (;;)
		close(accept_one(listener));
}

/* Fills the queue of a listener, whose process is stopped until half a second later. */
static void fill_queue(const struct sockaddr_in *addr, pid_t server)
{
	kill(server, SIGSTOP);
	for (int i = 0; i <= BACKLOG; i++)
		connect_loopback(addr);
	if (new_child() == 0) {
		sleep_ms(500);
		kill(server, SIGCONT);
		exit(0);
	}
}

/* Takes a range of local ports that nobody has used, and leaves connect() no other. */
static void take_ports(unsigned int first, unsigned int last)
{
	const struct rlimit files = { 65536, 65536 };
	FILE *range;

	if (setrlimit(RLIMIT_NOFILE, &files))
		fail("setrlimit");
	for (unsigned int port = first; port <= last; port++) {
		const struct sockaddr_in addr = {
			.sin_family = AF_INET,
			.sin_port = htons((uint16_t)port),
		};
		const int fd = new_socket(AF_INET, SOCK_STREAM);

		if (bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
			fail("bind");
	}
	range = fopen("/proc/sys/net/ipv4/ip_local_port_range", "w");
	if (!range || fprintf(range, "%u %u", first, last) < 0 || fclose(range))
		fail("ip_local_port_range");
}

/*
 * connects: n connect(), each on a socket of its own that is closed then, to port $PORT of $TO, without it to a child that accepts;
 * failures are counted. $HOW "full": after the first 95 of a hundred, as many more connections as fill the queue of the child,
 * which does not accept for half a second. "ports": before the last ones all local ports are taken.
 */
int run_connects(unsigned long n)
{
	const char *to = getenv("TO");
	const char *how = getenv("HOW");
	const unsigned long last_cnt = how && !to ? n / EVERY : 0;
	struct sockaddr_in addr = { .sin_family = AF_INET };
	pid_t server = 0;

	if (to) {
		const char *port = getenv("PORT");

		addr.sin_port = htons((uint16_t)(port ? atoi(port) : 5000));
		if (inet_pton(AF_INET, to, &addr.sin_addr) != 1)
			fail_msg("$TO is not an address");
	} else {
		int listener = listen_loopback(&addr);

		server = new_child();
		if (server == 0)
			accept_all(listener);
		close(listener);
	}
	run_connects_to(&addr, n - last_cnt);
	if (last_cnt && !strcmp(how, "full"))
		fill_queue(&addr, server);
	if (last_cnt && !strcmp(how, "ports"))
		take_ports(10000, 30000);
	run_connects_to(&addr, last_cnt);
	if (server) {
		kill(server, SIGKILL);
		waitpid(server, NULL, 0);
	}
	return 0;
}

/*
 * odd: n rounds, of which every 20th is slow by $HOW. reader: a message is sent, and its reader begins 50 ms late. nagle: a
 * request is sent in two parts. fragments: a datagram is too long. overrun: a hundred datagrams come where there is room
 * for a few.
 */
int run_odd(unsigned long n)
{
	static const struct {
		const char *how;
		void (*run)(unsigned long n);
	} ways[] = {
		{ "reader", run_reader },       { "even", run_reader },     { "nagle", run_nagle },
		{ "fragments", run_fragments }, { "overrun", run_overrun },
	};
	const char *how = getenv("HOW");

	for (size_t i = 0; how && i < sizeof(ways) / sizeof(*ways); i++) {
		if (!strcmp(how, ways[i].how)) {
			ways[i].run(n);
			return 0;
		}
	}
	fail_msg("$HOW is none of the ways");
	return 1;
}
