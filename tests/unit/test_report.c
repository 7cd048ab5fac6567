/* Reports of recordings: what a live trace would have printed, and what is said about losses and damage. */
#include "report/report.h"
#include "harness.h"
#include "recordings.h"
#include "reports.h"
#include "script.h"
#include "format/render.h"
#include "base/verdict.h"
#include "words.h"
#include "trace/graph.h"

BEFORE(new_path);

/* What a live trace would have printed. */
static struct direct {
	struct render render;
	struct strbuf out;
	struct graph *graph;
} direct;

static void direct_row(void *ctx, struct row *row)
{
	/* tasks with odd numbers have a name: comm_of */
	row->task.comm = name_of(row->task.tid);
	row->prev.comm = name_of(row->prev.tid);
	render_row(&direct.render, row, &direct.out);
}

static void direct_begin(void)
{
	const struct graph_config config = { .functab = &functab,
					     .cpu_cnt = CPU_CNT,
					     .emit = direct_row };

	CHECK(!render_init(&direct.render, &render_columns_default, 3));
	render_header(&direct.render, &direct.out);
	CHECK(!graph_new(&direct.graph, &config));
}

/* The report of the file is the same. */
static void direct_end(void)
{
	graph_finish(direct.graph);
	strbuf_char(&direct.out, 0);
	report_file(false, NULL, 0);
	CHECK(!told.err && !strcmp(told.text, direct.out.ptr));
	graph_free(direct.graph);
	render_release(&direct.render);
	strbuf_release(&direct.out);
}

static void write_events(const struct event *events, size_t cnt)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);

	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, cnt) && !recfile_writer_close(w));
}

TEST(a_report_is_what_the_live_trace_would_have_printed)
{
	struct event *events = make_events(EVENT_CNT);

	write_events(events, EVENT_CNT);
	direct_begin();
	CHECK(!graph_feed(direct.graph, events, EVENT_CNT));
	direct_end();
	CHECK(told.stats.row_cnt > EVENT_CNT / 2);
	CHECK(strstr(told.said, "was not closed") && strstr(told.said, "events were lost while"));
	CHECK(report_has_losses(&told.stats));
}

/* What options name may come later; only at the end it is known whether it has come. */
TEST(functions_that_come_later_are_reported)
{
	static const struct recfile_made made = { .shown = RECFILE_GROWS };
	struct functab table = { .funcs = funcs, .cnt = 2 };
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	struct event calls[8];
	size_t cnt;

	script_begin("ab");
	CHECK(!recfile_writer_made(w, &made));
	for (table.cnt = 1; table.cnt <= 2; table.cnt++) {
		CHECK(!recfile_writer_funcs(w, &table));
		cnt = script_events(table.cnt == 1 ? "1000 a{ a{ } }" : "a{ b{ } }", calls, 8);
		CHECK(!recfile_writer_events(w, calls, cnt));
	}
	CHECK(!recfile_writer_close(w));
	report_file(false, NULL, 0);
	CHECK(!told.err && told.stats.call_cnt == 4);
	EACH_PART(line, "-T tcp_func_1.*; -G tcp_func_1.isra.0; -N tcp_func_0.*") {
		struct opts opts = opts_of(line);

		report_opts = &opts;
		report_file(false, NULL, 0);
		CHECK(!told.err && told.stats.call_cnt == 1);
		CHECK(strstr(told.text, " tcp_func_1.isra.0();"));
		opts_release(&opts);
	}
	EACH_PART(line, "-T udp_*; -T tcp_func_1.* -G tcp_func_2") {
		struct opts opts = opts_of(line);

		report_opts = &opts;
		report_file(false, NULL, 0);
		CHECK(told.err == VERDICT_NOTHING && !told.stats.row_cnt);
		CHECK(strstr(told.said, "no function of the recording "));
		opts_release(&opts);
	}
	report_opts = NULL;
}

/* ---- what was left out ---- */

static const uint32_t left_ids[] = { 7, 3, 0 };
static const struct leftout left_out = { .time_ns = 5000000000,
					 .limit = LEFTOUT_EVENTS,
					 .measured = 91000,
					 .max = 50000,
					 .func_ids = left_ids,
					 .func_cnt = 3 };
