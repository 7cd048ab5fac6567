#include "options/graphopts.h"

#include <stdio.h>
#include <string.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "format/format.h"
#include "options/opttab.h"
#include "recording/recfile.h"

const struct consumer consumer_defs[] = {
	{ "sleepgraph", FORMAT_TEXT, true, "abstime,cpu,proc,duration,tail",
	  "pm-graph's call graphs: time and task in each row, every } named" },
	{ "bootgraph", FORMAT_TEXT, true, "abstime,cpu,proc,duration,tail", "the same" },
	{ "vim", FORMAT_TEXT, true, "abstime,cpu,proc,duration,notail",
	  "the kernel's function-graph-fold.vim, for traces of one CPU: a } ends its line, and the third "
	  "column is the duration that a closed fold shows; vim folds 20 levels, so add -D 20" },
	{ "perf", FORMAT_TEXT, true, "noabstime,cpu,noproc,duration,tail",
	  "parsers like that of perf ftrace profile: the default columns, every } named" },
	{ "ftrace-chart", FORMAT_TEXT, false, "noabstime,cpu,noproc,duration,notail",
	  "the default columns: one | per row" },
	{ "trace-cmd", FORMAT_TRACEDAT, false, NULL, "trace-cmd report -i FILE" },
	{ "kernelshark", FORMAT_TRACEDAT, false, NULL, "the same file" },
	{ "trace-compass", FORMAT_TRACEDAT, false, NULL, "the same file, version 6" },
	{ "perfetto", FORMAT_PERFETTO, false, NULL, "ui.perfetto.dev, trace_processor" },
	{ "speedscope", FORMAT_SPEEDSCOPE, false, NULL,
	  "a frame for each function, without arguments; speedscope misreads files called *.chrome.json" },
	{ "browser", FORMAT_HTML, false, NULL, "a page that shows the trace" },
	{ "flamegraph", FORMAT_FOLDED, false, NULL, "flamegraph.pl, inferno" },
	{ "opentelemetry", FORMAT_OTLP, false, NULL,
	  "receivers of OTLP as JSON lines, such as a collector's otlpjsonfile" },
	{ "jq", FORMAT_JSON, false, NULL, "one call per line" },
};
const size_t consumer_def_cnt = sizeof(consumer_defs) / sizeof(consumer_defs[0]);

const char *consumer_name(int i)
{
	return (size_t)i < consumer_def_cnt ? consumer_defs[i].name : NULL;
}

void consumer_describe(struct strbuf *text, const struct consumer *consumer)
{
	strbuf_reset(text);
	if (consumer->columns)
		strbuf_printf(text, "--graph-opts %s: ", consumer->columns);
	else
		strbuf_printf(text, "--format %s: ", format_name(consumer->format));
	strbuf_str(text, consumer->help);
	strbuf_char(text, '\0');
}

/* ---- --graph-opts ---- */

