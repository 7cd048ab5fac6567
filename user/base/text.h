#ifndef NFG_BASE_TEXT_H
#define NFG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* text_keep - copy @from to @to, which has room for it. Return: the copy. */
static inline struct text text_keep(char *to, struct text from)
{
	if (from.len)
		memcpy(to, from.ptr, from.len);
	return (struct text){ to, from.len };
}

#endif
