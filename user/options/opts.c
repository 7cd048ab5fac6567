#include "options/opts.h"

#include <ctype.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/color.h"
#include "base/host.h"
#include "base/log.h"
#include "base/output.h"
#include "base/pager.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "kernel/tracepoint.h"
#include "nfg_abi.h"
#include "options/complete.h"
#include "options/config.h"
#include "options/contradict.h"
#include "options/graphopts.h"
#include "options/manual.h"
#include "options/opttab.h"
#include "options/refuse.h"
#include "recording/recfile.h"

#define OPT_LONG_BASE 256 /* getopt's value of a long option is this + its index in the table */

/* The table in the forms that getopt needs. */
struct getopt_forms {
	struct option longs[OPT_CNT_MAX + 1];
	char shorts[2 * OPT_CNT_MAX + 3];
};

static const char *const verb_names[] = {
	[VERB_TRACE] = "the trace", /* no word selects it */
	[VERB_LIST] = "list",       [VERB_CHECK] = "check",     [VERB_RECORD] = "record",
	[VERB_REPORT] = "report",   [VERB_INFO] = "info",       [VERB_DIFF] = "diff",
	[VERB_PROFILE] = "profile", [VERB_LATENCY] = "latency", [VERB_EXPLAIN] = "explain",
	[VERB_HELP] = "help",
};
#define VERB_CNT (sizeof(verb_names) / sizeof(verb_names[0]))

static void forms_fill(struct getopt_forms *forms, bool takes_words)
{
	char *p = forms->shorts;

	*p++ = takes_words
		       ? '-'
		       : '+'; /* return words among the options in their place, or stop at the first one: the command */
	*p++ = ':'; /* distinguish a missing value from an unknown option */
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct opt_def *def = &opt_defs[i];

		forms->longs[i] = (struct option){
			.name = def->name,
			.has_arg = opt_def_has_choice(def) ? optional_argument
				   : def->arg              ? required_argument
							   : no_argument,
			.val = (int)(OPT_LONG_BASE + i),
		};
		if (def->letter)
			*p++ = def->letter;
		if (def->letter && def->arg)
			*p++ = ':';
	}
}

static const struct opt_def *def_of(int value)
{
	if (value >= OPT_LONG_BASE)
		return &opt_defs[value - OPT_LONG_BASE];
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opt_defs[i].letter == value)
			return &opt_defs[i];
	}
	return NULL;
}

/* getopt returned '?' or ':' for the word before optind, or for a letter in it. Refuse it. */
static int opts_refuse(const struct opts *opts, int what, char **argv)
{
	const char *word = argv[optind - 1];
	const struct opt_def *def = optopt ? def_of(optopt) : NULL;
	char letter[] = "-?";

	if (def && what == ':')
		return refuse_missing(def);
	if (def)
		return refuse_excess(def, strchr(word, '=') ? strchr(word, '=') + 1 : NULL);
	if (!optopt)
		return refuse_unknown(opts, word);
	letter[1] = (char)optopt;
	return refuse_unknown(opts, letter);
}

static int print_page(struct opts *opts, const struct opt_def *def)
{
	/* one line, a screen, and the manual's source do not need a pager */
	const bool is_long = opts->verb != VERB_TRACE && def->letter == 'h';
	struct strbuf text = { 0 };

	if (is_long)
		manual_verb(&text, opts->verb);
	else
		def->value.page(&text);
	opts->is_done = true;
	return pager_page(&text, NULL, is_long && !opts->no_pager) ? VERDICT_FAILED : 0;
}

const char *opts_verb_name(int i)
{
	return (size_t)i < VERB_CNT - VERB_LIST ? verb_names[VERB_LIST + i] : NULL;
}

static int print_topic(struct opts *opts, const char *topic)
{
	struct strbuf text = { 0 };

	if (!topic) {
		manual_help(&text);
	} else if (!manual_topic(&text, topic) &&
		   ((refuse_topic_is_near(topic) && !manual_has_word(topic)) ||
		    !manual_search(&text, topic))) {
		strbuf_release(&text);
		return refuse_topic(topic);
	}
	opts->is_done = true;
	return pager_page(&text, NULL, topic && !opts->no_pager) ? VERDICT_FAILED : 0;
}

