/* Slow calls of several kinds: durations are drawn, and the same in each run. */
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "format/explain.h"
#include "harness.h"
#include "rows.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

#define SEEDS 40

static uint64_t drawn;

static void draw_from(uint64_t seed)
{
	drawn = seed * 2654435761u + 88172645463325252u;
}

/* From 0 to 1. */
static double draw(void)
{
	drawn ^= drawn << 13;
	drawn ^= drawn >> 7;
	drawn ^= drawn << 17;
	return (double)(drawn >> 11) / (double)(1ull << 53);
}

/* Log-normal: a median of @us, and a tail to the right, where one of a hundred takes about exp(2.3 * @spread) as long. */
static uint64_t draw_us(double us, double spread)
{
	double factor = 1 - 6 * spread / 1024;

	for (int i = 0; i < 12; i++)
		factor += draw() * spread / 1024;
	for (int i = 0; i < 10; i++) /* (1 + x/1024)^1024 is about exp(x) */
		factor *= factor;
	return (uint64_t)(us * factor) + 1;
}

/* What a call's time goes into. */
enum why { RUNS, WAITS, LOCKED };

static uint64_t put_call(uint64_t at_us, uint64_t took_us, enum why why)
{
	char note[160];

	put(ROW_ENTRY, 0, at_us, 0, "f");
	snprintf(note, sizeof(note),
		 "slept: us=%llu state=S in=%s+0x1/0x20 waker=task waker_comm=server "
		 "waker_pid=9 from=wake+0x1/0x20 queued_us=0",
		 (unsigned long long)took_us - took_us / 20,
		 why == WAITS ? "sk_wait_data" : "futex_wait");
	if (why != RUNS)
		put_note(at_us + took_us - 1, note);
	put(ROW_RETURN, 0, at_us + took_us, took_us, "f");
	return at_us + took_us + 100;
}

/* So many usual calls, in the midst of which come others. */
struct mix {
	int usual_cnt;
	int wait_cnt;
	double wait_us;
	int lock_cnt;
	double lock_us;
	int stall_cnt;
	double stall_us;
};

static void put_mix(const struct mix *mix, uint64_t seed)
{
	const int all_cnt = mix->usual_cnt + mix->wait_cnt + mix->lock_cnt + mix->stall_cnt;
	int left[4] = { mix->usual_cnt, mix->wait_cnt, mix->lock_cnt, mix->stall_cnt };
	uint64_t at = 1000;

	draw_from(seed);
	for (int i = all_cnt; i; i--) {
		int which = 0;

		for (int at_cnt = (int)(draw() * i); at_cnt >= left[which];)
			at_cnt -= left[which++];
		left[which]--;
		if (which == 0)
			at = put_call(at, draw_us(200, 0.4), RUNS);
		else if (which == 1)
			at = put_call(at, draw_us(mix->wait_us, 0.1), WAITS);
		else if (which == 2)
			at = put_call(at, draw_us(mix->lock_us, 0.1), LOCKED);
		else
			at = put_call(at, draw_us(mix->stall_us, 0.05), RUNS);
	}
}

/* Afresh, with this seed. */
static void find_mix(const struct mix *mix, uint64_t seed)
{
	calls_free();
	calls_begin();
	put_mix(mix, seed);
	find(0);
}

/* Group @i has so many calls of about so long, most of which is in @func. */
static void check_group(size_t i, uint64_t cnt, double median_us, const char *func)
{
	CHECK(i < groups.cnt);
	if (i >= groups.cnt)
		return;
	causes = groups.items[i];
	CHECK_INT(causes.slow_cnt, cnt);
	CHECK(causes.slow_median_ns > (int64_t)(median_us * 0.7 * 1000) &&
	      causes.slow_median_ns < (int64_t)(median_us * 1.4 * 1000));
	CHECK_STR(name_at(slowcalls_cause(sc, causes.items[0].key)->func), func);
	check_whole();
}

