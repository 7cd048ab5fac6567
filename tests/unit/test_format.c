/* Rows to each format: exact bytes for small traces, the readers' view for captured ones. */
#include "format/format.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/calltree.h"
#include "format/fmt.h"
#include "format/text_parse.h"
#include "harness.h"

#define TEXT(literal) ((struct text){ literal, sizeof(literal) - 1 })
#define CURL          ((struct task_name){ 77, TEXT("curl") })

/* ---- rows ---- */

static struct row call_row(enum row_kind kind, uint32_t depth, uint64_t time_ns,
			   uint64_t duration_ns, const char *name)
{
	return (struct row){
		.kind = kind,
		.cpu = 1,
		.depth = depth,
		.time_ns = time_ns,
		.duration_ns = duration_ns,
		.task = CURL,
		.name = { name, strlen(name) },
	};
}

static void feed(struct format *f, const struct row *rows, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		CHECK(!format_row(f, &rows[i]));
}

static void finish(struct format *f)
{
	int more;

	do {
		more = format_finish(f);
		CHECK(more >= 0);
	} while (more);
	format_free(f);
}

/* All of it at once. Return: the bytes, with a NUL behind them. */
static struct strbuf made(const struct format_config *config, const struct row *rows, size_t cnt)
{
	struct strbuf out = { 0 };
	struct format *f;

	CHECK(!format_new(&f, config, &out));
	feed(f, rows, cnt);
	finish(f);
	strbuf_char(&out, '\0');
	CHECK(strbuf_ok(&out));
	return out;
}

