#ifndef NFG_BASE_SUGGEST_H
#define NFG_BASE_SUGGEST_H

#include <stddef.h>

#define SUGGEST_NAME_BYTES 64
#define SUGGEST_NAMES      3

/*
 * Which names a mistyped word may stand for: those that take the fewest typing errors (a letter missing, added or
 * replaced, or two neighbours swapped) to become the word; at most one error for every three letters.
 */
struct suggest {
	const char *word;
	size_t len;
	size_t least; /* typing errors in the names found so far; more than allowed: none found */
	size_t cnt;   /* of these names; more than SUGGEST_NAMES: not all are kept */
	char names[SUGGEST_NAMES][SUGGEST_NAME_BYTES];
};

/* suggest_begin - look for names near @word, which must outlive @s. */
void suggest_begin(struct suggest *s, const char *word);

/* suggest_add - a name that @word may stand for. Names that do not fit are ignored, and so is one that was added before. */
void suggest_add(struct suggest *s, const char *name);

/* suggest_text - Return: "a", "a or b", or "a, b or c"; "" if no name is near. Valid until the next call. */
const char *suggest_text(const struct suggest *s);

/* suggest_of - the same for the names of an enum: name(0), name(1), ... until NULL. */
const char *suggest_of(const char *word, const char *(*name)(int i));

/* suggest_question - the same as the end of a complaint: "; did you mean a or b?", or "". */
const char *suggest_question(const char *word, const char *(*name)(int i));

#endif
