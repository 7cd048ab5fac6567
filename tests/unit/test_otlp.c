/* Rows to OpenTelemetry's spans: exact bytes of a small trace, and what waits for the end of a call. */

#include "formatted.h"
#include "harness.h"

#define RESOURCE(attributes) \
	"{\"resourceSpans\":[{\"resource\":{\"attributes\":[" attributes "]},\"scopeSpans\":[{"
#define SCOPE               "\"scope\":{\"name\":\"netfgraph\",\"version\":\"" NFG_VERSION "\"},\"spans\":["
#define END                 "]}],\"schemaUrl\":\"https://opentelemetry.io/schemas/1.37.0\"}]}\n"
#define TEXT_OF(key, value) "{\"key\":\"" key "\",\"value\":{\"stringValue\":\"" value "\"}}"
#define INT_OF(key, value)  "{\"key\":\"" key "\",\"value\":{\"intValue\":\"" value "\"}}"
#define BOOL_OF(key, value) "{\"key\":\"" key "\",\"value\":{\"boolValue\":" value "}}"
#define UNKNOWN \
	TEXT_OF("service.name", "unknown_service") "," TEXT_OF("netfgraph.clock", "monotonic")
#define TASK INT_OF("thread.id", "77") "," TEXT_OF("thread.name", "curl")
#define CPU  INT_OF("cpu.logical_number", "1")

static struct strbuf out;

static void end(void)
{
	strbuf_release(&out);
}
AFTER(end);

static void spans_of(const struct row *rows, size_t cnt)
{
	out = made(&(const struct format_config){ .kind = FORMAT_OTLP }, rows, cnt);
}

static unsigned int count(const char *what)
{
	unsigned int cnt = 0;

	for (const char *at = out.ptr; (at = strstr(at, what)); at += strlen(what))
		cnt++;
	return cnt;
}

/* The value of the @nth "key":"..." of all. */
static void id_of(char id[33], const char *key, unsigned int nth)
{
	const char *at = out.ptr;

	for (unsigned int i = 0; i <= nth; i++) {
		at = strstr(at, key);
		CHECK(at);
		at += strlen(key);
	}
	CHECK(sscanf(at, "\":\"%32[0-9a-f]\"", id) == 1);
}

/* The same rows give the same ids. */
TEST(a_tree_is_a_trace)
{
	struct row rows[6];

	small_trace(rows);
	check_made(
		&(const struct format_config){ .kind = FORMAT_OTLP }, rows, 6,
		RESOURCE(UNKNOWN) SCOPE
		"{\"traceId\":\"76d0f8b563bc532cb155acefa3618496\",\"spanId\":\"1d92f9f07c7b0164\",\"parentSpanId\":\"b155acefa3618496\",\"name\":\"copy\",\"kind\":1,"
		"\"startTimeUnixNano\":\"1200\",\"endTimeUnixNano\":\"1500\",\"attributes\":[" TEXT_OF("code.function.name", "copy") "," TEXT_OF(
			"netfgraph.module",
			"mod") "," TASK "," CPU
			       "," INT_OF("netfgraph.arg.len", "5") "," TEXT_OF("netfgraph.caller", "send+0x1/0x2") "," INT_OF(
				       "netfgraph.ret",
				       "-22") "]},"
					      "{\"traceId\":\"76d0f8b563bc532cb155acefa3618496\",\"spanId\":\"b155acefa3618496\",\"name\":\"send\",\"kind\":1,"
					      "\"startTimeUnixNano\":\"1000\",\"endTimeUnixNano\":\"2500\",\"attributes\":[" TEXT_OF(
						      "code.function.name",
						      "send") "," TASK "," CPU
							      "," TEXT_OF(
								      "netfgraph.ret",
								      "0x5") "],"
									     "\"events\":[{\"timeUnixNano\":\"1600\",\"name\":\"comment\",\"attributes\":[" CPU
									     "," TEXT_OF(
										     "netfgraph.comment",
										     "a \\\"b\\\"") "]}]}" END
										     RESOURCE(TEXT_OF("service.name", "unknown_service") "," TEXT_OF(
											     "netfgraph.clock",
											     "monotonic"))
											     SCOPE
		"{\"traceId\":\"76d0f8b563bc532c7e173c5eb89a09b7\",\"spanId\":\"7e173c5eb89a09b7\",\"name\":\"lost events\",\"kind\":1,"
		"\"startTimeUnixNano\":\"2600\",\"endTimeUnixNano\":\"2600\",\"attributes\":[" CPU
		"," INT_OF("netfgraph.lost.count", "17") "]}" END RESOURCE(UNKNOWN) SCOPE
		"{\"traceId\":\"76d0f8b563bc532c80e3e8c5ff7aa0c4\",\"spanId\":\"80e3e8c5ff7aa0c4\",\"name\":\"recv\",\"kind\":1,"
		"\"startTimeUnixNano\":\"3000\",\"endTimeUnixNano\":\"3000\",\"attributes\":[" TEXT_OF(
			"code.function.name", "recv") "," TASK "," CPU
						      "," BOOL_OF("netfgraph.complete",
								  "false") "]}" END);
}

