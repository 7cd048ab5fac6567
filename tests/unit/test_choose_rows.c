/* What of a text is shown: the same as of the recording that it was made of. */
#include "report/choose.h"
#include "harness.h"
#include "scratch.h"
#include "words.h"
#include "random.h"
#include "recording/recfile.h"
#include "report/report.h"

#define FUNC_CNT  6
#define CPU_CNT   2
#define TASK_CNT  3
#define DEPTH_MAX 6
#define EVENT_CNT 300

static const char *rec_path, *text_path;

static struct func funcs[FUNC_CNT];
static const char *const names[FUNC_CNT] = { "connect", "sendmsg", "xmit", "rcv", "close", "poll" };
static const struct functab functab = { .funcs = funcs, .cnt = FUNC_CNT };

static bool comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
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

/* Report the recording or the text, to the file. */
static int report(const struct opts *opts, bool is_text, const struct render_columns *columns,
		  int fd)
{
	struct output output = { .file.fd = fd };
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

static const char *chosen(const struct opts *opts, bool is_text,
			  const struct render_columns *columns)
{
	int fd = temp_fd();

	CHECK(!report(opts, is_text, columns, fd));
	return fd_text(fd);
}

static void begin(void)
{
	rec_path = temp_file("", 0);
	text_path = temp_file("", 0);
	quiet();
}
BEFORE(begin);

/* The text of a recording, of many, gives with each of the options what that gives. */
static void check_same(const char *lines, uint32_t cpu_cnt, bool migrates, bool has_task)
{
	struct render_columns columns = render_columns_default;

	columns.proc = has_task;
	for (int round = 0; round < 60; round++) {
		record(cpu_cnt, migrates && round % 2);
		file_put(text_path, chosen(&(const struct opts){ 0 }, false, &columns));
		EACH_PART(line, lines) {
			struct opts opts = opts_of(line);

			CHECK_STR(chosen(&opts, true, NULL), chosen(&opts, false, &columns));
			opts_release(&opts);
		}
	}
}

TEST(a_text_gives_what_its_recording_gives)
{
	check_same(
		"-T xmit; -N xmit; -T *c* -N close; -G sendmsg; -G sendmsg -T rcv; -G [cp]* -g rcv; "
		"-g sendmsg; --tid 1002; --comm odd; --comm ev* -T *s*; -D 2; -D 2 -G poll -N xmit",
		CPU_CNT, true, true);
}

/*
 * A leaf's row stands where the call begins, so the text does not say which of two CPUs' start
 * functions ended first.
 */
TEST_ONE(a_text_of_one_cpu_gives_the_same_slow_calls,
	 check_same("--slower-than 9us; --slower-than 20us -T *c*; --slower-than 5us -G rcv; "
		    "--slower-than 5us -G rcv -D 2",
		    1, false, true));

/* Only banners say which task runs; before the first of them it is unknown. */
TEST_ONE(a_text_without_tasks_gives_the_same_calls,
	 check_same("-T xmit; -T *c* -N close; -G sendmsg; -g sendmsg; -D 3; -C 1", CPU_CNT, false,
		    false));

static void check_text(const char *line, const char *trace, const char *want)
{
	struct opts opts = opts_of(line);

	file_put(text_path, trace);
	CHECK_STR(chosen(&opts, true, NULL), want);
	opts_release(&opts);
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

	check_text("-G connect", trace,
		   " 0)               |  /* before */\n"
		   " 0)               |  connect() {\n"
		   " 0)               |  /* inside */\n"
		   " 0)   1.000 us    |    xmit();\n"
		   "CPU:0 [LOST 17 EVENTS]\n"
		   " 0)   3.000 us    |  }\n");
	check_text("-G rcv", trace,
		   "CPU:0 [LOST 17 EVENTS]\n"
		   " 0)               |  /* behind */\n"
		   " 0)   1.000 us    |  rcv();\n");
	check_text("-N connect -g rcv", trace,
		   " 0)               |  /* before */\n"
		   " 0)               |  /* inside */\n"
		   " 0)   1.000 us    |  xmit();\n"
		   "CPU:0 [LOST 17 EVENTS]\n"
		   " 0)               |  /* behind */\n");
}

/* Nothing missing is made up: a } of a call that began before the text counts as a call. */
TEST(a_text_may_begin_and_end_anywhere)
{
	static const char trace[] = " 0)   1.000 us    |      xmit();\n"
				    " 0)   3.000 us    |    } /* sendmsg */\n"
				    " 0)   9.000 us    |  }\n"
				    " 0)               |  connect() {\n"
				    " 0)               |    sendmsg() {\n";

	check_text("-N xmit", trace,
		   " 0)   3.000 us    |    } /* sendmsg */\n"
		   " 0)   9.000 us    |  }\n"
		   " 0)               |  connect() {\n"
		   " 0)               |    sendmsg() {\n");
	check_text("-G sendmsg", trace, " 0)               |  sendmsg() {\n");
	/* a } of a caller ends what it called, whose own } is missing */
	check_text("-G sendmsg",
		   " 0)               |  connect() {\n"
		   " 0)               |    sendmsg() {\n"
		   " 0)   9.000 us    |  }\n"
		   " 0)   1.000 us    |  xmit();\n",
		   " 0)               |  sendmsg() {\n");
	check_text("--slower-than 1ns", trace, " 0)   1.000 us    |      xmit();\n");
}

TEST(a_text_is_asked_for_what_it_has)
{
	file_put(text_path, " 0)   1.000 us    |  rcv();\n");
	EACH_PART(line, "-T nosuch; -G no*; --comm curl") {
		struct opts opts = opts_of(line);

		CHECK(report(&opts, true, NULL, temp_fd()) == VERDICT_NOTHING);
		opts_release(&opts);
	}
}
