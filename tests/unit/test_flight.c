/* A flight recorder: what its recordings have, and what its memory and its directory hold. */
#include "recording/recorder.h"

#include <dirent.h>

#include "base/host.h"
#include "fakehost.h"
#include "harness.h"
#include "kernel/comms.h"
#include "recordings.h"
#include "reports.h"

#define RING_BYTES (8u << 20)
#define SEC        1000000000ull

static char dir[] = "/tmp/nfg-flight-XXXXXX";
static struct comms *comms;
static struct flight *f;
static struct flight_stats stats;
static uint64_t clock_ns;
static uint16_t called = 1; /* the function of all calls */
static struct functab traced;

static void remove_all(void)
{
	if (system(text_of("rm -rf '%s'", dir)))
		_exit(1);
}
AFTER(remove_all);

static void make_dir(void)
{
	CHECK(mkdtemp(dir));
}
BEFORE(make_dir);

static struct flight_config config_of(uint64_t ring_bytes)
{
	static const struct comms_source none = { 0 };
	static const struct details details = { 0 };
	static const struct recfile_made made = { .attach = "kprobe.session" };

	make_funcs();
	traced = functab;
	CHECK(!comms_new(&comms, &none));
	return (struct flight_config){ .dir = dir,
				       .ring_bytes = ring_bytes,
				       .recorder = { .made = &made,
						     .functab = &traced,
						     .details = &details,
						     .comms = comms,
						     .cpu_cnt = 2 } };
}

static void start(uint64_t window_ns, uint64_t pause_ns, uint64_t disk_bytes)
{
	struct flight_config config = config_of(RING_BYTES);

	config.window_ns = window_ns;
	config.pause_ns = pause_ns;
	config.disk_bytes = disk_bytes;
	CHECK(!flight_open(&f, &config) && !flight_begin(f));
	clock_ns = host_time_ns();
}

static void end(void)
{
	CHECK(!flight_close(f, &stats));
	comms_free(comms);
}

/* @cnt calls of a microsecond, in @every_ns. */
static void calls(size_t cnt, uint64_t every_ns)
{
	for (size_t i = 0; i < cnt; i++) {
		const struct event events[] = {
			{ .time_ns = clock_ns, .tid = 7, .func_id = called, .kind = EVENT_ENTRY },
			{ .time_ns = clock_ns + 1000,
			  .tid = 7,
			  .func_id = called,
			  .kind = EVENT_EXIT },
		};

		CHECK(!flight_events(f, events, 2));
		clock_ns += every_ns;
	}
	CHECK(!flight_flush(f, 0));
}

static void flushes(void)
{
	for (int i = 0; i < 20; i++)
		CHECK(!flight_flush(f, 0));
}

/* The newest file in dir becomes path. Return: how many there are. */
static int files(void)
{
	struct dirent **entries;
	int cnt = scandir(dir, &entries, NULL, alphasort);
	int file_cnt = 0;

	for (int i = 0; i < cnt; i++) {
		if (entries[i]->d_name[0] != '.' || strlen(entries[i]->d_name) > 2) {
			CHECK(snprintf(path, sizeof(path), "%s/%s", dir, entries[i]->d_name) <
			      (int)sizeof(path));
			file_cnt++;
		}
		free(entries[i]);
	}
	free(entries);
	return file_cnt;
}

static uint64_t calls_in_newest(void)
{
	report_file(false, NULL, 0);
	uint64_t cnt = told.stats.event_cnt / 2;

	CHECK(!told.err && told.stats.is_closed && !told.stats.tail_bytes);
	CHECK(told.stats.event_cnt == told.stats.summary.event_cnt);
	return cnt;
}

/* Flushes come ten times a second of the host's clock; each is a chunk. */
static void chunk(void)
{
	CHECK(!recfile_writer_flush(flight_recorder(f)->writer));
}

TEST(too_little_memory_is_said_at_once)
{
	struct flight_config config = config_of(4096);

	quiet();
	CHECK(flight_open(&f, &config) == -EINVAL);
	config.dir = "/nosuch/directory";
	CHECK(flight_open(&f, &config) == -ENOENT);
	comms_free(comms);
	CHECK(!files());
}

TEST(a_recording_has_what_was_before_and_after)
{
	start(SEC, SEC, 64u << 20);
	calls(100, 1000); /* too old */
	chunk();
	clock_ns += 3 * SEC;
	calls(20, 1000);
	chunk();
	CHECK(flight_happened(f, clock_ns, 0));
	calls(3, 1000);
	chunk();
	clock_ns += 2 * SEC;
	calls(50, 1000); /* behind the window, which is seen now */
	flushes();
	CHECK(files() == 1);
	end();
	CHECK(stats.file_cnt == 1 && files() == 1);
	/* the chunk in which the window ended is whole */
	CHECK(calls_in_newest() == 20 + 3 + 50);
}