/* From 1 to 6 % of the calls wait for 40 ms; one or two took over a second. */
TEST(spikes_are_told_beside_an_outlier)
{
	for (int percent = 1; percent <= 6; percent++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			const struct mix mix = { .usual_cnt = 400,
						 .wait_cnt = 4 * percent,
						 .wait_us = 40000,
						 .stall_cnt = 1 + (int)(seed % 2),
						 .stall_us = 1200000 };

			find_mix(&mix, seed);
			CHECK_INT(groups.cnt, 2);
			check_group(0, 4 * (uint64_t)percent, 40000, "sk_wait_data");
			check_group(1, 1 + seed % 2, 1200000, "f");
			CHECK_INT(groups.slow_cnt, 4 * percent + 1 + (int)(seed % 2));
		}
	}
}

/* On a busy host other calls take anything up to 30 ms. */
TEST(spikes_are_told_beside_an_outlier_and_noise)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct mix mix = { .usual_cnt = 230,
					 .wait_cnt = 9,
					 .wait_us = 45000,
					 .stall_cnt = 1,
					 .stall_us = 1469000 };

		calls_free();
		calls_begin();
		draw_from(seed);
		for (int us = 330; us < 30000; us += us * 2 / 3)
			put_call(90000000 + (uint64_t)us * 10, us, RUNS);
		put_mix(&mix, seed);
		find(0);
		CHECK_INT(groups.cnt, 2);
		CHECK(groups.items[0].slow_cnt >= 9 && groups.items[0].slow_cnt <= 13);
		CHECK(groups.items[0].slow_median_ns > 30000000 &&
		      groups.items[0].slow_median_ns < 60000000);
		check_group(1, 1, 1469000, "f");
	}
}

/* The tenth of the calls that may be slow is used up by the outliers. */
TEST(few_calls_have_groups_too)
{
	static const struct mix mixes[] = {
		{ .usual_cnt = 8, .wait_cnt = 3, .stall_cnt = 1 },
		{ .usual_cnt = 15, .wait_cnt = 3, .stall_cnt = 2 },
		{ .usual_cnt = 64, .wait_cnt = 7, .stall_cnt = 1 },
	};

	for (size_t i = 0; i < CNT_OF(mixes); i++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			struct mix mix = mixes[i];

			mix.wait_us = 40000;
			mix.stall_us = 1200000;
			find_mix(&mix, seed);
			CHECK_INT(groups.cnt, 2);
			check_group(0, (uint64_t)mix.wait_cnt, 40000, "sk_wait_data");
			check_group(1, (uint64_t)mix.stall_cnt, 1200000, "f");
		}
	}
}

/* The outliers may sleep where the spikes do. */
TEST(an_outlier_of_the_same_function_is_apart_too)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct mix mix = {
			.usual_cnt = 400, .wait_cnt = 8, .wait_us = 40000, .stall_cnt = 0
		};

		calls_free();
		calls_begin();
		put_call(90000000, 1200000, WAITS);
		put_mix(&mix, seed);
		find(0);
		CHECK_INT(groups.cnt, 2);
		check_group(0, 8, 40000, "sk_wait_data");
		check_group(1, 1, 1200000, "sk_wait_data");
	}
}

TEST(two_causes_of_different_lengths_are_two_groups)
{
	static const double lengths_us[] = { 130000, 200000, 1000000 };

	for (size_t i = 0; i < CNT_OF(lengths_us); i++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			const struct mix mix = { .usual_cnt = 400,
						 .wait_cnt = 10,
						 .wait_us = 40000,
						 .lock_cnt = 6,
						 .lock_us = lengths_us[i] };

			find_mix(&mix, seed);
			CHECK_INT(groups.cnt, 2);
			check_group(0, 6, lengths_us[i], "futex_wait");
			check_group(1, 10, 40000, "sk_wait_data");
		}
	}
}

/* Two that differ, and an outlier. */
TEST(at_most_three_groups_are_told)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct mix mix = { .usual_cnt = 400,
					 .wait_cnt = 10,
					 .wait_us = 10000,
					 .lock_cnt = 6,
					 .lock_us = 100000,
					 .stall_cnt = 1,
					 .stall_us = 3000000 };

		find_mix(&mix, seed);
		CHECK_INT(groups.cnt, 3);
		check_group(0, 6, 100000, "futex_wait");
		check_group(1, 10, 10000, "sk_wait_data");
		check_group(2, 1, 3000000, "f");
	}
}

