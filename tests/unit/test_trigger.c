/* What record --when says, and when it has come true. */
#include "trace/trigger.h"

#include <errno.h>
#include <string.h>

#include "harness.h"

#define NAME(literal)                                    \
	{                                                \
		.name = { literal, sizeof(literal) - 1 } \
	}
#define MS 1000000ull

static struct func funcs[] = { NAME("tcp_v4_connect"), NAME("tcp_sendmsg"), NAME("ip_rcv"),
			       NAME("kfree_skb_reason") };
static const struct functab functab = { funcs, 4 };

static struct trigger_hit hits[64];
static uint32_t hit_cnt;

static void keep(void *ctx, const struct trigger_hit *hit)
{
	(void)ctx;
	CHECK(hit_cnt < 64);
	hits[hit_cnt++] = *hit;
}

static struct trigger_rule rule;

static struct trigger *start(const char *text)
{
	const struct trigger_cond *missing;
	struct trigger *t;

	CHECK(!trigger_parse(&rule, text));
	CHECK(!trigger_new(&t, &rule, &functab, &missing));
	hit_cnt = 0;
	return t;
}

static void feed(struct trigger *t, uint64_t time_ns, uint8_t kind, uint16_t func_id, uint32_t tid)
{
	const struct event ev = {
		.time_ns = time_ns, .kind = kind, .func_id = func_id, .tid = tid, .frame = 8
	};

	CHECK(!trigger_feed(t, &ev, 1, keep, NULL));
}

static void lose(struct trigger *t, uint64_t time_ns, uint64_t cnt)
{
	const struct event ev = { .time_ns = time_ns, .kind = EVENT_LOST, .lost_cnt = cnt };

	CHECK(!trigger_feed(t, &ev, 1, keep, NULL));
}

TEST(conditions_are_read)
{
	CHECK(!trigger_parse(&rule,
			     "tcp_v4_connect > 1s || drops>100/s||losses > 2K/s || tcp_* > 1.5ms"));
	CHECK(rule.cnt == 4);
	CHECK_STR(rule.conds[0].pattern, "tcp_v4_connect");
	CHECK(rule.conds[0].what == TRIGGER_FUNCS && rule.conds[0].longer_ns == 1000 * MS);
	CHECK(rule.conds[1].what == TRIGGER_DROPS && rule.conds[1].per_sec == 100);
	CHECK(rule.conds[2].what == TRIGGER_LOSSES && rule.conds[2].per_sec == 2000);
	CHECK(rule.conds[3].longer_ns == 1500000 && !rule.conds[3].per_sec);
	CHECK(rule.conds[3].text.len == strlen("tcp_* > 1.5ms"));
}

TEST(what_is_wrong_with_a_condition_is_said)
{
	static const struct {
		const char *text;
		const char *why;
	} wrongs[] = {
		{ "", "lacks a condition" },
		{ "a > 1s ||", "lacks a condition" },
		{ "|| a > 1s", "lacks a condition" },
		{ "tcp_sendmsg", "has no '>'" },
		{ "> 1s", "has no name before '>'" },
		{ "a b > 1s", "has no function before '>'" },
		{ "a >= 1s", "has an invalid limit" },
		{ "a >", "has no limit after '>'" },
		{ "a > 0s", "has an invalid limit" },
		{ "a > 1", "has an invalid limit" },
		{ "a > 0/s", "has an invalid limit" },
		{ "a > 1s/s", "has an invalid limit" },
		{ "drops > 1s", "has a limit that is not a rate" },
		{ "losses > 10", "has a limit that is not a rate" },
		{ "a|b > 1s", "has no function before '>'" },
	};

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
		const char *why = trigger_parse(&rule, wrongs[i].text);

		CHECK(why);
		if (strncmp(why, wrongs[i].why, strlen(wrongs[i].why)) != 0)
			CHECK_STR(why, wrongs[i].why);
	}
}

