/* Which functions are left out, and when a trace must end. */
#include "limits/governor.h"

#include <string.h>

#include "harness.h"

#define MS 1000000ull

/* 0: start function; 1: asked for by name; 2, 3, 4: found by a pattern */
static struct func funcs[5] = {
	{ .is_attached = true, .is_root = true },
	{ .is_attached = true, .is_named = true },
	{ .is_attached = true },
	{ .is_attached = true },
	{ .is_attached = true },
};
static const struct functab functab = { .funcs = funcs, .cnt = 5 };

struct bench {
	struct governor *gv;
	uint64_t now_ns;
	uint64_t reader_ns;
	uint64_t event_cnts[2];
	uint64_t event_ns; /* the clock of events ... */
	uint64_t step_ns;  /* ... which goes on so much with each */
};

/* An event costs a microsecond. */
static struct bench start(uint32_t max_pct)
{
	struct bench b = { 0 };
	const struct governor_config config = {
		.max_pct = max_pct, .cpu_cnt = 2, .event_ns_x1000 = 1000000, .functab = &functab
	};

	CHECK(!governor_new(&b.gv, &config));
	return b;
}

/* Nothing but the number of events is limited. */
static struct bench start_events(uint64_t max_events_sec)
{
	struct bench b = { .step_ns = MS / 10 };
	const struct governor_config config = { .max_pct = 100,
						.max_events_sec = max_events_sec,
						.cpu_cnt = 2,
						.event_ns_x1000 = 1000000,
						.functab = &functab };

	CHECK(!governor_new(&b.gv, &config));
	return b;
}

static void event(struct bench *b, enum event_kind kind, uint16_t func_id)
{
	const struct event ev = {
		.time_ns = b->event_ns, .kind = kind, .func_id = func_id, .tid = 7
	};

	governor_events(b->gv, &ev, 1);
	b->event_ns += b->step_ns;
}

static void leaves(struct bench *b, uint16_t func_id, int cnt)
{
	while (cnt--) {
		event(b, EVENT_ENTRY, func_id);
		event(b, EVENT_EXIT, func_id);
	}
}

/* Calls of @outer with one of @inner in each. */
static void nests(struct bench *b, uint16_t outer, uint16_t inner, int cnt)
{
	while (cnt--) {
		event(b, EVENT_ENTRY, outer);
		leaves(b, inner, 1);
		event(b, EVENT_EXIT, outer);
	}
}

static enum governor_verdict tick(struct bench *b, uint64_t ms, uint64_t event_cnt,
				  uint64_t reader_ms)
{
	struct governor_sample sample;

	b->now_ns += ms * MS;
	b->reader_ns += reader_ms * MS;
	b->event_cnts[1] += event_cnt;
	sample = (struct governor_sample){ .now_ns = b->now_ns,
					   .reader_ns = b->reader_ns,
					   .cpu_event_cnts = b->event_cnts };
	return governor_tick(b->gv, &sample);
}

/* The same again and again, until there is a verdict; *@ms is after how long. */
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

static const char *chosen(const struct bench *b)
{
	static char text[8];
	size_t cnt;
	const struct leftout *lo = governor_leftout(b->gv);

	for (cnt = 0; cnt < lo->func_cnt; cnt++)
		text[cnt] = (char)('0' + lo->func_ids[cnt]);
	text[cnt] = '\0';
	return text;
}

TEST(what_is_below_the_limit_goes_on)
{
	struct bench b = start(20);

	CHECK(tick(&b, 0, 0, 0) == GOVERNOR_FINE);
	for (int i = 0; i < 50; i++) {
		leaves(&b, 2, 9000);
		CHECK(tick(&b, 100, 18000, 2) == GOVERNOR_FINE);
		CHECK(governor_share_pct(b.gv) == 20);
	}
	governor_free(b.gv);
}

TEST(what_is_above_the_limit_does_not)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 3; i++) {
		leaves(&b, 2, 9000);
		CHECK(tick(&b, 100, 20100, 0) == (i < 2 ? GOVERNOR_FINE : GOVERNOR_LEAVE_OUT));
		CHECK(governor_share_pct(b.gv) == 21);
	}
	governor_free(b.gv);
}

TEST(a_short_peak_is_no_reason)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 20; i++) {
		leaves(&b, 2, 10);
		CHECK(tick(&b, 100, i % 3 ? 30000 : 0, 0) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

TEST(the_third_interval_above_it_is_one)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 30000, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 30000, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 100, 30000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "2");
	governor_free(b.gv);
}

TEST(the_reader_counts_too)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 3, 500);
	CHECK(tick(&b, 100, 1000, 40) == GOVERNOR_LEAVE_OUT);
	CHECK(governor_share_pct(b.gv) == 41);
	governor_free(b.gv);
}

/* Looking for events where there are none is no reason to trace less. */
TEST(an_idle_reader_stops_nothing)
{
	struct bench b = start(5);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 10; i++) {
		leaves(&b, 2, 50);
		CHECK(tick(&b, 100, 100, 40) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

TEST(hottest_leaves_go_first_and_no_more_than_needed)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 100);
	leaves(&b, 3, 600);
	leaves(&b, 4, 300);
	/* 60 %: the aim is 14, so 77 of 100 calls must go */
	CHECK(tick(&b, 100, 60000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "34");
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
	struct bench b = start(20);
	uint64_t ms;

	tick(&b, 0, 0, 0);
	CHECK(go_on(&b, others_and_a_leaf, 900, &ms) == GOVERNOR_LEAVE_OUT && ms == 120);
	CHECK_STR(chosen(&b), "2");
	CHECK(go_on(&b, others_alone, 900, &ms) == GOVERNOR_STOP && ms == 100);
	governor_free(b.gv);
}

/* Round after round of functions that are hardly ever called would keep the limit from being kept. */
TEST(what_spares_nothing_is_the_end)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 0, 1000);
	leaves(&b, 2, 5);
	leaves(&b, 3, 4);
	CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_STOP);
	governor_free(b.gv);
}

