/* The graph from scripts of events: which calls it pairs and folds, how it names them, and which values and sleep they have. */
#include "trace/graph.h"

#include <malloc.h>

#include "graphrows.h"
#include "harness.h"

TEST_ONE(graph_folds_a_leaf_and_nests_its_caller,
	 check_graph("100 a{ 110 b{ 115 } 130 }", "0:alpha{\n0:.beta; 5\n0:} 30\n", "pairs 2"));
TEST_ONE(graph_does_not_fold_across_another_event_of_the_cpu,
	 check_graph("100 a{ 105 tid8 b{ 106 } 130 tid7 }",
		     "0:alpha{\n0:7=>8\n0:beta; 1\n0:8=>7\n0:}alpha 30\n", "pairs 2"));
TEST_ONE(graph_folds_a_leaf_while_another_cpu_goes_on,
	 check_graph("100 a{ 101 cpu1 tid8 b{ 102 } 130 cpu0 tid7 }", "0:alpha; 30\n1:beta; 1\n",
		     "pairs 2"));
TEST_ONE(graph_names_the_closing_after_migration,
	 check_graph("100 a{ 110 b{ 4110 cpu1 } 4120 }",
		     "0:alpha{\n0:.beta{\n1:.}beta 4000\n1:}alpha 4020\n", "pairs 2"));
TEST_ONE(graph_keeps_each_cpus_idle_task_apart,
	 check_graph("100 tid0 a{ 101 cpu1 a{ 102 cpu0 b{ 103 } 104 } 109 cpu1 }",
		     "0:alpha{\n1:alpha; 8\n0:.beta; 1\n0:} 4\n", "pairs 3"));
TEST_ONE(graph_pairs_recursion_by_frame,
	 check_graph("100 a90{ 110 a80{ 120 }a80 130 }a90", "0:alpha{\n0:.alpha; 10\n0:} 30\n",
		     "pairs 2"));

/* Where frames are the places of return addresses, they are odd: a function that is jumped to has its caller's. */
TEST_ONE(graph_nests_a_tail_call,
	 check_graph("100 a91{ 110 b91{ 115 c81{ 116 } 120 } 130 } 140 b91{ 150 }",
		     "0:alpha{\n0:.beta{\n0:..gamma; 1\n0:.} 10\n0:} 30\n0:beta; 10\n", "pairs 4"));

/* What lies below the place of a new call is over, though its return was not seen. */
TEST_ONE(graph_ends_what_lies_below_a_tail_call,
	 check_graph("100 a91{ 110 c80{ 115 b91{ 120 }b91 130 }a91", NULL, "pairs 2 unclosed 1"));

TEST_ONE(graph_drops_returns_of_calls_older_than_the_trace,
	 check_graph("100 }a90 110 b80{ 115 }", "0:beta; 5\n", "pairs 1 early 1"));
TEST_ONE(graph_names_a_return_whose_entry_was_lost,
	 check_graph("99 lost17 100 }a", "0:LOST 17\n0:}alpha ?\n", "orphans 1"));
TEST_ONE(graph_a_loss_between_entry_and_return_leaves_no_duration,
	 check_graph("100 a{ 105 lost2 110 }", "0:alpha{\n0:LOST 2\n0:}alpha ?\n", "unsure 1"));

TEST(graph_a_lost_return_does_not_shift_what_follows)
{
	/* beta's return is lost, then alpha's; the next call stands as high as alpha did */
	check_graph("100 a90{ 110 b80{ 150 lost2 200 c90{ 201 }",
		    "0:alpha{\n0:.beta{\n0:LOST 2\n0:gamma; 1\n", "pairs 1 unclosed 2");
}

TEST_ONE(graph_a_return_closes_what_it_belongs_to_over_a_lost_one,
	 check_graph("100 a{ 110 b{ 120 lost1 130 }a", "0:alpha{\n0:.beta{\n0:LOST 1\n0:}alpha ?\n",
		     "unsure 1 unclosed 1"));