static const struct leftout left_end = {
	.time_ns = 6000000000, .limit = LEFTOUT_OVERHEAD, .is_end = true, .measured = 31, .max = 25
};

/* Both are recorded among the events, the first before the last @after of them. */
static void write_left(const struct event *events, size_t cnt, size_t after)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	const struct recfile_summary summary = { 0 };

	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, cnt - after));
	CHECK(!recfile_writer_leftout(w, &left_out));
	CHECK(!recfile_writer_events(w, events + cnt - after, after));
	CHECK(!recfile_writer_leftout(w, &left_end));
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
}

static void direct_comment(const struct leftout *lo)
{
	struct strbuf text = { 0 };
	struct row row = { .kind = ROW_COMMENT, .time_ns = lo->time_ns };

	leftout_text(&text, lo, &functab, SIZE_MAX);
	row.text = (struct text){ text.ptr, text.len };
	render_row(&direct.render, &row, &direct.out);
	strbuf_release(&text);
}

TEST(what_was_left_out_is_reported_where_the_live_trace_had_it)
{
	const size_t after = EVENT_CNT / 3;
	struct event *events = make_events(EVENT_CNT);

	write_left(events, EVENT_CNT, after);
	direct_begin();
	CHECK(!graph_feed(direct.graph, events, EVENT_CNT - after));
	direct_comment(&left_out);
	CHECK(!graph_feed(direct.graph, events + EVENT_CNT - after, after));
	direct_comment(&left_end);
	direct_end();
	CHECK(strstr(
		told.text,
		"/* left out tcp_func_7.isra.0, tcp_func_3.isra.0, tcp_func_0.isra.0: the trace "
		"records 91000 events a second, --max-events is 50000 */\n"));
	CHECK(strstr(told.text, "/* the trace ends, no more functions can be left out: "));
	CHECK(strstr(told.said, ": 3 functions were left out during the trace: --max-events\n"));
}

/* A table has no row for what was left out; stderr has it. */
TEST(what_was_left_out_is_told_beside_a_table)
{
	const struct opts table = { .verb = VERB_PROFILE };
	struct event *events = small_events(20);

	write_left(events, 20, 10);
	report_opts = &table;
	report_file(false, NULL, 0);
	report_opts = NULL;
	CHECK(!told.err);
	CHECK(strstr(told.said, "': left out tcp_func_7.isra.0, tcp_func_3.isra.0, "));
	CHECK(strstr(told.said, "': the trace ends, no more functions can be left out: "));
	CHECK(strstr(told.said, ": 3 functions were left out during the trace: --max-events\n"));
}

/* The first LEFT chunk of the file with @value at byte @at of its content, and the checksums right. */
static void read_left_with(size_t at, uint32_t value)
{
	file_read();
	put_u32(find_chunk(image.bytes, image.len, "LEFT") + 16 + at, value);
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	read_file(NULL, 0);
}

TEST(what_cannot_have_been_left_out_is_refused)
{
	static const struct {
		size_t at;
		uint32_t value;
		int err;
	} changes[] = {
		{ 8, 3, 0 }, /* a later version's limit */
		{ 8, 0, 0 },
		{ 12, 0xfffffffe, 0 },
		{ 32, 5, -EBADMSG }, /* more than there are */
		{ 32, UINT32_MAX, -EBADMSG },
		{ 40, FUNC_CNT - 1, 0 },
		{ 40, FUNC_CNT, -EBADMSG },
		{ 48, UINT32_MAX, -EBADMSG },
	};
	struct event *events = small_events(20);

	for (size_t i = 0; i < CNT_OF(changes); i++) {
		write_left(events, 20, 10);
		read_left_with(changes[i].at, changes[i].value);
		CHECK(seen.err == changes[i].err);
		CHECK(seen.event_cnt == (seen.err ? 10 : 20) && seen.is_closed == !seen.err);
	}
}

/* ---- a trace in which nobody called ---- */

