/* Where events are missing the graph makes nothing up: no duration, no nesting, no leaf. */
#include "trace/graph.h"
#include "graphrows.h"
#include "harness.h"

/* No loss is reported, but two calls cannot have the same frame. */
TEST_ONE(graph_an_entry_ends_what_stood_in_its_place,
	 check_graph(
		 "500 c98{ 1000 a90{ 1050 c80{ 2000 a90{ 2100 }a90 3000 b90{ 3100 }b90 3200 }c98",
		 "0:gamma{\n0:.alpha{\n0:..gamma{\n0:.alpha; 100\n0:.beta; 100\n0:} 2700\n",
		 "pairs 3 unclosed 2"));

/* An interrupt's stack may have the same low bits. */
TEST_ONE(graph_an_interrupts_call_may_stand_in_the_same_place,
	 check_graph("100 a90{ 110 b60{ 120 c95{ 130 c90{ 131 } 140 } 150 } 160 }",
		     "0:alpha{\n0:.beta{\n0:..gamma{\n0:...gamma; 1\n0:..} 20\n0:.} 40\n0:} 60\n",
		     "pairs 4"));

/* Even that of an open call that is not the innermost one: by fentry another function tells it, by kprobe nothing has to. */
TEST_ONE(graph_an_interrupts_call_may_have_the_frame_of_an_open_one,
	 check_graph("100 a90{ 110 b80{ 120 a60{ 130 c80{ 140 c70{ 141 } 150 } 160 } 170 } 180 }",
		     "0:alpha{\n0:.beta{\n0:..alpha{\n0:...gamma{\n0:....gamma; 1\n"
		     "0:...} 20\n0:..} 40\n0:.} 60\n0:} 80\n",
		     "pairs 5"),
	 check_graph("100 a91{ 110 b81{ 120 a61{ 130 b81{ 140 c71{ 141 } 150 } 160 } 170 } 180 }",
		     "0:alpha{\n0:.beta{\n0:..alpha{\n0:...beta{\n0:....gamma; 1\n"
		     "0:...} 20\n0:..} 40\n0:.} 60\n0:} 80\n",
		     "pairs 5"));

/*
 * At first the return of the first alpha and the entry of the second are skipped; then both calls within the doubt.
 * Another task is not concerned.
 */
TEST_ONE(graph_doubt_leaves_no_duration,
	 check_graph(
		 "1000 a90{ 1010 doubt 1020 sure 10001000 }a90 "
		 "20000000 cpu1 tid8 c70{ 20000010 cpu0 tid7 doubt 20000020 a90{ +5 b80{ +5 }a90 "
		 "20000035 b80{ 20000040 sure 20000050 }b80 20000060 cpu1 tid8 }c70 "
		 "20000070 cpu0 tid7 a90{ 20000071 }a90",
		 "0:alpha{\n0:}alpha ?\n1:gamma; 60\n0:alpha{\n0:beta{\n0:}alpha ?\n0:beta{\n"
		 "0:}beta ?\n0:alpha; 1\n",
		 "pairs 2 unsure 3 unclosed 1"));

/* The interrupted call goes on, and is no leaf. */
TEST_ONE(graph_a_torn_interrupt_cuts_nothing_off,
	 check_graph("100 a{ 110 b{ 120 torn5 130 } 140 b{ 150 } 4000 } 5000 torn2",
		     "0:alpha{\n0:.beta{\n0:LOST 5\n0:.} 20\n0:.beta; 10\n0:} 3900\n0:LOST 2\n",
		     "pairs 3"));

/* Not even when the task was forgotten meanwhile. */
TEST(graph_calls_no_return_behind_a_doubt_early)
{
	start_graph(0);
	feed("10 doubt 20 sure");
	for (int tid = 100; tid < 3000; tid++)
		feed("%d tid%d a{ }", 100 + 2 * tid, tid);
	feed("9000 tid7 }a");
	end_graph(NULL, "pairs 2900 orphans 1");
}

TEST_ONE(graph_a_loss_restarts_the_tree,
	 check_graph("1000 a90{ 1100 b3000{ 1500 lost2 2000 a6000{ 2100 }a6000",
		     "0:alpha{\n0:.beta{\n0:LOST 2\n0:alpha; 100\n", "pairs 1 unclosed 2"));

