#include "options/scopeopts.h"

#include <inttypes.h>

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
