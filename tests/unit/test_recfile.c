/* Recordings: what goes in comes out; what is cut, damaged or hostile is told, never believed. */
#include "recording/recfile.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <zlib.h>

#include "harness.h"
#include "kernel/comms.h"
#include "recording/recorder.h"
#include "report/report.h"
#include "trace/values.h"

#define CPU_CNT   300u /* more than there are lanes in a chunk */
#define FUNC_CNT  40u
#define EVENT_CNT 100000u
#define FILE_HEAD 16u
#define OP_TIME   4u
#define OP_EXTRA  5u

static char path[64];

/* A new empty file, gone with the process that calls this. */
static void remove_path(void)
{
	unlink(path);
}

static void new_path(void)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, sizeof(path), "%.40s/recfile.XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	CHECK(fd >= 0);
	close(fd);
	atexit(remove_path);
}

static uint64_t random_state = 4711;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % limit);
}

/* ---- what is written ---- */

static struct func funcs[FUNC_CNT];
static char func_names[FUNC_CNT][32];
static const struct functab functab = { funcs, FUNC_CNT };

static void make_funcs(void)
{
	for (size_t i = 0; i < FUNC_CNT; i++) {
		int len = snprintf(func_names[i], sizeof(func_names[i]), "tcp_func_%zu.isra.0", i);

		funcs[i].name = (struct text){ func_names[i], (size_t)len };
		if (i % 3 == 0)
			funcs[i].module = (struct text){ "nf_tables", 9 };
	}
}

/* Any event, with steps of time as the merged stream has them and some it should not have. */
static struct event make_event(uint64_t *time_ns)
{
	static const uint64_t steps[] = { 0, 1, 300, 5000, 2097151, 2097152, 3000000000 };
	struct event ev = { 0 };

	*time_ns += steps[random_below(sizeof(steps) / sizeof(*steps))];
	if (!random_below(1000))
		*time_ns -= 70000;
	if (!random_below(5000))
		*time_ns ^= UINT64_C(1) << 63;
	ev.time_ns = *time_ns;
	ev.cpu = (uint16_t)(random_below(4) ? random_below(3) : random_below(CPU_CNT));
	ev.kind = random_below(2) ? EVENT_ENTRY : EVENT_EXIT;
	if (!random_below(500)) {
		ev.kind = EVENT_LOST;
		ev.lost_cnt = random_below(4) ? random_below(100000) : (UINT64_C(1) << 48) - 1;
		return ev;
	}
	ev.tid = random_below(10) ? 1000u + ev.cpu : random_below(NFG_TASK_TID + 1);
	if (!random_below(50)) {
		ev.kind = EVENT_OUT + random_below(5);
		if (ev.kind < EVENT_GAP)
			ev.func_id = NFG_FUNC_SWITCH;
		return ev;
	}
	ev.func_id = (uint16_t)random_below(FUNC_CNT);
	ev.frame = (uint16_t)random_below(65536);
	return ev;
}

static bool is_call(const struct event *ev)
{
	return ev->kind == EVENT_ENTRY || ev->kind == EVENT_EXIT;
}

static struct event *make_events(size_t cnt)
{
	struct event *events = calloc(cnt, sizeof(*events));
	uint64_t time_ns = 1000000000;

	CHECK(events);
	for (size_t i = 0; i < cnt; i++)
		events[i] = make_event(&time_ns);
	return events;
}

static struct text name_of(uint32_t tid)
{
	return tid % 2 ? (struct text){ "odd", 3 } : (struct text){ "", 0 };
}

static unsigned int asked_cnt; /* how often for the name of RENAMED_TID */
#define RENAMED_TID 4008

static bool comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	(void)ctx;
	*is_last = tid != RENAMED_TID || time_ns >= 250;
	*name = name_of(tid);
	if (tid == RENAMED_TID) {
		*name = *is_last ? (struct text){ "curl", 4 } : (struct text){ "sh", 2 };
		return asked_cnt++ % 2 == 0; /* at two events each */
	}
	return name->len;
}

static struct recfile_writer *open_writer(const char *where, uint32_t cpu_cnt)
{
	static char *const argv[] = { "netfgraph", "record", "-o", "x", NULL };
	struct recfile_host host;
	const struct recfile_config config = { .path = where, .host = &host, .comm = comm_of };
	struct recfile_writer *w;

	make_funcs();
	recfile_host_read(&host, cpu_cnt, "netfgraph test", argv);
	CHECK(!recfile_writer_new(&w, &config));
	return w;
}

static size_t file_bytes(void)
{
	struct stat st;

	CHECK(!stat(path, &st));
	return (size_t)st.st_size;
}

static char *file_read(size_t *len)
{
	char *bytes;
	int fd = open(path, O_RDONLY);

	*len = file_bytes();
	bytes = malloc(*len + 1);
	CHECK(fd >= 0 && bytes && read(fd, bytes, *len) == (ssize_t)*len);
	bytes[*len] = 0;
	close(fd);
	return bytes;
}

static void file_write(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY);

	/* emptying it first would wait for the disk */
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !ftruncate(fd, (off_t)len));
	close(fd);
}

/* A small file of a few chunks; @cnt events, flushed every five. */
static void write_small(const struct event *events, size_t cnt)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	const struct recfile_summary summary = { .lost_full_cnt = 17 };
	const struct functab few = { funcs, 3 };

	CHECK(!recfile_writer_funcs(w, &few));
	for (size_t i = 0; i < cnt; i += 5) {
		CHECK(!recfile_writer_events(w, events + i, cnt - i < 5 ? cnt - i : 5));
		CHECK(!recfile_writer_flush(w));
	}
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(recfile_writer_bytes(w) == file_bytes());
	CHECK(!recfile_writer_close(w));
}

static struct event *small_events(size_t cnt)
{
	struct event *events = make_events(cnt);

	for (size_t i = 0; i < cnt; i++) {
		if (is_call(&events[i]))
			events[i].func_id %= 3;
	}
	return events;
}

/* ---- what is read ---- */

struct seen {
	int err;
	size_t event_cnt; /* losses too */
	size_t name_cnt;
	uint64_t tail_bytes;
	bool has_host;
	bool is_closed;
	size_t func_cnt;
	struct recfile_summary summary;
	char error[512];
};

static bool same_event(const struct event *a, const struct event *b)
{
	if (a->time_ns != b->time_ns || a->cpu != b->cpu || a->kind != b->kind)
		return false;
	return a->lost_cnt == b->lost_cnt;
}

static bool event_in_range(const struct recfile_reader *r, const struct event *ev)
{
	if (ev->kind > EVENT_TORN || ev->cpu >= recfile_reader_host(r)->cpu_cnt)
		return false;
	if (ev->kind == EVENT_LOST)
		return true;
	return ev->tid <= NFG_TASK_TID &&
	       (!is_call(ev) || ev->func_id < recfile_reader_functab(r)->cnt);
}

/* Read on to the end. What comes must be @want's events, or in range when that is NULL. */
static void read_on(struct recfile_reader *r, const struct event *want, size_t want_cnt,
		    struct seen *seen)
{
	struct recfile_item item;

	while (!seen->err) {
		seen->err = recfile_reader_next(r, &item);
		if (seen->err || item.kind == RECFILE_END)
			break;
		seen->has_host |= item.kind == RECFILE_HOST;
		seen->name_cnt += item.kind == RECFILE_NAMES ? item.cnt : 0;
		for (size_t i = 0; item.kind == RECFILE_EVENTS && i < item.cnt; i++) {
			CHECK(event_in_range(r, &item.events[i]));
			CHECK(!want || seen->event_cnt < want_cnt);
			CHECK(!want || same_event(&item.events[i], &want[seen->event_cnt]));
			seen->event_cnt++;
		}
		if (item.kind == RECFILE_SUMMARY) {
			seen->is_closed = true;
			seen->summary = *item.summary;
		}
	}
	seen->tail_bytes = recfile_reader_tail_bytes(r);
	seen->func_cnt = recfile_reader_functab(r)->cnt;
	snprintf(seen->error, sizeof(seen->error), "%s", recfile_reader_error(r));
	CHECK(!seen->err == !seen->error[0]);
}