static void check_made(const struct format_config *config, const struct row *rows, size_t cnt,
		       const char *want)
{
	struct strbuf out = made(config, rows, cnt);

	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

#define CHECK_KIND(format_kind, rows, want)                                      \
	check_made(&(const struct format_config){ .kind = (format_kind) }, rows, \
		   sizeof(rows) / sizeof((rows)[0]), want)

/* send() { copy [mod](len=5); } with a loss and a comment, and a call still open */
static void small_trace(struct row rows[6])
{
	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	rows[1] = call_row(ROW_LEAF, 1, 1200, 300, "copy");
	rows[1].module = TEXT("mod");
	rows[1].args = TEXT("len=5");
	rows[1].note = TEXT("<-send+0x1/0x2 ret=-22");
	rows[2] = (struct row){ .kind = ROW_COMMENT,
				.cpu = 1,
				.time_ns = 1600,
				.task = CURL,
				.text = TEXT("a \"b\"") };
	rows[3] = call_row(ROW_RETURN, 0, 2500, 1500, "send");
	rows[3].cpu = 0;
	rows[3].note = TEXT("= 0x5");
	rows[4] = (struct row){ .kind = ROW_LOST, .cpu = 1, .time_ns = 2600, .lost_cnt = 17 };
	rows[5] = call_row(ROW_ENTRY, 0, 3000, 0, "recv");
}

/* ---- json ---- */

TEST(json_calls_and_all_else)
{
	struct row rows[6];

	small_trace(rows);
	CHECK_KIND(FORMAT_JSON, rows,
		   "{\"begin_ns\":1200,\"end_ns\":1500,\"duration_ns\":300,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":1,\"func\":\"copy\",\"module\":\"mod\","
		   "\"args\":\"len=5\",\"caller\":\"send+0x1/0x2\",\"ret\":\"-22\","
		   "\"complete\":true}\n"
		   "{\"comment\":\"a \\\"b\\\"\",\"time_ns\":1600,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\"}\n"
		   "{\"begin_ns\":1000,\"end_ns\":2500,\"duration_ns\":1500,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":0,\"func\":\"send\",\"module\":null,"
		   "\"args\":null,\"caller\":null,\"ret\":\"0x5\",\"complete\":true}\n"
		   "{\"lost\":17,\"cpu\":1,\"time_ns\":2600}\n"
		   "{\"begin_ns\":3000,\"end_ns\":null,\"duration_ns\":null,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":0,\"func\":\"recv\",\"module\":null,"
		   "\"args\":null,\"caller\":null,\"ret\":null,\"complete\":false}\n");
}

/* An entry, and a return that may be of another call of the function. */
static void unsure_trace(struct row rows[3])
{
	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	rows[1] = call_row(ROW_LEAF, 1, 1200, 300, "copy");
	rows[2] = call_row(ROW_RETURN, 0, 9000, 0, "send");
	rows[2].lacks_duration = rows[2].is_named = true;
}

TEST(json_of_ends_that_may_not_belong_together)
{
	struct row rows[3];

	unsure_trace(rows);
	CHECK_KIND(FORMAT_JSON, rows,
		   "{\"begin_ns\":1200,\"end_ns\":1500,\"duration_ns\":300,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":1,\"func\":\"copy\",\"module\":null,"
		   "\"args\":null,\"caller\":null,\"ret\":null,\"complete\":true}\n"
		   "{\"begin_ns\":1000,\"end_ns\":null,\"duration_ns\":null,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":0,\"func\":\"send\",\"module\":null,"
		   "\"args\":null,\"caller\":null,\"ret\":null,\"complete\":false}\n"
		   "{\"begin_ns\":null,\"end_ns\":9000,\"duration_ns\":null,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":0,\"func\":\"send\",\"module\":null,"
		   "\"args\":null,\"caller\":null,\"ret\":null,\"complete\":false}\n");
}

/* The slice ends with the last that is known of the call; the return is a point. */
TEST(chrome_of_ends_that_may_not_belong_together)
{
	struct row rows[3];
	struct strbuf out;

	unsure_trace(rows);
	out = made(&(const struct format_config){ .kind = FORMAT_CHROME }, rows, 3);
	CHECK(strstr(out.ptr,
		     ",\n{\"ph\":\"E\",\"pid\":4194304,\"tid\":77,\"ts\":1.500,\"name\":\"send\","
		     "\"args\":{\"complete\":false}}"
		     ",\n{\"ph\":\"i\",\"pid\":4194304,\"tid\":77,\"ts\":9.000,\"s\":\"t\","
		     "\"name\":\"send\",\"args\":{\"complete\":false}}\n]}\n"));
	strbuf_release(&out);
}

TEST(folded_leaves_out_what_may_not_belong_together)
{
	struct row rows[3];

	unsure_trace(rows);
	CHECK_KIND(FORMAT_FOLDED, rows, "curl;send;copy 300\n");
}

TEST(tracedat_claims_no_duration_that_is_not_certain)
{
	struct row rows[3];
	const struct format_config config = { .kind = FORMAT_TRACEDAT, .spool_dir = "/tmp" };
	struct strbuf out;
	size_t exits = 0;

	unsure_trace(rows);
	out = made(&config, rows, 3);
	CHECK(memmem(out.ptr, out.len, "} send, entered at a time not known", 36));
	/* a record's first words: 40 bytes of payload, then the type and no flags */
	for (size_t i = 0; i + 8 <= out.len; i += 4) {
		uint32_t words[2];

		memcpy(words, out.ptr + i, sizeof(words));
		exits += (words[0] & 31) == 10 && words[1] == 10;
	}
	CHECK(exits == 1); /* of copy */
	strbuf_release(&out);
}

/* Its return is where it was, whatever the duration is without. */
TEST(json_of_a_leaf_that_slept)
{
	struct row rows[] = { call_row(ROW_LEAF, 0, 1000, 300, "recv") };

	rows[0].slept_ns = 5000;
	CHECK_KIND(FORMAT_JSON, rows,
		   "{\"begin_ns\":1000,\"end_ns\":6300,\"duration_ns\":300,\"cpu\":1,\"tid\":77,"
		   "\"comm\":\"curl\",\"depth\":0,\"func\":\"recv\",\"module\":null,"
		   "\"args\":null,\"caller\":null,\"ret\":null,\"complete\":true}\n");
}

static void check_json_text(struct text text, const char *want)
{
	struct strbuf out = { 0 };

	fmt_json_text(&out, text);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

TEST(json_text_of_any_bytes)
{
	check_json_text(TEXT(""), "\"\"");
	check_json_text(TEXT("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
	check_json_text(TEXT("\x01\n\t\x7f"), "\"\\u0001\\u000a\\u0009\\u007f\"");
	check_json_text((struct text){ "a\0b", 3 }, "\"a\\u0000b\"");
	/* as it is: two, three and four bytes */
	check_json_text(TEXT("\xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7"),
			"\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x90\xa7\"");
	/* a lone continuation, a cut character, an overlong one, a surrogate, above U+10FFFF */
	check_json_text(TEXT("\x80"), "\"\xef\xbf\xbd\"");
	check_json_text(TEXT("\xe2\x82"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	check_json_text(TEXT("\xc3(z"), "\"\xef\xbf\xbd(z\"");
	check_json_text(TEXT("\xc0\xaf"), "\"\xef\xbf\xbd\xef\xbf\xbd\"");
	check_json_text(TEXT("\xed\xa0\x80"), "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	check_json_text(TEXT("\xf4\x90\x80\x80"),
			"\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
}

/* ---- chrome ---- */

#define CHROME_HEAD                                                                \
	"{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"                          \
	"{\"ph\":\"M\",\"pid\":4194304,\"tid\":4194304,\"name\":\"process_name\"," \
	"\"args\":{\"name\":\"kernel\"}}"

TEST(chrome_events)
{
	struct row rows[6];

	small_trace(rows);
	CHECK_KIND(FORMAT_CHROME, rows,
		   CHROME_HEAD
		   ",\n{\"ph\":\"M\",\"pid\":4194304,\"tid\":77,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"curl\"}}"
		   ",\n{\"ph\":\"B\",\"pid\":4194304,\"tid\":77,\"ts\":1.000,\"name\":\"send\"}"
		   ",\n{\"ph\":\"X\",\"pid\":4194304,\"tid\":77,\"ts\":1.200,\"dur\":0.300,"
		   "\"name\":\"copy [mod]\",\"args\":{\"args\":\"len=5\","
		   "\"caller\":\"send+0x1/0x2\",\"ret\":\"-22\"}}"
		   ",\n{\"ph\":\"i\",\"pid\":4194304,\"tid\":77,\"ts\":1.600,\"s\":\"t\","
		   "\"name\":\"a \\\"b\\\"\"}"
		   ",\n{\"ph\":\"E\",\"pid\":4194304,\"tid\":77,\"ts\":2.500,\"name\":\"send\","
		   "\"args\":{\"ret\":\"0x5\"}}"
		   ",\n{\"ph\":\"i\",\"pid\":4194304,\"tid\":4194304,\"ts\":2.600,\"s\":\"g\","
		   "\"name\":\"LOST 17 EVENTS\",\"args\":{\"cpu\":1}}"
		   ",\n{\"ph\":\"B\",\"pid\":4194304,\"tid\":77,\"ts\":3.000,\"name\":\"recv\"}"
		   ",\n{\"ph\":\"E\",\"pid\":4194304,\"tid\":77,\"ts\":3.000,\"name\":\"recv\","
		   "\"args\":{\"complete\":false}}"
		   "\n]}\n");
}

TEST(chrome_of_nothing)
{
	check_made(&(const struct format_config){ .kind = FORMAT_CHROME }, NULL, 0,
		   CHROME_HEAD "\n]}\n");
}

TEST(chrome_tasks)
{
	struct row rows[3] = {
		call_row(ROW_LEAF, 0, 1000, 1, "a"),
		call_row(ROW_LEAF, 0, 2000, 1, "a"),
		call_row(ROW_LEAF, 0, 3000, 1, "a"),
	};

	rows[1].task.comm = TEXT("other"); /* exec */
	rows[2].task = (struct task_name){ 0 };
	CHECK_KIND(FORMAT_CHROME, rows,
		   CHROME_HEAD
		   ",\n{\"ph\":\"M\",\"pid\":4194304,\"tid\":77,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"curl\"}}"
		   ",\n{\"ph\":\"X\",\"pid\":4194304,\"tid\":77,\"ts\":1.000,\"dur\":0.001,"
		   "\"name\":\"a\"}"
		   ",\n{\"ph\":\"M\",\"pid\":4194304,\"tid\":77,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"other\"}}"
		   ",\n{\"ph\":\"X\",\"pid\":4194304,\"tid\":77,\"ts\":2.000,\"dur\":0.001,"
		   "\"name\":\"a\"}"
		   ",\n{\"ph\":\"M\",\"pid\":4194304,\"tid\":4194306,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"swapper/1\"}}"
		   ",\n{\"ph\":\"X\",\"pid\":4194304,\"tid\":4194306,\"ts\":3.000,\"dur\":0.001,"
		   "\"name\":\"a\"}"
		   "\n]}\n");
}

/* ---- folded ---- */

TEST(folded_self_and_total)
{
	struct row rows[6];

	small_trace(rows);
	CHECK_KIND(FORMAT_FOLDED, rows, "curl;send 1200\ncurl;send;copy [mod] 300\n");
	check_made(&(const struct format_config){ .kind = FORMAT_FOLDED, .is_total_time = true },
		   rows, 6, "curl;send 1500\ncurl;send;copy [mod] 300\n");
}

TEST(folded_adds_up_and_sorts)
{
	struct row rows[5] = {
		call_row(ROW_LEAF, 0, 1000, 5, "b"),    call_row(ROW_LEAF, 0, 2000, 7, "a"),
		call_row(ROW_LEAF, 0, 3000, 6, "b"),    call_row(ROW_LEAF, 0, 4000, 9, "b"),
		call_row(ROW_LEAF, 0, 5000, 0, "none"),
	};

	rows[2].task.tid = 78; /* equal names are one */
	rows[3].task = (struct task_name){ 79, TEXT("x;y\n") };
	CHECK_KIND(FORMAT_FOLDED, rows, "curl;a 7\ncurl;b 11\nx:y\\x0a;b 9\n");
}

TEST(folded_of_nothing)
{
	check_made(&(const struct format_config){ .kind = FORMAT_FOLDED }, NULL, 0, "");
}

/* ---- perfetto ---- */

TEST(perfetto_packets)
{
	/* packet { sequence 1, flags 2, time 1000, names { 2: "f" }, event { ... } } */
	static const char begin[] = "\x0a\x1e\x50\x01\x68\x02\x40\xe8\x07\x62\x07\x12\x05\x08\x02"
				    "\x12\x01"
				    "f"
				    "\x5a\x0c\x48\x01\x58\x4e\x50\x02\x22\x04\x08\x04\x18\x01";
	static const char end[] = "\x0a\x0d\x50\x01\x68\x02\x40\xea\x07\x5a\x04\x48\x02\x58\x4e";
	const struct row row = call_row(ROW_LEAF, 0, 1000, 2, "f");
	const struct format_config config = { .kind = FORMAT_PERFETTO };
	struct strbuf out = made(&config, &row, 1);
	const char *at = memmem(out.ptr, out.len, begin, sizeof(begin) - 1);

	CHECK(at);
	CHECK(memmem(at, (size_t)(out.ptr + out.len - at), end, sizeof(end) - 1));
	strbuf_release(&out);
}

TEST(perfetto_long_messages)
{
	static char name[400];
	struct row row = call_row(ROW_LEAF, 0, 1000, 2, "f");
	const struct format_config config = { .kind = FORMAT_PERFETTO };
	struct strbuf out;
	struct strbuf want = { 0 };

	memset(name, 'n', sizeof(name));
	row.args = (struct text){ name, sizeof(name) };
	out = made(&config, &row, 1);
	strbuf_str(&want, "\x32\x90\x03"); /* string_value of 400 bytes */
	strbuf_add(&want, name, sizeof(name));
	CHECK(memmem(out.ptr, out.len, want.ptr, want.len));
	strbuf_release(&want);
	strbuf_release(&out);
}

/* ---- trace.dat ---- */

static uint64_t get_u64(const char *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint32_t get_u32(const char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

/* Where CPU 0's place stands: behind "flyrecord". */
static const char *places(const struct strbuf *file)
{
	const char *at = memmem(file->ptr, file->len, "flyrecord", 10);

	CHECK(at);
	return at + 10;
}

TEST(tracedat_small)
{
	struct row rows[6];
	const struct format_config config = {
		.kind = FORMAT_TRACEDAT, .cpu_cnt = 3, .release = "6.1.0-test", .spool_dir = "/tmp"
	};
	struct strbuf file;
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
	/* one exit of 40 bytes: 10 words, no time since the page's */
	CHECK(get_u64(page) == 2500 && get_u64(page + 8) == 44 && get_u32(page + 16) == 10);
	CHECK(get_u32(page + 20) == 10 && get_u32(page + 24) == 77);
	CHECK(get_u64(page + 28) == 0xffffffff81000010u && !get_u32(page + 36));
	CHECK(get_u64(page + 44) == 1000 && get_u64(page + 52) == 2500);
	page = file.ptr + get_u64(cpu + 16);
	CHECK(get_u64(page) == 1000 && get_u32(page + 16) == 5);
	CHECK(get_u32(page + 20) == 11);
	CHECK(get_u32(page + 40) == (5 | 200 << 5));
	/* after the loss: the flag, and the count behind the data */
	page += 4096;
	CHECK(get_u64(page) == 3000 && get_u64(page + 8) == (3u << 30 | 24));
	CHECK(get_u64(page + 16 + 24) == 17);
	strbuf_release(&file);
}

/* The content of the section, found by walking them all as a reader does. */
static const char *section(const struct strbuf *file, uint16_t id, uint64_t *out_len)
{
	const char *end = file->ptr + file->len - 1;
	const char *found = NULL;
	const char *at = file->ptr + 32; /* behind where the options are */
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
static const char *option(const struct strbuf *file, uint16_t id)
{
	const char *at = file->ptr + get_u64(file->ptr + 24) + 16;
	uint64_t len;
	uint16_t here;

	CHECK(at == section(file, 0, &len));
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
	struct strbuf file = made(&config, NULL, 0);
	const char *cpu = places(&file);

	CHECK(get_u32(cpu - 10 - 4) == 1 && !get_u64(cpu + 8));
	CHECK(get_u64(cpu) == file.len - 1);
	strbuf_release(&file);
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
		CHECK(more >= 0);
		CHECK(out.len % 4096 == 0 && out.len <= 64 * 4096);
		sum += out.len;
		strbuf_reset(&out); /* as a caller does that has written it */
	} while (more);
	/* 20 + 4 + 8 and 40 + 4 bytes each */
	CHECK(sum > 20000 * 76 && sum < 20000 * 76 + 20000 * 76 / 20);
	format_free(f);
	strbuf_release(&out);
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

/* ---- text ---- */

TEST(text_is_render)
{
	const struct row rows[1] = { call_row(ROW_LEAF, 1, 1000, 163, "f") };

	CHECK_KIND(FORMAT_TEXT, rows,
		   "# tracer: function_graph\n#\n"
		   "# CPU  DURATION                  FUNCTION CALLS\n"
		   "# |     |   |                     |   |   |   |\n"
		   " 1)   0.163 us    |    f();\n");
}

TEST(names)
{
	enum format_kind kind;

	for (int i = 0; i < FORMAT_CNT; i++) {
		CHECK(!format_by_name(format_name((enum format_kind)i), &kind));
		CHECK(kind == (enum format_kind)i);
	}
	CHECK(format_by_name("xml", &kind) == -ENOENT);
	CHECK(format_is_binary(FORMAT_TRACEDAT) && !format_is_binary(FORMAT_JSON));
	CHECK(format_is_binary(FORMAT_TRACEDAT7));
}

/* ---- the tree ---- */

struct seen {
	struct strbuf out;
	uint64_t begin_ns[16];
	uint64_t end_ns[16];
	unsigned int cnt;
};

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct seen *seen = ctx;

	CHECK(call == &task->calls[call->depth]);
	CHECK(call->begin_ns <= call->end_ns);
	strbuf_printf(&seen->out, "%u:%.*s%s%s ", call->depth,
		      call->sym ? (int)call->sym->name.len : 1,
		      call->sym ? call->sym->name.ptr : "?", call->has_entry ? "" : "<",
		      call->has_return ? "" : ">");
	seen->begin_ns[seen->cnt] = call->begin_ns;
	seen->end_ns[seen->cnt++] = call->end_ns;
}

static struct seen tree_of(struct calltree_config config, const struct row *rows, size_t cnt)
{
	struct seen seen = { 0 };
	struct calltree *ct;

	config.end = on_end;
	config.ctx = &seen;
	CHECK(!calltree_new(&ct, &config));
	for (size_t i = 0; i < cnt; i++)
		CHECK(!calltree_row(ct, &rows[i]));
	calltree_finish(ct);
	calltree_free(ct);
	strbuf_char(&seen.out, '\0');
	return seen;
}

TEST(tree_lost_returns)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),    call_row(ROW_ENTRY, 1, 110, 0, "b"),
		call_row(ROW_ENTRY, 2, 120, 0, "c"),    call_row(ROW_ENTRY, 1, 200, 0, "d"),
		call_row(ROW_RETURN, 0, 300, 200, "a"),
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 5);

	CHECK_STR(seen.out.ptr, "2:c> 1:b> 1:d> 0:a ");
	CHECK(seen.end_ns[0] == 120 && seen.end_ns[2] == 200); /* nobody knows how much longer */
	strbuf_release(&seen.out);
}

/* The kernel knows how long a call took across a loss, but the entry before it may be another call's. */
TEST(tree_takes_no_entry_from_before_a_loss)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),     call_row(ROW_ENTRY, 1, 110, 0, "b"),
		{ .kind = ROW_LOST, .cpu = 3 },          call_row(ROW_LEAF, 1, 900, 5, "c"),
		call_row(ROW_RETURN, 0, 1000, 200, "a"),
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 5);

	CHECK_STR(seen.out.ptr, "1:b> 0:a> 1:c 0:a< ");
	CHECK(seen.begin_ns[3] == 800 && seen.end_ns[3] == 1000);
	strbuf_release(&seen.out);
}

TEST(tree_lost_entries_nest)
{
	const struct row rows[] = {
		call_row(ROW_LEAF, 3, 1000, 50, "leaf"),
		call_row(ROW_RETURN, 2, 1060, 20, "inner"), /* shorter than it can be */
		call_row(ROW_RETURN, 1, 1080, 0, ""),
		call_row(ROW_RETURN, 0, 1090, 500, "outer"),
		call_row(ROW_RETURN, 0, 1100, 300, "again"), /* longer than it can be */
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 5);

	CHECK_STR(seen.out.ptr, "3:leaf 2:inner< 1:?< 0:outer< 0:again< ");
	CHECK(seen.begin_ns[1] == 999 && seen.begin_ns[2] == 998);
	CHECK(seen.begin_ns[3] == 590 && seen.begin_ns[4] == 1090);
	strbuf_release(&seen.out);
}

TEST(tree_other_function_returns)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),
		call_row(ROW_RETURN, 0, 300, 50, "b"),
		call_row(ROW_ENTRY, 0, 400, 0, "c"),
		call_row(ROW_RETURN, 0, 500, 100, ""),
	};
	struct seen seen = tree_of((struct calltree_config){ 0 }, rows, 4);

	CHECK_STR(seen.out.ptr, "0:a> 0:b< 0:c ");
	CHECK(seen.begin_ns[1] == 250);
	strbuf_release(&seen.out);
}

