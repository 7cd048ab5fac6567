#include "options/contradict.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "format/keytable.h"
#include "format/profile.h"
#include "nfg_abi.h"
#include "options/explainopts.h"
#include "options/graphopts.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "select/presets.h"
#include "select/select.h"

static bool is_of_table(enum opts_verb verb)
{
	return verb == VERB_PROFILE || verb == VERB_LATENCY;
}

static bool is_of_facts(enum opts_verb verb)
{
	return verb == VERB_LIST || verb == VERB_CHECK || verb == VERB_INFO || verb == VERB_DIFF;
}

static const char *unsuited(const struct opts *opts)
{
	const struct format_traits *format = format_traits(opts->format);

	if (is_of_table(opts->verb))
		return format->is_of_tables ? NULL
					    : "tables have --format text, json, csv or openmetrics";
	if (opts->verb == VERB_EXPLAIN)
		return opts->format == FORMAT_TEXT || opts->format == FORMAT_HTML
			       ? NULL
			       : "explain has --format text or html, and --json";
	if (!is_of_facts(opts->verb) || (!format->is_of_facts && format->tables_why))
		return format->tables_why;
	return format->is_of_facts ? NULL
				   : "list, check, info and diff have --format text, json or csv";
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

/* formatopts_contradiction - check --format, --json and --output-dir. Return: NULL, or the whole complaint (static). */
static const char *formatopts_contradiction(const struct opts *opts)
{
	const char *why = unsuited(opts);
	static char lack[120];

	if (why)
		return why;
	if (opts->json && opts->format != FORMAT_TEXT)
		return "--json and --format exclude each other";
	if (!format_traits(opts->format)->lacks_neighbours ||
	    !(opts->has_callers || opts->has_callees))
		return metrics_contradiction(opts);
	snprintf(lack, sizeof(lack),
		 "--format %s has no place for callers and callees: --format json has",
		 format_name(opts->format));
	return lack;
}

/* Whether profile --by counts tracepoints alone. */
static bool counts_points(const struct opts *opts)
{
	if (opts->by != BY_KEY || opts->input_path || opts->trace_funcs.cnt ||
	    opts->graph_funcs.cnt || opts->presets.cnt)
		return false;
	return opts->events.cnt || opts_counts_by(opts, ROWKEY_REASON);
}

/* What to count in place of tracepoints. */
static const char *with_function(const struct opts *opts)
{
	return opts_counts_drops(opts)
		       ? "-T sk_skb_reason_drop (before 6.11 kfree_skb_reason, before 5.17 kfree_skb) counts the calls that drop packets"
		       : "-T FUNC counts calls, too, and chooses among these";
}

/* profile --by, but for function. */
static const char *keyopts_contradiction(struct opts *opts)
{
	static char why[120];
	struct strbuf by = { 0 };
	const struct selector *selector =
		counts_points(opts) ? selector_of(opts, SELECTS_EVENTS) : NULL;

	if (opts->by < BY_KEY && opts->has_sort && opts->profile_sort == PROFILE_BY_BYTES)
		return "--sort bytes belongs to profile --by flow and its like, which have that column";
	if (opts->by < BY_KEY)
		return opts->verb == VERB_PROFILE && opts->events.cnt
			       ? "profile takes -e only with --by"
			       : NULL;
	if (opts->has_callers || opts->has_callees)
		return "--callers and --callees belong to tables of functions";
	if (opts->interval_ns && opts->input_path)
		return "profile --by has one table of a file: no -i";
	if (counts_points(opts) && (selector || opts->host_side)) {
		opts->hint = with_function(opts);
		snprintf(
			why, sizeof(why),
			"%s chooses among calls of functions, but without -T, -G or --preset only tracepoints are counted",
			selector ? selector->option : "--host-side");
		return why;
	}
	if (!opts->has_sort || keytable_sorts((enum profile_sort)opts->profile_sort))
		return NULL;
	rowkeys_put_name(&by, &opts->keys, ',');
	snprintf(why, sizeof(why),
		 "--by %s sorts by count, total, avg, p50, p99, max, net, bytes or name",
		 strbuf_cstr(&by));
	strbuf_release(&by);
	return why;
}

/* A table has no columns of rows. */
static const char *column_contradiction(const struct opts *opts)
{
	const bool is_table =
		opts->verb == VERB_PROFILE || opts->verb == VERB_LATENCY || opts->verb == VERB_DIFF;
	const char *column = is_table ? graphopts_row_column(opts) : NULL;
	static char why[128];

	if (!column)
		return NULL;
	snprintf(why, sizeof(why), "--graph-opts %s is a column of graphs, and %s prints tables",
		 column, opts_verb_name((int)opts->verb - VERB_LIST));
	return why;
}

/* Which verb has which tables. */
static const char *byopts_contradiction(struct opts *opts)
{
	const char *why = column_contradiction(opts);

	if (why)
		return why;
	if (opts->verb == VERB_PROFILE && opts->by == BY_STAGE)
		return "--by stage belongs to: latency, diff";
	if (opts->verb != VERB_PROFILE && opts->by == BY_KEY)
		return "latency and diff have --by function or stage";
	return keyopts_contradiction(opts);
}

/* They would be traced besides the functions of the stages, or without some of them. */
static const char *live_stage_funcs(struct opts *opts)
{
	static char hint[160];

	for (size_t i = 0; !opts->input_path && i < opts->trace_funcs.cnt; i++) {
		if (*opts->trace_funcs.items[i] == '+')
			continue;
		snprintf(hint, sizeof(hint), "-T '+%.80s' adds it to them",
			 opts->trace_funcs.items[i]);
		opts->hint = hint;
		return "--by stage has functions of its own, so -T takes +GLOB only";
	}
	return NULL;
}

/* Without some of its calls, a packet that went on seems to be freed or lost. */
static const char *stage_gaps(const struct opts *opts)
{
	if (opts->starts.slower_ns || opts->errors_only || opts->filter)
		return "--by stage follows packets from call to call: without calls that --slower-than, --errors-only or --filter leaves out, ends and times would be false";
	if (opts->has_cpus || opts->graph_depth || opts->nograph_funcs.cnt)
		return "--by stage follows packets from call to call: without calls that -C, -D or -g leaves out, ends and times would be false";
	return NULL;
}

static const char *stageopts_contradiction(struct opts *opts)
{
	const char *why;

	if (opts->by != BY_STAGE && opts->verb == VERB_LATENCY && opts->shown)
		return "latency takes --show only with --by stage, as --show stamps";
	if (opts->by != BY_STAGE)
		return opts->verb == VERB_LATENCY && opts->follows
			       ? "latency takes --track only with --by stage"
			       : NULL;
	if (opts->shown && (opts->shown->cnt || opts->shown->has_facts[SHOWN_RULES]))
		return "--by stage shows no members: of --show it takes the word stamps alone";
	if (opts->latency_funcs.cnt)
		return "--by stage takes no functions: -T +GLOB adds some";
	why = live_stage_funcs(opts);
	if (!why)
		why = stage_gaps(opts);
	if (why)
		return why;
	if (opts->graph_funcs.cnt || opts->presets.cnt)
		return "--by stage has start functions of its own: --packet chooses packets";
	if (!format_traits(opts->format)->is_of_facts)
		return "--by stage has --format text, json or csv";
	if (opts->interval_ns || opts->has_callers || opts->has_callees || opts->has_sort ||
	    opts->profile_rows)
		return "--by stage has one table, in the order of the stages: no -i, --sort, --rows, --callers, --callees";
	if (opts->diff_per != DIFF_AUTO)
		return "--by stage counts the packets of the whole files: no --per";
	return NULL;
}

#define INTERVAL_MIN_NS 10000000

/* ---- omitted arguments ---- */

/* Whether standard input is a pipe or a file, which is meant to be read; a terminal is not. */
static bool has_piped_input(void)
{
	struct stat st;

	return !fstat(STDIN_FILENO, &st) && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode));
}

