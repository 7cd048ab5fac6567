#ifndef NFG_BASE_INTERVAL_H
#define NFG_BASE_INTERVAL_H

#include <stdint.h>

/* Times at equal distances from a start; a late check causes no drift. */
struct interval {
	uint64_t begin_ns; /* of the current interval */
	uint64_t next_ns;  /* its end: a multiple of step_ns after begin_ns of the first one */
	uint64_t step_ns;
};

static inline void interval_begin(struct interval *iv, uint64_t now_ns, uint64_t step_ns)
{
	*iv = (struct interval){ now_ns, now_ns + step_ns, step_ns };
	if (iv->next_ns < now_ns)
		iv->next_ns = UINT64_MAX;
}

/* interval_advance - end the current interval at @at_ns; the next one ends at the first multiple after @now_ns. */
static inline void interval_advance(struct interval *iv, uint64_t at_ns, uint64_t now_ns)
{
	iv->begin_ns = at_ns;
	if (now_ns < iv->next_ns)
		return;
	now_ns -= (now_ns - iv->next_ns) % iv->step_ns;
	iv->next_ns = now_ns + iv->step_ns < now_ns ? UINT64_MAX : now_ns + iv->step_ns;
}

#endif