TEST(tree_times_from_durations)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 0, 0, "a"),     call_row(ROW_LEAF, 1, 0, 30, "b"),
		call_row(ROW_LEAF, 1, 0, 40, "c"),     call_row(ROW_RETURN, 0, 0, 100, ""),
		call_row(ROW_RETURN, 0, 0, 1000, "d"),
	};
	struct seen seen = tree_of((struct calltree_config){ .lacks_time = true }, rows, 5);

	CHECK_STR(seen.out.ptr, "1:b 1:c 0:a 0:d< ");
	CHECK(seen.begin_ns[1] == 30 && seen.end_ns[1] == 70);
	CHECK(!seen.begin_ns[2] && seen.end_ns[2] == 100);
	CHECK(seen.begin_ns[3] == 100 && seen.end_ns[3] == 1000);
	strbuf_release(&seen.out);
}

TEST(tree_tasks_from_banners)
{
	struct row rows[] = {
		call_row(ROW_ENTRY, 0, 100, 0, "a"),
		{ .kind = ROW_BANNER, .cpu = 1, .prev = CURL, .task = { 88, TEXT("sh") } },
		call_row(ROW_LEAF, 0, 200, 10, "b"),
		{ .kind = ROW_BANNER, .cpu = 1, .prev = { 88, TEXT("sh") }, .task = CURL },
		call_row(ROW_RETURN, 0, 300, 200, "a"),
	};
	struct seen seen = tree_of((struct calltree_config){ .lacks_task = true }, rows, 5);

	CHECK_STR(seen.out.ptr, "0:b 0:a ");
	strbuf_release(&seen.out);
}

