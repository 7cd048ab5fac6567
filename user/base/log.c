#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleantext.h"
#include "base/color.h"
#include "base/output.h"

#define LINE_BYTES  2048
#define CLEAN_BYTES (LINE_BYTES * 4 + 48) /* each byte escaped, with a prefix in colour */
#define WAIT_MS     1000                  /* for a reader, before messages are dropped */

static int verbosity;
static bool is_quiet;
static int fd = STDERR_FILENO;
static bool has_progress;
static bool has_error;
static bool is_stalled; /* without a reader, messages that do not fit are dropped */
static bool progress_is_mute;
static bool is_holding;
static struct strbuf held;

void log_open(void)
{
	fd = stream_own(STDERR_FILENO);
}

static void log_put(const char *bytes, size_t len)
{
	while (len) {
		ssize_t part = stream_write(fd, bytes, len);

		if (part == -EAGAIN && !is_stalled) {
			stream_wait(fd, WAIT_MS);
			part = stream_write(fd, bytes, len);
		}
		is_stalled = part == -EAGAIN;
		if (part <= 0)
			return;
		bytes += part;
		len -= (size_t)part;
	}
}

void log_progress_done(void)
{
	static const char erase[] = "\r\033[K";

	if (has_progress)
		log_put(erase, sizeof(erase) - 1);
	has_progress = false;
}

/* All names and paths that users supply pass through here, and are escaped. */
static bool clean_format(struct strbuf *out, const char *fmt, va_list ap)
{
	char raw[LINE_BYTES];
	int len = vsnprintf(raw, sizeof(raw), fmt, ap);

	if (len >= 0)
		clean_add(out, raw, strlen(raw), CLEAN_WORD);
	return len >= 0;
}

/* One write per line, so that lines of the traced command do not cut into it. */
static void log_line(const char *prefix, const char *style, const char *fmt, va_list ap)
{
	char bytes[CLEAN_BYTES];
	struct strbuf text = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */

	color_put(&text, color_in_messages() ? style : NULL, prefix);
	strbuf_char(&text, ' ');
	if (!clean_format(&text, fmt, ap))
		return;
	strbuf_char(&text, '\n');
	if (is_holding) {
		strbuf_add(&held, text.ptr, text.len);
		return;
	}
	log_progress_done();
	log_put(text.ptr, text.len);
}

#define DEFINE_LOG(name, prefix, style, is_wanted) \
	void name(const char *fmt, ...)            \
	{                                          \
		va_list ap;                        \
                                                   \
		if (!(is_wanted))                  \
			return;                    \
		va_start(ap, fmt);                 \
		log_line(prefix, style, fmt, ap);  \
		va_end(ap);                        \
	}

void log_error(const char *fmt, ...)
{
	va_list ap;

	has_error = true;
	va_start(ap, fmt);
	log_line("netfgraph:", COLOR_BOLD_RED, fmt, ap);
	va_end(ap);
}

bool log_has_error(void)
{
	return has_error;
}

void log_unsaid(int err)
{
	if (err < 0 && !has_error)
		log_error("%s", err == -ENOMEM ? "out of memory" : strerror(-err));
}

DEFINE_LOG(log_warn, "netfgraph:", COLOR_BOLD_YELLOW, true)
DEFINE_LOG(log_info, "netfgraph:", COLOR_BOLD, verbosity >= 1)
DEFINE_LOG(log_debug, "netfgraph:", COLOR_BOLD, verbosity >= 2)
DEFINE_LOG(log_hint, "hint:", COLOR_BOLD_CYAN, true)
DEFINE_LOG(log_begin, "netfgraph:", COLOR_BOLD, !is_quiet)
DEFINE_LOG(log_note, "netfgraph:", COLOR_BOLD, !is_quiet && tty_is_foreground(STDERR_FILENO))

void log_warn_cnt(uint64_t cnt, const char *path, const char *what)
{
	if (cnt && path)
		log_warn("'%s': %" PRIu64 " %s", path, cnt, what);
	else if (cnt)
		log_warn("%" PRIu64 " %s", cnt, what);
}

void log_status(const struct strbuf *text, const struct color_span *alarm)
{
	char bytes[LINE_BYTES];
	struct strbuf out = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	struct color_span span = *alarm;
	size_t len = text->len;
	size_t room;

	if (is_holding || is_quiet || !tty_is_foreground(STDERR_FILENO))
		return;
	/* the last column stays free, or the cursor would move to the next line */
	room = tty_columns(STDERR_FILENO) - 1;
	room = room < LINE_BYTES - 64 ? room : LINE_BYTES - 64;
	len = len < room ? len : room;
	strbuf_char(&out, '\r');
	strbuf_add(&out, text->ptr, len);
	strbuf_str(&out, "\033[K");
	if (span.at + span.len > len)
		span.len = span.at < len ? len - span.at : 0;
	span.at++;
	if (span.len && color_in_messages())
		color_spans(&out, &span, 1);
	log_put(out.ptr, out.len);
	has_progress = true;
}

void log_progress(const char *fmt, ...)
{
	const struct color_span none = { 0 };
	char bytes[CLEAN_BYTES];
	struct strbuf text = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	va_list ap;

	if (progress_is_mute)
		return;
	va_start(ap, fmt);
	clean_format(&text, fmt, ap);
	va_end(ap);
	log_status(&text, &none);
}

void log_progress_mute(bool mutes)
{
	progress_is_mute = mutes;
}

void log_hold(bool holds)
{
	is_holding = holds;
	if (holds)
		return;
	log_put(held.ptr, held.len);
	strbuf_release(&held);
}

void log_quiet(void)
{
	is_quiet = true;
}

int log_verbosity(void)
{
	return verbosity;
}

void log_set_verbosity(int level)
{
	verbosity = level;
}
