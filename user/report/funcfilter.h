#ifndef NFG_REPORT_FUNCFILTER_H
#define NFG_REPORT_FUNCFILTER_H

#include "select/funcrule.h"
#include "trace/functab.h"
#include "options/opts.h"

/* Classifies functions by name: shown (-T, -N), start function (-G, --preset), or one that closes the graph (-g). */
struct funcfilter {
	const struct opts *opts;
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules graph;
	struct funcrules nograph;
};

enum funcfilter_kind {
	FUNCFILTER_CHOSEN =
		1, /* -T, or a start function; without -T all functions; never those of -N */
	FUNCFILTER_START = 2, /* -G, --preset */
	FUNCFILTER_SHUT = 4,  /* -g */
};

/* funcfilter_init - @opts is borrowed. Return: 0 or -ENOMEM. Call funcfilter_release in both cases. */
int funcfilter_init(struct funcfilter *filter, const struct opts *opts);
void funcfilter_release(struct funcfilter *filter);

/* funcfilter_kind - the function's FUNCFILTER_* bits. @module: NULL for a function of the kernel itself. */
unsigned int funcfilter_kind(struct funcfilter *filter, const char *func, const char *module);

/* funcfilter_is_of_preset - whether it is a start function of a preset in @opts. */
bool funcfilter_is_of_preset(const struct opts *opts, const char *func);

/* funcfilter_unmatched - the first -T or -G that matched no function so far, or NULL. */
const struct funcrule *funcfilter_unmatched(const struct funcfilter *filter);

/*
 * funcfilter_warn_unused - warn of each -N and -g that matched no function, as select_funcs does. @among: where they
 * were looked for, "function of the recording". @tab: its functions; NULL: unknown.
 */
void funcfilter_warn_unused(const struct funcfilter *filter, const char *among,
			    const struct functab *tab);

#endif
