#include "base/color.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 80

bool tty_is_foreground(int fd)
{
	pid_t group = isatty(fd) ? tcgetpgrp(fd) : -1;

	/* tcgetpgrp fails if the terminal does not control us; then it has no jobs of ours */
	return isatty(fd) && (group < 0 || group == getpgrp());
}

unsigned int tty_columns(int fd)
{
	struct winsize size = { 0 };

	return !ioctl(fd, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

static enum color_when chosen;
static bool is_stdout_able;
static bool is_stderr_able;

static bool shows_colors(int fd)
{
	const char *term = getenv("TERM");
	const char *no_color = getenv("NO_COLOR");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0 && !(no_color && *no_color);
}

void color_open(void)
{
	is_stdout_able = shows_colors(STDOUT_FILENO);
	is_stderr_able = shows_colors(STDERR_FILENO);
}

void color_choose(enum color_when when)
{
	chosen = when;
}

bool color_in_output(const char *path)
{
	if (chosen != COLOR_AUTO)
		return chosen == COLOR_ALWAYS;
	return !path && is_stdout_able;
}

bool color_in_messages(void)
{
	return chosen != COLOR_NEVER && is_stderr_able;
}

void color_put(struct strbuf *out, const char *style, const char *text)
{
	strbuf_str(out, style ? style : "");
	strbuf_str(out, text);
	strbuf_str(out, style ? COLOR_END : "");
}

/* From the last to the first, so that text after a part moves only once. */
void color_spans(struct strbuf *buf, const struct color_span *spans, size_t cnt)
{
	const size_t end_len = sizeof(COLOR_END) - 1;
	size_t from = buf->len;
	size_t extra = 0;

	for (size_t i = 0; i < cnt; i++)
		extra += strlen(spans[i].style) + end_len;
	if (!cnt || !strbuf_reserve(buf, extra))
		return;
	buf->len += extra;
	for (size_t i = cnt; i--;) {
		const struct color_span *span = &spans[i];
		const size_t style_len = strlen(span->style);
		const size_t behind = span->at + span->len;

		memmove(buf->ptr + behind + extra, buf->ptr + behind, from - behind);
		extra -= end_len;
		memcpy(buf->ptr + behind + extra, COLOR_END, end_len);
		memmove(buf->ptr + span->at + extra, buf->ptr + span->at, span->len);
		extra -= style_len;
		memcpy(buf->ptr + span->at + extra, span->style, style_len);
		from = span->at;
	}
}

void color_lines(struct strbuf *buf, size_t start, color_find *find)
{
	struct color_span span;
	size_t at = start;

	for (size_t i = 0; at < buf->len; i++) {
		const char *end = memchr(buf->ptr + at, '\n', buf->len - at);
		const struct text line = { buf->ptr + at,
					   end ? (size_t)(end - buf->ptr) - at : buf->len - at };
		size_t before = buf->len;

		span = (struct color_span){ 0 };
		at += line.len + 1;
		if (!find(line, i, &span))
			continue;
		span.at += at - line.len - 1;
		color_spans(buf, &span, 1);
		at += buf->len - before;
	}
}