TEST(sixteen_conditions_are_the_most)
{
	char text[17 * 12] = "";

	for (int i = 0; i < 16; i++)
		strcat(text, i ? "||a > 1s" : "a > 1s");
	CHECK(!trigger_parse(&rule, text) && rule.cnt == 16);
	strcat(text, "||a > 1s");
	CHECK_STR(trigger_parse(&rule, text), "has more than 16 conditions");
}

TEST(what_is_not_traced_is_named)
{
	static const struct functab two = { funcs, 2 };
	const struct trigger_cond *missing;
	struct trigger *t;

	CHECK(!trigger_parse(&rule, "tcp_sendmsg > 1s || udp_* > 1s"));
	CHECK(trigger_new(&t, &rule, &functab, &missing) == -ENOENT && missing == &rule.conds[1]);
	CHECK(!trigger_parse(&rule, "drops > 1/s"));
	CHECK(trigger_new(&t, &rule, &two, &missing) == -ENOENT && missing == &rule.conds[0]);
	CHECK(!trigger_parse(&rule, "losses > 1/s"));
	CHECK(!trigger_new(&t, &rule, &two, &missing));
	trigger_free(t);
}

TEST(a_call_takes_longer)
{
	struct trigger *t = start("tcp_* > 10ms || tcp_sendmsg > 20ms");

	feed(t, 0, EVENT_ENTRY, 0, 7);
	feed(t, 10 * MS, EVENT_EXIT, 0, 7); /* not longer */
	CHECK(!hit_cnt);
	feed(t, 20 * MS, EVENT_ENTRY, 0, 7);
	feed(t, 30 * MS + 1, EVENT_EXIT, 0, 7);
	CHECK(hit_cnt == 1 && hits[0].tid == 7 && hits[0].begin_ns == 20 * MS &&
	      hits[0].time_ns == 30 * MS);
	feed(t, 40 * MS, EVENT_ENTRY, 1, 8);
	feed(t, 65 * MS, EVENT_EXIT, 1, 8);
	CHECK(hit_cnt == 3 && hits[1].cond == &rule.conds[0] && hits[2].cond == &rule.conds[1]);
	feed(t, 70 * MS, EVENT_ENTRY, 2, 8);
	feed(t, 170 * MS, EVENT_EXIT, 2, 8); /* nobody asks for it */
	CHECK(hit_cnt == 3 && trigger_stats(t).hit_cnt == 3);
	trigger_free(t);
}

/* It is told by the first event behind the limit, and not again at its return. */
TEST(a_call_that_does_not_return_is_told)
{
	struct trigger *t = start("tcp_v4_connect > 1s");

	feed(t, 5, EVENT_ENTRY, 0, 7);
	feed(t, 900 * MS, EVENT_ENTRY, 2, 9);
	CHECK(!hit_cnt);
	feed(t, 1001 * MS, EVENT_EXIT, 2, 9);
	CHECK(hit_cnt == 1 && hits[0].time_ns == 1000 * MS + 5 && hits[0].tid == 7);
	feed(t, 4000 * MS, EVENT_EXIT, 0, 7);
	CHECK(hit_cnt == 1);
	trigger_free(t);
}

/* Nor does it take another event: nothing else may happen where everybody hangs. */
TEST(a_call_that_hangs_in_silence_is_told)
{
	struct trigger *t = start("tcp_v4_connect > 1s");

	feed(t, 5, EVENT_ENTRY, 0, 7);
	trigger_seen(t, 1000 * MS + 5, keep, NULL);
	CHECK(!hit_cnt);
	trigger_seen(t, 1000 * MS + 6, keep, NULL);
	CHECK(hit_cnt == 1 && hits[0].time_ns == 1000 * MS + 5 && hits[0].tid == 7);
	trigger_seen(t, 500 * MS, keep, NULL); /* no way back */
	feed(t, 4000 * MS, EVENT_EXIT, 0, 7);
	CHECK(hit_cnt == 1);
	trigger_free(t);
}

