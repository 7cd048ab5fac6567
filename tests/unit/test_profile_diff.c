/* Two profiles compared. */
#include "format/profile_diff.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "profiled.h"
#include "random.h"
#include "script.h"

AFTER(free_profiles);

/* @cnt times f { g } of 1000 and @inner_ns ns, from @at_ns on. */
static void add_calls(struct profile *p, uint64_t at_ns, unsigned int cnt, const char *outer,
		      const char *inner, uint64_t inner_ns)
{
	for (unsigned int i = 0; i < cnt; i++, at_ns += 10000)
		profile_feed(p,
			     script_of("%d %s{ %d %s;%d %d }", (int)at_ns, outer, (int)at_ns + 100,
				       inner, (int)inner_ns, (int)at_ns + 1000));
}

/* A: f calls g four times; B: twice, slower, and h calls g. k was traced in A. */
static void make_sides(struct profile_diff *diff)
{
	struct profile *a = new_profile(true);
	struct profile *b = new_profile(true);
	uint32_t func;

	add_calls(a, 1000, 4, "f", "g", 100);
	CHECK(!profile_func_named(a, (struct text){ "k", 1 }, (struct text){ "", 0 }, &func));
	add_calls(b, 1000, 2, "f", "g", 300);
	add_calls(b, 100000, 1, "h", "g", 300);
	add_calls(b, 200000, 1, "k", "g", 300);
	profile_finish(a);
	profile_finish(b);
	diff->sides[0] = (struct profile_side){
		.path = "a.rec", .profile = a, .length_ns = 2000000000, .knows_traced = true
	};
	diff->sides[1] = (struct profile_side){
		.path = "b\x1b", .profile = b, .length_ns = 1000000000, .lacks_events = true
	};
}

static void finish_sides(struct profile_diff *diff, struct profile *a, struct profile *b)
{
	profile_finish(a);
	profile_finish(b);
	diff->sides[0] = (struct profile_side){ .path = "a", .profile = a };
	diff->sides[1] = (struct profile_side){ .path = "b", .profile = b };
}

/* The text with single blanks. */
static char *text_of(const struct profile_diff *diff)
{
	struct strbuf out = { 0 };
	size_t to = 0;

	CHECK(!profile_diff_put(diff, &(struct tablew){ .out = &out }));
	strbuf_char(&out, '\0');
	for (size_t i = 0; i < out.len; i++) {
		if (out.ptr[i] != ' ' || (i && out.ptr[i - 1] != ' '))
			out.ptr[to++] = out.ptr[i];
	}
	return out.ptr;
}

/* In B the softirqs ran in other tasks, of which a recording of a command has nothing; one of all tasks has them. */
TEST(softirqs_that_a_command_did_not_run)
{
	struct profile_diff diff = { .sort = PROFILE_BY_NAME };
	struct profile *a = new_profile(true);
	struct profile *b = new_profile(true);
	char *text;

	add_calls(a, 1000, 4, "process_backlog", "ip_rcv", 100);
	add_calls(a, 10000, 4, "ip_rcv", "ack", 10);
	add_calls(a, 20000, 4, "ack", "clean", 10);
	add_calls(a, 30000, 4, "f", "clean", 10);
	add_calls(a, 100000, 4, "f", "g", 100);
	add_calls(b, 90000, 4, "g", "clean", 10);
	add_calls(b, 100000, 4, "f", "g", 100);
	finish_sides(&diff, a, b);
	diff.sides[0].is_of_command = diff.sides[1].is_of_command = true;
	text = text_of(&diff);
	CHECK(strstr(text, "\n# softirqs: ip_rcv and 1 more ran in no call of the command in B, "
			   "but may have run in another task\n"));
	CHECK(!strstr(text, "command in A"));
	CHECK(strstr(text, "\n# both files have the command's own calls alone: what softirqs did "
			   "for it in other tasks is in neither; netfgraph record --packet "));
	/* ack is called outside of softirqs, too, and clean by it */
	CHECK(strstr(text, " CALLS IN A ALONE\n"));
	CHECK(strstr(text, "\n# 4 of these 7 pairs may have run in another task in B: "
			   "they are in or below a softirq\n"));
	CHECK(!strstr(text, "another task in A"));
	CHECK(strstr(text, " ip_rcv (gone or in another task)\n") && strstr(text, " ack (gone)\n"));
	free(text);
	diff.sides[1].is_of_command =
		false; /* B has all, so what A has in softirqs is not hidden in it */
	text = text_of(&diff);
	CHECK(!strstr(text, "# softirqs") && !strstr(text, "softirqs did"));
	free(text);
	diff.sides[1].is_of_command = true;
	diff.sides[0].is_of_command = false;
	text = text_of(&diff);
	CHECK(strstr(text, "\n# B has the command's own calls alone: what softirqs did for it in "
			   "other tasks is not in it; netfgraph record --packet "));
	free(text);
}