/* Nothing but the tail of usual calls is below them. */
TEST(what_has_one_cause_is_one_group)
{
	for (int percent = 1; percent <= 6; percent++) {
		for (uint64_t seed = 0; seed < SEEDS; seed++) {
			const struct mix mix = { .usual_cnt = 400,
						 .wait_cnt = 4 * percent,
						 .wait_us = percent % 2 ? 40000 : 3000 };

			find_mix(&mix, seed);
			CHECK_INT(groups.cnt, 1);
			check_group(0, 4 * (uint64_t)percent, mix.wait_us, "sk_wait_data");
		}
	}
}

/* Repeated after 200, 400, 800 and 1600 ms. */
TEST(lengths_that_double_have_one_cause)
{
	uint64_t at = put_usuals(1000, 400);

	for (uint64_t i = 0; i < 16; i++)
		at = put_call(at, 200000ull << (i / 5), WAITS);
	find(0);
	CHECK_INT(groups.cnt, 1);
	CHECK_INT(causes.slow_cnt, 16);
}

TEST(hardly_disturbed_calls_are_no_group)
{
	uint64_t at = put_usuals(1000, 400);

	for (int i = 0; i < 30; i++)
		at = put_call(at, 1000 + (uint64_t)i * 10, WAITS);
	at = put_call(at, 1000000, RUNS);
	put_call(at, 1100000, RUNS);
	find(0);
	CHECK_INT(groups.cnt, 1);
	CHECK_INT(causes.slow_cnt, 2);
	CHECK_INT(groups.beyond_cnt, 30);
}

/* Of calls that run, the function in which they do differs easily. */
TEST(longer_calls_that_run_elsewhere_are_no_group)
{
	uint64_t at = put_usuals(1000, 400);

	for (uint64_t i = 0; i < 8; i++) {
		const uint64_t us = i < 5 ? 4000 : 10000;

		put(ROW_ENTRY, 0, at, 0, "f");
		put(ROW_LEAF, 1, at + 10, us - 100, i < 5 ? "g" : "h");
		put(ROW_RETURN, 0, at + us, us, "f");
		at += us + 100;
	}
	find(0);
	CHECK_INT(groups.cnt, 1);
	CHECK_INT(causes.slow_cnt, 8);
}

/* What the user calls slow is one group. */
TEST(slower_than_makes_one_group)
{
	const struct mix mix = { .usual_cnt = 400,
				 .wait_cnt = 8,
				 .wait_us = 40000,
				 .stall_cnt = 1,
				 .stall_us = 1200000 };

	put_mix(&mix, 1);
	find(30000);
	CHECK_INT(groups.cnt, 1);
	CHECK_INT(causes.slow_cnt, 9);
}

/* ---- the host stood still ---- */

/* 20 usual calls, one of a second in which the host stood still for most of it, and six spikes. */
static void put_stalled(struct still *still)
{
	uint64_t at = put_usuals(1000, 200);

	*still = (struct still){ (at + 20000) * US, (at + 1000000) * US };
	at = put_call(at, 1000000, WAITS);
	for (uint64_t i = 0; i < 6; i++)
		at = put_call(at, 200000 + i * 1000, WAITS);
}

/* The spikes are only five times shorter, and sleep in the same function. */
TEST(calls_in_which_the_host_stood_still_are_apart)
{
	struct still still;
	const struct slowness what = { .stills = &still, .still_cnt = 1 };

	put_stalled(&still);
	find(0);
	CHECK_INT(groups.cnt, 1);
	causes_release(&groups);
	CHECK(!causes_find(&groups, sc, slowcalls_start(sc, 0), &what));
	CHECK_INT(groups.cnt, 2);
	check_group(0, 6, 203000, "sk_wait_data");
	check_group(1, 1, 1000000, "sk_wait_data");
	CHECK(groups.items[1].is_still);
	CHECK_INT(groups.items[1].still_ns, 980000 * US);
}

