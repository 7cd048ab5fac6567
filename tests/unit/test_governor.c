/* Which functions are left out, and when a trace must end. */
#include "governor.h"

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

static void event(struct bench *b, enum event_kind kind, uint16_t func_id)
{
	const struct event ev = { .kind = kind, .func_id = func_id, .tid = 7 };

	governor_events(b->gv, &ev, 1);
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

static const char *chosen(const struct bench *b)
{
	static char text[8];
	size_t cnt;
	const uint32_t *ids = governor_chosen(b->gv, &cnt);

	for (size_t i = 0; i < cnt; i++)
		text[i] = (char)('0' + ids[i]);
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
	for (int i = 0; i < 10; i++)
		CHECK(tick(&b, 100, 100, 40) == GOVERNOR_FINE);
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

TEST(start_functions_and_those_asked_for_stay)
{
	struct bench b = start(20);

	tick(&b, 0, 0, 0);
	leaves(&b, 0, 1000);
	leaves(&b, 1, 1000);
	leaves(&b, 2, 1);
	CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "2");
	leaves(&b, 0, 1000);
	CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_STOP);
	governor_free(b.gv);
}

TEST(who_calls_others_is_a_leaf_once_they_are_out)
{
	struct bench b = start(10);

	tick(&b, 0, 0, 0);
	nests(&b, 2, 3, 1000);
	CHECK(tick(&b, 100, 40000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "3");
	leaves(&b, 2, 1000);
	CHECK(tick(&b, 100, 20000, 0) == GOVERNOR_LEAVE_OUT);
	CHECK_STR(chosen(&b), "2");
	CHECK(tick(&b, 100, 20000, 0) == GOVERNOR_STOP);
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
	CHECK(tick(&b, 100, 90000, 0) == GOVERNOR_STOP);
	governor_free(b.gv);
}