/* A pair that is new below a softirq, in a list of its own. */
TEST(one_pair_in_a_softirq)
{
	struct profile_diff diff = { .sort = PROFILE_BY_NAME };
	struct profile *a = new_profile(true);
	struct profile *b = new_profile(true);
	char *text;

	add_calls(a, 1000, 4, "ip_rcv", "f", 100);
	add_calls(a, 100000, 4, "f", "g", 100);
	add_calls(b, 1000, 4, "ip_rcv", "f", 100);
	add_calls(b, 100000, 4, "f", "g", 100);
	add_calls(b, 200000, 1, "ip_rcv", "g", 100);
	finish_sides(&diff, a, b);
	diff.sides[0].is_of_command = diff.sides[1].is_of_command = true;
	text = text_of(&diff);
	CHECK(strstr(text, "\n# this pair may have run in another task in A: "
			   "it is in or below a softirq\n"));
	CHECK(strstr(text, "\n# both files have "));
	free(text);
}

/* Ten functions, of which each call took @ns; but f3's @f3_ns, and f5 has @f5_cnt of them. */
static struct profile *ten_functions(uint64_t ns, uint64_t f3_ns, int f5_cnt)
{
	static const char *const names[] = { "f0", "f1", "f2", "f3", "f4",
					     "f5", "f6", "f7", "f8", "f9" };
	struct profile *p = new_profile(true);
	uint64_t at_ns = 0;

	for (int f = 0; f < 10; f++) {
		for (int i = 0; i < (f == 5 ? f5_cnt : 20); i++) {
			const struct row row = call_row(ROW_LEAF, 0, at_ns += 10000,
							f == 3 ? f3_ns : ns, names[f]);

			CHECK(!profile_row(p, &row));
		}
	}
	return p;
}

/* A host that is slower changes all functions alike; what changed otherwise is named. */
TEST(what_is_beyond_the_usual_change_is_named)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL };
	struct strbuf out = { 0 };
	char *text;

	finish_sides(&diff, ten_functions(1000, 1000, 20), ten_functions(1120, 1100, 20));
	text = text_of(&diff);
	CHECK(strstr(text,
		     "\n# usual: half of 10 functions have a P50 changed by +12.0 to +12.0 %; "
		     "beyond that: nothing\n"));
	free(text);
	finish_sides(&diff, ten_functions(1000, 1000, 20), ten_functions(1120, 4000, 40));
	text = text_of(&diff);
	CHECK(strstr(text,
		     "; beyond that: f3 (P50 +300.0 %), f5 (40 calls for 20, P50 +12.0 %)\n"));
	free(text);
	CHECK(!profile_diff_json(&diff, &out));
	CHECK(strstr(strbuf_cstr(&out), "\"usual_p50_change_permille\":[120,120],"));
	strbuf_release(&out);
	finish_sides(&diff, ten_functions(1000, 1000, 20), ten_functions(500, 500, 5));
	text = text_of(&diff);
	CHECK(strstr(text, " by -50.0 to -50.0 %; beyond that: f5 (5 calls for 20)\n"));
	free(text);
	/* a sleep takes as long on a faster host */
	finish_sides(&diff, ten_functions(1500, 1500, 20), ten_functions(1000, 1490, 20));
	text = text_of(&diff);
	CHECK(strstr(text, " by -33.3 to -33.3 %; beyond that: nothing\n"));
	free(text);
	finish_sides(&diff, ten_functions(1500, 1500, 20), ten_functions(1000, 2500, 20));
	text = text_of(&diff);
	CHECK(strstr(text, "; beyond that: f3 (P50 +66.7 %)\n"));
	free(text);
	make_sides(&diff); /* too few functions and calls */
	text = text_of(&diff);
	CHECK(!strstr(text, "# usual"));
	free(text);
}

#define WORK_CALLS 40

/*
 * A start function of a millisecond a call, and nine of some microseconds in it, which scatter by a third. @shift: by how many us the
 * calls of f3 take longer; @f5_cnt: calls of f5.
 */
static struct profile *some_work(unsigned int seed, uint64_t shift_us, int f5_cnt)
{
	static const char *const names[] = { "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9" };
	struct profile *p = new_profile(true);
	uint64_t at_ns = 0;

	for (int i = 0; i < WORK_CALLS; i++) {
		const struct row row = call_row(ROW_LEAF, 0, at_ns += 2000000, 1000000, "start");

		CHECK(!profile_row(p, &row));
	}
	for (int f = 0; f < 9; f++) {
		for (int i = 0; i < (f == 4 ? f5_cnt : WORK_CALLS); i++) {
			struct row row;

			seed = seed * 1103515245 + 12345;
			row = call_row(ROW_LEAF, 0, at_ns += 10000,
				       3000 + (seed >> 16) % 2000 + (f == 2 ? shift_us * 1000 : 0),
				       names[f]);
			CHECK(!profile_row(p, &row));
		}
	}
	return p;
}

static void check_beyond(struct profile *a, struct profile *b, const char *want)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL };
	char *text;
	char *at;

	finish_sides(&diff, a, b);
	text = text_of(&diff);
	at = strstr(text, "beyond that: ");
	CHECK(at);
	at[strcspn(at, "\n")] = '\0';
	CHECK_STR(at, want);
	free(text);
	free_profiles();
}