TEST(a_process_is_a_resource)
{
	const struct format_config config = {
		.kind = FORMAT_OTLP,
		.node = "web \"1\"",
		.real_offset_ns = 5000,
	};
	struct row row = call_row(ROW_LEAF, 0, 1000, 300, "recv");

	row.tgid = 70;
	row.process = TEXT("curl main");
	row.args_text = TEXT("ok=true, \"q\"=0x1, 007");
	row.slept_ns = 50;
	out = made(&config, &row, 1);
	CHECK(strstr(
		out.ptr,
		RESOURCE(TEXT_OF("service.name", "curl main") "," TEXT_OF(
			"host.name",
			"web \\\"1\\\"") "," INT_OF("process.pid",
						    "70") "," TEXT_OF("process.executable.name",
								      "curl main")) SCOPE));
	CHECK(strstr(out.ptr, "\"startTimeUnixNano\":\"6000\",\"endTimeUnixNano\":\"6350\""));
	CHECK(strstr(out.ptr, BOOL_OF("netfgraph.arg.ok", "true") "," TEXT_OF(
				      "netfgraph.arg.\\\"q\\\"",
				      "0x1") "," INT_OF("netfgraph.arg.2",
							"7") "," INT_OF("netfgraph.duration_ns",
									"300") "]}"));
}

TEST(net_durations_are_attributes)
{
	struct row row = call_row(ROW_LEAF, 0, 1000, 300, "recv");

	spans_of(&row, 1);
	CHECK(!count("netfgraph.net"));
	row.net = netcost_net(&(struct netcost){ 100, 90, 7 }, row.duration_ns, 0);
	strbuf_release(&out);
	spans_of(&row, 1);
	CHECK(count(INT_OF("netfgraph.net_ns", "200") "," INT_OF("netfgraph.net_error_ns", "7")) ==
	      1);
	CHECK(count("cpu.logical_number") == 1);
	row.net = netcost_net(&(struct netcost){ 298, 90, 7 }, row.duration_ns, 0);
	strbuf_release(&out);
	spans_of(&row, 1);
	CHECK(!count("netfgraph.net_ns") && count(INT_OF("netfgraph.net_error_ns", "7")) == 1);
}

TEST(ends_that_may_not_belong_together_are_two_spans)
{
	struct row rows[3];

	unsure_trace(rows);
	spans_of(rows, 3);
	CHECK(count("\"name\":\"send\"") == 2);
	CHECK(count(BOOL_OF("netfgraph.complete", "false")) == 2);
	CHECK(count(BOOL_OF("netfgraph.complete", "false") "," BOOL_OF("netfgraph.returned",
								       "true") "]}") == 1);
}

