/* What -G, -g and --slower-than let through. Functions: p is plain, o opens, c closes. */
#include "trace/starts.h"
#include "harness.h"
#include "script.h"

static const uint8_t kinds[] = { STARTS_PLAIN, STARTS_OPEN, STARTS_CLOSE };

static struct starts *st;

AT_END(starts_free(st));

static void start_with(struct starts_config config)
{
	config.kinds = kinds;
	config.func_cnt = 3;
	script_begin("poc");
	CHECK(!starts_new(&st, &config));
}

static void start(bool has_starts, uint64_t slower_ns)
{
	start_with((struct starts_config){ .has_starts = has_starts, .want.slower_ns = slower_ns });
}

/* What a script lets through, as words. */
static const char *shown(const char *script)
{
	struct event all[64];
	const struct event *out;
	size_t all_cnt = 0;
	size_t cnt;

	SCRIPT_EACH(script, ev) {
		CHECK(!starts_feed(st, ev, 1, &out, &cnt) && all_cnt + cnt <= 64);
		if (cnt)
			memcpy(all + all_cnt, out, cnt * sizeof(*out));
		all_cnt += cnt;
	}
	return script_text(all, all_cnt);
}

static void check_stats(uint64_t start_cnt, uint64_t shown_cnt, uint64_t broken_cnt)
{
	const struct starts_stats *stats = starts_stats_get(st);

	CHECK(stats->start_cnt == start_cnt && stats->shown_cnt == shown_cnt);
	CHECK(stats->broken_cnt == broken_cnt);
}

TEST(roots_open_the_graph)
{
	start(true, 0);
	/* tid6: another task, outside of any root */
	CHECK_STR(shown("p{ o{ p{ tid6 p{ } tid7 } } p{ } }"), "o{ p{ }p }o");
	CHECK(starts_stats_get(st)->begun_cnt == 1);
	check_stats(1, 1, 0);
}

TEST_ONE(roots_may_recur, start(true, 0),
	 CHECK_STR(shown("o{ o{ } p{ } } p{"), "o{ o{ }o p{ }p }o"));
TEST_ONE(roots_shut_what_is_not_wanted, start(false, 0),
	 CHECK_STR(shown("p{ c{ p{ } } p{ } }"), "p{ p{ }p }p"));

TEST(roots_shut_within_a_root)
{
	start(true, 0);
	CHECK_STR(shown("o{ c{ o{ } } }"), "o{ }o"); /* below a shut one nothing opens */
}

TEST(roots_that_are_quick_are_not_shown)
{
	start(true, 5);
	CHECK_STR(shown("o{ p{ tid6 o{ } tid7 }"), ""); /* that of tid6 took 1 ns */
	CHECK_STR(shown("}"), "o{ p{ }p }o");           /* took 5 ns */
	check_stats(2, 1, 0);
}

/* Each event takes 1 ns. From when it is known, what tracing added to the call and to the one below does not count. */
TEST(roots_that_are_slow_without_the_cost)
{
	struct netcost cost = { 0 };

	start_with(
		(struct starts_config){ .has_starts = true, .want.slower_ns = 800, .cost = &cost });
	CHECK_STR(shown("o{ +900 p{ } }"), "o{ p{ }p }o");
	cost = (struct netcost){ .inner_ns = 5, .outer_ns = 95, .error_ns = 1 };
	CHECK_STR(shown("o{ +890 p{ } }"), ""); /* 105 ns less */
	CHECK_STR(shown("o{ +910 p{ } }"), "o{ p{ }p }o");
	CHECK_STR(shown("o{ +800 p{ } p{ } }"), "");
}

/* Sleep does not make a call slow, even inside a hidden call. Switch events pass together with the calls. */
TEST_ONE(roots_that_sleep_are_quick_without_the_sleep, start(true, 100),
	 CHECK_STR(shown("o{ c{ out +1000 in } }"), ""),
	 CHECK_STR(shown("out +1000 in o{ +100 out +1000 in }"), "o{ out in }o"));

TEST_ONE(roots_without_g_are_outermost_calls, start(false, 3),
	 CHECK_STR(shown("p{ p{ } } p{ }"), "p{ p{ }p }p"));
TEST_ONE(roots_that_succeed_are_not_shown,
	 start_with((struct starts_config){ .has_starts = true, .marked_only = true }),
	 CHECK_STR(shown("o{ }"), ""), CHECK_STR(shown("o{ p{ } }/m"), "o{ p{ }p }o"));
TEST_ONE(roots_begin_anew_after_a_loss, start(true, 0),
	 CHECK_STR(shown("o90{ lost3 p90{ } o90{ }"), "o{ lost3 o{ }o"), check_stats(1, 1, 1));

/* With -g alone a loss hides nothing: the next call begins a graph. */
TEST_ONE(roots_without_g_are_not_cut_off, start(false, 0),
	 CHECK_STR(shown("p{ lost3 p{ }"), "p{ lost3 p{ }p"),
	 CHECK(!starts_stats_get(st)->broken_cnt));

/* Two quick calls, and what is missing is the return of one and the entry of the other; then all of it while something may be. */
TEST(roots_that_a_gap_separates_are_not_slow)
{
	start(true, 100);
	CHECK_STR(shown("o{ cpu3 gap lost0 cpu0 +1000 } "
			"cpu3 gap cpu0 o{ +1000 } tid6 o{ cpu3 lost0 cpu0 +1000 }"),
		  "gap lost0 gap lost0");
	CHECK(!starts_stats_get(st)->start_cnt && starts_stats_get(st)->broken_cnt == 3);
	CHECK_STR(shown("tid7 o{ +1000 }"), "o{ }o");
	check_stats(1, 1, 3);
}

