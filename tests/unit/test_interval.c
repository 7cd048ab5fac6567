/* Times at equal distances. */
#include "base/interval.h"
#include "harness.h"

static void check_advance(struct interval *iv, uint64_t now_ns, uint64_t next_ns)
{
	interval_advance(iv, now_ns, now_ns);
	CHECK(iv->begin_ns == now_ns && iv->next_ns == next_ns);
}

TEST(intervals_do_not_drift)
{
	struct interval iv;

	interval_begin(&iv, 1000, 100);
	CHECK(iv.begin_ns == 1000 && iv.next_ns == 1100);
	check_advance(&iv, 1107, 1200); /* noticed late */
	check_advance(&iv, 1200, 1300);
	check_advance(&iv, 1650, 1700); /* three went by */
	check_advance(&iv, 1660, 1700); /* early */
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
