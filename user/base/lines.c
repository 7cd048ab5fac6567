#include "base/lines.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/privdrop.h"
#include "base/unpack.h"

#define HEAD_BYTES 512

enum wide {
	WIDE_NONE,
	WIDE_LITTLE, /* UTF-16, the low byte first */
	WIDE_BIG,
};

struct lines {
	int fd;
	int err;
	const char *why;
	bool has_begun;
	bool is_over;
	size_t at;
	size_t len;
	struct unpack *packed; /* NULL: it is not packed */
	enum wide wide;
	size_t raw_len;   /* of raw, not converted yet */
	bool is_raw_over; /* nothing follows it */
	size_t head_len;
	char head[HEAD_BYTES];
	char raw[LINES_MAX_BYTES / 4]; /* UTF-16: each unit becomes at most three bytes */
	char buf[LINES_MAX_BYTES];
};

int lines_open(struct lines **out, const char *path)
{
	const int fd = infile_open(path);
	struct lines *ls;

	if (fd < 0)
		return fd;
	ls = calloc(1, sizeof(*ls));
	if (!ls) {
		close(fd);
		return -ENOMEM;
	}
	ls->fd = fd;
	*out = ls;
	return 0;
}

void lines_free(struct lines *ls)
{
	if (!ls)
		return;
	unpack_free(ls->packed);
	close(ls->fd);
	free(ls);
}

int lines_fd(const struct lines *ls)
{
	return ls->fd;
}

/* Bytes as they were before they were packed. Return: their number; 0: the end, also after an error. */
static size_t lines_read(struct lines *ls, void *bytes, size_t len)
{
	ssize_t part;

	do
		part = ls->packed ? unpack_read(ls->packed, bytes, len, &ls->why)
				  : read(ls->fd, bytes, len);
	while (part < 0 && !ls->packed && errno == EINTR);
	if (part >= 0)
		return (size_t)part;
	ls->err = ls->packed ? (int)part : -errno;
	return 0;
}

/* ---- UTF-16 ---- */

#define RARE 0xfffd /* stands for what is damaged */

static uint32_t unit_at(const struct lines *ls, size_t at)
{
	const uint8_t *p = (const uint8_t *)ls->raw + at;

	return ls->wide == WIDE_BIG ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
}

/* The character at *@at, which moves on. 0: its second half is still to come. */
static uint32_t wide_take(const struct lines *ls, size_t *at)
{
	uint32_t unit = unit_at(ls, *at);
	uint32_t low;

	if (unit >= 0xd800 && unit < 0xdc00) {
		if (ls->raw_len - *at < 4)
			return ls->is_raw_over ? (*at += 2, RARE) : 0;
		low = unit_at(ls, *at + 2);
		if (low >= 0xdc00 && low < 0xe000) {
			*at += 4;
			return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
		}
	}
	*at += 2;
	return !unit || (unit >= 0xd800 && unit < 0xe000) ? RARE : unit;
}

static char *utf8_put(char *p, uint32_t c)
{
	if (c < 0x80) {
		*p++ = (char)c;
	} else if (c < 0x800) {
		*p++ = (char)(0xc0 | c >> 6);
		*p++ = (char)(0x80 | (c & 63));
	} else if (c < 0x10000) {
		*p++ = (char)(0xe0 | c >> 12);
		*p++ = (char)(0x80 | (c >> 6 & 63));
		*p++ = (char)(0x80 | (c & 63));
	} else {
		*p++ = (char)(0xf0 | c >> 18);
		*p++ = (char)(0x80 | (c >> 12 & 63));
		*p++ = (char)(0x80 | (c >> 6 & 63));
		*p++ = (char)(0x80 | (c & 63));
	}
	return p;
}

/* The next bytes of UTF-8. Return: their number, at most @len; 0: there is no room, or no more. */
static size_t wide_read(struct lines *ls, char *bytes, size_t len)
{
	char *p = bytes;
	size_t at = 0;

	if (ls->raw_len < 4 && !ls->is_raw_over) {
		const size_t part =
			lines_read(ls, ls->raw + ls->raw_len, sizeof(ls->raw) - ls->raw_len);

		ls->raw_len += part;
		ls->is_raw_over = !part;
	}
	while (ls->raw_len - at >= 2 && len - (size_t)(p - bytes) >= 4) {
		const uint32_t c = wide_take(ls, &at);

		if (!c)
			break;
		p = utf8_put(p, c);
	}
	memmove(ls->raw, ls->raw + at, ls->raw_len - at);
	ls->raw_len -= at;
	return (size_t)(p - bytes);
}

