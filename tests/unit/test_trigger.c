/* What record --when says, and when it has come true. */
#include "trace/trigger.h"
#include "harness.h"
#include "script.h"
#include "trace/netcost.h"

#define NAME(str) ((struct func){ .name = { str, sizeof(str) - 1 } })
#define MS        1000000ull

static struct func funcs[] = { NAME("tcp_v4_connect"), NAME("tcp_sendmsg"), NAME("ip_rcv"),
			       NAME("kfree_skb_reason") };
static const struct functab functab = { .funcs = funcs, .cnt = 4 };

static struct trigger *t;
static struct trigger_rule rule;
static struct trigger_hit hits[64];
static uint32_t hit_cnt;

static void keep(void *ctx, const struct trigger_hit *hit)
{
	CHECK(hit_cnt < 64);
	hits[hit_cnt++] = *hit;
}

/* A call passes whose thread is odd; ip_rcv has nothing to test. */
static bool fits(void *ctx, uint32_t cond_idx, uint32_t func_id)
{
	(void)ctx;
	CHECK(rule.conds[cond_idx].test.len);
	return func_id != 2;
}

static bool passes(void *ctx, uint32_t cond_idx, const struct event *ev)
{
	(void)ctx;
	CHECK(rule.conds[cond_idx].tests_result == (ev->kind == EVENT_EXIT));
	return ev->tid & 1;
}

static struct netcost cost; /* not known at first */
static const struct trigger_ops ops = {
	.hit = keep, .fits = fits, .passes = passes, .cost = &cost
};

/* In scripts: c tcp_v4_connect, s tcp_sendmsg, r ip_rcv, k kfree_skb_reason. */
static void start_with(const char *text, const struct functab *tab)
{
	const struct trigger_cond *missing;

	script_begin("csrk");
	CHECK(!trigger_parse(&rule, text));
	for (uint32_t i = 0; i < rule.cnt; i++)
		rule.conds[i].tests_result = rule.conds[i].test.len &&
					     memmem(rule.conds[i].test.ptr, rule.conds[i].test.len,
						    "retval", strlen("retval"));
	CHECK(!trigger_new(&t, &rule, tab, &ops, &missing));
}

static void start(const char *text)
{
	start_with(text, &functab);
}

/* Return: how many hits there are so far. */
static uint32_t hits_after_script(const char *script)
{
	SCRIPT_EACH(script, ev)
		CHECK(!trigger_feed(t, ev, 1));
	return hit_cnt;
}
static uint32_t hits_at(uint64_t time_ns)
{
	trigger_seen(t, time_ns);
	return hit_cnt;
}

#define hits_after(...) hits_after_script(script_of(__VA_ARGS__))

AT_END(trigger_free(t));

static void end(uint64_t unwatched_cnt)
{
	CHECK(trigger_stats(t).hit_cnt == hit_cnt);
	CHECK(trigger_stats(t).unwatched_cnt == unwatched_cnt);
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
	static const struct text_case wrongs[] = {
		{ "", "lacks a condition" },
		{ "a > 1s ||", "lacks a condition" },
		{ "|| a > 1s", "lacks a condition" },
		{ "tcp_sendmsg", "has no '>'" },
		{ "> 1s", "has no name before '>'" },
		{ "a b > 1s", "has no function before '>'" },
		{ "a >= 1s", "has an invalid limit" },
		{ "a < 5ms", "has '<' before its limit" },
		{ "a <= 10/s", "has '<' before its limit" },
		{ "drops < 10/s", "has '<' before its limit" },
		{ "a > 1s || b < 5ms", "has '<' before its limit" },
		{ "len < 5", "tests values of no function" },
		{ "a >", "has no limit after '>'" },
		{ "a > 0s", "has an invalid limit" },
		{ "a > 1", "has an invalid limit" },
		{ "a > 0/s", "has an invalid limit" },
		{ "a > 1s/s", "has an invalid limit" },
		{ "drops > 1s", "has a limit that is not a rate" },
		{ "losses > 10", "has a limit that is not a rate" },
		{ "a|b > 1s", "has no function before '>'" },
		{ "a(b > 1", "lacks a )" },
		{ "a(b == \")\"", "lacks a )" },
		{ "a() > 1s", "has nothing between its parentheses" },
		{ "(b > 1)", "has no name before '('" },
		{ "a b(c > 1)", "has no function before '('" },
		{ "a(b > 1) 1s", "has something other than '> LIMIT' behind its )" },
		{ "a(b > 1) >", "has no limit after '>'" },
		{ "drops(b > 1) > 1/s", "tests drops or losses" },
		{ "skb.mark == 5",
		  "tests values of no function; 'FUNCTION(skb.mark == 5)' tests each call of one, '*(skb.mark == 5)' those of all" },
		{ "retval == -EAGAIN", "tests values of no function" },
		{ "skb.len > 1000", "tests values of no function" },
		{ "skb.len >= 0x10", "tests values of no function" },
		{ "skb->len > 1000", "tests values of no function" },
		{ "len & 1", "tests values of no function" },
		{ "skb.mark == 5 > 1s", "tests values of no function" },
		{ "a > 1s || len == 1 && (size > 3)", "tests values of no function" },
		{ "skb.mark == 5 && len > 3", "tests values of no function" },
		{ "a.part.0 > 1", "tests values of no function" },
	};

	EACH(c, wrongs) {
		const char *why = trigger_parse(&rule, c->in);

		in_case("'%s': %s", c->in, why);
		CHECK(why && !strncmp(why, c->want, strlen(c->want)));
	}
}

