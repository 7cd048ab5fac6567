/* The graph from arrays of events: rows as short text, one per line. */
#include "trace/graph.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "base/strbuf.h"

static struct func funcs[] = {
	{ .name = { "alpha", 5 } },
	{ .name = { "beta", 4 } },
	{ .name = { "gamma", 5 } },
};
static const struct functab tab = { funcs, 3 };

enum { A, B, C };

static struct strbuf text;

static void put_name(const struct row *row)
{
	strbuf_add(&text, row->name.ptr, row->name.len);
}

static void on_row(void *ctx, struct row *row)
{
	(void)ctx;
	strbuf_printf(&text, "%u:", row->cpu);
	for (uint32_t i = 0; i < row->depth; i++)
		strbuf_char(&text, '.');
	switch (row->kind) {
	case ROW_ENTRY:
		put_name(row);
		strbuf_str(&text, "{");
		break;
	case ROW_LEAF:
		put_name(row);
		strbuf_printf(&text, "; %u", (unsigned int)row->duration_ns);
		break;
	case ROW_RETURN:
		strbuf_str(&text, "}");
		if (row->is_named)
			put_name(row);
		if (row->lacks_duration)
			strbuf_str(&text, " ?");
		else
			strbuf_printf(&text, " %u", (unsigned int)row->duration_ns);
		break;
	case ROW_BANNER:
		strbuf_printf(&text, "%u=>%u", row->prev.tid, row->task.tid);
		break;
	case ROW_LOST:
		strbuf_printf(&text, "LOST %u", (unsigned int)row->lost_cnt);
		break;
	default:
		strbuf_str(&text, "?");
	}
	strbuf_char(&text, '\n');
}

static struct graph *start(uint32_t depth_max)
{
	const struct graph_config config = {
		.functab = &tab, .cpu_cnt = 4, .depth_max = depth_max, .emit = on_row
	};
	struct graph *g;

	CHECK(!graph_new(&g, &config));
	return g;
}

/* frame addresses: a stack grows down, one step a call */
static struct event entry(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func,
			  uint16_t frame)
{
	return (struct event){ .time_ns = time_ns,
			       .cpu = cpu,
			       .tid = tid,
			       .func_id = func,
			       .frame = frame,
			       .kind = EVENT_ENTRY };
}

static struct event change(uint64_t time_ns, uint32_t cpu, uint32_t tid, enum event_kind kind)
{
	struct event ev = entry(time_ns, cpu, tid, UINT16_MAX, 0);

	ev.kind = kind;
	return ev;
}

static struct event leave(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func,
			  uint16_t frame)
{
	struct event ev = entry(time_ns, cpu, tid, func, frame);

	ev.kind = EVENT_EXIT;
	return ev;
}

static struct event lost(uint64_t time_ns, uint32_t cpu, uint64_t cnt)
{
	return (struct event){
		.time_ns = time_ns, .cpu = cpu, .lost_cnt = cnt, .kind = EVENT_LOST
	};
}

static struct event gap(uint64_t time_ns, uint32_t cpu)
{
	return (struct event){ .time_ns = time_ns, .cpu = cpu, .kind = EVENT_GAP };
}

static const char *rows(void)
{
	strbuf_char(&text, '\0');
	return text.ptr;
}

#define PAIRS(g) (&graph_stats_get(g)->pairs)

#define FEED(g, ...)                                                         \
	do {                                                                 \
		const struct event evs_[] = { __VA_ARGS__ };                 \
		CHECK(!graph_feed(g, evs_, sizeof(evs_) / sizeof(evs_[0]))); \
	} while (0)

TEST(graph_folds_a_leaf_and_nests_its_caller)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta; 5\n0:} 30\n");
	CHECK(graph_stats_get(g)->open_cnt == 0);
	graph_free(g);
}

TEST(graph_does_not_fold_across_another_event_of_the_cpu)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(105, 0, 8, B, 50), leave(106, 0, 8, B, 50),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:7=>8\n0:beta; 1\n0:8=>7\n0:}alpha 30\n");
	graph_free(g);
}

TEST(graph_folds_a_leaf_while_another_cpu_goes_on)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(101, 1, 8, B, 50), leave(102, 1, 8, B, 50),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 30\n1:beta; 1\n");
	graph_free(g);
}

TEST(graph_names_the_closing_after_migration)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(4110, 1, 7, B, 80),
	     leave(4120, 1, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n1:.}beta 4000\n1:}alpha 4020\n");
	graph_free(g);
}

