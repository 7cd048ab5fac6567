/* What of a text is shown: the same as of the recording that it was made of. */
#include "report/choose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"
#include "random.h"
#include "recording/recfile.h"
#include "report/report.h"

#define FUNC_CNT  6
#define CPU_CNT   2
#define TASK_CNT  3
#define DEPTH_MAX 6
#define EVENT_CNT 300

static char rec_path[] = "/tmp/nfg-choice-rec-XXXXXX";
static char text_path[] = "/tmp/nfg-choice-text-XXXXXX";

static struct func funcs[FUNC_CNT];
static const char *const names[FUNC_CNT] = { "connect", "sendmsg", "xmit", "rcv", "close", "poll" };
static const struct functab functab = { funcs, FUNC_CNT };

static bool comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	(void)ctx;
	(void)time_ns;
	*is_last = true;
	*name = tid % 2 ? (struct text){ "odd", 3 } : (struct text){ "evening", 7 };
	return true;
}

/*
 * Each task calls and returns, on the CPU it is on; tasks that share one take turns. None leaves a CPU when it has
 * just begun a call: if that ends there too, the kernel prints it as a leaf, and then what it called elsewhere.
 */
struct task {
	uint32_t depth;
	bool has_returned;
	uint16_t funcs[DEPTH_MAX];
	uint16_t cpu;
};

static struct event step(struct task *task, uint32_t tid, uint64_t time_ns, bool is_end)
{
	struct event ev = { .time_ns = time_ns, .tid = tid, .cpu = task->cpu };
	bool returns = task->depth == DEPTH_MAX || (task->depth && (is_end || random_below(2)));

	if (returns)
		task->depth--;
	else
		task->funcs[task->depth] = (uint16_t)random_below(FUNC_CNT);
	ev.kind = returns ? EVENT_EXIT : EVENT_ENTRY;
	ev.func_id = task->funcs[task->depth];
	ev.frame = (uint16_t)(60000 - task->depth * 40);
	task->depth += !returns;
	task->has_returned = returns;
	return ev;
}

static size_t make_events(struct event *events, uint32_t cpu_cnt, bool migrates)
{
	struct task tasks[TASK_CNT] = { 0 };
	uint64_t time_ns = 1000;
	uint32_t turn = 0;
	size_t cnt = 0;

	for (uint32_t i = 0; i < TASK_CNT; i++)
		tasks[i].cpu = (uint16_t)(i % cpu_cnt);
	while (cnt < EVENT_CNT) {
		if (!random_below(8))
			turn = random_below(TASK_CNT);
		if (migrates && tasks[turn].has_returned && !random_below(10))
			tasks[turn].cpu = (uint16_t)random_below(cpu_cnt);
		time_ns += 100 + random_below(3000);
		events[cnt++] = step(&tasks[turn], 1001 + turn, time_ns, false);
	}
	for (turn = 0; turn < TASK_CNT; turn++) {
		while (tasks[turn].depth)
			events[cnt++] = step(&tasks[turn], 1001 + turn, time_ns += 500, true);
	}
	return cnt;
}

static void record(uint32_t cpu_cnt, bool migrates)
{
	const struct recfile_summary summary = { 0 };
	struct event events[EVENT_CNT + TASK_CNT * DEPTH_MAX];
	size_t cnt = make_events(events, cpu_cnt, migrates);
	struct recfile_host host;
	const struct recfile_config config = { .path = rec_path, .host = &host, .comm = comm_of };
	struct recfile_writer *w;

	for (size_t i = 0; i < FUNC_CNT; i++)
		funcs[i].name = (struct text){ names[i], strlen(names[i]) };
	unlink(rec_path);
	recfile_host_read(&host, CPU_CNT, "test", NULL);
	CHECK(!recfile_writer_new(&w, &config) && !recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, cnt));
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
}

/* Report to @to_path, or return the text. */
static int report(const struct opts *opts, bool is_text, const struct render_columns *columns,
		  FILE *to)
{
	struct output output = { .file.fd = fileno(to) };
	struct report_stats stats;
	struct report_config config = {
		.path = is_text ? text_path : rec_path,
		.is_text = is_text,
		.opts = opts,
		.depth_max = opts->graph_depth,
	};
	int err;

	CHECK(!sink_format_new(&config.sink, FORMAT_TEXT, columns, NULL, &output));
	err = report_run(&config, &stats);
	CHECK(!output_close(&output));
	sink_free(config.sink);
	return err;
}

