#ifndef NFG_OPTIONS_CONTRADICT_H
#define NFG_OPTIONS_CONTRADICT_H

#include "options/opts.h"

/*
 * contradict_fill_paths - once the command line is known: what "-" means, and which file report reads without a name.
 *
 * Comes before the defaults from files, which depend on whether there is an input and an output file.
 */
void contradict_fill_paths(struct opts *opts);

/*
 * contradict_settle - once the defaults are known, too: what goes together, and what options mean for each other.
 *
 * Return: NULL, or the whole complaint (static); then @opts->hint may have what helps.
 */
const char *contradict_settle(struct opts *opts);

/* contradict_can_sort - whether the rows of @verb can be sorted by @key (enum profile_sort). */
bool contradict_can_sort(enum opts_verb verb, int key);

/* formatopts_has - whether @verb can print this format. */
bool formatopts_has(enum opts_verb verb, enum format_kind kind);

/* formatopts_has_callers - whether a table of format @kind has a place for callers and callees. */
bool formatopts_has_callers(enum format_kind kind);

/* formatopts_can_be_cut - whether --max-size and --rotate can end a file of format @kind after any row. */
bool formatopts_can_be_cut(enum format_kind kind);

#endif
