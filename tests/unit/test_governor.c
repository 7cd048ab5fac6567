/* Which functions are left out when tracing takes too much CPU time, and when a trace must end. */
#include "trace/governor.h"
#include "governed.h"
#include "harness.h"

AFTER(governed_end);

/* Calls of @outer with one of @inner in each. */
static void nests(uint16_t outer, uint16_t inner, int cnt)
{
	while (cnt--) {
		event(EVENT_ENTRY, outer);
		leaves(inner, 1);
		event(EVENT_EXIT, outer);
	}
}

/* Repeat the load until there is a verdict, after *@ms. */
static enum governor_verdict go_on(void (*load)(void), uint64_t event_cnt_per_ms, uint64_t *ms)
{
	enum governor_verdict verdict = GOVERNOR_FINE;

	for (*ms = 0; *ms < 1000 && verdict == GOVERNOR_FINE; *ms += 20) {
		load();
		verdict = tick(20, 20 * event_cnt_per_ms, 0);
	}
	return verdict;
}

/* What the last interval that was judged cost. */
static uint64_t share_pct(void)
{
	return governor_leftout(gov.gv)->measured;
}

TEST(what_is_below_the_limit_goes_on)
{
	governed_start(20, 0);
	for (int i = 0; i < 50; i++) {
		CHECK(after("2*9000", 100, 18000, 2) == GOVERNOR_FINE);
		CHECK(share_pct() == 20);
	}
}

TEST(what_is_above_the_limit_does_not)
{
	governed_start(20, 0);
	for (int i = 0; i < 3; i++) {
		CHECK(after("2*9000", 100, 20100, 0) ==
		      (i < 2 ? GOVERNOR_FINE : GOVERNOR_LEAVE_OUT));
		CHECK(share_pct() == 21);
	}
}

TEST(a_short_peak_is_no_reason)
{
	governed_start(20, 0);
	for (int i = 0; i < 20; i++) {
		CHECK(after("2*10", 100, i % 3 ? 30000 : 0, 0) == GOVERNOR_FINE);
	}
}

