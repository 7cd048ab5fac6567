/* Rows to each format: exact bytes for small traces, the readers' view for captured ones. */
#include "format/format.h"

#include <dirent.h>

#include "formatted.h"
#include "harness.h"
#include "format/fmt.h"
#include "format/text_parse.h"

#define CHECK_KIND(format_kind, rows, want)                                      \
	check_made(&(const struct format_config){ .kind = (format_kind) }, rows, \
		   sizeof(rows) / sizeof((rows)[0]), want)

/* ---- json ---- */

#define HEAD "{\"schema\":2,\"host\":null,"

TEST(json_calls_and_all_else)
{
	struct row rows[6];

	small_trace(rows);
	CHECK_KIND(
		FORMAT_JSON, rows,
		HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":1200,\"end_ns\":1500,\"duration_ns\":300,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":1,\"func\":\"copy\",\"module\":\"mod\","
		"\"args\":{\"len\":5},\"caller\":\"send+0x1/0x2\",\"caller_module\":null,\"ret\":-22,"
		"\"complete\":true,\"returned\":true}\n" HEAD
		"\"type\":\"comment\",\"comment\":\"a \\\"b\\\"\",\"time_unix_ns\":null,\"time_ns\":1600,\"cpu\":1,\"tid\":77,"
		"\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\"}\n" HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":1000,\"end_ns\":2500,\"duration_ns\":1500,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":0,\"func\":\"send\",\"module\":null,"
		"\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":\"0x5\",\"complete\":true,\"returned\":true}\n" HEAD
		"\"type\":\"lost\",\"lost\":17,\"cpu\":1,\"time_unix_ns\":null,\"time_ns\":2600}\n" HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":3000,\"end_ns\":null,\"duration_ns\":null,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":0,\"func\":\"recv\",\"module\":null,"
		"\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":null,\"complete\":false,\"returned\":false}\n");
}

TEST(json_of_ends_that_may_not_belong_together)
{
	struct row rows[3];

	unsure_trace(rows);
	CHECK_KIND(
		FORMAT_JSON, rows,
		HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":1200,\"end_ns\":1500,\"duration_ns\":300,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":1,\"func\":\"copy\",\"module\":null,"
		"\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":null,\"complete\":true,\"returned\":true}\n" HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":1000,\"end_ns\":null,\"duration_ns\":null,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":0,\"func\":\"send\",\"module\":null,"
		"\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":null,\"complete\":false,\"returned\":false}\n" HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":null,\"end_ns\":9000,\"duration_ns\":null,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":0,\"func\":\"send\",\"module\":null,"
		"\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":null,\"complete\":false,\"returned\":true}\n");
}

/* The slice ends where the call was last seen; the return is an instant event. */
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

TEST(json_knows_the_host_and_the_time)
{
	const struct format_config config = {
		.kind = FORMAT_JSON,
		.node = "web \"1\"",
		.real_offset_ns = 5000,
	};
	struct row row = call_row(ROW_LEAF, 0, 1000, 300, "recv");

	row.tgid = 70;
	row.place = (struct task_place){ 1234, 4026531840 };
	row.args_text = TEXT("sk=0xffff8880, ok=true, key={a=1, b=2}, name=\"x, y\", 007");
	row.note = TEXT("ret=0x1f");
	check_made(
		&config, &row, 1,
		"{\"schema\":2,\"host\":\"web \\\"1\\\"\",\"begin_unix_ns\":6000,\"begin_ns\":1000,"
		"\"end_ns\":1300,\"duration_ns\":300,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":70,\"cgroup_id\":1234,\"netns\":4026531840,\"comm\":\"curl\","
		"\"depth\":0,\"func\":\"recv\",\"module\":null,\"args\":{\"sk\":\"0xffff8880\",\"ok\":true,"
		"\"key\":\"{a=1, b=2}\",\"name\":\"\\\"x, y\\\"\",\"4\":7},\"caller\":null,\"caller_module\":null,"
		"\"ret\":\"0x1f\",\"complete\":true,\"returned\":true}\n");
}