TEST(graph_keeps_each_cpus_idle_task_apart)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 0, A, 90), entry(101, 1, 0, A, 90), entry(102, 0, 0, B, 80),
	     leave(103, 0, 0, B, 80), leave(104, 0, 0, A, 90), leave(109, 1, 0, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n1:alpha; 8\n0:.beta; 1\n0:} 4\n");
	graph_free(g);
}

TEST(graph_pairs_recursion_by_frame)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, A, 80), leave(120, 0, 7, A, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.alpha; 10\n0:} 30\n");
	graph_free(g);
}

TEST(graph_drops_returns_of_calls_older_than_the_trace)
{
	struct graph *g = start(0);

	FEED(g, leave(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80));
	graph_finish(g);
	CHECK_STR(rows(), "0:beta; 5\n");
	CHECK(graph_stats_get(g)->pairs.early_return_cnt == 1);
	graph_free(g);
}

TEST(graph_names_a_return_whose_entry_was_lost)
{
	struct graph *g = start(0);

	FEED(g, lost(99, 0, 17), leave(100, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:LOST 17\n0:}alpha ?\n");
	CHECK(graph_stats_get(g)->pairs.orphan_cnt == 1);
	graph_free(g);
}

TEST(graph_a_loss_between_entry_and_return_leaves_no_duration)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), lost(105, 0, 2), leave(110, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:LOST 2\n0:}alpha ?\n");
	CHECK(PAIRS(g)->unsure_cnt == 1 && !PAIRS(g)->unclosed_cnt && !PAIRS(g)->pair_cnt);
	graph_free(g);
}

TEST(graph_a_lost_return_does_not_shift_what_follows)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), lost(120, 0, 1),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:LOST 1\n0:}alpha ?\n");
	CHECK(PAIRS(g)->unclosed_cnt == 1 && PAIRS(g)->unsure_cnt == 1);
	graph_free(g);
}

TEST(graph_depth_limit_hides_calls_and_folds_their_caller)
{
	struct graph *g = start(1);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80), leave(115, 0, 7, B, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 30\n");
	CHECK(graph_stats_get(g)->call_cnt == 2);
	graph_free(g);
}

TEST(graph_open_calls_stay_open_at_the_end)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 80));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n");
	CHECK(graph_stats_get(g)->open_cnt == 2);
	graph_free(g);
}

TEST(graph_release_prints_what_waited_too_long)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);

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
	struct graph *g = start(0);

	for (uint32_t tid = 1; tid <= 4194304; tid += 1021)
		FEED(g, entry(tid, 0, tid, A, 90));
	for (uint32_t tid = 1; tid <= 4194304; tid += 1021)
		FEED(g, leave(5000000 + tid, 0, tid, A, 90));
	graph_finish(g);
	CHECK(graph_stats_get(g)->open_cnt == 0);
	CHECK(graph_stats_get(g)->pairs.orphan_cnt == 0);
	graph_free(g);
}

/* A host that forks: memory does not grow with tasks, who is within a call is not forgotten. */
TEST(graph_forgets_tasks_but_no_open_call)
{
	struct graph *g = start(0);
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
	struct graph *g = start(0);

	FEED(g, entry(1, 0, 7, 9, 90), entry(2, 9, 7, A, 90));
	graph_finish(g);
	CHECK(graph_stats_get(g)->bad_cnt == 2);
	CHECK(!text.len);
	graph_free(g);
}

TEST(graph_deep_closings_have_no_automatic_name)
{
	/* the kernel remembers 50 depths (FTRACE_RETFUNC_DEPTH) */
	struct graph *g = start(0);

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

/* ---- values: their numbers stand in the rows ---- */

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

/* As with the kernel's sleep-time off: the sleep is in none of the calls that are open, and in no other. */
TEST(graph_takes_sleep_off_every_open_call)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), change(110, 0, 7, EVENT_OUT), change(111, 0, 8, EVENT_IN),
	     entry(120, 0, 8, B, 50), change(130, 0, 8, EVENT_OUT), change(1110, 1, 7, EVENT_IN),
	     leave(1115, 1, 7, A, 90), change(2130, 0, 8, EVENT_IN), leave(2140, 0, 8, B, 50));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:7=>8\n0:beta; 20\n1:}alpha 15\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt);
	graph_free(g);
}

/* A task that was asleep when the trace began, and one that ends asleep, are nothing to warn of. */
TEST(graph_is_sure_of_calls_between_half_sleeps)
{
	struct graph *g = start(0);

	FEED(g, change(90, 0, 7, EVENT_IN), entry(100, 0, 7, A, 90), leave(107, 0, 7, A, 90),
	     change(110, 0, 7, EVENT_OUT));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 7\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt);
	graph_free(g);
}