static void write_uncalled(size_t func_cnt, uint64_t lost_cnt)
{
	struct recfile_writer *w = open_writer(path, 1);
	const struct functab few = { .funcs = funcs, .cnt = func_cnt };
	const struct recfile_summary summary = { .lost_cnts[LOSS_RECURSION_GUARD] = lost_cnt };

	CHECK(!recfile_writer_funcs(w, &few));
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
}

TEST(a_recording_without_a_call_is_said_to_be_one)
{
	const struct opts explain = { .verb = VERB_EXPLAIN };

	write_uncalled(3, 0);
	report_file(false, NULL, 0);
	CHECK(!told.err && !told.stats.row_cnt);
	CHECK(strstr(told.said, "' has no call of its 3 functions\n"));
	write_uncalled(1, 7);
	report_file(false, NULL, 0);
	CHECK(!told.err && report_has_losses(&told.stats));
	CHECK(strstr(told.said,
		     "' has no call of tcp_func_0.isra.0, as far as is known: events were lost\n"));
	report_opts = &explain;
	report_file(false, NULL, 0);
	report_opts = NULL;
	CHECK(told.err == VERDICT_NOTHING && strstr(told.said, "' has no call of tcp_func_0"));
}

static void write_names(void)
{
	struct event events[6];
	const struct recfile_summary summary = { .lost_cnts[LOSS_RING_FULL] = 17 };
	struct recfile_writer *w = open_writer(path, 1);

	CHECK(!recfile_writer_funcs(w, &functab));
	asked_cnt = 0;
	script_begin("abc");
	script_events("tid4008 100 a{ 200 }a 300 b{ 400 }b tid10 500 c{ 600 }c", events, 6);
	CHECK(!recfile_writer_events(w, events, 3) && asked_cnt == 3);
	recfile_writer_renamed(w, RENAMED_TID);
	CHECK(!recfile_writer_events(w, events + 3, 3) && asked_cnt == 4);
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
}

TEST(names_hold_from_their_time_on)
{
	static const char want[] = "# tracer: function_graph\n"
				   "#\n"
				   "#  TASK/PID                      FUNCTION CALLS\n"
				   "#   |    |                       |   |   |   |\n"
				   "   sh-4008     | tcp_func_0.isra.0 [nf_tables]();\n"
				   "  curl-4008    | tcp_func_1.isra.0();\n"
				   " ------------------------------------------\n"
				   " 0)   curl-4008    =>    <...>-10   \n"
				   " ------------------------------------------\n"
				   "\n"
				   "   <...>-10    | tcp_func_2.isra.0();\n";
	const struct render_columns columns = { .proc = true };

	write_names();
	report_file(false, &columns, 0);
	CHECK_STR(told.text, want);
	CHECK(!told.err && report_has_losses(&told.stats));
	CHECK(strstr(told.said, ": 17 events were lost: a ring was full\n"));
}

/* A recording whose summary lacks its last @missing_bytes. */
static void report_short_summary(size_t missing_bytes)
{
	write_names();
	file_read();
	put_u32(find_chunk(image.bytes, image.len, "SUMM") + 4,
		(uint32_t)(sizeof(struct recfile_summary) - missing_bytes));
	seal(image.bytes, image.len - missing_bytes);
	file_write(image.bytes, image.len - missing_bytes);
	report_file(false, NULL, 0);
}

/* A summary that ends before what the next version added, and the loss that it lacks. */
static void check_short_summary(size_t missing_bytes, enum loss_reason lacking)
{
	report_short_summary(missing_bytes);
	CHECK(!told.err && told.stats.is_closed && !told.stats.tail_bytes);
	CHECK(told.stats.summary.lost_cnts[LOSS_RING_FULL] == 17);
	CHECK(!told.stats.summary.lost_cnts[lacking]);
}

TEST_ONE(a_recording_of_version_1_7_is_read, check_short_summary(16, LOSS_PACKET));
TEST_ONE(a_recording_of_version_1_6_is_read, check_short_summary(32, LOSS_SCOPE));
TEST_ONE(a_recording_of_version_1_2_is_read, check_short_summary(48, LOSS_MAX_EVENTS));

