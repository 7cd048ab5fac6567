#ifndef NFG_BASE_STRBUF_H
#define NFG_BASE_STRBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A growable byte buffer. Appends return no errors: the first failure (no memory) is sticky, and strbuf_ok() reports
 * it. Zeroed storage is a valid empty strbuf.
 */
struct strbuf {
	char *ptr;
	size_t len;
	size_t cap;
	bool failed;
};

/* strbuf_reserve - room for @extra more bytes; false (and sticky) when there is no memory. */
bool strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_release(struct strbuf *sb);
void strbuf_printf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* strbuf_u64 - append a decimal number; strbuf_hex - append 0x and as few digits as it needs. Neither uses printf. */
void strbuf_u64(struct strbuf *sb, uint64_t value);
void strbuf_hex(struct strbuf *sb, uint64_t value);

static inline bool strbuf_ok(const struct strbuf *sb)
{
	return !sb->failed;
}

/* strbuf_reset - empty it, keep the memory, forget an earlier failure. */
static inline void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	sb->failed = false;
}

static inline void strbuf_add(struct strbuf *sb, const void *bytes, size_t len)
{
	if (!len || (sb->cap - sb->len < len && !strbuf_reserve(sb, len)))
		return;
	memcpy(sb->ptr + sb->len, bytes, len);
	sb->len += len;
}

static inline void strbuf_str(struct strbuf *sb, const char *str)
{
	strbuf_add(sb, str, strlen(str));
}

static inline void strbuf_char(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

static inline void strbuf_fill(struct strbuf *sb, char c, size_t len)
{
	if (sb->cap - sb->len < len && !strbuf_reserve(sb, len))
		return;
	memset(sb->ptr + sb->len, c, len);
	sb->len += len;
}

#endif
