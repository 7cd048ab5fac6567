#ifndef NFG_FORMAT_TEXT_COLUMNS_H
#define NFG_FORMAT_TEXT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "format/text_parse.h"

/* Parses a line of trace text from left to right, and the columns of a row. Private to user/format/. */

#define BLANKS_14 "              "
#define PROC_MIN  14 /* width of the task column, at least */

/* The rest of a line. take...() advances it when it returns true, and leaves it unchanged otherwise. */
struct cursor {
	const char *at;
	const char *end;
};

static inline size_t left(const struct cursor *c)
{
	return (size_t)(c->end - c->at);
}

static inline bool starts(const struct cursor *c, const char *lit)
{
	size_t len = strlen(lit);

	return left(c) >= len && !memcmp(c->at, lit, len);
}

static inline bool ends(const struct cursor *c, const char *lit)
{
	size_t len = strlen(lit);

	return left(c) >= len && !memcmp(c->end - len, lit, len);
}

static inline bool equals(const struct cursor *c, const char *lit)
{
	return left(c) == strlen(lit) && starts(c, lit);
}

static inline bool take(struct cursor *c, const char *lit)
{
	if (!starts(c, lit))
		return false;
	c->at += strlen(lit);
	return true;
}

static inline size_t take_blanks(struct cursor *c)
{
	const char *start = c->at;

	while (c->at < c->end && *c->at == ' ')
		c->at++;
	return (size_t)(c->at - start);
}

/* Read digits into *value. Return: their number; 0: none, or too many. */
static inline unsigned int take_digits(struct cursor *c, uint64_t *value)
{
	unsigned int cnt = 0;

	*value = 0;
	while (c->at < c->end && *c->at >= '0' && *c->at <= '9') {
		*value = *value * 10 + (uint64_t)(*c->at++ - '0');
		if (++cnt > 16)
			return 0;
	}
	return cnt;
}

static inline struct text text_between(const char *from, const char *to)
{
	return (struct text){ from, (size_t)(to - from) };
}

/* text_columns_cpu - take " %*d) "; the width of the first one is valid for the whole trace. */
bool text_columns_cpu(struct text_parse *ft, struct cursor *c, uint32_t *cpu);

/* text_columns_task - the task in a whole task column, blanks included: "   ping-153   ". */
bool text_columns_task(const char *ptr, size_t len, struct task_name *task);

/* text_columns_tasks - take a task column followed by @separator. */
bool text_columns_tasks(struct cursor *c, const char *separator, struct task_name *task);

/*
 * text_columns_take - take all columns of a row into @row; @is_blank: the duration column is blank.
 *
 * If the trace's columns are not known yet, the row's columns become them. Return: NULL, or which column is missing.
 */
const char *text_columns_take(struct text_parse *ft, struct cursor *c, struct row *row,
			      bool *is_blank);

#endif
