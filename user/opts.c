#include "opts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "opttab.h"

#define OPT_LONG_BASE 256 /* getopt's value of an option is this + its place in the table */
#define OPT_CNT_MAX   64

/* The table in the forms that getopt wants. */
struct getopt_forms {
	struct option longs[OPT_CNT_MAX + 1];
	char shorts[2 * OPT_CNT_MAX + 3];
};

static void forms_fill(struct getopt_forms *forms)
{
	char *p = forms->shorts;

	*p++ = '+'; /* stop at the first word that is no option: the command */
	*p++ = ':'; /* tell a missing value from an unknown option */
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
	log_hint("netfgraph --help lists the options");
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
		log_error("unknown option '%s'", word);
	return usage();
}

static int apply(struct opts *opts, const struct opt_def *def, const char *text)
{
	const char *why = def->apply(opts, text);

	if (!why)
		return 0;
	if (!def->arg) {
		log_error("--%s %s", def->name, why);
		return EXIT_STATUS_FAILED;
	}
	log_error("--%s: '%s' %s", def->name, text, why);
	return usage();
}

int opts_parse(struct opts *opts, int argc, char **argv)
{
	struct getopt_forms forms = { 0 };
	int status = 0;
	int value;

	*opts = (struct opts){ 0 };
	opts->columns = render_columns_default;
	opts->irqs = true;
	forms_fill(&forms);
	opterr = 0;
	optind = 0; /* start over, also when called again */
	while (!status && !opts->is_done) {
		optopt = 0;
		value = getopt_long(argc, argv, forms.shorts, forms.longs, NULL);
		if (value == -1)
			break;
		if (value == '?' || value == ':')
			return refuse(value, argv);
		status = apply(opts, def_of(value), optarg);
	}
	if (optind < argc)
		opts->command = argv + optind;
	return status;
}

void opts_release(struct opts *opts)
{
	free(opts->trace_funcs.items);
	free(opts->notrace_funcs.items);
	free(opts->cgroups.items);
	free(opts->containers.items);
	free(opts->netns.items);
	free(opts->comms.items);
	num_list_release(&opts->pids);
	num_list_release(&opts->tids);
	*opts = (struct opts){ 0 };
}
