#include "options/commglob.h"

#include <stdio.h>
#include <string.h>

#include "base/glob.h"
#include "options/taskfilter.h"

#define BYTE_CNT 256

/* Behind the class "[:alpha:]", "[.-.]" or "[=a=]" at @text; NULL: it is none. */
static const char *class_end(const char *text)
{
	const char end[] = { text[1], ']', '\0' };
	const char *at = text + 2;

	switch (text[1]) {
	case ':':
		at += strspn(at, "abcdefghijklmnopqrstuvwxyz");
		break;
	case '.':
	case '=':
		at += *at != '\0';
		break;
	default:
		return NULL;
	}
	return strncmp(at, end, 2) ? NULL : at + 2;
}

/* Behind the bracket expression at @text; NULL: it has no end. */
static const char *bracket_end(const char *text)
{
	const char *at = text + 1;

	at += *at == '!' || *at == '^';
	at += *at == ']'; /* not its end */
	while (*at && *at != ']') {
		const char *behind = *at == '[' ? class_end(at) : NULL;

		if (behind)
			at = behind;
		else
			at += *at == '\\' && at[1] ? 2 : 1;
	}
	return *at ? at + 1 : NULL;
}

/* Behind the first part of @pattern, which is not empty. */
static const char *part_end(const char *pattern)
{
	const char *end = *pattern == '[' ? bracket_end(pattern) : NULL;

	if (end)
		return end;
	if (*pattern == '*')
		return pattern + strspn(pattern, "*");
	return pattern + (*pattern == '\\' && pattern[1] ? 2 : 1);
}

/* Part @nr takes the bytes that @part, a pattern for one of them, matches. */
static void add_part(struct nfg_comm_glob *glob, const char *part, unsigned int nr)
{
	for (unsigned int i = 1; i < BYTE_CNT; i++) {
		const char byte[] = { (char)i, '\0' };

		if (glob_match(part, byte))
			glob->of_byte[i] |= 1ull << nr;
	}
	if (*part == '*') {
		glob->stays |= 1ull << nr;
		glob->stars |= 1ull << nr;
	}
}

/* The name's NUL, and whatever is behind it. */
static void add_end(struct nfg_comm_glob *glob, unsigned int nr)
{
	glob->of_byte[0] |= 1ull << nr;
	glob->match = 1ull << (nr + 1);
	glob->stays |= glob->match;
	for (unsigned int i = 0; i < BYTE_CNT; i++)
		glob->of_byte[i] |= glob->match;
}

void commglob_make(struct nfg_comm_glob *glob, const char *pattern)
{
	char part[COMMGLOB_PATTERN_MAX + 1];
	unsigned int part_cnt = 0;
	unsigned int byte_cnt = 0;
	char name[TASKFILTER_COMM_BYTES + 1];

	memset(glob, 0, sizeof(*glob)); /* matches nothing */
	if (glob_is_plain(pattern)) {
		snprintf(name, sizeof(name), "%.*s", TASKFILTER_COMM_BYTES, pattern);
		pattern = name;
	}
	while (*pattern) {
		const char *end = part_end(pattern);

		byte_cnt += *pattern != '*';
		if (byte_cnt > TASKFILTER_COMM_BYTES)
			return; /* longer than any name */
		snprintf(part, sizeof(part), "%.*s", (int)(end - pattern), pattern);
		add_part(glob, part, part_cnt++);
		pattern = end;
	}
	add_end(glob, part_cnt);
	glob->begin = 1 | (glob->stars & 1) << 1;
}
