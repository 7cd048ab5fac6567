#ifndef NFG_REPORT_FUNCFILTER_H
#define NFG_REPORT_FUNCFILTER_H

#include "select/funcrule.h"
#include "options/opts.h"

/* What -T, -N, -G, -g and --preset make of a function, by its name. */
struct funcfilter {
	const struct opts *opts;
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules graph;
	struct funcrules nograph;
};

enum funcfilter_kind {
	FUNCFILTER_CHOSEN = 1, /* shown: -T, or a root; without -T all are, but for -N */
	FUNCFILTER_START = 2,  /* -G, --preset */
	FUNCFILTER_SHUT = 4,   /* -g */
};

/* funcfilter_init - @opts is borrowed. Return: 0 or -ENOMEM. funcfilter_release afterwards in every case. */
int funcfilter_init(struct funcfilter *pick, const struct opts *opts);
void funcfilter_release(struct funcfilter *pick);

/* funcfilter_kind - FUNCFILTER_*, ored. @module: NULL for what is built in. */
unsigned int funcfilter_kind(struct funcfilter *pick, const char *func, const char *module);

/* funcfilter_is_of_preset - whether it is a root of one of the presets. */
bool funcfilter_is_of_preset(const struct opts *opts, const char *func);

/* funcfilter_unmatched - the first -T, -G or -g that none of the functions asked about matched, or NULL. */
const struct funcrule *funcfilter_unmatched(const struct funcfilter *pick);

#endif
