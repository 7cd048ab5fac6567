#include "options/wants.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "nfg_abi.h"
#include "options/graphopts.h"

/* Return: whether a shell needs no quotes for @word. */
static bool is_plain(const char *word)
{
	if (!*word)
		return false;
	for (; *word; word++) {
		if (!isalnum((unsigned char)*word) && !strchr("-_./,:=+@%^", *word))
			return false;
	}
	return true;
}

static void put_word(struct strbuf *out, const char *word)
{
	if (is_plain(word)) {
		strbuf_str(out, word);
		return;
	}
	strbuf_char(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			strbuf_str(out, "'\\''");
		else
			strbuf_char(out, *word);
	}
	strbuf_char(out, '\'');
}

void optwords_text(struct strbuf *out, const struct opts *opts)
{
	strbuf_str(out, "netfgraph");
	for (char **word = opts->words; word && *word && word != opts->command; word++) {
		if (word + 1 == opts->command && !strcmp(*word, "--"))
			break;
		strbuf_char(out, ' ');
		put_word(out, *word);
	}
}

void optwords_with(struct strbuf *out, const struct opts *opts, const char *words)
{
	char **word = opts->words;

	strbuf_str(out, "netfgraph ");
	if (word && *word)
		put_word(out, *word++);
	strbuf_printf(out, " %s", words);
	for (; word && *word; word++) {
		strbuf_char(out, ' ');
		put_word(out, *word);
	}
}

uint32_t wants_values(const struct opts *opts)
{
	uint32_t wanted = 0;

	if (opts->has_args)
		wanted |= NFG_WANT_ARGS;
	if (opts->has_retval || opts->is_retval_hex)
		wanted |= NFG_WANT_RET;
	/* in a trace the kernel tests results; a recording has them or not */
	if ((opts->errors_only || opts->filter) && opts->input_path)
		wanted |= NFG_WANT_ARGS | NFG_WANT_RET;
	if (opts->has_retaddr)
		wanted |= NFG_WANT_CALLER;
	if (opts->has_stack)
		wanted |= NFG_WANT_STACK;
	if (opts->has_packet)
		wanted |= NFG_WANT_PACKET | NFG_WANT_ARGS; /* the drop reason is an argument */
	return wanted;
}

struct details_want wants_details(const struct opts *opts)
{
	return (struct details_want){
		.values = wants_values(opts),
		.has_filter = opts->filter != NULL,
		.has_caller = opts->has_retaddr,
		.has_packet = opts->has_packet,
		.has_stack = opts->has_stack,
		.style = {
			.has_args = opts->has_args,
			.has_ret = opts->has_retval || opts->is_retval_hex,
			.is_ret_hex = opts->is_retval_hex,
			.is_old_dialect = opts->is_old_dialect,
			.hides_pointers = !opts->pointers,
		},
	};
}

struct details_want wants_recorded(const struct opts *opts, uint32_t shown)
{
	struct opts here = *opts;

	if (opts->verb == VERB_REPORT)
		graphopts_recorded(&here, shown);
	return wants_details(&here);
}

/* Options that need to see the calls. */
static const char *needs_events(const struct opts *opts, bool has_packets)
{
	if (opts->overhead_pct && opts->overhead_pct < 100)
		return "--max-overhead counts events";
	if (opts->by_event)
		return "--by-event";
	if (opts->duty_pct)
		return "calls are open when a window ends (--duty)";
	if (opts->learn_ns)
		return "which functions are called is learned from events (--learn)";
	if (has_packets)
		return "whose packet it is may be known late (--cgroup, --container, --pod, --netns)";
	if (opts->slower_ns || opts->errors_only || opts->filter)
		return "whether a call counts is known when it returns (--slower-than, --errors-only, --filter)";
	if (opts->packet.insn_cnt)
		return "packets decide what counts (--packet)";
	if (opts->nograph_funcs.cnt)
		return "calls below some functions do not count (--nograph-funcs)";
	if (opts->nosleep_time)
		return "sleep does not count (--nosleep-time)";
	if (opts->graph_depth)
		return "deep calls do not count (--graph-depth)";
	if (opts->attach_mode == ATTACH_SESSION)
		return "--attach session";
	return wants_values(opts) ? "values are asked for (--graph-opts)" : NULL;
}

struct kprofile_want wants_kprofile(const struct opts *opts, bool has_packets)
{
	return (struct kprofile_want){
		.needs_events = needs_events(opts, has_packets),
		.task_cnt = opts->task_cnt,
		.has_callers = opts->has_callers || opts->has_callees,
	};
}

void wants_host(const struct opts *opts, char *out, size_t size)
{
	if (opts->host)
		snprintf(out, size, "%s", opts->host);
	else
		host_node(out, size);
}
