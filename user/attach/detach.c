#include "attach/detach.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "base/host.h"
#include "base/log.h"

/*
 * How long links are gone before their programs go: a task preempted in an old
 * trampoline image may still call them (fixed in 7.2.10, not in 6.1.192, 6.12.117).
 */
#define LEAVE_TIME_US 1000000
/* What takes longer goes on in the background ... */
#define PATIENCE_NS 300000000ull
/* ... or, if it is to be waited for, is announced. */
#define LONG_DETACH_NS 2000000000ull
/* How soon a second Ctrl-C is seen that came just before we began to wait. */
#define LOOK_MS 50

struct detach {
	size_t link_cnt;
	size_t done_cnt;
	uint64_t begin_ns;
	pid_t worker;
	int go_fd;   /* the worker begins when this is closed */
	int done_fd; /* a byte for each link; its end when the worker has ended */
	bool waits;
	bool has_trampolines;
	const volatile int *stop_cnt;
	int stopped_cnt;
};

/* Whether any of them is behind a trampoline; programs at kprobes have none. */
static bool have_trampolines(const struct fd_list *progs)
{
	for (size_t i = 0; i < progs->cnt; i++) {
		struct bpf_prog_info info = { 0 };
		__u32 len = sizeof(info);

		if (bpf_obj_get_info_by_fd(progs->fds[i], &info, &len) ||
		    info.type != BPF_PROG_TYPE_KPROBE)
			return true;
	}
	return false;
}

/* Tasks leave our trampolines; nothing to wait for where the kernel takes care (7.2.10). */
static void leave(void)
{
	if (!host_kernel_is_since(7, 2, 10))
		usleep(LEAVE_TIME_US);
}

/* By what it took so far; 0: nothing is done yet. */
static uint64_t left_ns(const struct detach *dt)
{
	uint64_t took_ns = host_time_ns() - dt->begin_ns;

	return dt->done_cnt ? took_ns / dt->done_cnt * (dt->link_cnt - dt->done_cnt) : 0;
}

static void note(struct detach *dt, size_t cnt)
{
	size_t before = dt->done_cnt;

	dt->done_cnt += cnt;
	log_progress("detaching %zu/%zu", dt->done_cnt, dt->link_cnt);
	if (dt->waits && before < 2 && dt->done_cnt >= 2 && left_ns(dt) > LONG_DETACH_NS)
		log_warn("detaching takes about %" PRIu64
			 " s on this kernel; Ctrl-C leaves it to the background",
			 left_ns(dt) / 1000000000);
}

static void say_background(const struct detach *dt, size_t func_cnt)
{
	uint64_t left_sec = (left_ns(dt) + 999999999) / 1000000000;
	char about[40] = "";

	if (left_sec)
		snprintf(about, sizeof(about), ", about %" PRIu64 " s", left_sec);
	log_warn("detaching %zu functions goes on in the background (process %d%s); "
		 "--wait-detach waits for it",
		 func_cnt, (int)dt->worker, about);
}

/* Descriptors of our own for what standard output and error are (stream_own). */
static void let_go_of_copies(int null_fd)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	struct stat standard;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		for (int of = 1; of <= 2 && fd > 2; of++) {
			if (!fstat(of, &standard) && !S_ISREG(standard.st_mode) &&
			    !fstat(fd, &st) && st.st_dev == standard.st_dev &&
			    st.st_ino == standard.st_ino)
				dup2(null_fd, fd);
		}
	}
	if (dir)
		closedir(dir);
}

/* A reader of our output must not wait for this process once the tracer has ended. */
static void let_go_of_terminal(void)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null_fd >= 0)
		let_go_of_copies(null_fd);
	for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
		dup2(null_fd, fd);
}

static void work(struct fd_list *links, bool has_trampolines, int go_fd, int done_fd)
{
	char byte = 0;

	let_go_of_terminal();
	signal(SIGPIPE, SIG_IGN);
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < links->cnt; i++) {
		close(links->fds[i]);
		if (done_fd >= 0 && write(done_fd, &byte, 1) < 0)
			done_fd = -1; /* the tracer has gone */
	}
	if (has_trampolines)
		leave();
	_exit(0);
}

