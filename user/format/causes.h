#ifndef NFG_FORMAT_CAUSES_H
#define NFG_FORMAT_CAUSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/slowcalls.h"
#include "format/slowgroups.h"

/*
 * Why the slow calls of a start function (slowgroups.h) were slow: what those of each group have more of than calls that are not
 * slow. Of each cause the median of these other calls, 0 where most have none of it, is what is usual. The excess of a cause is
 * what the slow calls have of it, less what is usual for as many calls; so it is less than nothing for what they have less of.
 *
 * Pure: no clock, no I/O. Time: that of sorting the parts.
 */
#define CAUSE_DETAILS_MAX 5
#define CAUSE_TASKS_TOLD  3 /* of one name; more of them are one detail */

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
	uint32_t
		key; /* for slowcalls_cause: the first one of those that have the same words (slowcalls_told) */
	struct cause_sums sums;
	uint64_t largest_cnt; /* slow calls of which it is the largest excess */
	int64_t below_ns; /* of RUNNING: the excess of its places with all that is called there, in interrupts too */
	/* those with the largest excess first; of EVENT the most frequent */
	struct cause_detail {
		uint32_t key; /* for slowcalls_detail */
		struct cause_sums sums;
		uint32_t
			task_cnt; /* 0: that of the key; else: so many tasks of its name, any of which may be in it */
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

/* Packets in interrupts of slow calls. */
struct irqpackets {
	uint32_t func; /* of the cause */
	uint32_t by;   /* enum packets_by */
	uint32_t name; /* for slowcalls_name; SLOWCALLS_NONE: of many others */
	int64_t ns;    /* that they took, in all slow calls together */
	uint64_t cnt;
};

/* Those of one group. */
struct causes {
	const struct startfunc *start;
	size_t slow_cnt;
	size_t other_cnt;       /* calls that are in no group */
	int64_t slow_median_ns; /* of the slow calls */
	int64_t usual_ns;       /* the median of the other calls; 0: there are none */
	int64_t least_ns;       /* of a slow call */
	int64_t excess_ns;      /* of all slow calls together */
	bool is_still;          /* the host stood still in these calls, */
	int64_t still_ns;       /* in the slowest of them for so long */
	bool is_waited; /* the first call that a flight recorder waited for is one of the slow calls */
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
	struct irqpackets
		*packets; /* by func, and what they are told apart by; those that took most first */
	size_t packet_cnt;
};

#define CAUSES_WITHIN 60

struct causes_groups {
	struct causes items[SLOW_GROUPS_MAX]; /* in the order of slowgroups.h */
	size_t cnt;                           /* 0: there is nothing to explain */
	size_t slow_cnt;                      /* of all groups */
	int64_t usual_ns;                     /* the median of the other calls; 0: there are none */
	size_t beyond_cnt; /* calls that took over four times the median, too, but do not count as slow */
	bool is_cut;       /* because more than a tenth of all did, without a gap */
};

/* causes_find - Return: 0 or -ENOMEM. Call causes_release in both cases. */
int causes_find(struct causes_groups *out, const struct slowcalls *sc,
		const struct startfunc *start, const struct slowness *what);
void causes_release(struct causes_groups *groups);

/*
 * causes_packets - the packets that took most in the interrupts of the cause @func, by their ends if these have half of all
 * packets, else by their hosts alone. @all_cnt: of all packets there. NULL: none are known.
 */
const struct irqpackets *causes_packets(const struct causes *causes, uint32_t func,
					uint64_t *all_cnt);

/* causes_excess - the excess of all slow calls of @start, to choose among start functions. Return: 0 or -ENOMEM. */
int causes_excess(const struct slowcalls *sc, const struct startfunc *start,
		  const struct slowness *what, int64_t *out);

#endif
