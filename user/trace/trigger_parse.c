/* The text of a condition. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "trace/trigger.h"

static struct text strip(const char *begin, const char *end)
{
	while (begin < end && isspace((unsigned char)*begin))
		begin++;
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return (struct text){ begin, (size_t)(end - begin) };
}

/* "N/s" or a duration. */
static const char *parse_limit(struct trigger_cond *cond, struct text limit)
{
	static char why[160];
	char buf[64];
	const char *wrong;
	const bool is_rate = limit.len > 2 && !memcmp(limit.ptr + limit.len - 2, "/s", 2);

	if (!limit.len || limit.len >= sizeof(buf))
		return "has no limit after '>' (1s, 500ms, 100/s)";
	memcpy(buf, limit.ptr, limit.len);
	buf[limit.len - (is_rate ? 2 : 0)] = '\0';
	if (is_rate)
		wrong = parse_count(buf, &cond->per_sec);
	else if (cond->what == TRIGGER_FUNCS)
		wrong = parse_duration(buf, &cond->longer_ns);
	else
		return "has a limit that is not a rate: drops and losses need a number per second (100/s)";
	if (!wrong)
		return NULL;
	snprintf(why, sizeof(why), "has an invalid limit: '%s' %s", buf, wrong);
	return why;
}

static const char *parse_cond(struct trigger_cond *cond, struct text text)
{
	const char *sign = memchr(text.ptr, '>', text.len);
	struct text name;

	*cond = (struct trigger_cond){ .text = text };
	if (!text.len)
		return "lacks a condition (FUNCTION > 1s, FUNCTION > 100/s, drops > 100/s or losses > 1/s)";
	if (!sign)
		return "has no '>' (FUNCTION > 1s, FUNCTION > 100/s, drops > 100/s or losses > 1/s)";
	name = strip(text.ptr, sign);
	if (!name.len || name.len + 1 >= sizeof(cond->rule))
		return "has no name before '>'";
	cond->rule[0] = '+';
	memcpy(cond->rule + 1, name.ptr, name.len);
	cond->pattern = cond->rule + 1;
	if (strpbrk(cond->pattern, " \t\n|&<>=!(){},;'\"/"))
		return "has no function before '>'";
	if (!strcmp(cond->pattern, "drops"))
		cond->what = TRIGGER_DROPS;
	else if (!strcmp(cond->pattern, "losses"))
		cond->what = TRIGGER_LOSSES;
	return parse_limit(cond, strip(sign + 1, text.ptr + text.len));
}

const char *trigger_parse(struct trigger_rule *rule, const char *text)
{
	rule->cnt = 0;
	for (;;) {
		const char *end = strstr(text, "||");
		const char *why;

		if (rule->cnt == TRIGGER_CONDS_MAX)
			return "has more than 16 conditions";
		why = parse_cond(&rule->conds[rule->cnt],
				 strip(text, end ? end : text + strlen(text)));
		if (why)
			return why;
		rule->cnt++;
		if (!end)
			return NULL;
		text = end + 2;
	}
}
