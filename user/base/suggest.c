#include "base/suggest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LETTERS_PER_ERROR 3
#define PART_LETTERS      3 /* shorter words are part of too many names */
#define INNER_LETTERS     5 /* shorter words are in the middle of others by chance: foo in pfoom */

/* Ignores case: TCP_V4_RCV matches tcp_v4_rcv. */
static bool suggest_is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Optimal string alignment distance; keeps only the needed rows of the table. Both lengths are below
 * SUGGEST_NAME_BYTES.
 */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	uint8_t rows[3][SUGGEST_NAME_BYTES + 1];
	uint8_t *older = rows[0];
	uint8_t *old = rows[1];
	uint8_t *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		old[j] = (uint8_t)j;
	for (size_t i = 1; i <= a_len; i++) {
		uint8_t *next = older;

		row[0] = (uint8_t)i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = old[j - 1] + !suggest_is_same(a[i - 1], b[j - 1]);

			best = min(best, min(old[j], row[j - 1]) + 1u);
			if (i > 1 && j > 1 && suggest_is_same(a[i - 1], b[j - 2]) &&
			    suggest_is_same(a[i - 2], b[j - 1]))
				best = min(best, older[j - 2] + 1u);
			row[j] = (uint8_t)best;
		}
		older = old;
		old = row;
		row = next;
	}
	return old[b_len];
}

void suggest_begin(struct suggest *s, const char *word)
{
	*s = (struct suggest){ .word = word, .len = strlen(word) };
	s->least = s->len < SUGGEST_NAME_BYTES ? s->len / LETTERS_PER_ERROR + 1 : 0;
}

static bool suggest_is_in(const char (*names)[SUGGEST_NAME_BYTES], size_t cnt, const char *name)
{
	for (size_t i = 0; i < cnt; i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

/* Whether @name has the word as a part, which begins where a word of the name does. */
static bool has_part(const struct suggest *s, const char *name)
{
	const char *at = s->len >= PART_LETTERS ? strstr(name, s->word) : NULL;

	while (at && s->len < INNER_LETTERS && at > name && isalpha((unsigned char)at[-1]))
		at = strstr(at + 1, s->word);
	return at;
}

void suggest_add(struct suggest *s, const char *name)
{
	const size_t len = strlen(name);
	size_t errors;

	if (len >= SUGGEST_NAME_BYTES)
		return;
	if (s->part_cnt <= SUGGEST_PARTS && has_part(s, name) &&
	    !suggest_is_in(s->parts, min(s->part_cnt, SUGGEST_PARTS), name)) {
		if (s->part_cnt < SUGGEST_PARTS)
			memcpy(s->parts[s->part_cnt], name, len + 1);
		s->part_cnt++;
	}
	if (len > s->len + s->least || s->len > len + s->least)
		return;
	errors = distance(s->word, s->len, name, len);
	if (errors > s->least || (!s->cnt && errors == s->least) ||
	    suggest_is_in(s->names, min(s->cnt, SUGGEST_NAMES), name))
		return;
	if (errors < s->least)
		s->cnt = 0;
	s->least = errors;
	if (s->cnt < SUGGEST_NAMES)
		memcpy(s->names[s->cnt], name, len + 1);
	s->cnt++;
}

const char *suggest_text_with(const struct suggest *s, const char *before)
{
	static char text[SUGGEST_PARTS * (SUGGEST_NAME_BYTES + 6)];
	/* one error in three letters: a name that has all of them is nearer */
	const bool has_names = s->cnt && (!s->least || s->len > PART_LETTERS || !s->part_cnt);
	const char(*names)[SUGGEST_NAME_BYTES] = has_names ? s->names : s->parts;
	const size_t cnt = has_names                      ? min(s->cnt, SUGGEST_NAMES)
			   : s->part_cnt <= SUGGEST_PARTS ? s->part_cnt
							  : 0;
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < cnt && len < sizeof(text); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s",
					!i            ? ""
					: i + 1 < cnt ? ", "
						      : " or ",
					before, names[i]);
	return text;
}

const char *suggest_text(const struct suggest *s)
{
	return suggest_text_with(s, "");
}

const char *suggest_of(const char *word, const char *(*name)(int i))
{
	struct suggest s;

	suggest_begin(&s, word);
	for (int i = 0; name(i); i++)
		suggest_add(&s, name(i));
	return suggest_text(&s);
}

const char *suggest_question(const char *word, const char *(*name)(int i))
{
	static char text[SUGGEST_PARTS * (SUGGEST_NAME_BYTES + 6) + sizeof("; did you mean ?")];
	const char *near = suggest_of(word, name);

	snprintf(text, sizeof(text), *near ? "; did you mean %s?" : "%s", near);
	return text;
}
