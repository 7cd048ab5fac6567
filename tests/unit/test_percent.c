/* Percents that add up. */
#include "base/percent.h"
#include "base/vec.h"
#include "harness.h"

#define CHECK_PERCENTS(all, parts, ...)                             \
	do {                                                        \
		static const unsigned int want[] = { __VA_ARGS__ }; \
		unsigned int got[PERCENTS_MAX];                     \
                                                                    \
		percents_make(got, parts, ARRAY_SIZE(want), all);   \
		CHECK(!memcmp(got, want, sizeof(want)));            \
	} while (0)

TEST(percents_of_all_add_up_to_a_hundred)
{
	static const int64_t thirds[] = { 1, 1, 1 };
	static const int64_t mostly[] = { 269, 20, 11 };
	static const int64_t halves[] = { 335, 335, 330 };

	CHECK_PERCENTS(3, thirds, 34, 33, 33);
	CHECK_PERCENTS(300, mostly, 90, 7, 3); /* 89.67, 6.67, 3.67 */
	CHECK_PERCENTS(1000, halves, 34, 33, 33);
	CHECK_PERCENTS(1000, halves, 34, 33);
}

TEST(percents_of_a_part_are_rounded)
{
	static const int64_t parts[] = { 996, 4 };
	static const int64_t none[] = { 0, 0 };

	CHECK_PERCENTS(1000, parts, 100);
	CHECK_PERCENTS(1000, parts, 100, 0);
	CHECK_PERCENTS(INT64_MAX, parts, 0, 0);
	CHECK_PERCENTS(7, none, 0, 0);
	CHECK_PERCENTS(0, none, 0, 0);
}
