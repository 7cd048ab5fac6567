/* Values and sleep: each stands at the row it belongs to, and no call counts another's sleep. */
#include "trace/graph.h"

#include <string.h>

#include "graphrows.h"
#include "harness.h"
#include "base/strbuf.h"

static struct event with_values(struct event ev, uint32_t values)
{
	ev.values = values;
	return ev;
}

static void values_row(void *ctx, struct row *row)
{
	static const char *const kinds[] = { "entry", "leaf", "return" };

	(void)ctx;
	if (row->kind > ROW_RETURN)
		strbuf_printf(&text, "%s %u %u\n", row->kind == ROW_LOST ? "lost" : "banner",
			      row->entry_values, row->exit_values);
	else
		strbuf_printf(&text, "%s %u: %u %u\n", kinds[row->kind], row->func_id,
			      row->entry_values, row->exit_values);
	/* what the callee writes into a row is not in the next one */
	CHECK(!row->args.len && !row->note.len);
	row->args = row->note = (struct text){ "left", 4 };
	row->entry_values = row->exit_values = 99;
}

static struct graph *start_with_values(uint32_t depth_max)
{
	const struct graph_config config = {
		.functab = &tab, .cpu_cnt = 4, .depth_max = depth_max, .emit = values_row
	};
	struct graph *g;

	CHECK(!graph_new(&g, &config));
	return g;
}

TEST(graph_rows_have_the_numbers_of_their_values)
{
	struct graph *g = start_with_values(0);

	FEED(g, with_values(entry(100, 0, 7, A, 90), 1), with_values(entry(110, 0, 7, B, 80), 2),
	     with_values(leave(115, 0, 7, B, 80), 3), entry(116, 0, 7, C, 80),
	     with_values(leave(117, 0, 7, C, 80), 4), with_values(entry(118, 0, 7, C, 80), 5),
	     leave(119, 0, 7, C, 80), with_values(leave(130, 0, 7, A, 90), 6));
	graph_finish(g);
	CHECK_STR(rows(), "entry 0: 1 0\nleaf 1: 2 3\nleaf 2: 0 4\nleaf 2: 5 0\nreturn 0: 0 6\n");
	graph_free(g);
}

TEST(graph_other_rows_have_no_values)
{
	struct graph *g = start_with_values(0);

	FEED(g, with_values(entry(100, 0, 7, A, 90), 1), with_values(lost(105, 0, 2), 8),
	     with_values(entry(106, 0, 8, B, 80), 2), with_values(leave(107, 0, 8, B, 80), 3),
	     with_values(leave(110, 0, 7, A, 90), 4));
	graph_finish(g);
	CHECK_STR(rows(), "entry 0: 1 0\nlost 0 0\nbanner 0 0\nleaf 1: 2 3\nbanner 0 0\n"
			  "return 0: 0 4\n");
	graph_free(g);
}

TEST(graph_a_return_without_its_entry_has_its_result)
{
	struct graph *g = start_with_values(0);

	FEED(g, lost(99, 0, 17), with_values(leave(100, 0, 7, A, 90), 5));
	graph_finish(g);
	CHECK_STR(rows(), "lost 0 0\nreturn 0: 0 5\n");
	graph_free(g);
}

TEST(graph_values_of_hidden_calls_are_in_no_row)
{
	struct graph *g = start_with_values(1);

	FEED(g, with_values(entry(100, 0, 7, A, 90), 1), with_values(entry(110, 0, 7, B, 80), 2),
	     with_values(leave(115, 0, 7, B, 80), 3), with_values(leave(130, 0, 7, A, 90), 4));
	graph_finish(g);
	CHECK_STR(rows(), "leaf 0: 1 4\n");
	graph_free(g);
}

TEST(graph_values_stay_with_rows_that_wait)
{
	struct graph *g = start_with_values(0);

	/* the first entry waits on its CPU while the queue grows behind it */
	FEED(g, with_values(entry(1, 0, 7, A, 90), 1));
	for (uint32_t i = 0; i < 10000; i++)
		FEED(g, with_values(entry(10 + 2 * i, 1, 8, B, 50), 2 * i + 10),
		     with_values(leave(11 + 2 * i, 1, 8, B, 50), 2 * i + 11));
	FEED(g, with_values(leave(900000, 0, 7, A, 90), 2));
	graph_finish(g);
	CHECK(!strncmp(rows(), "leaf 0: 1 2\nleaf 1: 10 11\nleaf 1: 12 13\n", 40));
	CHECK(strstr(text.ptr, "\nleaf 1: 20008 20009\n"));
	graph_free(g);
}