/* The window is shorter than the call that it is of. */
TEST(a_recording_has_the_begin_of_its_call)
{
	uint64_t begin_ns;

	start(SEC, SEC, 64u << 20);
	calls(100, 1000); /* too old */
	chunk();
	clock_ns += 3 * SEC;
	begin_ns = clock_ns;
	calls(20, 1000);
	chunk();
	clock_ns += 4 * SEC;
	CHECK(flight_happened(f, clock_ns, begin_ns));
	calls(3, 1000);
	end();
	CHECK(stats.file_cnt == 1 && files() == 1 && calls_in_newest() == 20 + 3);
}

TEST(what_happens_in_a_window_or_behind_it_begins_no_other)
{
	start(SEC, 10 * SEC, 64u << 20);
	calls(5, 1000);
	CHECK(flight_happened(f, clock_ns, 0));
	for (int i = 0; i < 64; i++)
		CHECK(!flight_happened(f, clock_ns + 1, 0) && flight_takes_inside(f));
	CHECK(!flight_happened(f, clock_ns + SEC / 2, 0) && !flight_takes_inside(f));
	clock_ns += 2 * SEC;
	calls(1, 1000);
	flushes();
	CHECK(!flight_happened(f, clock_ns, 0) && !flight_takes_inside(f));
	clock_ns += 20 * SEC;
	calls(1, 1000);
	CHECK(flight_happened(f, clock_ns, 0)); /* its window is open at the end */
	end();
	CHECK(stats.file_cnt == 2 && stats.inside_cnt == 65 && stats.paused_cnt == 1);
	CHECK(files() == 2);
}

static void left_out(uint32_t id)
{
	const struct leftout lo = { .time_ns = clock_ns,
				    .limit = LEFTOUT_OVERHEAD,
				    .measured = 31,
				    .max = 25,
				    .func_ids = &id,
				    .func_cnt = 1 };

	CHECK(!recorder_leftout(flight_recorder(f), &lo));
}

/* The newest file says of so many functions that they were left out, of @earlier of them before it begins. */
static bool says_left_out(uint32_t cnt, uint32_t earlier)
{
	(void)calls_in_newest();
	return told.stats.leftout_cnts[LEFTOUT_OVERHEAD] == cnt &&
	       told.stats.leftout_earlier_cnts[LEFTOUT_OVERHEAD] == earlier;
}

/* Each file says what was left out until then, once, though each part of the memory has it. */
TEST(recordings_say_what_was_left_out_before)
{
	start(SEC, 1, 64u << 20);
	calls(10, 1000);
	chunk();
	left_out(1); /* in the first file's first part, before its window */
	clock_ns += 3 * SEC;
	calls(10, 1000);
	CHECK(flight_happened(f, clock_ns, 0));
	left_out(2);
	calls(200000, 100); /* parts enough */
	clock_ns += 2 * SEC;
	calls(1, 1000);
	flushes();
	CHECK(files() == 1 && says_left_out(2, 1));
	clock_ns += 10 * SEC;
	calls(400000, 10); /* what was left out is in none of the memory's events */
	for (int i = 0; i < 10; i++)
		calls(400000, 10);
	CHECK(flight_happened(f, clock_ns, 0));
	left_out(0);
	end();
	CHECK(stats.file_cnt == 2 && files() == 2 && says_left_out(3, 2));
}

/* A hundred times what the memory holds: the newest is there, each part of it readable, and no more. */
TEST(memory_holds_the_newest)
{
	struct stat st;
	uint64_t cnt;

	start(1000 * SEC, SEC, 64u << 20);
	for (int i = 0; i < 40; i++)
		calls(100000, 2000);
	CHECK(flight_happened(f, clock_ns - 1, 0));
	end();
	CHECK(stats.file_cnt == 1 && files() == 1);
	CHECK(!stat(path, &st) && st.st_size <= RING_BYTES && st.st_size > RING_BYTES * 3 / 4);
	cnt = calls_in_newest();
	CHECK(cnt > RING_BYTES / 32 && cnt < 4000000);
}

/* One more function is traced from here on. */
static void learn(void)
{
	traced.cnt++;
	recorder_added(flight_recorder(f));
	called = (uint16_t)(traced.cnt - 1);
}

/* The part in which it came was thrown away, or is in the middle of the file, or is not in it yet. */
TEST(a_recording_has_functions_that_came_later)
{
	static const struct {
		size_t before, after;
	} rows[] = { { 0, 2000000 }, { 400000, 400000 }, { 5, 5 } };

	EACH(row, rows) {
		start(1000 * SEC, SEC, 64u << 20);
		traced.cnt = 3;
		CHECK(!flight_begin(f));
		called = 2;
		calls(row->before, 2000);
		learn();
		calls(row->after / 2, 2000);
		learn();
		calls(row->after - row->after / 2, 2000);
		CHECK(flight_happened(f, clock_ns - 1, 0));
		end();
		CHECK(files() == 1 && calls_in_newest() > 0 && told.stats.call_cnt > 0);
		CHECK(strstr(told.text, func_names[4]));
		CHECK(!told.stats.graph.bad_cnt && !told.stats.summary.bad_cnt);
		remove_all();
		CHECK(!mkdir(dir, 0700));
	}
}