void contradict_fill_paths(struct opts *opts)
{
	const bool is_stdout = opts->output_path && !strcmp(opts->output_path, "-");

	if (is_stdout && opts->verb != VERB_RECORD)
		opts->output_path = NULL; /* as without -o */
	if (opts->verb == VERB_REPORT && !opts->input_path && has_piped_input())
		opts->input_path = "-";
}

/* ---- missing arguments ---- */

/* The command line that was probably meant. */
static const char *with_output(const struct opts *opts)
{
	static char hint[320];
	struct strbuf text = { 0 };

	optwords_with(&text, opts, "-o FILE");
	strbuf_char(&text, '\0');
	snprintf(hint, sizeof(hint), "%s", text.ptr ? text.ptr : "");
	strbuf_release(&text);
	return hint;
}

/* Take the functions of netfgraph latency -T FUNC, the syntax of perf ftrace. */
static const char *take_latency_funcs(struct opts *opts)
{
	const char *why = NULL;

	for (size_t i = 0; i < opts->trace_funcs.cnt && !why; i++) {
		if (*opts->trace_funcs.items[i] != '+')
			why = str_list_add(&opts->latency_funcs, opts->trace_funcs.items[i]);
	}
	return why;
}

/* Return: NULL, or the complaint about a missing argument. */
static const char *missing(struct opts *opts)
{
	const bool is_by_func = opts->verb == VERB_LATENCY && opts->by == BY_FUNCTION;
	const char *why = NULL;

	if (opts->verb == VERB_RECORD && !opts->output_path) {
		opts->hint = with_output(opts);
		return "record needs -o FILE";
	}
	if (opts->verb == VERB_RECORD && !strcmp(opts->output_path, "-")) {
		opts->hint = "a recording goes to a file: netfgraph record -o FILE";
		return "record cannot write to standard output";
	}
	if (opts->verb == VERB_EXPLAIN && opts->input_path && opts->command)
		return "FILE and a COMMAND exclude each other: a file is read, a command is traced";
	if (opts->verb == VERB_REPORT && !opts->input_path)
		return "report needs a FILE (- is standard input)";
	if (is_by_func && !opts->latency_funcs.cnt)
		why = take_latency_funcs(opts);
	if (!why && is_by_func && !opts->latency_funcs.cnt) {
		opts->hint = "netfgraph latency tcp_sendmsg; a COMMAND goes after --";
		why = "latency needs the names of functions";
	}
	if (opts->verb == VERB_LIST && opts->json && !opts->list_containers) {
		opts->hint = "--format json prints the functions as JSON";
		return "--json needs --containers";
	}
	return why;
}

