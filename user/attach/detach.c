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
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "attach/detaching.h"
#include "base/host.h"
#include "base/log.h"
#include "kernel/release.h"

/*
 * The pause between closing links and closing their programs: a task preempted in an old trampoline image may still
 * call them (fixed in 7.2.10, not in 6.1.192, 6.12.117).
 */
#define LEAVE_TIME_US 1000000
/* Detaching that takes longer continues in the background ... */
#define PATIENCE_NS 300000000ull
/* ... or, with --wait-detach, is announced. */
#define LONG_DETACH_NS 2000000000ull
/* After 1/N of the links is closed, the elapsed time predicts the rest; the first few close without a grace period. */
#define TELLING_PART 10
/* The delay until a second Ctrl-C is noticed that arrived just before we began to wait. */
#define LOOK_MS 50

struct detach {
	const struct detach_config *config;
	size_t link_cnt;
	size_t done_cnt;
	uint64_t begin_ns;
	bool is_announced;
	pid_t worker;
	int go_fd;   /* closing it starts the worker */
	int done_fd; /* a byte for each link; closed when the worker has ended */
	bool has_trampolines;
	int stopped_cnt;
	struct detaching seen; /* by others */
};

/* Whether trampolines call any of them; they do not call programs at kprobes. */
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

/* Time for tasks to leave our trampolines; 0 where the kernel waits (7.2.10). */
static uint64_t leave_time_us(void)
{
	return release_has(RELEASE_WAITS_FOR_TRAMPOLINES) ? 0 : LEAVE_TIME_US;
}

static void leave(void)
{
	usleep((useconds_t)leave_time_us());
}

/* The time that is left: as expected, until enough links are closed to predict it; 0: unknown. */
static uint64_t left_ns(const struct detach *dt)
{
	const uint64_t took_ns = host_time_ns() - dt->begin_ns;
	const uint64_t expected_ns = dt->config->expected_ns;
	const size_t left_cnt = dt->link_cnt - dt->done_cnt;

	if (expected_ns && dt->done_cnt * TELLING_PART < dt->link_cnt)
		return expected_ns / dt->link_cnt * left_cnt;
	return dt->done_cnt ? took_ns / dt->done_cnt * left_cnt : 0;
}

/* The time that is left beside others that detach, too: all wait for the same locks by turns. */
static uint64_t left_beside_ns(const struct detach *dt)
{
	const uint64_t own_ns = left_ns(dt);
	struct detaching_others others = { 0 };

	if (dt->config->seen_path)
		others = detaching_others(dt->config->seen_path, &dt->seen);
	return own_ns + detaching_beside_ns(&others, own_ns);
}

static void note(struct detach *dt, size_t cnt)
{
	uint64_t left;

	dt->done_cnt += cnt;
	log_progress("detaching %zu/%zu", dt->done_cnt, dt->link_cnt);
	if (!dt->config->waits || dt->is_announced || dt->done_cnt < 2)
		return;
	dt->is_announced = true;
	left = left_beside_ns(dt);
	if (left > LONG_DETACH_NS)
		log_warn("detaching takes about %" PRIu64
			 " s on this kernel; Ctrl-C leaves it to the background",
			 left / 1000000000);
}

#define TOLD_PATH "/run/netfgraph-background"
#define DAY_SEC   86400

bool detach_is_news(const char *path)
{
	/* not time(), which may be a tick behind the time of a file, and a second */
	const time_t now_sec = (time_t)(host_real_ns() / 1000000000);
	struct stat st;
	int fd;

	if (!lstat(path, &st) && now_sec >= st.st_mtime && now_sec - st.st_mtime < DAY_SEC)
		return false;
	fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644);
	if (fd < 0)
		return true; /* another user may not write there, and is told again */
	if (futimens(fd, NULL))
		log_debug("cannot set the time of '%s': %s", path, strerror(errno));
	close(fd);
	return true;
}

static void say_background(const struct detach *dt)
{
	const uint64_t left = left_beside_ns(dt);
	const uint64_t leave_ns = dt->has_trampolines ? leave_time_us() * 1000 : 0;
	const uint64_t left_sec = (left + leave_ns + 999999999) / 1000000000;
	char about[40] = "";

	if (left)
		snprintf(about, sizeof(about), ", about %" PRIu64 " s", left_sec);
	(detach_is_news(TOLD_PATH) ? log_warn : log_info)(
		"detaching %zu %s continues in the background (process %d%s); --wait-detach waits for it",
		dt->config->func_cnt, plural(dt->config->func_cnt, "function", "functions"),
		(int)dt->worker, about);
}

/* Whether a descriptor refers to a file system: the output, or an input. */
static bool has_path(int dir_fd, const char *name)
{
	char first = 0;

	return readlinkat(dir_fd, name, &first, 1) == 1 && first == '/';
}

/* Whether @fd refers to the same pipe, socket or file as @of. */
static bool detach_is_same(int fd, int of)
{
	struct stat st;
	struct stat other;

	return !fstat(fd, &st) && !fstat(of, &other) && st.st_dev == other.st_dev &&
	       st.st_ino == other.st_ino;
}

/*
 * Close our private descriptors for standard output and error (stream_own), and files, so that their file systems can
 * be unmounted. All but @seen_fd, which says that this process detaches.
 */
