/* Who waits for a trace to begin is told, once, and only by what it gave for that. */
#include "session/ready.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "harness.h"
#include "scratch.h"
#include "base/child.h"

BEFORE(new_dir);
AFTER(remove_dir);

/* The ends of a pipe; the second has a number that --ready-fd may have, and is inherited. */
static void open_pipe(int ends[2])
{
	CHECK(!pipe(ends));
	while (ends[1] < 3)
		ends[1] = dup(ends[1]);
}

static struct opts opts_of(int fd)
{
	return (struct opts){ .ready_fd = (uint32_t)fd };
}

TEST(a_newline_and_then_the_end)
{
	struct ready ready;
	struct opts opts;
	char bytes[4];
	int ends[2];

	unsetenv("NOTIFY_SOCKET");
	open_pipe(ends);
	opts = opts_of(ends[1]);
	CHECK(!ready_open(&ready, &opts) && ready.fd == ends[1] && ready.socket_fd < 0);
	CHECK(fcntl(ends[1], F_GETFD) & FD_CLOEXEC); /* a command does not keep it open */
	ready_tell(&ready);
	CHECK(read(ends[0], bytes, sizeof(bytes)) == 1 && bytes[0] == '\n');
	CHECK(read(ends[0], bytes, sizeof(bytes)) == 0 && fcntl(ends[1], F_GETFD) < 0);
	ready_tell(&ready);
}

TEST(the_end_alone_if_tracing_does_not_begin)
{
	struct ready ready;
	struct opts opts;
	char byte;
	int ends[2];

	unsetenv("NOTIFY_SOCKET");
	open_pipe(ends);
	opts = opts_of(ends[1]);
	CHECK(!ready_open(&ready, &opts));
	ready_close(&ready);
	CHECK(read(ends[0], &byte, 1) == 0);
}

TEST(a_reader_that_has_gone_is_no_error)
{
	struct ready ready;
	struct opts opts;
	int ends[2];

	quiet();
	signals_ignore_writes();
	unsetenv("NOTIFY_SOCKET");
	open_pipe(ends);
	opts = opts_of(ends[1]);
	CHECK(!ready_open(&ready, &opts) && !close(ends[0]));
	ready_tell(&ready);
	CHECK(ready.fd < 0);
}

static enum verdict take(int fd)
{
	const struct opts opts = opts_of(fd);
	struct ready ready;
	enum verdict verdict = (enum verdict)ready_open(&ready, &opts);

	ready_close(&ready);
	return verdict;
}

TEST(a_descriptor_that_was_not_given)
{
	int ends[2];
	int ours;

	quiet();
	unsetenv("NOTIFY_SOCKET");
	open_pipe(ends);
	CHECK(take(1000) == VERDICT_USAGE);
	CHECK(take(ends[0]) == VERDICT_USAGE); /* for reading */
	ours = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
	CHECK(take(ours) == VERDICT_USAGE && fcntl(ours, F_GETFD) >= 0);
	CHECK(take(ends[1]) == VERDICT_OK);
}

/* What comes at a socket of that name. */
static const char *notified(const char *name)
{
	static char bytes[64];
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const struct opts opts = { 0 };
	struct ready ready;
	ssize_t len;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", name);
	if (*name == '@')
		addr.sun_path[0] = 0;
	CHECK(fd >= 0 && !bind(fd, (struct sockaddr *)&addr,
			       (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))));
	CHECK(!setenv("NOTIFY_SOCKET", name, 1) && !ready_open(&ready, &opts));
	CHECK(ready.socket_fd >= 0 && recv(fd, bytes, sizeof(bytes), 0) < 0);
	ready_tell(&ready);
	len = recv(fd, bytes, sizeof(bytes) - 1, 0);
	CHECK(len > 0 && recv(fd, bytes + len, 1, 0) < 0);
	bytes[len] = 0;
	close(fd);
	return bytes;
}

TEST(a_service_manager_is_told)
{
	char name[64];

	snprintf(name, sizeof(name), "@netfgraph-test-%d", (int)getpid());
	CHECK_STR(notified(name), "READY=1");
	CHECK(strlen(file_path) < sizeof(((struct sockaddr_un *)0)->sun_path));
	CHECK_STR(notified(file_path), "READY=1");
}

TEST(no_service_manager_is_no_error)
{
	static const char *const names[] = { "", "/", "@", "vsock:2:1234", "relative", NULL };
	const struct opts opts = { 0 };
	struct ready ready;
	char longest[200];

	quiet();
	for (size_t i = 0; i < CNT_OF(names); i++) {
		CHECK(!setenv("NOTIFY_SOCKET", names[i] ? names[i] : file_path, 1));
		CHECK(!ready_open(&ready, &opts) && ready.socket_fd < 0);
	}
	memset(longest, 'x', sizeof(longest) - 1);
	longest[0] = '/';
	longest[sizeof(longest) - 1] = 0;
	CHECK(!setenv("NOTIFY_SOCKET", longest, 1));
	CHECK(!ready_open(&ready, &opts) && ready.socket_fd < 0);
}
