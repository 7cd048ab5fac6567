/* Which calls are slow. */
#include "harness.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

/* Longer and longer calls, with no gap between usual and slow ones. */
TEST(without_a_gap_at_most_a_tenth_of_the_calls_is_slow)
{
	uint64_t at = put_usuals(1000, 60);

	for (uint64_t i = 0; i < 40; i++)
		at = put_slow(at, 100 + i * 50, NULL);
	find(0);
	CHECK_INT(causes.slow_cnt, 10);
	CHECK_INT(groups.beyond_cnt, 25); /* from 450 us on */
	CHECK(groups.is_cut);
	CHECK_INT(causes.least_ns, (100 + 100 + 30 * 50) * US);
	check_whole();
}

/* @slow calls of about 1 s, and so many others. */
static void check_two_kinds(int slow, int others)
{
	uint64_t at = put_usuals(1000, others);

	for (int i = 0; i < slow; i++)
		at = put_slow(at, 1000000 + (uint64_t)(i % 7) * 1000, NULL);
	find(0);
	CHECK_INT(causes.slow_cnt, slow);
	CHECK_INT(causes.least_ns, (100 + 1000000) * US);
	check_whole();
}

TEST(more_than_a_tenth_is_slow_where_calls_are_of_two_kinds)
{
	check_two_kinds(2, 15);
}

/* 31 calls of 48 ms and two in between. */
TEST(a_few_calls_may_be_in_between)
{
	uint64_t at = put_usuals(1000, 67);

	for (int i = 0; i < 31; i++)
		at = put_slow(at, 48000 + (uint64_t)i * 100, NULL);
	at = put_slow(at, 18300, NULL);
	put_slow(at, 22000, NULL);
	find(0);
	CHECK_INT(causes.slow_cnt, 31);
	CHECK_INT(groups.beyond_cnt, 2);
	CHECK(!groups.is_cut);
}

TEST(nearly_half_of_the_calls_may_be_slow)
{
	check_two_kinds(40, 60);
}

TEST(calls_that_are_all_as_slow_are_all_counted)
{
	check_two_kinds(40, 600);
}

TEST(what_the_user_calls_slow_is_slow)
{
	uint64_t at = put_usuals(1000, 2);

	at = put_slow(put_slow(at, 1, NULL), 2, NULL);
	find(101);
	CHECK_INT(causes.slow_cnt, 2);
	CHECK_INT(causes.excess_ns, 3 * US);
	check_cause(0, CAUSE_RUNNING, "f", 3);
}

TEST(without_others_all_of_a_call_is_excess)
{
	put_slow(1000, 50000, SLEPT);
	find(1);
	CHECK_INT(causes.slow_cnt, 1);
	CHECK_INT(causes.usual_ns, 0);
	CHECK_INT(causes.excess_ns, 50100 * US);
	check_cause(0, CAUSE_ASLEEP, "wait_more", 48000);
	check_whole();
}

TEST(nothing_is_slow_where_calls_differ_little)
{
	uint64_t at = put_usuals(1000, 20);

	put_slow(at, 290, NULL);
	find(0);
	CHECK_INT(groups.cnt, 0);
	CHECK_INT(groups.slow_cnt, 0);
	CHECK_INT(groups.usual_ns, 100 * US);
}

TEST(of_two_calls_one_is_compared_with_the_other)
{
	put_slow(put_usual(1000), 1000, NULL);
	find(0);
	CHECK_INT(causes.slow_cnt, 1);
	CHECK_INT(causes.usual_ns, 100 * US);
}

/* Without being told what is slow: so many calls, from so long on. */
static void check_slow(uint64_t cnt, int64_t least_us)
{
	find(0);
	CHECK_INT(causes.slow_cnt, cnt);
	CHECK_INT(causes.least_ns, least_us * US);
	check_whole();
}

/* Two calls of 200 ms, and ten that were disturbed for 1 ms: the two are what is slow. */
TEST(calls_that_were_hardly_disturbed_are_not_slow)
{
	uint64_t at = put_usuals(1000, 120);

	for (int i = 0; i < 12; i++)
		at = put_slow(at, i % 6 ? 1000 : 200000, NULL);
	check_slow(2, 200100);
	CHECK_INT(causes.excess_ns, 400000 * US);
}

/* Six calls of 70 ms, and ten of up to 5 ms that are longer than all others, too. Without most of the time they are as slow. */
TEST(calls_much_longer_than_all_others_are_slow_alone)
{
	uint64_t at = put_usuals(1000, 300);

	for (int i = 0; i < 16; i++)
		at = put_slow(at, i % 8 < 3 ? 70000 : 4200 + (uint64_t)i * 50, NULL);
	check_slow(6, 70100);
}

/* One call of 100 ms and twenty of 10 ms, and twenty of 1.9 ms: the wider gap leaves the most of what is more below it. */
TEST(the_gap_that_counts_has_half_above_it)
{
	uint64_t at = put_usuals(1000, 1000);

	for (int i = 0; i < 41; i++)
		at = put_slow(at, !i ? 100000 : i <= 20 ? 10000 : 1900, NULL);
	check_slow(21, 10100);
}

/* 20 calls of 40 ms, and the tail of the usual ones up to 18 ms. A wider gap would be below these if they were no tail. */
TEST(the_tail_of_usual_calls_is_not_slow)
{
	static const uint64_t tail_us[] = {
		100, 250, 500, 900, 1500, 2500, 4500, 8000, 12000, 18000
	};
	uint64_t at = put_usuals(1000, 300);

	for (int i = 0; i < 20; i++)
		at = put_slow(at, 40000, NULL);
	for (size_t i = 0; i < CNT_OF(tail_us); i++)
		at = put_slow(at, tail_us[i], NULL);
	check_slow(20, 40100);
}

/* Connects that were repeated once and twice, and some that were not at all. */
TEST(calls_of_one_and_three_seconds_are_slow_together)
{
	uint64_t at = put_usuals(1000, 300);

	for (int i = 0; i < 12; i++)
		at = put_slow(at, i < 9 ? 3000000 : 1000000, NULL);
	check_slow(12, 1000100);
}

TEST(those_that_have_less_than_half_are_not_alone)
{
	uint64_t at = put_usuals(1000, 300);

	for (int i = 0; i < 12; i++)
		at = put_slow(at, i ? 4000 : 20400, NULL);
	check_slow(12, 4100);
}

/* Those that have the last twentieth of the excess are not, either; without a gap all others are. */
TEST(the_slowest_calls_have_nearly_all_of_the_excess)
{
	static const uint64_t tail_us[] = { 80, 200, 350, 600 };
	uint64_t at = put_usuals(1000, 200);

	for (size_t i = 0; i < CNT_OF(tail_us); i++)
		at = put_slow(at, tail_us[i], NULL);
	for (int i = 1; i <= 10; i++)
		at = put_slow(at, (uint64_t)i * 1000, NULL);
	find(0);
	CHECK_INT(causes.slow_cnt, 9); /* 10 + 9 + ... + 2 of 56 */
	check_whole();
}