/* ---- options that exclude each other ---- */

/* An equivalent for files, or for a later time. NULL: none. */
static const char *live_hint(const struct opts *opts, const char *name)
{
	static const struct {
		const char *name;
		const char *hint;
	} hints[] = {
		{ "pid", "--tid and --comm select tasks of a file" },
		{ "cgroup", "with record --cgroup, the recording has only these tasks" },
		{ "container", "with record --container, the recording has only these tasks" },
		{ "pod", "with record --pod, the recording has only these tasks" },
		{ "netns", "with record --netns, the recording has only these tasks" },
		{ "show", "with record --show, the recording has what that shows" },
	};
	static const char of_rules[] =
		"with record --show rules --graph-opts retval, explain FILE names the table: docs/explain.md, Whose rules dropped a packet";

	if (opts->verb == VERB_EXPLAIN && !strcmp(name, "show"))
		return of_rules;
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]); i++) {
		if (!strcmp(hints[i].name, name))
			return hints[i].hint;
	}
	return NULL;
}

/* Options that have no meaning for a file. */
static const char *file_contradiction(struct opts *opts)
{
	const char *name = opts->irqs ? NULL : "graph-opts noirqs";
	static char why[160];

	if (!opts->input_path)
		return NULL;
	for (size_t i = 0; i < opt_def_cnt && !name; i++) {
		if (opt_defs[i].verbs & OPT_LIVE_ONLY && optvalue_is_given(opts, &opt_defs[i]))
			name = opt_defs[i].name;
	}
	if (name) {
		snprintf(why, sizeof(why), "--%s works only while tracing, not on a file", name);
		opts->hint = live_hint(opts, name);
		return why;
	}
	for (size_t i = 0; i < opts->trace_funcs.cnt; i++) {
		if (*opts->trace_funcs.items[i] != '+')
			continue;
		snprintf(why, sizeof(why), "-T %.80s: + works only while tracing, not on a file",
			 opts->trace_funcs.items[i]);
		return why;
	}
	return NULL;
}

static bool can_sort(enum opts_verb verb, int key)
{
	return verb != VERB_INFO || key == PROFILE_BY_COUNT || key == PROFILE_BY_NAME;
}