TEST(a_test_is_read)
{
	CHECK(!trigger_parse(&rule,
			     "a ( (b > 1 || c) && d == \"||)\" ) || tcp_*(e) > 5ms||f(g)>2/s"));
	CHECK(rule.cnt == 3);
	CHECK_STR(rule.conds[0].pattern, "a");
	CHECK(trigger_is_each(&rule.conds[0]) && !trigger_is_each(&rule.conds[1]));
	CHECK(!strncmp(rule.conds[0].test.ptr, "(b > 1 || c) && d == \"||)\"",
		       rule.conds[0].test.len));
	CHECK(rule.conds[0].test.len == strlen("(b > 1 || c) && d == \"||)\""));
	CHECK(rule.conds[1].longer_ns == 5 * MS && rule.conds[1].test.len == 1);
	CHECK(rule.conds[2].per_sec == 2 && *rule.conds[2].test.ptr == 'g');
	CHECK(!trigger_parse(&rule, "a > 1s") && !rule.conds[0].test.len);
	CHECK(!trigger_parse(&rule, "a.part.0 > 1s || b.isra.0 > 10/s || c.cold(d.e == 1)"));
	CHECK(!trigger_parse(&rule, "*(skb.mark == 5)") && trigger_is_each(&rule.conds[0]));
}

TEST(each_call_that_passes)
{
	start("*(size > 1) || kfree_*(x)");
	CHECK(!hits_after("1ms tid8 c{ } s{ s{ } } r{ }"));
	CHECK(hits_after("2ms tid7 c{") == 1 && hits_after("5ms }") == 1);
	CHECK(hits[0].tid == 7 && !hits[0].func_id && hits[0].time_ns == 2 * MS &&
	      !hits[0].begin_ns);
	CHECK(hits_after("6ms s{ s{ } } r{ }") == 3);
	CHECK(hits_after("7ms k{ }") == 5 && hits[4].cond == &rule.conds[1]);
	end(0);
}

TEST(a_result_is_tested_when_it_is_known)
{
	start("tcp_v4_connect(retval < 0)");
	CHECK(!hits_after("1ms tid7 c{") && hits_after("2ms }") == 1);
	CHECK(hits[0].time_ns == 2 * MS);
	CHECK(hits_after("3ms tid8 c{ }") == 1);
	end(0);
}

/* Of the calls of two functions and tasks only those that pass are watched, and counted. */
TEST(limits_of_calls_that_pass)
{
	start("tcp_*(size > 1) > 10ms || tcp_sendmsg > 30ms || tcp_v4_connect(size > 1) > 2/s");
	CHECK(!hits_after("0 tid8 c{ 20ms }") && !hits_after("30ms tid8 s{ 50ms }"));
	CHECK(hits_after("60ms tid8 s{ 100ms }") == 1 && hits[0].cond == &rule.conds[1]);
	CHECK(hits_after("200ms tid7 c{ 211ms }") == 2 && hits[1].cond == &rule.conds[0]);
	CHECK(hits_after("300ms tid8 c{ } c{ } c{ } tid7 c{ }") == 2);
	CHECK(hits_after("400ms tid7 c{ }") == 3 && hits[2].cond == &rule.conds[2]);
	end(0);
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
	static const struct functab two = { .funcs = funcs, .cnt = 2 };
	const struct trigger_cond *missing;

	CHECK(!trigger_parse(&rule, "tcp_sendmsg > 1s || udp_* > 1s"));
	CHECK(trigger_new(&t, &rule, &functab, &ops, &missing) == -ENOENT &&
	      missing == &rule.conds[1]);
	CHECK(!trigger_parse(&rule, "drops > 1/s"));
	CHECK(trigger_new(&t, &rule, &two, &ops, &missing) == -ENOENT && missing == &rule.conds[0]);
	CHECK(!trigger_parse(&rule, "losses > 1/s"));
	CHECK(!trigger_new(&t, &rule, &two, &ops, &missing));
}