/* Whether the texts, which may be NULL, differ. */
static bool is_another(const char *first, const char *second)
{
	return !first || !second ? first != second : strcmp(first, second) != 0;
}

static int opts_apply(struct opts *opts, const struct opt_def *def, const char *text)
{
	const size_t i = (size_t)(def - opt_defs);
	const char *why;

	if (!(def->verbs & 1u << opts->verb))
		return refuse_misplaced(opts, def, text);
	if (def->value.type == OPT_PAGE)
		return print_page(opts, def);
	if (def->verbs & OPT_ONCE && opts->given[i] && is_another(opts->first_texts[i], text))
		return refuse_twice(def, opts->first_texts[i], text);
	why = refuse_option_for(opts, def, text);
	if (!why)
		why = optvalue_set(opts, def, text);
	if (!opts->given[i])
		opts->first_texts[i] = text;
	opts->given[i] = true;
	return why ? refuse_value(opts, def, text, why) : 0;
}

bool opts_is_given(const struct opts *opts, const char *name)
{
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (opts->given[i] && !strcmp(opt_defs[i].name, name))
			return true;
	}
	return false;
}

enum opts_verb opts_verb_of(const char *word)
{
	for (size_t i = VERB_LIST; word && i < VERB_CNT; i++) {
		if (!strcmp(verb_names[i], word))
			return (enum opts_verb)i;
	}
	return VERB_TRACE;
}

bool opts_takes_command(enum opts_verb verb)
{
	return verb == VERB_TRACE || verb == VERB_RECORD || verb == VERB_PROFILE;
}

bool opts_takes_words(enum opts_verb verb)
{
	return verb == VERB_LATENCY || verb == VERB_EXPLAIN;
}

static const char *opts_take_word(struct opts *opts, const char *word)
{
	const char *why = NULL;

	switch (opts->verb) {
	case VERB_LIST:
		return str_list_add(&opts->trace_funcs, word);
	case VERB_LATENCY:
		why = str_list_add(&opts->trace_funcs, word);
		return why ? why : str_list_add(&opts->latency_funcs, word);
	case VERB_REPORT:
	case VERB_INFO:
	case VERB_EXPLAIN:
		if (opts->input_path)
			return "is one file too many";
		opts->input_path = word;
		return NULL;
	case VERB_DIFF:
		if (opts->other_path)
			return "is one file too many";
		*(opts->input_path ? &opts->other_path : &opts->input_path) = word;
		return NULL;
	default:
		return "is unexpected here";
	}
}

static int word_take(struct opts *opts, const char *word)
{
	const char *why = opts_take_word(opts, word);

	if (!why)
		return 0;
	log_error("'%s' %s", word, why);
	return refuse_hint(opts);
}

/* Set defaults for options that are not on the command line. Return: the exit status. */
static int opts_configure(struct opts *opts, const struct config_places *places)
{
	int status;

	if (!places || opts->no_config || opts->completes || opts->prints_completion)
		return 0;
	opts->config = calloc(1, sizeof(*opts->config));
	if (!opts->config) {
		log_error("configuration files do not fit in memory");
		return VERDICT_FAILED;
	}
	status = config_read(opts->config, places);
	if (!status)
		config_apply(opts->config, opts);
	/* reading checked the file's values */
	color_choose(opts->color);
	return status;
}

static void config_text(const struct opts *opts, const struct config_places *places,
			struct strbuf *text)
{
	static const struct config none;
	static const struct config_places nowhere;

	config_print(opts->config ? opts->config : &none, opts->config ? places : &nowhere, text);
}

/* Print pages instead of a trace, once the whole command line is known. Return: the exit status. */
static int print_instead(struct opts *opts, const struct config_places *places)
{
	struct strbuf text = { 0 };

	if (opts->completes)
		complete_answer(&text, opts->command);
	else if (opts->prints_completion)
		completescript_print(&text, opts->completion_shell);
	else if (opts->print_config)
		config_text(opts, places, &text);
	else
		return 0;
	opts->is_done = true;
	return output_page(&text, NULL) ? VERDICT_FAILED : 0;
}

