/* trace.dat: the places of its parts, durations, pages, and what cannot be written. */
#include "format/format.h"
#include "formatted.h"
#include "harness.h"

static struct strbuf file;

AT_END(strbuf_release(&file));

TEST(tracedat_claims_no_duration_that_is_not_certain)
{
	struct row rows[3];
	const struct format_config config = { .kind = FORMAT_TRACEDAT, .spool_dir = "/tmp" };
	size_t exits = 0;

	unsure_trace(rows);
	file = made(&config, rows, 3);
	CHECK(memmem(file.ptr, file.len, "} send, entered at a time not known", 36));
	/* a record's first words: 40 bytes of payload, then the type and no flags */
	for (size_t i = 0; i + 8 <= file.len; i += 4) {
		uint32_t words[2];

		memcpy(words, file.ptr + i, sizeof(words));
		exits += (words[0] & 31) == 10 && words[1] == 10;
	}
	CHECK(exits == 1); /* of copy */
}

/* ---- trace.dat ---- */

static uint32_t get_u32(const char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t get_u64(const char *p)
{
	return get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
}

/* Where CPU 0's place stands: behind "flyrecord". */
static const char *places(const struct strbuf *of)
{
	const char *at = memmem(of->ptr, of->len, "flyrecord", 10);

	CHECK(at);
	return at + 10;
}

TEST(tracedat_small)
{
	struct row rows[6];
	const struct format_config config = {
		.kind = FORMAT_TRACEDAT, .cpu_cnt = 3, .release = "6.1.0-test", .spool_dir = "/tmp"
	};
	const char *cpu;
	const char *page;

	small_trace(rows);
	file = made(&config, rows, 6);
	CHECK((file.len - 1) % 4096 == 0);
	CHECK(!memcmp(file.ptr, "\x17\x08\x44tracing6\0\0\x08\0\x10\0\0header_page\0", 30));
	CHECK(memmem(file.ptr, file.len, "ffffffff81000020 T copy\t[mod]\n", 30));
	CHECK(memmem(file.ptr, file.len, "77 curl\n", 8));
	CHECK(memmem(file.ptr, file.len,
		     "options  \0\x05\0\x0b\0\0\0"
		     "6.1.0-test\0\0\0",
		     29));
	cpu = places(&file);
	CHECK(get_u32(cpu - 10 - 29 - 4) == 3);
	CHECK(get_u64(cpu + 8) == 4096 && get_u64(cpu + 24) == 2 * 4096 && !get_u64(cpu + 40));
	CHECK(get_u64(cpu + 16) == get_u64(cpu) + 4096);
	page = file.ptr + get_u64(cpu);
	/* one exit of 40 bytes: 10 words, no time since the page's; and its value, of 17 and 6 */
	CHECK(get_u64(page) == 2500 && get_u64(page + 8) == 72 && get_u32(page + 16) == 10);
	CHECK(get_u32(page + 60) == 6 && get_u32(page + 64) == 5);
	CHECK(get_u64(page + 72) == 0xffffffff81000010u && !strcmp(page + 80, "ret=0x5"));
	CHECK(get_u32(page + 20) == 10 && get_u32(page + 24) == 77);
	CHECK(get_u64(page + 28) == 0xffffffff81000010u && !get_u32(page + 36));
	CHECK(get_u64(page + 44) == 1000 && get_u64(page + 52) == 2500);
	page = file.ptr + get_u64(cpu + 16);
	CHECK(get_u64(page) == 1000 && get_u32(page + 16) == 5);
	CHECK(get_u32(page + 20) == 11 && get_u32(page + 40) == (5 | 200 << 5));
	/* after the loss: the flag, and the count behind the data */
	page += 4096;
	CHECK(get_u64(page) == 3000 && get_u64(page + 8) == (3u << 30 | 24));
	CHECK(get_u64(page + 16 + 24) == 17);
}

/* The content of the section, found by walking them all as a reader does. */
static const char *section(const struct strbuf *of, uint16_t id, uint64_t *out_len)
{
	const char *end = of->ptr + of->len - 1;
	const char *found = NULL;
	const char *at = of->ptr + 32; /* behind where the options are */
	uint16_t here;

	while (at < end) {
		memcpy(&here, at, sizeof(here));
		if (here == id) {
			CHECK(!found);
			found = at + 16;
			*out_len = get_u64(at + 8);
		}
		at += 16 + get_u64(at + 8);
	}
	CHECK(at == end && found);
	return found;
}

/* The option's data in the only options section. */
static const char *option(const struct strbuf *of, uint16_t id)
{
	const char *at = of->ptr + get_u64(of->ptr + 24) + 16;
	uint64_t len;
	uint16_t here;

	CHECK(at == section(of, 0, &len));
	for (memcpy(&here, at, 2); here != id; memcpy(&here, at, 2)) {
		CHECK(here);
		at += 6 + get_u32(at + 2);
	}
	return at + 6;
}

TEST(tracedat7_has_the_pages_of_version_6)
{
	struct row rows[6];
	struct format_config config = {
		.kind = FORMAT_TRACEDAT, .cpu_cnt = 3, .release = "6.1.0-test", .spool_dir = "/tmp"
	};
	struct strbuf six;
	struct strbuf seven;
	const char *place;
	uint64_t len;

	small_trace(rows);
	six = made(&config, rows, 6);
	config.kind = FORMAT_TRACEDAT7;
	seven = made(&config, rows, 6);
	CHECK(!memcmp(seven.ptr, "\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\0", 24));
	/* options tell where the sections are; each section's words are in the strings */
	CHECK(seven.ptr + get_u64(option(&seven, 16)) + 16 == section(&seven, 16, &len));
	CHECK(seven.ptr + get_u64(option(&seven, 21)) + 16 == section(&seven, 21, &len));
	CHECK(memmem(section(&seven, 21, &len), len, "77 curl\n", 8));
	CHECK(!strcmp(section(&seven, 15, &len) + get_u32(section(&seven, 19, &len) - 12),
		      "kallsyms"));
	CHECK(!strcmp(option(&seven, 5), "6.1.0-test") && get_u32(option(&seven, 8)) == 3);
	place = option(&seven, 3);
	CHECK(seven.ptr + get_u64(place) + 16 == section(&seven, 3, &len));
	CHECK(!strcmp(place + 9, "mono") && get_u32(place + 14) == 4096 &&
	      get_u32(place + 18) == 3);
	for (uint32_t cpu = 0; cpu < 3; cpu++) {
		const char *old = places(&six) + (uint64_t)cpu * 16;
		const char *new = place + 22 + (uint64_t)cpu * 20;

		CHECK(get_u32(new) == cpu && get_u64(new + 12) == get_u64(old + 8));
		CHECK(get_u64(new + 4) % 4096 == 0);
		CHECK(!memcmp(six.ptr + get_u64(old), seven.ptr + get_u64(new + 4),
			      get_u64(old + 8)));
	}
	strbuf_release(&six);
	strbuf_release(&seven);
}

TEST(tracedat_of_nothing)
{
	const struct format_config config = { .kind = FORMAT_TRACEDAT, .spool_dir = "/tmp" };
	const char *cpu;

	file = made(&config, NULL, 0);
	cpu = places(&file);
	CHECK(get_u32(cpu - 10 - 4) == 1 && !get_u64(cpu + 8));
	CHECK(get_u64(cpu) == file.len - 1);
}

TEST(tracedat_long_pauses_and_many_pages)
{
	const struct format_config config = { .kind = FORMAT_TRACEDAT, .spool_dir = "/tmp" };
	struct strbuf out = { 0 };
	struct format *f;
	uint64_t sum = 0;
	int more;

	CHECK(!format_new(&f, &config, &out));
	for (uint64_t i = 0; i < 20000; i++) {
		const struct row row = call_row(ROW_LEAF, 0, 1000 + i * 200000000, 100, "f");

		CHECK(!format_row(f, &row));
	}
	do {
		more = format_finish(f);
		CHECK(more >= 0 && out.len % 4096 == 0 && out.len <= 64 * 4096);
		sum += out.len;
		strbuf_reset(&out); /* as a caller does that has written it */
	} while (more);
	/* 20 + 4 + 8 and 40 + 4 bytes each */
	CHECK(sum > 20000 * 76 && sum < 20000 * 76 + 20000 * 76 / 20);
	format_free(f);
	strbuf_release(&out);
}

/* The comment that a trace of this text has, up to its NUL. */
static void check_comment(const char *text, size_t len, const char *begin, size_t want_len,
			  const char *end)
{
	const struct format_config config = { .kind = FORMAT_TRACEDAT, .spool_dir = "/tmp" };
	const struct row row = { .kind = ROW_COMMENT, .time_ns = 900, .text = { text, len } };
	const char *at;

	file = made(&config, &row, 1);
	at = memmem(file.ptr, file.len, begin, strlen(begin));
	CHECK(at && strnlen(at, 2000) == want_len);
	CHECK_STR(at + want_len - strlen(end), end);
	strbuf_release(&file);
}

TEST(tracedat_marks_comments_that_it_cuts)
{
	char text[1001];

	memset(text, 'x', sizeof(text));
	memcpy(text, "begin:", 6);
	text[999] = 'y';
	check_comment(text, 6, "begin:", 6, "begin:");
	check_comment(text, 1000, "begin:", 1000, "xxxxy");
	check_comment(text, 1001, "begin:", 1000, "xxxxx...");
	text[500] = '\n'; /* takes more bytes as \x0a */
	check_comment(text, 1000, "begin:", 1000, "xxxxx...");
	check_comment(text, 997, "begin:", 1000, "xxxxx");
}

TEST(tracedat_without_a_place)
{
	const struct format_config config = { .kind = FORMAT_TRACEDAT,
					      .spool_dir = "/nonexistent" };
	struct strbuf out = { 0 };
	struct format *f;

	CHECK(format_new(&f, &config, &out) == -ENOENT);
	strbuf_release(&out);
}
