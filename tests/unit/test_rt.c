#include "harness.h"
#include "kernel/probe.h"

static const char *obstacle_of(struct rt_facts facts)
{
	const char *hint = NULL;
	const char *obstacle = rt_obstacle(&facts, &hint);

	CHECK(!obstacle == !hint);
	return obstacle ? obstacle : "";
}

TEST_ONE(only_rt_kernels_have_obstacles,
	 CHECK_STR(obstacle_of((struct rt_facts){ .has_sleeping_ringbuf = true,
						  .has_packets = true }),
		   ""));

TEST(each_obstacle_is_named)
{
	struct rt_facts facts = { .is_rt = true,
				  .has_sleeping_ringbuf = true,
				  .has_packets = true };

	CHECK(strstr(obstacle_of(facts), "overwrite each other's events"));
	facts.has_fetching_atomics = true;
	CHECK(strstr(obstacle_of(facts), "a lock that sleeps"));
	facts.has_sleeping_ringbuf = false;
	CHECK(strstr(obstacle_of(facts), "--cgroup, --container, --pod and --netns: "));
	facts.has_packets = false;
	CHECK_STR(obstacle_of(facts), "");
}