TEST(a_damaged_recording_is_shown_up_to_the_damage)
{
	write_names();
	file_read();
	image.bytes[image.len - 1] ^= 1;
	file_write(image.bytes, image.len);
	report_file(false, NULL, 0);
	CHECK(told.err == -EBADMSG && told.stats.call_cnt == 3 && strstr(told.text, "func_2"));
	CHECK(strstr(told.said, "damaged at byte ") && strstr(told.said, "checksum"));
	file_write(image.bytes, image.len - 1);
	report_file(false, NULL, 0);
	CHECK(!told.err && told.stats.tail_bytes == 16 + sizeof(struct recfile_summary) - 1);
	CHECK(strstr(told.said, "ends inside a chunk: 135 bytes ignored"));
}

/* All that follows is not read, also what is not in memory yet. */
TEST(what_follows_the_damage_is_counted_to_the_end_of_the_file)
{
	static char rest[300000];
	size_t at;

	write_names();
	file_read();
	at = (size_t)(find_chunk(image.bytes, image.len, "SUMM") - image.bytes);
	memcpy(rest, image.bytes, image.len);
	rest[at + 16] ^= 1;
	file_write(rest, sizeof(rest));
	report_file(false, NULL, 0);
	CHECK(told.err == -EBADMSG && told.stats.tail_bytes == sizeof(rest) - at);
	CHECK(strstr(told.said, "bytes from the damage on not read"));
}

/* Nothing was lost, and nothing can be shown: that is no recording without a call. */
TEST(a_recording_cut_before_its_first_event_is_refused)
{
	size_t at;

	write_names();
	file_read();
	at = (size_t)(find_chunk(image.bytes, image.len, "EVNT") - image.bytes);
	file_write(image.bytes, at + 20);
	report_file(false, NULL, 0);
	CHECK(told.err == -ENODATA && !told.stats.row_cnt && told.stats.tail_bytes == 20);
	CHECK(strstr(told.said, "is cut short before its first event: the last 20 bytes are not "));
	CHECK(!strstr(told.said, "lost"));
	file_write(image.bytes, at); /* it may still be written */
	report_file(false, NULL, 0);
	CHECK(!told.err && strstr(told.said, " has no call of its "));
}

struct counter {
	struct sink sink; /* first */
	uint64_t row_cnt;
};

static void count_row(struct sink *sink, struct row *row)
{
	struct counter *counter = (struct counter *)sink;

	counter->row_cnt += row->cpu == 1 && row->kind != ROW_LOST;
	CHECK(row->cpu == 1 || row->kind == ROW_LOST);
}

static int begin_count(struct sink *sink, const struct trace_facts *facts)
{
	return facts->cpu_cnt && facts->cpu_width == 3 && facts->release ? 0 : -EINVAL;
}

static int stop_after(struct sink *sink, bool is_idle)
{
	return ((struct counter *)sink)->row_cnt > 1000 ? -EPIPE : 0;
}

TEST(a_report_can_be_choosy_and_be_stopped)
{
	struct event *events = make_events(EVENT_CNT);
	struct report_stats stats;
	const struct sink_ops ops = { .begin = begin_count, .row = count_row, .flush = stop_after };
	struct counter counter = { .sink = { .ops = &ops } };
	const struct opts opts = { .has_cpus = true, .cpus = { { 1u << 1 } } };
	const struct report_config config = {
		.path = path,
		.opts = &opts,
		.sink = &counter.sink,
	};

	quiet();
	write_events(events, EVENT_CNT);
	CHECK(report_run(&config, &stats) == -EPIPE);
	CHECK(counter.row_cnt > 1000 &&
	      counter.row_cnt < 1000 + RECFILE_BATCH_CNT + FUNC_CNT * 100);
}

/* Flush now and then, and close at the end. */
static void write_slowly(const struct event *events)
{
	const struct recfile_summary summary = { 0 };
	struct recfile_writer *w = open_writer(path, CPU_CNT);

	recfile_writer_funcs(w, &functab);
	for (size_t i = 0; i < 1000; i += 100) {
		recfile_writer_events(w, events + i, 100);
		recfile_writer_flush(w);
		usleep(20000);
	}
	recfile_writer_summary(w, &summary);
	recfile_writer_close(w);
	_exit(0);
}