TEST(json_has_null_where_a_text_has_no_times)
{
	const struct format_config config = { .kind = FORMAT_JSON, .lacks_time = true };
	const struct row rows[] = {
		call_row(ROW_LEAF, 0, 0, 300, "recv"),
		{ .kind = ROW_LOST, .cpu = 1 },
	};

	check_made(
		&config, rows, 2,
		HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":null,\"end_ns\":null,\"duration_ns\":300,\"net_ns\":null,\"net_error_ns\":null,"
		"\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,\"comm\":\"curl\",\"depth\":0,\"func\":\"recv\","
		"\"module\":null,\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":null,\"complete\":true,\"returned\":true}\n" HEAD
		"\"type\":\"lost\",\"lost\":null,\"cpu\":1,\"time_unix_ns\":null,\"time_ns\":null}\n");
}

/* The return stays in its place although the duration does not count the sleep. */
TEST(json_of_a_leaf_that_slept)
{
	struct row rows[] = { call_row(ROW_LEAF, 0, 1000, 300, "recv") };

	rows[0].slept_ns = 5000;
	CHECK_KIND(
		FORMAT_JSON, rows,
		HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":1000,\"end_ns\":6300,\"duration_ns\":300,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":0,\"func\":\"recv\",\"module\":null,"
		"\"args\":null,\"caller\":null,\"caller_module\":null,\"ret\":null,\"complete\":true,\"returned\":true}\n");
}

/* The dialect before 6.13 has no name for a result. */
TEST(json_of_a_result_behind_a_caller)
{
	struct row rows[] = { call_row(ROW_LEAF, 0, 1000, 300, "recv") };

	rows[0].note = TEXT("<-send+0x1/0x2 [mod] = -22");
	CHECK_KIND(
		FORMAT_JSON, rows,
		HEAD
		"\"begin_unix_ns\":null,\"begin_ns\":1000,\"end_ns\":1300,\"duration_ns\":300,\"net_ns\":null,\"net_error_ns\":null,\"cpu\":1,\"tid\":77,\"pid\":null,\"cgroup_id\":null,\"netns\":null,"
		"\"comm\":\"curl\",\"depth\":0,\"func\":\"recv\",\"module\":null,\"args\":null,"
		"\"caller\":\"send+0x1/0x2\",\"caller_module\":\"mod\",\"ret\":-22,\"complete\":true,\"returned\":true}\n");
}

/* Source lines stand beside the callers, which stay as they are without. */
TEST(json_of_a_stack_with_source_lines)
{
	struct caller frames[] = {
		{ .place = TEXT("a+0x1/0x2"), .source = TEXT("net/a.c:23") },
		{ .place = TEXT("b+0x3/0x4") },
		{ .place = TEXT("?") },
	};
	struct row rows[] = {
		stack_row(frames, 3),
	};

	CHECK_KIND(
		FORMAT_JSON, rows,
		HEAD
		"\"type\":\"stack\",\"stack\":[\"a+0x1/0x2\",\"b+0x3/0x4\",\"?\"],\"source\":[\"net/a.c:23\",\"\",\"\"],"
		"\"time_unix_ns\":null,\"time_ns\":900,\"cpu\":1,\"tid\":77,"
		"\"pid\":null,\"cgroup_id\":null,\"netns\":null,\"comm\":\"curl\"}\n");
	frames[0].source.len = 0;
	frames[1].place = TEXT("b+0x3/0x4 [veth]");
	rows[0].frame_cnt = 2;
	CHECK_KIND(FORMAT_JSON, rows,
		   HEAD "\"type\":\"stack\",\"stack\":[\"a+0x1/0x2\",\"b+0x3/0x4 [veth]\"],"
			"\"time_unix_ns\":null,\"time_ns\":900,\"cpu\":1,\"tid\":77,"
			"\"pid\":null,\"cgroup_id\":null,\"netns\":null,\"comm\":\"curl\"}\n");
}

