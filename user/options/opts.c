#include "options/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "options/complete.h"
#include "options/completescript.h"
#include "options/config.h"
#include "options/formatopts.h"
#include "format/profile.h"
#include "options/graphopts.h"
#include "options/manual.h"
#include "base/color.h"
#include "base/log.h"
#include "base/output.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "process/pager.h"
#include "options/opttab.h"
#include "options/optvalue.h"
#include "options/stageopts.h"

#define OPT_LONG_BASE   256 /* getopt's value of an option is this + its place in the table */
#define INTERVAL_MIN_NS 10000000

/* The table in the forms that getopt wants. */
struct getopt_forms {
	struct option longs[OPT_CNT_MAX + 1];
	char shorts[2 * OPT_CNT_MAX + 3];
};

static const char *const verb_names[] = {
	[VERB_TRACE] = "the trace", /* no word */
	[VERB_LIST] = "list",       [VERB_CHECK] = "check",     [VERB_RECORD] = "record",
	[VERB_REPORT] = "report",   [VERB_INFO] = "info",       [VERB_DIFF] = "diff",
	[VERB_PROFILE] = "profile", [VERB_LATENCY] = "latency", [VERB_HELP] = "help",
};
#define VERB_CNT (sizeof(verb_names) / sizeof(verb_names[0]))