static int start(struct detach *dt, struct fd_list *links)
{
	int go[2];
	int done[2];

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(done, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -ENFILE;
	}
	dt->worker = fork();
	if (!dt->worker) {
		close(go[1]);
		close(done[0]);
		work(links, dt->has_trampolines, go[0], done[1]);
	}
	close(go[0]);
	close(done[1]);
	dt->go_fd = go[1];
	dt->done_fd = done[0];
	if (dt->worker > 0)
		return 0;
	close(go[1]);
	close(done[0]);
	return -EAGAIN;
}

/* Whether what is left can be left to the worker: it keeps the programs of closed links a while, which costs nobody anything. */
static bool is_enough(const struct detach *dt)
{
	if (*dt->stop_cnt != dt->stopped_cnt)
		return true;
	return !dt->waits &&
	       (dt->done_cnt == dt->link_cnt || host_time_ns() - dt->begin_ns > PATIENCE_NS);
}

/* Return: whether the worker has ended. */
static bool wait_for_worker(struct detach *dt)
{
	struct pollfd pollfd = { .fd = dt->done_fd, .events = POLLIN };
	char bytes[256];
	ssize_t cnt;

	while (!is_enough(dt)) {
		if (poll(&pollfd, 1, LOOK_MS) <= 0)
			continue;
		cnt = read(dt->done_fd, bytes, sizeof(bytes));
		if (!cnt)
			return true;
		if (cnt > 0)
			note(dt, (size_t)cnt);
	}
	return false;
}

static void close_here(struct detach *dt, struct fd_list *links)
{
	for (size_t i = 0; i < links->cnt; i++) {
		close(links->fds[i]);
		note(dt, 1);
	}
	links->cnt = 0;
	if (dt->has_trampolines)
		leave();
}

static void close_there(struct detach *dt, struct fd_list *links)
{
	fd_list_close(links); /* the worker has them too, so this takes no time */
	close(dt->go_fd);
	if (wait_for_worker(dt))
		waitpid(dt->worker, NULL, 0);
	close(dt->done_fd);
}

void detach_all(struct fd_list *links, struct fd_list *progs, size_t func_cnt, bool waits,
		const volatile int *stop_cnt)
{
	struct detach dt = {
		.link_cnt = links->cnt,
		.begin_ns = host_time_ns(),
		.waits = waits,
		.has_trampolines = have_trampolines(progs),
		.stop_cnt = stop_cnt,
		.stopped_cnt = *stop_cnt,
	};

	if (!progs->cnt) /* nor links */
		return;
	if (start(&dt, links))
		close_here(&dt, links);
	else
		close_there(&dt, links);
	fd_list_close(progs); /* the worker, if it goes on, has them too */
	log_progress_done();
	if (dt.done_cnt == dt.link_cnt)
		log_info("detached %zu functions in %" PRIu64 " ms", func_cnt,
			 (host_time_ns() - dt.begin_ns) / 1000000);
	else
		say_background(&dt, func_cnt);
}

/* The last to have the links; their programs, of which it has copies too, stay a second longer. */
static void close_aside(const int *fds, size_t cnt, const struct fd_list *links, int out_fd,
			int go_fd)
{
	char byte;

	if (fork())
		_exit(0);
	let_go_of_terminal();
	for (size_t i = 0; i < links->cnt; i++) {
		if (links->fds[i] >= 0)
			close(links->fds[i]); /* those that stay are the tracer's alone */
	}
	if (out_fd >= 0)
		close(out_fd);
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < cnt; i++)
		close(fds[i]);
	leave();
	_exit(0);
}

void detach_aside(const int *fds, size_t cnt, const struct fd_list *links, int out_fd)
{
	int go[2] = { -1, -1 };
	pid_t pid;

	if (!cnt)
		return;
	if (!pipe2(go, O_CLOEXEC)) {
		pid = fork();
		if (!pid) {
			close(go[1]);
			close_aside(fds, cnt, links, out_fd, go[0]);
		}
		close(go[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	for (size_t i = 0; i < cnt; i++)
		close(fds[i]); /* where no process could be had, this waits */
	if (go[1] >= 0)
		close(go[1]);
}
