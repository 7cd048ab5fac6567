/* The same for a limit on events a second, alone and beside the one on CPU time. */
#include "trace/governor.h"
#include "governed.h"
#include "harness.h"

AFTER(governed_end);

static struct leftout decided(void)
{
	return *governor_leftout(gov.gv);
}

/* 10,000 a second, and no share of the CPU's time is too much. */
TEST(as_many_events_as_allowed_go_on)
{
	governed_start(100, 10000);
	for (int i = 0; i < 100; i++) {
		CHECK(after("2*500", 100, 90000, 90) == GOVERNOR_FINE);
	}
}

TEST(a_second_with_more_events_leaves_out_before_it_ends)
{
	governed_start(100, 5000);
	for (int i = 0; i < 5; i++) {
		CHECK(after("3*350 4*150", 100, 0, 0) == GOVERNOR_FINE);
	}
	CHECK(after("3*350 4*150", 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	/* 10,000 a second: the aim is 3,500 */
	CHECK_STR(left_out(), "3");
	CHECK(decided().limit == LEFTOUT_EVENTS && decided().max == 5000);
	CHECK(decided().measured >= 9990 && decided().measured <= 10010);
	for (int i = 0; i < 50; i++) {
		leaves(4, 150);
		gov.event_ns += 70 * MS;
		CHECK(tick(100, 0, 0) == GOVERNOR_FINE);
	}
}

/* Events that waited in the rings count for the time at which they happened. */
TEST(events_read_late_are_counted_when_they_happened)
{
	governed_start(100, 10000);
	CHECK(after("2*10000", 100, 0, 0) == GOVERNOR_FINE);
	gov.step_ns /= 2;
	CHECK(after("2*20000", 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK(decided().measured >= 20000 && decided().measured <= 20010);
}

/* The first tenth of a second counts as a whole one; no more functions are left out than it takes. */
TEST(a_burst_counts_for_a_tenth_of_a_second)
{
	governed_start(100, 1000);
	gov.step_ns = 1000;
	CHECK(after("2*600 3*100", 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK(decided().measured == 14000);
	CHECK_STR(left_out(), "23");
}

/*
 * The limit holds for seconds from the start of the trace; a second across two of them may have
 * twice as many events.
 */
TEST(no_second_has_more_than_twice_as_many_unnoticed)
{
	governed_start(100, 1000);
	leaves(2, 1);
	gov.event_ns = 950 * MS;
	gov.step_ns = MS / 100;
	CHECK(after("2*499", 1000, 0, 0) == GOVERNOR_FINE);
	gov.event_ns = 1001 * MS;
	CHECK(after("2*500", 100, 0, 0) == GOVERNOR_FINE);
	CHECK(after("2*1", 100, 0, 0) == GOVERNOR_LEAVE_OUT);
}

TEST_ONE(too_many_events_of_functions_that_stay_end_the_trace, governed_start(100, 1000),
	 CHECK(after("1*600", 100, 0, 0) == GOVERNOR_STOP),
	 CHECK(decided().is_end &&decided().limit == LEFTOUT_EVENTS));

/* Events that a slow reader gets late still count as recorded. */
TEST(a_reader_who_waits_does_not_hide_the_events)
{
	governed_start(100, 1000);
	for (int i = 0; i < 12; i++) {
		leaves(2, 50);
		governor_skip(gov.gv, sample_after(50));
	}
	CHECK(tick(10, 0, 0) == GOVERNOR_LEAVE_OUT);
}

/* Detaching takes a while. Events of these functions are not recorded any more, so they do not count. */
TEST(events_of_what_was_left_out_do_not_count)
{
	governed_start(100, 1000);
	CHECK(after("2*600 3*10", 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "2");
	for (int i = 0; i < 10; i++) {
		CHECK(after("2*1000 3*40", 100, 0, 0) == GOVERNOR_FINE);
	}
	CHECK(after("2*1000 3*400 4*400", 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(), "34");
}

/* Both are exceeded: 180 % are 18 times 10, 10,000 events a second 20 times 500 and 11 times 900. */
TEST(the_limit_that_is_exceeded_most_decides)
{
	for (uint64_t max = 500; max <= 900; max += 400) {
		governed_start(10, max);
		CHECK(after("2*500", 100, 90000, 90) == GOVERNOR_LEAVE_OUT);
		CHECK(decided().limit == (max == 500 ? LEFTOUT_EVENTS : LEFTOUT_OVERHEAD));
	}
}

TEST(what_is_left_out_is_told_with_its_limit)
{
	static const uint32_t ids[] = { 1, 0, 2 };
	static struct func named[2] = { { .name = { "ip_rcv", 6 } }, { .name = { "udp_rcv", 7 } } };
	const struct functab names = { .funcs = named, .cnt = 2 };
	struct leftout lo = { .limit = LEFTOUT_EVENTS,
			      .measured = 120000,
			      .max = 50000,
			      .func_ids = ids,
			      .func_cnt = 3 };
	struct strbuf text = { 0 };

	leftout_text(&text, &lo, &names, SIZE_MAX);
	CHECK_BUF(
		&text,
		"left out udp_rcv, ip_rcv: the trace records 120000 events a second, --max-events is 50000");
	lo = (struct leftout){
		.limit = LEFTOUT_OVERHEAD, .measured = 31, .max = 25, .is_end = true
	};
	leftout_text(&text, &lo, &names, SIZE_MAX);
	CHECK_BUF(
		&text,
		"the trace ends, no more functions can be left out: tracing takes 31 % of a CPU's time, --max-overhead is 25");
}

/* A message has room for 2,048 bytes; thousands of functions may be left out at once. */
TEST(a_message_names_few_of_many_functions)
{
	static const uint32_t ids[] = { 1, 0, 7, 2 };
	static struct func named[3] = { { .name = { "ip_rcv", 6 } },
					{ .name = { "udp_rcv", 7 } },
					{ .name = { "tcp_ack", 7 } } };
	const struct functab names = { .funcs = named, .cnt = 3 };
	const struct leftout lo = {
		.measured = 31, .max = 25, .func_ids = ids, .func_cnt = CNT_OF(ids)
	};
	struct strbuf text = { 0 };

	leftout_text(&text, &lo, &names, 1);
	CHECK_BUF(
		&text,
		"left out udp_rcv and 2 more: tracing takes 31 % of a CPU's time, --max-overhead is 25");
	leftout_text(&text, &lo, &names, 2);
	CHECK_BUF(
		&text,
		"left out udp_rcv, ip_rcv and 1 more: tracing takes 31 % of a CPU's time, --max-overhead is 25");
	leftout_text(&text, &lo, &names, 3);
	CHECK_BUF(
		&text,
		"left out udp_rcv, ip_rcv, tcp_ack: tracing takes 31 % of a CPU's time, --max-overhead is 25");
}
