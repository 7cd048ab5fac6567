#ifndef NFG_OPTIONS_CONTRADICT_H
#define NFG_OPTIONS_CONTRADICT_H

#include "options/opts.h"

/*
 * contradict_settle - once the whole command line is known: what goes together, and what options mean for each other.
 *
 * Return: NULL, or the whole complaint (static); then @opts->hint may have what helps.
 */
const char *contradict_settle(struct opts *opts);

#endif
