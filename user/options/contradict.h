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

/*
 * contradict_adds - whether @after contradicts itself in a way in which @before does not. Both may still lack what
 * contradict_settle finds missing.
 */
bool contradict_adds(const struct opts *before, const struct opts *after);

#endif
