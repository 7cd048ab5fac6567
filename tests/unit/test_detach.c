/*
 * In which order links and programs go. Pipes show it: one end hangs up when the other is closed
 * everywhere.
 */
#include "attach/detach.h"
#include "attach/detaching.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "base/host.h"

#define LINK_CNT 3
#define PROG_CNT 4
#define WAIT_NS  1000000000ull

static volatile int stop_cnt;
static struct fd_list links;
static struct fd_list progs;
static int ends[LINK_CNT + PROG_CNT];
static uint64_t gone_ns[LINK_CNT + PROG_CNT];

static void detach(size_t func_cnt, bool waits, const volatile int *stops)
{
	detach_all(&links, &progs,
		   &(struct detach_config){
			   .func_cnt = func_cnt, .waits = waits, .stop_cnt = stops });
}

static void open_all(void)
{
	for (size_t i = 0; i < LINK_CNT + PROG_CNT; i++) {
		struct fd_list *list = i < LINK_CNT ? &links : &progs;
		int fds[2];

		CHECK(!pipe2(fds, O_CLOEXEC) && !fd_list_reserve(list, 1));
		fd_list_add(list, fds[1]);
		ends[i] = fds[0];
	}
}

/* A process of its own sees when each one hung up, and says whether programs went late enough. */
static pid_t watch(void)
{
	pid_t pid = fork();
	size_t left = LINK_CNT + PROG_CNT;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	fd_list_close(&links);
	fd_list_close(&progs);
	while (left) {
		for (size_t i = 0; i < LINK_CNT + PROG_CNT; i++) {
			struct pollfd pollfd = { .fd = ends[i] };

			if (gone_ns[i] || poll(&pollfd, 1, 1) <= 0)
				continue;
			gone_ns[i] = host_time_ns();
			left--;
		}
	}
	for (size_t link = 0; link < LINK_CNT; link++) {
		for (size_t prog = LINK_CNT; prog < LINK_CNT + PROG_CNT; prog++) {
			uint64_t wait_ns =
				host_kernel_is_since(7, 2, 10)
					? 0
					: WAIT_NS / 2; /* a busy host sees a link's end late */

			if (gone_ns[prog] < gone_ns[link] + wait_ns)
				_exit(1);
		}
	}
	_exit(0);
}

/* All go, in the right order. Return: what it took. */
static uint64_t check_detached(bool waits, const volatile int *stops)
{
	uint64_t begin_ns, took_ns;
	pid_t watcher;
	int status;

	open_all();
	watcher = watch();
	begin_ns = host_time_ns();
	detach(LINK_CNT, waits, stops);
	took_ns = host_time_ns() - begin_ns;
	CHECK(!links.cnt && !progs.cnt && waitpid(watcher, &status, 0) == watcher);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	return took_ns;
}

TEST_ONE(programs_go_after_all_links, check_detached(true, &stop_cnt));

/* Once the links are gone nobody has to wait for the programs. */
TEST_ONE(without_waiting_programs_go_last_too, CHECK(check_detached(false, &stop_cnt) < WAIT_NS));

/* A link that was taken back while attaching leaves a program alone. */
TEST(programs_without_links_wait_too)
{
	uint64_t begin_ns;

	open_all();
	fd_list_cut(&links, 0);
	begin_ns = host_time_ns();
	detach(0, true, &stop_cnt);
	CHECK(!progs.cnt);
	CHECK(host_kernel_is_since(7, 2, 10) || host_time_ns() - begin_ns >= WAIT_NS);
}

static volatile int stop_soon;

static void on_alarm(int sig)
{
	stop_soon++;
}

TEST(programs_go_last_in_the_background_too)
{
	if (host_kernel_is_since(7, 2, 10))
		SKIP("nothing to wait for");
	signal(SIGALRM, on_alarm);
	ualarm(200000, 0);
	CHECK(check_detached(true, &stop_soon) < WAIT_NS);
}