/* As file_contradiction, for tables and for verbs that only read files. */
static const char *table_contradiction(struct opts *opts)
{
	if (opts->verb == VERB_INFO && !opts->input_path)
		return "info needs a FILE (- is standard input)";
	if (opts->verb == VERB_DIFF && !opts->other_path)
		return "diff needs two FILEs";
	if (opts->verb == VERB_EXPLAIN && !opts->input_path && !opts->graph_funcs.cnt &&
	    !opts->presets.cnt)
		return "explain needs a FILE (- is standard input), or -G FUNC to trace";
	if (opts->verb == VERB_EXPLAIN && opts->shown &&
	    (opts->shown->cnt || opts->shown->has_facts[SHOWN_STAMPS]))
		return "explain shows no members: of --show it takes the word rules alone, which names the rules that dropped a packet";
	if (opts->verb == VERB_EXPLAIN && opts->input_path && opts->events.cnt) {
		opts->hint =
			"netfgraph report -e GLOB FILE chooses among the tracepoints of a file";
		return "explain looks at all tracepoints of a FILE: -e is for what is traced";
	}
	if (opts->verb == VERB_DIFF && !strcmp(opts->input_path, "-") &&
	    !strcmp(opts->other_path, "-"))
		return "diff can read only one FILE from standard input";
	if (opts->has_sort && !can_sort(opts->verb, opts->profile_sort))
		return "info sorts by count or name";
	if (opts->interval_ns && opts->interval_ns < INTERVAL_MIN_NS)
		return "--interval must be at least 10ms";
	return formatopts_contradiction(opts);
}

/*
 * Options that need or exclude others, each with the complaint; the first rule that applies counts. Names are those of
 * options.
 */
static const struct rule {
	const char *names;    /* if one of these is given, ... */
	const char *needs;    /* ... one of these must be given, or ... */
	const char *excludes; /* ... none of these may be given */
	const char *why;
} rules[] = {
	{ "all", "graph-funcs preset", NULL, "--all needs -G or --preset" },
	{ "callee-depth", "graph-funcs preset", NULL, "--callee-depth needs -G or --preset" },
	{ "learn", "graph-funcs preset", NULL, "--learn needs -G or --preset" },
	{ "track", "packet host-side", NULL,
	  "--track needs --packet: it follows packets that match" },
	{ "host-side", "container pod cgroup netns pid", NULL,
	  "--host-side needs --container, --pod, --cgroup, --netns or -p: whose packets?" },
	{ "host-side", NULL, "tid comm",
	  "--host-side excludes --tid and --comm: it traces packets, whichever task has them" },
	{ "duty", NULL, "interval",
	  "--duty and -i exclude each other: a table would not say how much of its interval was traced" },
	{ "duty", NULL, "ring",
	  "--duty and --ring exclude each other: a flight recorder must record all the time" },
	{ "vmlinux", "source", NULL, "--vmlinux needs --source" },
	{ "input", NULL, "COMMAND",
	  "--input and a COMMAND exclude each other: a file is read, a command is traced" },
	{ "containers", NULL, "presets plan",
	  "--containers, --presets and --plan exclude each other" },
	{ "presets", NULL, "plan", "--containers, --presets and --plan exclude each other" },
	{ "presets containers", NULL, "event",
	  "-e, --presets and --containers of list exclude each other" },
	{ "explain", "graph-funcs preset", NULL,
	  "--explain needs -G or --preset, as explain without a FILE does" },
	{ "explain", NULL, "event presets containers",
	  "list --explain lists functions that explain traces: no -e, --presets or --containers" },
	{ "presets containers", NULL, "graph-funcs nograph-funcs notrace-funcs preset",
	  "-G, -g, -N and --preset choose functions, which --presets and --containers do not list" },
	{ "containers", NULL, "trace-funcs",
	  "--containers lists all containers, and takes no name" },
	{ "user", "COMMAND", NULL, "--user needs a COMMAND" },
	{ "rotate", "output", NULL, "--rotate needs -o FILE" },
	{ "rotate", NULL, "max-size", "--rotate and --max-size exclude each other" },
	{ "when window pause max-disk", "ring", NULL,
	  "--when, --window, --pause and --max-disk need --ring" },
	{ "ring", "when", NULL, "--ring needs --when" },
	{ "ring", NULL, "max-size rotate",
	  "--ring excludes --max-size and --rotate; --max-disk limits its recordings" },
	{ "attach", NULL, "complete cheap", "--attach, --complete and --cheap exclude each other" },
	{ "complete", NULL, "cheap", "--attach, --complete and --cheap exclude each other" },
	{ "tree", NULL, "json", "--tree and --json exclude each other" },
	{ "from", "input", NULL, "--from needs a file: --input FILE" },
};

