/* Rotated recordings: each file can be read without the others. */
#include "recording/recfile.h"
#include "harness.h"
#include "recordings.h"
#include "reports.h"
#include "script.h"
#include "base/host.h"
#include "format/render.h"
#include "kernel/comms.h"
#include "recording/recorder.h"

BEFORE(new_path);

static struct recfile_writer *w;
static struct recfile_host host;

/* A file of its own for some events; they go into the next one of @max when there is one already. */
static void write_next(const struct functab *tab, const struct event *events, size_t cnt,
		       uint32_t max)
{
	const struct recfile_summary summary = { 0 };

	if (!w) {
		w = open_writer(path, CPU_CNT);
		recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	} else {
		CHECK(!recfile_writer_summary(w, &summary));
		CHECK(!recfile_writer_rotate(w, &host, max));
	}
	CHECK(!recfile_writer_funcs(w, tab) && !recfile_writer_events(w, events, cnt));
}

/* Report of the file that was rotated @nth, which goes; 0: the newest. */
static void report_nth(int nth, const struct render_columns *columns)
{
	char newest[sizeof(path)];

	strcpy(newest, path);
	if (nth)
		CHECK(snprintf(path, sizeof(path), "%.40s.%d", newest, nth) < (int)sizeof(path));
	report_file(false, columns, 0);
	CHECK(!told.err);
	if (nth)
		CHECK(!unlink(path));
	strcpy(path, newest);
}

/* The next file names functions that came in the middle of this one. */
TEST(rotated_recordings_have_functions_that_came_later)
{
	const struct event ev = { .time_ns = 5, .func_id = 4 };
	const struct recfile_summary summary = { 0 };
	struct functab table = { .funcs = funcs, .cnt = 3 };

	write_next(&table, NULL, 0, 2);
	table.cnt = 5;
	CHECK(!recfile_writer_funcs(w, &table) && !recfile_writer_events(w, &ev, 1));
	write_next(&table, &ev, 1, 2);
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
	for (int i = 0; i < 2; i++) {
		report_nth(i, NULL);
		CHECK(told.stats.event_cnt == 1 && !told.stats.graph.bad_cnt);
		CHECK(strstr(told.text, func_names[4]));
	}
}

/* Each file can be read without the others. */
TEST(rotated_recordings_are_whole_each)
{
	enum { FILES = 3, EACH_CNT = 20 };
	struct event *events = small_events(EACH_CNT);
	const struct recfile_summary summary = { 0 };
	const struct functab few = { .funcs = funcs, .cnt = 3 };

	for (int i = 0; i < FILES; i++)
		write_next(&few, events, EACH_CNT, FILES);
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
	for (int i = 0; i < FILES; i++) {
		report_nth(i, NULL);
		CHECK(told.stats.is_closed && !told.stats.tail_bytes);
		CHECK(told.stats.event_cnt && told.stats.event_cnt == told.stats.summary.event_cnt);
	}
}