static void check_json_text(struct text text, const char *want)
{
	struct strbuf out = { 0 };

	jsonw_text(&(struct jsonw){ .out = &out }, text);
	CHECK_BUF(&out, want);
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

/* speedscope takes values for a part of a function's name. */
TEST(speedscope_has_no_values)
{
	struct row rows[6];
	struct strbuf chrome;
	struct strbuf out;

	small_trace(rows);
	out = made(&(const struct format_config){ .kind = FORMAT_SPEEDSCOPE }, rows, 6);
	/* a leaf's end is written, not added up */
	CHECK(!strstr(out.ptr, "\"dur\""));
	CHECK(strstr(
		out.ptr,
		",\"name\":\"copy [mod]\"},\n{\"ph\":\"E\",\"pid\":4194304,\"tid\":77,\"ts\":"));
	CHECK(strstr(out.ptr, "\"ts\":3.000,\"name\":\"recv\"}\n]}\n"));
	CHECK(!strstr(out.ptr, "len=5") && !strstr(out.ptr, "complete"));
	chrome = made(&(const struct format_config){ .kind = FORMAT_CHROME }, rows, 6);
	CHECK(strstr(chrome.ptr, "len=5"));
	strbuf_release(&chrome);
	strbuf_release(&out);
}

TEST_ONE(chrome_of_nothing, check_made(&(const struct format_config){ .kind = FORMAT_CHROME }, NULL,
				       0, CHROME_HEAD "\n]}\n"));

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

TEST(chrome_processes)
{
	struct row rows[2] = {
		call_row(ROW_LEAF, 0, 1000, 1, "a"),
		call_row(ROW_LEAF, 0, 2000, 1, "a"),
	};

	rows[0].tgid = 70;
	rows[0].process = TEXT("browser");
	rows[1].task.tid = 78; /* not known of this one */
	CHECK_KIND(FORMAT_CHROME, rows,
		   CHROME_HEAD
		   ",\n{\"ph\":\"M\",\"pid\":70,\"tid\":77,\"name\":\"process_name\","
		   "\"args\":{\"name\":\"browser\"}}"
		   ",\n{\"ph\":\"M\",\"pid\":70,\"tid\":77,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"curl\"}}"
		   ",\n{\"ph\":\"X\",\"pid\":70,\"tid\":77,\"ts\":1.000,\"dur\":0.001,"
		   "\"name\":\"a\"}"
		   ",\n{\"ph\":\"M\",\"pid\":4194304,\"tid\":78,\"name\":\"thread_name\","
		   "\"args\":{\"name\":\"curl\"}}"
		   ",\n{\"ph\":\"X\",\"pid\":4194304,\"tid\":78,\"ts\":2.000,\"dur\":0.001,"
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

static const struct user_frame user_frames[] = {
	{ .ip = 1, .symbol = TEXT("inner"), .file = TEXT("/opt/a/client") },
	{ .ip = 2, .symbol = TEXT("main"), .file = TEXT("client") },
	{ .ip = 3, .file = TEXT("/lib/libc.so.6") },
	{ .ip = 4 },
};
static const struct user_stack user_stack = { user_frames, 4, USER_STACK_NAMED };

static char long_name[601];
static const struct user_frame long_frame = { .symbol = { long_name, 600 } };
static const struct user_stack long_stack = { &long_frame, 1, USER_STACK_NAMED };

static struct row user_stack_row(const struct user_stack *stack)
{
	struct row row = stack_row(NULL, 0);

	row.user_stack = stack;
	return row;
}

#define USER_PARTS "curl;[unknown];[unknown] [libc.so.6];main [client];inner [client]"

TEST(json_of_a_user_stack)
{
	static const struct user_frame frames[] = {
		{ .ip = 0x401136,
		  .offset = 22,
		  .symbol = TEXT("inner"),
		  .file = TEXT("/opt/a/client"),
		  .build_id = TEXT("01ab") },
		{ .offset = 0x1234, .file = TEXT("/lib/libx.so") }, /* hidden */
		{ .ip = 0x7f0000ffffff },
	};
	static const struct user_stack stack = { frames, 3, USER_STACK_NAMED };
	struct row rows[] = {
		user_stack_row(&stack),
	};

	CHECK_KIND(
		FORMAT_JSON, rows,
		HEAD
		"\"type\":\"user_stack\",\"user_stack\":[{\"ip\":\"0x401136\",\"symbol\":\"inner\",\"offset\":22,"
		"\"file\":\"/opt/a/client\",\"build_id\":\"01ab\"},"
		"{\"ip\":null,\"symbol\":null,\"offset\":4660,\"file\":\"/lib/libx.so\",\"build_id\":null},"
		"{\"ip\":\"0x7f0000ffffff\",\"symbol\":null,\"offset\":null,\"file\":null,\"build_id\":null}],"
		"\"time_unix_ns\":null,\"time_ns\":900,\"cpu\":1,\"tid\":77,"
		"\"pid\":null,\"cgroup_id\":null,\"netns\":null,\"comm\":\"curl\"}\n");
}

/* Each belongs to one tree, the next of its task, whatever is still open then. */
TEST(folded_user_stack_is_above_the_next_tree)
{
	struct row rows[] = {
		call_row(ROW_ENTRY, 0, 500, 0, "stale"),
		{ .kind = ROW_LOST, .cpu = 1, .time_ns = 600, .lost_cnt = 3 },
		user_stack_row(&user_stack),
		call_row(ROW_ENTRY, 0, 1000, 0, "send"),
		call_row(ROW_LEAF, 1, 1001, 3, "copy"),
		call_row(ROW_RETURN, 0, 1010, 10, "send"),
		call_row(ROW_LEAF, 0, 2000, 5, "alone"),
		call_row(ROW_ENTRY, 0, 3000, 0, "stale"),
		user_stack_row(&user_stack),
		call_row(ROW_LEAF, 0, 4000, 9, "recv"),
	};

	CHECK_KIND(FORMAT_FOLDED, rows,
		   USER_PARTS ";recv 9\n" USER_PARTS ";send 7\n" USER_PARTS
			      ";send;copy 3\ncurl;alone 5\n");
}

/* All stacks there are room for, then none, known or not; a trace without user stacks has no limit. */
TEST(folded_user_stacks_have_a_limit)
{
	const struct format_config config = { .kind = FORMAT_FOLDED, .ustack_bytes_max = 1000 };
	struct row rows[] = {
		user_stack_row(&user_stack),         call_row(ROW_LEAF, 0, 1000, 5, "send"),
		user_stack_row(&user_stack),         call_row(ROW_LEAF, 0, 2000, 6, "send"),
		user_stack_row(&user_stack),         call_row(ROW_LEAF, 0, 3000, 7, "recv"),
		call_row(ROW_LEAF, 0, 4000, 8, "b"), call_row(ROW_LEAF, 0, 5000, 9, "a"),
	};
	struct row many[64];
	struct strbuf out;

	check_made(&config, rows, CNT_OF(rows),
		   USER_PARTS ";recv 7\n" USER_PARTS ";send 11\ncurl;a 9\ncurl;b 8\n");
	for (uint64_t i = 0; i < CNT_OF(many); i += 2) {
		many[i] = user_stack_row(&user_stack);
		many[i + 1] = call_row(ROW_LEAF, 0, 1000 + i, 1, "send");
	}
	check_made(&config, many, CNT_OF(many), USER_PARTS ";send 32\n");
	memset(long_name, 'x', 600);
	rows[2].user_stack = &long_stack;
	rows[4].user_stack = &long_stack;
	out = made(&config, rows, CNT_OF(rows));
	CHECK(strstr(out.ptr, ";send 6\n") && strstr(out.ptr, USER_PARTS ";send 5\n"));
	CHECK(strstr(out.ptr, "curl;[other];recv 7\n") && strstr(out.ptr, "curl;b 8\n"));
	strbuf_release(&out);
}

TEST_ONE(folded_of_nothing,
	 check_made(&(const struct format_config){ .kind = FORMAT_FOLDED }, NULL, 0, ""));

/* ---- perfetto ---- */

TEST(perfetto_packets)
{
	/* the track of tid 77, whose process is not known: packet { sequence 1, flags 2, time 1000, names { 2: "f" }, event { ... } } */
	static const char begin[] =
		"\x0a\x26\x50\x01\x68\x02\x40\xe8\x07\x62\x07\x12\x05\x08\x02"
		"\x12\x01"
		"f"
		"\x5a\x14\x48\x01\x58\xcd\x80\x80\x80\x80\x80\x80\x80\x03\x50\x02\x22\x04\x08\x06\x18\x01";
	static const char end[] = "\x0a\x15\x50\x01\x68\x02\x40\xea\x07\x5a\x0c\x48\x02"
				  "\x58\xcd\x80\x80\x80\x80\x80\x80\x80\x03";
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
	row.args_text = (struct text){ name, sizeof(name) };
	out = made(&config, &row, 1);
	strbuf_str(&want, "\x32\x90\x03"); /* string_value of 400 bytes */
	strbuf_add(&want, name, sizeof(name));
	CHECK(memmem(out.ptr, out.len, want.ptr, want.len));
	strbuf_release(&want);
	strbuf_release(&out);
}

/* ---- html ---- */

/* Whatever names and arguments are, the page has them as base64 in one element. */
TEST(html_is_a_page_whatever_names_are)
{
	static const char begin[] = "<script id=\"trace\" type=\"text/plain\">";
	struct row row = call_row(ROW_LEAF, 0, 1000, 2, "f");
	const struct format_config config = { .kind = FORMAT_HTML };
	const char *at;
	struct strbuf out;

	row.task.comm = TEXT("</script><b>");
	row.args_text = TEXT("s=</script><img src=x onerror=alert(1)>");
	row.text = row.args_text;
	out = made(&config, &row, 1);
	CHECK(!strncmp(out.ptr, "<!DOCTYPE html>", 15));
	at = strstr(out.ptr, begin);
	CHECK(at);
	at += sizeof(begin) - 1;
	CHECK(!strncmp(at, "H4sI", 4)); /* gzip */
	at += strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=");
	CHECK(!strncmp(at, "</script>", 9));
	CHECK(!strstr(out.ptr, "onerror=alert") && !strstr(out.ptr, "@TRACE@"));
	CHECK(strstr(at, "</html>\n"));
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
	CHECK(format_traits(FORMAT_TRACEDAT)->is_binary && !format_traits(FORMAT_JSON)->is_binary);
	CHECK(format_traits(FORMAT_TRACEDAT7)->is_binary);
}

/* ---- captured traces ---- */

/* Every sample in every format, fed line by line and with the output emptied after each row. */
static void convert(const char *path, enum format_kind kind, struct strbuf *all)
{
	struct format_config config = { .kind = kind, .spool_dir = "/tmp" };
	struct strbuf out = { 0 };
	struct text_values values = { 0 };
	struct format *f = NULL;
	struct text_parse ft;
	char line[4096];
	FILE *in = fopen(path, "r");
	int more = 1;

	CHECK(in);
	text_parse_init(&ft);
	while (fgets(line, sizeof(line), in)) {
		struct row row;

		if (text_parse_line(&ft, line, strlen(line), &row) != TEXT_PARSE_ROW)
			continue;
		config.lacks_time = !ft.columns.abstime;
		config.lacks_task = !ft.columns.proc;
		if (!f)
			CHECK(!format_new(&f, &config, &out));
		CHECK(!row_is_call(&row) || !text_values_take(&values, &row));
		CHECK(!format_row(f, &row));
		memset(line, '#', sizeof(line)); /* nothing of the row may be needed */
		strbuf_add(all, out.ptr, out.len);
		strbuf_reset(&out);
	}
	fclose(in);
	text_values_release(&values);
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
		for (enum format_kind kind = FORMAT_JSON; !format_traits(kind)->tables_why;
		     kind++) {
			strbuf_reset(&all);
			convert(path.ptr, kind, &all);
			CHECK(kind == FORMAT_FOLDED || all.len);
		}
		cnt++;
		strbuf_release(&all);
		strbuf_release(&path);
	}
	closedir(dir);
	CHECK(cnt > 20);
}

static bool changes_with(enum format_kind kind, const struct row *row, const struct row *other)
{
	const struct format_config config = { .kind = kind };
	struct strbuf one = made(&config, row, 1);
	struct strbuf two = made(&config, other, 1);
	bool is_changed = one.len != two.len || memcmp(one.ptr, two.ptr, one.len) != 0;

	strbuf_release(&one);
	strbuf_release(&two);
	return is_changed;
}

/* What a format says of itself, nobody else needs to know. */
TEST(each_format_gets_what_it_shows)
{
	struct row call = call_row(ROW_LEAF, 0, 2000, 300, "copy");
	struct row of_process = call;
	struct row comment = {
		.kind = ROW_COMMENT, .cpu = 1, .time_ns = 2000, .task = CURL, .text = TEXT("one")
	};
	struct row other = comment;

	call.tgid = 5;
	of_process.tgid = 6;
	other.text = TEXT("another");
	for (enum format_kind kind = FORMAT_TEXT; !format_traits(kind)->tables_why; kind++) {
		CHECK(changes_with(kind, &call, &of_process) == format_traits(kind)->wants_process);
		CHECK(changes_with(kind, &comment, &other) != format_traits(kind)->lacks_comments);
	}
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

/* The values of an event, as details.c makes them, in each form and kind. */
TEST(values_of_events_have_the_types_of_their_kinds)
{
	static const struct value args[] = {
		{ .name = TEXT("sign"),
		  .number = (uint64_t)-22,
		  .kind = VALUE_INT,
		  .form = FORM_DECIMAL },
		{ .name = TEXT("size"), .number = 22, .kind = VALUE_INT, .form = FORM_UNSIGNED },
		{ .name = TEXT("skb"), .number = 0x16, .kind = VALUE_POINTER, .form = FORM_HEX },
		{ .name = TEXT("is_on"), .number = 1, .kind = VALUE_BOOL, .form = FORM_BOOL },
		{ .name = TEXT("why"),
		  .text = TEXT("NAME"),
		  .number = 2,
		  .kind = VALUE_TEXT,
		  .form = FORM_DECIMAL },
		{ .name = TEXT("a\"b"), .number = 3, .kind = VALUE_INT, .form = FORM_DECIMAL },
		{ .number = 4, .kind = VALUE_INT, .form = FORM_DECIMAL },
	};
	struct row rows[] = { call_row(ROW_LEAF, 0, 1000, 300, "send") };
	struct strbuf out;

	rows[0].args = args;
	rows[0].arg_cnt = CNT_OF(args);
	out = made(&(const struct format_config){ .kind = FORMAT_JSON }, rows, 1);
	CHECK(strstr(out.ptr, "\"args\":{\"sign\":-22,\"size\":22,\"skb\":\"0x16\",\"is_on\":true,"
			      "\"why\":\"2 [NAME]\",\"a\\\"b\":3,\"6\":4}"));
	strbuf_release(&out);
	out = made(&(const struct format_config){ .kind = FORMAT_CHROME }, rows, 1);
	CHECK(strstr(out.ptr,
		     "\"sign=-22, size=22, skb=0x16, is_on=true, why=2 [NAME], a\\\"b=3, 4\""));
	strbuf_release(&out);
}

/* Lines of losses add up to all that is missing: what has no place among the rows is the last one. */
TEST(json_has_losses_without_a_place)
{
	const struct format_config config = { .kind = FORMAT_JSON };
	const struct row row = { .kind = ROW_LOST, .cpu = 1, .time_ns = 600, .lost_cnt = 17 };

	for (uint64_t lost_cnt = 16; lost_cnt <= 18; lost_cnt++) {
		struct strbuf out = { 0 };
		struct format *f;

		CHECK(!format_new(&f, &config, &out));
		CHECK(!format_row(f, &row));
		format_set_lost(f, lost_cnt);
		CHECK(!format_finish(f));
		format_free(f);
		CHECK(!strstr(strbuf_cstr(&out), "\"lost\":1,\"cpu\":null,\"time_unix_ns\":null,"
						 "\"time_ns\":null}\n") == (lost_cnt < 18));
		strbuf_release(&out);
	}
}