TEST_ONE(graph_depth_limit_hides_calls_and_folds_their_caller, start_graph(1),
	 feed("100 a{ 110 b{ 115 } 130 }"), end_graph("0:alpha; 30\n", "pairs 2"));
TEST_ONE(graph_open_calls_stay_open_at_the_end,
	 check_graph("100 a{ 110 b{", "0:alpha{\n0:.beta{\n", "open 2"));

TEST(graph_release_prints_what_waited_too_long)
{
	start_graph(0);
	feed("100 a{ 101 cpu1 tid8 b{");
	graph_release(g, 101);
	CHECK_STR(rows(), "0:alpha{\n");
	feed("103 } 500 cpu0 tid7 }");
	end_graph("0:alpha{\n1:beta; 2\n0:} 400\n", "pairs 2");
}

TEST(graph_survives_many_rows_behind_one_that_waits)
{
	start_graph(0);
	feed("1 a{");
	for (int i = 0; i < 200000; i++)
		feed("%d cpu1 tid8 b50{ }b50", 10 + 2 * i);
	feed("900000 cpu0 tid7 }");
	graph_finish(g);
	CHECK(graph_stats_get(g)->row_cnt == 200002);
	CHECK(!strncmp(rows(), "0:alpha{\n1:beta; 1\n", 19));
	graph_free(g);
}

TEST(graph_has_room_for_every_tid)
{
	start_graph(0);
	for (int tid = 1; tid <= 4194304; tid += 1021)
		feed("%d tid%d a90{", tid, tid);
	for (int tid = 1; tid <= 4194304; tid += 1021)
		feed("%d tid%d }a90", 5000000 + tid, tid);
	end_graph(NULL, "pairs 4109");
}

/* A host that forks: memory does not grow with tasks, and no task inside a call is forgotten. */
TEST(graph_forgets_tasks_but_no_open_call)
{
	struct mallinfo2 before = { 0 };

	start_graph(0);
	feed("5 lost1 10 tid1 a90{ 20 cpu1 tid2 a90{");
	for (int tid = 3; tid < 300000; tid++) {
		feed("%d cpu%d tid%d b80{ +5 }", 1000 + 10 * (tid - 3), tid % 4, tid);
		strbuf_reset(&text);
		if (tid == 10000)
			before = mallinfo2();
	}
	CHECK(mallinfo2().uordblks < before.uordblks + (1u << 20));
	graph_release(g, 3000970);
	strbuf_reset(&text);
	feed("3000970 cpu2 tid2 }a90 cpu0 tid1 }a90");
	graph_finish(g);
	CHECK(strstr(rows(), "}alpha 3000950\n") && strstr(rows(), "}alpha 3000961\n"));
	end_graph(NULL, "pairs 299999");
}

TEST_ONE(graph_refuses_unknown_functions_and_cpus, check_graph("1 d90{ 2 cpu9 a90{", "", "bad 2"));

TEST(graph_deep_closings_have_no_automatic_name)
{
	/* the kernel remembers 50 depths (FTRACE_RETFUNC_DEPTH) */
	start_graph(0);
	for (int i = 0; i < 52; i++)
		feed("%d a%d{", i, 900 - i);
	feed("101 cpu1 } } 200 }");
	graph_finish(g);
	CHECK(strstr(rows(), "}\n") || strstr(text.ptr, "} "));
	CHECK(strstr(text.ptr, ".}alpha"));
	graph_free(g);
}

/* Two tasks, so that there is a banner. */
TEST_ONE(graph_leaves_the_comms_of_every_row_empty,
	 check_graph("100 a{ 110 b{ 115 } 130 } 140 tid8 b{ 150 }",
		     "0:alpha{\n0:.beta; 5\n0:} 30\n0:7=>8\n0:beta; 10\n", "pairs 3"));

/* ---- values ---- */