static struct seen read_file(const struct event *want, size_t want_cnt)
{
	struct seen seen = { 0 };
	struct recfile_reader *r;

	seen.err = recfile_reader_new(&r, path);
	CHECK(r);
	read_on(r, want, want_cnt, &seen);
	recfile_reader_free(r);
	return seen;
}

/* ---- round trips ---- */

TEST(recording_gives_back_what_was_written)
{
	struct event *events = make_events(EVENT_CNT);
	const struct recfile_summary summary = { .missed_cnt = 3, .end_mono_ns = 5 };
	struct recfile_writer *w;
	uint64_t call_cnt = 0;
	struct seen seen;

	new_path();
	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	for (size_t i = 0; i < EVENT_CNT; i += 1000)
		CHECK(!recfile_writer_events(w, events + i, 1000));
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
	seen = read_file(events, EVENT_CNT);
	for (size_t i = 0; i < EVENT_CNT; i++)
		call_cnt += is_call(&events[i]);
	CHECK(!seen.err && seen.event_cnt == EVENT_CNT && !seen.tail_bytes && seen.is_closed);
	CHECK(seen.func_cnt == FUNC_CNT && seen.name_cnt > 100);
	CHECK(seen.summary.event_cnt == call_cnt && seen.summary.missed_cnt == 3);
	CHECK(!seen.summary.bad_cnt && !seen.summary.unwritten_cnt);
	free(events);
}

TEST(facts_and_functions_come_back)
{
	struct recfile_writer *w;
	struct recfile_reader *r;
	struct recfile_item item;

	new_path();
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
	const struct functab table = { many, NFG_FUNC_CNT };
	struct recfile_writer *w;
	struct seen seen;

	CHECK(many);
	for (size_t i = 0; i < NFG_FUNC_CNT; i++)
		many[i].name = (struct text){ "a_function_with_quite_a_long_name_indeed", 39 };
	new_path();
	w = open_writer(path, 1);
	CHECK(!recfile_writer_funcs(w, &table));
	CHECK(!recfile_writer_close(w));
	seen = read_file(NULL, 0);
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
	struct seen seen;

	new_path();
	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, 5));
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
	seen = read_file(&events[4], 1);
	CHECK(!seen.err && seen.event_cnt == 1 && seen.summary.bad_cnt == 4);
}

TEST(a_recording_is_readable_while_it_is_written)
{
	struct event *events = make_events(3000);
	struct seen seen = { 0 };
	struct recfile_writer *w;
	struct recfile_reader *r;

	new_path();
	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_reader_new(&r, path));
	for (size_t i = 0; i < 3000; i += 1000) {
		CHECK(!recfile_writer_events(w, events + i, 1000));
		read_on(r, events, 3000, &seen);
		CHECK(!seen.err && seen.event_cnt == i && !seen.tail_bytes);
		CHECK(!recfile_writer_flush(w));
		read_on(r, events, 3000, &seen);
		CHECK(!seen.err && seen.event_cnt == i + 1000);
	}
	CHECK(!recfile_writer_close(w));
	read_on(r, events, 3000, &seen);
	CHECK(!seen.err && !seen.is_closed && seen.event_cnt == 3000);
	recfile_reader_free(r);
	free(events);
}

/* ---- cut and damaged files ---- */

/* Where the last whole chunk ends in the first @len bytes. */
static size_t whole_bytes(const char *bytes, size_t len)
{
	size_t at = FILE_HEAD;

	while (len - at >= 16) {
		uint32_t chunk;

		memcpy(&chunk, bytes + at + 4, sizeof(chunk));
		if (chunk + 16 > len - at)
			break;
		at += chunk + 16;
	}
	return at;
}

TEST(a_file_cut_at_any_byte_gives_its_whole_chunks)
{
	struct event *events = small_events(40);
	size_t event_cnt = 0;
	struct seen seen;
	char *bytes;
	size_t len;

	new_path();
	write_small(events, 40);
	bytes = file_read(&len);
	for (size_t cut = 0; cut <= len; cut++) {
		file_write(bytes, cut);
		seen = read_file(events, 40);
		CHECK((cut < FILE_HEAD) == (seen.err != 0));
		if (cut < FILE_HEAD)
			continue;
		CHECK(seen.tail_bytes == cut - whole_bytes(bytes, cut));
		CHECK(seen.event_cnt >= event_cnt && seen.is_closed == (cut == len));
		event_cnt = seen.event_cnt;
	}
	CHECK(event_cnt == 40);
	free(bytes);
	free(events);
}

TEST(every_flipped_bit_is_noticed)
{
	struct event *events = small_events(20);
	struct seen seen;
	char *bytes;
	size_t len;

	new_path();
	write_small(events, 20);
	bytes = file_read(&len);
	for (size_t bit = 0; bit < len * 8; bit++) {
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		file_write(bytes, len);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		seen = read_file(events, 20);
		/* a higher minor version is none of a reader's business */
		CHECK(bit / 8 == 14 || bit / 8 == 15 || seen.err || seen.tail_bytes);
	}
	free(bytes);
	free(events);
}

static void check_head(size_t at, char value, int err, const char *words)
{
	struct seen seen;
	char *bytes;
	size_t len;

	write_small(NULL, 0);
	bytes = file_read(&len);
	bytes[at] = value;
	file_write(bytes, len);
	seen = read_file(NULL, 0);
	CHECK(seen.err == err);
	CHECK(strstr(seen.error, words) && strstr(seen.error, path) && !strchr(seen.error, '\n'));
	free(bytes);
}

TEST(other_files_and_versions_are_refused)
{
	struct seen seen;

	new_path();
	seen = read_file(NULL, 0);
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "empty"));
	file_write("# tracer: function_graph\n", 25);
	seen = read_file(NULL, 0);
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "no recording"));
	check_head(0, 'x', -EBADMSG, "no recording");
	check_head(8, 1, -EBADMSG, "byte 8");
	check_head(12, 2, -EPROTONOSUPPORT, "version 2.");
	unlink(path);
	seen = read_file(NULL, 0);
	CHECK(seen.err == -ENOENT && strstr(seen.error, "No such file"));
}

TEST(the_other_byte_order_is_refused)
{
	struct seen seen;
	char *bytes;
	size_t len;

	new_path();
	write_small(NULL, 0);
	bytes = file_read(&len);
	for (int i = 0; i < 2; i++) {
		char c = bytes[8 + i];

		bytes[8 + i] = bytes[11 - i];
		bytes[11 - i] = c;
	}
	file_write(bytes, len);
	seen = read_file(NULL, 0);
	CHECK(seen.err == -EPROTONOSUPPORT && strstr(seen.error, "byte order"));
	free(bytes);
}

/* ---- files that lie, checksums and all ---- */

