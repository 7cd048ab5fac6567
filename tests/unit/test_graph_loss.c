/* Where events are missing the graph makes nothing up: no duration, no nesting, no leaf. */
#include "trace/graph.h"

#include <string.h>

#include "graphrows.h"
#include "harness.h"

static struct event gap(uint64_t time_ns, uint32_t cpu)
{
	return (struct event){ .time_ns = time_ns, .cpu = cpu, .kind = EVENT_GAP };
}

/* ---- what must not be made up where events are missing ---- */

/* No loss is reported, but two calls cannot have the same frame. */
TEST(graph_an_entry_ends_what_stood_in_its_place)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(500, 0, 7, C, 98), entry(1000, 0, 7, A, 90), entry(1050, 0, 7, C, 80),
	     entry(2000, 0, 7, A, 90), leave(2100, 0, 7, A, 90), entry(3000, 0, 7, B, 90),
	     leave(3100, 0, 7, B, 90), leave(3200, 0, 7, C, 98));
	graph_finish(g);
	CHECK_STR(rows(),
		  "0:gamma{\n0:.alpha{\n0:..gamma{\n0:.alpha; 100\n0:.beta; 100\n0:} 2700\n");
	CHECK(PAIRS(g)->unclosed_cnt == 2 && PAIRS(g)->pair_cnt == 3);
	graph_free(g);
}

/* An interrupt's stack may have the same low bits. */
TEST(graph_an_interrupts_call_may_stand_in_the_same_place)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 60), entry(120, 0, 7, C, 95),
	     entry(130, 0, 7, C, 90), leave(131, 0, 7, C, 90), leave(140, 0, 7, C, 95),
	     leave(150, 0, 7, B, 60), leave(160, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(),
		  "0:alpha{\n0:.beta{\n0:..gamma{\n0:...gamma; 1\n0:..} 20\n0:.} 40\n0:} 60\n");
	CHECK(PAIRS(g)->pair_cnt == 4);
	graph_free(g);
}

/* Even that of an open call that is not the innermost one: by fentry another function tells it, by kprobe nothing has to. */
TEST(graph_an_interrupts_call_may_have_the_frame_of_an_open_one)
{
	for (uint16_t odd = 0; odd < 2; odd++) {
		struct graph *g = start_graph(0);
		uint16_t func = odd ? B : C;

		text.len = 0;
		FEED(g, entry(100, 0, 7, A, 90 + odd), entry(110, 0, 7, B, 80 + odd),
		     entry(120, 0, 7, A, 60 + odd), entry(130, 0, 7, func, 80 + odd),
		     entry(140, 0, 7, C, 70 + odd), leave(141, 0, 7, C, 70 + odd),
		     leave(150, 0, 7, func, 80 + odd), leave(160, 0, 7, A, 60 + odd),
		     leave(170, 0, 7, B, 80 + odd), leave(180, 0, 7, A, 90 + odd));
		graph_finish(g);
		CHECK_STR(rows(), odd ? "0:alpha{\n0:.beta{\n0:..alpha{\n0:...beta{\n0:....gamma; "
					"1\n0:...} 20\n0:..} 40\n0:.} 60\n0:} 80\n"
				      : "0:alpha{\n0:.beta{\n0:..alpha{\n0:...gamma{\n0:....gamma; "
					"1\n0:...} 20\n0:..} 40\n0:.} 60\n0:} 80\n");
		CHECK(PAIRS(g)->pair_cnt == 5 && !PAIRS(g)->unclosed_cnt);
		graph_free(g);
	}
}

