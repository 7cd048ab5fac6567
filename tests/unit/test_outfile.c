#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/output.h"
#include "process/signals.h"
#include "base/stream.h"

#define BIG_BYTES (1u << 20) /* no pipe takes it all */

static char dir[64];
static char path[128];
static char other[128];

static void new_dir(void)
{
	snprintf(dir, sizeof(dir), "/tmp/outfile.XXXXXX");
	CHECK(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	snprintf(other, sizeof(other), "%s/y", dir);
}

static void remove_dir(void)
{
	unlink(path);
	unlink(other);
	CHECK(!rmdir(dir));
}

static void quiet(void)
{
	CHECK(freopen("/dev/null", "w", stderr));
}

static void put_old(void)
{
	FILE *file = fopen(path, "w");

	CHECK(file && fputs("old", file) >= 0 && !fclose(file));
}

static bool holds(const char *where, const char *want)
{
	char text[64] = "";
	FILE *file = fopen(where, "r");
	size_t len;

	CHECK(file);
	len = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	return len == strlen(want) && !memcmp(text, want, len);
}

static size_t size_of(const char *where)
{
	struct stat st;

	CHECK(!stat(where, &st));
	return (size_t)st.st_size;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

TEST(a_file_keeps_what_it_holds_until_there_is_something_new)
{
	struct outfile f;

	new_dir();
	put_old();
	CHECK(!outfile_open(&f, path, NULL));
	f.is_held = true;
	CHECK(!outfile_write(&f, "held ", 5) && !outfile_write(&f, "back", 4));
	CHECK(holds(path, "old") && !outfile_is_behind(&f));
	outfile_abandon(&f);
	CHECK(holds(path, "old"));

	CHECK(!outfile_open(&f, path, NULL));
	f.is_held = true;
	CHECK(!outfile_write(&f, "held ", 5) && !outfile_write(&f, "back", 4));
	CHECK(!outfile_begin(&f) && holds(path, "held back"));
	CHECK(!outfile_write(&f, ", more", 6) && !outfile_close(&f));
	CHECK(holds(path, "held back, more") && f.bytes == 15);

	CHECK(!outfile_open(&f, path, NULL) && !outfile_close(&f));
	CHECK(holds(path, ""));
	remove_dir();
}

TEST(a_new_file_is_private_and_goes_again_if_nothing_comes)
{
	struct outfile f;
	struct stat st;

	new_dir();
	CHECK(!outfile_open(&f, path, NULL));
	CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600);
	CHECK(fcntl(f.fd, F_GETFD) & FD_CLOEXEC);
	outfile_abandon(&f);
	CHECK(stat(path, &st) && errno == ENOENT);
	CHECK(!outfile_open(&f, path, NULL) && !outfile_write(&f, "x", 1));
	outfile_abandon(&f);
	CHECK(holds(path, "x"));
	remove_dir();
}

TEST(whether_an_error_was_told_is_known)
{
	quiet();
	log_warn("x");
	log_hint("x");
	CHECK(!log_has_error());
	log_error("x");
	CHECK(log_has_error());
}

/* As when root, without its capabilities by now, wrote into somebody's directory. */
TEST(a_new_file_that_cannot_go_again_is_told)
{
	uid_t uid = geteuid();
	struct outfile f;

	new_dir();
	CHECK(freopen(other, "w", stderr) && !outfile_open(&f, path, NULL));
	CHECK(!chmod(dir, 0555) && (uid || !seteuid(65534)));
	outfile_abandon(&f);
	CHECK((uid || !seteuid(0)) && !chmod(dir, 0755));
	CHECK(holds(path, "") && size_of(other) > 0);
	remove_dir();
}

#define ROW    " 0)   1.234 us    |  tcp_v4_rcv();\n"
#define RULE   " ------------------------------------------\n"
#define BANNER RULE " 0)   idle-0   =>   ping-7  \n" RULE "\n"
#define HEADER "# tracer: function_graph\n"
#define LIMIT  400

static void slurp(const char *where, char *text, size_t cap)
{
	FILE *file = fopen(where, "r");
	size_t len;

	CHECK(file);
	len = fread(text, 1, cap - 1, file);
	text[len] = 0;
	fclose(file);
}

/* Whole rows alone: rows, and banners of four lines. */
static bool is_whole(const char *text)
{
	if (strncmp(text, HEADER, strlen(HEADER)) != 0)
		return false;
	text += strlen(HEADER);
	while (*text) {
		const char *row = strncmp(text, RULE, strlen(RULE)) ? ROW : BANNER;

		if (strncmp(text, row, strlen(row)) != 0)
			return false;
		text += strlen(row);
	}
	return true;
}

static void put_rows(struct output *out, int cnt)
{
	for (int i = 0; i < cnt; i++) {
		strbuf_str(&out->buf, i % 3 ? ROW : BANNER ROW);
		if (i % 7 == 0)
			CHECK(!output_flush(out));
	}
	CHECK(!output_flush(out));
}

TEST(rotated_files_have_whole_rows_and_a_header)
{
	char text[2 * LIMIT];
	struct output out;
	char name[160];
	size_t rows = 0;

	new_dir();
	CHECK(!output_open(&out, path, NULL));
	strbuf_str(&out.buf, HEADER);
	CHECK(!output_limit(&out, 0, LIMIT, 3));
	put_rows(&out, 100);
	strbuf_str(&out.buf, ROW);
	CHECK(!output_close(&out));
	for (int i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
		slurp(name, text, sizeof(text));
		CHECK(is_whole(text) && strlen(text) <= LIMIT);
		CHECK(!i || strlen(text) > LIMIT - strlen(BANNER));
		rows += strlen(text);
		if (i)
			unlink(name);
	}
	CHECK(rows > 2 * LIMIT - 2 * strlen(BANNER));
	snprintf(name, sizeof(name), "%s.3", path);
	CHECK(access(name, F_OK));
	remove_dir();
}

TEST(a_file_that_is_full_has_whole_rows)
{
	char text[2 * LIMIT];
	struct output out;

	quiet();
	new_dir();
	CHECK(!output_open(&out, path, NULL));
	strbuf_str(&out.buf, HEADER);
	CHECK(!output_limit(&out, LIMIT, 0, 0));
	put_rows(&out, 100);
	CHECK(out.is_full && !output_close(&out));
	slurp(path, text, sizeof(text));
	CHECK(is_whole(text) && strlen(text) <= LIMIT && strlen(text) > LIMIT - strlen(BANNER));
	CHECK(size_of(path) == strlen(text));
	remove_dir();
}

static void limit_files(rlim_t bytes)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = bytes;
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

/* Where the file ends when no more than @limit bytes fit into it, behind "old" where @is_appended. */
static void write_until_full(rlim_t limit, bool is_appended, char *text, size_t cap)
{
	struct output out;
	int fd;
	int err;

	put_old();
	fd = open(path, O_WRONLY | (is_appended ? O_APPEND : O_TRUNC));
	CHECK(fd >= 0);
	out = (struct output){ .file = { .fd = fd } };
	output_rows(&out);
	limit_files(limit);
	strbuf_str(&out.buf, HEADER);
	CHECK(!output_flush(&out));
	strbuf_str(&out.buf, ROW BANNER);
	err = output_flush(&out);
	strbuf_str(&out.buf, BANNER ROW ROW);
	CHECK(!err || output_flush(&out) == err);
	CHECK(output_flush(&out) == -EFBIG && output_close(&out) == -EFBIG);
	limit_files(RLIM_INFINITY);
	close(fd);
	slurp(path, text, cap);
	CHECK(size_of(path) == strlen(text) && !out.file.is_torn);
}

TEST(a_file_that_may_not_grow_ends_with_a_whole_row)
{
	static const char all[] = HEADER ROW BANNER BANNER ROW ROW;
	const size_t old_len = 3;
	char text[2 * LIMIT];

	quiet();
	new_dir();
	signal(SIGXFSZ, SIG_IGN);
	for (size_t limit = strlen(HEADER) + old_len; limit < strlen(all); limit++) {
		write_until_full(limit, false, text, sizeof(text));
		CHECK(is_whole(text) && strlen(text) <= limit);
		CHECK(limit - strlen(text) < strlen(BANNER));
		write_until_full(limit, true, text, sizeof(text));
		CHECK(!strncmp(text, "old", old_len) && is_whole(text + old_len));
		CHECK(strlen(text) <= limit && limit - strlen(text) < strlen(BANNER));
	}
	remove_dir();
}

/* What somebody else wrote meanwhile is not cut off. */
TEST(rows_of_others_stay_where_ours_cannot_end_whole)
{
	struct output out;
	int fd;

	quiet();
	new_dir();
	put_old();
	signal(SIGXFSZ, SIG_IGN);
	fd = open(path, O_WRONLY | O_APPEND);
	CHECK(fd >= 0);
	out = (struct output){ .file = { .fd = fd } };
	output_rows(&out);
	strbuf_str(&out.buf, ROW);
	CHECK(!output_flush(&out));
	CHECK(write(fd, "other\n", 6) == 6);
	limit_files(strlen(ROW) + 20);
	strbuf_str(&out.buf, ROW);
	CHECK(output_flush(&out) == -EFBIG && out.file.is_torn);
	CHECK(size_of(path) == strlen(ROW) + 20);
	output_close(&out);
	close(fd);
	remove_dir();
}

TEST(what_has_no_name_is_not_rotated)
{
	struct output out;

	quiet();
	CHECK(!output_open(&out, "/dev/null", NULL));
	CHECK(output_limit(&out, 0, LIMIT, 3) == -EINVAL);
	output_abandon(&out);
}

/* What others wrote before us stays, and we know nothing of what they wrote behind. */
TEST(only_our_own_bytes_are_cut)
{
	for (int is_appended = 0; is_appended < 2; is_appended++) {
		struct outfile f = { .wait_ms = -1 };

		new_dir();
		put_old();
		f.fd = open(path, O_RDWR | (is_appended ? O_APPEND : 0));
		CHECK(f.fd >= 0 && lseek(f.fd, is_appended ? 0 : 3, SEEK_SET) >= 0);
		CHECK(!outfile_write(&f, "whole", 5) && !outfile_write(&f, "half", 4));
		outfile_cut(&f, 5);
		CHECK(holds(path, "oldwhole"));
		CHECK(!outfile_write(&f, "next", 4) && holds(path, "oldwholenext"));
		CHECK(pwrite(f.fd, "other", 5, 12) == 5);
		outfile_cut(&f, 5);
		CHECK(holds(path, "oldwholenextother"));
		close(f.fd);
		remove_dir();
	}
}

TEST(the_same_file_is_known_by_any_name)
{
	struct outfile f;
	int fd;

	new_dir();
	put_old();
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0 && !link(path, other));
	CHECK(!outfile_open(&f, other, NULL) && outfile_is_same(&f, fd));
	outfile_abandon(&f);
	CHECK(!unlink(other) && !symlink(path, other));
	CHECK(!outfile_open(&f, other, NULL) && outfile_is_same(&f, fd));
	outfile_abandon(&f);
	CHECK(!unlink(other));
	CHECK(!outfile_open(&f, other, NULL) && !outfile_is_same(&f, fd));
	outfile_abandon(&f);
	close(fd);
	CHECK(holds(path, "old"));
	remove_dir();
}