const struct graph_opt_def graph_opt_defs[] = {
	{ "cpu", offsetof(struct opts, columns.cpu), true, "the CPU column" },
	{ "proc", offsetof(struct opts, columns.proc), false, "the TASK/PID column" },
	{ "abstime", offsetof(struct opts, columns.abstime), false,
	  "the TIME column, seconds of CLOCK_MONOTONIC" },
	{ "duration", offsetof(struct opts, columns.duration), true, "the DURATION column" },
	{ "overhead", offsetof(struct opts, columns.overhead), true,
	  "a mark before long durations: + 10 us, ! 100 us, # 1 ms, * 10 ms, @ 100 ms, $ 1 s" },
	{ "net", offsetof(struct opts, columns.net), false,
	  "durations without what tracing added to them; < 0.012 us: less than can be told" },
	{ "tail", offsetof(struct opts, columns.tail), false, "the function's name after every }" },
	{ "irqs", offsetof(struct opts, irqs), true, "calls made in hardware interrupts" },
	{ "args", offsetof(struct opts, has_args), false, "arguments: tcp_v4_rcv(skb=0x...)" },
	{ "retval", offsetof(struct opts, has_retval), false,
	  "results: /* ret=-22 */; none for void functions" },
	{ "retval-hex", offsetof(struct opts, is_retval_hex), false,
	  "results as in the register: /* ret=0xffffffea */" },
	{ "retaddr", offsetof(struct opts, has_retaddr), false,
	  "callers: /* <-tcp_v4_connect+0x1f5/0x4a0 */" },
	{ "stack", offsetof(struct opts, has_stack), false,
	  "a comment before each graph: the functions from which its start function was called" },
	{ "ustack", offsetof(struct opts, has_ustack), false,
	  "a comment before each graph: the process's own functions, from the one that entered the kernel on" },
	{ "sleep", offsetof(struct opts, has_sleep), false,
	  "a comment after each sleep in a graph: how long, in which function, woken by whom and from where, how long it "
	  "then waited for a processor, and for whom; and what the waker did meanwhile" },
	{ "packet", offsetof(struct opts, has_packet), false,
	  "a comment before the first call with a packet or socket: addresses, ports, flags, device, drop reason; of a socket as "
	  "of a packet that it sends, with the word socket" },
};
const size_t graph_opt_def_cnt = sizeof(graph_opt_defs) / sizeof(graph_opt_defs[0]);

static const struct graph_opt_def *graph_opt_find(const char *word, size_t len)
{
	for (size_t i = 0; i < graph_opt_def_cnt; i++) {
		const struct graph_opt_def *def = &graph_opt_defs[i];

		if (strlen(def->name) == len && !memcmp(def->name, word, len))
			return def;
	}
	return NULL;
}

/* Find the option that a word names; NULL: none. *@is_on: whether the word turns it on. */
static const struct graph_opt_def *graph_opt_read(const char *word, size_t len, bool *is_on)
{
	static const char prefix[] = "funcgraph-";
	const struct graph_opt_def *def = graph_opt_find(word, len);

	*is_on = true;
	if (!def && len > 2 && !memcmp(word, "no", 2)) {
		*is_on = false;
		word += 2;
		len -= 2;
	}
	if (len >= sizeof(prefix) && !memcmp(word, prefix, sizeof(prefix) - 1)) {
		word += sizeof(prefix) - 1;
		len -= sizeof(prefix) - 1;
	}
	return def ? def : graph_opt_find(word, len);
}

bool graphopts_is_word(const char *word)
{
	bool is_on;

	return graph_opt_read(word, strlen(word), &is_on);
}

static bool *graph_opt_flag(struct opts *opts, const struct graph_opt_def *def)
{
	return (bool *)((char *)opts + def->offset);
}

static uint32_t graph_opt_bit(const struct graph_opt_def *def)
{
	return 1u << (def - graph_opt_defs);
}

static bool graph_opt_apply(struct opts *opts, const char *word, size_t len, bool is_default)
{
	bool is_on;
	const struct graph_opt_def *def = graph_opt_read(word, len, &is_on);

	if (!def)
		return false;
	if (is_default && opts->graph_opts_given & graph_opt_bit(def))
		return true;
	*graph_opt_flag(opts, def) = is_on;
	if (!is_default)
		opts->graph_opts_given |= graph_opt_bit(def);
	return true;
}

static const char *graph_opt_at(int i)
{
	return (size_t)i < graph_opt_def_cnt ? graph_opt_defs[i].name : NULL;
}

/* @is_alone: the word is the whole value, which the message has already. */
static void graph_opt_unknown(char *why, size_t size, const char *text, int len, bool is_alone)
{
	char word[64];

	snprintf(word, sizeof(word), "%.*s", len, text);
	if (is_alone)
		snprintf(why, size, "is an unknown word%s", suggest_question(word, graph_opt_at));
	else
		snprintf(why, size, "has an unknown word '%s'%s", word,
			 suggest_question(word, graph_opt_at));
}