TEST(graph_doubt_leaves_no_duration)
{
	struct graph *g = start_graph(0);

	/* the return of the first alpha and the entry of the second are skipped */
	FEED(g, entry(1000, 0, 7, A, 90), change(1010, 0, 7, EVENT_DOUBT),
	     change(1020, 0, 7, EVENT_SURE), leave(10001000, 0, 7, A, 90));
	/* both calls within it; another task is not concerned */
	FEED(g, entry(20000000, 1, 8, C, 70), change(20000010, 0, 7, EVENT_DOUBT),
	     entry(20000020, 0, 7, A, 90), entry(20000025, 0, 7, B, 80),
	     leave(20000030, 0, 7, A, 90), entry(20000035, 0, 7, B, 80),
	     change(20000040, 0, 7, EVENT_SURE), leave(20000050, 0, 7, B, 80),
	     leave(20000060, 1, 8, C, 70), entry(20000070, 0, 7, A, 90),
	     leave(20000071, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:}alpha ?\n1:gamma; 60\n0:alpha{\n0:beta{\n0:}alpha ?\n"
			  "0:beta{\n0:}beta ?\n0:alpha; 1\n");
	CHECK(PAIRS(g)->unsure_cnt == 3 && PAIRS(g)->unclosed_cnt == 1 && PAIRS(g)->pair_cnt == 2);
	graph_free(g);
}

static struct event torn(uint64_t time_ns, uint32_t cpu, uint64_t cnt)
{
	struct event ev = lost(time_ns, cpu, cnt);

	ev.kind = EVENT_TORN;
	return ev;
}

/* The interrupted call goes on, and is no leaf. */
TEST(graph_a_torn_interrupt_cuts_nothing_off)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), torn(120, 0, 5),
	     leave(130, 0, 7, B, 80), entry(140, 0, 7, B, 80), leave(150, 0, 7, B, 80),
	     leave(4000, 0, 7, A, 90), torn(5000, 0, 2));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:LOST 5\n0:.} 20\n0:.beta; 10\n0:} 3900\n"
			  "0:LOST 2\n");
	CHECK(PAIRS(g)->pair_cnt == 3);
	graph_free(g);
}

/* Not even when the task was forgotten meanwhile. */
TEST(graph_calls_no_return_behind_a_doubt_early)
{
	struct graph *g = start_graph(0);

	FEED(g, change(10, 0, 7, EVENT_DOUBT), change(20, 0, 7, EVENT_SURE));
	for (uint32_t tid = 100; tid < 3000; tid++)
		FEED(g, entry(100 + 2 * tid, 0, tid, A, 90), leave(101 + 2 * tid, 0, tid, A, 90));
	FEED(g, leave(9000, 0, 7, A, 90));
	graph_finish(g);
	CHECK(PAIRS(g)->orphan_cnt == 1 && !PAIRS(g)->early_return_cnt);
	graph_free(g);
}

TEST(graph_a_loss_restarts_the_tree)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(1000, 0, 7, A, 90), entry(1100, 0, 7, B, 3000), lost(1500, 0, 2),
	     entry(2000, 0, 7, A, 6000), leave(2100, 0, 7, A, 6000));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:LOST 2\n0:alpha; 100\n");
	graph_free(g);
}

/* A gap on one CPU concerns all tasks while it lasts: any of them may have run there. */
TEST(graph_a_gap_concerns_every_task)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 1, 8, A, 90), entry(110, 0, 7, A, 90), gap(120, 0),
	     entry(130, 1, 8, B, 80), leave(140, 1, 8, B, 80), entry(145, 2, 9, C, 50),
	     lost(150, 0, 2), leave(160, 2, 9, C, 50), leave(170, 1, 8, A, 90),
	     leave(180, 0, 7, A, 90), entry(190, 1, 8, A, 90), leave(191, 1, 8, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "1:alpha{\n0:alpha{\n1:beta{\n1:}beta ?\n2:gamma{\n0:LOST 2\n"
			  "2:}gamma ?\n1:}alpha ?\n0:}alpha ?\n1:alpha; 1\n");
	CHECK(PAIRS(g)->unsure_cnt == 4 && PAIRS(g)->pair_cnt == 1);
	graph_free(g);
}