static uint32_t get_u32(const char *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

static void put_u32(char *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

/* Number the chunks and make their checksums right. */
static void seal(char *bytes, size_t len)
{
	uint32_t seq = 0;

	for (size_t at = FILE_HEAD; at + 16 <= len;) {
		char *head = bytes + at;
		uint32_t cnt = get_u32(head + 4);
		uLong crc;

		if (cnt > len - at - 16)
			return;
		put_u32(head + 8, seq++);
		crc = crc32(crc32(0, (Bytef *)head, 12), (Bytef *)head + 16, cnt);
		put_u32(head + 12, (uint32_t)crc);
		at += 16 + cnt;
	}
}

/* The first chunk of @type. */
static char *find_chunk(char *bytes, size_t len, const char *type)
{
	for (size_t at = FILE_HEAD; at + 16 <= len; at += 16 + get_u32(bytes + at + 4)) {
		if (!memcmp(bytes + at, type, 4))
			return bytes + at;
	}
	CHECK(!"no such chunk");
	return NULL;
}

/* A file of one task's two events, the second call's word replaced. */
static struct seen read_word(uint64_t word, uint32_t event_cnt)
{
	const struct event events[] = { { .time_ns = 10, .tid = 7 },
					{ .time_ns = 20, .tid = 7, .kind = EVENT_EXIT } };
	struct seen seen;
	char *chunk;
	char *bytes;
	size_t len;

	write_small(events, 2);
	bytes = file_read(&len);
	chunk = find_chunk(bytes, len, "EVNT");
	CHECK(get_u32(chunk + 4) == 24 + 3 * 8);
	memcpy(chunk + 16 + 24 + 2 * 8, &word, sizeof(word));
	put_u32(chunk + 16 + 16, event_cnt);
	seal(bytes, len);
	file_write(bytes, len);
	seen = read_file(NULL, 0);
	free(bytes);
	return seen;
}

TEST(events_out_of_range_are_refused)
{
	struct seen seen;

	new_path();
	seen = read_word(UINT64_C(2) << 32, 2); /* an entry of the last function */
	CHECK(!seen.err && seen.event_cnt == 2);
	seen = read_word(UINT64_C(3) << 32, 2); /* of the one behind it */
	CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	seen = read_word(9 << 3, 2); /* of a lane nobody is on */
	CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	seen = read_word(2 | CPU_CNT << 3, 1); /* a loss on a CPU there is not */
	CHECK(seen.err == -EBADMSG);
	seen = read_word(3 | CPU_CNT << 11, 1); /* a lane on it */
	CHECK(seen.err == -EBADMSG);
	seen = read_word(3 | (uint64_t)(NFG_TASK_TID + 1) << 32, 1); /* a lane of no task */
	CHECK(seen.err == -EBADMSG);
	seen = read_word(6, 1);
	CHECK(seen.err == -EBADMSG);
	seen = read_word(7, 1);
	CHECK(seen.err == -EBADMSG);
	seen = read_word(0, 3); /* fewer events than promised */
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "fewer"));
	seen = read_word(OP_TIME | 5 << 3, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
}

TEST(what_later_versions_add_to_an_event_is_skipped)
{
	struct seen seen;

	new_path();
	seen = read_word(OP_EXTRA, 1); /* nothing follows, none promised */
	CHECK(!seen.err && seen.event_cnt == 1);
	seen = read_word(OP_EXTRA | 1 << 16, 1); /* the chunk ends too soon */
	CHECK(seen.err == -EBADMSG);
}

/* A switch, but on a CPU there is not, of no task, or cut: nothing else comes of the chunk. */
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
	struct seen seen;

	new_path();
	write_small(events, 7);
	seen = read_file(want, 2);
	CHECK(!seen.err && seen.event_cnt == 2);
	CHECK(seen.summary.bad_cnt == 5 && !seen.summary.event_cnt);
	seen = read_word(OP_EXTRA | 1 << 3 | 2 << 16, 1);
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
	struct seen seen;

	new_path();
	write_small(events, 10);
	seen = read_file(events, 10);
	CHECK(!seen.err && seen.event_cnt == 10);
	CHECK(!seen.summary.bad_cnt && seen.summary.event_cnt == 2);
	write_small(&events[6], 2);
	seen = read_file(&events[6], 2);
	CHECK(!seen.err && seen.event_cnt == 2);
	for (uint64_t kind = 4; kind <= 7; kind++) {
		seen = read_word(OP_EXTRA | kind << 3 | 2 << 16, 1); /* cut */
		CHECK(seen.err == -EBADMSG);
	}
}

TEST(unknown_chunks_are_skipped)
{
	struct event *events = small_events(20);
	char unknown[16 + 40] = "LATR";
	struct seen seen;
	char *bytes;
	char *copy;
	size_t len;

	new_path();
	write_small(events, 20);
	bytes = file_read(&len);
	copy = malloc(len + sizeof(unknown));
	CHECK(copy);
	put_u32(unknown + 4, 40);
	for (size_t at = FILE_HEAD; at < len; at += 16 + get_u32(bytes + at + 4)) {
		if (at == FILE_HEAD)
			continue; /* the host's facts come first */
		memcpy(copy, bytes, at);
		memcpy(copy + at, unknown, sizeof(unknown));
		memcpy(copy + at + sizeof(unknown), bytes + at, len - at);
		seal(copy, len + sizeof(unknown));
		file_write(copy, len + sizeof(unknown));
		seen = read_file(events, 20);
		CHECK(!seen.err && seen.event_cnt == 20 && seen.is_closed);
	}
	free(copy);
	free(bytes);
	free(events);
}

TEST(a_missing_chunk_is_noticed)
{
	struct event *events = small_events(20);
	struct seen seen;
	char *bytes;
	char *chunk;
	size_t len;
	size_t gone;

	new_path();
	write_small(events, 20);
	bytes = file_read(&len);
	chunk = find_chunk(bytes, len, "EVNT");
	gone = 16 + get_u32(chunk + 4);
	memmove(chunk, chunk + gone, len - gone - (size_t)(chunk - bytes));
	file_write(bytes, len - gone);
	seen = read_file(NULL, 0);
	CHECK(seen.err == -EBADMSG && strstr(seen.error, "missing"));
	free(bytes);
	free(events);
}

TEST(nonsense_under_a_right_checksum_does_no_harm)
{
	struct event *events = small_events(60);
	char *bytes;
	char *copy;
	size_t len;

	new_path();
	write_small(events, 60);
	bytes = file_read(&len);
	copy = malloc(len);
	CHECK(copy);
	for (int round = 0; round < 5000; round++) {
		memcpy(copy, bytes, len);
		for (uint32_t i = random_below(8) + 1; i; i--) {
			size_t at = FILE_HEAD + random_below((uint32_t)len - FILE_HEAD);

			copy[at] = random_below(2) ? (char)random_below(256)
						   : (char)(copy[at] ^ 1 << random_below(8));
		}
		seal(copy, len);
		file_write(copy, len);
		read_file(NULL, 0);
	}
	free(copy);
	free(bytes);
	free(events);
}

/* ---- values, what they are, and callers ---- */

#define VALUES_WORD_CNT (1u << 18)
#define CALLER_CNT      3000u

/* What the type chunk holds is none of the file's business. */
static const char types[] = "types of twenty-seven bytes";

static struct values *new_values(void)
{
	struct values *vs;

	CHECK(!values_new(&vs, VALUES_WORD_CNT));
	return vs;
}

/* Told by the event alone, so that it need not be kept; many events have none. */
static struct call_values values_of(const struct event *ev)
{
	uint32_t kind = ev->frame % 64;
	struct call_values call = { 0 };

	if (ev->kind == EVENT_LOST || kind >= 52)
		return call;
	call.arg_cnt = (uint8_t)(kind % 13);
	call.has_caller = kind / 13 & 1;
	call.has_ret = kind / 26;
	for (uint32_t i = 0; i < call.arg_cnt; i++)
		call.args[i] = ~(uint64_t)ev->func_id << i;
	if (call.has_caller)
		call.caller = 0xffffffff81000000 + ev->frame % CALLER_CNT;
	if (call.has_ret)
		call.ret = ev->time_ns;
	return call;
}

static bool has_values(const struct call_values *call)
{
	return call->arg_cnt || call->has_caller || call->has_ret;
}

static void put_values(struct values *vs, struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct call_values call = values_of(&events[i]);

		events[i].values = has_values(&call) ? values_put(vs, &call) : 0;
	}
}

static void check_values(struct values *vs, const struct event *ev)
{
	const struct call_values want = values_of(ev);
	struct call_values got;

	CHECK(values_get(vs, ev->values, &got) == has_values(&want));
	CHECK(got.arg_cnt == want.arg_cnt && got.has_caller == want.has_caller);
	CHECK(got.has_ret == want.has_ret && got.caller == want.caller && got.ret == want.ret);
	CHECK(!memcmp(got.args, want.args, sizeof(got.args)));
}

/* Who has been told how an address is written: the writer's side or the reader's. */
static bool is_told[CALLER_CNT];
static size_t told_cnt;

static struct text caller_text(uint64_t addr)
{
	static char name[32];
	int len = snprintf(name, sizeof(name), "func+0x%x/0x%x [mod]",
			   (unsigned int)(addr % 0x1000000), CALLER_CNT);

	return (struct text){ name, (size_t)len };
}