static char *slurp(FILE *file)
{
	struct stat st;
	char *bytes;

	CHECK(!fstat(fileno(file), &st));
	bytes = calloc(1, (size_t)st.st_size + 1);
	CHECK(bytes && pread(fileno(file), bytes, (size_t)st.st_size, 0) == st.st_size);
	return bytes;
}

static char *chosen(const struct opts *opts, bool is_text, const struct render_columns *columns)
{
	FILE *file = tmpfile();
	char *bytes;

	CHECK(file && !report(opts, is_text, columns, file));
	bytes = slurp(file);
	return bytes;
}

static void make_text(const struct render_columns *columns)
{
	const struct opts all = { 0 };
	FILE *file = fopen(text_path, "w+");

	CHECK(file && !report(&all, false, columns, file));
}

/* One string in a list of the options. */
#define LIST(str)                                          \
	{                                                  \
		.items = (const char *[]){ str }, .cnt = 1 \
	}

static void check_same(const struct opts *opts, const struct render_columns *columns)
{
	char *from_rec = chosen(opts, false, columns);
	char *from_text = chosen(opts, true, NULL);

	CHECK_STR(from_text, from_rec);
	free(from_rec);
	free(from_text);
}

static void begin(void)
{
	CHECK(mkstemp(rec_path) >= 0 && mkstemp(text_path) >= 0);
	quiet();
}

static void end(void)
{
	unlink(rec_path);
	unlink(text_path);
}

TEST(a_text_gives_what_its_recording_gives)
{
	static uint64_t tid = 1002;
	const struct opts list[] = {
		{ .trace_funcs = LIST("xmit") },
		{ .notrace_funcs = LIST("xmit") },
		{ .trace_funcs = LIST("*c*"), .notrace_funcs = LIST("close") },
		{ .graph_funcs = LIST("sendmsg") },
		{ .graph_funcs = LIST("sendmsg"), .trace_funcs = LIST("rcv") },
		{ .graph_funcs = LIST("[cp]*"), .nograph_funcs = LIST("rcv") },
		{ .nograph_funcs = LIST("sendmsg") },
		{ .tids = { .items = &tid, .cnt = 1 } },
		{ .comms = LIST("odd") },
		{ .comms = LIST("ev*"), .trace_funcs = LIST("*s*") },
		{ .graph_depth = 2 },
		{ .graph_depth = 2, .graph_funcs = LIST("poll"), .notrace_funcs = LIST("xmit") },
	};
	struct render_columns columns = render_columns_default;

	columns.proc = true;
	begin();
	for (int round = 0; round < 60; round++) {
		record(CPU_CNT, round % 2);
		make_text(&columns);
		for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
			check_same(&list[i], &columns);
	}
	end();
}

/*
 * A leaf's row stands where the call begins, so the text does not say which of two CPUs' start
 * functions ended first.
 */
TEST(a_text_of_one_cpu_gives_the_same_slow_calls)
{
	const struct opts list[] = {
		{ .starts.slower_ns = 9000 },
		{ .starts.slower_ns = 20000, .trace_funcs = LIST("*c*") },
		{ .starts.slower_ns = 5000, .graph_funcs = LIST("rcv") },
		{ .starts.slower_ns = 5000, .graph_funcs = LIST("rcv"), .graph_depth = 2 },
	};
	struct render_columns columns = render_columns_default;

	columns.proc = true;
	begin();
	for (int round = 0; round < 60; round++) {
		record(1, false);
		make_text(&columns);
		for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
			check_same(&list[i], &columns);
	}
	end();
}

/* Only banners say which task runs; before the first of them it is unknown. */
TEST(a_text_without_tasks_gives_the_same_calls)
{
	const struct opts list[] = {
		{ .trace_funcs = LIST("xmit") },
		{ .trace_funcs = LIST("*c*"), .notrace_funcs = LIST("close") },
		{ .graph_funcs = LIST("sendmsg") },
		{ .nograph_funcs = LIST("sendmsg") },
		{ .graph_depth = 3 },
		{ .has_cpus = true, .cpus = { { 1u << 1 } } },
	};
	const struct render_columns columns = render_columns_default;

	begin();
	for (int round = 0; round < 60; round++) {
		record(CPU_CNT, false);
		make_text(&columns);
		for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
			check_same(&list[i], &columns);
	}
	end();
}

