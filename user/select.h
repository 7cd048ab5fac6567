/* layer 21: decide */
#ifndef NFG_SELECT_H
#define NFG_SELECT_H

#include <stddef.h>

#include "functab.h"
#include "kbtf.h"
#include "ksyms.h"

/* Which functions the user asked for: GLOB or "GLOB [MODULE-GLOB]". */
struct select_rules {
	const char *const *trace; /* none: the built-in list */
	size_t trace_cnt;
	const char *const *notrace;
	size_t notrace_cnt;
	size_t max_cnt; /* no more than this; 0: no limit but the event format's */
};

/*
 * select_funcs - the functions that the rules name and a trampoline accepts.
 *
 * Every candidate that is left out is reported with its reason: at -vv all, at
 * normal verbosity those that a rule named without wildcard.
 * @out: names borrowed from @kb. Caller frees with functab_release.
 * Return: 0, -ENOMEM, or -ENOENT when a rule matched nothing or nothing remained (said on stderr).
 */
int select_funcs(struct functab *out, const struct select_rules *rules, const struct kbtf *kb,
		 const struct ksyms *ks);

void functab_release(struct functab *tab);

#endif