/* While a recording is written, more is recorded than the memory holds: nothing of its window goes. */
TEST(what_is_to_be_written_is_not_dropped)
{
	start(10 * SEC, SEC, 64u << 20);
	calls(200000, 10000); /* 2 s */
	CHECK(flight_happened(f, clock_ns, 0));
	clock_ns += 11 * SEC;
	calls(1, 1000);                 /* the flush begins the file */
	for (int i = 0; i < 600; i++) { /* without a flush: a segment is written when it would go */
		const struct event ev = {
			.time_ns = clock_ns++, .tid = 9, .func_id = 2, .kind = EVENT_ENTRY
		};

		for (int j = 0; j < 2000; j++)
			CHECK(!flight_events(f, &ev, 1));
	}
	end();
	CHECK(stats.file_cnt == 1 && files() == 1 && calls_in_newest() == 200001);
}

TEST(old_recordings_make_room)
{
	struct stat st;

	start(SEC, 1, 2500u << 10);
	for (int i = 0; i < 5; i++) { /* about 800 KiB each */
		calls(50000, 1000);
		CHECK(flight_happened(f, clock_ns, 0));
		clock_ns += 2 * SEC;
		calls(1, 1000);
		flushes();
		clock_ns += SEC;
	}
	end();
	CHECK(stats.file_cnt == 5 && stats.removed_cnt >= 2);
	CHECK(files() == (int)(5 - stats.removed_cnt) && !stat(path, &st));
	CHECK((uint64_t)st.st_size * (uint64_t)files() <= 2500u << 10);
	CHECK(calls_in_newest() == 50001);
}

TEST(a_directory_has_one_recorder)
{
	int fd;

	start(SEC, SEC, 64u << 20);
	CHECK(flightfile_dir(dir) == -EBUSY);
	end();
	fd = flightfile_dir(dir);
	CHECK(fd >= 0);
	close(fd);
}

/* Whoever could create a directory, a link to one or a file could read the recordings or have others removed. */
TEST(what_others_prepared_is_not_taken)
{
	const char *inside = text_of("%s/rec", dir), *link_name = text_of("%s/link", dir);
	const char *slash_name = text_of("%s/link/", dir);
	struct flightfile file;
	int fd;

	CHECK(!chmod(dir, 01777));
	fd = flightfile_dir(inside);
	CHECK(fd >= 0 && !flightfile_begin(&file, fd, 0, 0));
	flightfile_abandon(&file);
	CHECK(!mknod(text_of("%s/%s", inside, file.part), S_IFREG | 0666, 0));
	CHECK(flightfile_begin(&file, fd, 0, 0) == -EEXIST);
	close(fd);
	CHECK(!symlink("rec", link_name));
	fd = flightfile_dir(slash_name);
	CHECK(fd >= 0);
	close(fd);
	if (!geteuid()) {
		CHECK(!lchown(link_name, 2, 2));
		CHECK(flightfile_dir(slash_name) == -ELOOP && flightfile_dir(link_name) == -ELOOP);
		CHECK(!chown(inside, 2, 2) && flightfile_dir(inside) == -EACCES);
		CHECK(!chown(dir, 2, 2));
		fd = flightfile_dir(
			inside); /* the owner of the directory around it may do anything anyway */
		CHECK(fd >= 0);
		close(fd);
	}
}

/* Somebody else's files stay, and links are no recordings. */
TEST(only_recordings_are_removed)
{
	int fd;

	CHECK(!system(text_of("cd %s && echo x >keep.rec && echo x >netfgraph-1.rec && "
			      "ln -s keep.rec netfgraph-0.rec",
			      dir)));
	fd = flightfile_dir(dir);
	CHECK(fd >= 0 && flightfile_room(fd, 100, 10) == 1 && files() == 2);
	close(fd);
}

TEST(a_full_disk_is_said_and_the_next_one_may_fit)
{
	struct flightfile file;
	char segment[64] = { 0 };
	int fd;

	fd = flightfile_dir(dir);
	CHECK(fd >= 0 && !flightfile_begin(&file, fd, 0, 0));
	close(file.fd);
	file.fd = fd; /* a directory: no write succeeds */
	CHECK(flightfile_head(&file, segment, 16, segment, 16) == -EBADF && files() == 1);
	flightfile_abandon(&file);
	CHECK(files() == 0);
}
