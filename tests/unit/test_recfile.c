/* Recordings: what goes in comes out; what is cut, damaged or hostile is refused, never believed. */
#include "recording/recfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "random.h"
#include "recordings.h"

BEFORE(new_path);

#define OP_TIME 4u

/* ---- round trips ---- */

TEST(recording_gives_back_what_was_written)
{
	struct event *events = make_events(EVENT_CNT);
	const struct recfile_summary summary = { .lost_cnts[LOSS_RECURSION_GUARD] = 3,
						 .lost_cnts[LOSS_PACKET] = 9,
						 .traced_share = 6,
						 .others_share = 7,
						 .end_mono_ns = 5 };
	struct recfile_writer *w;
	uint64_t call_cnt = 0;

	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	for (size_t i = 0; i < EVENT_CNT; i += 1000)
		CHECK(!recfile_writer_events(w, events + i, 1000));
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
	read_file(events, EVENT_CNT);
	for (size_t i = 0; i < EVENT_CNT; i++)
		call_cnt += is_call(&events[i]);
	CHECK(!seen.err && seen.event_cnt == EVENT_CNT && !seen.tail_bytes && seen.is_closed);
	CHECK(seen.func_cnt == FUNC_CNT && seen.name_cnt > 100);
	CHECK(seen.summary.event_cnt == call_cnt &&
	      seen.summary.lost_cnts[LOSS_RECURSION_GUARD] == 3);
	CHECK(seen.summary.lost_cnts[LOSS_PACKET] == 9 && seen.summary.others_share == 7 &&
	      seen.summary.traced_share == 6);
	CHECK(!seen.summary.bad_cnt && !seen.summary.unwritten_cnt);
}

TEST(facts_and_functions_come_back)
{
	struct recfile_writer *w;
	struct recfile_reader *r;
	struct recfile_item item;

	w = open_writer(path, 12);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_close(w));
	CHECK(!recfile_reader_new(&r, path) && !recfile_reader_host(r));
	CHECK(!recfile_reader_next(r, &item) && item.kind == RECFILE_HOST);
	CHECK(recfile_reader_host(r)->cpu_cnt == 12 && recfile_reader_host(r)->start_mono_ns);
	CHECK(recfile_reader_host(r)->clock == RECFILE_CLOCK_MONOTONIC);
	CHECK_STR(recfile_reader_host(r)->command, "netfgraph record -o x");
	CHECK_STR(recfile_reader_host(r)->tool, "netfgraph test");
	CHECK(!recfile_reader_next(r, &item) && item.kind == RECFILE_FUNCS);
	for (size_t i = 0; i < FUNC_CNT; i++) {
		const struct func *func = &recfile_reader_functab(r)->funcs[i];

		CHECK_STR(func->name.ptr, func_names[i]);
		CHECK(func->name.len == funcs[i].name.len);
		CHECK_STR(func->module.ptr, i % 3 ? "" : "nf_tables");
	}
	CHECK(!recfile_reader_next(r, &item) && item.kind == RECFILE_END);
	recfile_reader_free(r);
}

TEST(a_full_table_of_functions_takes_several_chunks)
{
	struct func *many = calloc(NFG_FUNC_CNT, sizeof(*many));
	const struct functab table = { .funcs = many, .cnt = NFG_FUNC_CNT };
	struct recfile_writer *w;

	CHECK(many);
	for (size_t i = 0; i < NFG_FUNC_CNT; i++)
		many[i].name = (struct text){ "a_function_with_quite_a_long_name_indeed", 39 };
	w = open_writer(path, 1);
	CHECK(!recfile_writer_funcs(w, &table));
	CHECK(!recfile_writer_close(w));
	read_file(NULL, 0);
	CHECK(!seen.err && seen.func_cnt == NFG_FUNC_CNT && !seen.is_closed);
	free(many);
}

TEST(events_of_no_known_function_or_cpu_are_counted)
{
	const struct event events[] = {
		{ .time_ns = 1, .cpu = CPU_CNT },
		{ .time_ns = 2, .func_id = FUNC_CNT },
		{ .time_ns = 3, .tid = NFG_TASK_TID + 1 },
		{ .time_ns = 4, .kind = EVENT_LOST, .cpu = CPU_CNT, .lost_cnt = 1 },
		{ .time_ns = 5 },
	};
	const struct recfile_summary summary = { 0 };
	struct recfile_writer *w;

	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, 5));
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
	read_file(&events[4], 1);
	CHECK(!seen.err && seen.event_cnt == 1 && seen.summary.bad_cnt == 4);
}