static bool caller_of(void *ctx, uint64_t addr, struct text *name)
{
	uint64_t idx = addr - 0xffffffff81000000;

	(void)ctx;
	CHECK(idx < CALLER_CNT);
	*name = caller_text(addr);
	if (is_told[idx])
		return false;
	return is_told[idx] = true;
}

/* No kernel has such a name, and a reader takes none that is longer than any kernel's. */
static bool long_caller(void *ctx, uint64_t addr, struct text *name)
{
	static char text[3000];

	(void)ctx;
	(void)addr;
	memset(text, 'x', sizeof(text));
	*name = (struct text){ text, sizeof(text) };
	return true;
}

TEST(an_endless_return_address_is_cut_to_what_readers_take)
{
	const struct event event = { .time_ns = 1, .tid = 7, .frame = 40 };
	const struct call_values call = { .has_caller = true, .caller = 0xffffffff81000000 };
	struct values *vs = new_values();
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .comm = comm_of, .values = vs, .caller = long_caller
	};
	struct recfile_writer *w;
	struct event ev = event;
	struct seen seen;

	new_path();
	make_funcs();
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config) && !recfile_writer_funcs(w, &functab));
	ev.values = values_put(vs, &call);
	CHECK(!recfile_writer_events(w, &ev, 1) && !recfile_writer_close(w));
	seen = read_file(&event, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
	values_free(vs);
}

static struct recfile_writer *open_values_writer(struct values *vs)
{
	struct recfile_host host;
	const struct recfile_config config = {
		.path = path, .host = &host, .comm = comm_of, .values = vs, .caller = caller_of
	};
	struct recfile_writer *w;

	make_funcs();
	memset(is_told, 0, sizeof(is_told));
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_new(&w, &config));
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_types(w, types, sizeof(types) - 1));
	return w;
}

/* @cnt events, flushed every @step. */
static void write_values(struct event *events, size_t cnt, size_t step)
{
	struct values *vs = new_values();
	struct recfile_writer *w = open_values_writer(vs);
	const struct recfile_summary summary = { 0 };

	for (size_t i = 0; i < cnt; i += step) {
		size_t part = cnt - i < step ? cnt - i : step;

		put_values(vs, events + i, part);
		CHECK(!recfile_writer_events(w, events + i, part));
		CHECK(!recfile_writer_flush(w));
	}
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w) && !values_missed_cnt(vs));
	values_free(vs);
}

static void check_item(const struct recfile_item *item, struct values *vs)
{
	if (item->kind == RECFILE_TYPES)
		CHECK(item->cnt >= sizeof(types) - 1 &&
		      !memcmp(item->types, types, sizeof(types) - 1));
	for (size_t i = 0; item->kind == RECFILE_CALLERS && i < item->cnt; i++) {
		const struct recfile_caller *caller = &item->callers[i];
		const struct text want = caller_text(caller->addr);

		CHECK(caller->name.len == want.len);
		CHECK(!memcmp(caller->name.ptr, want.ptr, want.len));
		CHECK(!is_told[caller->addr - 0xffffffff81000000]);
		is_told[caller->addr - 0xffffffff81000000] = true;
		told_cnt++;
	}
	for (size_t i = 0; item->kind == RECFILE_EVENTS && i < item->cnt; i++) {
		const struct call_values want = values_of(&item->events[i]);

		check_values(vs, &item->events[i]);
		CHECK(!want.has_caller || is_told[want.caller - 0xffffffff81000000]);
	}
}

/* Read all: whatever comes must have its values, and its caller been told before. */
static struct seen read_values(const struct event *want, size_t want_cnt, size_t *types_cnt)
{
	struct values *vs = new_values();
	struct recfile_reader *r;
	struct recfile_item item;
	struct seen seen = { .err = recfile_reader_new(&r, path) };

	memset(is_told, 0, sizeof(is_told));
	told_cnt = 0;
	*types_cnt = 0;
	recfile_reader_values(r, vs);
	while (!seen.err && !(seen.err = recfile_reader_next(r, &item)) && item.kind) {
		*types_cnt += item.kind == RECFILE_TYPES;
		check_item(&item, vs);
		for (size_t i = 0; item.kind == RECFILE_EVENTS && i < item.cnt; i++) {
			CHECK(seen.event_cnt < want_cnt);
			CHECK(same_event(&item.events[i], &want[seen.event_cnt++]));
		}
		seen.is_closed |= item.kind == RECFILE_SUMMARY;
	}
	seen.tail_bytes = recfile_reader_tail_bytes(r);
	CHECK(!seen.err == !recfile_reader_error(r)[0]);
	recfile_reader_free(r);
	values_free(vs);
	return seen;
}

TEST(values_and_callers_come_back_with_their_events)
{
	struct event *events = make_events(EVENT_CNT);
	struct seen seen;
	size_t types_cnt;

	new_path();
	write_values(events, EVENT_CNT, 20000); /* several full chunks between two flushes */
	seen = read_values(events, EVENT_CNT, &types_cnt);
	CHECK(!seen.err && seen.event_cnt == EVENT_CNT && seen.is_closed && types_cnt == 1);
	CHECK(told_cnt > CALLER_CNT / 2); /* in more than one chunk */
	write_values(events, 1000, 7);
	seen = read_values(events, 1000, &types_cnt);
	CHECK(!seen.err && seen.event_cnt == 1000 && seen.is_closed);
	/* who does not ask for values gets the same events */
	seen = read_file(events, 1000);
	CHECK(!seen.err && seen.event_cnt == 1000);
	free(events);
}

/* The last event of what the reader gives at a time, and the first of the next. */
TEST(values_at_the_edge_of_a_batch_come_with_their_event)
{
	struct event *events = calloc(RECFILE_BATCH_CNT + 2, sizeof(*events));
	struct seen seen;
	size_t types_cnt;

	CHECK(events);
	new_path();
	for (size_t skew = 0; skew < 3; skew++) {
		size_t cnt = RECFILE_BATCH_CNT + skew;

		for (size_t i = 0; i < cnt; i++)
			events[i] = (struct event){ .time_ns = i, .tid = 7, .frame = 64 + 26 + 2 };
		write_values(events, cnt, cnt);
		seen = read_values(events, cnt, &types_cnt);
		CHECK(!seen.err && seen.event_cnt == cnt);
	}
	free(events);
}

TEST(a_recording_with_values_cut_at_any_byte_gives_its_whole_chunks)
{
	struct event *events = make_events(30);
	size_t event_cnt = 0;
	struct seen seen;
	size_t types_cnt;
	char *bytes;
	size_t len;

	new_path();
	write_values(events, 30, 5);
	bytes = file_read(&len);
	for (size_t cut = FILE_HEAD; cut <= len; cut++) {
		file_write(bytes, cut);
		seen = read_values(events, 30, &types_cnt);
		CHECK(!seen.err && seen.tail_bytes == cut - whole_bytes(bytes, cut));
		CHECK(seen.event_cnt >= event_cnt && seen.is_closed == (cut == len));
		event_cnt = seen.event_cnt;
	}
	CHECK(event_cnt == 30 && told_cnt);
	free(bytes);
	free(events);
}

TEST(every_flipped_bit_of_values_is_noticed)
{
	struct event *events = make_events(10);
	struct seen seen;
	size_t types_cnt;
	char *chunk;
	char *bytes;
	size_t len;

	new_path();
	write_values(events, 10, 10);
	bytes = file_read(&len);
	chunk = find_chunk(bytes, len, "TYPE");
	for (size_t bit = (size_t)(chunk - bytes) * 8; bit < len * 8; bit++) {
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		file_write(bytes, len);
		bytes[bit / 8] ^= (char)(1 << bit % 8);
		seen = read_values(events, 10, &types_cnt);
		CHECK(seen.err || seen.tail_bytes);
	}
	free(bytes);
	free(events);
}

/*
 * A file of one entry with two arguments and a result, and one exit without anything. Its words: lane,
 * entry, extra, which values, three values, exit. Word @idx is replaced.
 */
static struct seen read_extra(uint32_t idx, uint64_t word)
{
	struct event events[] = { { .time_ns = 10, .tid = 7, .frame = 26 + 2 },
				  { .time_ns = 20, .tid = 7, .frame = 63, .kind = EVENT_EXIT } };
	struct seen seen;
	char *chunk;
	char *bytes;
	size_t len;