/* The number of a task that ended while out comes again: its sleep was not the new task's. */
TEST(graph_keeps_a_dead_tasks_sleep_from_its_number)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), leave(107, 0, 7, A, 90), change(110, 0, 7, EVENT_OUT),
	     change(9000, 1, 7, EVENT_IN), entry(9010, 1, 7, A, 90), leave(9013, 1, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha; 7\n1:alpha; 3\n");
	CHECK(!graph_stats_get(g)->pairs.unsure_cnt);
	graph_free(g);
}

/* Also when nobody says that something was lost. */
TEST(graph_knows_no_duration_with_a_sleep_of_unknown_length)
{
	struct graph *g = start(0);

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

/* ---- what must not be made up where events are missing ---- */

/* No signal tells of it, but two calls cannot stand in one place. */
TEST(graph_an_entry_ends_what_stood_in_its_place)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 0, 7, B, 60), entry(120, 0, 7, C, 95),
	     entry(130, 0, 7, C, 90), leave(131, 0, 7, C, 90), leave(140, 0, 7, C, 95),
	     leave(150, 0, 7, B, 60), leave(160, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(),
		  "0:alpha{\n0:.beta{\n0:..gamma{\n0:...gamma; 1\n0:..} 20\n0:.} 40\n0:} 60\n");
	CHECK(PAIRS(g)->pair_cnt == 4);
	graph_free(g);
}

TEST(graph_doubt_leaves_no_duration)
{
	struct graph *g = start(0);

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

/* What it came into goes on, and is no leaf. */
TEST(graph_a_torn_interrupt_cuts_nothing_off)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);

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
	struct graph *g = start(0);

	FEED(g, entry(1000, 0, 7, A, 90), entry(1100, 0, 7, B, 3000), lost(1500, 0, 2),
	     entry(2000, 0, 7, A, 6000), leave(2100, 0, 7, A, 6000));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:.beta{\n0:LOST 2\n0:alpha; 100\n");
	graph_free(g);
}

/* A gap of one CPU concerns all tasks as long as it lasts: they may be there meanwhile. */
TEST(graph_a_gap_concerns_every_task)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);

	FEED(g, gap(10, 0), gap(20, 1), gap(25, 1), lost(30, 0, 1), entry(40, 2, 7, A, 90),
	     leave(50, 2, 7, A, 90), lost(60, 1, 1), entry(70, 2, 7, A, 90),
	     leave(71, 2, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:LOST 1\n2:alpha{\n2:}alpha ?\n1:LOST 1\n2:alpha; 1\n");
	graph_free(g);
}

/* A return that nothing explains tells of a loss, too. */
TEST(graph_an_orphan_leaves_no_duration_around_it)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), leave(110, 0, 7, B, 80), leave(120, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n0:}beta ?\n0:}alpha ?\n");
	CHECK(PAIRS(g)->orphan_cnt == 1 && PAIRS(g)->unsure_cnt == 1);
	graph_free(g);
}

TEST(graph_a_clock_that_goes_back_leaves_no_duration)
{
	struct graph *g = start(0);

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
	struct graph *g = start(0);
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

/* Whatever frames a file has: more stacks than there are show that calls are over. */
TEST(graph_calls_lie_on_few_stacks)
{
	struct graph *g = start(0);

	for (uint32_t i = 0; i < 5000; i++)
		FEED(g, entry(i, 0, 7, A, (uint16_t)(i * 8)));
	graph_finish(g);
	CHECK(!strstr(rows(), ".....alpha"));
	CHECK(PAIRS(g)->unclosed_cnt + graph_stats_get(g)->open_cnt == 5000);
	graph_free(g);
}

/* What called something on another CPU is no leaf, though its own CPU saw nothing between. */
TEST(graph_a_leaf_has_no_children_elsewhere)
{
	struct graph *g = start(0);

	FEED(g, entry(100, 0, 7, A, 90), entry(110, 1, 7, B, 80), leave(120, 1, 7, B, 80),
	     leave(130, 0, 7, A, 90));
	graph_finish(g);
	CHECK_STR(rows(), "0:alpha{\n1:.beta; 10\n0:} 30\n");
	graph_free(g);
}

/* Losses without end cost nothing but themselves. */
TEST(graph_survives_many_losses_with_many_tasks)
{
	struct graph *g = start(0);

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