TEST(a_call_takes_longer)
{
	start("tcp_* > 10ms || tcp_sendmsg > 20ms");
	CHECK(!hits_after("0 c{ 10ms }")); /* not longer */
	CHECK(hits_after("20ms c{ 30000001 }") == 1);
	CHECK(hits[0].tid == 7 && hits[0].begin_ns == 20 * MS && hits[0].time_ns == 30 * MS);
	CHECK(hits_after("40ms tid8 s{ 65ms }") == 3);
	CHECK(hits[1].cond == &rule.conds[0] && hits[2].cond == &rule.conds[1]);
	CHECK(hits_after("70ms r{ 170ms }") == 3); /* nobody asks for it */
	end(0);
}

/* Of BPF programs, say: a condition's name may have a function already, and gets another. */
TEST(functions_that_come_later_are_watched)
{
	struct functab growing = { .funcs = funcs, .cnt = 2, .room = 4 };

	start_with("*c* > 10ms || *s* > 1s", &growing);
	CHECK(hits_after("1ms r{ +20ms } c{ +1ms }") == 0);
	growing.cnt = 4;
	trigger_add(t, &growing);
	CHECK(hits_after("+1ms r{ +5ms }") == 0);
	CHECK(hits_after("+1ms r{ +20ms } k{ +1ms }") == 1);
	CHECK(hits[0].func_id == 2);
	end(0);
}

/* It is told by the first event behind the limit, and not again at its return. */
TEST(a_call_that_does_not_return_is_told)
{
	start("tcp_v4_connect > 1s");
	CHECK(!hits_after("5 c{ 900ms tid9 r{") && hits_after("1001ms }") == 1);
	CHECK(hits[0].time_ns == 1000 * MS + 5 && hits[0].tid == 7);
	CHECK(hits_after("4s tid7 }") == 1);
}

/* Nor does it take another event: nothing else may happen where everybody hangs. */
TEST(a_call_that_hangs_in_silence_is_told)
{
	start("tcp_v4_connect > 1s");
	hits_after("5 c{");
	CHECK(!hits_at(1000 * MS + 5));
	CHECK(hits_at(1000 * MS + 6) == 1 && hits[0].time_ns == 1000 * MS + 5 && hits[0].tid == 7);
	trigger_seen(t, 500 * MS); /* no way back */
	CHECK(hits_after("4s }") == 1);
}

/* The return may be among what is being lost, or is not recorded any more. */
TEST(a_gap_is_no_long_call)
{
	start("tcp_v4_connect > 10ms");
	hits_after("0 c8{ 5ms gap");
	trigger_seen(t, 100 * MS);
	hits_after("110ms c8{");
	trigger_forget(t);
	CHECK(!hits_at(200 * MS));
	end(2);
}

/* A task that is in doubt may have returned without a record. Those of others go on. */
TEST(a_return_in_doubt_is_no_long_call)
{
	start("tcp_v4_connect > 10ms || tcp_sendmsg > 10ms");
	hits_after("0 c8{ s8{ tid8 c8{ 5ms cpu1 tid7 doubt");
	CHECK(trigger_stats(t).unwatched_cnt == 2);
	hits_after("6ms sure");
	CHECK(hits_at(100 * MS) == 1 && hits[0].tid == 8);
	CHECK(trigger_stats(t).unwatched_cnt == 2);
	hits_after("100ms cpu0 c8{"); /* another CPU than it was in doubt on, or the same */
	CHECK(hits_at(200 * MS) == 2 && hits[1].begin_ns == 100 * MS);
}