/* Some microseconds of many milliseconds are nothing, unless they cannot come by chance. */
TEST(what_is_little_and_may_be_chance_is_not_named)
{
	for (unsigned int seed = 1; seed <= 40; seed++)
		check_beyond(some_work(seed, 0, 40), some_work(seed + 1000, 0, 40),
			     "beyond that: nothing");
	/* half as long again: less than 1 % of all time */
	check_beyond(some_work(1, 0, 40), some_work(2, 2, 40), "beyond that: nothing");
	check_beyond(some_work(1, 0, 40), some_work(2, 0, 52), "beyond that: nothing");
	/* the double is no chance, nor is so much more often; much of all time is named anyhow */
	check_beyond(some_work(1, 0, 40), some_work(1, 8, 40), "beyond that: f3 (P50 +212.7 %)");
	check_beyond(some_work(1, 0, 40), some_work(1, 0, 120),
		     "beyond that: f5 (120 calls for 40, P50 -6.7 %)");
	check_beyond(some_work(1, 0, 40), some_work(1, 900, 40),
		     "beyond that: f3 (P50 +23671.2 %)");
}

/* Where nothing is found, the softirqs that a command's recording lacks are said; not where something is. */
TEST(what_recordings_of_a_command_lack)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL };

	for (int with = 0; with < 4; with++) {
		for (int is_found = 0; is_found < 2; is_found++) {
			char *text;

			finish_sides(&diff, ten_functions(1000, 1000, 20),
				     ten_functions(1000, is_found ? 9000 : 1000, 20));
			diff.sides[0].is_of_command = with & 1;
			diff.sides[1].is_of_command = with & 2;
			text = text_of(&diff);
			CHECK(!strstr(text, "softirqs did") == (is_found || !with));
			CHECK(!strstr(text, "nothing\n# both files have ") ==
			      (is_found || with != 3));
			CHECK(!strstr(text, "nothing\n# A has ") == (is_found || with != 1));
			CHECK(!strstr(text, "nothing\n# B has ") == (is_found || with != 2));
			free(text);
			free_profiles();
		}
	}
}

/* Nine functions, of which four take @few_ns a call and five @many_ns, and a sleep. */
static struct profile *two_kinds(uint64_t few_ns, uint64_t many_ns, uint64_t sleep_ns)
{
	static const char *const names[] = { "f0", "f1", "f2", "f3", "f4",
					     "f5", "f6", "f7", "f8", "sleep" };
	struct profile *p = new_profile(true);
	uint64_t at_ns = 0;

	for (int f = 0; f < 10; f++) {
		const uint64_t ns = f == 9 ? sleep_ns : f < 4 ? few_ns : many_ns;

		for (int i = 0; i < 20; i++) {
			const struct row row =
				call_row(ROW_LEAF, 0, at_ns += 20000000, ns, names[f]);

			CHECK(!profile_row(p, &row));
		}
	}
	return p;
}

static void check_sleep(uint64_t a_ns, uint64_t b_ns, const char *want)
{
	check_beyond(two_kinds(1000, 1000, a_ns), two_kinds(1100, 2400, b_ns), want);
}

/* Where half of the functions changed by +10 % and half by +140 %, five times is still not usual for what has the time. */
TEST(a_wide_range_of_usual_changes_does_not_hide_where_the_time_went)
{
	check_sleep(2500000, 12500000, "beyond that: sleep (P50 +400.0 %)");
	check_sleep(10000000, 2500000, "beyond that: sleep (P50 -75.0 %)");
	check_sleep(2500000, 2500000, "beyond that: nothing");
	check_sleep(2500000, 2900000, "beyond that: nothing");
	check_sleep(2500000, 7000000, "beyond that: nothing"); /* not twice the usual */
	check_sleep(2500000, 1500000, "beyond that: nothing");
	check_sleep(1000, 5000, "beyond that: nothing"); /* less than the others together */
	/* a host of a quarter of the speed: a sleep that is hardly longer is none of it */
	check_beyond(two_kinds(1000, 1000, 2500000), two_kinds(3500, 4000, 3500000),
		     "beyond that: nothing");
}

#define TREE_FUNCS 30
#define TREE_CALLS 40

/* A tree of functions, each of which is called by one other, or by none. */
struct tree {
	int parents[TREE_FUNCS]; /* before it; -1: none */
	uint64_t self_ns[TREE_FUNCS];
	int left_out; /* is not called, and does not call; -1: none */
};

static const char *tree_name(int func)
{
	static char names[TREE_FUNCS][16];

	snprintf(names[func], sizeof(names[func]), "f%d", func);
	return names[func];
}

static uint64_t some_self_ns(const struct tree *tree, int func)
{
	return tree->self_ns[func] * (95 + random_below(11)) / 100;
}