TEST_ONE(graph_rows_have_the_numbers_of_their_values,
	 check_graph("100 v1 a{ 110 v2 b{ 115 v3 } 116 c{ 117 v4 } 118 v5 c{ 119 } 130 v6 }",
		     "0:alpha{ v1\n0:.beta; 5 v2 ^3\n0:.gamma; 1 ^4\n0:.gamma; 1 v5\n0:} 30 ^6\n",
		     "pairs 4"));
TEST_ONE(graph_other_rows_have_no_values,
	 check_graph("100 v1 a{ 105 v8 lost2 106 tid8 v2 b{ 107 v3 } 110 tid7 v4 }",
		     "0:alpha{ v1\n0:LOST 2\n0:7=>8\n0:beta; 1 v2 ^3\n0:8=>7\n0:}alpha ? ^4\n",
		     "pairs 1 unsure 1"));
TEST_ONE(graph_a_return_without_its_entry_has_its_result,
	 check_graph("99 lost17 100 v5 }a", "0:LOST 17\n0:}alpha ? ^5\n", "orphans 1"));
TEST_ONE(graph_values_of_hidden_calls_are_in_no_row, start_graph(1),
	 feed("100 v1 a{ 110 v2 b{ 115 v3 } 130 v4 }"),
	 end_graph("0:alpha; 30 v1 ^4\n", "pairs 2"));

TEST(graph_values_stay_with_rows_that_wait)
{
	start_graph(0);
	/* the first entry waits on its CPU while the queue grows behind it */
	feed("1 v1 a{");
	for (int i = 0; i < 10000; i++)
		feed("%d cpu1 tid8 v%d b50{ v%d }b50", 10 + 2 * i, 2 * i + 10, 2 * i + 11);
	feed("900000 cpu0 tid7 v2 }");
	graph_finish(g);
	CHECK(!strncmp(rows(), "0:alpha; 899999 v1 ^2\n1:beta; 1 v10 ^11\n1:beta; 1 v12 ^13\n",
		       58));
	CHECK(strstr(text.ptr, "\n1:beta; 1 v20008 ^20009\n"));
	graph_free(g);
}

/* ---- sleep ---- */

/* As with the kernel's sleep-time option off: no open call counts the sleep. */
TEST_ONE(graph_takes_sleep_off_every_open_call,
	 check_graph("100 a{ 110 b{ 120 out 5120 in 5125 } 5130 c{ 5137 } 5140 }",
		     "0:alpha{\n0:.beta; 15 slept 5000\n0:.gamma; 7\n0:} 40\n", "pairs 3"));

TEST_ONE(graph_takes_sleep_off_across_cpus_and_other_tasks,
	 check_graph("100 a{ 110 out 111 tid8 in 120 b{ 130 out 1110 cpu1 tid7 in 1115 } "
		     "2130 cpu0 tid8 in 2140 }",
		     "0:alpha{\n0:7=>8\n0:beta; 20 slept 2000\n1:}alpha 15\n", "pairs 2"));

/* A task that sleeps when the trace begins, or when it ends, is no reason for a warning. */
TEST_ONE(graph_is_sure_of_calls_between_half_sleeps,
	 check_graph("90 in 100 a{ 107 } 110 out", "0:alpha; 7\n", "pairs 1"));

/* The thread number of a task that ended asleep is reused: the sleep does not belong to the new task. */
TEST_ONE(graph_keeps_a_dead_tasks_sleep_from_its_number,
	 check_graph("100 a{ 107 } 110 out 9000 cpu1 in 9010 a{ 9013 }", "0:alpha; 7\n1:alpha; 3\n",
		     "pairs 2"));

/* Even when no loss is reported: the leaving is missing, then the coming. */
TEST(graph_knows_no_duration_with_a_sleep_of_unknown_length)
{
	start_graph(0);
	feed("100 a90{ 1110 in 1111 b80{ 1112 } 1115 }a90");
	CHECK(graph_stats_get(g)->pairs.unsure_cnt == 1);
	feed("2000 a{ 2010 out 3015 } 3020 a{ 3025 }");
	end_graph("0:alpha{\n0:beta; 1\n0:}alpha ?\n0:alpha{\n0:}alpha ?\n0:alpha; 5\n",
		  "pairs 2 unsure 2");
}

