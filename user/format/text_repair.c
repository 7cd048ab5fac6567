#include "format/text_repair.h"

#include <string.h>

static bool has(struct text line, const char *what)
{
	return memmem(line.ptr, line.len, what, strlen(what)) != NULL;
}

/* "  15) " */
static bool begins_with_cpu(struct text line)
{
	size_t i = 0;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	if (i == line.len || line.ptr[i] < '0' || line.ptr[i] > '9')
		return false;
	while (i < line.len && line.ptr[i] >= '0' && line.ptr[i] <= '9')
		i++;
	return i + 1 < line.len && line.ptr[i] == ')' && line.ptr[i + 1] == ' ';
}

bool text_repair_looks_like_row(struct text line)
{
	return begins_with_cpu(line) || has(line, " |  ");
}

bool text_repair_is_ellipsis(struct text line)
{
	size_t i = 0;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	if (i == line.len)
		return false;
	while (i < line.len && line.ptr[i] == '.')
		i++;
	return i == line.len;
}

bool text_repair_is_bare_call(struct text line)
{
	size_t i = 0;
	size_t start;

	while (i < line.len && line.ptr[i] == ' ')
		i++;
	start = i;
	while (i < line.len && line.ptr[i] > ' ' && line.ptr[i] <= '~' &&
	       !strchr("(){};|", line.ptr[i]))
		i++;
	return i > start && line.len - i == 4 && !memcmp(line.ptr + i, "() {", 4);
}

char *text_repair_find_mark(char *ptr, size_t len)
{
	char *us = memmem(ptr, len, " us ", 4);

	if (!us)
		return NULL;
	while (us > ptr && (us[-1] == '.' || (us[-1] >= '0' && us[-1] <= '9')))
		us--;
	return us - ptr >= 2 && us[-1] == ' ' ? us - 2 : NULL;
}

/* Older kernels mark everything above 100 us with !. Return: whether there was such a mark. */
static bool drop_old_mark(struct strbuf *line)
{
	char *mark = text_repair_find_mark(line->ptr, line->len);

	if (!mark || *mark != '!')
		return false;
	*mark = ' ';
	return true;
}

/* A remark after the row. Return: whether there was one. */
static bool drop_remark(struct strbuf *line)
{
	for (size_t i = line->len; i-- > 1;) {
		if (line->ptr[i] == ' ' && strchr(";{}", line->ptr[i - 1])) {
			line->len = i;
			return true;
		}
	}
	return false;
}

static bool drop_odd_blank(struct strbuf *line)
{
	char *bar = memmem(line->ptr, line->len, " |  ", 4);
	char *end = line->ptr + line->len;
	char *p = bar ? bar + 2 : end;

	while (p < end && *p == ' ')
		p++;
	if (!bar || (p - bar) % 2 == 0)
		return false;
	memmove(bar + 2, bar + 3, (size_t)(end - bar - 3));
	line->len--;
	return true;
}

/* Only blanks before the bar: as many as there are without any other column. */
static bool set_first_blanks(struct strbuf *line)
{
	static const char blanks[] = "              ";
	const size_t want = sizeof(blanks) - 1;
	size_t len = 0;

	while (len < line->len && line->ptr[len] == ' ')
		len++;
	if (len == want || line->len - len < 3 || memcmp(line->ptr + len, "|  ", 3) != 0 ||
	    !strbuf_reserve(line, want))
		return false;
	memmove(line->ptr + want, line->ptr + len, line->len - len);
	memcpy(line->ptr, blanks, want);
	line->len = line->len - len + want;
	return true;
}

static bool drop_end_blanks(struct strbuf *line)
{
	size_t len = line->len;

	while (line->len && (line->ptr[line->len - 1] == ' ' || line->ptr[line->len - 1] == '\t' ||
			     line->ptr[line->len - 1] == '\r'))
		line->len--;
	return line->len < len;
}

static bool add_first_blank(struct strbuf *line)
{
	if (!line->len || line->ptr[0] < '0' || line->ptr[0] > '9' ||
	    !begins_with_cpu((struct text){ line->ptr, line->len }) || !strbuf_reserve(line, 1))
		return false;
	memmove(line->ptr + 1, line->ptr, line->len++);
	line->ptr[0] = ' ';
	return true;
}

const char text_repair_old_mark[] = "the mark is an older kernel's";

/* What may be wrong with a row, tried in this order, one on top of the other. */
static const struct {
	bool (*mend)(struct strbuf *line);
	const char *reason;
} mends[] = {
	{ drop_end_blanks, "blanks behind the row" },
	{ add_first_blank, "the blank before the CPU is missing" },
	{ set_first_blanks, "columns are missing" },
	{ drop_old_mark, text_repair_old_mark },
	{ drop_odd_blank, "odd indentation" },
	{ drop_remark, "text behind the row" },
};

/* A row on its own, whatever its columns are. */
static bool parse_alone(struct text_parse *ft, const struct strbuf *line, struct row *row)
{
	text_parse_init(ft);
	return text_parse_line(ft, line->ptr, line->len, row) == FTEXT_ROW && row_is_call(row) &&
	       (ft->columns.cpu || ft->columns.duration);
}

bool text_repair_row(struct strbuf *line, struct text_parse *alone, struct row *row,
		     struct text_repair *found)
{
	*found = (struct text_repair){ 0 };
	for (size_t i = 0; !parse_alone(alone, line, row); i++) {
		while (i < sizeof(mends) / sizeof(*mends) && !mends[i].mend(line))
			i++;
		if (i == sizeof(mends) / sizeof(*mends))
			return false;
		if (!found->reason || found->reason == text_repair_old_mark)
			found->reason = mends[i].reason;
		found->has_old_mark |= mends[i].reason == text_repair_old_mark;
	}
	return true;
}
