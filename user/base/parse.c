#include "base/parse.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

/* 146 years: a clock plus two of them does not overflow. */
#define DURATION_MAX_NS (UINT64_MAX / 4)
#define DURATION_MAX_H  1281023

_Static_assert(DURATION_MAX_NS / 3600000000000 == DURATION_MAX_H, "messages name it");

#define TEXT_OF(number)  #number
#define DURATION_TEXT(h) TEXT_OF(h) "h"

static const char duration_too_large[] =
	PARSE_TOO_LARGE " (the maximum is " DURATION_TEXT(DURATION_MAX_H) ")";

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Read the digits at *@text and move *@text past them. */
static const char *take_u64(const char **text, uint64_t *out)
{
	const char *p = *text;
	uint64_t value = 0;

	if (!*p)
		return "is empty where a number is needed";
	if (*p == '-')
		return "is negative";
	if (!is_digit(*p))
		return "is not a number";
	for (; is_digit(*p); p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return PARSE_TOO_LARGE;
	}
	*out = value;
	*text = p;
	return NULL;
}

char parse_suffix(uint64_t *value, unsigned int step)
{
	static const char units[] = "KMG";
	char suffix = '\0';

	for (const char *unit = units; *unit && *value && !(*value % step); unit++) {
		*value /= step;
		suffix = *unit;
	}
	return suffix;
}

const char *parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value;
	const char *why = take_u64(&text, &value);

	if (why)
		return why;
	if (*text)
		return "is not a whole number";
	if (value < min)
		return PARSE_TOO_SMALL;
	if (value > max)
		return PARSE_TOO_LARGE;
	*out = value;
	return NULL;
}

/* Nanoseconds in the unit @name; 0: unknown unit. */
static uint64_t unit_ns(const char *name)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{ "ns", 1 },         { "us", 1000 },       { "ms", 1000000 },
		{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 },
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (!strcmp(units[i].name, name))
			return units[i].ns;
	}
	return 0;
}

const char *parse_duration(const char *text, uint64_t *out_ns)
{
	uint64_t whole;
	uint64_t total;
	uint64_t unit;
	uint64_t part;
	const char *point = NULL;
	const char *why = take_u64(&text, &whole);

	if (why)
		return strcmp(why, PARSE_TOO_LARGE) != 0 ? why : duration_too_large;
	if (*text == '.' && is_digit(text[1])) {
		for (point = ++text; is_digit(*text); text++)
			;
	}
	if (!*text)
		return "has no unit (ns, us, ms, s, m or h)";
	unit = unit_ns(text);
	if (!unit)
		return "has an unknown unit (not ns, us, ms, s, m or h)";
	if (__builtin_mul_overflow(whole, unit, &total))
		return duration_too_large;
	for (part = unit; point && is_digit(*point); point++) {
		part /= 10;
		if (__builtin_add_overflow(total, (uint64_t)(*point - '0') * part, &total))
			return duration_too_large;
	}
	if (!total)
		return "is zero";
	if (total > DURATION_MAX_NS)
		return duration_too_large;
	*out_ns = total;
	return NULL;
}

/* Read a whole number and an optional K, M or G, which stand for @step, its square, its cube. */
static const char *take_scaled(const char *text, uint64_t step, uint64_t *out)
{
	uint64_t value;
	const char *why = take_u64(&text, &value);

	if (why)
		return why;
	if (*text) {
		static const char units[] = "KMG";
		const char *suffix = strchr(units, *text & ~0x20);

		if (!suffix || !*suffix || text[1])
			return "has an unknown unit (not K, M or G)";
		for (const char *unit = units; unit <= suffix; unit++) {
			if (__builtin_mul_overflow(value, step, &value))
				return PARSE_TOO_LARGE;
		}
	}
	*out = value;
	return NULL;
}

const char *parse_size(const char *text, uint64_t *out_bytes)
{
	return take_scaled(text, 1024, out_bytes);
}

const char *parse_count(const char *text, uint64_t *out_cnt)
{
	uint64_t cnt;
	const char *why = take_scaled(text, 1000, &cnt);

	if (why)
		return why;
	if (!cnt)
		return PARSE_TOO_SMALL;
	*out_cnt = cnt;
	return NULL;
}

#define EMPTY_PART "has an empty part"

/* What is wrong with the part of a list at @text; @is_alone: it is the whole list. */
static const char *wrong_part(const char *text, bool is_alone, const char *why)
{
	static char said[128];
	const size_t len = strcspn(text, ",");

	if (is_alone)
		return why;
	if (!len)
		return EMPTY_PART;
	snprintf(said, sizeof(said), "has '%.*s', which %s", (int)(len < 40 ? len : 40), text, why);
	return said;
}

const char *parse_num_list(const char *text, uint64_t min, uint64_t max, struct num_list *list)
{
	const bool is_alone = !strchr(text, ',');
	static char limit[64];

	for (;;) {
		const char *part = text;
		uint64_t value;
		const char *why = take_u64(&text, &value);

		if (!why && *text && *text != ',')
			why = is_alone ? "is not a list of whole numbers" : "is not a whole number";
		if (why && strcmp(why, PARSE_TOO_LARGE) != 0)
			return wrong_part(part, is_alone, why);
		if (!why && value < min) {
			snprintf(limit, sizeof(limit), "is too small (the minimum is %" PRIu64 ")",
				 min);
			return wrong_part(part, is_alone, limit);
		}
		if (why || value > max) {
			snprintf(limit, sizeof(limit), "is too large (the maximum is %" PRIu64 ")",
				 max);
			return wrong_part(part, is_alone, limit);
		}
		if (VEC_RESERVE(list->items, list->cap, list->cnt + 1))
			return "does not fit in memory";
		if (!num_list_has(list, value))
			list->items[list->cnt++] = value;
		if (!*text++)
			return NULL;
	}
}

void num_list_release(struct num_list *list)
{
	free(list->items);
	*list = (struct num_list){ 0 };
}

bool num_list_has(const struct num_list *list, uint64_t number)
{
	for (size_t i = 0; i < list->cnt; i++) {
		if (list->items[i] == number)
			return true;
	}
	return false;
}

const char *parse_cpu_list(const char *text, struct cpu_set_list *set)
{
	const bool is_alone = !strchr(text, ',');

	for (;;) {
		const bool is_empty = !is_alone && (!*text || *text == ',');
		uint64_t first = 0;
		uint64_t last;
		const char *why = is_empty ? EMPTY_PART : take_u64(&text, &first);

		last = first;
		if (!why && *text == '-') {
			text++;
			why = take_u64(&text, &last);
		}
		if (why)
			return why;
		if (*text && *text != ',')
			return "is not a CPU list such as 0,2-5";
		if (first > last)
			return "has a range that runs backwards";
		if (last >= CPU_SET_MAX)
			return "has a CPU number that is too large";
		for (; first <= last; first++)
			set->bits[first / 64] |= 1ull << first % 64;
		if (!*text++)
			return NULL;
	}
}

/* ---- shell patterns ---- */

bool glob_match(const char *pattern, const char *name)
{
	return !fnmatch(pattern, name, 0);
}

bool glob_is_plain(const char *pattern)
{
	return !strpbrk(pattern, "*?[\\");
}