	write_values(events, 2, 2);
	bytes = file_read(&len);
	chunk = find_chunk(bytes, len, "EVNT");
	CHECK(get_u32(chunk + 4) == 24 + 8 * 8);
	memcpy(chunk + 16 + 24 + (size_t)idx * 8, &word, sizeof(word));
	seal(bytes, len);
	file_write(bytes, len);
	seen = read_file(NULL, 0);
	free(bytes);
	return seen;
}

static uint64_t extra(uint64_t kind, uint64_t cnt)
{
	return OP_EXTRA | kind << 3 | cnt << 16;
}

TEST(values_that_contradict_themselves_are_refused)
{
	static const uint64_t bad[] = { 0, 1, 2, 4, 2 | 0x300, 3 | 0x200, 13 | 0x200, 255 };
	struct seen seen;

	new_path();
	seen = read_extra(2, extra(3, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
	seen = read_extra(3, 2 | 0x200);
	CHECK(!seen.err && seen.event_cnt == 2);
	seen = read_extra(3, 2 | 0x100); /* as many, called another thing */
	CHECK(!seen.err && seen.event_cnt == 2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		seen = read_extra(3, bad[i]);
		CHECK(seen.err == -EBADMSG && seen.event_cnt == 1);
	}
	for (uint64_t cnt = 0; cnt < 10; cnt++) {
		seen = read_extra(2, extra(3, cnt));
		CHECK(cnt == 4 ? !seen.err : seen.err == -EBADMSG);
	}
	seen = read_extra(2, extra(3, 0xffff));
	CHECK(seen.err == -EBADMSG);
}

TEST(extra_words_of_a_later_kind_are_skipped)
{
	struct seen seen;

	new_path();
	seen = read_extra(2, extra(0x1000, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
	seen = read_extra(2, extra(0x1fff, 4));
	CHECK(!seen.err && seen.event_cnt == 2);
	seen = read_extra(2, extra(0x1000, 6));
	CHECK(seen.err == -EBADMSG);
}

/* They would be of an event of the chunk before. */
TEST(values_before_any_event_of_a_chunk_do_no_harm)
{
	struct seen seen;

	new_path();
	/* in the lane's place: no words, and one that is the entry's */
	seen = read_extra(0, extra(3, 0));
	CHECK(seen.err == -EBADMSG && !seen.event_cnt);
	seen = read_extra(0, extra(3, 1));
	CHECK(seen.err == -EBADMSG && !seen.event_cnt);
}

TEST(nonsense_in_values_under_a_right_checksum_does_no_harm)
{
	struct event *events = make_events(60);
	struct recfile_item item;
	char *bytes;
	char *copy;
	size_t len;

	new_path();
	write_values(events, 60, 20);
	bytes = file_read(&len);
	copy = malloc(len);
	CHECK(copy);
	for (int round = 0; round < 5000; round++) {
		struct recfile_reader *r;
		struct values *vs;

		memcpy(copy, bytes, len);
		for (uint32_t i = random_below(8) + 1; i; i--)
			copy[FILE_HEAD + random_below((uint32_t)len - FILE_HEAD)] ^=
				(char)(1 << random_below(8));
		seal(copy, len);
		file_write(copy, len);
		CHECK(!values_new(&vs, 1024));
		CHECK(!recfile_reader_new(&r, path));
		recfile_reader_values(r, vs);
		while (!recfile_reader_next(r, &item) && item.kind)
			;
		recfile_reader_free(r);
		values_free(vs);
	}
	free(copy);
	free(bytes);
	free(events);
}

/* Also when the chunk that has no room is one of callers, each event counts once. */
TEST(a_file_that_may_not_grow_counts_events_with_callers_once)
{
	const struct rlimit limit = { 30000, 30000 };
	struct event *events = make_events(CALLER_CNT);
	const struct recfile_summary summary = { 0 };
	struct values *vs = new_values();
	struct recfile_writer *w;
	struct seen seen;
	int err = 0;

	new_path();
	for (size_t i = 0; i < CALLER_CNT; i++) /* its caller is another each time */
		events[i] = (struct event){ .time_ns = i + 1, .tid = 7, .frame = (uint16_t)i };
	put_values(vs, events, CALLER_CNT);
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	CHECK(freopen("/dev/null", "w", stderr));
	w = open_values_writer(vs);
	for (size_t i = 0; i < CALLER_CNT; i += 100)
		err = recfile_writer_events(w, events + i, 100);
	CHECK(err == -EFBIG);
	CHECK(recfile_writer_summary(w, &summary) == -EFBIG);
	CHECK(recfile_writer_close(w) == -EFBIG);
	seen = read_file(NULL, 0);
	CHECK(!seen.err && seen.is_closed && seen.event_cnt < CALLER_CNT);
	CHECK(seen.summary.event_cnt + seen.summary.unwritten_cnt == CALLER_CNT);
	values_free(vs);
	free(events);
}

/* ---- writers that cannot ---- */

static void quiet(void)
{
	CHECK(freopen("/dev/null", "w", stderr));
}

TEST(a_device_without_room_fails_at_once)
{
	struct recfile_host host;
	const struct recfile_config config = { .path = "/dev/full", .host = &host };
	struct recfile_writer *w = NULL;

	quiet();
	recfile_host_read(&host, 1, "test", NULL);
	CHECK(recfile_writer_new(&w, &config) == -ENOSPC && !w);
}

/* Write until it fails. What stands in the file then must be whole and say what it lacks. */
static void check_full(int want_err)
{
	struct event *events = make_events(EVENT_CNT);
	const struct recfile_summary summary = { 0 };
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	uint64_t call_cnt = 0;
	struct seen seen;
	int err = recfile_writer_funcs(w, &functab);

	quiet();
	CHECK(!err);
	for (size_t i = 0; i < EVENT_CNT; i += 1000)
		err = recfile_writer_events(w, events + i, 1000);
	CHECK(err == want_err);
	CHECK(recfile_writer_summary(w, &summary) == want_err);
	CHECK(recfile_writer_close(w) == want_err);
	seen = read_file(events, EVENT_CNT);
	CHECK(!seen.err && !seen.tail_bytes && seen.event_cnt > 1000);
	CHECK(seen.event_cnt < EVENT_CNT && seen.is_closed);
	for (size_t i = seen.event_cnt; i < EVENT_CNT; i++)
		call_cnt += is_call(&events[i]);
	CHECK(seen.summary.unwritten_cnt == call_cnt);
	free(events);
}

TEST(a_file_that_may_not_grow_stays_whole)
{
	const struct rlimit limit = { 600000, 600000 };

	new_path();
	signal(SIGXFSZ, SIG_IGN);
	CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
	check_full(-EFBIG);
}

TEST(a_full_disk_leaves_a_whole_file)
{
	char dir[] = "/tmp/recfile.XXXXXX";

	CHECK(mkdtemp(dir));
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("none", dir, "tmpfs", 0, "size=600k")) {
		rmdir(dir);
		SKIP("needs root to mount a small file system");
	}
	snprintf(path, sizeof(path), "%s/x", dir);
	check_full(-ENOSPC);
	CHECK(!umount(dir));
	rmdir(dir);
}

/* Write until killed: after each flush tell how many events must be found. */
static void write_forever(const struct event *events, int fd)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);

	recfile_writer_funcs(w, &functab);
	for (size_t i = 0; i + 50 <= EVENT_CNT; i += 50) {
		recfile_writer_events(w, events + i, 50);
		if (i % 1000 == 0) {
			uint64_t cnt = i + 50;

			recfile_writer_flush(w);
			if (write(fd, &cnt, sizeof(cnt)) < 0)
				_exit(1);
		}
	}
	for (;;)
		pause();
}

static void kill_one(const struct event *events)
{
	struct timespec ts = { .tv_nsec = (long)random_below(8000000) };
	uint64_t promised = 0;
	struct seen seen;
	int fds[2];
	pid_t pid;

	CHECK(!pipe(fds));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid)
		write_forever(events, fds[1]);
	close(fds[1]);
	CHECK(read(fds[0], &promised, sizeof(promised)) == sizeof(promised));
	nanosleep(&ts, NULL);
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
	while (read(fds[0], &promised, sizeof(promised)) == sizeof(promised))
		;
	close(fds[0]);
	seen = read_file(events, EVENT_CNT);
	CHECK(!seen.err && !seen.is_closed && seen.event_cnt >= promised);
}

