#include "base/log.h"

#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>

#include "harness.h"

/* Standard error is a terminal of so many columns from now on. Return: its other end. */
static int take_terminal(unsigned short columns)
{
	const struct winsize size = { .ws_row = 25, .ws_col = columns };
	struct termios raw;
	int master;
	int slave;

	CHECK(!openpty(&master, &slave, NULL, NULL, &size) && !tcgetattr(slave, &raw));
	cfmakeraw(&raw);
	CHECK(!tcsetattr(slave, TCSANOW, &raw));
	CHECK(dup2(slave, STDERR_FILENO) == STDERR_FILENO);
	setenv("TERM", "xterm", 1);
	unsetenv("NO_COLOR");
	color_open();
	return master;
}

/* What it shows since the last call. */
static const char *shown(int master)
{
	static char text[4096];
	struct pollfd pfd = { .fd = master, .events = POLLIN };
	size_t len = 0;

	while (poll(&pfd, 1, len ? 50 : 500) > 0 && len < sizeof(text) - 1) {
		ssize_t part = read(master, text + len, sizeof(text) - 1 - len);

		if (part <= 0)
			break;
		len += (size_t)part;
	}
	text[len] = '\0';
	return text;
}

static void status(const char *words, size_t at, size_t len)
{
	struct strbuf text = { 0 };
	struct color_span alarm = { at, len, COLOR_BOLD_RED };

	strbuf_str(&text, words);
	log_status(&text, &alarm);
	strbuf_release(&text);
}

/* The last column stays free. */
TEST(a_status_is_cut_to_the_terminal)
{
	int master = take_terminal(10);

	status("0:12  17 lost, 3 %", 0, 0);
	CHECK_STR(shown(master), "\r0:12  17 \033[K");
	status("0:12", 0, 0);
	CHECK_STR(shown(master), "\r0:12\033[K");
}

TEST(an_alarm_has_a_colour_as_far_as_it_is_seen)
{
	int master = take_terminal(10);

	status("0:1  17 lost", 5, 7);
	CHECK_STR(shown(master), "\r0:1  \033[1;31m17 l\033[0m\033[K");
	status("0:1  7", 5, 1);
	CHECK_STR(shown(master), "\r0:1  \033[1;31m7\033[0m\033[K");
	status("012345678901234", 9, 3);
	CHECK_STR(shown(master), "\r012345678\033[K");
}

TEST(a_message_removes_the_status)
{
	int master = take_terminal(80);

	status("0:12", 0, 0);
	shown(master);
	log_warn("lost 17 events");
	CHECK_STR(shown(master), "\r\033[K\033[1;33mnetfgraph:\033[0m lost 17 events\n");
	log_hint("fewer");
	CHECK_STR(shown(master), "\033[1;36mhint:\033[0m fewer\n");
	log_progress_done();
	CHECK_STR(shown(master), "");
}

TEST(messages_are_held)
{
	int master = take_terminal(80);

	color_choose(COLOR_NEVER);
	log_hold(true);
	log_warn("one");
	log_progress("attaching %d/%d", 1, 2);
	log_hint("two");
	CHECK_STR(shown(master), "");
	log_hold(false);
	CHECK_STR(shown(master), "netfgraph: one\nhint: two\n");
	log_warn("three");
	CHECK_STR(shown(master), "netfgraph: three\n");
}

/* What a name brings does not reach the terminal. */
TEST(a_note_is_for_a_terminal)
{
	int master = take_terminal(80);
	int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	color_choose(COLOR_NEVER);
	log_note("to '%s'", "a\033[2J");
	CHECK_STR(shown(master), "netfgraph: to 'a\\x1b[2J'\n");
	CHECK(dup2(null_fd, STDERR_FILENO) == STDERR_FILENO);
	log_note("to nobody");
	CHECK_STR(shown(master), "");
}
