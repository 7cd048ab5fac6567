/* When the whole host stood still. */
#include "harness.h"
#include "trace/stills.h"

#define MS 1000000ull

static struct stills stills;

static void add(uint64_t begin_ms, uint64_t end_ms)
{
	stills_add(&stills, (struct still){ begin_ms * MS, end_ms * MS });
}

static void check_still(size_t i, uint64_t begin_ms, uint64_t end_ms)
{
	CHECK(i < stills.cnt);
	CHECK(stills.items[i].begin_ns / MS == begin_ms);
	CHECK(stills.items[i].end_ns / MS == end_ms);
}

TEST(a_sleep_that_was_late_says_when)
{
	const struct still still = stills_of_sleep(5000 * MS, 10 * MS, 6200 * MS, 0);

	CHECK(still.begin_ns / MS == 5010);
	CHECK(still.end_ns / MS == 6200);
}

/* On a busy host this process waits for its CPU, while others run. */
TEST(waiting_for_a_cpu_is_no_standing_still)
{
	CHECK(stills_of_sleep(5000 * MS, 10 * MS, 6200 * MS, 1100 * MS).begin_ns == 0);
	CHECK(stills_of_sleep(5000 * MS, 10 * MS, 5150 * MS, 0).begin_ns == 0);
	CHECK(stills_of_sleep(5000 * MS, 10 * MS, 5001 * MS, 0).begin_ns == 0);
	CHECK(stills_of_sleep(5000 * MS, 10 * MS, 6200 * MS, UINT32_MAX).begin_ns == 0);
}

TEST(an_event_says_that_a_cpu_ran)
{
	stills = (struct stills){ 0 };
	add(1000, 2000);
	add(5000, 6200);
	stills_cut(&stills, 5010 * MS);
	stills_cut(&stills, 6195 * MS);
	stills_cut(&stills, 3000 * MS);
	stills_cut(&stills, 7000 * MS);
	stills_cut(&stills, 1000 * MS);
	CHECK(stills.cnt == 2);
	check_still(0, 1000, 2000);
	check_still(1, 5010, 6195);
	stills_cut(&stills, 1700 * MS);
	check_still(0, 1000, 1700);
	stills_cut(&stills, 1350 * MS);
	stills_cut(&stills, 1530 * MS);
	CHECK(stills.cnt == 1);
	check_still(0, 5010, 6195);
}

TEST(the_longest_ones_are_kept)
{
	stills = (struct stills){ 0 };
	for (uint64_t i = 0; i < STILLS_MAX; i++)
		add(i * 10000, i * 10000 + (i == 7 ? 300 : 400));
	add(1000000, 1000250);
	CHECK(stills.cnt == STILLS_MAX);
	check_still(7, 70000, 70300);
	add(1100000, 1100350);
	CHECK(stills.cnt == STILLS_MAX);
	check_still(7, 80000, 80400);
	check_still(STILLS_MAX - 1, 1100000, 1100350);
}