TEST(a_killed_writer_leaves_a_readable_file)
{
	struct event *events = make_events(EVENT_CNT);

	new_path();
	for (int i = 0; i < 100; i++)
		kill_one(events);
	free(events);
}

/* ---- reports ---- */

struct told {
	int err;
	struct report_stats stats;
	char *text;
	char *said; /* on stderr */
};

static char *slurp(int fd)
{
	off_t len = lseek(fd, 0, SEEK_END);
	char *bytes = malloc((size_t)len + 1);

	CHECK(bytes && pread(fd, bytes, (size_t)len, 0) == len);
	bytes[len] = 0;
	close(fd);
	return bytes;
}

static int temp_fd(void)
{
	FILE *file = tmpfile();

	CHECK(file);
	return fileno(file);
}

static const struct opts *chosen; /* what report_file shows; NULL: all */

/* Report the file with @columns, NULL for its own. */
static struct told report_file(bool is_text, const struct render_columns *columns,
			       uint32_t depth_max)
{
	int fd = temp_fd();
	struct output output = { .file.fd = fd };
	struct report_text text;
	const struct report_config config = {
		.path = path,
		.is_text = is_text,
		.depth_max = depth_max,
		.opts = chosen,
		.sink = report_text_sink(&text, columns, &output),
	};
	int said = temp_fd();
	int old = dup(STDERR_FILENO);
	struct told told;

	CHECK(dup2(said, STDERR_FILENO) >= 0);
	told.err = report_run(&config, &told.stats);
	CHECK(dup2(old, STDERR_FILENO) >= 0);
	close(old);
	CHECK(!output_close(&output));
	report_text_release(&text);
	told.text = slurp(fd);
	told.said = slurp(said);
	return told;
}

static void told_free(struct told *told)
{
	free(told->text);
	free(told->said);
}

static struct told report_text(const char *trace, const struct render_columns *columns)
{
	file_write(trace, strlen(trace));
	return report_file(true, columns, 0);
}

struct direct {
	struct render render;
	struct strbuf out;
};

static void direct_row(void *ctx, struct row *row)
{
	struct direct *d = ctx;

	/* tasks with odd numbers have a name: comm_of */
	row->task.comm = name_of(row->task.tid);
	row->prev.comm = name_of(row->prev.tid);
	render_row(&d->render, row, &d->out);
}

TEST(a_report_is_what_the_live_trace_would_have_printed)
{
	struct event *events = make_events(EVENT_CNT);
	struct direct direct = { 0 };
	const struct graph_config config = {
		.functab = &functab, .cpu_cnt = CPU_CNT, .emit = direct_row, .ctx = &direct
	};
	struct recfile_writer *w;
	struct graph *graph;
	struct told told;

	new_path();
	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, EVENT_CNT));
	CHECK(!recfile_writer_close(w));
	CHECK(!render_init(&direct.render, &render_columns_default, 3));
	render_header(&direct.render, &direct.out);
	CHECK(!graph_new(&graph, &config) && !graph_feed(graph, events, EVENT_CNT));
	graph_finish(graph);
	strbuf_char(&direct.out, 0);
	told = report_file(false, NULL, 0);
	CHECK(!told.err && told.stats.row_cnt > EVENT_CNT / 2);
	CHECK(!strcmp(told.text, direct.out.ptr));
	CHECK(strstr(told.said, "was not closed") && strstr(told.said, "events were lost while"));
	CHECK(report_has_losses(&told.stats));
	told_free(&told);
	graph_free(graph);
	render_release(&direct.render);
	strbuf_release(&direct.out);
	free(events);
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

/* Both among the events; @after are behind the first. */
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

static void direct_comment(struct direct *d, const struct leftout *lo)
{
	struct strbuf text = { 0 };
	struct row row = { .kind = ROW_COMMENT, .time_ns = lo->time_ns };

	leftout_text(&text, lo, &functab);
	row.text = (struct text){ text.ptr, text.len };
	render_row(&d->render, &row, &d->out);
	strbuf_release(&text);
}

TEST(what_was_left_out_is_reported_where_the_live_trace_had_it)
{
	const size_t after = EVENT_CNT / 3;
	struct event *events = make_events(EVENT_CNT);
	struct direct direct = { 0 };
	const struct graph_config config = {
		.functab = &functab, .cpu_cnt = CPU_CNT, .emit = direct_row, .ctx = &direct
	};
	struct graph *graph;
	struct told told;

	new_path();
	write_left(events, EVENT_CNT, after);
	CHECK(!render_init(&direct.render, &render_columns_default, 3));
	render_header(&direct.render, &direct.out);
	CHECK(!graph_new(&graph, &config) && !graph_feed(graph, events, EVENT_CNT - after));
	direct_comment(&direct, &left_out);
	CHECK(!graph_feed(graph, events + EVENT_CNT - after, after));
	direct_comment(&direct, &left_end);
	graph_finish(graph);
	strbuf_char(&direct.out, 0);
	told = report_file(false, NULL, 0);
	CHECK(!told.err && !strcmp(told.text, direct.out.ptr));
	CHECK(strstr(
		told.text,
		"/* left out tcp_func_7.isra.0, tcp_func_3.isra.0, tcp_func_0.isra.0: the trace "
		"records 91000 events a second, --max-events is 50000 */\n"));
	CHECK(strstr(told.text, "/* the trace ends, no function is left to leave out: "));
	CHECK(strstr(told.said, ": 3 functions were left out while recording: --max-events\n"));
	told_free(&told);
	graph_free(graph);
	render_release(&direct.render);
	strbuf_release(&direct.out);
	free(events);
}

/* A table has no row of its own for it. */
TEST(what_was_left_out_is_told_beside_a_table)
{
	const struct opts table = { .verb = VERB_PROFILE };
	struct event *events = small_events(20);
	struct told told;

	new_path();
	write_left(events, 20, 10);
	chosen = &table;
	told = report_file(false, NULL, 0);
	chosen = NULL;
	CHECK(!told.err);
	CHECK(strstr(told.said, "': left out tcp_func_7.isra.0, tcp_func_3.isra.0, "));
	CHECK(strstr(told.said, "': the trace ends, no function is left to leave out: "));
	CHECK(strstr(told.said, ": 3 functions were left out while recording: --max-events\n"));
	told_free(&told);
	free(events);
}

/* The first LEFT chunk of the file with @value at byte @at of its content, and the checksums right. */
static struct seen read_left_with(size_t at, uint32_t value)
{
	struct seen seen;
	char *bytes;
	size_t len;

	bytes = file_read(&len);
	put_u32(find_chunk(bytes, len, "LEFT") + 16 + at, value);
	seal(bytes, len);
	file_write(bytes, len);
	seen = read_file(NULL, 0);
	free(bytes);
	return seen;
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

	new_path();
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct seen seen;

		write_left(events, 20, 10);
		seen = read_left_with(changes[i].at, changes[i].value);
		CHECK(seen.err == changes[i].err);
		CHECK(seen.event_cnt == (seen.err ? 10 : 20) && seen.is_closed == !seen.err);
	}
	free(events);
}

