#ifndef NFG_OPTIONS_OPTS_H
#define NFG_OPTIONS_OPTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/kprofile.h"
#include "base/color.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/table.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "trace/trigger.h"
#include "filter/filter.h"
#include "filter/shown.h"
#include "filter/pcapfilter.h"
#include "format/details.h"
#include "format/format.h"
#include "format/render.h"
#include "format/rowkey.h"
#include "kernel/attachmode.h"
#include "nfg_abi.h"
#include "options/graphopts.h"
#include "trace/row.h"
#include "trace/starts.h"

/* The action: the first word, or a trace without one. */
enum opts_verb {
	VERB_TRACE,
	VERB_LIST,
	VERB_CHECK,
	VERB_RECORD,
	VERB_REPORT,
	VERB_INFO,
	VERB_DIFF,
	VERB_PROFILE,
	VERB_LATENCY,
	VERB_EXPLAIN,
	VERB_HELP, /* handled by opts_parse */
};

#define OPT_CNT_MAX      96 /* options; a test compares it with the table */

#define BUFFER_MIN_BYTES (4 << 10) /* of --buffer-size */

struct config;
struct config_places;

/* The span for which diff compares counts and totals. */
enum diff_per {
	DIFF_AUTO, /* per second if the lengths differ, else the whole trace */
	DIFF_ALL,
	DIFF_SECOND,
};

/* What the rows of a table are of. */
enum table_by {
	BY_FUNCTION,
	BY_STAGE, /* latency: of a packet's path, format/stages.h */
	BY_KEY,   /* profile: opts.keys */
};

/* The checked command line. */
struct opts {
	enum opts_verb verb;
	bool given[OPT_CNT_MAX]; /* whether it is on the command line, by index in the table ... */
	const char *
		first_texts[OPT_CNT_MAX]; /* ... and its first value, borrowed; NULL: it has none */
	struct config *config; /* NULL: no configuration files; texts of options point into it */
	bool no_config;
	bool print_config;
	bool parses_only; /* --parse-only: only check the command line */
	bool completes;   /* --complete-words: command contains the typed words */
	bool prints_completion;
	int completion_shell; /* enum completescript_shell */
	struct str_list trace_funcs;
	struct str_list notrace_funcs;
	struct str_list graph_funcs;
	struct str_list nograph_funcs;
	struct str_list events;        /* -e */
	struct str_list wished_events; /* shown where the kernel has them: explain's own */
	bool counts_points;            /* profile --by: tracepoints alone, and no function */
	struct str_list latency_funcs;
	int by;              /* enum table_by */
	bool has_by;         /* --by was given */
	struct rowkeys keys; /* profile --by: what the rows are of */
	bool starts_of_when; /* the start functions are those of --when */
	bool drops_by_point; /* drops are recorded by their tracepoint alone, wherever they are (explainopts.h) */
	bool explains_alone; /* explain, or a recorder for it: the functions are of its choice */
	bool explain_tree;   /* --tree */
	uint64_t explain_slower_ns; /* explain: what is slow; 0: by the rule of format/causes.h */
	struct str_list presets;    /* names that preset_find knows */
	struct num_list pids;
	struct num_list tids;
	struct str_list cgroups;
	struct str_list containers;
	struct str_list pods;
	struct str_list netns;
	struct str_list comms;
	struct cpu_set_list cpus;
	bool has_cpus;
	struct render_columns columns;
	bool has_columns;          /* --graph-opts was given, or --for a consumer of text */
	uint32_t graph_opts_given; /* one bit for each of graph_opt_defs that --graph-opts named */
	const struct consumer *consumer; /* NULL: no --for */
	enum format_kind format;
	bool has_format; /* --format was given */
	bool is_total_time;
	bool has_callers;
	bool has_callees;
	const char *callers_of; /* from --callers=GLOB; NULL: all functions */
	const char *callees_of;
	int profile_sort; /* enum profile_sort */
	bool has_sort;    /* --sort was given */
	uint32_t profile_rows;
	const char *output_dir; /* NULL: none */
	uint64_t interval_ns;   /* interval between tables; 0: one table at the end */
	const char *input_path; /* NULL: trace now */
	const char *other_path; /* of diff: the second file */
	int diff_per;           /* enum diff_per */
	bool input_is_text;
	bool input_is_followed;
	bool irqs;
	bool has_args; /* --graph-opts args, retval, retval-hex, retaddr */
	bool has_retval;
	bool is_retval_hex;
	bool has_retaddr;
	bool has_packet;
	bool follows;   /* --track: packets have numbers */
	bool host_side; /* --host-side, see session/hostside.h */
	bool has_stack;
	bool has_ustack;
	bool has_sleep; /* see wants_sleeps */
	bool has_source;
	const char *vmlinux; /* NULL: search for it */
	bool is_old_dialect; /* --dialect */
	bool pointers;
	bool nosleep_time;
	bool include_terminal;
	uint32_t callee_depth; /* 0: no limit */
	bool all_callees;      /* --all */
	uint32_t duty_pct;     /* 0: all the time */
	uint64_t learn_ns;     /* 0: keep all functions */
	bool list_presets;
	bool list_containers;
	bool list_plan;
	bool list_explain;     /* what explain would trace */
	bool json;             /* with check, and with list --containers */
	bool by_event;         /* profile, latency: send every call to user space */
	uint32_t task_cnt;     /* profile, latency: tasks at once; 0: the default */
	uint32_t max_funcs;    /* 0: no limit by option */
	uint32_t graph_depth;  /* 0: no limit */
	uint64_t buffer_bytes; /* per CPU; 0: by the number of CPUs */
	bool errors_only;
	struct filter *filter; /* NULL: no --filter */
	struct shown *shown;   /* NULL: no --show */
	struct starts_want starts;
	uint64_t timeout_ns; /* 0: none */
	uint32_t ready_fd;   /* 0: none */
	bool is_quiet;
	uint32_t
		overhead_pct; /* of a CPU's time; 0: OVERHEAD_PCT_DEFAULT, or no limit with a command */
	uint64_t max_events_sec; /* recorded; 0: no limit */
	const char *host;        /* NULL: uname -n, or the recording's host */
	const char *output_path;
	uint64_t max_bytes;    /* limit for the output; 0: no limit */
	uint64_t rotate_bytes; /* size of each of rotate_cnt files; 0: one file */
	uint32_t rotate_cnt;
	/* record as a flight recorder */
	uint64_t ring_bytes;                          /* memory; 0: not a flight recorder */
	struct trigger_rule *when;                    /* NULL: no --when */
	struct filter *when_tests[TRIGGER_CONDS_MAX]; /* of its conditions; NULL: it has no test */
	uint64_t
		window_ns; /* before and after the trigger; for this and the next two, 0 is the default */
	uint64_t pause_ns;            /* between recordings */
	uint64_t disk_bytes;          /* limit for all recordings */
	enum attach_mode attach_mode; /* --attach, --complete or --cheap */
	bool has_attach;
	bool is_complete;
	bool is_cheap;
	struct pcapfilter packet; /* insn_cnt 0: no --packet */
	const char *packet_text;  /* its expression; NULL: none */
	enum color_when color;
	bool no_pager;
	bool strict;
	bool waits_for_detach;
	const char *user; /* user of the command; NULL: ours */
	char **command;   /* NULL: none */
	char **words; /* all words from the verb or, without one, from the program's name; borrowed */
	bool is_done;     /* the option printed a page; nothing else to do */
	const char *hint; /* for a wrong value of an option; NULL: refuse.c finds one */
	bool host_lacks;  /* the host lacks something that an option needs */
};