/* A gap or doubt that is open when a file ends is open in the next one. */
TEST(rotated_recordings_know_where_calls_may_be_missing)
{
	struct event first[4], want[5];
	const struct event *second = want + 2;

	script_events("100 cpu1 tid0 gap 110 cpu2 tid9 doubt 120 cpu0 tid0 gap 130 lost3", first,
		      4);
	script_events(
		"200 cpu1 gap 200 cpu2 tid9 doubt 200 a{ 210 cpu1 tid0 lost5 220 cpu2 tid9 sure",
		want, 5);
	for (int i = 0; i < 5; i++)
		want[i].func_id = 0; /* what is no call has none */
	write_next(&functab, first, 4, 2);
	write_next(&functab, second, 3, 2);
	CHECK(!recfile_writer_flush(w));
	read_file(want, 5);
	CHECK(!seen.err && seen.event_cnt == 5);
	write_next(&functab, second, 1, 2);
	CHECK(!recfile_writer_flush(w));
	read_file(second, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
	CHECK(!recfile_writer_close(w));
	report_nth(1, NULL);
}

/* Of a recorder that begins another file with each batch of events. Its comms is to be freed. */
static struct recorder_config each_config(void)
{
	static const struct comms_source none = { 0 };
	static const struct details details = { 0 };
	static const struct recfile_made made = { .attach = "kprobe.session" };
	struct recorder_config config = {
		.path = path,
		.made = &made,
		.rotate_bytes = 1,
		.rotate_cnt = 4,
		.functab = &functab,
		.details = &details,
		.cpu_cnt = 1,
	};

	make_funcs();
	CHECK(!comms_new(&config.comms, &none));
	return config;
}

/* The names of tasks in the first file are repeated in the next one. */
TEST(rotated_recordings_have_the_names_of_their_tasks)
{
	struct event events[2];
	const struct nfg_task_rec named = {
		.time_ns = 50, .tid = 7, .kind = NFG_TASK_NAMED, .comm = "curl"
	};
	const struct render_columns columns = { .proc = true };
	const struct recfile_summary losses = { 0 };
	struct recorder_config config = each_config();
	struct recorder rec;

	script_events("100 a{ 200 }a", events, 2);
	comms_take(config.comms, &named);
	CHECK(!recorder_open(&rec, &config) && !recorder_begin(&rec));
	for (int i = 0; i < 3; i++)
		CHECK(!recorder_events(&rec, events, 2));
	CHECK(!recorder_close(&rec, &losses));
	comms_free(config.comms);
	for (int i = 1; i <= 3; i++) {
		report_nth(i, &columns);
		CHECK(strstr(told.text, "curl-7 "));
	}
}

/* What was left out stays so: a file that begins later says it, too, and that it was before. */
TEST(rotated_recordings_say_what_was_left_out_before)
{
	const uint32_t ids[] = { 2, 0 };
	const struct leftout lo = { .time_ns = 150,
				    .limit = LEFTOUT_OVERHEAD,
				    .measured = 31,
				    .max = 25,
				    .func_ids = ids,
				    .func_cnt = 2 };
	const struct leftout pause = { .time_ns = 160, .limit = LEFTOUT_WINDOW, .measured = 5 };
	const struct recfile_summary losses = { 0 };
	struct recorder_config config = each_config();
	struct event events[2];
	struct recorder rec;

	script_events("100 a{ 200 }a", events, 2);
	CHECK(!recorder_open(&rec, &config) && !recorder_begin(&rec));
	CHECK(!recorder_leftout(&rec, &lo) && !recorder_leftout(&rec, &pause));
	for (int i = 0; i < 3; i++)
		CHECK(!recorder_events(&rec, events, 2));
	CHECK(!recorder_close(&rec, &losses));
	comms_free(config.comms);
	for (int i = 3; i >= 0; i--) {
		const bool is_first = i == 3;

		report_nth(i, NULL);
		CHECK(told.stats.leftout_cnts[LEFTOUT_OVERHEAD] == 2);
		CHECK(told.stats.leftout_earlier_cnts[LEFTOUT_OVERHEAD] == (is_first ? 0 : 2));
		CHECK((told.stats.untraced_ns == 5) == is_first);
		CHECK(!strstr(told.text, " before this recording begins: tracing takes 31 %") ==
		      is_first);
		CHECK(strstr(told.said, "2 functions were left out during the trace"));
	}
}

/* Attaching, which may take minutes, is no part of it. */
TEST(a_recording_begins_when_tracing_does)
{
	const struct recfile_summary losses = { 0 };
	const struct details details = { 0 };
	struct recfile_made made = { .attach = "pair" };
	const struct recorder_config config = {
		.path = path,
		.made = &made,
		.functab = &functab,
		.details = &details,
		.cpu_cnt = 1,
	};
	struct recfile_item item;
	struct recfile_reader *reader;
	struct recorder rec;
	uint64_t offset_ns;

	make_funcs();
	offset_ns = host_real_ns() - host_time_ns();
	CHECK(!recorder_open(&rec, &config));
	usleep(20000);
	made.begin_mono_ns = host_time_ns();
	usleep(200000);
	CHECK(!recorder_begin(&rec) && !recorder_close(&rec, &losses));
	CHECK(!recfile_reader_new(&reader, path) && !recfile_reader_next(reader, &item));
	CHECK(recfile_reader_host(reader)->start_mono_ns == made.begin_mono_ns);
	/* the same moment of the other clock, but for what lies between two readings of the clocks */
	offset_ns = recfile_reader_host(reader)->start_real_ns - made.begin_mono_ns - offset_ns;
	CHECK(offset_ns + 100000000 < 200000000);
	recfile_reader_free(reader);
	unlink(path);
}