static void forms_fill(struct getopt_forms *forms, bool takes_words)
{
	char *p = forms->shorts;

	*p++ = takes_words
		       ? '-'
		       : '+'; /* words among the options as they come; or stop at the first: the command */
	*p++ = ':';           /* tell a missing value from an unknown option */
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

static int usage(void)
{
	log_hint("netfgraph help all lists the options");
	return EXIT_STATUS_USAGE;
}

static const char *opt_name_at(int i)
{
	return (size_t)i < opt_def_cnt ? opt_defs[i].name : NULL;
}

/* What else an unknown word may mean, for a hint: the options that begin so, or are near. */
static int unknown(const char *word)
{
	const size_t len = strcspn(word + 2, "=");
	char name[SUGGEST_NAME_BYTES];
	struct strbuf begin = { 0 };
	bool is_abbreviation;
	const char *near;

	snprintf(name, sizeof(name), "%.*s", (int)len, word + 2);
	for (size_t i = 0; i < opt_def_cnt; i++) {
		if (len && opt_defs[i].help && !strncmp(opt_defs[i].name, name, len))
			strbuf_printf(&begin, "%s--%s", begin.len ? ", " : "", opt_defs[i].name);
	}
	strbuf_char(&begin, '\0');
	near = suggest_of(name, opt_name_at);
	is_abbreviation = begin.len > 1;
	if (is_abbreviation)
		log_error("'%s' may be %s", word, begin.ptr);
	else
		log_error("unknown option '%s'", word);
	strbuf_release(&begin);
	if (is_abbreviation || !*near)
		return usage();
	log_hint("did you mean --%s?", near);
	return EXIT_STATUS_USAGE;
}

/* getopt returned '?' or ':' for the word before optind, or for a letter in it. */
static int refuse(int what, char **argv)
{
	const char *word = argv[optind - 1];
	const struct opt_def *def = what == ':' ? def_of(optopt) : NULL;

	if (def)
		log_error("option --%s needs a value: %s", def->name, def->arg);
	else if (optopt && optopt < OPT_LONG_BASE)
		log_error("unknown option '-%c'", optopt);
	else if (optopt >= OPT_LONG_BASE)
		log_error("option --%s takes no value", def_of(optopt)->name);
	else
		return unknown(word);
	return usage();
}

/* An option that would say nothing here. */
static int refuse_option(const struct opt_def *def)
{
	char verbs[128] = "";

	for (size_t i = 0; i < VERB_CNT; i++) {
		size_t len = strlen(verbs);

		if (def->verbs & 1u << i)
			snprintf(verbs + len, sizeof(verbs) - len, "%s%s", len ? ", " : "",
				 verb_names[i]);
	}
	log_error("--%s belongs to: %s", def->name, verbs);
	return usage();
}

static int print_page(struct opts *opts, const struct opt_def *def)
{
	/* one line, a screen, and the manual's source need no pager */
	const bool is_long = opts->verb != VERB_TRACE && def->letter == 'h';
	struct strbuf text = { 0 };

	if (is_long)
		manual_verb(&text, opts->verb);
	else
		def->value.page(&text);
	opts->is_done = true;
	return pager_page(&text, NULL, is_long && !opts->no_pager) ? EXIT_STATUS_FAILED : 0;
}

const char *opts_verb_name(int i)
{
	return (size_t)i < VERB_CNT - VERB_LIST ? verb_names[VERB_LIST + i] : NULL;
}

/* What help takes: topics, then verbs. */
static const char *topic_at(int i)
{
	int topic_cnt = 0;

	while (topic_cnt <= i && manual_topic_name(topic_cnt))
		topic_cnt++;
	return i < topic_cnt ? manual_topic_name(i) : opts_verb_name(i - topic_cnt);
}

static int print_topic(struct opts *opts, const char *topic)
{
	struct strbuf text = { 0 };
	const char *near;

	if (!topic) {
		manual_help(&text);
	} else if (!manual_topic(&text, topic)) {
		strbuf_release(&text);
		log_error("help has no topic '%s'", topic);
		near = suggest_of(topic, topic_at);
		if (*near)
			log_hint("did you mean %s?", near);
		else
			log_hint("netfgraph help lists the topics");
		return EXIT_STATUS_USAGE;
	}
	opts->is_done = true;
	return pager_page(&text, NULL, topic && !opts->no_pager) ? EXIT_STATUS_FAILED : 0;
}

static int apply(struct opts *opts, const struct opt_def *def, const char *text)
{
	const char *why;

	if (!(def->verbs & 1u << opts->verb))
		return refuse_option(def);
	if (def->value.type == OPT_PAGE)
		return print_page(opts, def);
	why = optvalue_set(opts, def, text);
	opts->given[def - opt_defs] = true;
	if (!why)
		return 0;
	log_error("--%s: '%s' %s", def->name, text, why);
	if (!opts->host_hint)
		return usage();
	log_hint("%s", opts->host_hint);
	return EXIT_STATUS_FAILED;
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

static const char *take_word(struct opts *opts, const char *word)
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

/* Return: whether a file can answer everything that was asked; otherwise an error was printed. */
static bool suits_file(const struct opts *opts)
{
	const char *name = opts->irqs ? NULL : "graph-opts noirqs";

	if (!opts->input_path)
		return true;
	for (size_t i = 0; i < opt_def_cnt && !name; i++) {
		if (opt_defs[i].verbs & OPT_LIVE_ONLY && optvalue_is_given(opts, &opt_defs[i]))
			name = opt_defs[i].name;
	}
	if (name) {
		log_error("--%s works only while tracing, not on a file", name);
		return false;
	}
	for (size_t i = 0; i < opts->trace_funcs.cnt; i++) {
		if (*opts->trace_funcs.items[i] != '+')
			continue;
		log_error("-T %s: + works only while tracing, not on a file",
			  opts->trace_funcs.items[i]);
		return false;
	}
	return true;
}

static bool sorts_by(const struct opts *opts, uint32_t keys)
{
	return !opts->has_sort || keys & 1u << opts->profile_sort;
}

/* The same of tables, and of verbs that read files alone. */
static const char *table_contradiction(const struct opts *opts)
{
	if (opts->verb == VERB_INFO && !opts->input_path)
		return "info needs a FILE (- is standard input)";
	if (opts->verb == VERB_DIFF && !opts->other_path)
		return "diff needs two FILEs";
	if (opts->verb == VERB_DIFF && !strcmp(opts->input_path, "-") &&
	    !strcmp(opts->other_path, "-"))
		return "diff can read only one FILE from standard input";
	if (opts->verb == VERB_INFO &&
	    !sorts_by(opts, 1u << PROFILE_BY_COUNT | 1u << PROFILE_BY_NAME))
		return "info sorts by count or name";
	if (opts->verb == VERB_DIFF &&
	    !sorts_by(opts, 1u << PROFILE_BY_COUNT | 1u << PROFILE_BY_TOTAL | 1u << PROFILE_BY_P50 |
				    1u << PROFILE_BY_P99 | 1u << PROFILE_BY_NAME))
		return "diff sorts by count, total, p50, p99 or name";
	if (opts->interval_ns && opts->interval_ns < INTERVAL_MIN_NS)
		return "--interval is 10ms at least";
	return formatopts_contradiction(opts);
}

static const char *flight_contradiction(const struct opts *opts)
{
	if (!opts->ring_bytes)
		return "--when, --window, --pause and --max-disk need --ring";
	if (!opts->when)
		return "--ring needs --when";
	if (opts->max_bytes || opts->rotate_bytes)
		return "--ring excludes --max-size and --rotate; --max-disk limits its recordings";
	if (opts->disk_bytes && opts->disk_bytes < opts->ring_bytes)
		return "--max-disk must be --ring at least: a recording may be that large";
	return NULL;
}

/* What cannot go together. Return: NULL, or the whole complaint. */
static const char *contradiction(const struct opts *opts)
{
	if (opts->verb == VERB_RECORD && !opts->output_path)
		return "record needs -o FILE";
	if (opts->verb == VERB_REPORT && !opts->input_path)
		return "report needs a FILE (- is standard input)";
	if (opts->verb == VERB_LATENCY && opts->latency_by == LATENCY_BY_FUNCTION &&
	    !opts->latency_funcs.cnt)
		return "latency needs the names of functions";
	if ((opts->callee_depth || opts->all_callees) && !opts->graph_funcs.cnt &&
	    !opts->presets.cnt)
		return opts->all_callees ? "--all needs -G or --preset"
					 : "--callee-depth needs -G or --preset";
	if (graphopts_lacks_starts(opts))
		return "--graph-opts stack needs start functions (-G, --preset, --packet or --filter)";
	if (opts->vmlinux && !opts->has_source)
		return "--vmlinux needs --source";
	if (opts->has_source && opts->verb == VERB_TRACE && !opts->input_path && !opts->has_stack &&
	    !opts->has_retaddr)
		return "--source needs --graph-opts stack or retaddr";
	if (opts->input_path && opts->command)
		return "--input and a COMMAND exclude each other";
	if (opts->list_containers && (opts->list_presets || opts->list_plan))
		return "--containers, --presets and --plan exclude each other";
	if (opts->verb == VERB_LIST && opts->json && !opts->list_containers)
		return "--json needs --containers";
	if (opts->user && !opts->command)
		return "--user needs a COMMAND";
	if (opts->rotate_bytes && !opts->output_path)
		return "--rotate needs -o FILE";
	if (opts->rotate_bytes && opts->max_bytes)
		return "--rotate and --max-size exclude each other";
	if (opts->ring_bytes || opts->when || opts->window_ns || opts->pause_ns || opts->disk_bytes)
		return flight_contradiction(opts);
	if (opts->is_total_time && opts->format != FORMAT_FOLDED)
		return "--total-time belongs to --format folded";
	if (opts->has_attach + opts->is_complete + opts->is_cheap > 1)
		return "--attach, --complete and --cheap exclude each other";
	if (opts->input_is_text && !opts->input_path)
		return "--from needs a file: --input FILE";
	return NULL;
}

static int word_take(struct opts *opts, const char *word)
{
	const char *why = take_word(opts, word);

	if (!why)
		return 0;
	log_error("'%s' %s", word, why);
	return usage();
}

/* Defaults for what the command line leaves open. Return: the exit status. */
static int configure(struct opts *opts, const struct config_places *places)
{
	int status;

	if (!places || opts->no_config || opts->completes || opts->prints_completion)
		return 0;
	opts->config = calloc(1, sizeof(*opts->config));
	if (!opts->config) {
		log_error("configuration files do not fit in memory");
		return EXIT_STATUS_FAILED;
	}
	status = config_read(opts->config, places);
	if (!status)
		config_apply(opts->config, opts);
	/* reading tried what a file says */
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

/* What is printed instead of a trace, once the whole command line is known. Return: the exit status. */
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
	return output_page(&text, NULL) ? EXIT_STATUS_FAILED : 0;
}

/* Something that files say may be part of it. */
static int usage_with_files(const struct opts *opts)
{
	if (!opts->config || !opts->config->line_cnt)
		return usage();
	log_hint("--print-config shows the defaults from files, --no-config ignores them");
	return EXIT_STATUS_USAGE;
}

/* The words behind the options, or behind "--": a command, names, a file. */
static int words_take(struct opts *opts, const struct config_places *places, char **words)
{
	const char *why;
	int status;

	if (opts_takes_command(opts->verb) || opts->verb == VERB_LATENCY) {
		opts->command = *words ? words : NULL;
	} else {
		for (; *words; words++) {
			if (word_take(opts, *words))
				return EXIT_STATUS_USAGE;
		}
	}
	status = configure(opts, places);
	if (!status)
		status = print_instead(opts, places);
	if (status || opts->is_done)
		return status;
	why = contradiction(opts);
	if (!why)
		why = table_contradiction(opts);
	if (!why)
		why = stageopts_settle(opts);
	if (!why)
		why = graphopts_settle(opts);
	if (!why && (opts->rotate_bytes || opts->max_bytes) && opts->format != FORMAT_TEXT &&
	    opts->format != FORMAT_JSON)
		why = "--max-size and --rotate need --format text or json, or record";
	if (!why)
		return suits_file(opts) ? 0 : usage_with_files(opts);
	log_error("%s", why);
	return usage_with_files(opts);
}

/* Where the first word is that is neither an option nor an option's value, nor behind "--"; 0: nowhere, or an error is first. */
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

/* The verb may stand behind options; it goes before them. Return: whether argv[1] is one now. */
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

/* Options say nothing here, but for --no-pager. @argv: from the verb on. */
static int help(struct opts *opts, int argc, char **argv)
{
	const int at = first_word(argc, argv);

	if (at && argv[at + 1]) {
		log_error("help takes one topic, and '%s' is another", argv[at + 1]);
		log_hint("netfgraph help lists the topics");
		return EXIT_STATUS_USAGE;
	}
	for (int i = 1; i < argc; i++)
		opts->no_pager |= !strcmp(argv[i], "--no-pager");
	return print_topic(opts, at ? argv[at] : NULL);
}

int opts_parse(struct opts *opts, int argc, char **argv)
{
	return opts_parse_with(opts, NULL, argc, argv);
}

int opts_parse_with(struct opts *opts, const struct config_places *places, int argc, char **argv)
{
	struct getopt_forms forms = { 0 };
	int status = 0;
	int value;

	*opts = (struct opts){ 0 };
	opts->columns = render_columns_default;
	opts->irqs = true;
	if (verb_to_front(argc, argv)) {
		opts->verb = opts_verb_of(argv[1]);
		argv++;
		argc--;
	}
	opts->words = argv;
	if (opts->verb == VERB_HELP)
		return help(opts, argc, argv);
	forms_fill(&forms, !opts_takes_command(opts->verb));
	opterr = 0;
	optind = 0; /* start over, also when called again */
	while (!status && !opts->is_done) {
		optopt = 0;
		value = getopt_long(argc, argv, forms.shorts, forms.longs, NULL);
		if (value == -1)
			break;
		if (value == '?' || value == ':')
			return refuse(value, argv);
		status = value == 1 ? word_take(opts, optarg) : apply(opts, def_of(value), optarg);
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
	str_list_release(&opts->presets);
	pcapfilter_release(&opts->packet);
	filter_free(opts->filter);
	free(opts->when);
	if (opts->config)
		config_release(opts->config);
	free(opts->config);
	*opts = (struct opts){ 0 };
}