/* Return: when it returns. */
static uint64_t call_in_tree(struct profile *p, const struct tree *tree, int func, uint32_t depth,
			     uint64_t begin_ns)
{
	struct row row = call_row(ROW_ENTRY, depth, begin_ns, 0, tree_name(func));
	uint64_t end_ns = begin_ns + some_self_ns(tree, func) / 2;

	CHECK(!profile_row(p, &row));
	for (int i = func + 1; i < TREE_FUNCS; i++) {
		if (tree->parents[i] == func && i != tree->left_out)
			end_ns = call_in_tree(p, tree, i, depth + 1, end_ns);
	}
	end_ns += some_self_ns(tree, func) / 2;
	row = call_row(ROW_RETURN, depth, end_ns, end_ns - begin_ns, tree_name(func));
	CHECK(!profile_row(p, &row));
	return end_ns;
}

static struct profile *tree_profile(const struct tree *tree)
{
	struct profile *p = new_profile(true);
	uint64_t at_ns = 1000;

	for (int i = 0; i < TREE_CALLS; i++) {
		for (int func = 0; func < TREE_FUNCS; func++) {
			if (tree->parents[func] < 0 && func != tree->left_out)
				at_ns = 1000 + call_in_tree(p, tree, func, 0, at_ns);
		}
	}
	return p;
}

/* Five that are called by none, and the others below one of them or of those before. */
static void make_tree(struct tree *tree)
{
	tree->left_out = -1;
	for (int i = 0; i < TREE_FUNCS; i++) {
		tree->parents[i] = i < 5 ? -1 : (int)random_below(i < 20 ? 5 : (uint32_t)i);
		tree->self_ns[i] = 1000 + random_below(9000);
	}
}

static bool calls_any(const struct tree *tree, int func)
{
	for (int i = 0; i < TREE_FUNCS; i++) {
		if (tree->parents[i] == func)
			return true;
	}
	return false;
}

static void check_named_first(const struct tree *a, const struct tree *b, const char *want)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL };
	char *text;
	char *at;

	finish_sides(&diff, tree_profile(a), tree_profile(b));
	text = text_of(&diff);
	at = strstr(text, "beyond that: ");
	CHECK(at);
	at[strcspn(at, "\n")] = '\0';
	at += strlen("beyond that: ");
	if (strncmp(at, want, strlen(want)) != 0)
		CHECK_STR(at, want);
	free(text);
	free_profiles();
}

/* Callers take as much longer as what they call; first comes where the time went, whether that is new, or slower. */
TEST(where_the_time_went_is_named_first)
{
	char want[32];

	for (int i = 0; i < 100; i++) {
		const int func = (int)random_below(TREE_FUNCS);
		struct tree a;
		struct tree b;

		make_tree(&a);
		b = a;
		b.self_ns[func] += 40000;
		snprintf(want, sizeof(want), "%s (P50 +", tree_name(func));
		check_named_first(&a, &b, want);
		snprintf(want, sizeof(want), "%s (P50 -", tree_name(func));
		check_named_first(&b, &a, want);
		if (calls_any(&a, func))
			continue;
		a.left_out = func;
		snprintf(want, sizeof(want), "%s (new, 40 calls)", tree_name(func));
		check_named_first(&a, &b, want);
		snprintf(want, sizeof(want), "%s (gone, 40 calls)", tree_name(func));
		check_named_first(&b, &a, want);
	}
}

/* c calls g three times, of which the last takes @last_ns, beside eight functions that are the same. */
static struct profile *third_call(uint64_t last_ns)
{
	struct profile *p = new_profile(true);
	uint64_t at_ns = 1000;

	for (int i = 0; i < 24; i++) {
		const char *calls = script_of("%d c{ g;1000 g;1000 g;%d %d }", (int)at_ns,
					      (int)last_ns, (int)(at_ns + 3000 + last_ns));

		profile_feed(p, calls);
		for (int f = 0; f < 8; f++) {
			const struct row row =
				call_row(ROW_LEAF, 0, at_ns += 50000, 1000, tree_name(f));

			CHECK(!profile_row(p, &row));
		}
		at_ns += 50000;
	}
	return p;
}

/* The median of what is slow in a part of its calls alone is as it was. */
TEST(where_the_time_went_is_named_though_its_median_is_usual)
{
	check_beyond(third_call(1000), third_call(30000),
		     "beyond that: g (P50 +0.0 %, mean +966.6 %), c (P50 +725.0 %)");
}

/* Eight functions that are the same, and @name: @short_cnt calls of @short_ns, @long_cnt of @long_ns. */
static struct profile *two_sorts_of(const char *name, int short_cnt, uint64_t short_ns,
				    int long_cnt, uint64_t long_ns)
{
	struct profile *p = new_profile(true);
	uint64_t at_ns = 0;

	for (int i = 0; i < 20 * 8 + short_cnt + long_cnt; i++) {
		const int of_it = i - 20 * 8;
		const uint64_t ns = of_it < 0 ? 1000 : of_it < short_cnt ? short_ns : long_ns;
		const struct row row = call_row(ROW_LEAF, 0, at_ns += 200000, ns,
						of_it < 0 ? tree_name(i / 20) : name);

		CHECK(!profile_row(p, &row));
	}
	return p;
}

