#include "session/status.h"

#include "harness.h"

static const char *shown(struct strbuf *text)
{
	static char copy[256];

	CHECK(strbuf_ok(text) && text->len < sizeof(copy));
	memcpy(copy, text->ptr, text->len);
	copy[text->len] = '\0';
	strbuf_release(text);
	*text = (struct strbuf){ 0 };
	return copy;
}

static const char *line(const struct status_now *now)
{
	struct strbuf text = { 0 };
	struct color_span alarm;

	status_line(&text, now, &alarm);
	return shown(&text);
}

TEST(how_a_trace_begins)
{
	struct status_trace trace = { .kind = STATUS_RECORD, .func_cnt = 40, .path = "web.rec" };
	struct strbuf text = { 0 };

	status_begin(&text, &trace);
	CHECK_STR(shown(&text), "recording 40 functions to 'web.rec', Ctrl-C ends it");
	trace = (struct status_trace){ .func_cnt = 1, .timeout_ns = 500000000 };
	status_begin(&text, &trace);
	CHECK_STR(shown(&text), "tracing 1 function for 500 ms; Ctrl-C ends it earlier");
	trace = (struct status_trace){ .func_cnt = 2, .command = "curl" };
	status_begin(&text, &trace);
	CHECK_STR(shown(&text), "tracing 2 functions until 'curl' ends; Ctrl-C ends it earlier");
	trace.kind = STATUS_COUNT;
	trace.timeout_ns = 10000000000;
	status_begin(&text, &trace);
	CHECK_STR(shown(&text),
		  "counting calls of 2 functions until 'curl' ends, at most for 10 s; "
		  "Ctrl-C ends it earlier");
}

TEST(the_numbers_of_a_trace)
{
	struct status_now now = {
		.elapsed_ns = 12900000000,
		.call_cnt = 1023456,
		.calls_sec = 84149,
		.share_permille = 34,
		.has_file = true,
		.file_bytes = 19188941,
	};

	CHECK_STR(line(&now),
		  "0:12  84.1K calls/s, 1.02M calls, 0 events lost, 3.4 % of a CPU, 18.3 MiB");
	now.has_file = false;
	now.elapsed_ns = 3723000000000;
	now.share_permille = 1000;
	CHECK_STR(line(&now),
		  "1:02:03  84.1K calls/s, 1.02M calls, 0 events lost, 100.0 % of a CPU");
	now.is_mean = true;
	CHECK_STR(line(&now),
		  "1:02:03  84.1K calls/s, 1.02M calls, 0 events lost, 100.0 % of each CPU");
}

TEST(numbers_have_three_digits_or_all)
{
	static const struct {
		uint64_t cnt;
		const char *want;
	} cases[] = {
		{ 0, "0 calls" },
		{ 1, "1 call" },
		{ 9999, "9999 calls" },
		{ 10000, "10.0K calls" },
		{ 99949, "99.9K calls" },
		{ 99960, "100K calls" },
		{ 999499, "999K calls" },
		{ 999500, "1.00M calls" },
		{ 9994999, "9.99M calls" },
		{ 9995001, "10.0M calls" },
		{ UINT64_MAX, "18446744T calls" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct status_now now = { .call_cnt = cases[i].cnt };

		CHECK(strstr(line(&now), cases[i].want));
	}
}

TEST(sizes)
{
	static const struct {
		uint64_t bytes;
		const char *want;
	} cases[] = {
		{ 0, " 0 bytes" },     { 999, " 999 bytes" },    { 1023, " 1.00 KiB" },
		{ 1536, " 1.50 KiB" }, { 1048576, " 1.00 MiB" }, { 1ull << 41, " 2.00 TiB" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct status_now now = {
			.has_file = true,
			.file_bytes = cases[i].bytes,
		};

		CHECK(strstr(line(&now), cases[i].want));
	}
}

/* The part in red is what was lost, and nothing while that is nothing. */
TEST(losses_are_an_alarm)
{
	struct status_now now = { .lost_cnt = 17 };
	struct strbuf text = { 0 };
	struct color_span alarm;

	status_line(&text, &now, &alarm);
	CHECK(alarm.len == strlen("17 events lost"));
	CHECK(!memcmp(text.ptr + alarm.at, "17 events lost", alarm.len));
	strbuf_reset(&text);
	now.lost_cnt = 0;
	status_line(&text, &now, &alarm);
	CHECK(!alarm.len);
	strbuf_release(&text);
}

TEST(how_a_trace_ended)
{
	struct status_trace trace = { .kind = STATUS_RECORD, .path = "web.rec" };
	struct status_now now = {
		.elapsed_ns = 12340000000,
		.call_cnt = 1023456,
		.has_file = true,
		.file_bytes = 19188941,
	};
	struct strbuf text = { 0 };

	status_end(&text, &trace, &now);
	CHECK_STR(shown(&text),
		  "recorded 1.02M calls in 12.3 s to 'web.rec', 18.3 MiB; nothing was lost");
	trace = (struct status_trace){ .kind = STATUS_TRACE };
	now = (struct status_now){ .elapsed_ns = 250000000, .call_cnt = 1, .lost_cnt = 1 };
	status_end(&text, &trace, &now);
	CHECK_STR(shown(&text), "traced 1 call in 250 ms; 1 event was lost");
	now.lost_cnt = 17;
	now.elapsed_ns = 150000000000;
	status_end(&text, &trace, &now);
	CHECK_STR(shown(&text), "traced 1 call in 150 s; 17 events were lost");
	now.others_permille = 9;
	status_end(&text, &trace, &now);
	CHECK_STR(shown(&text), "traced 1 call in 150 s; 17 events were lost");
	now.others_permille = 123;
	status_end(&text, &trace, &now);
	CHECK_STR(
		shown(&text),
		"traced 1 call in 150 s; 17 events were lost; calls not traced cost up to 12.3 % of a CPU");
}
