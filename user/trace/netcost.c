#include "trace/netcost.h"

#include <stdlib.h>

#define ERROR_SHARE 64
#define OWN_SHARE   16
/*
 * Where the same call costs now this and now that, it does so from place to place, too: in traces on an emulator whose time is not
 * counted, by up to two and a half times the distance between the quartiles.
 */
#define QUARTILE_DISTANCES 3

static int by_inner(const void *a, const void *b)
{
	const uint32_t x = ((const struct netcost_sample *)a)->inner_ns;
	const uint32_t y = ((const struct netcost_sample *)b)->inner_ns;

	return (x > y) - (x < y);
}

static int by_outer(const void *a, const void *b)
{
	const uint32_t x = ((const struct netcost_sample *)a)->outer_ns;
	const uint32_t y = ((const struct netcost_sample *)b)->outer_ns;

	return (x > y) - (x < y);
}

static int by_apart(const void *a, const void *b)
{
	const uint32_t x = ((const struct netcost_sample *)a)->apart_ns;
	const uint32_t y = ((const struct netcost_sample *)b)->apart_ns;

	return (x > y) - (x < y);
}

static uint64_t sample_ns(const struct netcost_sample *sample)
{
	return (uint64_t)sample->inner_ns + sample->outer_ns;
}

static int by_sum(const void *a, const void *b)
{
	const uint64_t x = sample_ns(a);
	const uint64_t y = sample_ns(b);

	return (x > y) - (x < y);
}

/* Take off what the measured call, and the way to the next one, take without tracing. */
static void subtract_own(struct netcost *cost, uint64_t added_ns)
{
	const uint64_t sum_ns = (uint64_t)cost->inner_ns + cost->outer_ns;
	uint64_t own_ns = sum_ns > added_ns ? sum_ns - added_ns : 0;

	if (own_ns > sum_ns / OWN_SHARE)
		own_ns = sum_ns / OWN_SHARE;
	if (own_ns / 2 >= cost->inner_ns || own_ns - own_ns / 2 > cost->outer_ns)
		return;
	cost->inner_ns -= (uint32_t)(own_ns / 2);
	cost->outer_ns -= (uint32_t)(own_ns - own_ns / 2);
}

void netcost_of(struct netcost *out, struct netcost_sample *samples, size_t cnt, uint64_t added_ns)
{
	uint64_t error_ns;
	uint64_t least_ns;

	*out = (struct netcost){ 0 };
	if (cnt < NETCOST_SAMPLES_MIN)
		return;
	qsort(samples, cnt, sizeof(*samples), by_inner);
	out->inner_ns = samples[cnt / 2].inner_ns;
	qsort(samples, cnt, sizeof(*samples), by_outer);
	out->outer_ns = samples[cnt / 2].outer_ns;
	qsort(samples, cnt, sizeof(*samples), by_sum);
	error_ns = QUARTILE_DISTANCES *
		   (sample_ns(&samples[cnt * 3 / 4]) - sample_ns(&samples[cnt / 4]));
	subtract_own(out, added_ns);
	least_ns = ((uint64_t)out->inner_ns + out->outer_ns) / ERROR_SHARE + 1;
	qsort(samples, cnt, sizeof(*samples), by_apart);
	if (samples[cnt / 2].apart_ns > least_ns)
		least_ns = samples[cnt / 2].apart_ns;
	out->error_ns = (uint32_t)(error_ns > least_ns ? error_ns : least_ns);
}