TEST(a_usual_call_is_not_slow_because_the_host_stood_still)
{
	const struct still stills[] = { { 500 * US, 900000 * US } };
	const struct slowness what = { .stills = stills, .still_cnt = 1 };

	put_usuals(1000, 200);
	CHECK(!slowcalls_finish(sc));
	CHECK(!causes_find(&groups, sc, slowcalls_start(sc, 0), &what));
	CHECK_INT(groups.cnt, 0);
}

static void say(enum explain_form form, const struct explain_view *view, struct strbuf *out)
{
	struct explain_result result;

	strbuf_reset(out);
	CHECK(!explain_put(sc, view, form, out, &result));
	CHECK_INT(result.slow_start_cnt, 1);
}

static void check_in(const struct strbuf *out, const char *want)
{
	if (!strstr(out->ptr, want))
		printf("%s", out->ptr);
	CHECK(strstr(out->ptr, want) != NULL);
}

TEST(groups_in_words)
{
	struct still still;
	const struct explain_view view = {
		.start_max = 3, .has_sleeps = true, .stills = &still, .still_cnt = 1
	};
	struct strbuf out = { 0 };

	CHECK(!slowcalls_keep_trees(sc, 1));
	put_stalled(&still);
	CHECK(!slowcalls_finish(sc));
	say(EXPLAIN_TEXT, &view, &out);
	CHECK_STR(
		strbuf_cstr(&out),
		"7 of 207 calls of f were slow, of 2 kinds; the others took 100.0 us (median):\n"
		"     6 took 202.00 ms (median; the longest 205.00 ms): asleep in sk_wait_data (state S) 95 %; what server-9 did meanwhile is not known\n"
		"     1 took 1.000 s: the whole host stood still for 980.00 ms\n"
		"\n"
		"6 of 207 calls of f were slow: 202.00 ms instead of 100.0 us (medians).\n" LATE_BY_SERVER
		"What a slow call took longer, in the mean:\n"
		"   192.38 ms   95.0 %  asleep in sk_wait_data (state S), woken by task server-9 from wake; what server-9 did meanwhile is not known; the most in 6 of 6\n"
		"    10.06 ms    5.0 %  running in f, not called more often; the most in 0 of 6\n"
		"    -40.0 us   -0.0 %  1 smaller part\n"
		"The slowest took 205.00 ms, in task curl-77 on CPU 1 at 2.211600.\n"
		"\n"
		"1 of 207 calls of f was slow: 1.000 s instead of 100.0 us (medians).\n"
		"During it the whole host stood still for 980.00 ms: no CPU had an event of this trace, and a timer of "
		"netfgraph itself came as late.\n"
		"   950.00 ms   95.0 %  asleep in sk_wait_data (state S), woken by task server-9 from wake; what server-9 did meanwhile is not known\n"
		"    49.94 ms    5.0 %  running in f, not called more often\n"
		"    -40.0 us   -0.0 %  1 smaller part\n"
		"The slowest took 1.000 s, in task curl-77 on CPU 1 at 0.201000.\n");
	strbuf_release(&out);
}

TEST(groups_as_json_and_as_a_page)
{
	struct still still;
	const struct explain_view view = { .start_max = 3,
					   .has_sleeps = true,
					   .has_trees = true,
					   .stills = &still,
					   .still_cnt = 1 };
	struct strbuf out = { 0 };

	CHECK(!slowcalls_keep_trees(sc, 1));
	put_stalled(&still);
	CHECK(!slowcalls_finish(sc));
	say(EXPLAIN_JSON, &view, &out);
	check_in(&out, "\"calls\":207,\"slow_calls\":6,\"beyond_calls\":0,");
	check_in(&out,
		 "\"excess_ns\":1214400000,\"stood_still_ns\":0,\"waited_for\":false,\"causes\":[");
	check_in(&out, "\"open_calls\":0,\"cut_calls\":0,\"other_groups\":[{\"slow_calls\":1,"
		       "\"slow_at_least_ns\":1000000000,\"slow_median_ns\":1000000000,"
		       "\"usual_median_ns\":100000,\"excess_ns\":999900000,"
		       "\"stood_still_ns\":980000000,\"waited_for\":false,\"causes\":[");
	check_in(&out, "\"cpu\":1}}]}],\"hanging\":[]");
	say(EXPLAIN_HTML, &view, &out);
	check_in(&out, "<pre>7 of 207 calls of f were slow, of 2 kinds;");
	check_in(&out, " 1) @ 1000000 us  |  }</div>");
	strbuf_release(&out);
}

