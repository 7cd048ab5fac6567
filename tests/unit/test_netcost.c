/* What tracing costs, from samples, and durations without it. */
#include "trace/netcost.h"

#include "harness.h"

#define CNT 101

static struct netcost_sample samples[CNT];
static struct netcost cost;

/* Samples of which each is as likely as the other: inner from @inner_ns on, outer from @outer_ns on, in steps. */
static void fill(uint32_t inner_ns, uint32_t outer_ns, uint32_t step_ns)
{
	for (uint32_t i = 0; i < CNT; i++)
		samples[i] =
			(struct netcost_sample){ inner_ns + (i * 37 % CNT) * step_ns, outer_ns };
}

TEST(netcost_is_the_median)
{
	fill(450, 500, 1);
	netcost_of(&cost, samples, CNT, 10000);
	CHECK(netcost_is_known(&cost) && cost.inner_ns == 500 && cost.outer_ns == 500);
	CHECK(cost.error_ns == 3 * 50); /* the middle half of the samples, thrice */
}

TEST(netcost_is_without_what_the_calls_take)
{
	fill(500, 500, 0);
	netcost_of(&cost, samples, CNT, 990);
	CHECK(cost.inner_ns == 495 && cost.outer_ns == 495);
	CHECK(cost.error_ns == 990 / 64 + 1);
}

TEST(netcost_of_a_disturbed_comparison_stays_near)
{
	fill(500, 500, 0);
	netcost_of(&cost, samples, CNT, 3);
	CHECK(cost.inner_ns == 469 && cost.outer_ns == 469); /* a 16th less, no more */
	netcost_of(&cost, samples, CNT, 5000);
	CHECK(cost.inner_ns == 500 && cost.outer_ns == 500);
}

/* Caches are as cold as between the two calls that were measured, or as warm. */
TEST(netcost_errs_by_what_two_calls_differ)
{
	fill(500, 500, 0);
	for (uint32_t i = 0; i < CNT; i++)
		samples[i].apart_ns = i * 37 % CNT;
	netcost_of(&cost, samples, CNT, 10000);
	CHECK(cost.inner_ns == 500 && cost.outer_ns == 500 && cost.error_ns == 50);
}

TEST(netcost_needs_samples)
{
	fill(500, 500, 0);
	netcost_of(&cost, samples, NETCOST_SAMPLES_MIN - 1, 1000);
	CHECK(!netcost_is_known(&cost));
	netcost_of(&cost, samples, NETCOST_SAMPLES_MIN, 1000);
	CHECK(netcost_is_known(&cost));
	fill(0, 0, 0);
	netcost_of(&cost, samples, CNT, 0);
	CHECK(!netcost_is_known(&cost));
}

TEST(net_is_without_all_calls_below)
{
	const struct netcost known = { 511, 495, 16 };
	struct net_time net = netcost_net(&known, 1511, 0);

	CHECK(net.is_known && net.ns == 1000 && net.error_ns == 16 && !net_is_small(&net));
	net = netcost_net(&known, 511 + 100 * 1006 + 1616, 100);
	CHECK(net.ns == 1616 && net.error_ns == 1616 && !net_is_small(&net));
	net = netcost_net(&known, 511 + 100 * 1006 + 1615, 100);
	CHECK(net.ns == 1615 && net_is_small(&net));
}

TEST(net_is_never_negative)
{
	const struct netcost known = { 511, 495, 16 };
	const struct net_time net = netcost_net(&known, 510, 0);

	CHECK(net.is_known && net.ns == 0 && net_is_small(&net));
	CHECK(netcost_net(&known, 1000000, UINT32_MAX).ns == 0);
}

TEST(net_is_unknown_without_its_cost)
{
	const struct netcost unknown = { 0, 495, 16 };

	CHECK(!netcost_net(NULL, 1000, 0).is_known);
	CHECK(!netcost_net(&unknown, 1000, 0).is_known);
}