static void check_text(const struct opts *opts, const char *trace, const char *want)
{
	FILE *file = fopen(text_path, "w");
	char *got;

	CHECK(file && fputs(trace, file) >= 0 && !fclose(file));
	got = chosen(opts, true, NULL);
	CHECK_STR(got, want);
	free(got);
}

TEST(rows_that_are_no_calls_are_kept_where_they_belong)
{
	static const char trace[] = " 0)               |  /* before */\n"
				    " 0)               |  connect() {\n"
				    " 0)               |  /* inside */\n"
				    " 0)   1.000 us    |    xmit();\n"
				    "CPU:0 [LOST 17 EVENTS]\n"
				    " 0)   3.000 us    |  }\n"
				    " 0)               |  /* behind */\n"
				    " 0)   1.000 us    |  rcv();\n";

	begin();
	check_text(&(struct opts){ .graph_funcs = LIST("connect") }, trace,
		   " 0)               |  /* before */\n"
		   " 0)               |  connect() {\n"
		   " 0)               |  /* inside */\n"
		   " 0)   1.000 us    |    xmit();\n"
		   "CPU:0 [LOST 17 EVENTS]\n"
		   " 0)   3.000 us    |  }\n");
	check_text(&(struct opts){ .graph_funcs = LIST("rcv") }, trace,
		   "CPU:0 [LOST 17 EVENTS]\n"
		   " 0)               |  /* behind */\n"
		   " 0)   1.000 us    |  rcv();\n");
	check_text(&(struct opts){ .notrace_funcs = LIST("connect"), .nograph_funcs = LIST("rcv") },
		   trace,
		   " 0)               |  /* before */\n"
		   " 0)               |  /* inside */\n"
		   " 0)   1.000 us    |  xmit();\n"
		   "CPU:0 [LOST 17 EVENTS]\n"
		   " 0)               |  /* behind */\n");
	end();
}

/* Nothing missing is made up: a } of a call that began before the text counts as a call. */
TEST(a_text_may_begin_and_end_anywhere)
{
	static const char trace[] = " 0)   1.000 us    |      xmit();\n"
				    " 0)   3.000 us    |    } /* sendmsg */\n"
				    " 0)   9.000 us    |  }\n"
				    " 0)               |  connect() {\n"
				    " 0)               |    sendmsg() {\n";

	begin();
	check_text(&(struct opts){ .notrace_funcs = LIST("xmit") }, trace,
		   " 0)   3.000 us    |    } /* sendmsg */\n"
		   " 0)   9.000 us    |  }\n"
		   " 0)               |  connect() {\n"
		   " 0)               |    sendmsg() {\n");
	check_text(&(struct opts){ .graph_funcs = LIST("sendmsg") }, trace,
		   " 0)               |  sendmsg() {\n");
	/* a } of a caller ends what it called, whose own } is missing */
	check_text(&(struct opts){ .graph_funcs = LIST("sendmsg") },
		   " 0)               |  connect() {\n"
		   " 0)               |    sendmsg() {\n"
		   " 0)   9.000 us    |  }\n"
		   " 0)   1.000 us    |  xmit();\n",
		   " 0)               |  sendmsg() {\n");
	check_text(&(struct opts){ .starts.slower_ns = 1 }, trace,
		   " 0)   1.000 us    |      xmit();\n");
	end();
}

TEST(a_text_is_asked_for_what_it_has)
{
	const struct opts bad[] = {
		{ .trace_funcs = LIST("nosuch") },
		{ .graph_funcs = LIST("no*") },
		{ .comms = LIST("curl") },
	};
	FILE *file;

	begin();
	file = fopen(text_path, "w");
	CHECK(file && fputs(" 0)   1.000 us    |  rcv();\n", file) >= 0 && !fclose(file));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(report(&bad[i], true, NULL, tmpfile()) == VERDICT_NOTHING);
	end();
}
