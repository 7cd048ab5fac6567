/* The same for a limit on events a second, alone and beside the one on CPU time. */
#include "trace/governor.h"

#include <string.h>

#include "governed.h"
#include "harness.h"

/* Nothing but the number of events is limited. */
static struct bench start_events(uint64_t max_events_sec)
{
	struct bench b = { .step_ns = MS / 10 };
	const struct governor_config config = { .max_pct = 100,
						.max_events_sec = max_events_sec,
						.cpu_cnt = 2,
						.event_ns_x1000 = 1000000,
						.functab = &governed_functab };

	CHECK(!governor_new(&b.gv, &config));
	return b;
}

static struct leftout decided(const struct bench *b)
{
	return *governor_leftout(b->gv);
}

/* 10,000 a second, and no share of the CPU's time is too much. */
TEST(as_many_events_as_allowed_go_on)
{
	struct bench b = start_events(10000);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 100; i++) {
		leaves(&b, 2, 500);
		CHECK(tick(&b, 100, 90000, 90) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

TEST(a_second_with_more_events_leaves_out_before_it_ends)
{
	struct bench b = start_events(5000);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 5; i++) {
		leaves(&b, 3, 350);
		leaves(&b, 4, 150);
		CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	}
	leaves(&b, 3, 350);
	leaves(&b, 4, 150);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	/* 10,000 a second: the aim is 3,500 */
	CHECK_STR(left_out(&b), "3");
	CHECK(decided(&b).limit == LEFTOUT_EVENTS && decided(&b).max == 5000);
	CHECK(decided(&b).measured >= 9990 && decided(&b).measured <= 10010);
	for (int i = 0; i < 50; i++) {
		leaves(&b, 4, 150);
		b.event_ns += 70 * MS;
		CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

/* Events that waited in the rings count for the time at which they happened. */
TEST(events_read_late_are_counted_when_they_happened)
{
	struct bench b = start_events(10000);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 10000);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	b.step_ns /= 2;
	leaves(&b, 2, 20000);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK(decided(&b).measured >= 20000 && decided(&b).measured <= 20010);
	governor_free(b.gv);
}

/* The first tenth of a second counts as a whole one; no more functions are left out than it takes. */
TEST(a_burst_counts_for_a_tenth_of_a_second)
{
	struct bench b = start_events(1000);

	tick(&b, 0, 0, 0);
	b.step_ns = 1000;
	leaves(&b, 2, 600);
	leaves(&b, 3, 100);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK(decided(&b).measured == 14000);
	CHECK_STR(left_out(&b), "23");
	governor_free(b.gv);
}

/*
 * The limit holds for seconds from the start of the trace; a second across two of them may have
 * twice as many events.
 */
TEST(no_second_has_more_than_twice_as_many_unnoticed)
{
	struct bench b = start_events(1000);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 1);
	b.event_ns = 950 * MS;
	b.step_ns = MS / 100;
	leaves(&b, 2, 499);
	CHECK(tick(&b, 1000, 0, 0) == GOVERNOR_FINE);
	b.event_ns = 1001 * MS;
	leaves(&b, 2, 500);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 1);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	governor_free(b.gv);
}

TEST(too_many_events_of_functions_that_stay_end_the_trace)
{
	struct bench b = start_events(1000);

	tick(&b, 0, 0, 0);
	leaves(&b, 1, 600);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_STOP);
	CHECK(decided(&b).is_end && decided(&b).limit == LEFTOUT_EVENTS);
	governor_free(b.gv);
}

/* Events that a slow reader gets late still count as recorded. */
TEST(a_reader_who_waits_does_not_hide_the_events)
{
	struct bench b = start_events(1000);
	struct governor_sample sample;

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 12; i++) {
		leaves(&b, 2, 50);
		b.now_ns += 50 * MS;
		sample = (struct governor_sample){ .now_ns = b.now_ns,
						   .cpu_event_cnts = b.event_cnts };
		governor_skip(b.gv, &sample);
	}
	CHECK(tick(&b, 10, 0, 0) == GOVERNOR_LEAVE_OUT);
	governor_free(b.gv);
}

/* Detaching takes a while. Events of these functions are not recorded any more, so they do not count. */
TEST(events_of_what_was_left_out_do_not_count)
{
	struct bench b = start_events(1000);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 600);
	leaves(&b, 3, 10);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "2");
	for (int i = 0; i < 10; i++) {
		leaves(&b, 2, 1000);
		leaves(&b, 3, 40);
		CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	}
	leaves(&b, 2, 1000);
	leaves(&b, 3, 400);
	leaves(&b, 4, 400);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(left_out(&b), "34");
	governor_free(b.gv);
}

/* Both are exceeded: 180 % are 18 times 10, 10,000 events a second 20 times 500 and 11 times 900. */
TEST(the_limit_that_is_exceeded_most_decides)
{
	for (uint64_t max = 500; max <= 900; max += 400) {
		struct bench b = { .step_ns = MS / 10 };
		const struct governor_config config = { .max_pct = 10,
							.max_events_sec = max,
							.cpu_cnt = 2,
							.event_ns_x1000 = 1000000,
							.functab = &governed_functab };

		CHECK(!governor_new(&b.gv, &config));
		tick(&b, 0, 0, 0);
		leaves(&b, 2, 500);
		CHECK(tick(&b, 100, 90000, 90) == GOVERNOR_LEAVE_OUT);
		CHECK(decided(&b).limit == (max == 500 ? LEFTOUT_EVENTS : LEFTOUT_OVERHEAD));
		governor_free(b.gv);
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

	leftout_text(&text, &lo, &names);
	strbuf_char(&text, '\0');
	CHECK_STR(
		text.ptr,
		"left out udp_rcv, ip_rcv: the trace records 120000 events a second, --max-events is 50000");
	strbuf_reset(&text);
	lo = (struct leftout){
		.limit = LEFTOUT_OVERHEAD, .measured = 31, .max = 25, .is_end = true
	};
	leftout_text(&text, &lo, &names);
	strbuf_char(&text, '\0');
	CHECK_STR(
		text.ptr,
		"the trace ends, no more functions can be left out: tracing takes 31 % of a CPU's time, --max-overhead is 25");
	strbuf_release(&text);
}
