#include "session/status.h"
#include "harness.h"

/* The texts are valid until the fourth call from now. */
static const char *shown(struct strbuf *text)
{
	static char copies[4][256];
	static unsigned int turn;
	char *copy = copies[turn++ % 4];

	CHECK(strbuf_ok(text));
	snprintf(copy, sizeof(copies[0]), "%.*s", (int)text->len, text->ptr);
	strbuf_release(text);
	return copy;
}

static const char *line(const struct status_now *now)
{
	struct strbuf text = { 0 };
	struct color_span alarm;

	status_line(&text, now, &alarm);
	return shown(&text);
}

static const char *begun(const struct status_trace trace)
{
	struct strbuf text = { 0 };

	status_begin(&text, &trace);
	return shown(&text);
}

static const char *ended(const struct status_trace trace, const struct status_now *now)
{
	struct strbuf text = { 0 };

	status_end(&text, &trace, now);
	return shown(&text);
}

#define TRACE(...) ((struct status_trace){ __VA_ARGS__ })

TEST(how_a_trace_begins)
{
	CHECK_STR(begun(TRACE(.kind = STATUS_RECORD, .func_cnt = 40, .path = "web.rec",
			      .is_watched = true)),
		  "recording 40 functions to 'web.rec', Ctrl-C ends it");
	CHECK_STR(begun(TRACE(.func_cnt = 1, .timeout_ns = 500000000, .is_watched = true)),
		  "tracing 1 function for 500 ms; Ctrl-C ends it earlier");
	CHECK_STR(begun(TRACE(.func_cnt = 2, .command = "curl", .is_watched = true)),
		  "tracing 2 functions until 'curl' ends; Ctrl-C ends it earlier");
	CHECK_STR(begun(TRACE(.kind = STATUS_COUNT, .func_cnt = 2, .command = "curl",
			      .timeout_ns = 10000000000, .is_watched = true)),
		  "counting calls of 2 functions until 'curl' ends, at most for 10 s; "
		  "Ctrl-C ends it earlier");
	CHECK_STR(begun(TRACE(.kind = STATUS_COUNT, .timeout_ns = 10000000000)),
		  "counting tracepoints for 10 s");
}

TEST(a_log_is_not_told_of_keys)
{
	CHECK_STR(begun(TRACE(.kind = STATUS_RECORD, .func_cnt = 40, .path = "web.rec")),
		  "recording 40 functions to 'web.rec'");
	CHECK_STR(begun(TRACE(.func_cnt = 2, .command = "curl", .timeout_ns = 10000000000)),
		  "tracing 2 functions until 'curl' ends, at most for 10 s");
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
	static const struct number_case cases[] = {
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

	EACH(c, cases) {
		in_case("'%s'", c->want);
		CHECK(strstr(line(&(struct status_now){ .call_cnt = c->in }), c->want));
	}
}

TEST(sizes)
{
	static const struct number_case cases[] = {
		{ 0, " 0 bytes" },     { 999, " 999 bytes" },    { 1023, " 1.00 KiB" },
		{ 1536, " 1.50 KiB" }, { 1048576, " 1.00 MiB" }, { 1ull << 41, " 2.00 TiB" },
	};

	EACH(c, cases) {
		in_case("'%s'", c->want);
		CHECK(strstr(line(&(struct status_now){ .has_file = true, .file_bytes = c->in }),
			     c->want));
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
	struct status_now now = { .elapsed_ns = 12340000000,
				  .call_cnt = 1023456,
				  .has_file = true,
				  .file_bytes = 19188941 };

	CHECK_STR(ended(TRACE(.kind = STATUS_RECORD, .path = "web.rec"), &now),
		  "recorded 1.02M calls in 12.3 s to 'web.rec', 18.3 MiB; nothing was lost");
	now = (struct status_now){ .elapsed_ns = 250000000, .call_cnt = 1, .lost_cnt = 1 };
	CHECK_STR(ended(TRACE(.kind = STATUS_TRACE), &now),
		  "traced 1 call in 250 ms; 1 event was lost");
	now.lost_cnt = 17;
	now.elapsed_ns = 150000000000;
	for (now.others_permille = 0; now.others_permille <= 9; now.others_permille += 9)
		CHECK_STR(ended(TRACE(.kind = STATUS_TRACE), &now),
			  "traced 1 call in 150 s; 17 events were lost");
	now.others_permille = 123;
	CHECK_STR(
		ended(TRACE(.kind = STATUS_TRACE), &now),
		"traced 1 call in 150 s; 17 events were lost; calls not traced cost up to 12.3 % of a CPU");
}