/* Detached one by one, they are called meanwhile: that is no reason to leave out others, nor to end. */
TEST(what_is_left_out_already_is_not_judged_again)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 50);
	leaves(&b, 3, 950);
	CHECK(tick(&b, 100, 60000, 30) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "3");
	for (int i = 0; i < 20; i++) {
		leaves(&b, 2, 50);
		leaves(&b, 3, 950);
		CHECK(tick(&b, 100, 60000, 30) == GOVERNOR_FINE);
		CHECK(governor_share_pct(b.gv) == 5);
	}
	leaves(&b, 2, 1000);
	CHECK(tick(&b, 100, 60000, 30) == GOVERNOR_LEAVE_OUT);
	CHECK(governor_share_pct(b.gv) == 90);
	CHECK_STR(chosen(&b), "2");
	governor_free(b.gv);
}

/* What it called may be among what is missing. */
TEST(a_call_with_a_loss_in_it_is_no_leaf)
{
	const enum event_kind kinds[] = { EVENT_GAP, EVENT_LOST };

	for (int i = 0; i < 2; i++) {
		struct bench b = start(20);
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
		CHECK_STR(chosen(&b), "3");
		governor_free(b.gv);
	}
}

/* The reader had to wait for a slot that was taken and not written. */
TEST(who_saw_no_call_does_not_judge_at_once)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	for (int i = 0; i < 9; i++)
		CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_FINE);
	leaves(&b, 2, 100);
	CHECK(tick(&b, 50, 45000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "2");
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

/* At once, not when what they call is detached at last. */
TEST(who_calls_others_is_a_leaf_once_they_are_chosen)
{
	struct bench b = start(10);
	uint64_t ms;

	tick(&b, 0, 0, 0);
	CHECK(go_on(&b, deep, 400, &ms) == GOVERNOR_LEAVE_OUT && ms == 120);
	CHECK(governor_share_pct(b.gv) == 40);
	CHECK_STR(chosen(&b), "32");
	/* of 40 % a twenty-first is left */
	CHECK(go_on(&b, deep, 400, &ms) == GOVERNOR_FINE && governor_share_pct(b.gv) == 2);
	governor_free(b.gv);
}

static void around_one_that_stays(struct bench *b)
{
	nests(b, 2, 1, 100);
}

TEST(who_calls_one_that_stays_stays)
{
	struct bench b = start(10);
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
		.max_pct = 20, .cpu_cnt = 1, .event_ns_x1000 = 1000000, .functab = &functab
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
	CHECK_STR(chosen(&b), "43");
	governor_free(b.gv);
}

TEST(what_detaching_took_is_not_judged)
{
	struct bench b = start(20);
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
	CHECK(governor_share_pct(b.gv) == 1);
	governor_free(b.gv);
}

TEST(a_tick_too_soon_says_nothing)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 10);
	CHECK(tick(&b, 50, 90000, 0) == GOVERNOR_FINE);
	CHECK(tick(&b, 50, 0, 0) == GOVERNOR_LEAVE_OUT);
	governor_free(b.gv);
}

TEST(events_that_name_nothing_of_ours_are_ignored)
{
	struct bench b = start(20);
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
	CHECK_STR(chosen(&b), "3");
	CHECK(decided(&b).limit == LEFTOUT_EVENTS && decided(&b).max == 5000);
	CHECK(decided(&b).measured >= 9990 && decided(&b).measured <= 10010);
	for (int i = 0; i < 50; i++) {
		leaves(&b, 4, 150);
		b.event_ns += 70 * MS;
		CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	}
	governor_free(b.gv);
}

/* What waited in the rings while nobody read did not happen at once. */
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

/* The first tenth counts as a whole one, and no function more is left out than for that. */
TEST(a_burst_counts_for_a_tenth_of_a_second)
{
	struct bench b = start_events(1000);

	tick(&b, 0, 0, 0);
	b.step_ns = 1000;
	leaves(&b, 2, 600);
	leaves(&b, 3, 100);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK(decided(&b).measured == 14000);
	CHECK_STR(chosen(&b), "23");
	governor_free(b.gv);
}

/* Seconds of the limit are those that begin here: one that lies across two of them may have twice as many. */
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

/* What a reader who hardly keeps up gets is what the trace records. */
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

/* Detaching takes a while, and what comes meanwhile is not recorded. */
TEST(events_of_what_was_left_out_do_not_count)
{
	struct bench b = start_events(1000);

	tick(&b, 0, 0, 0);
	leaves(&b, 2, 600);
	leaves(&b, 3, 10);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "2");
	for (int i = 0; i < 10; i++) {
		leaves(&b, 2, 1000);
		leaves(&b, 3, 40);
		CHECK(tick(&b, 100, 0, 0) == GOVERNOR_FINE);
	}
	leaves(&b, 2, 1000);
	leaves(&b, 3, 400);
	leaves(&b, 4, 400);
	CHECK(tick(&b, 100, 0, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "34");
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
							.functab = &functab };

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
		"the trace ends, no function is left to leave out: tracing takes 31 % of a CPU's time, --max-overhead is 25");
	strbuf_release(&text);
}