/* Report a contradiction that may involve a value from a file. */
static int usage_with_files(struct opts *opts, const char *why)
{
	if (!opts->hint && opts->config && opts->config->line_cnt)
		opts->hint =
			"--print-config shows the defaults from files, --no-config ignores them";
	return refuse_together(opts, why);
}

/* Take the words after the options, or after "--": a command, names, a file. */
static int words_take(struct opts *opts, const struct config_places *places, char **words)
{
	const char *why;
	int status;

	if (opts_takes_command(opts->verb) || opts_takes_words(opts->verb)) {
		/* a script's variable that is empty would trace the whole host */
		if (!*words && opts_takes_command(opts->verb) && !opts->completes &&
		    !strcmp(words[-1], "--"))
			return refuse_together(opts, "there is no COMMAND behind --");
		opts->command = *words ? words : NULL;
	} else {
		for (; *words; words++) {
			if (word_take(opts, *words))
				return VERDICT_USAGE;
		}
	}
	contradict_fill_paths(opts);
	status = opts_configure(opts, places);
	if (!status)
		status = print_instead(opts, places);
	if (status || opts->is_done)
		return status;
	why = contradict_settle(opts);
	return why ? usage_with_files(opts, why) : 0;
}

/*
 * The index of the first word before "--" that is neither an option nor an option's value; 0: none, or an error comes
 * first.
 */
static int first_word(int argc, char **argv)
{
	struct getopt_forms forms = { 0 };
	int before;
	int value;

	forms_fill(&forms, false);
	opterr = 0;
	optind = 0;
	do {
		before = optind;
		value = getopt_long(argc, argv, forms.shorts, forms.longs, NULL);
	} while (value != -1 && value != '?' && value != ':');
	if (value != -1 || optind >= argc || (optind > before && !strcmp(argv[optind - 1], "--")))
		return 0;
	return optind;
}

/* Move a verb that follows options to the front. Return: whether argv[1] is a verb now. */
static bool verb_to_front(int argc, char **argv)
{
	const int at = first_word(argc, argv);
	char *word = at ? argv[at] : NULL;

	if (opts_verb_of(word) == VERB_TRACE)
		return false;
	memmove(argv + 2, argv + 1, (size_t)(at - 1) * sizeof(*argv));
	argv[1] = word;
	return true;
}

/* Whether @word asks about an option: "-G", "--graph-opts", "--graph-opts=args". */
static bool is_question(const char *word)
{
	return word[0] == '-' && word[1] && strcmp(word, "-h") != 0 && strcmp(word, "--help") != 0;
}

/* The texts of all options among @words. */
static int print_options(struct opts *opts, char **words)
{
	struct strbuf text = { 0 };

	for (; *words && strcmp(*words, "--") != 0; words++) {
		const char *name = *words + ((*words)[1] == '-' ? 2 : 1);

		if (!is_question(*words))
			continue;
		if (!manual_option(&text, name, strcspn(name, "="))) {
			strbuf_release(&text);
			return refuse_unknown(opts, *words);
		}
	}
	opts->is_done = true;
	return pager_page(&text, NULL, false) ? VERDICT_FAILED : 0;
}

/* Print the topic that several words name together, such as "exit status". Return: whether there is one. */
static bool joined_topic(struct opts *opts, char **words, int cnt)
{
	char name[48] = "";
	size_t len = 0;

	for (int i = 0; i < cnt && len < sizeof(name); i++)
		len += (size_t)snprintf(name + len, sizeof(name) - len, "%s%s", i ? "-" : "",
					words[i]);
	return len < sizeof(name) && foreign_text(FOREIGN_TOPIC, name) && !print_topic(opts, name);
}

/*
 * Options have no effect here, except --no-pager; the others name an option whose text is wanted. @argv: from the verb
 * on; @asks: help was the first word.
 */