/* A loss is of the tree that was open on its CPU; a second tree is not touched. */
TEST(a_loss_inside_a_tree_is_an_event)
{
	struct row_list list =
		rows_of("1000 send{ 1100 push{ tid78 1200 other{ 1300 lost0 1400 lost3");
	const char *at;

	list.rows[2].cpu = 2;
	list.rows[4].cpu = 9;
	spans_of(list.rows, 5);
	CHECK(count("\"lost events\"") == 2);
	at = strstr(out.ptr, "\"name\":\"push\"");
	CHECK(at);
	at = strstr(
		at,
		"],\"events\":[{\"timeUnixNano\":\"1300\",\"name\":\"lost events\",\"attributes\":[" CPU
		"]}]},");
	CHECK(at);
	CHECK(strstr(out.ptr,
		     ",\"name\":\"lost events\",\"kind\":1,\"startTimeUnixNano\":\"1400\""));
}

/* The task went on elsewhere and is back with another call: its first CPU has no call open. */
TEST(a_loss_where_a_task_was_before_is_alone)
{
	struct row_list list = rows_of("1000 send{ 1100 } 1300 lost0");

	list.rows[1].cpu = 2;
	spans_of(list.rows, 3);
	CHECK(count("\"events\"") == 0 && count("\"name\":\"lost events\",\"kind\":1") == 1);
}

TEST(a_stack_is_of_the_tree_that_follows)
{
	const struct caller frames[] = { { .place = TEXT("a+0x1/0x2") },
					 { .place = TEXT("b+0x3/0x4") },
					 { .place = TEXT("?") } };
	struct row rows[] = {
		stack_row(frames, 3),
		call_row(ROW_LEAF, 0, 1000, 10, "send"),
		call_row(ROW_LEAF, 0, 1100, 10, "send"),
	};

	spans_of(rows, 3);
	CHECK(count("\"events\"") == 1);
	CHECK(strstr(out.ptr, "\"endTimeUnixNano\":\"1010\""));
	CHECK(strstr(
		out.ptr,
		"],\"events\":[{\"timeUnixNano\":\"900\",\"name\":\"stack\",\"attributes\":[" CPU
		"," TEXT_OF("code.stacktrace", "a+0x1/0x2\\u000ab+0x3/0x4\\u000a?") "]}]}]}],"));
}

/* The number of the entry or leaf, as --track shows it. */
static void give_number(struct row *row, struct value *pkt, uint64_t nr)
{
	*pkt = (struct value){ .name = TEXT("pkt"), .number = nr, .kind = VALUE_INT };
	row->args = pkt;
	row->arg_cnt = 1;
}

/* Two trees and a part of a third share the packet's trace. The reply in the third is of another one. */
TEST(a_packet_is_a_trace)
{
	struct value pkt[4];
	char ids[7][33];
	char links[2][33];
	struct row rows[] = {
		call_row(ROW_ENTRY, 0, 1000, 0, "send"), /* 7 */
		call_row(ROW_LEAF, 1, 1010, 10, "route"),
		call_row(ROW_RETURN, 0, 1100, 100, "send"),
		call_row(ROW_LEAF, 0, 1200, 10, "other"),
		call_row(ROW_ENTRY, 0, 2000, 0, "receive"), /* 7 */
		call_row(ROW_LEAF, 1, 2010, 10, "answer"),  /* 8 */
		call_row(ROW_RETURN, 0, 2100, 100, "receive"),
		call_row(ROW_ENTRY, 0, 3000, 0, "poll"),
		call_row(ROW_LEAF, 1, 3010, 10, "receive"), /* 7 */
		call_row(ROW_RETURN, 0, 3100, 100, "poll"),
	};

	give_number(&rows[0], &pkt[0], 7);
	give_number(&rows[4], &pkt[1], 7);
	give_number(&rows[5], &pkt[2], 8);
	give_number(&rows[8], &pkt[3], 7);
	spans_of(rows, CNT_OF(rows));
	/* the traces of: route, send, other, answer and the link to its caller, receive, receive and the link, poll */
	for (unsigned int i = 0; i < 4; i++)
		id_of(ids[i], "traceId", i);
	id_of(links[0], "traceId", 4);
	id_of(ids[4], "traceId", 5);
	id_of(ids[5], "traceId", 6);
	id_of(links[1], "traceId", 7);
	id_of(ids[6], "traceId", 8);
	CHECK_STR(ids[0], ids[1]);
	CHECK_STR(ids[4], ids[1]);
	CHECK_STR(ids[5], ids[1]);
	CHECK(strcmp(ids[2], ids[1]) && strcmp(ids[3], ids[1]) && strcmp(ids[6], ids[1]));
	CHECK(strcmp(ids[2], ids[3]) && strcmp(ids[2], ids[6]) && strcmp(ids[3], ids[6]));
	CHECK_STR(links[0], ids[4]);
	CHECK_STR(links[1], ids[6]);
	/* only route has its caller in the same trace */
	CHECK(count("\"parentSpanId\"") == 1 && count("\"links\":[{") == 2);
}

