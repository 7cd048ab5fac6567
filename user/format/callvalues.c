#include "format/callvalues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Whether all of @text is a number in C's notation, and which. */
static bool is_number(struct text text, int64_t *number)
{
	char word[24];
	char *end;

	if (!text.len || text.len >= sizeof(word) ||
	    !((text.ptr[0] >= '0' && text.ptr[0] <= '9') || text.ptr[0] == '-'))
		return false;
	text_keep(word, text);
	word[text.len] = '\0';
	errno = 0;
	*number = strtoll(word, &end, 10);
	return !*end && end != word && !errno;
}

static bool is_pointer(struct text text, uint64_t *number)
{
	char word[24];
	char *end;

	if (text.len < 3 || text.len >= sizeof(word) || memcmp(text.ptr, "0x", 2) != 0)
		return false;
	text_keep(word, text);
	word[text.len] = '\0';
	errno = 0;
	*number = strtoull(word, &end, 16);
	return !*end && !errno;
}

static bool is_word(struct text text, const char *word)
{
	return text_equal(text, text_from(word));
}

struct callvalue callvalue_of(struct text text)
{
	struct callvalue value = { .text = text };

	if (is_number(text, &value.number)) {
		value.kind = CALLVALUE_INT;
	} else if (is_pointer(text, &value.pointer)) {
		value.kind = CALLVALUE_POINTER;
	} else if (is_word(text, "true") || is_word(text, "false")) {
		value.kind = CALLVALUE_BOOL;
		value.number = is_word(text, "true");
	}
	return value;
}

/* Where the first argument ends. */
static size_t first_len(struct text args)
{
	unsigned int depth = 0;
	bool is_quoted = false;

	for (size_t i = 0; i < args.len; i++) {
		const char c = args.ptr[i];

		if (c == '"')
			is_quoted = !is_quoted;
		depth += !is_quoted && c == '{';
		depth -= !is_quoted && c == '}' && depth;
		if (!is_quoted && !depth && c == ',' && i + 1 < args.len && args.ptr[i + 1] == ' ')
			return i;
	}
	return args.len;
}

bool callvalue_next(struct text *args, struct callvalue *out)
{
	const size_t len = first_len(*args);
	const char *equals = len ? memchr(args->ptr, '=', len) : NULL;
	const size_t name_len = equals ? (size_t)(equals - args->ptr) : 0;
	const size_t before = name_len ? name_len + 1 : 0;

	if (!args->len)
		return false;
	*out = callvalue_of((struct text){ args->ptr + before, len - before });
	out->name = (struct text){ args->ptr, name_len };
	if (len < args->len)
		*args = (struct text){ args->ptr + len + 2, args->len - len - 2 };
	else
		*args = (struct text){ 0 };
	return true;
}
