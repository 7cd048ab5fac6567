#ifndef NFG_FORMAT_SLOWSTARTS_H
#define NFG_FORMAT_SLOWSTARTS_H

#include <stddef.h>
#include <stdint.h>

#include "format/slowcalls.h"
#include "format/slowgroups.h"

/* What a flight recorder waited for: a call of a function that takes longer. */
struct slow_limit {
	char pattern[129]; /* of functions, for glob_match */
	uint64_t longer_ns;
};

/* slow_limit_of - the shortest limit of a function; 0: it has none. */
uint64_t slow_limit_of(struct text name, const struct slow_limit *limits, size_t limit_cnt);

/* A start function that has slow calls. */
struct slowstart {
	const struct startfunc *start;
	uint64_t slower_ns; /* 0: by the rule of slowgroups.h */
	int64_t excess_ns;
	size_t waited_at; /* which of what was waited for first is one of its slow calls; their number: none */
};

/*
 * slowstarts_find - append the start functions with slow calls, those with a limit first, of these the ones with calls that
 * were waited for, in that order, and of others the one with the largest excess.
 *
 * @what: its slower_ns is for all of them; 0: the shortest of @limits for a function, or, if it has none or no call takes as long,
 * the rule of slowgroups.h. Beside functions of which calls reach their limit, those that only free what others drop are left out.
 * Return: 0 or -ENOMEM. The caller frees *@out in both cases.
 */
int slowstarts_find(struct slowstart **out, uint32_t *out_cnt, const struct slowcalls *sc,
		    const struct slowness *what, const struct slow_limit *limits, size_t limit_cnt);

/* slowstarts_most - the start function whose calls took the most time in all; NULL: no call is known. */
const struct startfunc *slowstarts_most(const struct slowcalls *sc);

#endif