static void write_names(void)
{
	static const struct event events[] = {
		{ .time_ns = 100, .tid = RENAMED_TID },
		{ .time_ns = 200, .tid = RENAMED_TID, .kind = EVENT_EXIT },
		{ .time_ns = 300, .tid = RENAMED_TID, .func_id = 1 },
		{ .time_ns = 400, .tid = RENAMED_TID, .kind = EVENT_EXIT, .func_id = 1 },
		{ .time_ns = 500, .tid = 10, .func_id = 2 },
		{ .time_ns = 600, .tid = 10, .kind = EVENT_EXIT, .func_id = 2 },
	};
	const struct recfile_summary summary = { .lost_full_cnt = 17 };
	struct recfile_writer *w = open_writer(path, 1);

	CHECK(!recfile_writer_funcs(w, &functab));
	asked_cnt = 0;
	CHECK(!recfile_writer_events(w, events, 3) && asked_cnt == 3);
	recfile_writer_renamed(w, RENAMED_TID);
	CHECK(!recfile_writer_events(w, events + 3, 3) && asked_cnt == 4);
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(!recfile_writer_close(w));
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
	struct told told;

	new_path();
	write_names();
	told = report_file(false, &columns, 0);
	CHECK_STR(told.text, want);
	CHECK(!told.err && report_has_losses(&told.stats));
	CHECK(strstr(told.said, ": 17 events were lost: a ring was full\n"));
	told_free(&told);
}

/* Its account ends before the two numbers that 1.3 added. */
TEST(a_recording_of_version_1_2_is_read)
{
	struct told told;
	char *bytes;
	size_t len;

	new_path();
	write_names();
	bytes = file_read(&len);
	put_u32(find_chunk(bytes, len, "SUMM") + 4, 72);
	seal(bytes, len - 16);
	file_write(bytes, len - 16);
	told = report_file(false, NULL, 0);
	CHECK(!told.err && told.stats.is_closed && !told.stats.tail_bytes);
	CHECK(told.stats.summary.lost_full_cnt == 17 && !told.stats.summary.lost_rate_cnt);
	told_free(&told);
	free(bytes);
}

TEST(a_damaged_recording_is_shown_up_to_the_damage)
{
	struct told told;
	char *bytes;
	size_t len;

	new_path();
	write_names();
	bytes = file_read(&len);
	bytes[len - 1] ^= 1;
	file_write(bytes, len);
	told = report_file(false, NULL, 0);
	CHECK(told.err == -EBADMSG && told.stats.call_cnt == 3 && strstr(told.text, "func_2"));
	CHECK(strstr(told.said, "damaged at byte ") && strstr(told.said, "checksum"));
	told_free(&told);
	file_write(bytes, len - 1);
	told = report_file(false, NULL, 0);
	CHECK(!told.err && told.stats.tail_bytes == 16 + sizeof(struct recfile_summary) - 1);
	CHECK(strstr(told.said, "ends inside a chunk: 103 bytes ignored"));
	told_free(&told);
	free(bytes);
}

static void count_row(void *ctx, struct row *row)
{
	uint64_t *cpu_1_cnt = ctx;

	*cpu_1_cnt += row->cpu == 1 && row->kind != ROW_LOST;
	CHECK(row->cpu == 1 || row->kind == ROW_LOST);
}

static int begin_count(void *ctx, const struct report_facts *facts)
{
	(void)ctx;
	return facts->host && facts->cpu_width == 3 && facts->functab ? 0 : -EINVAL;
}

static int stop_after(void *ctx)
{
	return *(uint64_t *)ctx > 1000 ? -EPIPE : 0;
}

TEST(a_report_can_be_choosy_and_be_stopped)
{
	struct event *events = make_events(EVENT_CNT);
	struct report_stats stats;
	struct recfile_writer *w;
	uint64_t row_cnt = 0;
	const struct opts opts = { .has_cpus = true, .cpus = { { 1u << 1 } } };
	const struct report_config config = {
		.path = path,
		.opts = &opts,
		.sink = { .begin = begin_count,
			  .row = count_row,
			  .flush = stop_after,
			  .ctx = &row_cnt },
	};

	new_path();
	quiet();
	w = open_writer(path, CPU_CNT);
	CHECK(!recfile_writer_funcs(w, &functab));
	CHECK(!recfile_writer_events(w, events, EVENT_CNT));
	CHECK(!recfile_writer_close(w));
	CHECK(report_run(&config, &stats) == -EPIPE);
	CHECK(row_cnt > 1000 && row_cnt < 1000 + RECFILE_BATCH_CNT + FUNC_CNT * 100);
	free(events);
}

/* Flush now and then, close in the end. */
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
	struct report_text text;
	const struct report_config config = {
		.path = path,
		.is_followed = true,
		.sink = report_text_sink(&text, NULL, &output),
	};
	pid_t pid;

	new_path();
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
	report_text_release(&text);
	free(events);
}

/* ---- reports of text ---- */

#define HEADER                                              \
	"# tracer: function_graph\n#\n"                     \
	"# CPU  DURATION                  FUNCTION CALLS\n" \
	"# |     |   |                     |   |   |   |\n"
#define BANNER                                          \
	" ------------------------------------------\n" \
	" 0)    <idle>-0    =>    ping-196   \n"        \
	" ------------------------------------------\n\n"

/* Each of the files is a recording: it can be read without the others. */
TEST(rotated_recordings_are_whole_each)
{
	enum { FILES = 3, EACH = 20 };
	struct event *events = small_events(EACH);
	const struct recfile_summary summary = { 0 };
	const struct functab few = { funcs, 3 };
	struct recfile_writer *w;
	struct recfile_host host;
	char newest[sizeof(path)];

	new_path();
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
		struct told told;

		if (i)
			CHECK(snprintf(path, sizeof(path), "%s.%d", newest, i) < (int)sizeof(path));
		told = report_file(false, NULL, 0);
		CHECK(!told.err && told.stats.is_closed && !told.stats.tail_bytes);
		CHECK(told.stats.event_cnt && told.stats.event_cnt == told.stats.summary.event_cnt);
		told_free(&told);
		if (i)
			unlink(path);
	}
	strcpy(path, newest);
	free(events);
}

/* What is open when a file ends is open in the next one. */
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
	struct seen seen;

	new_path();
	w = open_writer(path, CPU_CNT);
	recfile_host_read(&host, CPU_CNT, "netfgraph test", NULL);
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_events(w, first, 4));
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_rotate(w, &host, 2));
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_events(w, second, 3));
	CHECK(!recfile_writer_flush(w));
	seen = read_file(want, 5);
	CHECK(!seen.err && seen.event_cnt == 5);
	CHECK(!recfile_writer_summary(w, &summary) && !recfile_writer_rotate(w, &host, 2));
	CHECK(!recfile_writer_funcs(w, &functab) && !recfile_writer_events(w, second, 1));
	CHECK(!recfile_writer_flush(w));
	seen = read_file(second, 1);
	CHECK(!seen.err && seen.event_cnt == 1);
	CHECK(!recfile_writer_close(w));
	snprintf(older, sizeof(older), "%.50s.1", path);
	CHECK(!unlink(older));
}

/* What the first file told of tasks comes again in the next one. */
TEST(rotated_recordings_have_the_names_of_their_tasks)
{
	static const struct event events[] = {
		{ .time_ns = 100, .tid = 7 },
		{ .time_ns = 200, .tid = 7, .kind = EVENT_EXIT },
	};
	const struct nfg_task_rec named = { 50, 7, NFG_TASK_NAMED, "curl" };
	const struct opts opts = { .output_path = path, .rotate_bytes = 1, .rotate_cnt = 4 };
	const struct render_columns columns = { .proc = true };
	const struct comms_source none = { 0 };
	const struct recfile_summary losses = { 0 };
	const struct details details = { 0 };
	struct recorder_config config = { &opts, &functab, &details, NULL, 1 };
	char newest[sizeof(path)];
	struct recorder rec;

	new_path();
	make_funcs();
	CHECK(!comms_new(&config.names, &none));
	comms_take(config.names, &named);
	CHECK(!recorder_open(&rec, &config) && !recfile_writer_begin(rec.writer));
	for (int i = 0; i < 3; i++)
		CHECK(!recorder_events(&rec, events, 2));
	CHECK(!recorder_close(&rec, &losses));
	comms_free(config.names);
	strcpy(newest, path);
	for (int i = 1; i <= 3; i++) {
		struct told told;

		CHECK(snprintf(path, sizeof(path), "%s.%d", newest, i) < (int)sizeof(path));
		told = report_file(false, &columns, 0);
		CHECK(!told.err && strstr(told.text, "curl-7 "));
		told_free(&told);
		unlink(path);
	}
	strcpy(path, newest);
}