TEST(tree_absurd_rows)
{
	struct row rows[] = {
		call_row(ROW_ENTRY, 1000000, 100, 0, "deep"),
		call_row(ROW_ENTRY, 0, 100, 0, "a"),
		call_row(ROW_RETURN, 4000, 200, 1, "b"),
	};
	struct seen seen;

	rows[1].cpu = UINT32_MAX;
	seen = tree_of((struct calltree_config){ 0 }, rows, 3);
	CHECK_STR(seen.out.ptr, "4000:b< ");
	strbuf_release(&seen.out);
}

/* ---- captured traces ---- */

/* Every sample in every format, fed line by line and with the output emptied after each row. */
static void convert(const char *path, enum format_kind kind, struct strbuf *all)
{
	struct format_config config = { .kind = kind, .spool_dir = "/tmp" };
	struct strbuf out = { 0 };
	struct format *f = NULL;
	struct text_parse ft;
	char line[4096];
	FILE *in = fopen(path, "r");
	int more = 1;

	CHECK(in);
	text_parse_init(&ft);
	while (fgets(line, sizeof(line), in)) {
		struct row row;

		if (text_parse_line(&ft, line, strlen(line), &row) != FTEXT_ROW)
			continue;
		config.lacks_time = !ft.columns.abstime;
		config.lacks_task = !ft.columns.proc;
		if (!f)
			CHECK(!format_new(&f, &config, &out));
		CHECK(!format_row(f, &row));
		memset(line, '#', sizeof(line)); /* nothing of the row may be needed */
		strbuf_add(all, out.ptr, out.len);
		strbuf_reset(&out);
	}
	fclose(in);
	for (; f && more; strbuf_reset(&out)) {
		more = format_finish(f);
		CHECK(more >= 0);
		strbuf_add(all, out.ptr, out.len);
	}
	format_free(f);
	strbuf_release(&out);
	CHECK(strbuf_ok(all));
}

