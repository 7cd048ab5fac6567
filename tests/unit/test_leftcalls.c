/* Calls that were open when functions were left out: whether they were slow is not known, and that is said. */
#include <stdio.h>
#include <string.h>

#include "base/output.h"
#include "base/verdict.h"
#include "harness.h"
#include "options/opts.h"
#include "report/sink.h"
#include "rows.h"
#include "scratch.h"

#define MS 1000000ull

static struct func funcs[] = { { .name = TEXT("f") }, { .name = TEXT("g") } };
static const struct functab functab = { .funcs = funcs, .cnt = 2 };
static struct trace_facts facts;
static struct output output;
static struct sink *sink;
static struct opts opts;
static bool has_gap;

static void sink_begin(void)
{
	opts = (struct opts){ .verb = VERB_EXPLAIN };
	has_gap = true;
	output = (struct output){ .file.fd = temp_fd() };
	facts = (struct trace_facts){ .columns = { .proc = true, .abstime = true },
				      .functab = &functab };
	CHECK(!sink_explain_new(&sink, &opts, &output));
	CHECK(!sink->ops->begin(sink, &facts));
}

static void take(uint32_t tid, enum row_kind kind, uint64_t at_ms, uint64_t took_ms)
{
	struct row row = call_row(kind, 0, at_ms * MS, took_ms * MS, "f");

	row.task.tid = tid;
	row.lacks_duration = kind == ROW_RETURN && !took_ms;
	sink->ops->row(sink, &row);
}

/* Functions are left out; where links are made anew for that, nothing is traced for 20 ms. */
static void leave_out(uint64_t at_ms)
{
	const uint32_t id = 1;
	const struct leftout lo = { .time_ns = at_ms * MS,
				    .limit = LEFTOUT_OVERHEAD,
				    .measured = 40,
				    .max = 25,
				    .func_ids = &id,
				    .func_cnt = 1 };
	struct row mark = { .kind = ROW_LOST, .cpu = 1, .time_ns = at_ms * MS };
	const struct leftout gap = { .time_ns = (at_ms + 20) * MS,
				     .limit = LEFTOUT_WINDOW,
				     .measured = 20 * MS };

	CHECK(!sink->ops->leftout(sink, &lo));
	CHECK(!has_gap || !sink->ops->leftout(sink, &gap));
	sink->ops->row(sink, &mark);
}

static uint64_t take_usuals(uint64_t at_ms, int cnt)
{
	while (cnt--) {
		take(77, ROW_ENTRY, at_ms, 0);
		take(77, ROW_RETURN, at_ms + 1, 1);
		at_ms += 10;
	}
	return at_ms;
}

/* Finish. Return: the verdict; what is said on stderr is in said, what is explained in *@text. */
static int sink_end(const char **text)
{
	const int fd = output.file.fd;
	int verdict;

	listen_begin();
	verdict = sink->ops->finish(sink, false);
	listen_end();
	CHECK(!output_close(&output));
	sink_free(sink);
	*text = fd_text(fd);
	return verdict;
}

static void check_in(const char *text, const char *want, bool has)
{
	if (!strstr(text, want) == has)
		printf("%s", text);
	CHECK(!strstr(text, want) == !has);
}

/* The verdict is of the calls that are known. */
TEST(a_verdict_says_what_was_open_when_functions_were_left_out)
{
	const char *text;
	uint64_t at;

	sink_begin();
	at = take_usuals(1000, 10);
	take(78, ROW_ENTRY, at, 0);
	take(79, ROW_ENTRY, at + 100, 0);
	leave_out(at + 1300);
	take_usuals(at + 2000, 4);
	CHECK(sink_end(&text) == VERDICT_NOTHING && !*text);
	check_in(
		said,
		"netfgraph: not known: 2 calls of f, open when functions were left out, one after 1.300 s\n",
		true);
	check_in(
		said,
		"hint: a trace of fewer functions (--callee-depth 1), or with a higher --max-overhead, leaves none out\n",
		true);
	check_in(said, "none of 14 calls of f was slow", true);
	check_in(said, "events are missing", false);
	check_in(said, "not returned", false);
}

