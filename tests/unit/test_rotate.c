/* Rotated recordings: each file can be read without the others. */
#include "recording/recfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "recordings.h"
#include "reports.h"
#include "base/host.h"
#include "format/render.h"
#include "kernel/comms.h"
#include "recording/recorder.h"

BEFORE(new_path);
AFTER(free_told);

/* Each file can be read without the others. */
TEST(rotated_recordings_are_whole_each)
{
	enum { FILES = 3, EACH = 20 };
	struct event *events = small_events(EACH);
	const struct recfile_summary summary = { 0 };
	const struct functab few = { funcs, 3 };
	struct recfile_writer *w;
	struct recfile_host host;
	char newest[sizeof(path)];

	w = open_writer(path, CPU_CNT);
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	for (int i = 0; i < FILES; i++) {
		if (i) {
			CHECK(!recfile_writer_summary(w, &summary));
			CHECK(!recfile_writer_rotate(w, &host, FILES));
		}
		CHECK(!recfile_writer_funcs(w, &few));
		CHECK(!recfile_writer_events(w, events, EACH));
	}
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
	strcpy(newest, path);
	for (int i = 0; i < FILES; i++) {
		if (i)
			CHECK(snprintf(path, sizeof(path), "%s.%d", newest, i) < (int)sizeof(path));
		report_file(false, NULL, 0);
		CHECK(!told.err && told.stats.is_closed && !told.stats.tail_bytes);
		CHECK(told.stats.event_cnt && told.stats.event_cnt == told.stats.summary.event_cnt);
		if (i)
			unlink(path);
	}
	strcpy(path, newest);
}

/* A gap or doubt that is open when a file ends is open in the next one. */
TEST(rotated_recordings_know_where_calls_may_be_missing)
{
	static const struct event first[] = {
		{ .time_ns = 100, .cpu = 1, .kind = EVENT_GAP },
		{ .time_ns = 110, .cpu = 2, .tid = 9, .kind = EVENT_DOUBT },
		{ .time_ns = 120, .cpu = 0, .kind = EVENT_GAP },
		{ .time_ns = 130, .cpu = 0, .lost_cnt = 3, .kind = EVENT_LOST },
	};
	static const struct event second[] = {
		{ .time_ns = 200, .cpu = 2, .tid = 9, .kind = EVENT_ENTRY },
		{ .time_ns = 210, .cpu = 1, .lost_cnt = 5, .kind = EVENT_LOST },
		{ .time_ns = 220, .cpu = 2, .tid = 9, .kind = EVENT_SURE },
	};
	const struct event want[] = {
		{ .time_ns = 200, .cpu = 1, .kind = EVENT_GAP },
		{ .time_ns = 200, .cpu = 2, .tid = 9, .kind = EVENT_DOUBT },
		second[0],
		second[1],
		second[2],
	};
	const struct recfile_summary summary = { 0 };
	struct recfile_writer *w;
	struct recfile_host host;
	char older[sizeof(path)];

	w = open_writer(path, CPU_CNT);
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_events(w, first, 4));
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_rotate(w, &host, 2));
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_events(w, second, 3));
	CHECK(!recfile_writer_flush(w));
	read_file(want, 5);
	CHECK(!seen.err && seen.event_cnt == 5);
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_rotate(w, &host, 2));
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_events(w, second, 1));
	CHECK(!recfile_writer_flush(w));
	read_file(second, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
	CHECK(!recfile_writer_close(w));
	snprintf(older, sizeof(older), "%.50s.1", path);
	CHECK(!unlink(older));
}

/* The names of tasks in the first file are repeated in the next one. */
TEST(rotated_recordings_have_the_names_of_their_tasks)
{
	static const struct event events[] = {
		{ .time_ns = 100, .tid = 7 },
		{ .time_ns = 200, .tid = 7, .kind = EVENT_EXIT },
	};
	const struct nfg_task_rec named = {
		.time_ns = 50, .tid = 7, .kind = NFG_TASK_NAMED, .comm = "curl"
	};
	const struct render_columns columns = { .proc = true };
	const struct comms_source none = { 0 };
	const struct recfile_summary losses = { 0 };
	const struct details details = { 0 };
	const struct recfile_made made = { .attach = "kprobe.session" };
	struct recorder_config config = {
		.path = path,
		.made = &made,
		.rotate_bytes = 1,
		.rotate_cnt = 4,
		.functab = &functab,
		.details = &details,
		.cpu_cnt = 1,
	};
	char newest[sizeof(path)];
	struct recorder rec;

	make_funcs();
	CHECK(!comms_new(&config.comms, &none));
	comms_take(config.comms, &named);
	CHECK(!recorder_open(&rec, &config) && !recorder_begin(&rec));
	for (int i = 0; i < 3; i++)
		CHECK(!recorder_events(&rec, events, 2));
	CHECK(!recorder_close(&rec, &losses));
	comms_free(config.comms);
	strcpy(newest, path);
	for (int i = 1; i <= 3; i++) {
		CHECK(snprintf(path, sizeof(path), "%s.%d", newest, i) < (int)sizeof(path));
		report_file(false, &columns, 0);
		CHECK(!told.err && strstr(told.text, "curl-7 "));
		unlink(path);
	}
	strcpy(path, newest);
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
