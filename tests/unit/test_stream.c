/* Pipes, sockets and terminals: what has no room waits in order, and nobody waits for a reader that is stuck. */
#include "base/output.h"

#include <pty.h>
#include <signal.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>

#include "base/child.h"
#include "harness.h"
#include "scratch.h"

BEFORE(new_dir);
AFTER(remove_dir);

#define BIG_BYTES (1u << 20) /* no pipe takes it all */

static char bytes[BIG_BYTES];

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* A FIFO with a reader that does not read yet. */
static int open_fifo(struct outfile *f)
{
	int fd;

	CHECK(!mkfifo(file_path, 0600));
	fd = open(file_path, O_RDONLY | O_NONBLOCK);
	CHECK(fd >= 0 && !outfile_open(f, file_path, NULL) && f->is_stream);
	return fd;
}

static void fill(void)
{
	for (size_t i = 0; i < BIG_BYTES; i++)
		bytes[i] = (char)(i * 7 % 251);
}

TEST(what_has_no_room_is_queued_and_comes_later_in_order)
{
	static char got[BIG_BYTES];
	struct outfile f;
	int fd = open_fifo(&f);
	size_t at = 0;

	fill();
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
}

TEST(a_reader_who_takes_nothing_is_given_up)
{
	volatile int stop_cnt = 1;
	struct outfile f;
	int fd = open_fifo(&f);
	uint64_t begun_ms = now_ms();

	f.wait_ms = 0;
	CHECK(!outfile_write(&f, bytes, BIG_BYTES));
	outfile_limit(&f, &stop_cnt);
	CHECK(outfile_write(&f, bytes, 10) == -ETIMEDOUT);
	CHECK(now_ms() - begun_ms >= 1900 && now_ms() - begun_ms < 10000);
	CHECK(f.bytes + f.unwritten_bytes == BIG_BYTES + 10 && f.unwritten_bytes > 10);
	CHECK(!outfile_is_behind(&f) && outfile_close(&f) == -ETIMEDOUT);
	close(fd);
}

/* What a pipe took cannot be taken back; is_torn says that its last row is not whole. */
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
		CHECK(output_close(&out) == -ETIMEDOUT && out.file.is_torn == !is_whole);
		close(fd);
		unlink(file_path);
	}
}

static volatile int asked_cnt;

static void on_alarm(int sig)
{
	asked_cnt++;
}

TEST(who_asks_again_is_not_kept_waiting)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	struct outfile f;
	int fd = open_fifo(&f);
	uint64_t begun_ms = now_ms();

	sigaction(SIGALRM, &sa, NULL);
	f.wait_ms = 0;
	CHECK(!outfile_write(&f, bytes, BIG_BYTES));
	outfile_limit(&f, &asked_cnt);
	ualarm(200000, 0);
	CHECK(outfile_write(&f, NULL, 0) == -ETIMEDOUT && now_ms() - begun_ms < 1500);
	outfile_abandon(&f);
	close(fd);
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
}

TEST(a_reader_who_goes_is_seen_without_a_write)
{
	struct outfile f;
	int fd = open_fifo(&f);

	outfile_look(&f);
	CHECK(!f.err);
	close(fd);
	outfile_look(&f);
	CHECK(!f.err); /* the next one may open it by its name */
	f.path = NULL;
	f.is_held = true;
	outfile_look(&f);
	CHECK(!f.err);
	f.is_held = false;
	outfile_look(&f);
	CHECK(f.err == -EPIPE && outfile_close(&f) == -EPIPE);
}

TEST(a_fifo_that_nobody_opens_is_waited_for_until_asked_to_stop)
{
	const struct sigaction sa = { .sa_handler = on_alarm };
	struct outfile f;

	quiet();
	CHECK(!mkfifo(file_path, 0600));
	asked_cnt = 0;
	sigaction(SIGALRM, &sa, NULL);
	ualarm(200000, 0);
	CHECK(outfile_open(&f, file_path, &asked_cnt) == -ENXIO && asked_cnt);
}

/* Other processes share the open file, and rely on its being blocking. */
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

/* Neither a blocking pipe nor a socket may block us. */
TEST(writing_never_waits)
{
	int fds[2];
	ssize_t len;

	CHECK(!pipe(fds));
	while ((len = stream_write(fds[1], bytes, BIG_BYTES)) > 0)
		;
	CHECK(len == -EAGAIN && !socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	while ((len = stream_write(fds[1], bytes, BIG_BYTES)) > 0)
		;
	CHECK(len == -EAGAIN);
}

/* Ctrl-S, or a terminal emulator that hangs. */
TEST(a_terminal_that_stands_still_is_not_waited_for)
{
	int terminal;
	ssize_t len;
	int master;

	CHECK(!openpty(&master, &terminal, NULL, NULL, NULL));
	terminal = stream_own(terminal);
	while ((len = stream_write(terminal, bytes, 8192)) > 0)
		;
	CHECK(len == -EAGAIN && read(master, bytes, 8192) > 0);
	while (read(master, bytes, 8192) == 8192)
		;
	stream_wait(terminal, 1000);
	CHECK(stream_write(terminal, bytes, 1) == 1 && !tcflow(terminal, TCOOFF));
	CHECK(stream_write(terminal, bytes, 1) == -EAGAIN);
}
