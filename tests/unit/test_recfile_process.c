/* Which process a task belongs to and where it is, in a recording. */
#include "recordings.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "rows.h"

BEFORE(new_path);

static bool comm_of_all(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	static uint32_t told[16];

	(void)ctx;
	*is_last = false;
	*name = tid == 7 ? TEXT("server") : TEXT("worker");
	if (told[tid % 16] == time_ns / 1000 + 1)
		return false;
	told[tid % 16] = (uint32_t)(time_ns / 1000) + 1; /* a new name each microsecond */
	return true;
}

static uint32_t process_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	(void)ctx;
	(void)time_ns;
	return tid == 9 ? 0 : 7;
}

static struct task_place place_of(void *ctx, uint32_t tid, uint64_t time_ns)
{
	(void)ctx;
	(void)time_ns;
	return (struct task_place){ tid == 9 ? 0 : 100 + tid, tid == 9 ? 0 : 4026531840 };
}

static void write_it(void)
{
	struct recfile_host host = { .cpu_cnt = 1 };
	const struct recfile_config config = {
		.path = path,
		.host = &host,
		.comm = comm_of_all,
		.process = process_of,
		.place = place_of,
	};
	const struct recfile_summary summary = { 0 };
	struct event events[4] = {
		{ .time_ns = 1000, .tid = 8 },
		{ .time_ns = 1100, .tid = 8, .kind = EVENT_EXIT },
		{ .time_ns = 1200, .tid = 9 },
		{ .time_ns = 1300, .tid = 7 },
	};
	struct recfile_writer *w;

	CHECK(!recfile_writer_new(&w, &config));
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, 4));
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
}

TEST(processes_and_their_names_come_before_the_events)
{
	struct recfile_process found[4];
	struct recfile_reader *r;
	struct recfile_item item;
	size_t name_cnt = 0;
	size_t cnt = 0;

	make_funcs();
	write_it();
	CHECK(!recfile_reader_new(&r, path));
	do {
		CHECK(!recfile_reader_next(r, &item));
		name_cnt += item.kind == RECFILE_NAMES ? item.cnt : 0;
		for (size_t i = 0; item.kind == RECFILE_PROCESSES && i < item.cnt; i++)
			found[cnt++] = item.processes[i];
		CHECK(item.kind != RECFILE_EVENTS || cnt == 2);
	} while (item.kind != RECFILE_END);
	CHECK(name_cnt == 3); /* 8, its process 7, and 9 */
	CHECK(cnt == 2 && found[0].tid == 8 && found[0].tgid == 7 && found[0].time_ns == 1000);
	CHECK(found[1].tid == 7);
	recfile_reader_free(r);
}

/* @at: where the chunk's first task is, behind its head. */
static void refused_by(const char *chunk, size_t at, const char *error)
{
	make_funcs();
	write_it();
	file_read();
	put_u32(find_chunk(image.bytes, image.len, chunk) + 16 + at, NFG_TASK_TID + 1);
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	read_file(NULL, 0);
	CHECK(strstr(seen.error, error));
}

TEST(processes_of_no_possible_task_are_refused)
{
	refused_by("PROC", 12, "a process of an impossible task");
}

TEST(places_come_before_the_events)
{
	struct recfile_place found[4];
	struct recfile_reader *r;
	struct recfile_item item;
	size_t cnt = 0;

	make_funcs();
	write_it();
	CHECK(!recfile_reader_new(&r, path) && recfile_reader_minor(r) >= 6);
	do {
		CHECK(!recfile_reader_next(r, &item));
		for (size_t i = 0; item.kind == RECFILE_PLACES && i < item.cnt; i++)
			found[cnt++] = item.places[i];
		CHECK(item.kind != RECFILE_EVENTS || cnt == 2);
	} while (item.kind != RECFILE_END);
	CHECK(cnt == 2 && found[1].tid == 8 && found[1].time_ns == 1000);
	CHECK(found[1].cgroup_id == 108 && found[1].netns == 4026531840);
	CHECK(found[0].tid == 7 && found[0].cgroup_id == 107); /* its process */
	recfile_reader_free(r);
}

TEST(places_of_no_possible_task_are_refused)
{
	refused_by("PLAC", 16, "a place of an impossible task");
}