TEST(a_report_follows_a_recording_until_it_is_closed)
{
	struct event *events = make_events(1000);
	struct output output = { .file.fd = temp_fd() };
	struct report_stats stats = { 0 };
	struct report_config config = { .path = path, .is_followed = true };
	pid_t pid;

	CHECK(!sink_format_new(&config.sink, FORMAT_TEXT, NULL, NULL, &output));
	quiet();
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		write_slowly(events);
	while (file_bytes() < FILE_HEAD)
		usleep(1000);
	CHECK(!report_run(&config, &stats));
	CHECK(stats.is_closed && stats.summary.event_cnt == stats.event_cnt && stats.event_cnt);
	CHECK(!output_close(&output) && waitpid(pid, NULL, 0) == pid);
	sink_free(config.sink);
}

/* A recording of a call that hangs. @end_ns: when it was closed; 0: never. @trigger_ns: a flight recorder's; 0: none. */
static void write_hanging(uint64_t end_ns, uint64_t trigger_ns)
{
	static const struct event events[] = {
		{ .time_ns = 1000000, .tid = 7, .frame = 90, .func_id = 1 },
		{ .time_ns = 2000000, .tid = 7, .frame = 80, .func_id = 2 },
		{ .time_ns = 3000000, .tid = 8, .cpu = 1, .frame = 90, .func_id = 2 },
		{ .time_ns = 3000500,
		  .tid = 8,
		  .cpu = 1,
		  .frame = 90,
		  .func_id = 2,
		  .kind = EVENT_EXIT },
	};
	const struct recfile_trigger trigger = { .time_ns = trigger_ns,
						 .begin_ns = 1000000,
						 .tid = 7,
						 .func_id = 1,
						 .condition = "tcp_func_1 > 3s" };
	const struct recfile_summary summary = { .end_mono_ns = end_ns };
	struct recfile_writer *w = open_writer(path, 2);

	CHECK(!recfile_writer_funcs(w, &functab) &&
	      !recfile_writer_events(w, events, CNT_OF(events)));
	CHECK(!trigger_ns || !recfile_writer_trigger(w, &trigger));
	CHECK(!end_ns || !recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
}

static const char *slow_calls(void)
{
	static const struct opts opts = { .verb = VERB_REPORT, .starts.slower_ns = 300000000 };

	report_opts = &opts;
	report_file(false, NULL, 0);
	report_opts = NULL;
	return told.text;
}

/* It was open when the recording ended, or at its trigger, after which a flight recorder's file may end at any time. */
TEST(calls_that_do_not_return_are_slow)
{
	quiet();
	write_hanging(301000000, 0);
	CHECK(strstr(slow_calls(), "|  tcp_func_1"));
	CHECK(!told.err && strstr(told.text, " in task 7: > 0.300000 s, not returned */\n"));
	CHECK(!strstr(told.text, "8"));
	write_hanging(300999999, 0);
	slow_calls();
	CHECK(told.err == VERDICT_NOTHING);
	write_hanging(900000000, 3301000000);
	CHECK(strstr(slow_calls(), " in task 7: > 3.300000 s, not returned */\n"));
	CHECK(strstr(
		told.text,
		"/* trigger 'tcp_func_1 > 3s': tcp_func_1.isra.0 in task 7, which began 3.300000 s before */\n"));
	write_hanging(0, 0); /* killed: known is only what its last event says */
	slow_calls();
	CHECK(told.err == VERDICT_NOTHING);
}

/* Only the file's beginning was read, which says nothing about its end. */
TEST(a_recording_is_not_blamed_for_a_name_that_it_lacks)
{
	const char *nosuch = "nosuch";
	const struct opts opts = { .graph_funcs = { .items = &nosuch, .cnt = 1 } };
	struct event *events = small_events(20);

	write_small(events, 20);
	report_opts = &opts;
	report_file(false, NULL, 0);
	CHECK(told.err == VERDICT_NOTHING && strstr(told.said, "'nosuch'"));
	CHECK(!strstr(told.said, "not closed") && !strstr(told.said, "ends inside"));
	CHECK(!strstr(told.said, "lost"));
}