/* Others cannot be played without being root. */
TEST(where_everybody_makes_files_those_of_others_are_not_taken)
{
	struct outfile f;

	quiet();
	new_dir();
	put_old();
	CHECK(!chmod(dir, 01777) && !symlink(path, other));
	CHECK(!outfile_open(&f, other, NULL));
	outfile_abandon(&f);
	if (!geteuid()) {
		CHECK(!chown(dir, 1, 1));
		CHECK(!outfile_open(&f, other, NULL));
		outfile_abandon(&f);
		CHECK(!lchown(other, 2, 2));
		CHECK(outfile_open(&f, other, NULL) == -ELOOP && f.fd < 0);
		CHECK(!unlink(other) && !link(path, other) && !chown(path, 2, 2));
		CHECK(outfile_open(&f, other, NULL) == -EACCES && f.fd < 0);
		CHECK(!chmod(dir, 0755));
		CHECK(!outfile_open(&f, other, NULL));
		outfile_abandon(&f);
		CHECK(!chmod(dir, 01777) && !chown(path, 0, 0));
		CHECK(outfile_open(&f, other, NULL) == -EACCES && f.fd < 0);
	}
	CHECK(holds(path, "old"));
	remove_dir();
}

TEST(where_everybody_makes_files_fifos_of_others_are_not_taken)
{
	struct outfile f;
	int fd;

	quiet();
	new_dir();
	CHECK(!mkfifo(path, 0600) && !chmod(dir, 01777));
	fd = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0 && !outfile_open(&f, path, NULL));
	outfile_abandon(&f);
	if (!geteuid()) {
		CHECK(!chown(dir, 1, 1) && !chown(path, 2, 2) && !chmod(path, 0666));
		CHECK(outfile_open(&f, path, NULL) == -EACCES && f.fd < 0);
		close(fd); /* nor is a reader waited for */
		CHECK(outfile_open(&f, path, NULL) == -EACCES && f.fd < 0);
	}
	remove_dir();
}

