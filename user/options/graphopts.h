#ifndef NFG_OPTIONS_GRAPHOPTS_H
#define NFG_OPTIONS_GRAPHOPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "format/format.h"

struct opts;

/* A word of --graph-opts; "no" before it turns it off. */
struct graph_opt_def {
	const char *name;
	size_t offset; /* of its bool in struct opts */
	bool is_on;    /* the default */
	const char *help;
};

extern const struct graph_opt_def graph_opt_defs[];
extern const size_t graph_opt_def_cnt;

/* graphopts_is_word - whether @word is one of these, perhaps with "no" or the kernel's "funcgraph-" before it. */
bool graphopts_is_word(const char *word);

/* graphopts_apply, graphopts_apply_consumer - apply --graph-opts and --for. Return: as opt_value.apply. */
const char *graphopts_apply(struct opts *opts, const char *text);
const char *graphopts_apply_consumer(struct opts *opts, const char *text);

/*
 * graphopts_apply_default - as graphopts_apply, for words of a configuration file; words on the command line take
 * precedence.
 */
const char *graphopts_apply_default(struct opts *opts, const char *text);

/* graphopts_settle_defaults - ignore a configuration file's request for stacks if a trace has no start function. */
void graphopts_settle_defaults(struct opts *opts);

/*
 * graphopts_settle - choose the format and columns that --for's consumer needs, once all options are read.
 *
 * --format and --graph-opts take precedence in any order; the consumer's needs only fill in the rest.
 * Return: NULL, or the whole complaint (static) about an option that contradicts the consumer.
 */
const char *graphopts_settle(struct opts *opts);

/* graphopts_row_column - the first word given for a column that only rows of graphs have; NULL: none. */
const char *graphopts_row_column(const struct opts *opts);

/* graphopts_lacks_starts - the word of the command line that asks for stacks although the trace has no start function. */
const char *graphopts_lacks_starts(const struct opts *opts);

/* graphopts_shown - the parts of calls that --graph-opts shows, as RECFILE_SHOWS_*. */
uint32_t graphopts_shown(const struct opts *opts);

/* graphopts_shown_next - iterate over the words of @shown; *@at is 0 at first. Return: NULL after the last one. */
const char *graphopts_shown_next(uint32_t shown, size_t *at);

/* graphopts_unrecorded - a word that --graph-opts turns on though a recording that showed @shown has not what it shows; or NULL. */
const char *graphopts_unrecorded(const struct opts *opts, uint32_t shown);

/* graphopts_hides_sleeps - whether --graph-opts nosleep is given: a report leaves recorded sleeps out. */
bool graphopts_hides_sleeps(const struct opts *opts);

/*
 * graphopts_recorded - show the parts that the recording showed (@shown), except for words that --graph-opts names
 * here; show none of them if --for's consumer cannot read all of them.
 */
void graphopts_recorded(struct opts *opts, uint32_t shown);

/* A program that reads traces, and its needs: --for NAME. */
struct consumer {
	const char *name;
	enum format_kind format;
	bool refuses_values; /* misreads rows with results and callers (retval, retaddr) */
	/*
	 * FORMAT_TEXT: the words of --graph-opts that it needs, separated by commas; "no" precedes a word that must be
	 * off. Other formats: NULL.
	 */
	const char *columns;
	const char *help;
};

extern const struct consumer consumer_defs[];
extern const size_t consumer_def_cnt;

/* consumer_name - the name of consumer_defs[@i]; NULL after the last one. */
const char *consumer_name(int i);

/* consumer_describe - set @text to the options that --for chooses for @consumer, and the reason; NUL-terminated. */
void consumer_describe(struct strbuf *text, const struct consumer *consumer);

#endif
