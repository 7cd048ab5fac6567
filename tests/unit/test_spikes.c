/* Spikes among usual calls that have a tail: as many calls are slow as there are spikes. */
#include <stdio.h>

#include "harness.h"
#include "random.h"
#include "rows.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

/* From 0 to 1. */
static double draw(void)
{
	return random_below(1u << 30) / (double)(1u << 30);
}

/* Exponential with a mean of 1, by von Neumann's comparisons. */
static double draw_exponential(void)
{
	for (int whole = 0;; whole++) {
		const double first = draw();
		double last = first;
		bool is_odd = true;

		for (double next = draw(); next < last; next = draw()) {
			last = next;
			is_odd = !is_odd;
		}
		if (is_odd)
			return whole + first;
	}
}

/* Usual calls: @base_us, up to @more_us longer, and a part of them by an exponential time with that mean. */
struct usual {
	int cnt;
	double base_us;
	double more_us;
	double disturbed;
	double tail_us;
};

struct spikes {
	int cnt;
	double us;
};

static double draw_usual(const struct usual *usual)
{
	const double us = usual->base_us + draw() * usual->more_us;

	return draw() < usual->disturbed ? us + draw_exponential() * usual->tail_us : us;
}

static void put_calls(const struct usual *usual, const struct spikes *spikes, size_t cnt)
{
	uint64_t at_us = 1000;

	calls_free();
	calls_begin();
	for (int i = 0; i < usual->cnt; i++)
		at_us = put_slow(at_us, (uint64_t)draw_usual(usual) - 100, NULL);
	for (size_t i = 0; i < cnt; i++) {
		for (int k = 0; k < spikes[i].cnt; k++)
			at_us = put_slow(at_us,
					 (uint64_t)(spikes[i].us * (0.9 + 0.2 * draw()) +
						    draw_usual(usual)),
					 NULL);
	}
}

/* Of so many draws at least so many percent have as many slow calls as there are spikes, the others about as many. */
static void check_spikes(const struct usual *usual, const struct spikes *spikes, size_t cnt,
			 int percent)
{
	const int draw_cnt = usual->cnt > 1000 ? 20 : 100;
	int want = 0, right_cnt = 0;

	for (size_t i = 0; i < cnt; i++)
		want += spikes[i].cnt;
	for (int i = 0; i < draw_cnt; i++) {
		put_calls(usual, spikes, cnt);
		find(0);
		right_cnt += (int)groups.slow_cnt == want;
		if ((int)groups.slow_cnt != want && percent == 100)
			printf("%d usual, %d spikes: %zu slow\n", usual->cnt, want,
			       groups.slow_cnt);
	}
	if (right_cnt * 100 < percent * draw_cnt)
		printf("%d usual, %d spikes: %d of %d\n", usual->cnt, want, right_cnt, draw_cnt);
	CHECK(right_cnt * 100 >= percent * draw_cnt);
}

/* All have a tail, or only a fifth of them. */
static const struct usual usuals[] = {
	{ .base_us = 100, .disturbed = 1, .tail_us = 100 },
	{ .base_us = 100, .disturbed = 1, .tail_us = 400 },
	{ .base_us = 100, .more_us = 20, .disturbed = 0.2, .tail_us = 400 },
	{ .base_us = 100, .more_us = 20, .disturbed = 0.2, .tail_us = 1000 },
};

static void check_each(int usual_cnt, const struct spikes *spikes, size_t cnt, int percent)
{
	for (size_t i = 0; i < CNT_OF(usuals); i++) {
		struct usual usual = usuals[i];

		usual.cnt = usual_cnt;
		check_spikes(&usual, spikes, cnt, percent);
	}
}

TEST(six_of_two_thousand)
{
	check_each(2000, &(struct spikes){ 6, 40000 }, 1, 95);
	check_each(2000, &(struct spikes){ 3, 40000 }, 1, 95);
}

TEST(a_twentieth_and_more_of_all_calls)
{
	check_each(1900, &(struct spikes){ 100, 40000 }, 1, 95);
	check_each(880, &(struct spikes){ 120, 40000 }, 1, 95);
	check_each(700, &(struct spikes){ 300, 40000 }, 1, 95);
}

TEST(spikes_of_two_sizes)
{
	check_each(2000, (const struct spikes[]){ { 6, 40000 }, { 10, 15000 } }, 2, 90);
	check_each(2000, (const struct spikes[]){ { 6, 200000 }, { 10, 15000 } }, 2, 90);
	check_each(2000, (const struct spikes[]){ { 1, 1000000 }, { 6, 40000 } }, 2, 90);
}

/* A limit of a tenth would leave out most of them, and the tail would fill it where there are fewer. */
TEST(few_calls)
{
	for (int cnt = 1; cnt <= 3; cnt++)
		check_each(10 - cnt, &(struct spikes){ cnt, 40000 }, 1, 97);
	for (int cnt = 1; cnt <= 5; cnt++)
		check_each(30 - cnt, &(struct spikes){ cnt, 40000 }, 1, 97);
}

/* Other tasks take the CPU for some milliseconds: a call of the tail may take as long as a spike. */
TEST(a_tail_that_reaches_the_spikes)
{
	const struct usual usual = {
		.cnt = 241, .base_us = 1200, .more_us = 3000, .disturbed = 0.2, .tail_us = 4000
	};

	check_spikes(&usual, &(struct spikes){ 6, 40000 }, 1, 80);
	check_spikes(&usual, &(struct spikes){ 12, 40000 }, 1, 80);
}

/* Calls of up to 100 ms that other tasks delay have most of the time, and one was longer by chance. */
TEST(one_call_does_not_hide_others)
{
	const struct usual usual = {
		.cnt = 293, .base_us = 1200, .more_us = 6000, .disturbed = 0.2, .tail_us = 18000
	};

	for (int i = 0; i < 40; i++) {
		put_calls(&usual, &(struct spikes){ 1, 335000 }, 1);
		find(0);
		CHECK(groups.slow_cnt >= 5);
	}
}

/* Without spikes there is no gap, so up to a tenth is slow. */
TEST(a_tail_alone_is_not_taken_for_spikes)
{
	const struct usual usual = {
		.cnt = 2000, .base_us = 100, .more_us = 20, .disturbed = 0.2, .tail_us = 1000
	};
	int right_cnt = 0;

	for (int i = 0; i < 40; i++) {
		put_calls(&usual, NULL, 0);
		find(0);
		right_cnt += groups.cnt == 1 && groups.slow_cnt > 100;
	}
	CHECK(right_cnt >= 38);
}

/* It took over four times the median, too. */
TEST(what_is_left_of_the_tail_is_counted)
{
	const struct usual usual = {
		.cnt = 2000, .base_us = 100, .more_us = 20, .disturbed = 0.2, .tail_us = 1000
	};

	put_calls(&usual, &(struct spikes){ 8, 40000 }, 1);
	find(0);
	CHECK_INT(groups.slow_cnt, 8);
	CHECK(groups.beyond_cnt > 200);
	CHECK(!groups.is_cut);
}