/* Two are no more than themselves; what is not slow beside them is far less than they are. */
TEST(two_calls_have_both_times)
{
	const struct explain_view view = { .start_max = 3, .has_sleeps = true };
	struct strbuf out = { 0 };
	uint64_t at = put_usuals(1000, 200);

	at = put_slow(at, 500, NULL);
	at = put_slow(at, 600000, NULL);
	put_slow(at, 800000, NULL);
	CHECK(!slowcalls_finish(sc));
	say(EXPLAIN_TEXT, &view, &out);
	check_in(
		&out,
		"2 of 203 calls of f were slow: 600.10 ms and 800.10 ms instead of 100.0 us (median).\n");
	check_in(
		&out,
		"1 more took over four times the median, but far less than the slow ones (--slower-than explains it).\n");
	strbuf_release(&out);
}

/* ---- what a flight recorder waited for ---- */

/* A call of f by a task, which sleeps for 50 ms until a waker that is in @slept ends that. */
static uint64_t put_slept(uint64_t at_us, uint32_t tid, const char *slept, const char *did)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, at_us * US, 0, "f"),
		call_row(ROW_COMMENT, 1, (at_us + 50010) * US, 0, ""),
		call_row(ROW_COMMENT, 1, (at_us + 50010) * US, 0, ""),
		call_row(ROW_RETURN, 0, (at_us + 50100) * US, 50100 * US, "f"),
	};
	const char *const texts[] = { NULL, slept, did, NULL };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct row row = rows[i];

		row.task.tid = tid;
		row.text = text_from(texts[i] ? texts[i] : "");
		if (row.kind != ROW_COMMENT || texts[i])
			CHECK(!slowcalls_row(sc, &row));
	}
	return at_us + 60000;
}

#define SLEPT_BY(waker, comm, pid)                                                          \
	"slept: us=50000 state=S in=sk_wait_data+0x1/0x20 waker=" waker " waker_comm=" comm \
	" waker_pid=" pid " from=tcp_data_queue+0x2/0x30 queued_us=0"
#define RAN    DID("50000", "0", "0", "0", "0", "")
#define DOZED  DID("0", "0", "0", "50000", "50000", "state=S in=hrtimer_nanosleep+0x1/0x9")
#define WAITED 30000 * US /* slow is what took as long */

static const struct slow_limit waited_limits[] = { { "f", WAITED }, { "other", WAITED } };

static void say_waited(const struct slow_waited *waited, size_t cnt, enum explain_form form,
		       struct strbuf *out)
{
	const struct explain_view view = { .input = "x",
					   .limits = waited_limits,
					   .limit_cnt = ARRAY_SIZE(waited_limits),
					   .waited = waited,
					   .waited_cnt = cnt,
					   .has_sleeps = true };

	struct explain_result result;

	strbuf_reset(out);
	CHECK(!explain_put(sc, &view, form, out, &result));
}