/* But for that of the other task. */
TEST_ONE(roots_in_doubt_are_not_slow, start(true, 100),
	 CHECK_STR(shown("o{ tid6 o{ tid7 doubt o{ sure +1000 } } tid6 }"), "doubt sure o{ }o"),
	 check_stats(1, 1, 2));

TEST_ONE(roots_with_a_torn_interrupt_are_slow, start(true, 100),
	 CHECK_STR(shown("o{ torn3 +1000 }"), "torn3 o{ }o"), check_stats(1, 1, 0));

/* How many calls are open, and slow, @after_ns after the first of them began; *first: of its events. */
static size_t open_after(uint64_t after_ns, size_t *first_cnt)
{
	struct starts_open *open;
	uint64_t begin_ns;
	size_t cnt;

	CHECK(!starts_open_calls(st, UINT64_MAX / 2, &open, &cnt) && cnt);
	begin_ns = open[0].events[0].time_ns;
	free(open);
	CHECK(!starts_open_calls(st, begin_ns + after_ns, &open, &cnt));
	*first_cnt = cnt ? open[0].cnt : 0;
	CHECK(!cnt || (open[0].took_ns <= after_ns && open[0].events[0].func_id == 1));
	free(open);
	return cnt;
}

TEST(roots_that_do_not_return_are_slow)
{
	size_t event_cnt;

	start(true, 100);
	CHECK_STR(shown("p{ o{ p{ } tid6 +1000 o{ tid7 p{"), "");
	CHECK(open_after(99, &event_cnt) == 0);
	CHECK(open_after(100, &event_cnt) == 1 && event_cnt == 4);
	CHECK(open_after(1200, &event_cnt) == 2 && event_cnt == 4);
	CHECK_STR(shown("} +1000 }"), "o{ p{ }p p{ }p }o"); /* as it returns */
	CHECK(open_after(99, &event_cnt) == 0);             /* the other one */
}

TEST(roots_that_sleep_are_open_without_the_sleep)
{
	size_t event_cnt;

	start(true, 100);
	CHECK_STR(shown("o{ out +1000 in"), "");
	CHECK(open_after(1000, &event_cnt) == 0);
	CHECK(open_after(1200, &event_cnt) == 1 && event_cnt == 3);
}

/* Their returns may be among what is missing; and those of which only the result tells are not known either. */
TEST(roots_that_may_have_returned_are_not_open)
{
	struct starts_open *open;
	size_t cnt;

	start(true, 100);
	CHECK_STR(shown("o{ lost3"), "lost3");
	CHECK(!starts_open_calls(st, UINT64_MAX / 2, &open, &cnt) && !cnt);
	free(open);
	starts_free(st);
	start_with((struct starts_config){
		.has_starts = true, .marked_only = true, .want.slower_ns = 100 });
	CHECK_STR(shown("o{"), "");
	CHECK(!starts_open_calls(st, UINT64_MAX / 2, &open, &cnt) && !cnt);
	free(open);
}

/* The first call's return is missing without a report; the second call has the same frame. */
TEST_ONE(roots_end_when_another_call_stands_in_their_place, start(true, 100),
	 CHECK_STR(shown("o90{ +1000 o90{ }"), ""), check_stats(1, 0, 1));

TEST(roots_forget_tasks_but_no_root)
{
	start(true, 100);
	CHECK_STR(shown("tid9999999 o{"), "");
	for (int tid = 1; tid < 20000; tid++)
		CHECK_STR(shown(script_of("tid%d o{ }", tid)), "");

	CHECK_STR(shown("tid9999999 }"), "o{ }o");
}

TEST_ONE(roots_keep_each_cpus_idle_task_apart, start(true, 0),
	 CHECK_STR(shown("tid0 o{ cpu1 p{"), "o{"));

TEST(roots_hold_many_tasks)
{
	start(true, 1000000);
	for (int tid = 1; tid < 5000; tid++)
		shown(script_of("tid%d o90{", tid));

	shown("+2ms sure");
	for (int tid = 1; tid < 40; tid++)
		shown(script_of("tid%d }o90", tid));

	CHECK(starts_stats_get(st)->shown_cnt == 39);
}

TEST(tracepoints_are_shown_below_start_functions)
{
	start(true, 0);
	CHECK_STR(shown("point0 p{ point1 o{ point2 p{ point3 } } point4 }"),
		  "o{ point2 p{ point3 }p }o");
}

TEST(a_tracepoint_may_be_shown_outside_start_functions)
{
	start(true, 0);
	starts_let_point(st, 1);
	CHECK_STR(shown("point0 point1 p{ point1 o{ point2 } } point4"),
		  "point1 point1 o{ point2 }o");
}

TEST(tracepoints_below_a_closed_function_are_not_shown)
{
	start(false, 0);
	CHECK_STR(shown("point0 p{ point1 c{ point2 } } point3"), "point0 p{ point1 }p point3");
}

/* They wait for the return, as the calls do. */
TEST(tracepoints_of_fast_calls_are_not_shown)
{
	start(true, 100);
	CHECK_STR(shown("10 o{ point0 +50 } +10 o{ point1 +500 }"), "o{ point1 }o");
}
