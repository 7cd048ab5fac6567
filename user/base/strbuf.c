#include "base/strbuf.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const char digit_pairs[] = "00010203040506070809101112131415161718192021222324"
			   "25262728293031323334353637383940414243444546474849"
			   "50515253545556575859606162636465666768697071727374"
			   "75767778798081828384858687888990919293949596979899";

const char digit_hex[] = "0123456789abcdef";

#define SECOND_NS UINT64_C(1000000000)

/* Whether a shell needs no quotes for @word. */
static bool strbuf_is_plain(const char *word)
{
	if (!*word)
		return false;
	for (; *word; word++) {
		if (!isalnum((unsigned char)*word) && !strchr("-_./,:=+@%^", *word))
			return false;
	}
	return true;
}

void strbuf_shell(struct strbuf *sb, const char *word)
{
	if (strbuf_is_plain(word)) {
		strbuf_str(sb, word);
		return;
	}
	strbuf_char(sb, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			strbuf_str(sb, "'\\''");
		else
			strbuf_char(sb, *word);
	}
	strbuf_char(sb, '\'');
}

void utc_put(struct strbuf *out, uint64_t real_ns)
{
	const time_t seconds = (time_t)(real_ns / SECOND_NS);
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	strbuf_printf(out, "%s.%06" PRIu64 "Z", text, real_ns % SECOND_NS / 1000);
}

void seconds_put(struct strbuf *out, uint64_t ns, unsigned int digits)
{
	uint64_t part = ns % SECOND_NS;

	for (unsigned int i = digits; i < 9; i++)
		part /= 10;
	strbuf_printf(out, "%" PRIu64 ".%0*" PRIu64 " s", ns / SECOND_NS, (int)digits, part);
}

void us_put(struct strbuf *out, uint64_t ns)
{
	strbuf_printf(out, "%" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

bool strbuf_reserve(struct strbuf *sb, size_t extra)
{
	size_t cap = sb->cap ? sb->cap : 256;
	char *ptr;

	sb->failed |= extra > SIZE_MAX / 4 - sb->len;
	if (sb->failed)
		return false;
	while (cap - sb->len < extra)
		cap *= 2;
	if (cap == sb->cap)
		return true;
	ptr = realloc(sb->ptr, cap);
	sb->failed = !ptr;
	if (!ptr)
		return false;
	sb->ptr = ptr;
	sb->cap = cap;
	return true;
}

void strbuf_release(struct strbuf *sb)
{
	free(sb->ptr);
	*sb = (struct strbuf){ 0 };
}

void strbuf_printf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0 || !strbuf_reserve(sb, (size_t)len + 1))
		return;
	va_start(ap, fmt);
	vsnprintf(sb->ptr + sb->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	sb->len += (size_t)len;
}

void strbuf_u64(struct strbuf *sb, uint64_t value)
{
	unsigned int cnt = digit_cnt(value);

	if (sb->cap - sb->len < cnt && !strbuf_reserve(sb, cnt))
		return;
	digits_put(sb->ptr + sb->len, value, cnt);
	sb->len += cnt;
}

void strbuf_i64(struct strbuf *sb, int64_t value)
{
	if (value < 0)
		strbuf_char(sb, '-');
	strbuf_u64(sb, value < 0 ? -(uint64_t)value : (uint64_t)value);
}
