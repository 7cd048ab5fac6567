/* Which functions are left out when tracing takes too much CPU time, and when a trace must end. */
#include "trace/governor.h"

#include <string.h>

#include "governed.h"
#include "harness.h"

/* Calls of @outer with one of @inner in each. */
static void nests(struct bench *b, uint16_t outer, uint16_t inner, int cnt)
{
	while (cnt--) {
		event(b, EVENT_ENTRY, outer);
		leaves(b, inner, 1);
		event(b, EVENT_EXIT, outer);
	}
}

/* Repeat the load until there is a verdict, after *@ms. */
static enum governor_verdict go_on(struct bench *b, void (*load)(struct bench *b),
				   uint64_t event_cnt_per_ms, uint64_t *ms)
{
	enum governor_verdict verdict = GOVERNOR_FINE;

	for (*ms = 0; *ms < 1000 && verdict == GOVERNOR_FINE; *ms += 20) {
		load(b);
		verdict = tick(b, 20, 20 * event_cnt_per_ms, 0);
	}
	return verdict;
}

/* What the last interval that was judged cost. */
static uint64_t share_pct(const struct bench *b)
{
	return governor_leftout(b->gv)->measured;
}

TEST(what_is_below_the_limit_goes_on)
{
	struct bench b = governed_start(20);

	CHECK(tick(&b, 0, 0, 0) == GOVERNOR_FINE);
	for (int i = 0; i < 50; i++) {
		leaves(&b, 2, 9000);
		CHECK(tick(&b, 100, 18000, 2) == GOVERNOR_FINE);
		CHECK(share_pct(&b) == 20);
	}
	governor_free(b.gv);
}

TEST(what_is_above_the_limit_does_not)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 3; i++) {
		leaves(&b, 2, 9000);
		CHECK(tick(&b, 100, 20100, 0) == (i < 2 ? GOVERNOR_FINE : GOVERNOR_LEAVE_OUT));
		CHECK(share_pct(&b) == 21);
	}
	governor_free(b.gv);
}

TEST(a_short_peak_is_no_reason)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 20; i++) {
		leaves(&b, 2, 10);
		CHECK(tick(&b, 100, i % 3 ? 30000 : 0, 0) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

TEST(the_third_interval_above_it_is_one)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 30000, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 30000, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 30000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "2");
	governor_free(b.gv);
}

TEST(the_reader_counts_too)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 3, 500);
	CHECK(tick(&b, 100, 1000, 40) == GOVERNOR_LEAVE_OUT);
	CHECK(share_pct(&b) == 41);
	governor_free(b.gv);
}

/* CPU time of a reader that finds no events is no reason to trace less. */
TEST(an_idle_reader_stops_nothing)
{
	struct bench b = governed_start(5);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 10; i++) {
		leaves(&b, 2, 50);
		CHECK(tick(&b, 100, 100, 40) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

TEST(hottest_leaves_go_first_and_no_more_than_needed)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 100);
	leaves(&b, 3, 600);
	leaves(&b, 4, 300);
	/* 60 %: the aim is 14, so 77 of 100 calls must go */
	CHECK(tick(&b, 100, 60000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "34");
	governor_free(b.gv);
}

static void others_and_a_leaf(struct bench *b)
{
	leaves(b, 0, 1000);
	leaves(b, 1, 1000);
	leaves(b, 2, 100);
}

static void others_alone(struct bench *b)
{
	leaves(b, 0, 1000);
	leaves(b, 1, 1000);
}

TEST(start_functions_and_those_asked_for_stay)
{
	struct bench b = governed_start(20);
	uint64_t ms;

	tick(&b, 0, 0, 0);
	CHECK(go_on(&b, others_and_a_leaf, 900, &ms) == GOVERNOR_LEAVE_OUT && ms == 120);
	CHECK_STR(left_out(&b), "2");
	CHECK(go_on(&b, others_alone, 900, &ms) == GOVERNOR_STOP && ms == 100);
	governor_free(b.gv);
}

/* Leaving out rarely called functions, round after round, would never meet the limit. */
TEST(what_spares_nothing_is_the_end)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 0, 1000);
	leaves(&b, 2, 5);
	leaves(&b, 3, 4);
	CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_STOP);
	governor_free(b.gv);
}

