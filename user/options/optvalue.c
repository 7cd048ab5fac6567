#include "options/optvalue.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/strlist.h"
#include "base/suggest.h"

static char why[400];

/* ---- numbers ---- */

static const char *out_of_range(enum opt_type type, const char *what, const char *which,
				uint64_t limit)
{
	static const char suffixes[] = { 'K', 'M', 'G' };
	const unsigned int step = type == OPT_SIZE ? 1024 : 1000;
	char suffix[2] = "";

	for (size_t i = 0; type != OPT_NUMBER && i < sizeof(suffixes); i++) {
		if (!limit || limit % step)
			break;
		limit /= step;
		suffix[0] = suffixes[i];
	}
	snprintf(why, sizeof(why), "is too %s (the %s is %" PRIu64 "%s)", what, which, limit,
		 suffix);
	return why;
}

const char *optvalue_number(enum opt_type type, uint64_t min, uint64_t max, const char *text,
			    uint64_t *value)
{
	const char *wrong = type == OPT_SIZE    ? parse_size(text, value)
			    : type == OPT_COUNT ? parse_count(text, value)
						: parse_u64(text, 0, UINT64_MAX, value);

	if (wrong)
		return wrong;
	if (*value < min)
		return out_of_range(type, "small", "minimum", min);
	if (max && *value > max)
		return out_of_range(type, "large", "maximum", max);
	return NULL;
}

static const char *set_number(void *field, const struct opt_value *value, const char *text)
{
	uint64_t number;
	const char *wrong = optvalue_number(value->type, value->min, value->max, text, &number);

	if (wrong)
		return wrong;
	if (value->type == OPT_NUMBER)
		*(uint32_t *)field = (uint32_t)number;
	else
		*(uint64_t *)field = number;
	return NULL;
}

/* ---- names ---- */

const char *optvalue_choose(const char *(*name)(int i), const char *text, int *value)
{
	size_t len;

	for (int i = 0; name(i); i++) {
		if (!strcmp(name(i), text)) {
			*value = i;
			return NULL;
		}
	}
	len = (size_t)snprintf(why, sizeof(why), "is not one of %s", name(0));
	for (int i = 1; name(i) && len < sizeof(why); i++)
		len += (size_t)snprintf(why + len, sizeof(why) - len, "%s%s",
					name(i + 1) ? ", " : " or ", name(i));
	if (len < sizeof(why))
		snprintf(why + len, sizeof(why) - len, "%s", suggest_question(text, name));
	return why;
}

static const char *set_choice(void *field, const struct opt_value *value, const char *text)
{
	return optvalue_choose(value->name, text, field);
}

static const char *set_text(const char **field, const char *text)
{
	if (!*text)
		return "is empty";
	*field = text;
	return NULL;
}

/* ---- by type ---- */

static void *field_of(struct opts *opts, const struct opt_def *def)
{
	return (char *)opts + def->value.offset;
}

const char *optvalue_set(struct opts *opts, const struct opt_def *def, const char *text)
{
	const struct opt_value *value = &def->value;
	void *field = field_of(opts, def);

	if (value->given_at)
		*(bool *)((char *)opts + value->given_at) = true;
	switch (value->type) {
	case OPT_FLAG:
		*(bool *)field = true;
		return NULL;
	case OPT_TEXT:
		return set_text(field, text);
	case OPT_TEXTS:
		return str_list_add(field, text);
	case OPT_NUMBER:
	case OPT_COUNT:
	case OPT_SIZE:
		return set_number(field, value, text);
	case OPT_NUMBERS:
		return parse_num_list(text, value->min, value->max, field);
	case OPT_CPUS:
		return parse_cpu_list(text, field);
	case OPT_DURATION:
		return parse_duration(text, field);
	case OPT_CHOICE:
		return set_choice(field, value, text);
	case OPT_APPLY:
		return value->apply(opts, text);
	case OPT_PAGE:
		break;
	}
	return NULL;
}

bool optvalue_is_given(const struct opts *opts, const struct opt_def *def)
{
	const char *bytes = (const char *)opts + def->value.offset;

	for (size_t i = 0; i < def->value.size; i++) {
		if (bytes[i])
			return true;
	}
	return false;
}

void optvalue_release(struct opts *opts, const struct opt_def *def)
{
	if (def->value.type == OPT_TEXTS)
		str_list_release(field_of(opts, def));
	else if (def->value.type == OPT_NUMBERS)
		num_list_release(field_of(opts, def));
}
