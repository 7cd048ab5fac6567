/* Which stages an event goes through, and in which order, for each kind of sink. */
#include "report/pipeline.h"
#include "harness.h"
#include "script.h"

/* What a sink got: a letter for each event or row, flushes left out. */
struct probe {
	struct sink sink; /* first */
	char got[64];
	size_t cnt;
	int flush_err;
};

static void put(struct sink *sink, char letter)
{
	struct probe *to = (struct probe *)sink;

	CHECK(to->cnt < sizeof(to->got) - 1);
	to->got[to->cnt++] = letter;
}

static int take_events(struct sink *sink, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt; i++)
		put(sink, (char)('0' + events[i].time_ns));
	return 0;
}

static void take_row(struct sink *sink, struct row *row)
{
	static const char letters[] = { [ROW_ENTRY] = '{',
					[ROW_LEAF] = ';',
					[ROW_RETURN] = '}',
					[ROW_LOST] = 'L',
					[ROW_COMMENT] = '#' };

	if (row->kind != ROW_BANNER)
		put(sink, letters[row->kind]);
}

static int flush(struct sink *sink, bool is_idle)
{
	return ((struct probe *)sink)->flush_err;
}

static int take_leftout(struct sink *sink, const struct leftout *lo)
{
	CHECK(lo->func_cnt == 1);
	put(sink, 'x');
	return 0;
}

static int take_seen(struct sink *sink, uint64_t time_ns)
{
	put(sink, (char)('a' + time_ns));
	return 0;
}

static const struct sink_ops event_ops = {
	.events = take_events,
	.seen = take_seen,
	.leftout = take_leftout,
	.flush = flush,
};
static const struct sink_ops row_ops = { .row = take_row, .flush = flush };

/* A gate that is shut for function 1. */
static int gate_feed(void *ctx, const struct event *events, size_t cnt, const struct event **out,
		     size_t *out_cnt)
{
	static struct event kept[16];

	*out_cnt = 0;
	*out = kept;
	for (size_t i = 0; i < cnt; i++) {
		if (events[i].func_id != 1)
			kept[(*out_cnt)++] = events[i];
	}
	return 0;
}

static struct func funcs[] = {
	{ .name = { "tcp_v4_rcv", 10 } },
	{ .name = { "ip_rcv", 6 } },
};
static const struct functab functab = { .funcs = funcs, .cnt = 2 };
static const struct trace_facts facts;

static struct probe probe;
static struct pipeline *pl;

static void end(void)
{
	pipeline_free(pl);
}
AFTER(end);

static void make(const struct sink_ops *ops)
{
	const struct pipeline_config config = {
		.facts = &facts,
		.functab = &functab,
		.cpu_cnt = 1,
		.holds_packets = true,
		.gate = { .feed = gate_feed },
		.sink = &probe.sink,
	};

	end();
	script_begin("ab");
	probe = (struct probe){ .sink = { .ops = ops } };
	CHECK(!pipeline_new(&pl, &config));
}

static int feed(const char *script)
{
	int err = 0;

	SCRIPT_EACH(script, ev) {
		ev->frame = 0;
		err = err ? err : pipeline_feed(pl, ev, 1);
	}
	return err;
}

TEST(events_pass_the_hold_and_the_gate_to_a_recording)
{
	make(&event_ops);
	CHECK(!feed("1 a{ 2 b{ 3 }b"));
	CHECK_STR(probe.got, "1");
	CHECK(!feed("4 a{/tur"));
	CHECK_STR(probe.got, "1");
	CHECK(!feed("5 }a/tr"));
	CHECK_STR(probe.got, "145");
	CHECK(!pipeline_end(pl) && !pipeline_row_cnt(pl));
}

/* Also those that the gate does not let through, but not those of a packet out of scope. */
TEST(whether_there_are_calls)
{
	make(&event_ops);
	CHECK(!feed("1 }a 2 a{/tur 3 }a/trd") && !pipeline_has_calls(pl));
	CHECK(!feed("4 b{") && pipeline_has_calls(pl));
	CHECK_STR(probe.got, "1");
}

/* What is held back may be older. */
TEST(the_time_comes_when_nothing_is_held)
{
	make(&event_ops);
	CHECK(!pipeline_seen(pl, 1));
	CHECK_STR(probe.got, "b");
	CHECK(!feed("2 a{/tur") && !pipeline_seen(pl, 5));
	CHECK_STR(probe.got, "b");
	CHECK(!feed("6 }a/tr") && !pipeline_seen(pl, 7));
	CHECK_STR(probe.got, "b26h");
	make(&row_ops);
	CHECK(!pipeline_seen(pl, 1));
}

TEST(rows_come_from_the_graph)
{
	make(&row_ops);
	CHECK(!feed("1 a{ 2 }a 3 a{"));
	CHECK_STR(probe.got, ";");
	pipeline_release(pl, 4);
	CHECK_STR(probe.got, ";{");
	CHECK(!pipeline_end(pl));
	CHECK(pipeline_graph_stats(pl)->call_cnt == 2 && pipeline_graph_stats(pl)->open_cnt == 1);
}

TEST(left_out_functions_are_a_comment_or_what_the_sink_makes_of_it)
{
	const uint32_t ids[] = { 1 };
	const struct leftout lo = { .limit = LEFTOUT_EVENTS, .func_ids = ids, .func_cnt = 1 };

	make(&row_ops);
	CHECK(!pipeline_leftout(pl, &lo) && !pipeline_row_cnt(pl));
	CHECK_STR(probe.got, "#");
	make(&event_ops);
	CHECK(!pipeline_leftout(pl, &lo));
	CHECK_STR(probe.got, "x");
}

TEST(a_sink_that_fails_ends_the_feeding)
{
	make(&event_ops);
	CHECK(!feed("1 a{/tur"));
	probe.flush_err = -EPIPE;
	CHECK(feed("2 a{") == -EPIPE && !pipeline_end(pl));
	CHECK_STR(probe.got, "2"); /* what was held stays where it is */
}

/* A text's facts are gone by then. */
TEST(losses_begin_no_format)
{
	const struct trace_facts of_text = { .is_text = true };
	struct output output = { .file.fd = -1 };
	struct sink *sink;

	CHECK(!sink_format_new(&sink, FORMAT_CHROME, NULL, NULL, &output));
	CHECK(!sink->ops->begin(sink, &of_text));
	sink_lost(sink, 5);
	CHECK(!output.buf.len);
	CHECK(!sink->ops->finish(sink, true) && !output.file.is_begun);
	sink_free(sink);
	output_abandon(&output);
}