/* Functions are detached one by one and still called meanwhile: no reason to leave out others, or to end. */
TEST(what_is_left_out_already_is_not_judged_again)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 50);
	leaves(&b, 3, 950);
	CHECK(tick(&b, 100, 60000, 30) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "3");
	for (int i = 0; i < 20; i++) {
		leaves(&b, 2, 50);
		leaves(&b, 3, 950);
		CHECK(tick(&b, 100, 60000, 30) == GOVERNOR_FINE);
		CHECK(share_pct(&b) == 5);
	}
	leaves(&b, 2, 1000);
	CHECK(tick(&b, 100, 60000, 30) == GOVERNOR_LEAVE_OUT);
	CHECK(share_pct(&b) == 90);
	CHECK_STR(left_out(&b), "2");
	governor_free(b.gv);
}

/* Calls that it made may be among the lost ones. */
TEST(a_call_with_a_loss_in_it_is_no_leaf)
{
	const enum event_kind kinds[] = { EVENT_GAP, EVENT_LOST };

	for (int i = 0; i < 2; i++) {
		struct bench b = governed_start(20);
		const struct event elsewhere = { .kind = kinds[i], .cpu = 1, .lost_cnt = 9 };
		const struct event here = { .kind = kinds[i], .cpu = 0, .lost_cnt = 9 };

		tick(&b, 0, 0, 0);
		for (int k = 0; k < 200; k++) {
			if (k == 100)
				CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_FINE);
			event(&b, EVENT_ENTRY, 2);
			governor_events(b.gv, &here, 1);
			event(&b, EVENT_EXIT, 2);
			event(&b, EVENT_ENTRY, 3);
			governor_events(b.gv, &elsewhere, 1);
			event(&b, EVENT_EXIT, 3);
		}
		CHECK(tick(&b, 20, 18000, 0) == GOVERNOR_LEAVE_OUT);
		CHECK_STR(left_out(&b), "3");
		governor_free(b.gv);
	}
}

/* The reader had to wait for a slot that was reserved but not filled. */
TEST(who_saw_no_call_does_not_judge_at_once)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 9; i++)
		CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 100);
	CHECK(tick(&b, 50, 45000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "2");
	for (int i = 0; i < 9; i++)
		CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_FINE);
	CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_STOP);
	governor_free(b.gv);
}

static void deep(struct bench *b)
{
	for (int i = 0; i < 100; i++) {
		event(b, EVENT_ENTRY, 4);
		nests(b, 2, 3, 10);
		event(b, EVENT_EXIT, 4);
	}
}

/* At once, not only when their callees are detached. */
TEST(who_calls_others_is_a_leaf_once_they_are_chosen)
{
	struct bench b = governed_start(10);
	uint64_t ms;

	tick(&b, 0, 0, 0);
	CHECK(go_on(&b, deep, 400, &ms) == GOVERNOR_LEAVE_OUT && ms == 120);
	CHECK(share_pct(&b) == 40);
	CHECK_STR(left_out(&b), "32");
	/* of 40 % a twenty-first is left */
	CHECK(go_on(&b, deep, 400, &ms) == GOVERNOR_FINE && share_pct(&b) == 2);
	governor_free(b.gv);
}

static void around_one_that_stays(struct bench *b)
{
	nests(b, 2, 1, 100);
}

TEST(who_calls_one_that_stays_stays)
{
	struct bench b = governed_start(10);
	uint64_t ms;

	tick(&b, 0, 0, 0);
	CHECK(go_on(&b, around_one_that_stays, 400, &ms) == GOVERNOR_STOP && ms == 100);
	governor_free(b.gv);
}

/*
 * On the only CPU 80 % go for 10 calls of a work that takes 20 %. One call in ten would be 8 % then, but of work that goes on
 * three times as fast: 29 %.
 */
TEST(what_is_spared_is_used_for_more_calls)
{
	const struct governor_config config = {
		.max_pct = 20, .cpu_cnt = 1, .event_ns_x1000 = 1000000, .functab = &governed_functab
	};
	uint64_t event_cnt = 0;
	struct governor_sample sample = { .cpu_event_cnts = &event_cnt };
	struct bench b = { 0 };

	CHECK(!governor_new(&b.gv, &config));
	governor_tick(b.gv, &sample);
	leaves(&b, 2, 30);
	leaves(&b, 3, 70);
	leaves(&b, 4, 900);
	event_cnt += 40000;
	sample.reader_ns += 40 * MS;
	sample.now_ns += 100 * MS;
	CHECK(governor_tick(b.gv, &sample) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "43");
	governor_free(b.gv);
}

