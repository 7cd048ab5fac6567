#include "base/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/digits.h"

bool strbuf_reserve(struct strbuf *sb, size_t extra)
{
	size_t cap = sb->cap ? sb->cap : 256;
	char *ptr;

	if (sb->failed)
		return false;
	if (extra > SIZE_MAX / 4 - sb->len) {
		sb->failed = true;
		return false;
	}
	while (cap - sb->len < extra)
		cap *= 2;
	if (cap == sb->cap)
		return true;
	ptr = realloc(sb->ptr, cap);
	if (!ptr) {
		sb->failed = true;
		return false;
	}
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

void strbuf_hex(struct strbuf *sb, uint64_t value)
{
	char digits[18];
	char *p = digits + sizeof(digits);

	do {
		*--p = digit_hex[value & 15];
		value >>= 4;
	} while (value);
	*--p = 'x';
	*--p = '0';
	strbuf_add(sb, p, (size_t)(digits + sizeof(digits) - p));
}