static int help(struct opts *opts, int argc, char **argv, bool asks)
{
	int at = first_word(argc, argv);

	for (int i = 1; i < argc && !at; i++) {
		if (!strcmp(argv[i], "--")) {
			at = i + 1;
			break;
		}
		if (asks && is_question(argv[i]))
			return print_options(opts, argv + i);
	}
	for (int i = 1; i < argc; i++)
		opts->no_pager |= !strcmp(argv[i], "--no-pager");
	if (at && at + 1 < argc) {
		if (joined_topic(opts, argv + at, argc - at))
			return 0;
		log_error("help takes one topic, and '%s' is another", argv[at + 1]);
		log_hint("netfgraph help lists the topics");
		return VERDICT_USAGE;
	}
	return print_topic(opts, at ? argv[at] : NULL);
}

enum verdict opts_parse(struct opts *opts, int argc, char **argv)
{
	return opts_parse_with(opts, NULL, argc, argv);
}

enum verdict opts_parse_with(struct opts *opts, const struct config_places *places, int argc,
			     char **argv)
{
	struct getopt_forms forms = { 0 };
	int status = 0;
	bool asks;
	int value;

	*opts = (struct opts){ 0 };
	opts->columns = render_columns_default;
	opts->irqs = true;
	asks = argc > 1 && opts_verb_of(argv[1]) == VERB_HELP;
	if (verb_to_front(argc, argv)) {
		opts->verb = opts_verb_of(argv[1]);
		argv++;
		argc--;
	}
	opts->words = argv;
	if (opts->verb == VERB_HELP)
		return help(opts, argc, argv, asks);
	forms_fill(&forms, !opts_takes_command(opts->verb));
	opterr = 0;
	optind = 0; /* restart, because this may be called again */
	while (!status && !opts->is_done) {
		optopt = 0;
		value = getopt_long(argc, argv, forms.shorts, forms.longs, NULL);
		if (value == -1)
			break;
		if (value == '?' || value == ':')
			return opts_refuse(opts, value, argv);
		status = value == 1 ? word_take(opts, optarg)
				    : opts_apply(opts, def_of(value), optarg);
	}
	if (!status && !opts->is_done)
		status = words_take(opts, places, argv + optind);
	opts->is_done |= opts->parses_only;
	if (opts->is_complete || opts->is_cheap)
		opts->attach_mode = opts->is_complete ? ATTACH_COMPLETE : ATTACH_CHEAP;
	return status;
}

void opts_release(struct opts *opts)
{
	for (size_t i = 0; i < opt_def_cnt; i++)
		optvalue_release(opts, &opt_defs[i]);
	str_list_release(&opts->latency_funcs);
	str_list_release(&opts->wished_events);
	str_list_release(&opts->presets);
	pcapfilter_release(&opts->packet);
	filter_free(opts->filter);
	shown_free(opts->shown);
	for (uint32_t i = 0; i < TRIGGER_CONDS_MAX; i++)
		filter_free(opts->when_tests[i]);
	free(opts->when);
	if (opts->config)
		config_release(opts->config);
	free(opts->config);
	*opts = (struct opts){ 0 };
}

/* ---- requirements of options ---- */

void optwords_text(struct strbuf *out, const struct opts *opts)
{
	strbuf_str(out, "netfgraph");
	for (char **word = opts->words; word && *word && word != opts->command; word++) {
		if (word + 1 == opts->command && !strcmp(*word, "--"))
			break;
		strbuf_char(out, ' ');
		strbuf_shell(out, *word);
	}
}

void optwords_with(struct strbuf *out, const struct opts *opts, const char *words)
{
	char **word = opts->words;

	strbuf_str(out, "netfgraph ");
	if (word && *word)
		strbuf_shell(out, *word++);
	strbuf_printf(out, " %s", words);
	for (; word && *word; word++) {
		strbuf_char(out, ' ');
		strbuf_shell(out, *word);
	}
}

bool opts_counts_drops(const struct opts *opts)
{
	for (size_t i = 0; i < opts->events.cnt; i++) {
		if (tracepoint_matches(opts->events.items[i], "skb", "kfree_skb"))
			return true;
	}
	return opts_counts_by(opts, ROWKEY_REASON);
}

