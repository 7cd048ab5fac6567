/* layer 31: decide */
#ifndef NFG_FUNCPICK_H
#define NFG_FUNCPICK_H

#include "funcrule.h"
#include "opts.h"

/* What -T, -N, -G, -g and --preset make of a function, by its name. */
struct funcpick {
	const struct opts *opts;
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules graph;
	struct funcrules nograph;
};

enum funcpick_kind {
	FUNCPICK_CHOSEN = 1, /* shown: -T, or a root; without -T all are, but for -N */
	FUNCPICK_ROOT = 2,   /* -G, --preset */
	FUNCPICK_SHUT = 4,   /* -g */
};

/* funcpick_init - @opts is borrowed. Return: 0 or -ENOMEM. funcpick_release afterwards in every case. */
int funcpick_init(struct funcpick *pick, const struct opts *opts);
void funcpick_release(struct funcpick *pick);

/* funcpick_kind - FUNCPICK_*, ored. @module: NULL for what is built in. */
unsigned int funcpick_kind(struct funcpick *pick, const char *func, const char *module);

/* funcpick_is_of_preset - whether it is a root of one of the presets. */
bool funcpick_is_of_preset(const struct opts *opts, const char *func);

/* funcpick_unmatched - the first -T, -G or -g that none of the functions asked about matched, or NULL. */
const struct funcrule *funcpick_unmatched(const struct funcpick *pick);

#endif