TEST(a_recording_is_readable_while_it_is_written)
{
	struct event *events = make_events(3000);
	struct recfile_writer *w;
	struct recfile_reader *r;

	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_reader_new(&r, path));
	for (size_t i = 0; i < 3000; i += 1000) {
		CHECK(!recfile_writer_events(w, events + i, 1000));
		read_on(r, events, 3000);
		CHECK(!seen.err && seen.event_cnt == i && !seen.tail_bytes);
		CHECK(!recfile_writer_flush(w));
		read_on(r, events, 3000);
		CHECK(!seen.err && seen.event_cnt == i + 1000);
	}
	CHECK(!recfile_writer_close(w));
	read_on(r, events, 3000);
	CHECK(!seen.err && !seen.is_closed && seen.event_cnt == 3000);
	recfile_reader_free(r);
}

/* Forty events, the second half of them of functions that came in between, too. */
static struct event *write_grown(void)
{
	const struct recfile_summary summary = { 0 };
	struct functab table = { .funcs = funcs, .cnt = 3 };
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	struct event *events = small_events(40);

	for (size_t i = 0; i < 40; i++) {
		if (!i || i == 20 || i == 30) {
			table.cnt += i / 10;
			CHECK(!recfile_writer_funcs(w, &table));
		}
		if (is_call(&events[i]))
			events[i].func_id = (uint16_t)(table.cnt - 1 - i % 2);
		CHECK(!recfile_writer_events(w, &events[i], 1));
		CHECK(i % 3 || !recfile_writer_flush(w));
	}
	CHECK(!recfile_writer_funcs(w, &table)); /* none is new */
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_close(w));
	return events;
}

TEST(functions_may_come_between_events)
{
	struct event *events = write_grown();
	size_t event_cnt = 0;

	read_file(events, 40);
	CHECK(!seen.err && seen.is_closed && seen.func_cnt == 3 + 2 + 3);
	CHECK(seen.event_cnt == 40 && !seen.summary.bad_cnt);
	file_read();
	for (size_t cut = FILE_HEAD; cut < image.len; cut++) {
		file_write(image.bytes, cut);
		read_file(events, 40);
		CHECK(!seen.err && seen.tail_bytes == cut - whole_bytes(image.bytes, cut));
		CHECK(seen.event_cnt >= event_cnt && seen.func_cnt <= 8);
		event_cnt = seen.event_cnt;
	}
}

/* ---- cut and damaged files ---- */

TEST(a_file_cut_at_any_byte_gives_its_whole_chunks)
{
	struct event *events = small_events(40);
	size_t event_cnt = 0;

	write_small(events, 40);
	file_read();
	for (size_t cut = 0; cut <= image.len; cut++) {
		file_write(image.bytes, cut);
		read_file(events, 40);
		CHECK((cut < FILE_HEAD) == (seen.err != 0));
		if (cut < FILE_HEAD)
			continue;
		CHECK(seen.tail_bytes == cut - whole_bytes(image.bytes, cut));
		CHECK(seen.event_cnt >= event_cnt && seen.is_closed == (cut == image.len));
		event_cnt = seen.event_cnt;
	}
	CHECK(event_cnt == 40);
}

TEST(every_flipped_bit_is_noticed)
{
	struct event *events = small_events(20);

	write_small(events, 20);
	file_read();
	for (size_t bit = 0; bit < image.len * 8; bit++) {
		image.bytes[bit / 8] ^= (char)(1 << bit % 8);
		file_write(image.bytes, image.len);
		image.bytes[bit / 8] ^= (char)(1 << bit % 8);
		read_file(events, 20);
		/* a higher minor version is none of a reader's business */
		CHECK(bit / 8 == 14 || bit / 8 == 15 || seen.err || seen.tail_bytes);
	}
}

static void check_head(size_t at, char value, int err, const char *words)
{
	write_small(NULL, 0);
	file_read();
	image.bytes[at] = value;
	file_write(image.bytes, image.len);
	read_file(NULL, 0);
	CHECK(seen.err == err);
	CHECK(strstr(seen.error, words) && strstr(seen.error, path) && !strchr(seen.error, '\n'));
}