/* Nor is a tracepoint shown inside calls whose returns may be among what was lost. */
TEST_ONE(graph_a_tracepoint_after_a_loss_is_in_no_call,
	 check_graph("1000 a90{ 1100 b3000{ 1500 lost2 2000 point0 2050 a6000{ 2100 }a6000",
		     "0:alpha{\n0:.beta{\n0:LOST 2\n0:kfree_skb!\n0:alpha; 50\n",
		     "pairs 1 unclosed 2"));

/* A gap on one CPU concerns all tasks while it lasts: any of them may have run there. */
TEST_ONE(graph_a_gap_concerns_every_task,
	 check_graph("100 cpu1 tid8 a90{ 110 cpu0 tid7 a90{ 120 gap 130 cpu1 tid8 b80{ 140 }b80 "
		     "145 cpu2 tid9 c50{ 150 cpu0 lost2 160 cpu2 }c50 170 cpu1 tid8 }a90 "
		     "180 cpu0 tid7 }a90 190 cpu1 tid8 a90{ 191 }a90",
		     "1:alpha{\n0:alpha{\n1:beta{\n1:}beta ?\n2:gamma{\n0:LOST 2\n2:}gamma ?\n"
		     "1:}alpha ?\n0:}alpha ?\n1:alpha; 1\n",
		     "pairs 1 unsure 4"));

TEST_ONE(graph_a_gap_is_over_when_the_last_one_is,
	 check_graph("10 gap 20 cpu1 gap 25 gap 30 cpu0 lost1 40 cpu2 a{ 50 } 60 cpu1 lost1 "
		     "70 cpu2 a{ 71 }",
		     "0:LOST 1\n2:alpha{\n2:}alpha ?\n1:LOST 1\n2:alpha; 1\n", "pairs 1 unsure 1"));

/* A return without an entry reveals a loss as well. */
TEST_ONE(graph_an_orphan_leaves_no_duration_around_it,
	 check_graph("100 a90{ 110 }b80 120 }a90", "0:alpha{\n0:}beta ?\n0:}alpha ?\n",
		     "unsure 1 orphans 1"));

/* Also when the sleep is longer than the time. */
TEST_ONE(graph_a_clock_that_goes_back_leaves_no_duration,
	 check_graph("5000 a{ 100 } 200 a{ 300 } 400 out 9400 in 9500 a{ 600 } 700 out 50 in",
		     "0:alpha{\n0:}alpha ?\n0:alpha; 100\n0:alpha{\n0:}alpha ?\n",
		     "pairs 1 unsure 2"));

TEST(graph_no_stack_is_deeper_than_a_stack)
{
	start_graph(0);
	for (int i = 0; i < 30000; i++)
		feed("%d a%d{", i, 60000 - i);
	for (int i = 30000; i-- > 0;)
		feed("%d }a%d", 90000 - i, 60000 - i);
	graph_finish(g);
	for (const char *line = rows(); *line; line = strchr(line, '\n') + 1)
		CHECK(strcspn(line, "\n") < CALLSTACK_DEPTH_MAX + 20);
	CHECK(CALLSTACK_DEPTH_MAX == 512);
	end_graph(NULL, "pairs 512 deep 29488 deep-returns 29488");
}

/* Whatever frames a file has: when there are more stacks than a CPU can have, old calls have ended. */
TEST(graph_calls_lie_on_few_stacks)
{
	start_graph(0);
	for (int i = 0; i < 5000; i++)
		feed("%d a%d{", i, i * 8);
	graph_finish(g);
	CHECK(!strstr(rows(), ".....alpha"));
	CHECK(graph_stats_get(g)->pairs.unclosed_cnt + graph_stats_get(g)->open_cnt == 5000);
	graph_free(g);
}

/* A call that made calls on another CPU is no leaf, although its own CPU saw nothing between entry and return. */
TEST_ONE(graph_a_leaf_has_no_children_elsewhere,
	 check_graph("100 a{ 110 cpu1 b{ 120 } 130 cpu0 }", "0:alpha{\n1:.beta; 10\n0:} 30\n",
		     "pairs 2"));

/* Losses without end cost nothing but themselves. */
TEST(graph_survives_many_losses_with_many_tasks)
{
	start_graph(0);
	for (int i = 0; i < 60000; i++)
		feed("%d tid%d a2000{", i, i + 1);
	for (int i = 0; i < 200000; i++)
		feed("%d gap %d lost1", 70000 + i, 70000 + i);
	for (int i = 0; i < 60000; i++)
		feed("%d tid%d }a2000", 300000 + i, i + 1);
	end_graph(NULL, "unsure 60000");
}