/* Whether the option is set: on the command line, in a configuration file, or by a word in its place. */
static bool has_option(const struct opts *opts, const char *name, size_t len)
{
	if (len == strlen("COMMAND") && !memcmp(name, "COMMAND", len))
		return opts->command != NULL;
	for (size_t i = 0; i < opt_def_cnt; i++) {
		const struct opt_value *value = &opt_defs[i].value;

		if (strncmp(opt_defs[i].name, name, len) != 0 || opt_defs[i].name[len])
			continue;
		return value->given_at ? *(const bool *)((const char *)opts + value->given_at)
				       : optvalue_is_given(opts, &opt_defs[i]);
	}
	return false;
}

static bool has_any(const struct opts *opts, const char *names)
{
	for (struct text word; (word = text_word(&names)).len;) {
		if (has_option(opts, word.ptr, word.len))
			return true;
	}
	return false;
}

static const char *names_contradiction(struct opts *opts)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];

		if (has_any(opts, rule->names) &&
		    ((rule->needs && !has_any(opts, rule->needs)) ||
		     (rule->excludes && has_any(opts, rule->excludes))))
			return rule->why;
	}
	return NULL;
}

/* Limits of the program that runs at exec. */
static const char *comm_contradiction(const struct opts *opts)
{
	_Static_assert(NFG_COMM_GLOB_CNT == 256, "the message names it");

	if (opts->comms.cnt > NFG_COMM_GLOB_CNT)
		return "--comm can be given at most 256 times; * and [a-z] stand for many names";
	for (size_t i = 0; i < opts->comms.cnt; i++) {
		if (strlen(opts->comms.items[i]) > COMMGLOB_PATTERN_MAX)
			return "--comm: a pattern can have at most 255 bytes";
	}
	return NULL;
}

static bool lists_funcs(const struct opts *opts)
{
	return opts->trace_funcs.cnt || opts->notrace_funcs.cnt || opts->graph_funcs.cnt ||
	       opts->nograph_funcs.cnt || opts->presets.cnt;
}

/* Contradictions that no rule of names can express. */
static const char *special_contradiction(struct opts *opts)
{
	static char why[256];
	const char *lacking;

	if (opts->learn_ns && select_replaces(opts->trace_funcs.items, opts->trace_funcs.cnt))
		return "--learn and -T exclude each other, except -T +GLOB";
	if (opts->verb == VERB_LIST && !opts->list_plan && !opts->list_explain &&
	    opts->events.cnt && lists_funcs(opts))
		return "list -e lists tracepoints, and takes no functions; list --plan -e takes both";
	lacking = graphopts_lacks_starts(opts);
	if (lacking) {
		const char *waited = explainopts_waited(opts);

		snprintf(
			why, sizeof(why),
			"--graph-opts %s needs start functions (-G%s%s, --preset, --packet or --filter)",
			lacking, waited ? " " : "", waited ? waited : "");
		return why;
	}
	if (opts->has_source && opts->verb == VERB_TRACE && !opts->input_path && !opts->has_stack &&
	    !opts->has_retaddr)
		return "--source needs --graph-opts stack or retaddr";
	if (opts->ring_bytes && opts->disk_bytes && opts->disk_bytes < opts->ring_bytes)
		return "--max-disk must be at least --ring: a recording may be that large";
	lacking = opts->columns.net ? wants_net_of_part(opts) : NULL;
	if (lacking) {
		snprintf(
			why, sizeof(why),
			"--graph-opts net and %s exclude each other: calls left out would be taken for time",
			lacking);
		return why;
	}
	if (opts->is_total_time && opts->format != FORMAT_FOLDED)
		return "--total-time belongs to --format folded";
	return opts->input_path ? NULL : comm_contradiction(opts);
}

static const char *output_contradiction(struct opts *opts)
{
	if ((opts->rotate_bytes || opts->max_bytes) && !format_traits(opts->format)->can_be_cut)
		return "--max-size and --rotate need --format text or json, or record";
	return NULL;
}

