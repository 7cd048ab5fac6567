#ifndef NFG_OPTIONS_CONTRADICT_H
#define NFG_OPTIONS_CONTRADICT_H

#include "options/opts.h"

/*
 * contradict_fill_paths - once the command line is known, resolve "-", and choose the file that report reads without a
 * name.
 *
 * Call it before applying defaults from files, which depend on whether there is an input and an output file.
 */
void contradict_fill_paths(struct opts *opts);

/*
 * contradict_settle - once the defaults are known too, check the combination of options, and settle what options mean
 * for each other.
 *
 * Return: NULL, or the whole complaint (static); then @opts->hint may contain a hint.
 */
const char *contradict_settle(struct opts *opts);

/*
 * contradict_adds - whether @after contains a contradiction that @before does not. Missing arguments, which
 * contradict_settle reports, do not count.
 */
bool contradict_adds(const struct opts *before, const struct opts *after);

#endif
