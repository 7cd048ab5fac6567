#include "base/suggest.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LETTERS_PER_ERROR 3

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment distance; rows of the table as they are needed. Both lengths are below SUGGEST_NAME_BYTES. */
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
			size_t best = old[j - 1] + (a[i - 1] != b[j - 1]);

			best = min(best, min(old[j], row[j - 1]) + 1u);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
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

static bool is_known(const struct suggest *s, const char *name)
{
	for (size_t i = 0; i < min(s->cnt, SUGGEST_NAMES); i++) {
		if (!strcmp(s->names[i], name))
			return true;
	}
	return false;
}

void suggest_add(struct suggest *s, const char *name)
{
	const size_t len = strlen(name);
	size_t errors;

	if (len >= SUGGEST_NAME_BYTES || len > s->len + s->least || s->len > len + s->least)
		return;
	errors = distance(s->word, s->len, name, len);
	if (errors > s->least || (!s->cnt && errors == s->least) || is_known(s, name))
		return;
	if (errors < s->least)
		s->cnt = 0;
	s->least = errors;
	if (s->cnt < SUGGEST_NAMES)
		memcpy(s->names[s->cnt], name, len + 1);
	s->cnt++;
}

const char *suggest_text(const struct suggest *s)
{
	static char text[SUGGEST_NAMES * (SUGGEST_NAME_BYTES + 4)];
	const size_t cnt = min(s->cnt, SUGGEST_NAMES);
	size_t len = 0;

	text[0] = 0;
	for (size_t i = 0; i < cnt; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
					!i            ? ""
					: i + 1 < cnt ? ", "
						      : " or ",
					s->names[i]);
	return text;
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
	static char text[SUGGEST_NAMES * (SUGGEST_NAME_BYTES + 4) + sizeof("; did you mean ?")];
	const char *near = suggest_of(word, name);

	snprintf(text, sizeof(text), *near ? "; did you mean %s?" : "%s", near);
	return text;
}