/* A FIFO with a reader that does not read yet. */
static int open_fifo(struct outfile *f)
{
	int fd;

	new_dir();
	CHECK(!mkfifo(path, 0600));
	fd = open(path, O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0 && !outfile_open(f, path, NULL) && f->is_stream);
	return fd;
}

static void fill(char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)(i * 7 % 251);
}

TEST(what_has_no_room_is_queued_and_comes_later_in_order)
{
	char *bytes = malloc(2 * BIG_BYTES);
	char *got = bytes + BIG_BYTES;
	struct outfile f;
	int fd = open_fifo(&f);
	size_t at = 0;

	CHECK(bytes);
	fill(bytes, BIG_BYTES);
	f.wait_ms = 0;
	CHECK(!outfile_write(&f, bytes, BIG_BYTES / 2) && outfile_is_behind(&f));
	CHECK(!outfile_write(&f, bytes + BIG_BYTES / 2, BIG_BYTES / 2));
	while (at < BIG_BYTES) {
		ssize_t len = read(fd, got + at, BIG_BYTES - at);

		CHECK(len > 0);
		at += (size_t)len;
		CHECK(!outfile_write(&f, NULL, 0));
	}
	CHECK(!outfile_is_behind(&f) && !memcmp(bytes, got, BIG_BYTES) && f.bytes == BIG_BYTES);
	CHECK(!outfile_close(&f));
	close(fd);
	free(bytes);
	remove_dir();
}