static struct profile *two_sorts(int short_cnt, uint64_t short_ns, int long_cnt, uint64_t long_ns)
{
	return two_sorts_of("f", short_cnt, short_ns, long_cnt, long_ns);
}

/* The median of calls of two sorts says nothing of those that it is not one of. */
TEST(mean_is_said_where_the_median_misleads)
{
	/* new calls that take long are nearly half of all, and the other half took less */
	check_beyond(two_sorts(40, 5000, 0, 0), two_sorts(41, 3500, 39, 80000),
		     "beyond that: f (80 calls for 40, P50 -30.0 %, mean +715.9 %)");
	/* by much more than the median, and by as much */
	check_beyond(two_sorts(40, 5000, 0, 0), two_sorts(21, 15000, 19, 100000),
		     "beyond that: f (P50 +200.0 %, mean +1007.5 %)");
	check_beyond(two_sorts(40, 5000, 0, 0), two_sorts(21, 15000, 19, 20000),
		     "beyond that: f (P50 +200.0 %)");
}

/* The median of what is slow in a half, a quarter or a tenth of the calls is as it was. */
TEST(a_part_of_the_calls_that_moved_is_named)
{
	check_beyond(two_sorts(200, 5000, 0, 0), two_sorts(101, 5000, 99, 40000),
		     "beyond that: f (P75 5.000 -> 40.000 us, mean +346.5 %)");
	check_beyond(two_sorts(200, 5000, 0, 0), two_sorts(150, 5000, 50, 40000),
		     "beyond that: f (P90 5.000 -> 40.000 us, mean +175.0 %)");
	check_beyond(two_sorts(200, 5000, 0, 0), two_sorts(180, 5000, 20, 40000),
		     "beyond that: f (P95 5.000 -> 40.000 us, mean +70.0 %)");
	check_beyond(two_sorts(150, 5000, 50, 40000), two_sorts(200, 5000, 0, 0),
		     "beyond that: f (P90 40.000 -> 5.000 us, mean -63.6 %)");
	/* less often, less long, or of so few that it may be chance */
	check_beyond(two_sorts(200, 5000, 0, 0), two_sorts(192, 5000, 8, 40000),
		     "beyond that: nothing");
	check_beyond(two_sorts(200, 5000, 0, 0), two_sorts(150, 5000, 50, 14000),
		     "beyond that: nothing");
	check_beyond(two_sorts(36, 5000, 0, 0), two_sorts(30, 5000, 6, 40000),
		     "beyond that: nothing");
	/* the percentile moved, but hardly more calls are slow */
	check_beyond(two_sorts(181, 5000, 19, 40000), two_sorts(178, 5000, 22, 40000),
		     "beyond that: nothing");
}

static void check_waits(struct profile *a, struct profile *b, bool is_said)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL };
	char *text;

	finish_sides(&diff, a, b);
	text = text_of(&diff);
	CHECK(!strstr(text, "\n# sk_wait_data waits for the peer's data: netfgraph diff --by stage "
			    "A B shows ") == !is_said);
	CHECK(strstr(text, "; beyond that: sk_wait_data (") || !is_said);
	free(text);
	free_profiles();
}

/* Where the packets were that a reader waited for, another table says. */
TEST(where_packets_waited_is_in_the_stages)
{
	const char *name = "sk_wait_data";

	check_waits(two_sorts_of(name, 40, 20000, 0, 0), two_sorts_of(name, 40, 80000, 0, 0), true);
	check_waits(two_sorts_of(name, 40, 80000, 0, 0), two_sorts_of(name, 40, 20000, 0, 0), true);
	check_waits(two_sorts_of(name, 99, 20000, 0, 0), two_sorts_of(name, 69, 20000, 30, 160000),
		    true);
	/* the same, oftener, and another function */
	check_waits(two_sorts_of(name, 40, 20000, 0, 0), two_sorts_of(name, 40, 20000, 0, 0),
		    false);
	check_waits(two_sorts_of(name, 40, 20000, 0, 0), two_sorts_of(name, 90, 20000, 0, 0),
		    false);
	check_waits(two_sorts(40, 20000, 0, 0), two_sorts(40, 80000, 0, 0), false);
}

/*
 * Nine functions of about @ns a call, of which one call in ten takes up to 30 times as long, and a sleep of 10 ms. @part: of f3,
 * one call of so many takes longer by 10 times @ns; 0: none.
 */
static struct profile *with_tails(uint64_t ns, uint32_t part)
{
	struct profile *p = new_profile(true);
	uint64_t at_ns = 0;

	for (int i = 0; i < 10 * 200; i++) {
		const int f = i % 10;
		struct row row = call_row(ROW_LEAF, 0, at_ns += 50000000,
					  ns + random_below((uint32_t)ns / 4), tree_name(f));

		if (!random_below(10))
			row.duration_ns *= 2 + random_below(29);
		if (f == 3 && part && !random_below(part))
			row.duration_ns += 10 * ns;
		if (f == 9)
			row.duration_ns = 10000000;
		CHECK(!profile_row(p, &row));
	}
	return p;
}

