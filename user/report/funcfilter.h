#ifndef NFG_REPORT_FUNCFILTER_H
#define NFG_REPORT_FUNCFILTER_H

#include "select/funcrule.h"
#include "options/opts.h"

/* What a function is by its name: shown (-T, -N), a start function (-G, --preset), or one that closes the graph (-g). */
struct funcfilter {
	const struct opts *opts;
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules graph;
	struct funcrules nograph;
};

enum funcfilter_kind {
	FUNCFILTER_CHOSEN = 1, /* -T, or a start function; without -T all functions; none of -N */
	FUNCFILTER_START = 2,  /* -G, --preset */
	FUNCFILTER_SHUT = 4,   /* -g */
};

/* funcfilter_init - @opts is borrowed. Return: 0 or -ENOMEM. In both cases funcfilter_release undoes it. */
int funcfilter_init(struct funcfilter *filter, const struct opts *opts);
void funcfilter_release(struct funcfilter *filter);

/* funcfilter_kind - what the function is: FUNCFILTER_*, ored. @module: NULL for a function of the kernel itself. */
unsigned int funcfilter_kind(struct funcfilter *filter, const char *func, const char *module);

/* funcfilter_is_of_preset - whether it is a start function of one of the presets asked for. */
bool funcfilter_is_of_preset(const struct opts *opts, const char *func);

/* funcfilter_unmatched - the first -T, -G or -g that matched none of the functions given so far, or NULL. */
const struct funcrule *funcfilter_unmatched(const struct funcfilter *filter);

#endif
