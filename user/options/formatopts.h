#ifndef NFG_OPTIONS_FORMATOPTS_H
#define NFG_OPTIONS_FORMATOPTS_H

#include "options/opts.h"

/* formatopts_has - whether @verb can print this format. */
bool formatopts_has(enum opts_verb verb, enum format_kind kind);

/* formatopts_contradiction - check --format, --json and --output-dir. Return: NULL, or the whole complaint (static). */
const char *formatopts_contradiction(const struct opts *opts);

/* formatopts_has_callers - whether a table of format @kind has a place for callers and callees. */
bool formatopts_has_callers(enum format_kind kind);

/* formatopts_can_be_cut - whether --max-size and --rotate can end a file of format @kind after any row. */
bool formatopts_can_be_cut(enum format_kind kind);

#endif