/* The return may be among what is being lost, or is not recorded any more. */
TEST(a_gap_is_no_long_call)
{
	const struct event gap = { .time_ns = 5 * MS, .kind = EVENT_GAP };
	struct trigger *t = start("tcp_v4_connect > 10ms");

	feed(t, 0, EVENT_ENTRY, 0, 7);
	CHECK(!trigger_feed(t, &gap, 1, keep, NULL));
	trigger_seen(t, 100 * MS, keep, NULL);
	feed(t, 110 * MS, EVENT_ENTRY, 0, 7);
	trigger_forget(t);
	trigger_seen(t, 200 * MS, keep, NULL);
	CHECK(!hit_cnt && trigger_stats(t).unwatched_cnt == 2);
	trigger_free(t);
}

static void doubt(struct trigger *t, uint64_t time_ns, uint8_t kind, uint32_t tid, uint16_t cpu)
{
	const struct event ev = { .time_ns = time_ns, .kind = kind, .tid = tid, .cpu = cpu };

	CHECK(!trigger_feed(t, &ev, 1, keep, NULL));
}

/* A task that is in doubt may have returned without a record. Those of others go on. */
TEST(a_return_in_doubt_is_no_long_call)
{
	struct trigger *t = start("tcp_v4_connect > 10ms || tcp_sendmsg > 10ms");

	feed(t, 0, EVENT_ENTRY, 0, 7);
	feed(t, 1, EVENT_ENTRY, 1, 7);
	feed(t, 2, EVENT_ENTRY, 0, 8);
	doubt(t, 5 * MS, EVENT_DOUBT, 7, 1);
	CHECK(trigger_stats(t).unwatched_cnt == 2);
	doubt(t, 6 * MS, EVENT_SURE, 7, 1);
	trigger_seen(t, 100 * MS, keep, NULL);
	CHECK(hit_cnt == 1 && hits[0].tid == 8);
	CHECK(trigger_stats(t).unwatched_cnt == 2);
	feed(t, 100 * MS, EVENT_ENTRY, 0, 7); /* another CPU than it was in doubt on, or the same */
	trigger_seen(t, 200 * MS, keep, NULL);
	CHECK(hit_cnt == 2 && hits[1].begin_ns == 100 * MS);
	trigger_free(t);
}

/* Up to the doubt it had not returned. */
TEST(a_call_that_was_long_before_the_doubt_is_told)
{
	const struct event events[] = {
		{ .time_ns = 1, .kind = EVENT_ENTRY, .tid = 7 },
		{ .time_ns = 20 * MS, .kind = EVENT_DOUBT, .tid = 7 },
		{ .time_ns = 40 * MS, .kind = EVENT_SURE, .tid = 7 },
	};
	struct trigger *t = start("tcp_v4_connect > 10ms");

	CHECK(!trigger_feed(t, events, 3, keep, NULL));
	CHECK(hit_cnt == 1 && hits[0].time_ns == 10 * MS + 1);
	trigger_free(t);
}

/* What begins in doubt may end there unseen: only its return tells that it took long. */
TEST(a_call_that_begins_in_doubt_is_told_by_its_return)
{
	struct trigger *t = start("tcp_v4_connect > 10ms");

	doubt(t, 1, EVENT_DOUBT, 7, 0);
	feed(t, 2, EVENT_ENTRY, 0, 7);
	trigger_seen(t, 50 * MS, keep, NULL);
	CHECK(!hit_cnt);
	doubt(t, 60 * MS, EVENT_SURE, 7, 0);
	feed(t, 70 * MS, EVENT_EXIT, 0, 7); /* of another call, perhaps */
	CHECK(!hit_cnt && trigger_stats(t).unwatched_cnt == 1);
	doubt(t, 80 * MS, EVENT_DOUBT, 7, 0);
	feed(t, 81 * MS, EVENT_ENTRY, 0, 7);
	feed(t, 92 * MS, EVENT_EXIT, 0, 7);
	CHECK(hit_cnt == 1 && hits[0].begin_ns == 81 * MS);
	trigger_free(t);
}