/* Nothing but its beginning was read: that says nothing of its end. */
TEST(a_recording_is_not_blamed_for_a_name_that_it_lacks)
{
	const char *nosuch = "nosuch";
	const struct opts opts = { .graph_funcs = { &nosuch, 1 } };
	struct event *events = small_events(20);
	struct told told;

	new_path();
	write_small(events, 20);
	chosen = &opts;
	told = report_file(false, NULL, 0);
	CHECK(told.err == -ENOMSG && strstr(told.said, "'nosuch'"));
	CHECK(!strstr(told.said, "not closed") && !strstr(told.said, "ends inside"));
	CHECK(!strstr(told.said, "lost"));
	told_free(&told);
	free(events);
}

static const char sound[] = HEADER " 0)               |  tcp_v4_rcv() {\n"
				   " 0)   0.163 us    |    tcp_filter [nf](skb=0x1, n=2);\n"
				   " 0)               |  /* a marker */\n" BANNER
				   " 0) + 10.204 us   |    } /* other ret=-2 */\n"
				   "CPU:1 [LOST 17 EVENTS]\n"
				   " 1) ! 100.757 us  |  foo();\n"
				   " 0) # 6025.261 us |  }\n";

TEST(sound_text_comes_out_byte_for_byte)
{
	struct told told;

	new_path();
	told = report_text(sound, NULL);
	CHECK(!told.err);
	CHECK_STR(told.text, sound);
	CHECK_STR(told.said, "");
	CHECK(told.stats.call_cnt == 3 && !told.stats.bad_line_cnt && !told.stats.mended_line_cnt);
	told_free(&told);
}

TEST(text_of_older_kernels_keeps_its_marks)
{
	static const char old[] = " 0)               |  sys_read() {\n"
				  " 0) + 56.499 us   |    a();\n"
				  " 0) ! 6025.261 us |    b();\n"
				  " 0) ! 11280427 us |  } /* sys_read */\n";
	struct told told;

	new_path();
	told = report_text(old, NULL);
	CHECK(!told.err && !told.stats.mended_line_cnt);
	CHECK_STR(told.text, old);
	CHECK_STR(told.said, "");
	told_free(&told);
	told = report_text(old, &render_columns_default);
	CHECK(strstr(told.text, " 0) # 6025.261 us |    b();\n 0) $ 11280427 us |  }\n"));
	told_free(&told);
}

/* With columns of our own and no tail, a } has its name only where the kernel would put it. */
TEST(names_that_only_tail_gave_go_with_it)
{
	static const char text[] = HEADER " 0)   1.000 us    |    } /* begun_before */\n"
					  " 0)               |    f [nf]() {\n"
					  " 0)   1.000 us    |      leaf();\n"
					  " 0)   2.000 us    |    } /* f [nf] */\n"
					  " 0)   3.000 us    |    } /* f [nf] */\n"
					  " 0)               |    g() {\n"
					  " 0)   4.000 us    |    } /* g ret=-2 */\n"
					  " 0)               |    h() {\n"
					  " 0)   5.000 us    |    } /* h [nf] */\n";
	struct told told;

	new_path();
	told = report_text(text, &render_columns_default);
	CHECK(strstr(told.text, "|    } /* begun_before */\n"));
	CHECK(strstr(told.text, " 0)   2.000 us    |    }\n"));
	CHECK(strstr(told.text, " 0)   3.000 us    |    } /* f [nf] */\n"));
	CHECK(strstr(told.text, "|    } /* g ret=-2 */\n") &&
	      strstr(told.text, "} /* h [nf] */\n"));
	told_free(&told);
}

TEST(text_is_shown_with_other_columns)
{
	static const char want[] =
		"# tracer: function_graph\n#\n"
		"#  TASK/PID         DURATION                  FUNCTION CALLS\n"
		"#   |    |           |   |                     |   |   |   |\n"
		"   <idle>-0    |               |  tcp_v4_rcv() {\n"
		"   <idle>-0    |   0.163 us    |    tcp_filter [nf](skb=0x1, n=2);\n"
		"   <idle>-0    |               |  /* a marker */\n" BANNER
		"   ping-196    | + 10.204 us   |    } /* other ret=-2 */\n"
		"CPU:1 [LOST 17 EVENTS]\n"
		"   <idle>-0    | ! 100.757 us  |  foo();\n"
		"   ping-196    | # 6025.261 us |  } /* tcp_v4_rcv */\n";
	const struct render_columns columns = {
		.proc = true, .duration = true, .overhead = true, .tail = true, .abstime = true
	};
	struct told told;

	new_path();
	told = report_text(sound, &columns);
	CHECK(!told.err);
	CHECK_STR(told.text, want);
	CHECK(strstr(told.said, "no times"));
	told_free(&told);
}

/* Every kind of damage met in the wild, one below the other, and what each is told to be. */
TEST(damaged_text_is_mended_and_told_by_line)
{
	static const char trace[] = "An article about recvfrom (2)\n"
				    "## Heading\n"
				    "    int f(struct sock *sk)\n"
				    "\n"
				    "sys_socket() {\n"
				    " 22)               |    sock_create() {\n"
				    " 22)   0.163 us    |      a();                # remark\n"
				    "                                            # more of it\n"
				    "               |      kfree() {\n"
				    "     .\n"
				    "22)   0.163 us    |        b();   \n"
				    " 22)               |       odd() {\n"
				    " 22)   0.163 us    |        cut\n"
				    " 22) + 28.162 us   |    }\n"
				    " ```\n";
	static const char want[] = " 22)               |  sys_socket() {\n"
				   " 22)               |    sock_create() {\n"
				   " 22)   0.163 us    |      a();\n"
				   " 22)               |      kfree() {\n"
				   " 22)   0.163 us    |        b();\n"
				   " 22)               |      odd() {\n"
				   " 22) + 28.162 us   |    }\n";
	static const char *const said[] = {
		":1-3: not function_graph text\n",
		":5: all columns are missing",
		":7: text behind the row\n",
		":8: not function_graph text\n",
		":9: the CPU column is missing",
		":10: rows were cut out here\n",
		":11: blanks behind the row\n",
		":12: odd indentation\n",
		":13: neither a call",
		":15: not function_graph text\n",
	};
	struct told told;

	new_path();
	told = report_text(trace, NULL);
	CHECK(!told.err);
	CHECK_STR(told.text, want);
	for (size_t i = 0; i < sizeof(said) / sizeof(*said); i++) {
		if (!strstr(told.said, said[i]))
			CHECK_STR(told.said, said[i]);
	}
	CHECK(told.stats.call_cnt == 6 && told.stats.mended_line_cnt == 5);
	CHECK(told.stats.bad_line_cnt == 7);
	told_free(&told);
}

TEST(what_is_no_trace_is_refused)
{
	struct told told;

	new_path();
	told = report_text("int main(void)\n{\n\tfoo();\n}\n", NULL);
	CHECK(told.err == -EBADMSG && strstr(told.said, "is no function_graph text"));
	CHECK_STR(told.text, "");
	told_free(&told);
	told = report_text(sound, NULL);
	told_free(&told);
	file_write(sound, sizeof(sound) - 1);
	told = report_file(false, NULL, 0);
	CHECK(told.err == -EBADMSG && strstr(told.said, "no recording"));
	told_free(&told);
}

TEST(depth_limits_the_rows_of_a_text)
{
	struct told told;

	new_path();
	file_write(sound, sizeof(sound) - 1);
	told = report_file(true, NULL, 1);
	CHECK(!told.err && !strstr(told.text, "tcp_filter") && strstr(told.text, "tcp_v4_rcv"));
	told_free(&told);
}

TEST(nonsense_as_text_does_no_harm)
{
	const size_t len = sizeof(sound) - 1;
	struct told told;
	char copy[sizeof(sound)];

	new_path();
	for (int round = 0; round < 1000; round++) {
		memcpy(copy, sound, len);
		for (uint32_t i = random_below(20) + 1; i; i--)
			copy[random_below((uint32_t)len)] = (char)random_below(256);
		file_write(copy, len);
		told = report_file(true, round % 2 ? NULL : &render_columns_default, 0);
		told_free(&told);
	}
}