TEST(graph_a_gap_is_over_when_the_last_one_is)
{
	struct graph *g = start_graph(0);

	FEED(g, gap(10, 0), gap(20, 1), gap(25, 1), lost(30, 0, 1), entry(40, 2, 7, A, 90),
	     leave(50, 2, 7, A, 90), lost(60, 1, 1), entry(70, 2, 7, A, 90),
	     leave(71, 2, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:LOST 1\n2:alpha{\n2:}alpha ?\n1:LOST 1\n2:alpha; 1\n");
	graph_free(g);
}

/* A return without an entry reveals a loss as well. */
TEST(graph_an_orphan_leaves_no_duration_around_it)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), leave(110, 0, 7, B, 80), leave(120, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:}beta ?\n0:}alpha ?\n");
	CHECK(PAIRS(g)->orphan_cnt == 1 && PAIRS(g)->unsure_cnt == 1);
	graph_free(g);
}

TEST(graph_a_clock_that_goes_back_leaves_no_duration)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(5000, 0, 7, A, 90), leave(100, 0, 7, A, 90), entry(200, 0, 7, A, 90),
	     leave(300, 0, 7, A, 90));
	/* also when the sleep is longer than the time */
	FEED(g, change(400, 0, 7, EVENT_OUT), change(9400, 0, 7, EVENT_IN),
	     entry(9500, 0, 7, A, 90), leave(600, 0, 7, A, 90), change(700, 0, 7, EVENT_OUT),
	     change(50, 0, 7, EVENT_IN));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:}alpha ?\n0:alpha; 100\n0:alpha{\n0:}alpha ?\n");
	CHECK(PAIRS(g)->unsure_cnt == 2);
	graph_free(g);
}

TEST(graph_no_stack_is_deeper_than_a_stack)
{
	struct graph *g = start_graph(0);
	uint32_t max_len = 0;

	for (uint32_t i = 0; i < 30000; i++)
		FEED(g, entry(i, 0, 7, A, (uint16_t)(60000 - i)));
	for (uint32_t i = 30000; i-- > 0;)
		FEED(g, leave(90000 - i, 0, 7, A, (uint16_t)(60000 - i)));
	graph_finish(g);
	CHECK(PAIRS(g)->deep_cnt == 30000 - CALLSTACK_DEPTH_MAX);
	CHECK(PAIRS(g)->deep_return_cnt == 30000 - CALLSTACK_DEPTH_MAX);
	CHECK(PAIRS(g)->pair_cnt == CALLSTACK_DEPTH_MAX && !graph_stats_get(g)->open_cnt);
	for (const char *line = rows(); *line; line = strchr(line, '\n') + 1) {
		uint32_t len = (uint32_t)strcspn(line, "\n");

		max_len = len > max_len ? len : max_len;
	}
	CHECK(max_len < CALLSTACK_DEPTH_MAX + 20);
	graph_free(g);
}

/* Whatever frames a file has: when there are more stacks than a CPU can have, old calls have ended. */
TEST(graph_calls_lie_on_few_stacks)
{
	struct graph *g = start_graph(0);

	for (uint32_t i = 0; i < 5000; i++)
		FEED(g, entry(i, 0, 7, A, (uint16_t)(i * 8)));
	graph_finish(g);
	CHECK(!strstr(rows(), ".....alpha"));
	CHECK(PAIRS(g)->unclosed_cnt + graph_stats_get(g)->open_cnt == 5000);
	graph_free(g);
}

/*
 * A call that made calls on another CPU is no leaf, although its own CPU saw nothing between entry
 * and return.
 */
TEST(graph_a_leaf_has_no_children_elsewhere)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 1, 7, B, 80), leave(120, 1, 7, B, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n1:.beta; 10\n0:} 30\n");
	graph_free(g);
}

/* Losses without end cost nothing but themselves. */
TEST(graph_survives_many_losses_with_many_tasks)
{
	struct graph *g = start_graph(0);

	for (uint32_t i = 0; i < 60000; i++)
		FEED(g, entry(i, 0, i + 1, A, 2000));
	for (uint32_t i = 0; i < 200000; i++)
		FEED(g, gap(70000 + i, 0), lost(70000 + i, 0, 1));
	for (uint32_t i = 0; i < 60000; i++)
		FEED(g, leave(300000 + i, 0, i + 1, A, 2000));
	graph_finish(g);
	CHECK(PAIRS(g)->unsure_cnt == 60000 && !PAIRS(g)->pair_cnt);
	graph_free(g);
}
