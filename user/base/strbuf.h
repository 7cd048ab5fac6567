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

/* strbuf_reserve - make room for @extra more bytes; false (and sticky) if memory is short. */
bool strbuf_reserve(struct strbuf *sb, size_t extra);
void strbuf_release(struct strbuf *sb);
void strbuf_printf(struct strbuf *sb, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* strbuf_u64, strbuf_i64 - append a decimal number, without printf. */
void strbuf_u64(struct strbuf *sb, uint64_t value);
void strbuf_i64(struct strbuf *sb, int64_t value);

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

/* strbuf_cstr - its text, ended by a NUL that is not part of it; "" after a failure. Valid until the next change. */
static inline const char *strbuf_cstr(struct strbuf *sb)
{
	strbuf_char(sb, '\0');
	if (sb->failed)
		return "";
	sb->len--;
	return sb->ptr;
}

/* strbuf_shell - append @word as a shell takes it for one word: in quotes if it needs them. */
void strbuf_shell(struct strbuf *sb, const char *word);

static inline void strbuf_fill(struct strbuf *sb, char c, size_t len)
{
	if (sb->cap - sb->len < len && !strbuf_reserve(sb, len))
		return;
	memset(sb->ptr + sb->len, c, len);
	sb->len += len;
}

/* digit_pairs - "00" to "99", one after the other. */
extern const char digit_pairs[];

/* digit_hex - the character of each value below 16. */
extern const char digit_hex[];

/* digit_cnt - the number of decimal digits of @value; in steps of four, since most numbers are short. */
static inline unsigned int digit_cnt(uint64_t value)
{
	unsigned int cnt = 1;

	for (; value >= 10000; value /= 10000)
		cnt += 4;
	return cnt + (value >= 10) + (value >= 100) + (value >= 1000);
}

/* digits_put - write the last @cnt decimal digits of @value, with leading zeros. Return: where they end. */
static inline char *digits_put(char *p, uint64_t value, unsigned int cnt)
{
	char *end = p + cnt;

	for (; cnt >= 2; value /= 100) {
		cnt -= 2;
		memcpy(p + cnt, digit_pairs + value % 100 * 2, 2);
	}
	if (cnt)
		*p = (char)('0' + value % 10);
	return end;
}

/* utc_put - append a time, in ns since 1970, as ISO 8601: 2026-11-23T07:27:36.123456Z. */
void utc_put(struct strbuf *out, uint64_t real_ns);

/* seconds_put - append a length in seconds, cut after @digits (1 to 9) digits of the fraction, and the unit: 0.814 s. */
void seconds_put(struct strbuf *out, uint64_t ns, unsigned int digits);

/* us_put - append a length in us, without the unit: 0.814. */
void us_put(struct strbuf *out, uint64_t ns);

/* A borrowed string: not NUL-terminated; its owner documents how long it is valid. */
struct text {
	const char *ptr;
	size_t len;
};

/* text_from - from a C string; NULL: empty. */
static inline struct text text_from(const char *str)
{
	return (struct text){ str, str ? strlen(str) : 0 };
}

/* text_equal - whether both have the same bytes. */
static inline bool text_equal(struct text a, struct text b)
{
	return a.len == b.len && (!a.len || !memcmp(a.ptr, b.ptr, a.len));
}

/* text_compare - by bytes, as memcmp(); the beginning of a text comes before it. */
static inline int text_compare(struct text a, struct text b)
{
	const size_t len = a.len < b.len ? a.len : b.len;
	const int diff = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return diff ? diff : (a.len > b.len) - (a.len < b.len);
}

/* text_word - cut the first word off *@words, which blanks separate. Return: the word; len 0: there was none. */
static inline struct text text_word(const char **words)
{
	const char *at = *words + strspn(*words, " ");
	const struct text word = { at, strcspn(at, " ") };

	*words = at + word.len;
	return word;
}

/* text_ends_with - whether @text has @end at its end. */
static inline bool text_ends_with(struct text text, const char *end)
{
	const size_t len = strlen(end);

	return text.len >= len && !memcmp(text.ptr + text.len - len, end, len);
}

/* text_has_word - whether @word is among @words, which blanks separate. */
static inline bool text_has_word(const char *words, struct text word)
{
	for (struct text next; (next = text_word(&words)).len;) {
		if (text_equal(next, word))
			return true;
	}
	return false;
}

/* text_keep - copy @from to @to, which has room for it. Return: the copy. */
static inline struct text text_keep(char *to, struct text from)
{
	if (from.len)
		memcpy(to, from.ptr, from.len);
	return (struct text){ to, from.len };
}

/* text_base_name - what follows the last '/' of @path, or all of it. */
static inline struct text text_base_name(struct text path)
{
	size_t at = path.len;

	while (at && path.ptr[at - 1] != '/')
		at--;
	return at ? (struct text){ path.ptr + at, path.len - at } : path;
}

/* plural - the words that follow @cnt: @one ("call is"), or @many ("calls are"). */
static inline const char *plural(uint64_t cnt, const char *one, const char *many)
{
	return cnt == 1 ? one : many;
}

#endif