TEST(samples_in_every_format)
{
	static const char dir_name[] = "tests/golden/samples";
	DIR *dir = opendir(dir_name);
	unsigned int cnt = 0;

	if (!dir)
		SKIP("no tests/golden/samples here");
	for (struct dirent *ent; (ent = readdir(dir));) {
		struct strbuf path = { 0 };
		struct strbuf all = { 0 };

		if (ent->d_name[0] == '.')
			continue;
		strbuf_printf(&path, "%s/%s", dir_name, ent->d_name);
		strbuf_char(&path, '\0');
		for (int kind = FORMAT_JSON; kind < FORMAT_CNT; kind++) {
			strbuf_reset(&all);
			convert(path.ptr, (enum format_kind)kind, &all);
			CHECK(kind == FORMAT_FOLDED || all.len);
		}
		cnt++;
		strbuf_release(&all);
		strbuf_release(&path);
	}
	closedir(dir);
	CHECK(cnt > 20);
}

TEST(sample_folded)
{
	struct strbuf all = { 0 };

	if (access("tests/golden/samples/abstime-proc-tail-7.2.txt", R_OK))
		SKIP("no tests/golden/samples here");
	convert("tests/golden/samples/abstime-proc-tail-7.2.txt", FORMAT_FOLDED, &all);
	strbuf_char(&all, '\0');
	CHECK(strstr(all.ptr,
		     "ping;icmp_rcv;__skb_checksum_complete 4723\n"
		     "ping;icmp_rcv;__skb_checksum_complete;skb_checksum 9632\n"
		     "ping;icmp_rcv;__skb_checksum_complete;skb_checksum;csum_partial 4778\n"));
	strbuf_release(&all);
}