/* Others that took as long, because nobody sent them anything, would give the wrong sender the blame. */
TEST(what_a_recorder_waited_for_first_is_apart)
{
	struct slow_waited waited[] = {
		{ TEXT("f"), 1000 * US, 9 }, /* a usual call has begun then, of another task */
		{ TEXT("g"), 0, 77 },
		{ TEXT("f"), 0, 77 },
		{ TEXT("f"), 0, 5 },
	};
	struct strbuf out = { 0 };
	uint64_t at = put_usuals(1000, 30);

	waited[3].begin_ns = at * US;
	at = put_slept(at, 5, SLEPT_BY("own_softirq", "client", "8"), DOZED);
	waited[1].begin_ns = waited[2].begin_ns = at * US + 700;
	at = put_slept(at, 77, SLEPT_BY("own_softirq", "app", "9"), RAN);
	put_slept(at, 5, SLEPT_BY("own_softirq", "client", "8"), DOZED);
	CHECK(!slowcalls_finish(sc));
	say_waited(waited, 4, EXPLAIN_TEXT, &out);
	check_in(
		&out,
		"3 of 33 calls of f were slow, of 2 kinds; the others took 100.0 us (median):\n"
		"     1 took 50.10 ms, the one that the recorder waited for first: asleep in "
		"sk_wait_data (state S) 100 %; app-9 meanwhile ran 100 %\n"
		"     2 took 50.10 ms each: asleep in sk_wait_data (state S) 100 %; client-8 "
		"meanwhile was asleep in hrtimer_nanosleep (state S) 100 %\n"
		"Slow is what took 30.00 ms or longer, as the recorder's --when says.\n\n"
		"1 of 33 calls of f was slow, the one that the recorder waited for first: 50.10 ms "
		"instead of 100.0 us (medians).\n"
		"Likely: the sender was late: app-9 ran for 100 % of that time.\n");
	check_in(&out, "\n2 of 33 calls of f were slow: 50.10 ms each instead");
	say_waited(waited, 4, EXPLAIN_JSON, &out);
	check_in(&out, "\"slow_calls\":1,\"beyond_calls\":0,\"slower_than_ns\":30000000,");
	check_in(&out, "\"waited_for\":true,");
	check_in(&out, "\"other_groups\":[{\"slow_calls\":2,");
	check_in(&out, "\"waited_for\":false,");
	waited[3].begin_ns += 1999;
	say_waited(waited + 3, 1, EXPLAIN_TEXT, &out);
	check_in(&out,
		 "\n     2 took 50.10 ms each, with the one that the recorder waited for first: ");
	waited[3].begin_ns += 2;
	say_waited(waited + 3, 1, EXPLAIN_TEXT, &out);
	check_in(&out, "3 of 33 calls of f were slow: 50.10 ms instead");
	strbuf_release(&out);
}

/* What the user says is slow is of one kind. */
TEST(what_a_recorder_waited_for_is_not_apart_if_the_user_says_what_is_slow)
{
	const struct slow_waited waited = { TEXT("f"), 31000 * US, 77 };
	const struct explain_view view = {
		.input = "x", .slower_ns = WAITED, .waited = &waited, .waited_cnt = 1
	};
	struct strbuf out = { 0 };
	uint64_t at = put_usuals(1000, 30);

	at = put_slept(at, 77, SLEPT_BY("task", "app", "9"), RAN);
	put_slept(at, 5, SLEPT_BY("task", "client", "8"), DOZED);
	CHECK(!slowcalls_finish(sc));
	say(EXPLAIN_TEXT, &view, &out);
	check_in(&out, "2 of 32 calls of f were slow: 50.10 ms each instead");
	strbuf_release(&out);
}

/* Two of two calls: in how many groups they are. */
static void check_alike(uint32_t tid, const char *slept, const char *did, bool are_alike)
{
	const struct slow_waited waited = { TEXT("f"), 31000 * US, 77 };
	struct strbuf out = { 0 };

	calls_free();
	calls_begin();
	put_slept(put_slept(put_usuals(1000, 30), 77, SLEPT_BY("task", "app", "9"), RAN), tid,
		  slept, did);
	CHECK(!slowcalls_finish(sc));
	say_waited(&waited, 1, EXPLAIN_TEXT, &out);
	check_in(&out, are_alike ? "2 of 32 calls of f were slow: 50.10 ms each instead"
				 : "2 of 32 calls of f were slow, of 2 kinds;");
	strbuf_release(&out);
}