static void let_go_of_copies(int null_fd, int seen_fd)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd <= 2 || fd == dirfd(dir) || fd == seen_fd)
			continue;
		if (has_path(dirfd(dir), entry->d_name) || detach_is_same(fd, 1) ||
		    detach_is_same(fd, 2))
			dup2(null_fd, fd);
	}
	if (dir)
		closedir(dir);
}

/* Otherwise a reader of our output would wait for this process after the tracer has ended. */
static void let_go_of_terminal(int seen_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (chdir("/")) /* so that the file system it was started in can be unmounted */
		log_debug("cannot leave the directory: %s", strerror(errno));
	if (null_fd >= 0)
		let_go_of_copies(null_fd, seen_fd);
	for (int fd = 0; fd <= 2 && null_fd >= 0; fd++)
		dup2(null_fd, fd);
}

/*
 * The time that is left, as others are told, who add up what all say. What took longer than expected may have waited for them, and
 * is theirs as much as ours.
 */
static uint64_t left_alone_ns(const struct detach *dt)
{
	const uint64_t left = dt->done_cnt < dt->link_cnt ? left_ns(dt) : DETACHING_OVER_NS;
	const uint64_t expected_ns =
		dt->config->expected_ns / dt->link_cnt * (dt->link_cnt - dt->done_cnt);

	return expected_ns && expected_ns < left ? (left + expected_ns) / 2 : left;
}

/* In the process that closes the links. */
static void close_link(struct detach *dt, int fd)
{
	close(fd);
	dt->done_cnt++;
	detaching_note(&dt->seen, left_alone_ns(dt));
}

static void work(struct detach *dt, struct fd_list *links, int go_fd, int done_fd)
{
	char byte = 0;

	let_go_of_terminal(dt->seen.fd);
	signal(SIGPIPE, SIG_IGN);
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < links->cnt; i++) {
		close_link(dt, links->fds[i]);
		if (done_fd >= 0 && write(done_fd, &byte, 1) < 0)
			done_fd = -1; /* the tracer has ended */
	}
	detaching_end(&dt->seen); /* what is left to wait for delays nobody */
	if (dt->has_trampolines)
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
		work(dt, links, go[0], done[1]);
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

/* Whether the worker can do the rest: it keeps the programs of closed links open for a while, at no cost. */
static bool is_enough(const struct detach *dt)
{
	if (*dt->config->stop_cnt != dt->stopped_cnt)
		return true;
	return !dt->config->waits &&
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
		close_link(dt, links->fds[i]);
		note(dt, 0);
	}
	links->cnt = 0;
	if (dt->has_trampolines)
		leave();
}

static void close_there(struct detach *dt, struct fd_list *links)
{
	fd_list_close(links); /* the worker also has them open, so this takes no time */
	close(dt->go_fd);
	if (wait_for_worker(dt))
		waitpid(dt->worker, NULL, 0);
	close(dt->done_fd);
}

void detach_all(struct fd_list *links, struct fd_list *progs, const struct detach_config *config)
{
	struct detach dt = {
		.config = config,
		.link_cnt = links->cnt,
		.begin_ns = host_time_ns(),
		.has_trampolines = have_trampolines(progs),
		.stopped_cnt = *config->stop_cnt,
	};

	if (!progs->cnt) /* and no links */
		return;
	/* before there is a second process: whoever looks from now on sees it */
	detaching_begin(&dt.seen, config->seen_path, left_ns(&dt));
	if (start(&dt, links))
		close_here(&dt, links);
	else
		close_there(&dt, links);
	fd_list_close(progs); /* if the worker continues, it also has them open */
	log_progress_done();
	if (dt.done_cnt == dt.link_cnt)
		log_info("detached %zu %s in %" PRIu64 " ms", config->func_cnt,
			 plural(config->func_cnt, "function", "functions"),
			 (host_time_ns() - dt.begin_ns) / 1000000);
	else
		say_background(&dt);
	detaching_end(&dt.seen);
}

/*
 * Close the links, of which this process has the last descriptors. It also keeps copies of their programs open for a
 * second longer.
 */
static void close_aside(const int *fds, size_t cnt, const struct fd_list *links, int go_fd,
			struct detaching *seen, uint64_t expected_ns)
{
	char byte;

	if (fork())
		_exit(0);
	let_go_of_terminal(seen->fd);
	for (size_t i = 0; i < links->cnt; i++) {
		if (links->fds[i] >= 0)
			close(links->fds[i]); /* only the tracer keeps the other links open */
	}
	while (read(go_fd, &byte, 1) < 0 && errno == EINTR)
		;
	for (size_t i = 0; i < cnt; i++) {
		close(fds[i]);
		detaching_note(seen, expected_ns / cnt * (cnt - i - 1));
	}
	detaching_end(seen);
	leave();
	_exit(0);
}

void detach_aside(const int *fds, size_t cnt, const struct fd_list *links, uint64_t expected_ns)
{
	int go[2] = { -1, -1 };
	struct detaching seen;
	pid_t pid;

	if (!cnt)
		return;
	detaching_begin(&seen, DETACHING_PATH, expected_ns);
	if (!pipe2(go, O_CLOEXEC)) {
		pid = fork();
		if (!pid) {
			close(go[1]);
			close_aside(fds, cnt, links, go[0], &seen, expected_ns);
		}
		close(go[0]);
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
	for (size_t i = 0; i < cnt; i++)
		close(fds[i]); /* without a process this waits for the grace period */
	if (go[1] >= 0)
		close(go[1]);
	detaching_end(&seen);
}