/* The end of a doubt may be among what is lost. */
TEST(a_doubt_ends_with_a_loss)
{
	struct trigger *t = start("tcp_v4_connect > 10ms");

	doubt(t, 1, EVENT_DOUBT, 7, 0);
	lose(t, 5, 1);
	feed(t, 6, EVENT_ENTRY, 0, 8);
	trigger_seen(t, 50 * MS, keep, NULL);
	CHECK(hit_cnt == 1);
	trigger_free(t);
}

TEST(calls_of_many_tasks_are_told_apart)
{
	struct trigger *t = start("tcp_v4_connect > 10ms");

	for (uint32_t tid = 1; tid <= 1000; tid++)
		feed(t, tid, EVENT_ENTRY, 0, tid);
	for (uint32_t tid = 1000; tid; tid--)
		feed(t, tid % 100 ? 5 * MS : 5 * MS + tid, EVENT_EXIT, 0, tid);
	CHECK(!hit_cnt);
	feed(t, 6 * MS, EVENT_ENTRY, 0, 500);
	feed(t, 60 * MS, EVENT_EXIT, 0, 500);
	CHECK(hit_cnt == 1 && hits[0].tid == 500);
	trigger_free(t);
}

/* Where events are lost, the end of a call may be among them. */
TEST(lost_ends_are_no_long_calls)
{
	struct trigger *t = start("tcp_v4_connect > 10ms");

	feed(t, 0, EVENT_ENTRY, 0, 7);
	lose(t, 5 * MS, 3);
	feed(t, 100 * MS, EVENT_EXIT, 0, 7);
	CHECK(!hit_cnt && trigger_stats(t).unwatched_cnt == 1);
	feed(t, 110 * MS, EVENT_ENTRY, 0, 7);
	feed(t, 115 * MS, EVENT_ENTRY, 0, 7); /* the end is missing, without a word */
	feed(t, 122 * MS, EVENT_EXIT, 0, 7);
	CHECK(!hit_cnt && trigger_stats(t).unwatched_cnt == 2);
	trigger_free(t);
}

TEST(too_many_open_calls_are_counted)
{
	struct trigger *t = start("tcp_v4_connect > 10ms");

	for (uint32_t tid = 1; tid <= 65536 + 5; tid++)
		feed(t, 1, EVENT_ENTRY, 0, tid);
	CHECK(trigger_stats(t).unwatched_cnt == 5);
	trigger_free(t);
}

TEST(a_rate_is_of_one_second)
{
	struct trigger *t = start("ip_rcv > 10/s");

	for (int i = 0; i < 100; i++)
		feed(t, (uint64_t)i * 100 * MS, EVENT_ENTRY, 2, 7); /* ten in a second */
	CHECK(!hit_cnt);
	for (int i = 0; i < 11; i++)
		feed(t, 20000 * MS + (uint64_t)i, EVENT_ENTRY, 2, 7);
	CHECK(hit_cnt == 1 && hits[0].time_ns == 20000 * MS + 10);
	feed(t, 20500 * MS, EVENT_ENTRY, 2, 7); /* once in a second */
	CHECK(hit_cnt == 1);
	for (int i = 0; i < 11; i++)
		feed(t, 21500 * MS + (uint64_t)i, EVENT_ENTRY, 2, 7);
	CHECK(hit_cnt == 2);
	trigger_free(t);
}

TEST(drops_and_losses_are_rates)
{
	struct trigger *t = start("drops > 2/s || losses > 100/s");

	feed(t, 1, EVENT_ENTRY, 3, 7);
	feed(t, 2, EVENT_ENTRY, 3, 7);
	feed(t, 3, EVENT_ENTRY, 1, 7);
	CHECK(!hit_cnt);
	feed(t, 4, EVENT_ENTRY, 3, 7);
	CHECK(hit_cnt == 1 && hits[0].cond->what == TRIGGER_DROPS && !hits[0].begin_ns);
	lose(t, 5, 100);
	CHECK(hit_cnt == 1);
	lose(t, 6, 1);
	CHECK(hit_cnt == 2 && hits[1].cond->what == TRIGGER_LOSSES);
	trigger_free(t);
}