static const char *apply(struct opts *opts, const char *text, bool is_default)
{
	static char why[200];
	const bool is_empty = !*text;
	const bool is_alone = !strchr(text, ',');

	opts->has_columns = true;
	for (;;) {
		size_t len = strcspn(text, ",");

		if (!len)
			return is_empty ? "is empty" : "has an empty word";
		if (!graph_opt_apply(opts, text, len, is_default)) {
			graph_opt_unknown(why, sizeof(why), text, len > 60 ? 60 : (int)len,
					  is_alone);
			return why;
		}
		if (!text[len])
			return NULL;
		text += len + 1;
	}
}

const char *graphopts_apply(struct opts *opts, const char *text)
{
	return apply(opts, text, false);
}

const char *graphopts_apply_default(struct opts *opts, const char *text)
{
	return apply(opts, text, true);
}

static const char *const stack_words[] = { "stack", "ustack", "sleep" };

/* Stacks and sleeps belong to graphs, and a trace without start functions has no graphs. */
static bool has_graphs(const struct opts *opts)
{
	return selector_of(opts, SELECTS_BY_STARTS) || opts->input_path;
}

const char *graphopts_lacks_starts(const struct opts *opts)
{
	if (has_graphs(opts))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(stack_words); i++) {
		const struct graph_opt_def *def =
			graph_opt_find(stack_words[i], strlen(stack_words[i]));

		if (opts->graph_opts_given & graph_opt_bit(def) &&
		    *(const bool *)((const char *)opts + def->offset))
			return def->name;
	}
	return NULL;
}

const char *graphopts_row_column(const struct opts *opts)
{
	static const char *const words[] = { "cpu",      "proc",     "abstime",
					     "duration", "overhead", "tail" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const struct graph_opt_def *def = graph_opt_find(words[i], strlen(words[i]));

		/* a table has none of them, as who switches it off wants */
		if (opts->graph_opts_given & graph_opt_bit(def) &&
		    *(const bool *)((const char *)opts + def->offset))
			return def->name;
	}
	return NULL;
}

void graphopts_settle_defaults(struct opts *opts)
{
	if (has_graphs(opts) || graphopts_lacks_starts(opts))
		return;
	opts->has_stack = false;
	opts->has_ustack = false;
	opts->has_sleep = false;
}

/* Whether --graph-opts names the word, and leaves it on (@is_on) or off. */
static bool is_given(const struct opts *opts, const struct graph_opt_def *def, bool is_on)
{
	return opts->graph_opts_given & graph_opt_bit(def) &&
	       *(const bool *)((const char *)opts + def->offset) == is_on;
}

static const struct graph_opt_def *sleep_def(void)
{
	return graph_opt_find("sleep", strlen("sleep"));
}

bool graphopts_hides_sleeps(const struct opts *opts)
{
	return is_given(opts, sleep_def(), false);
}

/* ---- --for ---- */

const char *graphopts_apply_consumer(struct opts *opts, const char *text)
{
	const char *why;
	int i;

	if (opts->consumer)
		return "is a second consumer, but --for takes only one";
	why = optvalue_choose(consumer_name, text, &i);
	if (!why)
		opts->consumer = &consumer_defs[i];
	return why;
}

/* Turn on or off a column that the consumer needs. Return: false: --graph-opts asks for the opposite. */
static bool consumer_column(struct opts *opts, const char *word, size_t len)
{
	bool is_on;
	const struct graph_opt_def *def = graph_opt_read(word, len, &is_on);
	bool *flag = graph_opt_flag(opts, def);

	if (opts->graph_opts_given & graph_opt_bit(def))
		return *flag == is_on;
	*flag = is_on;
	return true;
}

