#ifndef NFG_BASE_CLEANTEXT_H
#define NFG_BASE_CLEANTEXT_H

#include <stdint.h>

#include "base/strbuf.h"

/*
 * Makes text from other users safe to print. Any user can name a task, a cgroup or a file; printed raw, such a name can
 * move a terminal's cursor, begin another line or look like the next column.
 *
 * A byte that must not appear is written as \xNN. Everything else is unchanged, backslashes too: people read the
 * result, parsers do not.
 */
enum clean_class {
	CLEAN_CONTROL = 1 << 0, /* bytes below 0x20 except the next two; 0x7f */
	CLEAN_TAB = 1 << 1,
	CLEAN_NEWLINE = 1 << 2,
	CLEAN_HIDDEN = 1 << 3, /* invalid UTF-8, and clean_is_hidden() characters */
	CLEAN_BAR = 1 << 4,    /* | */
	CLEAN_SEMICOLON = 1 << 5,
	CLEAN_BLANK = 1 << 6,
	CLEAN_BRACKET = 1 << 7, /* ( ) { } and * */
	CLEAN_EQUALS = 1 << 8,
};

#define CLEAN_PAGE (CLEAN_CONTROL | CLEAN_HIDDEN) /* whole lines of our text that contain names */
#define CLEAN_LINE (CLEAN_PAGE | CLEAN_NEWLINE)   /* free text: one line */
#define CLEAN_WORD (CLEAN_LINE | CLEAN_TAB)       /* a name */

/* Characters that are syntax in the kernel's text and do not occur in function names. */
#define CLEAN_SYMBOL (CLEAN_WORD | CLEAN_BAR | CLEAN_SEMICOLON | CLEAN_BLANK | CLEAN_BRACKET)

/* clean_bits - the classes that each byte may belong to; every byte above 0x7f may be CLEAN_HIDDEN. */
extern const uint16_t clean_bits[256];

/*
 * clean_may_be_unclean - whether one of 8 bytes may belong to @classes, in one word operation: false is certain;
 * after true, each byte must be checked.
 */
static inline bool clean_may_be_unclean(const char *ptr, unsigned int classes)
{
	const uint64_t ones = 0x0101010101010101;
	const uint64_t tops = ones << 7;
	unsigned int low = classes & (CLEAN_BLANK | CLEAN_BRACKET) ? '*' + 1 : ' ';
	unsigned int high = classes & (CLEAN_BAR | CLEAN_BRACKET) ? 'z' : '~';
	uint64_t word;
	uint64_t semicolons;
	uint64_t seen;

	memcpy(&word, ptr, sizeof(word));
	seen = (word - ones * low) & ~word;                    /* below low */
	seen |= ((word & ~tops) + ones * (127 - high)) | word; /* above high */
	semicolons = word ^ ones * ';';
	if (classes & CLEAN_SEMICOLON)
		seen |= (semicolons - ones) & ~semicolons;
	return seen & tops;
}

/* clean_is - whether no byte may belong to @classes; fast if so, which is the usual case. */
static inline bool clean_is(const char *ptr, size_t len, unsigned int classes)
{
	unsigned int seen = 0;

	if (len >= 8 && !(classes & CLEAN_EQUALS)) {
		size_t at = 0;

		while (at + 8 < len && !clean_may_be_unclean(ptr + at, classes))
			at += 8;
		if (at + 8 >= len && !clean_may_be_unclean(ptr + len - 8, classes))
			return true;
	}
	for (size_t i = 0; i < len; i++)
		seen |= clean_bits[(unsigned char)ptr[i]];
	return !(seen & classes);
}

/* clean_add - append the text, with characters of @classes as \xNN. */
void clean_add(struct strbuf *out, const char *ptr, size_t len, unsigned int classes);

/* clean_func - append "name [module]"; no module: "name". */
void clean_func(struct strbuf *out, struct text name, struct text module, unsigned int classes);

/* clean_utf8 - decode the character at @p. Return: its length in bytes, 0 if it is not UTF-8. */
size_t clean_utf8(const char *p, const char *end, uint32_t *code);

/*
 * clean_is_hidden - whether a character controls a terminal (U+0080..U+009F), changes the direction of writing
 * (such as U+202E), or is invisible.
 */
bool clean_is_hidden(uint32_t code);

#endif
