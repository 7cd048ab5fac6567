#ifndef NFG_FORMAT_SLOWGROUPS_H
#define NFG_FORMAT_SLOWGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/slowcalls.h"
#include "trace/stills.h"

/*
 * Which calls of a start function are slow, in groups of their own kind.
 *
 * A call may be slow if it took at least slower_ns or, without that, more than four times the median of all calls and
 * more than 20 us above it. Then, where the tail of usual calls ends (spikes.h), all calls above it may be slow; where it does not, the slowest
 * tenth of all, at least one, and of these the slowest ones, up to CAUSES_WORST of a hundred of what all of them took longer
 * than the median and what took about as long, and without those that took less than a CAUSES_GAPth longer than the slower
 * ones in the mean; calls beyond the tenth that took about as long, too, if at most a CAUSES_BETWEENth of as many are
 * between these and the usual ones. If some of these are CAUSES_APART times longer than each of the others, and have half of
 * what all are longer, only they are slow; so it is with those above the widest gap between neighbours, of CAUSES_WIDE times
 * or more, that have CAUSES_MOST of a hundred of it.
 *
 * If a gap of CAUSES_WIDE is below these, the calls below it that may be slow are a group of their own if
 * the same rule finds such a gap below them, or the gap above is of CAUSES_APART, and half of what is longer above their end, and they have a CAUSES_SHAREth of all that is longer, or are more calls than those above them, and each longer by a
 * CAUSES_HUNDREDTH of what those are. A group is parted where neighbours are CAUSES_WIDE times apart, if most calls on both sides
 * have another largest part; where they only run in other functions, or a side has one or two calls, CAUSES_APART times. Calls in
 * which the whole host stood still for half of what they took longer are apart from all others.
 *
 * Where slower_ns is the limit of a flight recorder, the first call that it waited for is a group with those that were slow in
 * the same way, woken by the same task; others are a group behind it.
 *
 * Pure: no clock, no I/O. Time: that of sorting the calls.
 */
#define CAUSES_TIMES     4
#define CAUSES_MORE_NS   20000
#define CAUSES_PART      10
#define CAUSES_WORST     95
#define CAUSES_GAP       20
#define CAUSES_WIDE      2
#define CAUSES_MOST      75
#define CAUSES_APART     5
#define CAUSES_BETWEEN   4
#define CAUSES_SHARE     10
#define CAUSES_HUNDREDTH 100

#define SLOW_GROUPS_MAX  3

/* A call that a flight recorder waited for. */
struct slow_waited {
	struct text func;
	uint64_t begin_ns; /* 0: not known */
	uint32_t tid;
};

/* What is slow. */
struct slowness {
	uint64_t
		slower_ns; /* 0: by the rule above; otherwise there is one group, beside that of stills, */
	const struct slow_waited *
		waited; /* or two, if slow calls of other kinds are beside the first of these; as it waited */
	size_t waited_cnt;
	const struct still *stills; /* ascending */
	size_t still_cnt;
};

struct slowgroup {
	const struct slowcall **calls; /* by duration */
	size_t cnt;
	bool is_still;  /* of calls in which the host stood still */
	bool is_waited; /* the first call that a flight recorder waited for is among them */
};

struct slowgroups {
	const struct slowcall **calls; /* of no group first, by duration */
	size_t other_cnt;              /* their number */
	size_t beyond_cnt; /* of these, those that took over four times the median, too */
	bool is_cut;       /* some of these do not count as slow only because a part of all does */
	int64_t usual_ns;  /* the median of those of no group; 0: there are none */
	/* that of is_waited, the largest excess first; behind these, groups of one or two calls, the largest first; last that of stills */
	struct slowgroup items[SLOW_GROUPS_MAX];
	size_t cnt;
};

/* slowgroups_find - Return: 0 or -ENOMEM. Call slowgroups_release in both cases. */
int slowgroups_find(struct slowgroups *out, const struct slowcalls *sc,
		    const struct startfunc *start, const struct slowness *what);
void slowgroups_release(struct slowgroups *groups);

/* slowcall_is_waited - whether it is the very call @waited, of the same function; its begin has to be known. */
bool slowcall_is_waited(const struct slowcall *call, const struct slow_waited *waited);

/*
 * slowcalls_first_waited - the slow call of @start that was waited for first, and which of what->waited it is: *@at, which is
 * their number if there is none (NULL). @what: with a slower_ns.
 */
const struct slowcall *slowcalls_first_waited(const struct slowcalls *sc,
					      const struct startfunc *start,
					      const struct slowness *what, size_t *at);

/* slowgroup_excess - what the calls of @group took longer than the usual ones. */
int64_t slowgroup_excess(const struct slowgroups *groups, const struct slowgroup *group);

/* slowcalls_still_ns - how long the host stood still during @call. */
int64_t slowcalls_still_ns(const struct slowcall *call, const struct slowness *what);

/* calls_median - of two in the middle the lower one: with two calls, the slow one is compared with the other. 0: no call. */
int64_t calls_median(const struct slowcall *const *calls, size_t cnt);

#endif
