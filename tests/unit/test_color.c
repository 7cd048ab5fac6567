#include "base/color.h"
#include "harness.h"

static struct strbuf text_of(const char *text)
{
	struct strbuf buf = { 0 };

	strbuf_str(&buf, text);
	return buf;
}

static void check_text(struct strbuf *buf, const char *want)
{
	strbuf_char(buf, '\0');
	CHECK(strbuf_ok(buf));
	CHECK_STR(buf->ptr, want);
	strbuf_release(buf);
}

TEST(spans_are_put_around_parts)
{
	static const struct color_span spans[] = {
		{ 0, 1, COLOR_RED },
		{ 2, 3, COLOR_BOLD_YELLOW },
		{ 5, 1, COLOR_BOLD },
	};
	struct strbuf buf = text_of("a-bcdef\n");

	color_spans(&buf, spans, 3);
	check_text(&buf, "\033[31ma\033[0m-\033[1;33mbcd\033[0m\033[1me\033[0mf\n");
}

TEST(no_span_changes_nothing)
{
	struct strbuf buf = text_of("abc");

	color_spans(&buf, NULL, 0);
	check_text(&buf, "abc");
}

/* Without memory the text stays as it is, and the failure sticks. */
TEST(spans_without_memory)
{
	const struct color_span span = { 0, 1, COLOR_RED };
	struct strbuf buf = text_of("abc");

	buf.failed = true;
	color_spans(&buf, &span, 1);
	CHECK(buf.failed && buf.len == 3);
	strbuf_release(&buf);
}

static bool find_x(struct text line, size_t i, struct color_span *span)
{
	const char *x = line.len ? memchr(line.ptr, 'x', line.len) : NULL;

	*span = (struct color_span){ x ? (size_t)(x - line.ptr) : 0, 1,
				     i ? COLOR_RED : COLOR_CYAN };
	return x != NULL;
}

TEST(lines_have_their_own_colours)
{
	struct strbuf buf = text_of("x0\nx\n\nab\ncx\nx");

	color_lines(&buf, 3, find_x);
	check_text(&buf, "x0\n\033[36mx\033[0m\n\nab\nc\033[31mx\033[0m\n\033[31mx\033[0m");
}

/* No standard stream of a unit test was looked at: colours come when they are asked for, and only in the output. */
TEST(who_asks_gets_colours)
{
	CHECK(!color_in_output(NULL) && !color_in_output("file"));
	color_choose(COLOR_ALWAYS);
	CHECK(color_in_output(NULL) && color_in_output("file") && !color_in_messages());
	color_choose(COLOR_NEVER);
	CHECK(!color_in_output(NULL) && !color_in_output("file") && !color_in_messages());
}