/* In the order in which complaints are made. Some set what --for needs, and own no memory of it. */
static const char *(*const kinds[])(struct opts *opts) = {
	names_contradiction,     special_contradiction, byopts_contradiction, table_contradiction,
	stageopts_contradiction, graphopts_settle,      output_contradiction, file_contradiction,
};
#define KIND_CNT  (sizeof(kinds) / sizeof(kinds[0]))
#define WHY_BYTES 200

static const char *contradiction(struct opts *opts)
{
	const char *why = NULL;

	for (size_t i = 0; i < KIND_CNT && !why; i++)
		why = kinds[i](opts);
	return why;
}

/* A preset may have a filter. It is tested at all start functions, so no others may be there. */
static const char *preset_filter_settle(struct opts *opts)
{
	static char why[WHY_BYTES];
	const struct preset *preset = NULL;

	for (size_t i = 0; i < opts->presets.cnt && !preset && !opts->input_path; i++) {
		preset = preset_find(opts->presets.items[i]);
		if (!preset->filter)
			preset = NULL;
	}
	if (!preset)
		return NULL;
	if (!opts->filter && opts->presets.cnt == 1 && !opts->graph_funcs.cnt)
		return filter_parse(&opts->filter, preset->filter);
	snprintf(why, sizeof(why), "--preset %s has a filter, so it excludes %s", preset->name,
		 opts->filter ? "--filter" : "-G and other presets");
	return why;
}

/* Called only where the kernel is about to crash: it stands in where no function is to be traced. */
#define RARE_FUNC "skb_dump"

/* Without functions, profile --by counts tracepoints alone; all drops of the kernel have one. */
static const char *take_events(struct opts *opts)
{
	const char *why = NULL;

	opts->counts_points = counts_points(opts);
	if (opts->counts_points && !opts->events.cnt)
		why = str_list_add(&opts->events, "skb:kfree_skb");
	if (!why && opts->counts_points)
		why = str_list_add(&opts->trace_funcs, RARE_FUNC);
	return why;
}

/*
 * How long packets are, no argument says; tracepoints have fields of their own. A trace forgoes lengths where they would cost
 * calls: plan_forgoes_lengths.
 */
static const char *take_lengths(struct opts *opts)
{
	if (opts->counts_points)
		return NULL;
	return shown_parse(&opts->shown, "skb.len", NULL);
}

/* What tracepoints lack is refused when it is known what is traced. */
static const char *take_members(struct opts *opts)
{
	const char *why = NULL;

	for (uint32_t i = 0; !why && i < opts->keys.cnt && !opts->counts_points; i++) {
		if (opts->keys.by[i] == ROWKEY_MEMBER)
			why = shown_parse(&opts->shown, opts->keys.members[i], "--by");
	}
	return why;
}

const char *contradict_settle(struct opts *opts)
{
	const char *why = missing(opts);

	if (!why)
		why = preset_filter_settle(opts);
	if (!why && opts->when)
		why = explainopts_settle_recorder(opts);
	if (!why)
		why = contradiction(opts);
	if (!why && ((opts->verb == VERB_EXPLAIN && !opts->input_path) || opts->list_explain))
		why = explainopts_settle(opts);
	if (!why && opts->by == BY_STAGE && !opts->input_path)
		why = str_list_add(&opts->presets, "stages");
	if (!why && opts->by == BY_KEY && !opts->input_path)
		why = take_events(opts);
	if (!why && opts->by == BY_KEY && !opts->input_path)
		why = take_members(opts);
	if (!why && opts->by == BY_KEY && !opts->input_path &&
	    rowkeys_needs(&opts->keys) & ROWKEY_NEEDS_LENGTH)
		why = take_lengths(opts);
	return why;
}

bool contradict_adds(const struct opts *before, const struct opts *after)
{
	struct opts old = *before;
	struct opts new = *after;

	for (size_t i = 0; i < KIND_CNT; i++) {
		char known[WHY_BYTES];
		const char *why = kinds[i](&old);

		snprintf(known, sizeof(known), "%s", why ? why : "");
		why = kinds[i](&new);
		if (why && strncmp(why, known, sizeof(known) - 1) != 0)
			return true;
	}
	return false;
}