/* Up to the doubt it had not returned. */
TEST_ONE(a_call_that_was_long_before_the_doubt_is_told, start("tcp_v4_connect > 10ms"),
	 CHECK(hits_after("1 c{ 20ms doubt 40ms sure") == 1 && hits[0].time_ns == 10 * MS + 1));

/* What begins in doubt may end there unseen: only its return tells that it took long. */
TEST(a_call_that_begins_in_doubt_is_told_by_its_return)
{
	start("tcp_v4_connect > 10ms");
	hits_after("1 doubt 2 c{");
	CHECK(!hits_at(50 * MS));
	CHECK(!hits_after("60ms sure 70ms }")); /* of another call, perhaps */
	CHECK(trigger_stats(t).unwatched_cnt == 1);
	CHECK(hits_after("80ms doubt 81ms c{ 92ms }") == 1 && hits[0].begin_ns == 81 * MS);
}

/* The end of a doubt may be among what is lost. */
TEST_ONE(a_doubt_ends_with_a_loss, start("tcp_v4_connect > 10ms"),
	 hits_after("1 doubt 5 lost1 6 tid8 c{"), CHECK(hits_at(50 * MS) == 1));

TEST(calls_of_many_tasks_are_told_apart)
{
	start("tcp_v4_connect > 10ms");
	for (int tid = 1; tid <= 1000; tid++)
		hits_after("%d tid%d c8{", tid, tid);
	for (int tid = 1000; tid; tid--)
		hits_after("%d tid%d }c8", tid % 100 ? 5000000 : 5000000 + tid, tid);
	CHECK(!hit_cnt);
	CHECK(hits_after("6ms tid500 c{ 60ms }") == 1 && hits[0].tid == 500);
}

/* Where events are lost, the end of a call may be among them. */
TEST(lost_ends_are_no_long_calls)
{
	start("tcp_v4_connect > 10ms");
	CHECK(!hits_after("0 c{ 5ms lost3 100ms }") && trigger_stats(t).unwatched_cnt == 1);
	CHECK(!hits_after("110ms c8{ 115ms c8{ 122ms }c8")); /* an end is missing, without a word */
	end(2);
}

TEST(too_many_open_calls_are_counted)
{
	start("tcp_v4_connect > 10ms");
	for (int tid = 1; tid <= 65536 + 5; tid++)
		hits_after("1 tid%d c8{", tid);
	end(5);
}

TEST(a_rate_is_of_one_second)
{
	start("ip_rcv > 10/s");
	for (int i = 0; i < 100; i++)
		hits_after("%dms r8{", i * 100); /* ten in a second */
	CHECK(!hit_cnt);
	CHECK(hits_after("20s r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{") == 1);
	CHECK(hits[0].time_ns == 20000 * MS + 10);
	CHECK(hits_after("20500ms r8{") == 1); /* once in a second */
	CHECK(hits_after("21500ms r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{ r8{") == 2);
}

TEST(drops_and_losses_are_rates)
{
	start("drops > 2/s || losses > 100/s");
	CHECK(!hits_after("1 k{ 2 k{ 3 s{"));
	CHECK(hits_after("4 k{") == 1 && hits[0].cond->what == TRIGGER_DROPS && !hits[0].begin_ns);
	CHECK(hits_after("5 lost100") == 1);
	CHECK(hits_after("6 lost1") == 2 && hits[1].cond->what == TRIGGER_LOSSES);
}

static bool is_of_task_8(void *ctx, const struct event *ev)
{
	return ev->tid == 8;
}

/* What a call's values say of the function that drops, they do not of others. */
TEST(calls_that_drop_nothing_do_not_count)
{
	const struct trigger_ops by_values = { .hit = keep,
					       .drops_nothing = is_of_task_8,
					       .cost = &cost };
	const struct trigger_cond *missing;

	script_begin("csrk");
	CHECK(!trigger_parse(&rule, "drops > 2/s || tcp_sendmsg > 2/s"));
	CHECK(!trigger_new(&t, &rule, &functab, &by_values, &missing));
	CHECK(!hits_after("1 tid8 k{ 2 k{ 3 k{ 4 tid7 k{ 5 k{"));
	CHECK(hits_after("6 k{") == 1 && hits[0].cond->what == TRIGGER_DROPS);
	CHECK(hits_after("7 tid8 s{ 8 s{ 9 s{") == 2 && hits[1].cond->what == TRIGGER_FUNCS);
}