TEST(other_files_and_versions_are_refused)
{
	read_file(NULL, 0);
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "empty"));
	file_write("# tracer: function_graph\n", 25);
	read_file(NULL, 0);
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "this is not a recording"));
	check_head(0, 'x', -EBADMSG, "this is not a recording");
	check_head(8, 1, -EBADMSG, "byte 8");
	check_head(12, 2, -EPROTONOSUPPORT, "version 2.");
	unlink(path);
	read_file(NULL, 0);
	CHECK(seen.err == -ENOENT && strstr(seen.error, "No such file"));
}

TEST(the_other_byte_order_is_refused)
{
	write_small(NULL, 0);
	file_read();
	for (int i = 0; i < 2; i++) {
		char c = image.bytes[8 + i];

		image.bytes[8 + i] = image.bytes[11 - i];
		image.bytes[11 - i] = c;
	}
	file_write(image.bytes, image.len);
	read_file(NULL, 0);
	CHECK(seen.err == -EPROTONOSUPPORT && strstr(seen.error, "byte order"));
}

/* ---- files that lie, checksums and all ---- */

/* A file with two events of one task; @word replaces the second event's. */
static void read_word(uint64_t word, uint32_t event_cnt)
{
	const struct event events[] = { { .time_ns = 10, .tid = 7 },
					{ .time_ns = 20, .tid = 7, .kind = EVENT_EXIT } };
	char *chunk;

	write_small(events, 2);
	file_read();
	chunk = find_chunk(image.bytes, image.len, "EVNT");
	CHECK(get_u32(chunk + 4) == 24 + 3 * 8);
	memcpy(chunk + 16 + 24 + 2 * 8, &word, sizeof(word));
	put_u32(chunk + 16 + 16, event_cnt);
	seal(image.bytes, image.len);
	file_write(image.bytes, image.len);
	read_file(NULL, 0);
}

TEST(events_out_of_range_are_refused)
{
	read_word(UINT64_C(2) << 32, 2); /* an entry of the last function */
	CHECK(!seen.err && seen.event_cnt == 2);
	read_word(UINT64_C(3) << 32, 2); /* of the one behind it */
	CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	read_word(9 << 3, 2); /* of a slot nobody is on */
	CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	read_word(2 | CPU_CNT << 3, 1); /* a loss on a CPU there is not */
	CHECK(seen.err == -EBADMSG);
	read_word(3 | CPU_CNT << 11, 1); /* a slot on it */
	CHECK(seen.err == -EBADMSG);
	read_word(3 | (uint64_t)(NFG_TASK_TID + 1) << 32, 1); /* a slot of no task */
	CHECK(seen.err == -EBADMSG);
	read_word(6, 1);
	CHECK(seen.err == -EBADMSG);
	read_word(7, 1);
	CHECK(seen.err == -EBADMSG);
	read_word(0, 3); /* fewer events than promised */
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "fewer"));
	read_word(OP_TIME | 5 << 3, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
}

TEST(what_later_versions_add_to_an_event_is_skipped)
{
	read_word(OP_EXTRA, 1); /* nothing follows, none promised */
	CHECK(!seen.err && seen.event_cnt == 1);
	read_word(OP_EXTRA | 1 << 16, 1); /* the chunk ends too soon */
	CHECK(seen.err == -EBADMSG);
}

/* A switch on a CPU that does not exist, of no task, or cut short ends the chunk. */
TEST(switches_out_of_range_are_refused)
{
	const struct event events[] = {
		{ .time_ns = 100,
		  .cpu = 1,
		  .tid = 8,
		  .kind = EVENT_OUT,
		  .func_id = NFG_FUNC_SWITCH },
		{ .time_ns = 200, .cpu = CPU_CNT, .tid = 8, .kind = EVENT_IN },
		{ .time_ns = 300, .cpu = 1, .tid = NFG_TASK_TID + 1, .kind = EVENT_IN },
		{ .time_ns = 400,
		  .cpu = 2,
		  .tid = 8,
		  .kind = EVENT_IN,
		  .func_id = NFG_FUNC_SWITCH },
		{ .time_ns = 400, .cpu = 2, .tid = NFG_TASK_TID + 1, .kind = EVENT_DOUBT },
		{ .time_ns = 400, .cpu = CPU_CNT, .kind = EVENT_GAP },
		{ .time_ns = 400, .cpu = 2, .tid = 8, .kind = EVENT_TORN + 1 },
	};
	const struct event want[] = { events[0], events[3] };

	write_small(events, 7);
	read_file(want, 2);
	CHECK(!seen.err && seen.event_cnt == 2);
	CHECK(seen.summary.bad_cnt == 5 && !seen.summary.event_cnt);
	read_word(OP_EXTRA | 1 << 3 | 2 << 16, 1);
	CHECK(seen.err == -EBADMSG);
}

