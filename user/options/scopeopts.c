#include "options/scopeopts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

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

bool taskfilter_has_tid(const struct opts *opts, uint32_t tid)
{
	return !opts->tids.cnt || num_list_has(&opts->tids, tid);
}

bool taskfilter_has_comm(const struct opts *opts, struct text comm, size_t cut_bytes)
{
	char name[32];
	bool is_cut;

	if (!opts->comms.cnt)
		return true;
	snprintf(name, sizeof(name), "%.*s", (int)comm.len, comm.len ? comm.ptr : "");
	is_cut = cut_bytes && strlen(name) == cut_bytes;
	for (size_t i = 0; i < opts->comms.cnt; i++) {
		const char *pattern = opts->comms.items[i];

		if (glob_match(pattern, name) ||
		    (is_cut && glob_is_plain(pattern) && !strncmp(pattern, name, cut_bytes)))
			return true;
	}
	return false;
}

#define SHOWN_MAX 3 /* values of an option that are named */

bool scopeopts_are_given(const struct opts *opts)
{
	return opts->pids.cnt || opts->tids.cnt || opts->cgroups.cnt || opts->containers.cnt ||
	       opts->pods.cnt || opts->netns.cnt || opts->comms.cnt;
}

bool scopeopts_is_command(const struct opts *opts)
{
	return opts->command && !scopeopts_are_given(opts);
}

void scopeopts_names(struct strbuf *out, const struct opts *opts)
{
	const struct {
		size_t cnt;
		const char *name;
	} given[] = {
		{ opts->pids.cnt, "-p" },
		{ opts->tids.cnt, "--tid" },
		{ opts->comms.cnt, "--comm" },
		{ opts->cgroups.cnt, "--cgroup" },
		{ opts->containers.cnt, "--container" },
		{ opts->pods.cnt, "--pod" },
		{ opts->netns.cnt, "--netns" },
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof(given) / sizeof(given[0]); i++) {
		if (!given[i].cnt)
			continue;
		strbuf_printf(out, "%s%s", between, given[i].name);
		between = " and ";
	}
}

/* What stands before the @i-th of @cnt values. Return: whether the value follows. */
static bool put_between(struct strbuf *out, const char *lead, size_t i, size_t cnt)
{
	if (i == SHOWN_MAX && cnt > SHOWN_MAX + 1) {
		strbuf_printf(out, " or %zu others", cnt - SHOWN_MAX);
		return false;
	}
	strbuf_str(out, i ? " or " : lead);
	return true;
}

static bool put_texts(struct strbuf *out, const char *lead, const char *quote,
		      const struct str_list *list)
{
	for (size_t i = 0; i < list->cnt && put_between(out, lead, i, list->cnt); i++)
		strbuf_printf(out, "%s%s%s", quote, list->items[i], quote);
	return list->cnt;
}

static bool put_numbers(struct strbuf *out, const char *lead, const struct num_list *list)
{
	for (size_t i = 0; i < list->cnt && put_between(out, lead, i, list->cnt); i++)
		strbuf_u64(out, list->items[i]);
	return list->cnt;
}

static void put_tasks(struct strbuf *out, const struct opts *opts)
{
	const bool is_named = put_texts(out, " by a task named ", "'", &opts->comms);
	const bool has_pids =
		put_numbers(out, is_named ? " of process " : " by process ", &opts->pids);

	put_numbers(out,
		    has_pids   ? " or task "
		    : is_named ? " with the number "
			       : " by task ",
		    &opts->tids);
}

static void put_cgroups(struct strbuf *out, const struct opts *opts)
{
	bool has = put_texts(out, " in cgroup ", "", &opts->cgroups);

	has |= put_texts(out, has ? " or container " : " in container ", "", &opts->containers);
	put_texts(out, has ? " or pod " : " in pod ", "", &opts->pods);
}

void scopeopts_text(struct strbuf *out, const struct opts *opts)
{
	if (scopeopts_is_command(opts)) {
		strbuf_str(out, " by the command");
		return;
	}
	put_tasks(out, opts);
	put_cgroups(out, opts);
	put_texts(out, " in network namespace ", "", &opts->netns);
}
