/* The graph from arrays of events: which calls it pairs and folds, and how it names them. */
#include "trace/graph.h"

#include <malloc.h>
#include <string.h>

#include "graphrows.h"
#include "harness.h"
#include "base/strbuf.h"

TEST(graph_folds_a_leaf_and_nests_its_caller)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta; 5\n0:} 30\n");
	CHECK(graph_stats_get(g)->open_cnt == 0);
	graph_free(g);
}

TEST(graph_does_not_fold_across_another_event_of_the_cpu)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(105, 0, 8, B, 50), leave(106, 0, 8, B, 50),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:7=>8\n0:beta; 1\n0:8=>7\n0:}alpha 30\n");
	graph_free(g);
}

TEST(graph_folds_a_leaf_while_another_cpu_goes_on)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(101, 1, 8, B, 50), leave(102, 1, 8, B, 50),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 30\n1:beta; 1\n");
	graph_free(g);
}

TEST(graph_names_the_closing_after_migration)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(4110, 1, 7, B, 80),
	     leave(4120, 1, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n1:.}beta 4000\n1:}alpha 4020\n");
	graph_free(g);
}

TEST(graph_keeps_each_cpus_idle_task_apart)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 0, A, 90), entry(101, 1, 0, A, 90), entry(102, 0, 0, B, 80),
	     leave(103, 0, 0, B, 80), leave(104, 0, 0, A, 90), leave(109, 1, 0, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n1:alpha; 8\n0:.beta; 1\n0:} 4\n");
	graph_free(g);
}

TEST(graph_pairs_recursion_by_frame)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, A, 80), leave(120, 0, 7, A, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.alpha; 10\n0:} 30\n");
	graph_free(g);
}

/* Where frames are the places of return addresses, they are odd: a function that is jumped to has its caller's. */
TEST(graph_nests_a_tail_call)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 91), entry(110, 0, 7, B, 91), entry(115, 0, 7, C, 81),
	     leave(116, 0, 7, C, 81), leave(120, 0, 7, B, 91), leave(130, 0, 7, A, 91),
	     entry(140, 0, 7, B, 91), leave(150, 0, 7, B, 91));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:..gamma; 1\n0:.} 10\n0:} 30\n0:beta; 10\n");
	CHECK(PAIRS(g)->pair_cnt == 4 && !PAIRS(g)->unclosed_cnt);
	graph_free(g);
}

/* What lies below the place of a new call is over, though its return was not seen. */
TEST(graph_ends_what_lies_below_a_tail_call)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 91), entry(110, 0, 7, C, 80), entry(115, 0, 7, B, 91),
	     leave(120, 0, 7, B, 91), leave(130, 0, 7, A, 91));
	graph_finish(g);
	CHECK(PAIRS(g)->pair_cnt == 2 && PAIRS(g)->unclosed_cnt == 1);
	graph_free(g);
}

TEST(graph_drops_returns_of_calls_older_than_the_trace)
{
	struct graph *g = start_graph(0);

	FEED(g, leave(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80));
	graph_finish(g);
	CHECK_STR(rows(), "0:beta; 5\n");
	CHECK(graph_stats_get(g)->pairs.early_return_cnt == 1);
	graph_free(g);
}

TEST(graph_names_a_return_whose_entry_was_lost)
{
	struct graph *g = start_graph(0);

	FEED(g, lost(99, 0, 17), leave(100, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:LOST 17\n0:}alpha ?\n");
	CHECK(graph_stats_get(g)->pairs.orphan_cnt == 1);
	graph_free(g);
}

TEST(graph_a_loss_between_entry_and_return_leaves_no_duration)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), lost(105, 0, 2), leave(110, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:LOST 2\n0:}alpha ?\n");
	CHECK(PAIRS(g)->unsure_cnt == 1 && !PAIRS(g)->unclosed_cnt && !PAIRS(g)->pair_cnt);
	graph_free(g);
}

TEST(graph_a_lost_return_does_not_shift_what_follows)
{
	struct graph *g = start_graph(0);

	/* beta's return is lost, then alpha's; the next call stands as high as alpha did */
	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), lost(150, 0, 2),
	     entry(200, 0, 7, C, 90), leave(201, 0, 7, C, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:LOST 2\n0:gamma; 1\n");
	CHECK(graph_stats_get(g)->pairs.unclosed_cnt == 2);
	graph_free(g);
}

TEST(graph_a_return_closes_what_it_belongs_to_over_a_lost_one)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), lost(120, 0, 1),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:LOST 1\n0:}alpha ?\n");
	CHECK(PAIRS(g)->unclosed_cnt == 1 && PAIRS(g)->unsure_cnt == 1);
	graph_free(g);
}

TEST(graph_depth_limit_hides_calls_and_folds_their_caller)
{
	struct graph *g = start_graph(1);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 30\n");
	CHECK(graph_stats_get(g)->call_cnt == 2);
	graph_free(g);
}

TEST(graph_open_calls_stay_open_at_the_end)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n");
	CHECK(graph_stats_get(g)->open_cnt == 2);
	graph_free(g);
}