/* A percentile at the beginning of scattered calls is none that moved, also where the host is twice or half as fast. */
TEST(a_part_of_the_calls_is_told_from_scatter)
{
	for (int i = 0; i < 100; i++) {
		const uint64_t b_ns = 2000 << i % 3;

		check_beyond(with_tails(4000, 0), with_tails(b_ns, 0), "beyond that: nothing");
	}
	for (int i = 0; i < 100; i++) {
		const uint64_t b_ns = 2000 << i % 3;
		struct profile_diff diff = { .sort = PROFILE_BY_TOTAL };
		char *text;

		finish_sides(&diff, with_tails(4000, 0), with_tails(b_ns, 3));
		text = text_of(&diff);
		CHECK(strstr(text, "beyond that: f3 (P75 "));
		free(text);
		free_profiles();
	}
}

TEST(functions_and_calls_that_differ)
{
	struct profile_diff diff = { .sort = PROFILE_BY_NAME };
	char *text;

	make_sides(&diff);
	text = text_of(&diff);
	CHECK(strstr(text, "# A: a.rec, 2.000000 s, 8 calls\n"));
	CHECK(strstr(text, "# B: b\\x1b, 1.000000 s, 8 calls; it lacks events"));
	CHECK(strstr(text, "# counts and totals in all, sorted by name\n"));
	CHECK(strstr(text,
		     "\n 4 2 -50.0% 4.000 2.000 -50.0% 1.000 1.000 +0.0% 1.000 1.000 +0.0% f\n"));
	CHECK(strstr(
		text,
		"\n 4 4 +0.0% 0.400 1.200 +200.0% 0.100 0.300 +200.0% 0.100 0.300 +200.0% g\n"));
	CHECK(strstr(text,
		     "\n 0 1 - 0.000 1.000 - - 1.000 - - 1.000 - h (new, not traced in A)\n"));
	CHECK(strstr(text, "\n 0 1 - 0.000 1.000 - - 1.000 - - 1.000 - k (new)\n"));
	CHECK(strstr(text, " COUNT TOTAL us CALLS IN B ALONE\n 1 0.300 h -> g\n"));
	CHECK(strstr(text, " 1 1.000 (outermost) -> h\n") && strstr(text, " 1 0.300 k -> g\n"));
	CHECK(!strstr(text, "CALLS IN A ALONE") && !strstr(text, "f -> g"));
	free(text);
}

/* What a softirq of A interrupted seems to be faster in B, where the softirq had a task of its own. */
TEST(what_ran_inside_others_is_named)
{
	struct profile_diff diff = { .sort = PROFILE_BY_NAME };
	struct profile *a = new_profile(true);
	struct profile *b = new_profile(true);
	char *text;

	add_calls(a, 1000, 4, "send", "softirq", 700);
	add_calls(b, 1000, 1, "send", "softirq", 700);
	for (int i = 0; i < 3; i++)
		profile_feed(b, script_of("%d softirq;700", 100000 + 10000 * i));
	finish_sides(&diff, a, b);
	text = text_of(&diff);
	CHECK(strstr(
		text,
		"\n# inside other calls ran softirq: 100 % of its calls in A, 25 % in B. "
		"TOTAL and P50 of these other calls have its time, SELF (--sort self) does not\n"));
	free(text);
	make_sides(&diff);
	text = text_of(&diff);
	CHECK(!strstr(text, "inside other calls")); /* another caller is none of that */
	free(text);
}

TEST(per_second_and_the_other_way_round)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL,
				     .is_per_second = true,
				     .row_max = 1 };
	struct profile_side a;
	char *text;

	make_sides(&diff);
	a = diff.sides[0];
	diff.sides[0] = diff.sides[1];
	diff.sides[1] = a;
	text = text_of(&diff);
	CHECK(strstr(text, "# counts and totals per second, sorted by change of total\n"));
	/* g, h and k change by 1 us a second each */
	CHECK(strstr(
		text,
		"\n 4.0 2.0 -50.0% 1.200 0.200 -83.3% 0.300 0.100 -66.7% 0.300 0.100 -66.7% g\n"));
	CHECK(strstr(text, " and 3 more\n"));
	CHECK(strstr(text, "CALLS IN A ALONE\n 1.0 0.300 h -> g\n and 3 more\n"));
	free(text);
}

static void check_first(enum profile_sort sort, const char *want)
{
	struct profile_diff diff = { .sort = sort };
	char *line;
	char *text;

	make_sides(&diff);
	text = text_of(&diff);
	line = strstr(text, "FUNCTION\n") + 9;
	line[strcspn(line, "\n(")] = 0;
	if (line[strlen(line) - 1] == ' ')
		line[strlen(line) - 1] = 0;
	CHECK_STR(strrchr(line, ' ') + 1, want);
	free(text);
}

TEST(the_greatest_change_comes_first)
{
	check_first(PROFILE_BY_TOTAL, "f");
	check_first(PROFILE_BY_COUNT, "f");
	check_first(PROFILE_BY_P50, "h");
	check_first(PROFILE_BY_P99, "h");
	check_first(PROFILE_BY_SELF, "f");
	check_first(PROFILE_BY_AVG, "h");
	check_first(PROFILE_BY_MAX, "h");
	check_first(PROFILE_BY_NAME, "f");
}