TEST(the_third_interval_above_it_is_one)
{
	governed_start(20, 0);
	CHECK(after("2*10", 100, 30000, 0) == GOVERNOR_FINE);
	CHECK(after("2*10", 100, 30000, 0) == GOVERNOR_FINE);
	CHECK(after("2*10", 100, 30000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "2");
}

TEST_ONE(the_reader_counts_too, governed_start(20, 0),
	 CHECK(after("3*500", 100, 1000, 40) == GOVERNOR_LEAVE_OUT), CHECK(share_pct() == 41));

/* CPU time of a reader that finds no events is no reason to trace less. */
TEST(an_idle_reader_stops_nothing)
{
	governed_start(5, 0);
	for (int i = 0; i < 10; i++) {
		CHECK(after("2*50", 100, 100, 40) == GOVERNOR_FINE);
	}
}

TEST(hottest_leaves_go_first_and_no_more_than_needed)
{
	governed_start(20, 0);
	/* 60 %: the aim is 14, so 77 of 100 calls must go */
	CHECK(after("2*100 3*600 4*300", 100, 60000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "34");
}

static void others_and_a_leaf(void)
{
	leaves(0, 1000);
	leaves(1, 1000);
	leaves(2, 100);
}

static void others_alone(void)
{
	leaves(0, 1000);
	leaves(1, 1000);
}

TEST(start_functions_and_those_asked_for_stay)
{
	uint64_t ms;

	governed_start(20, 0);
	CHECK(go_on(others_and_a_leaf, 900, &ms) == GOVERNOR_LEAVE_OUT && ms == 120);
	CHECK_STR(left_out(), "2");
	CHECK(go_on(others_alone, 900, &ms) == GOVERNOR_STOP && ms == 300);
}

static void leaves_with_one_asked_for(void)
{
	leaves(2, 100);
	leaves(3, 600);
	leaves(4, 300);
}

static void one_asked_for(void)
{
	leaves(3, 600);
}

/* What tells what the user wants to know is left out when nothing else is left, although it is the hottest. */
TEST(what_was_asked_for_goes_last)
{
	uint64_t ms;

	governed_funcs[3].goes_last = true;
	governed_start(20, 0);
	CHECK(go_on(leaves_with_one_asked_for, 600, &ms) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "42");
	CHECK(go_on(one_asked_for, 600, &ms) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "3");
	CHECK(go_on(others_alone, 900, &ms) == GOVERNOR_STOP);
	governed_funcs[3].goes_last = false;
}

TEST(what_was_asked_for_stays_if_that_is_enough)
{
	uint64_t ms;

	governed_funcs[4].goes_last = true;
	governed_start(20, 0);
	CHECK(go_on(leaves_with_one_asked_for, 260, &ms) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "3");
	governed_funcs[4].goes_last = false;
}

/* 180 % for 0.1 s are 18 % of a second; with 30 % for the next 0.2 s they are 24 %. */
TEST(a_burst_is_not_the_end)
{
	governed_start(20, 0);
	for (int i = 0; i < 5; i++) {
		CHECK(after("0*1000", 100, 90000, 90) == GOVERNOR_FINE);
		CHECK(share_pct() == 180);
		CHECK(after("0*1", 900, 900, 0) == GOVERNOR_FINE);
	}
	CHECK(after("0*1000", 100, 90000, 90) == GOVERNOR_FINE);
	CHECK(after("0*1000", 100, 30000, 0) == GOVERNOR_FINE);
	CHECK(after("0*1000", 100, 30000, 0) == GOVERNOR_STOP);
}

/* 20.1 %: a second of it is needed. */
TEST(a_mean_above_the_limit_is_the_end)
{
	governed_start(20, 0);
	for (int i = 0; i < 10; i++) {
		CHECK(after("0*1000", 100, 20100, 0) == (i < 9 ? GOVERNOR_FINE : GOVERNOR_STOP));
	}
}

/* Leaving out rarely called functions, round after round, would never meet the limit. */
TEST(what_spares_nothing_is_the_end)
{
	governed_start(20, 0);
	for (int i = 0; i < 3; i++) {
		CHECK(after("0*1000 2*5 3*4", 100, 90000, 0) ==
		      (i < 2 ? GOVERNOR_FINE : GOVERNOR_STOP));
	}
}

/* Functions are detached one by one and still called meanwhile: no reason to leave out others, or to end. */
TEST(what_is_left_out_already_is_not_judged_again)
{
	governed_start(20, 0);
	CHECK(after("2*50 3*950", 100, 60000, 30) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "3");
	for (int i = 0; i < 20; i++) {
		CHECK(after("2*50 3*950", 100, 60000, 30) == GOVERNOR_FINE);
		CHECK(share_pct() == 5);
	}
	CHECK(after("2*1000", 100, 60000, 30) == GOVERNOR_LEAVE_OUT);
	CHECK(share_pct() == 90);
	CHECK_STR(left_out(), "2");
}

/* Calls that it made may be among the lost ones. */
TEST(a_call_with_a_loss_in_it_is_no_leaf)
{
	const enum event_kind kinds[] = { EVENT_GAP, EVENT_LOST };

	for (int i = 0; i < 2; i++) {
		const struct event elsewhere = { .kind = kinds[i], .cpu = 1, .lost_cnt = 9 };
		const struct event here = { .kind = kinds[i], .cpu = 0, .lost_cnt = 9 };

		governed_start(20, 0);
		for (int k = 0; k < 200; k++) {
			if (k == 100)
				CHECK(tick(100, 90000, 0) == GOVERNOR_FINE);
			event(EVENT_ENTRY, 2);
			governor_events(gov.gv, &here, 1);
			event(EVENT_EXIT, 2);
			event(EVENT_ENTRY, 3);
			governor_events(gov.gv, &elsewhere, 1);
			event(EVENT_EXIT, 3);
		}
		CHECK(tick(20, 18000, 0) == GOVERNOR_LEAVE_OUT);
		CHECK_STR(left_out(), "3");
	}
}

/* The reader had to wait for a slot that was reserved but not filled. */
TEST(who_saw_no_call_does_not_judge_at_once)
{
	governed_start(20, 0);
	for (int i = 0; i < 9; i++)
		CHECK(tick(100, 90000, 0) == GOVERNOR_FINE);
	CHECK(after("2*100", 50, 45000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "2");
	for (int i = 0; i < 9; i++)
		CHECK(tick(100, 90000, 0) == GOVERNOR_FINE);
	CHECK(tick(100, 90000, 0) == GOVERNOR_STOP);
}

static void deep(void)
{
	for (int i = 0; i < 100; i++) {
		event(EVENT_ENTRY, 4);
		nests(2, 3, 10);
		event(EVENT_EXIT, 4);
	}
}

/* At once, not only when their callees are detached. */
TEST(who_calls_others_is_a_leaf_once_they_are_chosen)
{
	uint64_t ms;

	governed_start(10, 0);
	CHECK(go_on(deep, 400, &ms) == GOVERNOR_LEAVE_OUT && ms == 120);
	CHECK(share_pct() == 40);
	CHECK_STR(left_out(), "32");
	/* of 40 % a twenty-first is left */
	CHECK(go_on(deep, 400, &ms) == GOVERNOR_FINE && share_pct() == 2);
}

static void around_one_that_stays(void)
{
	nests(2, 1, 100);
}

TEST(who_calls_one_that_stays_stays)
{
	uint64_t ms;

	governed_start(10, 0);
	CHECK(go_on(around_one_that_stays, 400, &ms) == GOVERNOR_STOP && ms == 300);
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

	CHECK(!governor_new(&gov.gv, &config));
	governor_tick(gov.gv, &sample);
	leaves(2, 30);
	leaves(3, 70);
	leaves(4, 900);
	event_cnt += 40000;
	sample.reader_ns += 40 * MS;
	sample.now_ns += 100 * MS;
	CHECK(governor_tick(gov.gv, &sample) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "43");
}

TEST(what_detaching_took_is_not_judged)
{
	governed_start(20, 0);
	CHECK(after("2*10", 100, 60000, 0) == GOVERNOR_LEAVE_OUT);
	gov.event_cnts[1] += 300000;
	governor_resume(gov.gv, sample_after(300));
	CHECK(after("3*10", 100, 1000, 0) == GOVERNOR_FINE && share_pct() == 1);
}

TEST_ONE(a_tick_too_soon_says_nothing, governed_start(20, 0),
	 CHECK(after("2*10", 50, 90000, 0) == GOVERNOR_FINE),
	 CHECK(tick(50, 0, 0) == GOVERNOR_LEAVE_OUT));

TEST(events_that_name_nothing_of_ours_are_ignored)
{
	const struct event odd[] = {
		{ .kind = EVENT_ENTRY, .func_id = 5 },
		{ .kind = EVENT_ENTRY, .cpu = 2 },
		{ .kind = EVENT_LOST, .lost_cnt = 1ull << 40 },
		{ .kind = EVENT_DOUBT },
	};

	governed_start(20, 0);
	governor_events(gov.gv, odd, 4);
	CHECK(tick(1000, 900000, 0) == GOVERNOR_STOP);
}

/* Tracepoints cost what their records take, and are no calls of the functions with their numbers. */
TEST(tracepoints_are_charged)
{
	governed_start(20, 0);
	for (int i = 0; i < 3; i++) {
		for (int at = 0; at < 500; at++)
			event(EVENT_POINT, 2);
		CHECK(after("3*10", 100, 30000, 0) == (i < 2 ? GOVERNOR_FINE : GOVERNOR_LEAVE_OUT));
		CHECK(i < 2 || share_pct() == 30);
	}
	CHECK_STR(left_out(), "3");
	governed_start(20, 0);
	for (int i = 0; i < 7; i++) {
		for (int at = 0; at < 500; at++)
			event(EVENT_POINT, 2);
		CHECK(after("0*1", 100, 30000, 0) == (i < 6 ? GOVERNOR_FINE : GOVERNOR_STOP));
	}
}

/* A packet's tree: six events, or five that are UNSURE and an end that is a verdict. */
static void packet(uint8_t verdict)
{
	gov.flags = EVENT_TREE | EVENT_TREE_ROOT | EVENT_TREE_UNSURE;
	event(EVENT_ENTRY, 2);
	gov.flags = EVENT_TREE | EVENT_TREE_UNSURE;
	leaves(3, 2);
	gov.flags = EVENT_TREE | EVENT_TREE_ROOT | verdict;
	event(EVENT_EXIT, 2);
	gov.flags = 0;
}

/* Packets whose owner is not in scope, or is never found, fill the rings, and are not charged. */
TEST(packets_of_others_are_not_charged)
{
	governed_start(20, 0);
	gov.cpu = 1;
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 5000; k++)
			packet(k % 2 ? EVENT_TREE_DROP : EVENT_TREE_UNSURE);
		CHECK(after("4*5000", 100, 40000, 40) == GOVERNOR_FINE);
		/* 10,000 of 40,000 events take 10 of 100 ms, and as much of the reader's time */
		CHECK(share_pct() == 20);
	}
}

/* Those in scope are, from their first event on. */
TEST(packets_in_scope_are_charged)
{
	governed_start(20, 0);
	gov.cpu = 1;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 3500; k++)
			packet(0);
		CHECK(tick(100, 21000, 0) == (i < 2 ? GOVERNOR_FINE : GOVERNOR_LEAVE_OUT));
		CHECK(share_pct() == 21);
	}
	CHECK_STR(left_out(), "3");
}

/* A fifth of the time is traced: what takes half of it is a tenth of all, and the gaps are no part of an interval. */
TEST(shares_in_windows_are_of_all_the_time)
{
	governed_start(20, 0);
	gov.cpu = 1;
	governor_set_duty(gov.gv, 20);
	for (int i = 0; i < 5; i++) {
		CHECK(after("3*25000", 100, 50000, 0) == GOVERNOR_FINE);
		CHECK(share_pct() == 10);
		gov.now_ns += 400 * MS;
		governor_pause(gov.gv, 400 * MS);
	}
	governor_set_duty(gov.gv, 100);
	CHECK(after("3*75000", 100, 50000, 0) == GOVERNOR_LEAVE_OUT);
}