/* Whether profile --by needs one of ROWKEY_NEEDS_*. */
static bool key_needs(const struct opts *opts, uint32_t need)
{
	return opts->by == BY_KEY && rowkeys_needs(&opts->keys) & need;
}

/*
 * The stages of a packet are found by arguments, whether they are shown or not. What a recording has of lengths costs
 * nothing more.
 */
static bool wants_args(const struct opts *opts)
{
	return opts->has_args || opts->by == BY_STAGE || key_needs(opts, ROWKEY_NEEDS_ARGS) ||
	       (opts->by == BY_KEY && opts->input_path);
}

static bool wants_caller(const struct opts *opts)
{
	return opts->has_retaddr || key_needs(opts, ROWKEY_NEEDS_CALLER);
}

static bool wants_packet(const struct opts *opts)
{
	/* --packet chooses graphs, and the stages are those of the packets in them that it chooses, too */
	return opts->has_packet || key_needs(opts, ROWKEY_NEEDS_PACKET) ||
	       (opts->by == BY_STAGE && opts->packet.insn_cnt);
}

/* Only graphs have a place for stacks and sleeps: tables would take them for nothing. */
static bool wants_stacks(const struct opts *opts)
{
	return opts->verb == VERB_TRACE || opts->verb == VERB_RECORD || opts->verb == VERB_REPORT;
}

bool wants_sleeps(const struct opts *opts)
{
	return opts->has_sleep && (wants_stacks(opts) || opts->verb == VERB_EXPLAIN) &&
	       !opts->input_path;
}

uint32_t wants_values(const struct opts *opts)
{
	uint32_t wanted = 0;

	if (wants_args(opts))
		wanted |= NFG_WANT_ARGS;
	if (opts->has_retval || opts->is_retval_hex)
		wanted |= NFG_WANT_RET;
	/* in a trace the kernel tests results; a recording must contain them */
	if (selector_of(opts, SELECTS_BY_VALUES) && opts->input_path)
		wanted |= NFG_WANT_ARGS | NFG_WANT_RET;
	if (opts->packet.insn_cnt && opts->input_path)
		wanted |= NFG_WANT_PACKET;
	if (wants_caller(opts))
		wanted |= NFG_WANT_CALLER;
	if (opts->has_stack && wants_stacks(opts))
		wanted |= NFG_WANT_STACK;
	if (opts->has_ustack && wants_stacks(opts))
		wanted |= NFG_WANT_USTACK;
	if (wants_packet(opts))
		wanted |= NFG_WANT_PACKET | NFG_WANT_ARGS; /* the drop reason is an argument */
	if (opts->shown)
		wanted |= NFG_WANT_SHOWN;
	if (opts->follows)
		wanted |= NFG_WANT_PKT;
	for (uint32_t i = 0; i < TRIGGER_CONDS_MAX; i++) {
		const struct filter *test = opts->when_tests[i];
		const struct filter_needs needs =
			test ? filter_needs(test) : (struct filter_needs){ false, false };

		wanted |= (needs.args ? NFG_WANT_ARGS : 0) | (needs.ret ? NFG_WANT_RET : 0);
	}
	return wanted;
}

static bool waits_for_drops(const struct opts *opts)
{
	bool has_drops = false;

	for (uint32_t i = 0; opts->when && i < opts->when->cnt; i++)
		has_drops |= opts->when->conds[i].what == TRIGGER_DROPS;
	return has_drops;
}

bool lacks_places(const struct opts *opts)
{
	/* the function's call has both; with one of them its row is of no drop, or at no place */
	return waits_for_drops(opts) && !opts->drops_by_point &&
	       ~wants_values(opts) & (NFG_WANT_ARGS | NFG_WANT_CALLER);
}

bool lacks_reasons(const struct opts *opts)
{
	for (size_t i = 0; i < opts->events.cnt; i++) {
		if (tracepoint_matches(opts->events.items[i], "skb", "kfree_skb"))
			return false;
	}
	return waits_for_drops(opts) && !(wants_values(opts) & NFG_WANT_ARGS);
}

