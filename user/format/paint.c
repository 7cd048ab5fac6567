#include "format/paint.h"

#include <string.h>

#include "base/color.h"
#include "format/text_repair.h"

#define SPANS_MAX 2

/* As render.c marks it: above 100 us !, 1 ms #, 10 ms *, 100 ms @, a second $. */
static const char *duration_style(uint64_t duration_ns)
{
	if (duration_ns <= 100000)
		return NULL;
	if (duration_ns <= 1000000)
		return COLOR_YELLOW;
	if (duration_ns <= 10000000)
		return COLOR_BOLD_YELLOW;
	return duration_ns <= 100000000 ? COLOR_RED : COLOR_BOLD_RED;
}

/* From the mark to the unit. */
static size_t find_duration(struct strbuf *out, size_t start, const struct row *row,
			    struct color_span *span)
{
	const char *style = duration_style(row->duration_ns);
	const char *line = out->ptr + start;
	const char *mark;
	const char *us;

	if (row->lacks_duration || !style)
		return 0;
	mark = text_repair_find_mark(out->ptr + start, out->len - start);
	if (!mark)
		return 0;
	mark += *mark == ' ' ? 2 : 0; /* marks are turned off */
	us = memmem(mark, (size_t)(out->ptr + out->len - mark), " us ", 4);
	*span = (struct color_span){ start + (size_t)(mark - line), (size_t)(us - mark) + 3,
				     style };
	return 1;
}

/* A result that the kernel's text shows as a negative number is an error. */
static size_t find_error(const struct strbuf *out, const struct row *row, struct color_span *span)
{
	static const char behind[] = " */\n";
	const size_t tail = row->note.len + sizeof(behind) - 1;
	const char *note = out->ptr + out->len - tail;
	const char *ret;

	/* an escaped note differs from the written text */
	if (!row->note.len || out->len < tail || memcmp(note, row->note.ptr, row->note.len) != 0)
		return 0;
	ret = memmem(note, row->note.len, "ret=-", 5);
	if (!ret)
		ret = memmem(note, row->note.len, "= -", 3);
	if (!ret)
		return 0;
	*span = (struct color_span){
		.at = (size_t)(ret - out->ptr),
		.len = row->note.len - (size_t)(ret - note),
		.style = COLOR_RED,
	};
	return 1;
}

static size_t whole_line(const struct strbuf *out, size_t at, const char *style,
			 struct color_span *span)
{
	const char *end = memchr(out->ptr + at, '\n', out->len - at);

	*span = (struct color_span){ at, end ? (size_t)(end - out->ptr) - at : out->len - at,
				     style };
	return 1;
}

/* The line between the rules: output.c knows a banner by its first. */
static size_t banner_line(const struct strbuf *out, size_t start, struct color_span *span)
{
	const char *end = memchr(out->ptr + start, '\n', out->len - start);

	return end ? whole_line(out, (size_t)(end + 1 - out->ptr), COLOR_CYAN, span) : 0;
}

static size_t comment_text(const struct strbuf *out, size_t start, struct color_span *span)
{
	const char *comment = memmem(out->ptr + start, out->len - start, "/* ", 3);

	if (!comment)
		return 0;
	return whole_line(out, (size_t)(comment - out->ptr), COLOR_GREEN, span);
}

void paint_row(struct strbuf *out, size_t start, const struct row *row)
{
	struct color_span spans[SPANS_MAX];
	size_t cnt = 0;

	if (!strbuf_ok(out) || start == out->len)
		return;
	switch (row->kind) {
	case ROW_LEAF:
	case ROW_RETURN:
		cnt = find_duration(out, start, row, spans);
		cnt += find_error(out, row, spans + cnt);
		break;
	case ROW_COMMENT:
		cnt = comment_text(out, start, spans);
		break;
	case ROW_LOST:
	case ROW_OVERRUN:
		cnt = whole_line(out, start, COLOR_BOLD_RED, spans);
		break;
	case ROW_BANNER:
		cnt = banner_line(out, start, spans);
		break;
	case ROW_ENTRY:
	case ROW_OTHER:
		break;
	}
	color_spans(out, spans, cnt);
}

/* ---- tables ---- */

/* The titles of a table's columns, or the function that a histogram is of. */
static bool find_title(struct text line, size_t i, struct color_span *span)
{
	const char *calls = line.len ? memmem(line.ptr, line.len, ", min ", 6) : NULL;
	const char *end;

	span->style = COLOR_BOLD;
	if (!calls) {
		span->len = line.len;
		return !i;
	}
	end = memchr(line.ptr, ':', line.len);
	span->len = end ? (size_t)(end - line.ptr) : 0;
	return end != NULL;
}

void paint_table(struct strbuf *out, size_t start)
{
	if (strbuf_ok(out))
		color_lines(out, start, find_title);
}