/* Losses leave calls open that end with the next one: stacks before that are not theirs. */
TEST(a_stack_after_a_loss_is_of_the_next_tree)
{
	static const struct user_frame frame = { .ip = 0x401136 };
	static const struct user_stack stack = { &frame, 1, USER_STACK_NAMED };
	const struct caller caller = { .place = TEXT("a+0x1/0x2") };
	struct row rows[] = {
		call_row(ROW_ENTRY, 0, 500, 0, "stale"),
		{ .kind = ROW_LOST, .cpu = 1, .time_ns = 600, .lost_cnt = 3 },
		stack_row(&caller, 1),
		stack_row(NULL, 0),
		call_row(ROW_LEAF, 0, 1000, 10, "send"),
		call_row(ROW_ENTRY, 0, 2000, 0, "stale"), /* its return was not even missed */
		stack_row(&caller, 1),
		call_row(ROW_LEAF, 0, 3000, 10, "recv"),
	};
	const char *at;

	rows[3].user_stack = &stack;
	spans_of(rows, CNT_OF(rows));
	CHECK(count("\"name\":\"stack\"") == 2 && count("\"name\":\"user stack\"") == 1);
	CHECK(count("\"name\":\"lost events\",\"attributes\"") == 1);
	at = strstr(out.ptr, "\"name\":\"send\"");
	CHECK(at && strstr(out.ptr, "\"name\":\"stack\"") > at &&
	      strstr(out.ptr, "\"name\":\"user stack\"") > at);
	at = strstr(at, "\"name\":\"stale\"");
	CHECK(at && strstr(at, "\"name\":\"stack\"") > strstr(at, "\"name\":\"recv\""));
}

/* More than can wait: spans of the same trace, below the call; none is left out. */
TEST(many_comments_in_a_call)
{
	struct row rows[203];
	char trace[33];
	char other[33];

	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	for (int i = 1; i <= 200; i++)
		rows[i] = (struct row){ .kind = ROW_COMMENT,
					.cpu = 1,
					.time_ns = 1100,
					.task = CURL,
					.text = TEXT("x") };
	rows[201] = call_row(ROW_RETURN, 0, 2000, 1000, "send");
	rows[202] = call_row(ROW_LEAF, 0, 3000, 10, "send");
	spans_of(rows, 203);
	CHECK(count("netfgraph.comment") == 200);
	CHECK(count(",\"name\":\"comment\",\"kind\":1") == 136);
	CHECK(count("\"parentSpanId\"") == 136);
	id_of(trace, "traceId", 0);
	id_of(other, "traceId", 136);
	CHECK_STR(other, trace);
	id_of(other, "traceId", 137);
	CHECK(strcmp(other, trace) != 0);
}

/* Memory is bounded by lines: a tree of many calls has several, with the same trace. */
TEST(a_large_tree_has_several_lines)
{
	struct row rows[602];
	char ids[2][33];

	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "send");
	for (int i = 1; i <= 600; i++)
		rows[i] = call_row(ROW_LEAF, 1, 1000 + (uint64_t)i * 10, 5, "copy");
	rows[601] = call_row(ROW_RETURN, 0, 9000, 8000, "send");
	spans_of(rows, 602);
	CHECK(count("\n") == 3 && count("\"spanId\"") == 601);
	id_of(ids[0], "traceId", 0);
	id_of(ids[1], "traceId", 600);
	CHECK_STR(ids[1], ids[0]);
	id_of(ids[0], "parentSpanId", 0);
	id_of(ids[1], "spanId", 600);
	CHECK_STR(ids[1], ids[0]);
}