bool wants_part_by_trace(const struct opts *opts)
{
	const bool is_latency = opts->verb == VERB_LATENCY && opts->by == BY_FUNCTION;

	return opts->trace_funcs.cnt > (is_latency ? opts->latency_funcs.cnt : 0);
}

const char *wants_net_of_part(const struct opts *opts)
{
	if (opts->nograph_funcs.cnt)
		return "-g";
	if (!opts->input_path)
		return NULL;
	return wants_part_by_trace(opts) ? "-T on a file"
	       : opts->notrace_funcs.cnt ? "-N on a file"
	       : opts->has_cpus          ? "-C on a file"
					 : NULL;
}

bool wants_net(const struct opts *opts)
{
	const bool has_text = opts->format == FORMAT_TEXT;

	if (wants_net_of_part(opts) || opts->format == FORMAT_METRICS)
		return false;
	/* such a table has no room for what nobody asks for: measuring it would only make the trace begin later */
	if (opts->by == BY_KEY && has_text && opts->profile_sort != PROFILE_BY_NET)
		return false;
	if (opts->verb == VERB_TRACE)
		return has_text ? opts->columns.net : format_traits(opts->format)->has_net;
	return opts->verb == VERB_RECORD || opts->verb == VERB_PROFILE ||
	       opts->verb == VERB_LATENCY || opts->verb == VERB_EXPLAIN;
}

struct details_want wants_details(const struct opts *opts)
{
	return (struct details_want){
		.values = wants_values(opts),
		.has_points = (opts->events.cnt || wants_sleeps(opts)) && !opts->input_path,
		.has_members = opts->shown != NULL,
		.shown = opts->shown,
		.has_filter = opts->filter != NULL,
		.has_caller = wants_caller(opts),
		.has_packet = wants_packet(opts),
		.has_pkt = opts->follows,
		.has_stack = opts->has_stack && wants_stacks(opts),
		.has_ustack = opts->has_ustack && wants_stacks(opts),
		.style = {
			.has_args = wants_args(opts),
			.has_ret = opts->has_retval || opts->is_retval_hex,
			.is_ret_hex = opts->is_retval_hex,
			.is_old_dialect = opts->is_old_dialect,
			.hides_pointers = !opts->pointers && opts->by != BY_STAGE,
		},
	};
}

struct details_want wants_recorded(const struct opts *opts, uint32_t shown)
{
	struct opts here = *opts;
	struct details_want want;

	if (opts->verb == VERB_REPORT)
		graphopts_recorded(&here, shown);
	/* verdicts tell what dropped a packet, and packets what came in interrupts */
	if (opts->verb == VERB_EXPLAIN) {
		here.has_retval = shown & (RECFILE_SHOWS_RET | RECFILE_SHOWS_RET_HEX);
		here.has_packet = shown & RECFILE_SHOWS_PACKET;
	}
	here.follows = shown & RECFILE_SHOWS_PKT;
	want = wants_details(&here);
	want.has_points = shown & RECFILE_SHOWS_POINTS;
	want.has_members = shown & RECFILE_SHOWS_MEMBERS;
	if (want.has_members)
		want.values |= NFG_WANT_SHOWN;
	return want;
}