/* So that formats with times still know when a leaf returned. */
TEST_ONE(graph_tells_how_long_a_leaf_slept,
	 check_graph("90 b{ 99 } 100 a{ 110 out 1110 in 1115 }",
		     "0:beta; 9\n0:alpha; 15 slept 1000\n", "pairs 2"),
	 CHECK(leaf_begin_ns == 100));

/* As in the kernel's text, a function in which an event happened is no leaf. */
TEST_ONE(
	graph_tracepoints_are_between_calls,
	check_graph(
		"100 point0 110 a{ 120 point0 130 b{ 140 } 150 b{ 155 point1 160 } 170 } 180 point1",
		"0:kfree_skb!\n0:alpha{\n0:.kfree_skb!\n0:.beta; 10\n0:.beta{\n0:..sched_switch!\n"
		"0:.} 10\n0:} 60\n0:sched_switch!\n",
		"pairs 3"));

/* The call was entered on another CPU; an unknown tracepoint is counted. */
TEST_ONE(graph_tracepoints_follow_their_task,
	 check_graph("100 a{ 110 cpu1 point1 120 } 130 point2",
		     "0:alpha{\n1:.sched_switch!\n1:}alpha 20\n", "pairs 1 bad 1"));

TEST_ONE(graph_tracepoints_deeper_than_the_limit_are_shown_at_it, start_graph(1),
	 feed("100 a{ 110 b{ 120 c{ 130 point0 140 } 150 } 160 }"),
	 end_graph("0:alpha{\n0:.kfree_skb!\n0:} 60\n", "pairs 3"));

/* ---- net durations ---- */

static const struct netcost test_cost = { .inner_ns = 5, .outer_ns = 4, .error_ns = 2 };

/* Of alpha, 45 for beta and for the four below it, and 5 of its own. */
TEST(graph_net_is_without_calls_at_all_levels)
{
	graph_cost = test_cost;
	check_graph(
		"100 a90{ 110 b80{ 115 c70{ 122 }c70 130 c70{ 137 }c70 140 c70{ 147 }c70 160 }b80"
		" 170 c80{ 176 }c80 200 }a90",
		"0:alpha{\n0:.beta{\n0:..gamma; 7 net 2\n0:..gamma; 7 net 2\n0:..gamma; 7 net 2\n"
		"0:.} 50 net 18\n0:.gamma; 6 net <2\n0:} 100 net 50\n",
		"pairs 6");
}

TEST(graph_net_counts_calls_too_deep_to_be_shown)
{
	graph_cost = test_cost;
	start_graph(1);
	feed("100 a{ 110 b{ 115 } 130 }");
	end_graph("0:alpha; 30 net 16\n", "pairs 2");
}

/* Its cost is in what the migrated task's call took. */
TEST(graph_net_counts_calls_on_other_cpus)
{
	graph_cost = test_cost;
	check_graph("100 a{ 110 b{ 4110 cpu1 } 4120 }",
		    "0:alpha{\n0:.beta{\n1:.}beta 4000 net 3995\n1:}alpha 4020 net 4006\n",
		    "pairs 2");
}

TEST(graph_net_is_not_of_what_has_no_duration)
{
	graph_cost = test_cost;
	check_graph("100 a{ 105 lost2 110 } 120 b{ 150 }",
		    "0:alpha{\n0:LOST 2\n0:}alpha ?\n0:beta; 30 net 25\n", "pairs 1 unsure 1");
}

TEST(graph_net_may_become_known)
{
	start_graph(0);
	feed("100 a{ 110 }");
	graph_cost = test_cost;
	feed("120 a{ 130 }");
	end_graph("0:alpha; 10\n0:alpha; 10 net 5\n", "pairs 2");
}
