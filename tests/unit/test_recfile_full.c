/* Writers that cannot write: no room, a limit on the size, a kill; the file stays readable. */
#include "recording/recfile.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "random.h"
#include "recordings.h"

BEFORE(new_path);

TEST(a_device_without_room_fails_at_once)
{
	struct recfile_host host;
	const struct recfile_config config = { .path = "/dev/full", .host = &host };
	struct recfile_writer *w = NULL;

	quiet();
	recfile_host_read(&host, 1, "test", NULL);
	CHECK(recfile_writer_new(&w, &config) == -ENOSPC && !w);
}

/* Write until writing fails. The file must then be whole, and say how many events it lacks. */
static void check_full(int want_err)
{
	struct event *events = make_events(EVENT_CNT);
	const struct recfile_summary summary = { 0 };
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	uint64_t call_cnt = 0;
	int err = recfile_writer_funcs(w, &functab);

	quiet();
	CHECK(!err);
	for (size_t i = 0; i < EVENT_CNT; i += 1000)
		err = recfile_writer_events(w, events + i, 1000);
	CHECK(err == want_err);
	CHECK(recfile_writer_summary(w, &summary) == want_err);
	CHECK(recfile_writer_close(w) == want_err);
	read_file(events, EVENT_CNT);
	CHECK(!seen.err && !seen.tail_bytes && seen.event_cnt > 1000);
	CHECK(seen.event_cnt < EVENT_CNT && seen.is_closed);
	for (size_t i = seen.event_cnt; i < EVENT_CNT; i++)
		call_cnt += is_call(&events[i]);
	CHECK(seen.summary.unwritten_cnt == call_cnt);
}

TEST(a_file_that_may_not_grow_stays_whole)
{
	const struct rlimit limit = { 600000, 600000 };

	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	check_full(-EFBIG);
}

TEST(a_full_disk_leaves_a_whole_file)
{
	char dir[] = "/tmp/recfile.XXXXXX";

	CHECK(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=600k")) {
		rmdir(dir);
		SKIP("needs root to mount a small file system");
	}
	snprintf(path, sizeof(path), "%s/x", dir);
	check_full(-ENOSPC);
	CHECK(!umount(dir));
	rmdir(dir);
}

/* Write until killed. After each flush, report how many events the file must have. */
static void write_forever(const struct event *events, int fd)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);

	recfile_writer_funcs(w, &functab);
	for (size_t i = 0; i + 50 <= EVENT_CNT; i += 50) {
		recfile_writer_events(w, events + i, 50);
		if (i % 1000 == 0) {
			uint64_t cnt = i + 50;

			recfile_writer_flush(w);
			if (write(fd, &cnt, sizeof(cnt)) < 0)
				_exit(1);
		}
	}
	for (;;)
		pause();
}

static void kill_one(const struct event *events)
{
	struct timespec ts = { .tv_nsec = (long)random_below(8000000) };
	uint64_t promised = 0;
	int fds[2];
	pid_t pid;

	CHECK(!pipe(fds));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		write_forever(events, fds[1]);
	close(fds[1]);
	CHECK(read(fds[0], &promised, sizeof(promised)) == sizeof(promised));
	nanosleep(&ts, NULL);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	while (read(fds[0], &promised, sizeof(promised)) == sizeof(promised))
		;
	close(fds[0]);
	read_file(events, EVENT_CNT);
	CHECK(!seen.err && !seen.is_closed && seen.event_cnt >= promised);
}

TEST(a_killed_writer_leaves_a_readable_file)
{
	struct event *events = make_events(EVENT_CNT);

	for (int i = 0; i < 100; i++)
		kill_one(events);
}
