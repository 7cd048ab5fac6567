#ifndef NFG_FORMAT_CAUSES_H
#define NFG_FORMAT_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/slowcalls.h"

/*
 * Why the slow calls of a start function were slow: what they have more of than the others.
 *
 * A call is slow if it took at least slower_ns or, without that, more than four times the median of all calls and more
 * than 20 us above it; then at most the slowest tenth of the calls, at least one, and of these the slowest ones, up
 * to CAUSES_WORST of a hundred of what all of them took longer than the median and what took about as long, and without those
 * that took less than a CAUSES_GAPth longer than the slower ones in the mean. Calls beyond the tenth that took about as long are
 * slow, too, if at most a CAUSES_BETWEENth of as many are between these and the usual ones. If some of these are CAUSES_APART times longer than each of the
 * others, and have half of what all are longer, only they are slow; so it is with those above the widest gap between neighbours, of CAUSES_WIDE times or more,
 * that have CAUSES_MOST of a hundred of it. Of each cause the median of the other calls, 0 where
 * most have none of it, is what is usual. The excess of a cause is what the slow calls have of it, less
 * what is usual for as many calls; so it is less than nothing for what they have less of.
 *
 * Pure: no clock, no I/O. Time: that of sorting the parts.
 */
#define CAUSES_TIMES      4
#define CAUSES_MORE_NS    20000
#define CAUSES_PART       10
#define CAUSES_WORST      95
#define CAUSES_GAP        20
#define CAUSES_WIDE       2
#define CAUSES_MOST       75
#define CAUSES_APART      5
#define CAUSES_BETWEEN    4

#define CAUSE_DETAILS_MAX 3

/* How often something was there, and how long it took. */
struct cause_sums {
	int64_t excess_ns;
	int64_t slow_ns;         /* all slow calls together */
	int64_t usual_ns;        /* one call */
	uint64_t slow_cnt;       /* of calls, sleeps or events, in all slow calls together */
	uint64_t usual_cnt;      /* in one call */
	uint64_t seen_cnt;       /* slow calls that have it */
	uint64_t other_seen_cnt; /* other calls that have it */
};

struct cause {
	uint32_t key; /* for slowcalls_cause */
	struct cause_sums sums;
	uint64_t largest_cnt; /* slow calls of which it is the largest excess */
	int64_t below_ns; /* of RUNNING: the excess of its place with all that is called there, in interrupts too */
	/* those with the largest excess first; of EVENT the most frequent */
	struct cause_detail {
		uint32_t key; /* for slowcalls_detail */
		struct cause_sums sums;
	} details[CAUSE_DETAILS_MAX];
	uint32_t detail_cnt;
	int64_t details_ns; /* the excess of all details that have one; more than that of the cause if others have less */
};

/* What wakers did while slow calls slept. */
struct doing {
	uint32_t detail; /* of the sleep, for slowcalls_detail */
	uint32_t key;    /* for slowcalls_cause: of a kind that is of a waker */
	int64_t slow_ns;
	uint64_t slow_cnt;
};

struct causes {
	const struct startfunc *start;
	size_t beyond_cnt; /* calls that took over four times the median, too, but do not count as slow */
	bool is_cut;       /* because more than a tenth of all did, without a gap */
	size_t slow_cnt;        /* 0: there is nothing to explain, and the rest is zero */
	int64_t slow_median_ns; /* of the slow calls */
	int64_t usual_ns;       /* the median of the other calls; 0: there are none */
	int64_t least_ns;       /* of a slow call */
	int64_t excess_ns;      /* of all slow calls together */
	int64_t unexplained_ns; /* excess_ns less that of all causes: medians do not add up */
	const struct slowcall *slowest;
	struct cause *
		items; /* those with an excess first, the largest first; then the others; EVENT last */
	size_t cnt;
	/*
	 * The innermost place of running, with all that is called there outside of interrupts, that has most of it: at least
	 * CAUSES_WITHIN of a hundred. SLOWCALLS_NONE: the start function itself, or slow calls do not run longer.
	 */
	uint32_t within_path;
	struct cause_sums within; /* time of all below, numbers of the place itself */
	int64_t running_ns;       /* excess of all running */
	struct doing *doings;     /* by detail */
	size_t doing_cnt;
};

#define CAUSES_WITHIN 60

/* causes_find - @slower_ns: 0: by the rule above. Return: 0 or -ENOMEM. Call causes_release in both cases. */
int causes_find(struct causes *out, const struct slowcalls *sc, const struct startfunc *start,
		uint64_t slower_ns);
void causes_release(struct causes *causes);

/* causes_excess - the excess of all slow calls of @start, to choose among start functions. Return: 0 or -ENOMEM. */
int causes_excess(const struct startfunc *start, uint64_t slower_ns, int64_t *out);

#endif
