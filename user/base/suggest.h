#ifndef NFG_BASE_SUGGEST_H
#define NFG_BASE_SUGGEST_H

#include <stddef.h>

#define SUGGEST_NAME_BYTES 64
#define SUGGEST_NAMES      3
#define SUGGEST_PARTS      6

/*
 * Suggestions for a mistyped word: the names with the fewest typing errors (a letter missing, added or replaced, or two
 * neighbours swapped), with at most one error for every three letters. If there are none: the names that contain the
 * word, if it has three letters or more and no more than SUGGEST_PARTS names contain it; three or four letters where a word of
 * the name begins.
 */
struct suggest {
	const char *word;
	size_t len;
	size_t least; /* typing errors of the names found so far; above the limit: none found */
	size_t cnt;   /* of these names; if more than SUGGEST_NAMES, only the first are kept */
	char names[SUGGEST_NAMES][SUGGEST_NAME_BYTES];
	size_t part_cnt; /* number of names that contain the word; above SUGGEST_PARTS none is suggested */
	char parts[SUGGEST_PARTS][SUGGEST_NAME_BYTES];
};

/* suggest_begin - look for names near @word, which must outlive @s. */
void suggest_begin(struct suggest *s, const char *word);

/* suggest_add - offer a name that @word may stand for. Names that are too long and repeated names are ignored. */
void suggest_add(struct suggest *s, const char *name);

/* suggest_text - Return: "a", "a or b", or "a, b or c"; "" if no name is near. Valid until the next call. */
const char *suggest_text(const struct suggest *s);

/* suggest_text_with - the same, with @before in front of each name. */
const char *suggest_text_with(const struct suggest *s, const char *before);

/* suggest_of - suggest_text over the names of an enum: name(0), name(1), ... until NULL. */
const char *suggest_of(const char *word, const char *(*name)(int i));

/* suggest_question - the same, worded as the end of a complaint: "; did you mean a or b?", or "". */
const char *suggest_question(const char *word, const char *(*name)(int i));

#endif