TEST(graph_release_prints_what_waited_too_long)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(101, 1, 8, B, 50));
	graph_release(g, 101);
	CHECK(text.len == strlen("0:alpha{\n"));
	FEED(g, leave(103, 1, 8, B, 50), leave(500, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n1:beta; 2\n0:} 400\n");
	graph_free(g);
}

TEST(graph_survives_many_rows_behind_one_that_waits)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(1, 0, 7, A, 90));
	for (uint64_t i = 0; i < 200000; i++)
		FEED(g, entry(10 + 2 * i, 1, 8, B, 50), leave(11 + 2 * i, 1, 8, B, 50));
	FEED(g, leave(900000, 0, 7, A, 90));
	graph_finish(g);
	CHECK(graph_stats_get(g)->row_cnt == 200002);
	CHECK(!strncmp(text.ptr, "0:alpha{\n1:beta; 1\n", 19));
	graph_free(g);
}

TEST(graph_has_room_for_every_tid)
{
	struct graph *g = start_graph(0);

	for (uint32_t tid = 1; tid <= 4194304; tid += 1021)
		FEED(g, entry(tid, 0, tid, A, 90));
	for (uint32_t tid = 1; tid <= 4194304; tid += 1021)
		FEED(g, leave(5000000 + tid, 0, tid, A, 90));
	graph_finish(g);
	CHECK(graph_stats_get(g)->open_cnt == 0);
	CHECK(graph_stats_get(g)->pairs.orphan_cnt == 0);
	graph_free(g);
}

/* A host that forks: memory does not grow with tasks, and no task inside a call is forgotten. */
TEST(graph_forgets_tasks_but_no_open_call)
{
	struct graph *g = start_graph(0);
	struct mallinfo2 before;
	struct mallinfo2 after;
	uint64_t time_ns = 1000;

	FEED(g, lost(5, 0, 1), entry(10, 0, 1, A, 90), entry(20, 1, 2, A, 90));
	for (uint32_t tid = 3; tid < 300000; tid++) {
		FEED(g, entry(time_ns, tid % 4, tid, B, 80),
		     leave(time_ns + 5, tid % 4, tid, B, 80));
		time_ns += 10;
		strbuf_reset(&text);
		if (tid == 10000)
			before = mallinfo2();
	}
	after = mallinfo2();
	CHECK(after.uordblks < before.uordblks + (1u << 20));
	graph_release(g, time_ns);
	strbuf_reset(&text);
	FEED(g, leave(time_ns, 2, 2, A, 90), leave(time_ns + 1, 0, 1, A, 90));
	graph_finish(g);
	CHECK(strstr(rows(), "}alpha 3000950\n") && strstr(rows(), "}alpha 3000961\n"));
	CHECK(!graph_stats_get(g)->open_cnt && !graph_stats_get(g)->pairs.orphan_cnt);
	CHECK(graph_stats_get(g)->call_cnt == 2 + 300000 - 3);
	graph_free(g);
}

TEST(graph_refuses_unknown_functions_and_cpus)
{
	struct graph *g = start_graph(0);

	FEED(g, entry(1, 0, 7, 9, 90), entry(2, 9, 7, A, 90));
	graph_finish(g);
	CHECK(graph_stats_get(g)->bad_cnt == 2);
	CHECK(!text.len);
	graph_free(g);
}

TEST(graph_deep_closings_have_no_automatic_name)
{
	/* the kernel remembers 50 depths (FTRACE_RETFUNC_DEPTH) */
	struct graph *g = start_graph(0);

	for (uint16_t i = 0; i < 52; i++)
		FEED(g, entry(i, 0, 7, A, (uint16_t)(900 - i)));
	for (uint16_t i = 52; i-- > 50;)
		FEED(g, leave(100 + 52 - i, 1, 7, A, (uint16_t)(900 - i)));
	FEED(g, leave(200, 1, 7, A, 900 - 49));
	graph_finish(g);
	CHECK(strstr(rows(), "}\n") || strstr(text.ptr, "} "));
	CHECK(strstr(text.ptr, ".}alpha"));
	graph_free(g);
}

static void name_row(void *ctx, struct row *row)
{
	uint64_t *row_cnt = ctx;

	CHECK(!row->task.comm.len && !row->prev.comm.len);
	CHECK((row->kind == ROW_BANNER) == !row->name.len);
	row->task.comm = row->prev.comm = (struct text){ "comm", 4 };
	(*row_cnt)++;
}

TEST(graph_leaves_the_comms_of_every_row_empty)
{
	uint64_t row_cnt = 0;
	const struct graph_config config = {
		.functab = &tab, .cpu_cnt = 4, .emit = name_row, .ctx = &row_cnt
	};
	struct graph *g;

	CHECK(!graph_new(&g, &config));
	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80),
	     leave(130, 0, 7, A, 90), entry(140, 0, 8, B, 80), leave(150, 0, 8, B, 80));
	graph_finish(g);
	CHECK(row_cnt == 5);
	graph_free(g);
}