TEST(what_is_slow_like_what_a_recorder_waited_for)
{
	check_alike(77, SLEPT_BY("task", "app", "9"), RAN, true);
	check_alike(5, SLEPT_BY("task", "app", "9"), RAN, true);
	/* it is not known what the waker did */
	check_alike(5, SLEPT_BY("task", "app", "9"), NULL, true);
	check_alike(77, SLEPT_BY("task", "app", "9"), DOZED, false);
	check_alike(77, SLEPT_BY("task", "app", "8"), RAN, false);
	check_alike(77, SLEPT_BY("own_softirq", "app", "9"), RAN, false);
	check_alike(77,
		    "slept: us=50000 state=S in=futex_wait+0x1/0x20 waker=task waker_comm=app "
		    "waker_pid=9 from=wake+0x2/0x30 queued_us=0",
		    RAN, false);
	check_alike(77, NULL, NULL, false);
}

/* Of what comes from outside, nobody is known but who waited. */
TEST(what_a_recorder_waited_for_may_come_from_outside)
{
	struct slow_waited waited = { TEXT("f"), 31000 * US, 77 };
	struct strbuf out = { 0 };
	uint64_t at = put_usuals(1000, 30);

	at = put_slept(at, 77, SLEPT_BY("softirq", "swapper/0", "0"), NULL);
	at = put_slept(at, 77, SLEPT_BY("softirq", "hog", "3"), NULL);
	put_slept(at, 5, SLEPT_BY("softirq", "swapper/0", "0"), NULL);
	CHECK(!slowcalls_finish(sc));
	say_waited(&waited, 1, EXPLAIN_TEXT, &out);
	check_in(&out,
		 "     2 took 50.10 ms each, with the one that the recorder waited for first: ");
	check_in(&out, "\n     1 took 50.10 ms: asleep in");
	strbuf_release(&out);
}

TEST(functions_are_explained_as_a_recorder_waited_for_them)
{
	struct slow_waited waited[] = { { TEXT("f"), 31000 * US, 77 }, { TEXT("other"), 0, 77 } };
	struct strbuf out = { 0 };
	uint64_t at = put_slow(put_usuals(1000, 30), 50000, NULL);

	waited[1].begin_ns = at * US;
	put(ROW_LEAF, 0, at, 900000, "other");
	CHECK(!slowcalls_finish(sc));
	say_waited(waited, 0, EXPLAIN_TEXT, &out);
	CHECK(!strncmp(strbuf_cstr(&out), "1 of 1 call of other", 20));
	say_waited(waited, 2, EXPLAIN_TEXT, &out);
	CHECK(!strncmp(strbuf_cstr(&out), "1 of 31 calls of f was", 22));
	check_in(&out, "\n1 of 1 call of other was slow: ");
	say_waited(waited + 1, 1, EXPLAIN_TEXT, &out);
	CHECK(!strncmp(strbuf_cstr(&out), "1 of 1 call of other", 20));
	strbuf_release(&out);
}

/* Calls that only sleep run less than others. */
TEST(no_cause_of_a_group_has_more_than_all_of_it)
{
	static const struct slow_limit limits[] = { { "f", 300 * US } };
	const struct slow_waited waited = { TEXT("f"), 31000 * US, 77 };
	const struct explain_view view = { .input = "x",
					   .limits = limits,
					   .limit_cnt = 1,
					   .waited = &waited,
					   .waited_cnt = 1,
					   .has_sleeps = true };
	const char *const slept[] = {
		"slept: us=500 state=S in=a+0x1/0x20 waker=task waker_comm=x waker_pid=9 from=b queued_us=0",
		"slept: us=500 state=S in=c+0x1/0x20 waker=task waker_comm=x waker_pid=9 from=b queued_us=0",
	};
	struct strbuf out = { 0 };
	uint64_t at = put_usuals(1000, 30);

	for (size_t i = 0; i < ARRAY_SIZE(slept); i++, at += 1000) {
		put(ROW_ENTRY, 0, at, 0, "f");
		put_note(at + 500, slept[i]);
		put(ROW_RETURN, 0, at + 500, 500, "f");
	}
	CHECK(!slowcalls_finish(sc));
	say(EXPLAIN_TEXT, &view, &out);
	check_in(&out, " waited for first: asleep in a (state S) 100 %; what x-9 did");
	check_in(&out, "    500.0 us  125.0 %  asleep in a (state S), woken by");
	strbuf_release(&out);
}