#define NO_NET                                                             \
	"\"net_total_ns\":[null,null],\"net_total_error_ns\":[null,null]," \
	"\"net_self_ns\":[null,null],\"net_self_error_ns\":[null,null],"   \
	"\"net_p50_ns\":[null,null],\"few_calls\":[0,0],\"beyond_usual\":false,"
#define NET_TITLES                                                                 \
	"net_total_ns_a,net_total_ns_b,net_total_error_ns_a,net_total_error_ns_b," \
	"net_self_ns_a,net_self_ns_b,net_self_error_ns_a,net_self_error_ns_b,"     \
	"net_p50_ns_a,net_p50_ns_b,few_calls_a,few_calls_b,beyond_usual,"

TEST(differences_as_json)
{
	struct profile_diff diff = { .is_per_second = true, .row_max = 1 };
	struct strbuf out = { 0 };

	make_sides(&diff);
	CHECK(!profile_diff_json(&diff, &out));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "\"a\":{\"file\":\"a.rec\",\"length_ns\":2000000000,\"calls\":8,"
			      "\"lacks_events\":false}"));
	CHECK(strstr(out.ptr,
		     "{\"func\":\"g\",\"module\":null,\"count\":[4,4],\"total_ns\":[400,1200],"
		     "\"self_ns\":[400,1200],\"avg_ns\":[100,300],\"p50_ns\":[100,300],"
		     "\"p99_ns\":[100,300],\"max_ns\":[100,300]," NO_NET
		     "\"traced\":[true,true]}"));
	CHECK(strstr(out.ptr, "\"total_ns\":[4000,2000],\"self_ns\":[3600,1400],"));
	CHECK(strstr(out.ptr, "\"func\":\"h\"") && strstr(out.ptr, "\"traced\":[false,true]"));
	CHECK(strstr(out.ptr,
		     "{\"caller\":\"h\",\"caller_module\":null,\"func\":\"g\",\"module\":null,"
		     "\"count\":1,\"total_ns\":300}"));
	CHECK(strstr(out.ptr, "\"gone_calls\":[]}\n"));
	strbuf_release(&out);
}

TEST(differences_as_rows)
{
	struct profile_diff diff = { .row_max = 2, .sort = PROFILE_BY_NAME };
	struct strbuf out = { 0 };

	make_sides(&diff);
	CHECK(!profile_diff_put(&diff, &(struct tablew){ .out = &out, .form = TABLE_CSV }));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr,
		     "file_a,file_b,length_ns_a,length_ns_b,lacks_events_a,lacks_events_b,func,"
		     "module,count_a,count_b,total_ns_a,total_ns_b,self_ns_a,self_ns_b,avg_ns_a,"
		     "avg_ns_b,p50_ns_a,p50_ns_b,p99_ns_a,p99_ns_b,max_ns_a,max_ns_b," NET_TITLES
		     "traced_a,traced_b\na.rec,b\\x1b,2000000000,1000000000,false,true,") ==
	      out.ptr);
	CHECK(strstr(out.ptr, ",f,,4,2,4000,2000,3600,1400,1000,1000,"));
	CHECK(strstr(out.ptr, ",g,,4,4,400,1200,400,1200,100,300,100,300,100,300,100,300,,,,,,"
			      ",,,,,0,0,false,true,true\n"));
	CHECK(!strstr(out.ptr, ",h,"));
	strbuf_reset(&out);
	diff.row_max = 0;
	CHECK(!profile_diff_put(&diff, &(struct tablew){ .out = &out, .form = TABLE_JSON }));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "\"func\":\"h\",\"module\":null,\"count_a\":0,"));
	CHECK(strstr(out.ptr, "\"self_ns_a\":0,") && strstr(out.ptr, "\"avg_ns_a\":null,"));
	CHECK(strstr(out.ptr, "\"p50_ns_a\":null,") && strstr(out.ptr, "\"traced_a\":false,"));
	strbuf_release(&out);
}

TEST(nothing_differs_from_nothing)
{
	struct profile_diff diff = { .sides = { { .path = "a" }, { .path = "b" } } };
	char *text;

	diff.sides[0].profile = new_profile(true);
	diff.sides[1].profile = new_profile(true);
	text = text_of(&diff);
	CHECK(strstr(text, "# A: a, of unknown length, 0 calls\n"));
	free(text);
}

/* Calls of f that take 50 and 100 ns, and of g that take 2; @cost: NULL: not known. */
static struct profile *net_side(const struct netcost *cost)
{
	struct row_list list = rows_of("1000 f;50 2000 f;100 3000 g;2");
	struct profile *p = new_profile(true);

	for (size_t i = 0; i < list.cnt; i++) {
		list.rows[i].net = netcost_net(cost, list.rows[i].duration_ns, 0);
		CHECK(!profile_row(p, &list.rows[i]));
	}
	profile_finish(p);
	return p;
}

