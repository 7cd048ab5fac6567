#include "options/formatopts.h"

static bool is_of_table(enum opts_verb verb)
{
	return verb == VERB_PROFILE || verb == VERB_LATENCY;
}

static bool is_of_facts(enum opts_verb verb)
{
	return verb == VERB_LIST || verb == VERB_CHECK || verb == VERB_INFO || verb == VERB_DIFF;
}

bool formatopts_has(enum opts_verb verb, enum format_kind kind)
{
	if (!is_of_table(verb) && !is_of_facts(verb))
		return kind < FORMAT_ROWS_CNT;
	if (kind == FORMAT_METRICS)
		return is_of_table(verb);
	return kind == FORMAT_TEXT || kind == FORMAT_JSON || kind == FORMAT_CSV;
}

bool formatopts_has_callers(enum format_kind kind)
{
	return kind != FORMAT_CSV && kind != FORMAT_METRICS;
}

bool formatopts_can_be_cut(enum format_kind kind)
{
	return kind == FORMAT_TEXT || kind == FORMAT_JSON;
}

static const char *unsuited(const struct opts *opts)
{
	if (formatopts_has(opts->verb, opts->format))
		return NULL;
	if (opts->format == FORMAT_METRICS)
		return "--format openmetrics is for tables: profile and latency";
	if (is_of_table(opts->verb))
		return "tables have --format text, json, csv or openmetrics";
	if (is_of_facts(opts->verb))
		return "list, check, info and diff have --format text, json or csv";
	return "--format csv is for tables: profile, latency, list, check, info and diff";
}

static const char *metrics_contradiction(const struct opts *opts)
{
	const bool is_metrics = opts->format == FORMAT_METRICS;

	if (opts->output_dir && !is_metrics)
		return "--output-dir belongs to --format openmetrics";
	if (opts->output_dir && opts->output_path)
		return "--output-dir and -o exclude each other";
	if (is_metrics && opts->interval_ns && !opts->output_dir)
		return "--format openmetrics with -i needs --output-dir DIR";
	return NULL;
}

const char *formatopts_contradiction(const struct opts *opts)
{
	const bool is_metrics = opts->format == FORMAT_METRICS;
	const char *why = unsuited(opts);

	if (why)
		return why;
	if (opts->json && opts->format != FORMAT_TEXT)
		return "--json and --format exclude each other";
	if (!formatopts_has_callers(opts->format) && (opts->has_callers || opts->has_callees))
		return is_metrics
			       ? "--format openmetrics has no place for callers and callees: --format json has"
			       : "--format csv has no place for callers and callees: --format json has";
	return metrics_contradiction(opts);
}