TEST(what_detaching_took_is_not_judged)
{
	struct bench b = governed_start(20);
	struct governor_sample sample;

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 60000, 0) == GOVERNOR_LEAVE_OUT);
	b.now_ns += 300 * MS;
	b.event_cnts[1] += 300000;
	sample = (struct governor_sample){ .now_ns = b.now_ns, .cpu_event_cnts = b.event_cnts };
	governor_resume(b.gv, &sample);
	leaves(&b, 3, 10);
	CHECK(tick(&b, 100, 1000, 0) == GOVERNOR_FINE);
	CHECK(share_pct(&b) == 1);
	governor_free(b.gv);
}

TEST(a_tick_too_soon_says_nothing)
{
	struct bench b = governed_start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 50, 90000, 0) == GOVERNOR_FINE);
	CHECK(tick(&b, 50, 0, 0) == GOVERNOR_LEAVE_OUT);
	governor_free(b.gv);
}

TEST(events_that_name_nothing_of_ours_are_ignored)
{
	struct bench b = governed_start(20);
	const struct event odd[] = {
		{ .kind = EVENT_ENTRY, .func_id = 5 },
		{ .kind = EVENT_ENTRY, .cpu = 2 },
		{ .kind = EVENT_LOST, .lost_cnt = 1ull << 40 },
		{ .kind = EVENT_DOUBT },
	};

	governor_events(b.gv, odd, 4);
	tick(&b, 0, 0, 0);
	CHECK(tick(&b, 1000, 900000, 0) == GOVERNOR_STOP);
	governor_free(b.gv);
}

/* A packet's tree: six events, or five that are UNSURE and an end that is a verdict. */
static void packet(struct bench *b, uint8_t verdict)
{
	b->flags = EVENT_TREE | EVENT_TREE_ROOT | EVENT_TREE_UNSURE;
	event(b, EVENT_ENTRY, 2);
	b->flags = EVENT_TREE | EVENT_TREE_UNSURE;
	leaves(b, 3, 2);
	b->flags = EVENT_TREE | EVENT_TREE_ROOT | verdict;
	event(b, EVENT_EXIT, 2);
	b->flags = 0;
}

/* Packets whose owner is not in scope, or is never found, fill the rings, and are not charged. */
TEST(packets_of_others_are_not_charged)
{
	struct bench b = governed_start(20);

	b.cpu = 1;
	tick(&b, 0, 0, 0);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 5000; k++)
			packet(&b, k % 2 ? EVENT_TREE_DROP : EVENT_TREE_UNSURE);
		leaves(&b, 4, 5000);
		CHECK(tick(&b, 100, 40000, 40) == GOVERNOR_FINE);
		/* 10,000 of 40,000 events take 10 of 100 ms, and as much of the reader's time */
		CHECK(share_pct(&b) == 20);
	}
	governor_free(b.gv);
}

/* Those in scope are, from their first event on. */
TEST(packets_in_scope_are_charged)
{
	struct bench b = governed_start(20);

	b.cpu = 1;
	tick(&b, 0, 0, 0);
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3500; k++)
			packet(&b, 0);
		CHECK(tick(&b, 100, 21000, 0) == (i < 2 ? GOVERNOR_FINE : GOVERNOR_LEAVE_OUT));
		CHECK(share_pct(&b) == 21);
	}
	CHECK_STR(left_out(&b), "3");
	governor_free(b.gv);
}

/* A fifth of the time is traced: what takes half of it is a tenth of all, and the gaps are no part of an interval. */
TEST(shares_in_windows_are_of_all_the_time)
{
	struct bench b = governed_start(20);

	b.cpu = 1;
	governor_set_duty(b.gv, 20);
	tick(&b, 0, 0, 0);
	for (int i = 0; i < 5; i++) {
		leaves(&b, 3, 25000);
		CHECK(tick(&b, 100, 50000, 0) == GOVERNOR_FINE);
		CHECK(share_pct(&b) == 10);
		b.now_ns += 400 * MS;
		governor_pause(b.gv, 400 * MS);
	}
	governor_set_duty(b.gv, 100);
	for (int i = 0; i < 3; i++)
		leaves(&b, 3, 25000);
	CHECK(tick(&b, 100, 50000, 0) == GOVERNOR_LEAVE_OUT);
	governor_free(b.gv);
}