/* ---- lines ---- */

static bool lines_begin_with(const struct lines *ls, const char *bytes, size_t len)
{
	return ls->len >= len && !memcmp(ls->buf, bytes, len);
}

/* Read until the first @want bytes are there, or all. */
static void read_first(struct lines *ls, size_t want)
{
	while (ls->len < want && !ls->is_over) {
		const size_t part = lines_read(ls, ls->buf + ls->len, sizeof(ls->raw) - ls->len);

		ls->len += part;
		ls->is_over = !part;
	}
}

static void begin_packed(struct lines *ls)
{
	int err;

	if (!unpack_knows(ls->buf, ls->len))
		return;
	err = unpack_new(&ls->packed, ls->fd, ls->buf, ls->len, &ls->why);
	ls->err = err;
	ls->len = 0;
	ls->is_over = err;
	if (!err)
		read_first(ls, 3);
}

static void begin_wide(struct lines *ls)
{
	if (lines_begin_with(ls, "\xff\xfe", 2))
		ls->wide = WIDE_LITTLE;
	else if (lines_begin_with(ls, "\xfe\xff", 2))
		ls->wide = WIDE_BIG;
	if (lines_begin_with(ls, "\xef\xbb\xbf", 3))
		ls->at = 3;
	if (!ls->wide)
		return;
	ls->raw_len = ls->len - 2;
	memcpy(ls->raw, ls->buf + 2, ls->raw_len);
	ls->is_raw_over = ls->is_over;
	ls->is_over = false;
	ls->len = 0;
}

/* Look at the file's first bytes, and undo what they say was done to it. */
static void lines_begin(struct lines *ls)
{
	ls->has_begun = true;
	read_first(ls, UNPACK_HEAD_BYTES);
	begin_packed(ls);
	begin_wide(ls);
}

static void lines_fill(struct lines *ls)
{
	char *end = ls->buf + ls->len;
	size_t room = LINES_MAX_BYTES - ls->len;
	size_t part;

	if (!ls->wide) {
		part = lines_read(ls, end, room);
		ls->is_over = !part;
	} else {
		part = wide_read(ls, end, room);
		/* a last odd byte is no character */
		ls->is_over = !part && ls->is_raw_over && ls->raw_len < 2;
	}
	ls->len += part;
}

static void keep_first(struct lines *ls)
{
	ls->head_len = ls->len - ls->at < HEAD_BYTES ? ls->len - ls->at : HEAD_BYTES;
	memcpy(ls->head, ls->buf + ls->at, ls->head_len);
}

bool lines_next(struct lines *ls, struct text *line)
{
	if (!ls->has_begun)
		lines_begin(ls);
	for (;;) {
		char *start = ls->buf + ls->at;
		char *end = memchr(start, '\n', ls->len - ls->at);

		if (end || (ls->is_over && ls->at < ls->len) ||
		    ls->len - ls->at > LINES_MAX_BYTES - 4) {
			char *stop = end ? end : ls->buf + ls->len;

			if (!ls->head_len)
				keep_first(ls);
			*line = (struct text){ start, (size_t)(stop - start) };
			ls->at += line->len + (end != NULL);
			return true;
		}
		if (ls->is_over)
			return false;
		memmove(ls->buf, start, ls->len - ls->at);
		ls->len -= ls->at;
		ls->at = 0;
		lines_fill(ls);
	}
}

struct text lines_ahead(const struct lines *ls)
{
	return (struct text){ ls->buf + ls->at, ls->len - ls->at };
}

struct text lines_head(const struct lines *ls)
{
	return (struct text){ ls->head, ls->head_len };
}

int lines_error(const struct lines *ls, const char **why)
{
	*why = ls->err ? ls->why : NULL;
	return ls->err;
}
