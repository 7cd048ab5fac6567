#ifndef NFG_OPTIONS_GRAPHOPTS_H
#define NFG_OPTIONS_GRAPHOPTS_H

#include <stdbool.h>
#include <stddef.h>

#include "options/opts.h"

/* A word of --graph-opts; "no" before it turns it off. */
struct graph_opt_def {
	const char *name;
	size_t offset; /* of its bool in struct opts */
	bool is_on;    /* without any option */
	const char *help;
};

extern const struct graph_opt_def graph_opt_defs[];
extern const size_t graph_opt_def_cnt;

/* graphopts_apply, graphopts_apply_consumer - --graph-opts and --for. Return: as opt_value.apply. */
const char *graphopts_apply(struct opts *opts, const char *text);
const char *graphopts_apply_consumer(struct opts *opts, const char *text);

/* graphopts_apply_default - the same for words of a configuration file: those that the command line has stay as they are. */
const char *graphopts_apply_default(struct opts *opts, const char *text);

/* graphopts_settle_defaults - leave out stacks that only configuration files ask for, where a trace has no start function. */
void graphopts_settle_defaults(struct opts *opts);

/*
 * graphopts_settle - choose the format and columns that --for's consumer needs, once all options are read.
 *
 * --format and --graph-opts take precedence wherever they stand; the consumer's needs only fill in the rest.
 * Return: NULL, or the whole complaint (static) about an option that contradicts the consumer.
 */
const char *graphopts_settle(struct opts *opts);

/* graphopts_lacks_starts - whether the command line asks for stacks above graphs where a trace has no start function. */
bool graphopts_lacks_starts(const struct opts *opts);

/* graphopts_shown - what of calls --graph-opts shows, as RECFILE_SHOWS_*. */
uint32_t graphopts_shown(const struct opts *opts);

/*
 * graphopts_recorded - show what a recording showed, @shown, but for the words that --graph-opts names here, and for
 * nothing where --for's consumer cannot read all of it.
 */
void graphopts_recorded(struct opts *opts, uint32_t shown);

#endif
