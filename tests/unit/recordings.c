#include "recordings.h"

#include <zlib.h>

#include "harness.h"
#include "random.h"
#include "scratch.h"

char path[64];

void new_path(void)
{
	snprintf(path, sizeof(path), "%s", temp_file("", 0));
}

struct func funcs[FUNC_CNT];
char func_names[FUNC_CNT][32];
const struct functab functab = { .funcs = funcs, .cnt = FUNC_CNT };

void make_funcs(void)
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

	*time_ns += steps[random_below(CNT_OF(steps))];
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

bool is_call(const struct event *ev)
{
	return ev->kind == EVENT_ENTRY || ev->kind == EVENT_EXIT;
}

struct event *make_events(size_t cnt)
{
	static struct event *made[8]; /* so that a sanitizer sees who has them */
	static size_t made_cnt;
	struct event *events = calloc(cnt, sizeof(*events));
	uint64_t time_ns = 1000000000;

	CHECK(events && made_cnt < CNT_OF(made));
	made[made_cnt++] = events;
	for (size_t i = 0; i < cnt; i++)
		events[i] = make_event(&time_ns);
	return events;
}

struct text name_of(uint32_t tid)
{
	return tid % 2 ? (struct text){ "odd", 3 } : (struct text){ "", 0 };
}

unsigned int asked_cnt; /* how often for the name of RENAMED_TID */

bool comm_of(void *ctx, uint32_t tid, uint64_t time_ns, struct text *name, bool *is_last)
{
	*is_last = tid != RENAMED_TID || time_ns >= 250;
	*name = name_of(tid);
	if (tid == RENAMED_TID) {
		*name = *is_last ? (struct text){ "curl", 4 } : (struct text){ "sh", 2 };
		return asked_cnt++ % 2 == 0; /* at two events each */
	}
	return name->len;
}

struct recfile_writer *open_writer(const char *where, uint32_t cpu_cnt)
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

size_t file_bytes(void)
{
	struct stat st;

	CHECK(!stat(path, &st));
	return (size_t)st.st_size;
}

struct image image;

void file_read(void)
{
	int fd = open(path, O_RDONLY);

	free(image.bytes);
	image.len = file_bytes();
	image.bytes = malloc(image.len + 1);
	CHECK(fd >= 0 && image.bytes && read(fd, image.bytes, image.len) == (ssize_t)image.len);
	image.bytes[image.len] = 0;
	close(fd);
}

void file_write(const char *bytes, size_t len)
{
	int fd = open(path, O_WRONLY);

	/* emptying it first would wait for the disk */
	CHECK(fd >= 0 && write(fd, bytes, len) == (ssize_t)len && !ftruncate(fd, (off_t)len));
	close(fd);
}

void write_small(const struct event *events, size_t cnt)
{
	struct recfile_writer *w = open_writer(path, CPU_CNT);
	const struct recfile_summary summary = { .lost_cnts[LOSS_RING_FULL] = 17 };
	const struct functab few = { .funcs = funcs, .cnt = 3 };

	CHECK(!recfile_writer_funcs(w, &few));
	for (size_t i = 0; i < cnt; i += 5) {
		CHECK(!recfile_writer_events(w, events + i, cnt - i < 5 ? cnt - i : 5));
		CHECK(!recfile_writer_flush(w));
	}
	CHECK(!recfile_writer_summary(w, &summary));
	CHECK(recfile_writer_bytes(w) == file_bytes());
	CHECK(!recfile_writer_close(w));
}

struct event *small_events(size_t cnt)
{
	struct event *events = make_events(cnt);

	for (size_t i = 0; i < cnt; i++) {
		if (is_call(&events[i]))
			events[i].func_id %= 3;
	}
	return events;
}

bool same_event(const struct event *a, const struct event *b)
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

struct seen seen;

void read_on(struct recfile_reader *r, const struct event *want, size_t want_cnt)
{
	struct recfile_item item;

	while (!seen.err) {
		seen.err = recfile_reader_next(r, &item);
		if (seen.err || item.kind == RECFILE_END)
			break;
		seen.has_host |= item.kind == RECFILE_HOST;
		seen.name_cnt += item.kind == RECFILE_NAMES ? item.cnt : 0;
		for (size_t i = 0; item.kind == RECFILE_EVENTS && i < item.cnt; i++) {
			CHECK(event_in_range(r, &item.events[i]));
			CHECK(!want || seen.event_cnt < want_cnt);
			CHECK(!want || same_event(&item.events[i], &want[seen.event_cnt]));
			seen.event_cnt++;
		}
		if (item.kind == RECFILE_SUMMARY) {
			seen.is_closed = true;
			seen.summary = *item.summary;
		}
	}
	seen.tail_bytes = recfile_reader_tail_bytes(r);
	seen.func_cnt = recfile_reader_functab(r)->cnt;
	snprintf(seen.error, sizeof(seen.error), "%s", recfile_reader_error(r));
	CHECK(!seen.err == !seen.error[0]);
}

void read_file(const struct event *want, size_t want_cnt)
{
	struct recfile_reader *r;

	seen = (struct seen){ .err = recfile_reader_new(&r, path) };
	CHECK(r);
	read_on(r, want, want_cnt);
	recfile_reader_free(r);
}

size_t whole_bytes(const char *bytes, size_t len)
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

uint32_t get_u32(const char *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

void put_u32(char *bytes, uint32_t value)
{
	memcpy(bytes, &value, sizeof(value));
}

void seal(char *bytes, size_t len)
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

char *find_chunk(char *bytes, size_t len, const char *type)
{
	for (size_t at = FILE_HEAD; at + 16 <= len; at += 16 + get_u32(bytes + at + 4)) {
		if (!memcmp(bytes + at, type, 4))
			return bytes + at;
	}
	CHECK(!"no such chunk");
}