/*
 * opts_parse - read the command line.
 *
 * Return: VERDICT_OK, or after a one-line error message and a hint: VERDICT_USAGE, or VERDICT_FAILED if the host lacks
 * what an option needs, or memory, or a page cannot be written. Call opts_release in all cases.
 */
enum verdict opts_parse(struct opts *opts, int argc, char **argv);

/*
 * opts_parse_with - as opts_parse, with defaults from the configuration files at @places, unless it is NULL or
 * --no-config is given.
 */
enum verdict opts_parse_with(struct opts *opts, const struct config_places *places, int argc,
			     char **argv);
void opts_release(struct opts *opts);

/* opts_is_given - whether the command line has the option called @name. */
bool opts_is_given(const struct opts *opts, const char *name);

/* opts_verb_of - the verb named @word; VERB_TRACE: none, or @word is NULL. */
enum opts_verb opts_verb_of(const char *word);

/*
 * opts_takes_command - whether a command may follow the verb's options.
 *
 * The other verbs take words among their options; latency takes a command after "--".
 */
bool opts_takes_command(enum opts_verb verb);

/* opts_takes_words - whether names or a file may follow, and a command only behind "--". */
bool opts_takes_words(enum opts_verb verb);

/* opts_verb_name - "list", "check", ... for @i from 0 on; NULL after the last one. */
const char *opts_verb_name(int i);

/* ---- requirements of options ---- */

/* The options translated to the terms of lower folders. */

/* opts_counts_by - whether @by is one of the keys of a table of profile --by. */
static inline bool opts_counts_by(const struct opts *opts, enum rowkey_by by)
{
	return opts->by == BY_KEY && rowkeys_has(&opts->keys, by);
}