/* As with the kernel's sleep-time option off: no open call counts the sleep. */
TEST(graph_takes_sleep_off_every_open_call)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), change(120, 0, 7, EVENT_OUT),
	     change(5120, 0, 7, EVENT_IN), leave(5125, 0, 7, B, 80), entry(5130, 0, 7, C, 80),
	     leave(5137, 0, 7, C, 80), leave(5140, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta; 15\n0:.gamma; 7\n0:} 40\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt && graph_stats_get(g)->call_cnt == 3);
	graph_free(g);
}

TEST(graph_takes_sleep_off_across_cpus_and_other_tasks)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), change(110, 0, 7, EVENT_OUT), change(111, 0, 8, EVENT_IN),
	     entry(120, 0, 8, B, 50), change(130, 0, 8, EVENT_OUT), change(1110, 1, 7, EVENT_IN),
	     leave(1115, 1, 7, A, 90), change(2130, 0, 8, EVENT_IN), leave(2140, 0, 8, B, 50));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:7=>8\n0:beta; 20\n1:}alpha 15\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt);
	graph_free(g);
}

/* A task that sleeps when the trace begins, or when it ends, is no reason for a warning. */
TEST(graph_is_sure_of_calls_between_half_sleeps)
{
	struct graph *g = start_graph(0);

	FEED(g, change(90, 0, 7, EVENT_IN), entry(100, 0, 7, A, 90), leave(107, 0, 7, A, 90),
	     change(110, 0, 7, EVENT_OUT));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 7\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt);
	graph_free(g);
}

/* The thread number of a task that ended asleep is reused: the sleep does not belong to the new task. */
TEST(graph_keeps_a_dead_tasks_sleep_from_its_number)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), leave(107, 0, 7, A, 90), change(110, 0, 7, EVENT_OUT),
	     change(9000, 1, 7, EVENT_IN), entry(9010, 1, 7, A, 90), leave(9013, 1, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 7\n1:alpha; 3\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt);
	graph_free(g);
}

/* Even when no loss is reported. */
TEST(graph_knows_no_duration_with_a_sleep_of_unknown_length)
{
	struct graph *g = start_graph(0);

	/* the leaving is missing */
	FEED(g, entry(100, 0, 7, A, 90), change(1110, 0, 7, EVENT_IN), entry(1111, 0, 7, B, 80),
	     leave(1112, 0, 7, B, 80), leave(1115, 0, 7, A, 90));
	CHECK(PAIRS(g)->unsure_cnt == 1);
	/* the coming is missing */
	FEED(g, entry(2000, 0, 7, A, 90), change(2010, 0, 7, EVENT_OUT), leave(3015, 0, 7, A, 90),
	     entry(3020, 0, 7, A, 90), leave(3025, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:beta; 1\n0:}alpha ?\n0:alpha{\n0:}alpha ?\n0:alpha; 5\n");
	CHECK(PAIRS(g)->unsure_cnt == 2 && PAIRS(g)->pair_cnt == 2);
	graph_free(g);
}

static void leaf_row(void *ctx, struct row *row)
{
	if (row->kind == ROW_LEAF)
		*(struct row *)ctx = *row;
}

/* So that formats with times still know when a leaf returned. */
TEST(graph_tells_how_long_a_leaf_slept)
{
	struct row leaf = { .kind = ROW_OTHER };
	const struct graph_config config = {
		.functab = &tab, .cpu_cnt = 4, .emit = leaf_row, .ctx = &leaf
	};
	struct graph *g;

	CHECK(!graph_new(&g, &config));
	FEED(g, entry(90, 0, 7, B, 90), leave(99, 0, 7, B, 90), entry(100, 0, 7, A, 90),
	     change(110, 0, 7, EVENT_OUT), change(1110, 0, 7, EVENT_IN), leave(1115, 0, 7, A, 90));
	graph_finish(g);
	CHECK(leaf.time_ns == 100 && leaf.duration_ns == 15 && leaf.slept_ns == 1000);
	graph_free(g);
}