TEST(a_reader_who_takes_nothing_is_given_up)
{
	char *bytes = calloc(1, BIG_BYTES);
	volatile int stop_cnt = 1;
	struct outfile f;
	int fd = open_fifo(&f);
	uint64_t begun_ms = now_ms();

	f.wait_ms = 0;
	CHECK(bytes && !outfile_write(&f, bytes, BIG_BYTES));
	outfile_limit(&f, &stop_cnt);
	CHECK(outfile_write(&f, bytes, 10) == -ETIMEDOUT);
	CHECK(now_ms() - begun_ms >= 1900 && now_ms() - begun_ms < 10000);
	CHECK(f.bytes + f.unwritten_bytes == BIG_BYTES + 10 && f.unwritten_bytes > 10);
	CHECK(!outfile_is_behind(&f) && outfile_close(&f) == -ETIMEDOUT);
	close(fd);
	free(bytes);
	remove_dir();
}

/* A pipe cannot be cut: whether it ends within a row is told. */
TEST(a_pipe_that_ends_within_a_row_is_torn)
{
	static const char row[] = "0123456789\n";

	quiet();
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		volatile int stop_cnt = 1;
		struct output out = { 0 };
		int fd = open_fifo(&out.file);

		output_rows(&out);
		out.file.wait_ms = 0;
		/* rows of eight bytes fill a pipe without a rest, those of eleven do not */
		for (int i = 0; i < (1 << 20) / 8; i++)
			strbuf_str(&out.buf, is_whole ? row + 3 : row);
		CHECK(!output_flush(&out) && outfile_is_behind(&out.file));
		outfile_limit(&out.file, &stop_cnt);
		stop_cnt++;
		CHECK(output_close(&out) == -ETIMEDOUT);
		CHECK(out.file.is_torn == !is_whole);
		close(fd);
		remove_dir();
	}
}

static volatile int asked_cnt;

static void on_alarm(int sig)
{
	(void)sig;
	asked_cnt++;
}

TEST(who_asks_again_is_not_kept_waiting)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	char *bytes = calloc(1, BIG_BYTES);
	struct outfile f;
	int fd = open_fifo(&f);
	uint64_t begun_ms = now_ms();

	sigaction(SIGALRM, &sa, NULL);
	f.wait_ms = 0;
	CHECK(bytes && !outfile_write(&f, bytes, BIG_BYTES));
	outfile_limit(&f, &asked_cnt);
	ualarm(200000, 0);
	CHECK(outfile_write(&f, NULL, 0) == -ETIMEDOUT && now_ms() - begun_ms < 1500);
	outfile_abandon(&f);
	close(fd);
	free(bytes);
	remove_dir();
}

