#include "trace/loss.h"
#include "harness.h"

#define MS 1000000ull

static struct absence ab;

TEST(nothing_is_missed_before_the_first_look)
{
	absence_look(&ab, 100000 * MS, 50 * MS);
	CHECK(!ab.total_ns);
}

TEST(sleeping_and_working_is_no_absence)
{
	absence_look(&ab, 100000 * MS, 50 * MS);
	absence_look(&ab, 100010 * MS, 51 * MS);
	absence_look(&ab, 101010 * MS, 51 * MS);   /* a second is not long */
	absence_look(&ab, 109010 * MS, 8051 * MS); /* a long pass */
	CHECK(!ab.total_ns);
}

TEST(what_is_not_spent_here_is_absence)
{
	absence_look(&ab, 100000 * MS, 50 * MS);
	absence_look(&ab, 104000 * MS, 50 * MS);
	CHECK(ab.total_ns == 4000 * MS);
	absence_look(&ab, 104010 * MS, 51 * MS);
	absence_look(&ab, 108010 * MS, 2051 * MS); /* it had half a CPU */
	CHECK(ab.total_ns == 6000 * MS);
}

TEST(waiting_for_the_kernel_is_no_absence)
{
	absence_look(&ab, 100000 * MS, 50 * MS);
	absence_skip(&ab, 104000 * MS, 50 * MS);
	absence_look(&ab, 104010 * MS, 51 * MS);
	CHECK(!ab.total_ns);
}