TEST(it_is_told_once_a_day)
{
	char dir[] = "/tmp/nfg-test.XXXXXX";
	char path[64], other[64];
	struct timespec long_ago[2] = { { .tv_sec = time(NULL) - 90000 },
					{ .tv_sec = time(NULL) - 90000 } };
	struct stat st;

	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/told", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	CHECK(detach_is_news(path));
	CHECK(!detach_is_news(path));
	CHECK(!utimensat(AT_FDCWD, path, long_ago, 0));
	CHECK(detach_is_news(path));
	CHECK(!detach_is_news(path));
	/* what somebody put there is not written through */
	CHECK(!unlink(path) && !symlink(other, path));
	CHECK(!lutimes(path, (struct timeval[2]){ { 1, 0 }, { 1, 0 } }));
	CHECK(detach_is_news(path) && stat(other, &st));
	CHECK(!unlink(path) && !rmdir(dir));
}

#define LINGER_SEC 1

/* A descriptor whose last close takes LINGER_SEC: of a connection with data that nobody reads. */
static int slow_to_close(int peers[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	const struct linger linger = { .l_onoff = 1, .l_linger = LINGER_SEC };
	socklen_t len = sizeof(addr);
	static const char bytes[65536];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	peers[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(fd >= 0 && peers[0] >= 0 && !bind(peers[0], (struct sockaddr *)&addr, len));
	CHECK(!listen(peers[0], 1) && !getsockname(peers[0], (struct sockaddr *)&addr, &len));
	CHECK(!connect(fd, (struct sockaddr *)&addr, len));
	peers[1] = accept4(peers[0], NULL, NULL, SOCK_CLOEXEC);
	CHECK(peers[1] >= 0 && !setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	while (send(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
	return fd;
}

static char seen_dir[] = "/tmp/nfg-test.XXXXXX";
static char seen_path[64];

static void seen_begin(void)
{
	CHECK(mkdtemp(seen_dir));
	snprintf(seen_path, sizeof(seen_path), "%s/detaching", seen_dir);
}

static void seen_end(void)
{
	CHECK(!unlink(seen_path) && !rmdir(seen_dir));
	strcpy(seen_dir, "/tmp/nfg-test.XXXXXX");
}

static bool are_seen(void)
{
	return detaching_others(seen_path, NULL).cnt > 0;
}

static void detach_seen(uint64_t expected_ns, const volatile int *stops)
{
	detach_all(&links, &progs,
		   &(struct detach_config){ .func_cnt = 1,
					    .expected_ns = expected_ns,
					    .stop_cnt = stops,
					    .seen_path = seen_path });
}

TEST(others_see_that_it_detaches)
{
	struct detaching_others over = { .cnt = 1 };
	char text[DETACHING_TEXT];
	uint64_t begin_ns;
	char other[80];
	int left_fd;
	int peers[2];

	seen_begin();
	CHECK(!are_seen()); /* there is no such file */
	open_all();
	CHECK(!fd_list_reserve(&links, 1));
	fd_list_add(&links, slow_to_close(peers));
	begin_ns = host_time_ns();
	detach_seen(8 * WAIT_NS, &stop_cnt);
	CHECK(host_time_ns() - begin_ns < WAIT_NS && are_seen());
	while (are_seen())
		usleep(10000);
	CHECK(host_time_ns() - begin_ns >= LINGER_SEC * WAIT_NS);
	/* a process that still waits for tasks in programs is not told of: it holds up nobody */
	left_fd = open(seen_path, O_RDONLY | O_CLOEXEC);
	CHECK(read(left_fd, &over.left_ns, sizeof(over.left_ns)) == sizeof(over.left_ns));
	CHECK(!detaching_text(&over, 1, text));
	close(left_fd);
	close(peers[0]);
	close(peers[1]);
	/* what somebody put there is not opened */
	snprintf(other, sizeof(other), "%s/other", seen_dir);
	CHECK(!unlink(seen_path) && !symlink(other, seen_path) && !are_seen());
	seen_end();
}

/* A second Ctrl-C leaves before the process in the background has done anything. */
TEST(others_see_it_as_soon_as_it_has_begun)
{
	uint64_t begin_ns;
	int peers[2];

	seen_begin();
	signal(SIGALRM, on_alarm);
	open_all();
	CHECK(!fd_list_reserve(&links, 1));
	fd_list_add(&links, slow_to_close(peers));
	begin_ns = host_time_ns();
	ualarm(1000, 0);
	detach_seen(0, &stop_soon);
	/* on a very busy host all is over by now */
	CHECK(are_seen() || host_time_ns() - begin_ns >= LINGER_SEC * WAIT_NS);
	close(peers[0]);
	close(peers[1]);
	while (are_seen())
		usleep(1000);
	seen_end();
}

TEST(others_see_how_long_it_takes)
{
	struct detaching first, second;
	struct detaching_others others;
	pid_t pid;

	seen_begin();
	detaching_begin(&first, seen_path, 30);
	CHECK(detaching_others(seen_path, NULL).left_ns == 30);
	others = detaching_others(seen_path, &first);
	CHECK(!others.cnt && !others.left_ns);
	detaching_begin(&second, seen_path, 5);
	others = detaching_others(seen_path, NULL);
	CHECK(others.left_ns == 35 && others.cnt == 2);
	CHECK(others.each_ns[0] == 30 && others.each_ns[1] == 5);
	/* by turns: each of the others does as much as is left to it until then */
	CHECK(detaching_beside_ns(&others, 20) == 25);
	CHECK(detaching_beside_ns(&others, 3) == 6);
	CHECK(detaching_beside_ns(&others, 100) == 35);
	CHECK(detaching_others(seen_path, &second).left_ns == 30);
	detaching_note(&first, 20);
	CHECK(detaching_others(seen_path, NULL).left_ns == 25);
	detaching_note(&first, 0); /* unknown, so all of it is */
	others = detaching_others(seen_path, NULL);
	CHECK(others.cnt && !others.left_ns);
	/* it lasts until the last process with it has ended, however that ends */
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(second.fd);
		pause();
	}
	detaching_end(&first);
	detaching_note(&first, 7); /* which goes nowhere */
	detaching_end(&second);
	CHECK(are_seen());
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(!are_seen());
	/* the next one is not taken for the last */
	detaching_begin(&first, seen_path, 0);
	others = detaching_others(seen_path, NULL);
	CHECK(others.cnt && !others.left_ns);
	detaching_end(&first);
	seen_end();
}

/* Whoever may read the file cannot pretend to detach. */
TEST(a_reader_is_not_taken_for_one_that_detaches)
{
	struct flock lock = { .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_len = 8 };
	struct detaching own;
	int fd;

	seen_begin();
	fd = open(seen_path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	CHECK(fd >= 0 && !fcntl(fd, F_OFD_SETLK, &lock) && !are_seen());
	detaching_begin(&own, seen_path, 9);
	CHECK(detaching_others(seen_path, NULL).left_ns == 9);
	detaching_end(&own);
	close(fd);
	detaching_begin(&own, NULL, 9);
	CHECK(own.fd < 0 && !are_seen());
	seen_end();
}

/* @more_ms: beside a trace. */
static bool is_told_of(size_t cnt, uint64_t left_ms, uint64_t more_ms, const char *text)
{
	const struct detaching_others others = { .cnt = cnt, .left_ns = left_ms * 1000000 };
	char out[DETACHING_TEXT];

	return detaching_text(&others, more_ms * 1000, out) && strstr(out, text);
}

TEST_ONE(what_is_told_of_others,
	 CHECK(is_told_of(
		 1, 20000, 29400,
		 "an earlier netfgraph still detaches its functions, which takes about 29 s "
		 "more beside this trace; attaching takes longer until then")),
	 CHECK(is_told_of(1, 500, 600, "about 1 s more")), CHECK(!is_told_of(1, 499, 600, "")),
	 CHECK(is_told_of(2, 0, 0, "detaches its functions; attaching takes longer until then")),
	 CHECK(!is_told_of(0, 0, 0, "")));

TEST(nothing_takes_no_time)
{
	uint64_t begin_ns = host_time_ns();

	detach(0, false, &stop_cnt);
	CHECK(host_time_ns() - begin_ns < WAIT_NS / 2);
}