/* The task's next row, or the return alone, does not make two calls of one. */
TEST(an_answer_counts_each_of_them_once)
{
	const char *text;
	uint64_t at;

	sink_begin();
	at = take_usuals(1000, 10);
	take(77, ROW_ENTRY, at, 0);
	take(78, ROW_ENTRY, at + 1, 0);
	leave_out(at + 500);
	take(77, ROW_RETURN, at + 600, 0);
	take(78, ROW_ENTRY, at + 601, 0);
	take(78, ROW_RETURN, at + 1001, 400);
	CHECK(!sink_end(&text));
	check_in(text, "1 of 11 calls of f was slow", true);
	check_in(
		text,
		"Not known: 2 more calls, open when functions were left out, one after 500.00 ms.\n",
		true);
	check_in(text, "events are missing", false);
	check_in(text, "Nothing was traced for 20.00 ms: calls that began then are not known.\n",
		 true);
	check_in(text, "Left out during the trace, to stay below --max-overhead 25: g.", true);
}

/* Where each function has its own link, the others are traced on. */
TEST(without_a_gap_they_are_not_known_either)
{
	const char *text;
	uint64_t at;

	sink_begin();
	has_gap = false;
	at = take_usuals(1000, 10);
	take(77, ROW_ENTRY, at, 0);
	take(78, ROW_ENTRY, at + 1, 0);
	leave_out(at + 500);
	take(77, ROW_RETURN, at + 600, 0);
	CHECK(sink_end(&text) == VERDICT_NOTHING);
	check_in(
		said,
		"not known: 2 calls of f, open when functions were left out, one after 500.00 ms\n",
		true);
	check_in(said, "nothing was traced", false);
}

TEST(calls_that_began_later_are_told_from_those)
{
	const char *text;
	uint64_t at;

	sink_begin();
	at = take_usuals(1000, 10);
	leave_out(at);
	take(78, ROW_ENTRY, at + 30, 0);
	take_usuals(at + 100, 2);
	CHECK(sink_end(&text) == VERDICT_NOTHING);
	check_in(said, "netfgraph: not returned at the end: 1 call of f, one after ", true);
	check_in(said, "left out", false);
}

TEST(calls_across_windows_are_not_known)
{
	const struct leftout closed = {
		.time_ns = 3000 * MS, .limit = LEFTOUT_WINDOW, .measured = 20 * MS, .max = 10
	};
	struct row mark = { .kind = ROW_LOST, .cpu = 1, .time_ns = 2900 * MS };
	const char *text;

	sink_begin();
	take_usuals(1000, 10);
	take(78, ROW_ENTRY, 2000, 0);
	CHECK(!sink->ops->leftout(sink, &closed));
	sink->ops->row(sink, &mark);
	take(78, ROW_ENTRY, 4000, 0);
	take(78, ROW_RETURN, 4001, 1);
	CHECK(sink_end(&text) == VERDICT_NOTHING);
	check_in(
		said,
		"netfgraph: not known: 1 call of f, open when a window ended (--duty), one after 980.00 ms\n",
		true);
	check_in(said, "nothing was traced for 20.00 ms: calls that began then are not known\n",
		 true);
	check_in(said, "left out", false);
}

TEST(cut_calls_has_them)
{
	const char *text;
	uint64_t at;

	sink_begin();
	opts.json = true;
	at = take_usuals(1000, 10);
	take(78, ROW_ENTRY, at, 0);
	leave_out(at + 500);
	take(77, ROW_ENTRY, at + 601, 0);
	take(77, ROW_RETURN, at + 1001, 400);
	CHECK(!sink_end(&text));
	check_in(text, "\"open_calls\":0,\"cut_calls\":1,", true);
	check_in(text, ",\"untraced_ns\":20000000,", true);
}