TEST(where_calls_may_be_missing_stands_in_its_place)
{
	const struct event events[] = {
		{ .time_ns = 100, .cpu = 1, .tid = 8, .kind = EVENT_ENTRY },
		{ .time_ns = 100, .cpu = 1, .kind = EVENT_GAP },
		{ .time_ns = 90, .cpu = 2, .tid = 9, .kind = EVENT_DOUBT },
		{ .time_ns = 120, .cpu = 2, .tid = 9, .kind = EVENT_EXIT },
		{ .time_ns = 130, .cpu = 2, .tid = 9, .kind = EVENT_SURE },
		{ .time_ns = 140, .cpu = 1, .lost_cnt = 5, .kind = EVENT_LOST },
		{ .time_ns = 150, .cpu = 1, .kind = EVENT_GAP }, /* may be a chunk's first */
		{ .time_ns = 150, .cpu = 1, .kind = EVENT_DOUBT },
		{ .time_ns = 160, .cpu = 1, .lost_cnt = 7, .kind = EVENT_TORN },
		{ .time_ns = 160, .cpu = 2, .lost_cnt = NFG_TASK_TID, .kind = EVENT_TORN },
	};

	write_small(events, 10);
	read_file(events, 10);
	CHECK(!seen.err && seen.event_cnt == 10);
	CHECK(!seen.summary.bad_cnt && seen.summary.event_cnt == 2);
	write_small(&events[6], 2);
	read_file(&events[6], 2);
	CHECK(!seen.err && seen.event_cnt == 2);
	for (uint64_t kind = 4; kind <= 7; kind++) {
		read_word(OP_EXTRA | kind << 3 | 2 << 16, 1); /* cut */
		CHECK(seen.err == -EBADMSG);
	}
}

TEST(unknown_chunks_are_skipped)
{
	struct event *events = small_events(20);
	char unknown[16 + 40] = "LATR";
	char *copy;

	write_small(events, 20);
	file_read();
	copy = malloc(image.len + sizeof(unknown));
	CHECK(copy);
	put_u32(unknown + 4, 40);
	for (size_t at = FILE_HEAD; at < image.len; at += 16 + get_u32(image.bytes + at + 4)) {
		if (at == FILE_HEAD)
			continue; /* the host's facts come first */
		memcpy(copy, image.bytes, at);
		memcpy(copy + at, unknown, sizeof(unknown));
		memcpy(copy + at + sizeof(unknown), image.bytes + at, image.len - at);
		seal(copy, image.len + sizeof(unknown));
		file_write(copy, image.len + sizeof(unknown));
		read_file(events, 20);
		CHECK(!seen.err && seen.event_cnt == 20 && seen.is_closed);
	}
	free(copy);
}

TEST(a_missing_chunk_is_noticed)
{
	struct event *events = small_events(20);
	char *chunk;
	size_t gone;

	write_small(events, 20);
	file_read();
	chunk = find_chunk(image.bytes, image.len, "EVNT");
	gone = 16 + get_u32(chunk + 4);
	memmove(chunk, chunk + gone, image.len - gone - (size_t)(chunk - image.bytes));
	file_write(image.bytes, image.len - gone);
	read_file(NULL, 0);
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "missing"));
}

TEST(nonsense_under_a_right_checksum_does_no_harm)
{
	struct event *events = small_events(60);
	char *copy;

	write_small(events, 60);
	file_read();
	copy = malloc(image.len);
	CHECK(copy);
	for (int round = 0; round < 5000; round++) {
		memcpy(copy, image.bytes, image.len);
		for (uint32_t i = random_below(8) + 1; i; i--) {
			size_t at = FILE_HEAD + random_below((uint32_t)image.len - FILE_HEAD);

			copy[at] = random_below(2) ? (char)random_below(256)
						   : (char)(copy[at] ^ 1 << random_below(8));
		}
		seal(copy, image.len);
		file_write(copy, image.len);
		read_file(NULL, 0);
	}
	free(copy);
}