/* opts_counts_drops - whether that table counts what is dropped: by reason, or by a tracepoint of drops (-e). */
bool opts_counts_drops(const struct opts *opts);

/* wants_values - NFG_WANT_*: the values to record of each call. */
uint32_t wants_values(const struct opts *opts);

/* lacks_reasons - whether --when waits for drops, and nothing that is recorded says why packets are dropped. */
bool lacks_reasons(const struct opts *opts);

/* lacks_places - whether --when waits for drops, and nothing that is recorded has the address of a drop: tracing the function hides it. */
bool lacks_places(const struct opts *opts);

/* wants_sleeps - whether the kernel is to record sleeps inside graphs. */
bool wants_sleeps(const struct opts *opts);

struct details_want wants_details(const struct opts *opts);

/* wants_recorded - the details for a report of a recording that showed @shown (RECFILE_SHOWS_*). */
struct details_want wants_recorded(const struct opts *opts, uint32_t shown);

/* wants_net - whether a live trace shows net durations, or keeps what they are computed from. */
bool wants_net(const struct opts *opts);

/* wants_part_by_trace - whether -T leaves out calls of a file. Latency's own functions do not: they are shown out of all calls. */
bool wants_part_by_trace(const struct opts *opts);

/*
 * wants_net_of_part - why net durations cannot be computed: an option leaves out calls that were traced, and cost their callers time.
 * NULL: they can.
 */
const char *wants_net_of_part(const struct opts *opts);

/* wants_host - the name of this host: --host, or uname -n; cut to @size. */
void wants_host(const struct opts *opts, char *out, size_t size);

/* wants_form - the form of the command's tables; --format openmetrics has none, and counts as text. */
static inline enum table_form wants_form(const struct opts *opts)
{
	return opts->json                    ? TABLE_ARRAY
	       : opts->format == FORMAT_JSON ? TABLE_JSON
	       : opts->format == FORMAT_CSV  ? TABLE_CSV
					     : TABLE_TEXT;
}

#define HOST_MAX 128

/* wants_table - a table of this host. @host has room for its name. Both are borrowed. */
struct tablew wants_table(const struct opts *opts, char host[HOST_MAX], struct strbuf *out);

/* wants_kprofile - @has_packets: packets decide what is in scope. */
struct kprofile_want wants_kprofile(const struct opts *opts, bool has_packets);

/*
 * optwords_text - append the command line quoted for a shell: netfgraph, the verb and the options as given, without
 * COMMAND.
 */
void optwords_text(struct strbuf *out, const struct opts *opts);

/* optwords_with - append the command line, including COMMAND, with @words after the verb. */
void optwords_with(struct strbuf *out, const struct opts *opts, const char *words);

/* ---- the tasks whose calls are traced ---- */

/*
 * The options that choose the traced tasks: -p, --tid, --cgroup, --container, --pod, --netns and --comm. Each kind
 * narrows the others. If one of them is given, a COMMAND only determines how long the trace runs. -C and --packet are
 * not among them: they select from the calls of the traced tasks.
 */

/* scopeopts_are_given - whether one of these options is given. */
bool scopeopts_are_given(const struct opts *opts);

/* scopeopts_is_command - whether the command and its descendants are traced. */
bool scopeopts_is_command(const struct opts *opts);

/* scopeopts_names - append the given options' names: "--cgroup and --comm". */
void scopeopts_names(struct strbuf *out, const struct opts *opts);

/*
 * scopeopts_text - append a description of the traced tasks, in the user's words, after a blank: " by process 12 in
 * cgroup /web", " by the command". Nothing if all tasks are traced. A long list is cut.
 */
void scopeopts_text(struct strbuf *out, const struct opts *opts);

#define COMMGLOB_PATTERN_MAX 255

/*
 * commglob_make - translate @pattern, of at most COMMGLOB_PATTERN_MAX bytes, for the program that runs at exec.
 *
 * It then selects the same names as taskfilter_has_comm with TASKFILTER_COMM_BYTES.
 */
void commglob_make(struct nfg_comm_glob *glob, const char *pattern);

/* The kernel stores this many bytes of a task's name. */
#define TASKFILTER_COMM_BYTES 15

/* taskfilter_has_tid - whether --tid names the task; true without --tid. */
bool taskfilter_has_tid(const struct opts *opts, uint32_t tid);

/*
 * taskfilter_has_comm - whether --comm matches the name of a task or is absent.
 *
 * @comm: the name; empty: unknown.
 * @cut_bytes: the source of @comm cuts names to this length, so a plain name of --comm matches by its beginning; 0:
 * not cut.
 */
bool taskfilter_has_comm(const struct opts *opts, struct text comm, size_t cut_bytes);

#endif