/* The reason why options need to see every call. */
static const char *needs_events(const struct opts *opts, bool has_packets)
{
	const struct selector *selector = selector_of(opts, SELECTS_EVENTS);

	if (opts->overhead_pct && opts->overhead_pct < 100)
		return "--max-overhead counts events";
	if (opts->by_event)
		return "--by-event";
	if (opts->by == BY_KEY)
		return "calls are counted by what they have (--by)";
	if (opts->duty_pct)
		return "calls may be open at the end of a window (--duty)";
	if (opts->learn_ns)
		return "--learn counts events";
	if (has_packets)
		return "the owner of a packet may be found late (--cgroup, --container, --pod, --netns)";
	if (selector)
		return selector->events_why;
	if (opts->nosleep_time)
		return "time asleep is excluded (--nosleep-time)";
	if (opts->graph_depth)
		return "deep calls are excluded (--graph-depth)";
	if (attach_way(opts->attach_mode)->records_alone)
		return "--attach session";
	return wants_values(opts) ? "values are requested (--graph-opts)" : NULL;
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

struct tablew wants_table(const struct opts *opts, char host[HOST_MAX], struct strbuf *out)
{
	wants_host(opts, host, HOST_MAX);
	return (struct tablew){ .out = out, .form = wants_form(opts), .host = host };
}

/* ---- the tasks whose calls are traced ---- */

#define BYTE_CNT 256

/* The position after the class "[:alpha:]", "[.-.]" or "[=a=]" at @text; NULL: it is none. */
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

/* The position after the bracket expression at @text; NULL: it has no end. */
static const char *bracket_end(const char *text)
{
	const char *at = text + 1;

	at += *at == '!' || *at == '^';
	at += *at == ']'; /* a ] in the first place does not end it */
	while (*at && *at != ']') {
		const char *behind = *at == '[' ? class_end(at) : NULL;

		if (behind)
			at = behind;
		else
			at += *at == '\\' && at[1] ? 2 : 1;
	}
	return *at ? at + 1 : NULL;
}

/* The position after the first part of @pattern, which is not empty. */
static const char *part_end(const char *pattern)
{
	const char *end = *pattern == '[' ? bracket_end(pattern) : NULL;

	if (end)
		return end;
	if (*pattern == '*')
		return pattern + strspn(pattern, "*");
	return pattern + (*pattern == '\\' && pattern[1] ? 2 : 1);
}

/* Let part @nr take the bytes that @part, a pattern for one byte, matches. */
static void opts_add_part(struct nfg_comm_glob *glob, const char *part, unsigned int nr)
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

/* Let part @nr take the name's NUL, and all bytes after it. */
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

	memset(glob, 0, sizeof(*glob)); /* until it is complete, it matches nothing */
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
		opts_add_part(glob, part, part_cnt++);
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

#define SHOWN_MAX 3 /* number of an option's values that are named */

bool scopeopts_are_given(const struct opts *opts)
{
	return opts->pids.cnt || opts->tids.cnt || opts->cgroups.cnt || opts->containers.cnt ||
	       opts->pods.cnt || opts->netns.cnt || opts->comms.cnt;
}

bool scopeopts_is_command(const struct opts *opts)
{
	return opts->command && !scopeopts_are_given(opts) && !opts->host_side;
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

/* Put the text that precedes the @i-th of @cnt values. Return: whether the value follows. */
static bool put_between(struct strbuf *out, const char *lead, size_t i, size_t cnt)
{
	if (i == SHOWN_MAX && cnt > SHOWN_MAX + 1) {
		strbuf_printf(out, " or %zu others", cnt - SHOWN_MAX);
		return false;
	}
	strbuf_str(out, i ? " or " : lead);
	return true;
}

static bool opts_put_texts(struct strbuf *out, const char *lead, const char *quote,
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
	const bool is_named = opts_put_texts(out, " by a task named ", "'", &opts->comms);
	const bool has_pids =
		put_numbers(out, is_named ? " of process " : " by process ", &opts->pids);

	put_numbers(out,
		    has_pids   ? " or task "
		    : is_named ? " with the number "
			       : " by task ",
		    &opts->tids);
}

static void opts_put_cgroups(struct strbuf *out, const struct opts *opts)
{
	bool has = opts_put_texts(out, " in cgroup ", "", &opts->cgroups);

	has |= opts_put_texts(out, has ? " or container " : " in container ", "",
			      &opts->containers);
	opts_put_texts(out, has ? " or pod " : " in pod ", "", &opts->pods);
}

void scopeopts_text(struct strbuf *out, const struct opts *opts)
{
	if (scopeopts_is_command(opts)) {
		strbuf_str(out, " by the command");
		return;
	}
	put_tasks(out, opts);
	opts_put_cgroups(out, opts);
	opts_put_texts(out, " in network namespace ", "", &opts->netns);
}
