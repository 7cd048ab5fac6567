/* Times at equal distances. */
#include "base/interval.h"

#include "harness.h"

TEST(intervals_do_not_drift)
{
	struct interval iv;

	interval_begin(&iv, 1000, 100);
	CHECK(iv.begin_ns == 1000 && iv.next_ns == 1100);
	interval_advance(&iv, 1107, 1107); /* noticed late */
	CHECK(iv.begin_ns == 1107 && iv.next_ns == 1200);
	interval_advance(&iv, 1200, 1200);
	CHECK(iv.begin_ns == 1200 && iv.next_ns == 1300);
	interval_advance(&iv, 1650, 1650); /* three went by */
	CHECK(iv.begin_ns == 1650 && iv.next_ns == 1700);
	interval_advance(&iv, 1660, 1660); /* early */
	CHECK(iv.begin_ns == 1660 && iv.next_ns == 1700);
}

TEST(intervals_end_with_time)
{
	struct interval iv;

	interval_begin(&iv, UINT64_MAX - 5, 100);
	CHECK(iv.next_ns == UINT64_MAX);
	interval_begin(&iv, UINT64_MAX - 150, 100);
	CHECK(iv.next_ns == UINT64_MAX - 50);
	interval_advance(&iv, iv.next_ns, UINT64_MAX - 10);
	CHECK(iv.next_ns == UINT64_MAX);
	interval_advance(&iv, UINT64_MAX, UINT64_MAX);
	CHECK(iv.next_ns == UINT64_MAX);
}