TEST(a_reader_who_goes_is_an_error)
{
	struct outfile f;
	int fd = open_fifo(&f);

	signals_ignore_writes();
	f.wait_ms = 0;
	CHECK(!outfile_write(&f, "x", 1));
	close(fd);
	CHECK(outfile_write(&f, "y", 1) == -EPIPE && outfile_write(&f, "z", 1) == -EPIPE);
	CHECK(outfile_close(&f) == -EPIPE);
	remove_dir();
}

TEST(a_fifo_that_nobody_opens_is_waited_for_until_asked_to_stop)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	struct outfile f;

	quiet();
	new_dir();
	CHECK(!mkfifo(path, 0600));
	asked_cnt = 0;
	sigaction(SIGALRM, &sa, NULL);
	ualarm(200000, 0);
	CHECK(outfile_open(&f, path, &asked_cnt) == -ENXIO && asked_cnt);
	remove_dir();
}

/* Others hold the same open file, and count on it to wait. */
TEST(our_own_descriptor_leaves_that_of_others_as_it_is)
{
	int fds[2];
	int own;

	CHECK(!pipe(fds));
	own = stream_own(fds[1]);
	CHECK(own != fds[1] && fcntl(own, F_GETFL) & O_NONBLOCK);
	CHECK(!(fcntl(fds[1], F_GETFL) & O_NONBLOCK) && fcntl(own, F_GETFD) & FD_CLOEXEC);
	CHECK(stream_own(fds[0]) == fds[0]);
}

/* Neither a pipe that waits nor a socket may hold us. */
TEST(writing_never_waits)
{
	char *bytes = calloc(1, BIG_BYTES);
	int fds[2];
	ssize_t len;

	CHECK(bytes && !pipe(fds));
	while ((len = stream_write(fds[1], bytes, BIG_BYTES)) > 0)
		;
	CHECK(len == -EAGAIN);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	while ((len = stream_write(fds[1], bytes, BIG_BYTES)) > 0)
		;
	CHECK(len == -EAGAIN);
	free(bytes);
}

/* Ctrl-S, or a terminal emulator that hangs. */
TEST(a_terminal_that_stands_still_is_not_waited_for)
{
	char bytes[8192] = "";
	int terminal;
	ssize_t len;
	int master;

	CHECK(!openpty(&master, &terminal, NULL, NULL, NULL));
	terminal = stream_own(terminal);
	while ((len = stream_write(terminal, bytes, sizeof(bytes))) > 0)
		;
	CHECK(len == -EAGAIN);
	CHECK(read(master, bytes, sizeof(bytes)) > 0);
	while (read(master, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes))
		;
	stream_wait(terminal, 1000);
	CHECK(stream_write(terminal, bytes, 1) == 1 && !tcflow(terminal, TCOOFF));
	CHECK(stream_write(terminal, bytes, 1) == -EAGAIN);
}

static bool is_ignored(int sig)
{
	struct sigaction sa;

	CHECK(!sigaction(sig, NULL, &sa));
	return sa.sa_handler == SIG_IGN;
}

TEST(signals_are_counted_unless_ignored_and_restored_as_they_were)
{
	struct sigaction sa;

	signal(SIGINT, SIG_DFL); /* a shell ignores it for what runs in the background */
	signal(SIGTERM, SIG_DFL);
	signal(SIGHUP, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	signals_catch();
	signals_ignore_writes();
	CHECK(is_ignored(SIGHUP) && is_ignored(SIGPIPE) && is_ignored(SIGXFSZ));
	CHECK(!is_ignored(SIGCHLD));
	raise(SIGHUP);
	CHECK(*signals_stop_cnt == 0 && !signals_stop_sig());
	raise(SIGINT);
	raise(SIGTERM);
	CHECK(*signals_stop_cnt == 2 && signals_stop_sig() == SIGINT);
	signals_restore();
	CHECK(is_ignored(SIGHUP) && is_ignored(SIGCHLD) && !is_ignored(SIGPIPE));
	CHECK(!is_ignored(SIGXFSZ));
	CHECK(!sigaction(SIGINT, NULL, &sa) && sa.sa_handler == SIG_DFL);
}