TEST(net_durations_of_both_sides)
{
	const struct netcost cheap = { .inner_ns = 8, .outer_ns = 7, .error_ns = 2 };
	const struct netcost dear = { .inner_ns = 40, .outer_ns = 7, .error_ns = 5 };
	struct profile_diff diff = { .sides = { { .path = "a" }, { .path = "b" } } };
	struct strbuf out = { 0 };
	char *text;

	diff.sides[0].profile = net_side(&cheap);
	diff.sides[1].profile = net_side(&dear);
	text = text_of(&diff);
	CHECK(strstr(text, " NET P50 us A NET P50 us B CHANGE FUNCTION\n"));
	CHECK(strstr(text, " 0.042 0.010 -76.2% f\n"));
	CHECK(strstr(text, " <0.002 <0.005 - g\n"));
	free(text);
	diff.sort = PROFILE_BY_NET;
	text = text_of(&diff);
	CHECK(strstr(text, " NET us A NET us B CHANGE FUNCTION\n"));
	CHECK(strstr(text, " 0.134 0.070 -47.8% f\n"));
	CHECK(strstr(text, " <0.002 <0.005 - g\n"));
	free(text);
	diff.sort = PROFILE_BY_P99;
	text = text_of(&diff);
	CHECK(!strstr(text, "NET") && strstr(text, " P99 us B CHANGE FUNCTION\n"));
	free(text);
	CHECK(!profile_diff_json(&diff, &out));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "\"net_total_ns\":[134,70],\"net_total_error_ns\":[4,10],"));
	CHECK(strstr(out.ptr, "\"net_total_ns\":[null,null],\"net_total_error_ns\":[2,5],"));
	CHECK(strstr(out.ptr, "\"net_p50_ns\":[42,10],\"few_calls\":[0,0],"));
	strbuf_release(&out);
	/* a side that does not know them */
	diff.sort = PROFILE_BY_TOTAL;
	diff.sides[1].profile = net_side(NULL);
	text = text_of(&diff);
	CHECK(!strstr(text, "NET"));
	free(text);
	diff.sort = PROFILE_BY_NET;
	text = text_of(&diff);
	CHECK(strstr(text, " 0.134 - - f\n"));
	free(text);
}

/* So many calls of f of 1 us, some that take longer, and one of @one_ns; 0: without. */
static struct profile *side_with_one(unsigned int cnt, unsigned int long_cnt, uint64_t long_ns,
				     uint64_t one_ns)
{
	struct profile *p = new_profile(true);
	uint64_t at_ns = 1000;

	for (unsigned int i = 0; i < cnt + long_cnt + (one_ns != 0); i++) {
		const uint64_t ns = i < cnt ? 1000 : i < cnt + long_cnt ? long_ns : one_ns;
		struct row row = call_row(ROW_LEAF, 0, at_ns, ns, "f");

		CHECK(!profile_row(p, &row));
		at_ns += ns + 10;
	}
	profile_finish(p);
	return p;
}

static struct profile *side_of(unsigned int cnt, unsigned int long_cnt, uint64_t long_ns)
{
	return side_with_one(cnt, long_cnt, long_ns, 0);
}

static void check_few(struct profile *a, struct profile *b, const char *want)
{
	struct profile_diff diff = { .sides = { { .path = "a", .profile = a },
						{ .path = "b", .profile = b } } };
	char *text = text_of(&diff);
	const char *at = strstr(text, " f");

	if (!at || strncmp(at + 2, want, strlen(want)) != 0)
		printf("%s", text);
	CHECK(at && !strncmp(at + 2, want, strlen(want)) && at[2 + strlen(want)] == '\n');
	free(text);
	free_profiles();
}

/* What one call or a hundredth of them did is not said of the function. */
TEST(few_calls_are_no_change_of_a_function)
{
	check_few(side_of(1000, 0, 0), side_of(999, 1, 4800000),
		  " (mostly 1 call of 4800.000 us in B)");
	check_few(side_of(999, 1, 4800000), side_of(1000, 0, 0),
		  " (mostly 1 call of 4800.000 us in A)");
	check_few(side_of(1000, 0, 0), side_of(990, 10, 100000),
		  " (mostly 6 calls of up to 100.000 us in B)");
	check_few(side_of(1000, 0, 0), side_of(900, 100, 100000), "");
	check_few(side_of(1000, 0, 0), side_of(0, 1000, 2000), "");
	check_few(side_of(1000, 0, 0), side_of(999, 1, 50000), ""); /* 5 % */
	check_few(side_of(1000, 0, 0), side_of(8, 1, 4800000), ""); /* of 9 calls, one counts */
	/* what is twice as slow without them is no few calls'; a few more may be needed for that */
	check_few(side_of(1000, 0, 0), side_with_one(800, 200, 6500, 4800000), "");
	check_few(side_of(1000, 0, 0), side_with_one(800, 200, 5500, 4800000),
		  " (mostly 1 call of 4800.000 us in B)");
	check_few(side_of(1000, 0, 0), side_of(991, 9, 500000),
		  " (mostly 7 calls of up to 500.000 us in B)");
}