static void feed_point(uint64_t time_ns, uint32_t nr)
{
	const struct event ev = {
		.kind = EVENT_POINT, .time_ns = time_ns, .tid = 7, .func_id = nr
	};

	CHECK(!trigger_feed(t, &ev, 1));
}

/* The function that drops is also called without a packet; the tracepoint has packets alone. */
TEST(events_of_the_tracepoint_are_the_drops_where_it_is_recorded)
{
	const struct trigger_ops by_point = { .hit = keep, .drop_point = 3, .cost = &cost };
	const struct trigger_cond *missing;

	script_begin("csrk");
	CHECK(!trigger_parse(&rule, "drops > 2/s || kfree_skb_reason > 4/s"));
	CHECK(!trigger_new(&t, &rule, &functab, &by_point, &missing));
	CHECK(!hits_after("1 k{ 2 k{ 3 k{ 4 k{"));
	feed_point(5, 2);
	feed_point(6, 1);
	feed_point(7, 2);
	CHECK(!hit_cnt);
	feed_point(8, 2);
	CHECK(hit_cnt == 1 && hits[0].cond->what == TRIGGER_DROPS && !hits[0].func_id);
	CHECK(hits_after("9 k{") == 2 && hits[1].cond->what == TRIGGER_FUNCS);
}

/* Ten calls below it take 100 ns each, and the tracing of each, and of the call itself, a microsecond. */
TEST(what_tracing_adds_is_no_part_of_a_duration)
{
	static const char calls[] = "1 s{ 2 r{ 3 }r 4 r{ 5 }r 6 r{ 7 }r 8 r{ 9 }r";

	cost = (struct netcost){ .inner_ns = 1, .outer_ns = 1, .error_ns = 1 };
	start("tcp_sendmsg > 10ns");
	CHECK(!hits_after(calls));
	CHECK(!hits_after("20 }s")); /* 19 ns, of which 9 are of tracing */
	CHECK(hits_after("101 s{ 112 }s") == 0);
	CHECK(hits_after("201 s{ 213 }s") == 1 && hits[0].time_ns == 212 &&
	      hits[0].begin_ns == 201);
	/* while it is open */
	CHECK(!hits_after("301 s{ 302 r{ 303 }r") || hit_cnt == 1);
	CHECK(hits_at(314) == 1);
	CHECK(hits_at(315) == 2 && hits[1].time_ns == 314);
	cost = (struct netcost){ 0 };
	end(0);
}

/* explain reads the condition out of the comment that a report of the recording has. */
TEST(the_condition_is_found_in_its_text)
{
	static const char *const conditions[] = { "c > 1s", "f(a == 'x') > 2ms || drops > 3/s" };
	uint64_t took_ns;
	uint32_t tid;
	struct strbuf text = { 0 };

	for (size_t i = 0; i < 2; i++) {
		strbuf_reset(&text);
		trigger_text(&text, text_from(conditions[i]), text_from("c"), 7, 1500000000);
		CHECK(text_equal(trigger_text_condition((struct text){ text.ptr, text.len }),
				 text_from(conditions[i])));
		CHECK(text_equal(trigger_text_func((struct text){ text.ptr, text.len }),
				 text_from("c")));
	}
	CHECK(trigger_text_call(
		      text_from("trigger 'c > 1s': c in task 7, which began 1.500001 s before"),
		      &tid, &took_ns) &&
	      tid == 7 && took_ns == 1500001000);
	CHECK(!trigger_text_call(text_from("trigger 'c > 1s': c in task 7, which"), &tid,
				 &took_ns));
	CHECK(!trigger_text_call(text_from("trigger 'drops > 3/s'"), &tid, &took_ns));
	CHECK(!trigger_text_call(
		text_from("trigger 'c > 1s': c in task 7, which began 99999999999.000000 s before"),
		&tid, &took_ns));
	CHECK(!trigger_text_func(text_from("trigger 'drops > 3/s'")).len);
	CHECK(!trigger_text_func(text_from("trigger 'c > 1s': ")).len);
	CHECK(!trigger_text_func(text_from("slept: us=7")).len);
	CHECK(!trigger_text_condition(text_from("trigger 'c > 1s")).len);
	CHECK(!trigger_text_condition(text_from("trigger '")).len);
	CHECK(!trigger_text_condition(text_from("slept: us=7")).len);
	strbuf_release(&text);
}
