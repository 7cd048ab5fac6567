#include "options/stageopts.h"

static const char *contradiction(const struct opts *opts)
{
	if (opts->latency_funcs.cnt)
		return "--by stage takes no functions: -T +GLOB adds some";
	if (opts->graph_funcs.cnt || opts->presets.cnt)
		return "--by stage has start functions of its own: --packet chooses packets";
	if (opts->format != FORMAT_TEXT && opts->format != FORMAT_JSON &&
	    opts->format != FORMAT_CSV)
		return "--by stage has --format text, json or csv";
	if (opts->interval_ns || opts->has_callers || opts->has_callees || opts->has_sort ||
	    opts->profile_rows)
		return "--by stage has one table, in the order of the stages: no -i, --sort, --rows, --callers, --callees";
	return NULL;
}

const char *stageopts_settle(struct opts *opts)
{
	const char *why;

	if (opts->latency_by != LATENCY_BY_STAGE)
		return NULL;
	why = contradiction(opts);
	if (why)
		return why;
	/* packets are identified by arguments, which are not printed */
	opts->has_args = true;
	opts->pointers = true;
	return opts->input_path ? NULL : str_list_add(&opts->presets, "stages");
}
