#ifndef NFG_TRACE_NETCOST_H
#define NFG_TRACE_NETCOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What tracing adds to durations. Each traced call has two readings of the clock, its duration. Our cost of the call lies partly
 * between them (inner) and partly before and after (outer), where it prolongs its caller and all calls above it. So the net
 * duration of a call is its duration, less inner, less inner and outer of each call below it, at whatever depth.
 *
 * Pure: no clock, no I/O.
 */
struct netcost {
	uint32_t inner_ns; /* 0: the cost is not known */
	uint32_t outer_ns;
	uint32_t
		error_ns; /* by how much their sum may be wrong, per call; at least 1 where it is known */
};

/* A net duration. It lies between ns - error_ns and ns + error_ns, unless something disturbed the call itself. */
struct net_time {
	uint64_t ns; /* 0 if it would be negative */
	uint64_t error_ns;
	uint64_t cost_ns; /* what was taken off for it */
	bool is_known;
};

static inline bool netcost_is_known(const struct netcost *cost)
{
	return cost && cost->inner_ns;
}

/* net_is_small - whether a known net duration is less than its error: nothing but that is known of it. */
static inline bool net_is_small(const struct net_time *net)
{
	return net->ns < net->error_ns;
}

/* net_is_told - whether it is known, and not less than its error: tables and data tell no other. */
static inline bool net_is_told(const struct net_time *net)
{
	return net->is_known && !net_is_small(net);
}

/* netcost_net - the net duration of a call with @below_cnt traced calls below it; unknown if the cost is, or @cost is NULL. */
static inline struct net_time netcost_net(const struct netcost *cost, uint64_t duration_ns,
					  uint64_t below_cnt)
{
	uint64_t cost_ns;

	if (!netcost_is_known(cost))
		return (struct net_time){ 0 };
	cost_ns = cost->inner_ns + below_cnt * ((uint64_t)cost->inner_ns + cost->outer_ns);
	return (struct net_time){
		.ns = duration_ns > cost_ns ? duration_ns - cost_ns : 0,
		.error_ns = (below_cnt + 1) * cost->error_ns,
		.cost_ns = cost_ns,
		.is_known = true,
	};
}

/*
 * What was measured of two calls that follow each other: time between the clock readings of a call, the mean of both, and from the
 * second reading of one to the first of the next.
 */
struct netcost_sample {
	uint32_t inner_ns;
	uint32_t outer_ns;
	uint32_t
		apart_ns; /* by how much the two differ: the first finds caches and predictors as user space left them */
};

/* With fewer samples than these the cost counts as unknown. */
#define NETCOST_SAMPLES_MIN 20

/*
 * netcost_of - the medians of @cnt samples, which it sorts, less what the calls themselves take: together they are @added_ns, by
 * which tracing prolonged a call, if that is less, but not by more than a 16th.
 *
 * The error is three times the distance between the quartiles of the samples' sums, and at least the median of apart_ns, and a 64th
 * of the cost: what a call costs depends on the call, and on those before it, too. With too few samples the cost is unknown.
 */
void netcost_of(struct netcost *out, struct netcost_sample *samples, size_t cnt, uint64_t added_ns);

#endif