const char *graphopts_settle(struct opts *opts)
{
	const struct consumer *consumer = opts->consumer;
	static char why[160];
	size_t len;

	if (!consumer)
		return NULL;
	if (opts->has_format && opts->format != consumer->format) {
		snprintf(why, sizeof(why), "--for %s reads --format %s, not %s", consumer->name,
			 format_name(consumer->format), format_name(opts->format));
		return why;
	}
	if (consumer->refuses_values &&
	    (opts->has_retval || opts->is_retval_hex || opts->has_retaddr)) {
		snprintf(why, sizeof(why), "--for %s cannot read retval, retval-hex or retaddr",
			 consumer->name);
		return why;
	}
	opts->format = consumer->format;
	opts->has_columns |= consumer->columns != NULL;
	for (const char *word = consumer->columns; word; word = word[len] ? word + len + 1 : NULL) {
		len = strcspn(word, ",");
		if (consumer_column(opts, word, len))
			continue;
		snprintf(why, sizeof(why), "--for %s needs '%.*s', but --graph-opts says otherwise",
			 consumer->name, (int)len, word);
		return why;
	}
	return NULL;
}

/* ---- the columns of a recording ---- */

static const struct {
	const char *word;
	uint32_t bit;
} recorded[] = {
	{ "args", RECFILE_SHOWS_ARGS },          { "retval", RECFILE_SHOWS_RET },
	{ "retval-hex", RECFILE_SHOWS_RET_HEX }, { "retaddr", RECFILE_SHOWS_CALLER },
	{ "packet", RECFILE_SHOWS_PACKET },      { "stack", RECFILE_SHOWS_STACK },
	{ "ustack", RECFILE_SHOWS_USTACK },
};
#define RECORDED_CNT (sizeof(recorded) / sizeof(recorded[0]))

static const struct graph_opt_def *recorded_def(size_t i)
{
	return graph_opt_find(recorded[i].word, strlen(recorded[i].word));
}

uint32_t graphopts_shown(const struct opts *opts)
{
	uint32_t shown = (opts->events.cnt || wants_sleeps(opts) ? RECFILE_SHOWS_POINTS : 0) |
			 (opts->shown ? RECFILE_SHOWS_MEMBERS : 0) |
			 (opts->follows ? RECFILE_SHOWS_PKT : 0);

	for (size_t i = 0; i < RECORDED_CNT; i++) {
		const bool *flag = (const bool *)((const char *)opts + recorded_def(i)->offset);

		if (*flag)
			shown |= recorded[i].bit;
	}
	return shown;
}

const char *graphopts_shown_next(uint32_t shown, size_t *at)
{
	while (*at < RECORDED_CNT) {
		const size_t i = (*at)++;

		if (shown & recorded[i].bit)
			return recorded[i].word;
	}
	return NULL;
}

/* What has to be recorded for each word: results for both forms, and the packet needs arguments. */
static uint32_t sources(uint32_t bit)
{
	if (bit & (RECFILE_SHOWS_RET | RECFILE_SHOWS_RET_HEX))
		return RECFILE_SHOWS_RET | RECFILE_SHOWS_RET_HEX;
	return bit & RECFILE_SHOWS_ARGS ? RECFILE_SHOWS_ARGS | RECFILE_SHOWS_PACKET : bit;
}

const char *graphopts_unrecorded(const struct opts *opts, uint32_t shown)
{
	for (size_t i = 0; i < RECORDED_CNT; i++) {
		const struct graph_opt_def *def = recorded_def(i);

		if (is_given(opts, def, true) && !(shown & sources(recorded[i].bit)))
			return def->name;
	}
	if (is_given(opts, sleep_def(), true) && !(shown & RECFILE_SHOWS_POINTS))
		return sleep_def()->name;
	return NULL;
}

void graphopts_recorded(struct opts *opts, uint32_t shown)
{
	const bool is_wary = opts->consumer && opts->consumer->refuses_values;

	for (size_t i = 0; i < RECORDED_CNT; i++) {
		const struct graph_opt_def *def = recorded_def(i);

		if (!(opts->graph_opts_given & graph_opt_bit(def)))
			*graph_opt_flag(opts, def) = shown & recorded[i].bit && !is_wary;
	}
}
