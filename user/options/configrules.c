#include "options/configrules.h"

#include <string.h>

#include "format/profile.h"
#include "options/contradict.h"
#include "options/formatopts.h"
#include "options/graphopts.h"

enum { GROUP_NONE, GROUP_ATTACH, GROUP_FORMAT, GROUP_SIZE };

static bool is_trace(const struct opts *opts)
{
	return !opts->input_path;
}

/* A file's graphs are as deep as it has them. */
static bool has_starts(const struct opts *opts)
{
	return is_trace(opts) && (opts->graph_funcs.cnt || opts->presets.cnt);
}

/* latency measures the functions that it is given, or those of its stages; presets and containers are no functions. */
static bool takes_default_funcs(const struct opts *opts)
{
	return opts->verb != VERB_LATENCY && !opts->list_presets && !opts->list_containers;
}

/* Nothing else selects functions: no start functions, no names after list, no file. */
static bool chooses_funcs(const struct opts *opts)
{
	return is_trace(opts) && takes_default_funcs(opts) && !has_starts(opts) &&
	       !opts->trace_funcs.cnt;
}

static bool chooses_columns(const struct opts *opts)
{
	return is_trace(opts) && !opts->consumer;
}

/* A table of stages has all of them, in their order. */
static bool has_rows_of_funcs(const struct opts *opts)
{
	return opts->latency_by != LATENCY_BY_STAGE;
}

static bool has_command(const struct opts *opts)
{
	return opts->command != NULL;
}

static bool has_callers(const struct opts *opts)
{
	return has_rows_of_funcs(opts) && formatopts_has_callers(opts->format);
}

static bool has_sort(const struct opts *opts, const char *text)
{
	enum profile_sort key;

	return !profile_sort_by_name(text, &key) && contradict_can_sort(opts->verb, (int)key);
}

/* A flight recorder's files have limits of their own. */
static bool can_be_cut(const struct opts *opts)
{
	const enum format_kind kind = opts->consumer ? opts->consumer->format : opts->format;

	return formatopts_can_be_cut(kind) && !opts->ring_bytes;
}

static bool can_be_rotated(const struct opts *opts)
{
	return opts->output_path && can_be_cut(opts);
}

/* Whether the command line has what a format of this kind cannot do. */
static bool excludes_format(const struct opts *opts, enum format_kind kind)
{
	if ((opts->max_bytes || opts->rotate_bytes) && !formatopts_can_be_cut(kind))
		return true;
	if ((opts->has_callers || opts->has_callees) && !formatopts_has_callers(kind))
		return true;
	return kind == FORMAT_METRICS &&
	       (!has_rows_of_funcs(opts) || (opts->interval_ns && !opts->output_dir));
}

/* A format applies to traces and their tables: other output is for people, unless the command line has a format. */
static bool has_format(const struct opts *opts, const char *text)
{
	const bool is_of_calls = opts->verb == VERB_TRACE || opts->verb == VERB_REPORT ||
				 opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY;
	enum format_kind kind;

	return is_of_calls && !format_by_name(text, &kind) && formatopts_has(opts->verb, kind) &&
	       !excludes_format(opts, kind);
}

/* The same of a consumer, which may also need other columns than the command line has. */
static bool has_consumer(const struct opts *opts, const char *text)
{
	struct opts probe = *opts;

	/* a format here is of the same files, which then contradict themselves */
	probe.has_format = false;
	return !graphopts_apply_consumer(&probe, text) && !graphopts_settle(&probe) &&
	       !excludes_format(opts, probe.format);
}

/*
 * What one run is about (its calls, tasks and files) belongs on the command line: in a file it would hide the rest.
 * In the order in which defaults are set: the format before what depends on it.
 */
const struct config_rule config_rules[] = {
	{ "trace-funcs", 0, chooses_funcs, NULL },
	{ "notrace-funcs", 0, is_trace, NULL },
	{ "nosleep-time", 0, is_trace, NULL },
	{ "callee-depth", 0, has_starts, NULL },
	{ "all", 0, has_starts, NULL },
	{ "max-funcs", 0, is_trace, NULL },
	{ "user", 0, has_command, NULL },
	{ "include-terminal", 0, is_trace, NULL },
	{ "graph-depth", 0, NULL, NULL },
	{ "dialect", 0, NULL, NULL },
	{ "pointers", 0, NULL, NULL },
	{ "format", GROUP_FORMAT, NULL, has_format },
	{ "for", GROUP_FORMAT, NULL, has_consumer },
	{ "graph-opts", 0, chooses_columns, NULL },
	{ "sort", 0, has_rows_of_funcs, has_sort },
	{ "callers", 0, has_callers, NULL },
	{ "rows", 0, has_rows_of_funcs, NULL },
	{ "max-tasks", 0, is_trace, NULL },
	{ "by-event", 0, is_trace, NULL },
	{ "max-size", GROUP_SIZE, can_be_cut, NULL },
	{ "rotate", GROUP_SIZE, can_be_rotated, NULL },
	{ "host", 0, is_trace, NULL },
	{ "timeout", 0, is_trace, NULL },
	{ "buffer-size", 0, is_trace, NULL },
	{ "max-overhead", 0, NULL, NULL },
	{ "max-events", 0, NULL, NULL },
	{ "attach", GROUP_ATTACH, is_trace, NULL },
	{ "complete", GROUP_ATTACH, is_trace, NULL },
	{ "cheap", GROUP_ATTACH, is_trace, NULL },
	{ "wait-detach", 0, is_trace, NULL },
	{ "strict", 0, NULL, NULL },
	{ "color", 0, NULL, NULL },
	{ "no-pager", 0, NULL, NULL },
	{ "verbose", 0, NULL, NULL },
};
const size_t config_rule_cnt = sizeof(config_rules) / sizeof(config_rules[0]);

const struct config_rule *config_rule_of(const struct opt_def *def)
{
	for (size_t i = 0; i < config_rule_cnt; i++) {
		if (!strcmp(config_rules[i].name, def->name))
			return &config_rules[i];
	}
	return NULL;
}

const char *config_name(int i)
{
	return (size_t)i < config_rule_cnt ? config_rules[i].name : NULL;
}

bool config_is_given(const struct opts *opts, const struct opt_def *def)
{
	const struct config_rule *rule = config_rule_of(def);

	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct config_rule *other = config_rule_of(&opt_defs[i]);

		if (opts->given[i] && (&opt_defs[i] == def || (rule && rule->group && other &&
							       other->group == rule->group)))
			return true;
	}
	return false;
}
