#include "options/opts.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "options/graphopts.h"
#include "options/manual.h"
#include "base/log.h"
#include "base/output.h"
#include "base/strbuf.h"
#include "base/suggest.h"
#include "options/opttab.h"
#include "options/optvalue.h"

#define OPT_LONG_BASE 256 /* getopt's value of an option is this + its place in the table */
#define OPT_CNT_MAX   80

/* The table in the forms that getopt wants. */
struct getopt_forms {
	struct option longs[OPT_CNT_MAX + 1];
	char shorts[2 * OPT_CNT_MAX + 3];
};

static const char *const verb_names[] = {
	[VERB_TRACE] = "the trace", /* no word */
	[VERB_LIST] = "list",       [VERB_CHECK] = "check",     [VERB_RECORD] = "record",
	[VERB_REPORT] = "report",   [VERB_PROFILE] = "profile", [VERB_LATENCY] = "latency",
	[VERB_HELP] = "help",
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
			.has_arg = def->arg ? required_argument : no_argument,
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
	struct strbuf text = { 0 };

	if (opts->verb != VERB_TRACE && def->letter == 'h')
		manual_verb(&text, opts->verb);
	else
		def->value.page(&text);
	opts->is_done = true;
	return output_page(&text) ? EXIT_STATUS_FAILED : 0;
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
		near = suggest_of(topic, manual_topic_name);
		if (*near)
			log_hint("did you mean %s?", near);
		else
			log_hint("netfgraph help lists the topics");
		return EXIT_STATUS_USAGE;
	}
	opts->is_done = true;
	return output_page(&text) ? EXIT_STATUS_FAILED : 0;
}

static int apply(struct opts *opts, const struct opt_def *def, const char *text)
{
	const char *why;

	if (!(def->verbs & 1u << opts->verb))
		return refuse_option(def);
	if (def->value.type == OPT_PAGE)
		return print_page(opts, def);
	why = optvalue_set(opts, def, text);
	if (!why)
		return 0;
	log_error("--%s: '%s' %s", def->name, text, why);
	return usage();
}

const char *opts_verb_name(int i)
{
	return (size_t)i < VERB_CNT - VERB_LIST ? verb_names[VERB_LIST + i] : NULL;
}

enum opts_verb opts_verb_of(const char *word)
{
	for (size_t i = VERB_LIST; word && i < VERB_CNT; i++) {
		if (!strcmp(verb_names[i], word))
			return (enum opts_verb)i;
	}
	return VERB_TRACE;
}

/* Verbs behind whose options a command may stand; the others take words among these, latency a command behind "--". */
static bool takes_command(enum opts_verb verb)
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
		if (opts->input_path)
			return "is one file too many";
		opts->input_path = word;
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

/* What cannot go together. Return: NULL, or the whole complaint. */
static const char *contradiction(const struct opts *opts)
{
	if (opts->verb == VERB_RECORD && !opts->output_path)
		return "record needs -o FILE";
	if (opts->verb == VERB_REPORT && !opts->input_path)
		return "report needs a FILE (- is standard input)";
	if (opts->verb == VERB_LATENCY && !opts->latency_funcs.cnt)
		return "latency needs the names of functions";
	if ((opts->callee_depth || opts->all_callees) && !opts->graph_funcs.cnt &&
	    !opts->presets.cnt)
		return opts->all_callees ? "--all needs -G or --preset"
					 : "--callee-depth needs -G or --preset";
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

/* The words behind the options, or behind "--": a command, names, a file. */
static int words_take(struct opts *opts, char **words)
{
	const char *why;

	if (takes_command(opts->verb) || opts->verb == VERB_LATENCY) {
		opts->command = *words ? words : NULL;
	} else {
		for (; *words; words++) {
			if (word_take(opts, *words))
				return EXIT_STATUS_USAGE;
		}
	}
	why = contradiction(opts);
	if (!why)
		why = graphopts_settle(opts);
	if (!why && (opts->rotate_bytes || opts->max_bytes) && opts->format != FORMAT_TEXT &&
	    opts->format != FORMAT_JSON)
		why = "--max-size and --rotate need --format text or json, or record";
	if (!why)
		return suits_file(opts) ? 0 : usage();
	log_error("%s", why);
	return usage();
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

/* Options say nothing here. @argv: from the verb on. */
static int help(struct opts *opts, int argc, char **argv)
{
	const int at = first_word(argc, argv);

	if (at && argv[at + 1]) {
		log_error("help takes one topic, and '%s' is another", argv[at + 1]);
		log_hint("netfgraph help lists the topics");
		return EXIT_STATUS_USAGE;
	}
	return print_topic(opts, at ? argv[at] : NULL);
}

int opts_parse(struct opts *opts, int argc, char **argv)
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
	if (opts->verb == VERB_HELP)
		return help(opts, argc, argv);
	forms_fill(&forms, !takes_command(opts->verb));
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
		status = words_take(opts, argv + optind);
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
	*opts = (struct opts){ 0 };
}
