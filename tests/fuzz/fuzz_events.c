/*
 * Any stream of events, with losses and doubt, on the way of a trace: held back, opened and closed by functions,
 * paired, and written in a format. A task's rows make sense: no leaf has children, no call is deeper than
 * calls were begun.
 */
#include "fuzz.h"
#include "trace/event.h"
#include "format/format.h"
#include "trace/graph.h"
#include "trace/starts.h"
#include "trace/packet_hold.h"

#define CPU_CNT   3
#define FUNC_CNT  6
#define TID_CNT   5
#define EVENT_MAX 400
#define BATCH     64

struct last {
	bool is_leaf;
	uint32_t depth;
};

static struct {
	struct format *format;
	struct strbuf out;
	uint64_t entry_cnt;
	uint64_t return_cnt;
	struct last lasts[TID_CNT][CPU_CNT]; /* of each task; idle ones by CPU */
} now;

static void on_row(void *ctx, struct row *row)
{
	static const char comm[] = "t\x1b|";
	struct last *last;

	CHECK(row->cpu < CPU_CNT && row->task.tid < TID_CNT);
	last = &now.lasts[row->task.tid][row->task.tid ? 0 : row->cpu];
	if (row->kind == ROW_ENTRY || row->kind == ROW_LEAF) {
		CHECK(!last->is_leaf || row->depth <= last->depth);
		*last = (struct last){ row->kind == ROW_LEAF, row->depth };
	} else if (row->kind == ROW_RETURN) {
		last->is_leaf = false;
	}
	if (row_is_call(row)) {
		CHECK(row->depth <= now.entry_cnt + now.return_cnt);
		CHECK(row->duration_ns <= 1ull << 62);
	}
	row->task.comm = (struct text){ comm, sizeof(comm) - 1 };
	row->prev.comm = row->task.comm;
	CHECK(!format_row(now.format, row));
}

static struct event take_event(struct fuzz_input *in, uint64_t *time_ns)
{
	static const uint8_t kinds[16] = { EVENT_ENTRY, EVENT_ENTRY, EVENT_ENTRY, EVENT_ENTRY,
					   EVENT_ENTRY, EVENT_EXIT,  EVENT_EXIT,  EVENT_EXIT,
					   EVENT_EXIT,  EVENT_EXIT,  EVENT_LOST,  EVENT_OUT,
					   EVENT_IN,    EVENT_GAP,   EVENT_DOUBT, EVENT_SURE };
	uint64_t word = fuzz_take(in, 4);
	struct event ev = { .kind = kinds[word & 15], .cpu = (word >> 4 & 15) % CPU_CNT };

	*time_ns += word >> 24 & 0x80 ? 0 : word >> 24;
	ev.time_ns = *time_ns;
	if (ev.kind == EVENT_LOST) {
		ev.lost_cnt = word >> 8 & 0xff;
		if (word >> 16 & 1)
			ev.kind = EVENT_TORN;
		return ev;
	}
	ev.tid = (word >> 8 & 7) % TID_CNT;
	if (ev.kind == EVENT_GAP || ev.kind == EVENT_DOUBT || ev.kind == EVENT_SURE)
		return ev;
	ev.func_id = (word >> 11 & 7) % FUNC_CNT;
	ev.frame = (uint16_t)(2000 - (word >> 14 & 7) * 10);
	if (word >> 17 & 1)
		ev.flags = EVENT_TREE | (uint8_t)(word >> 18 & 15);
	return ev;
}

/* What is certain, through starts to the graph. */
static void feed_graph(struct graph *graph, struct starts *starts, struct packet_hold *hold)
{
	struct event events[BATCH];
	size_t cnt;

	while ((cnt = packet_hold_take(hold, events, BATCH))) {
		const struct event *shown = events;

		if (starts)
			CHECK(!starts_feed(starts, events, cnt, &shown, &cnt));
		for (size_t i = 0; i < cnt; i++) {
			now.entry_cnt += shown[i].kind == EVENT_ENTRY;
			now.return_cnt += shown[i].kind == EVENT_EXIT;
		}
		CHECK(!graph_feed(graph, shown, cnt));
	}
}

static void run_stream(struct graph *graph, struct starts *starts, struct fuzz_input *in)
{
	uint64_t time_ns = 1000000000;
	struct packet_hold *hold;
	unsigned int cnt = 0;

	CHECK(!packet_hold_new(&hold, CPU_CNT));
	for (; in->at < in->end && cnt < EVENT_MAX; cnt++) {
		struct event ev = take_event(in, &time_ns);

		CHECK(!packet_hold_feed(hold, &ev, 1));
		if (cnt % BATCH == BATCH - 1) {
			feed_graph(graph, starts, hold);
			graph_release(graph, time_ns - 500);
		}
	}
	packet_hold_finish(hold);
	feed_graph(graph, starts, hold);
	graph_finish(graph);
	CHECK(graph_stats_get(graph)->call_cnt <= now.entry_cnt);
	packet_hold_free(hold);
}

static struct starts *take_starts(struct fuzz_input *in, uint8_t kinds[FUNC_CNT])
{
	uint64_t word = fuzz_take(in, 4);
	struct starts_config config = { .kinds = kinds, .func_cnt = FUNC_CNT };
	struct starts *starts;

	if (!(word & 3))
		return NULL;
	for (int i = 0; i < FUNC_CNT; i++) {
		kinds[i] = (word >> (8 + 2 * i) & 3) % 3;
		config.has_starts |= kinds[i] == STARTS_OPEN;
	}
	config.want.slower_ns = word >> 2 & 1 ? 100 : 0;
	config.marked_only = word >> 3 & 1;
	CHECK(!starts_new(&starts, &config));
	return starts;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct func funcs[FUNC_CNT] = {
		{ .name = { "tcp_v4_rcv", 10 } },
		{ .name = { "f;g", 3 } },
		{ .name = { "veth_xmit", 9 }, .module = { "veth", 4 } },
		{ .name = { "a", 1 } },
		{ .name = { "b", 1 } },
		{ .name = { "c\n", 2 } },
	};
	static const struct functab functab = { .funcs = funcs, .cnt = FUNC_CNT };
	struct fuzz_input in = { data, data + len };
	struct format_config config = { .kind = fuzz_take(&in, 1) % FORMAT_TRACEDAT };
	const struct graph_config graph_config = { .functab = &functab,
						   .cpu_cnt = CPU_CNT,
						   .emit = on_row };
	uint8_t kinds[FUNC_CNT];
	struct starts *starts = take_starts(&in, kinds);
	struct graph *graph;

	strbuf_reset(&now.out);
	memset(now.lasts, 0, sizeof(now.lasts));
	now.entry_cnt = now.return_cnt = 0;
	CHECK(!format_new(&now.format, &config, &now.out));
	CHECK(!graph_new(&graph, &graph_config));
	run_stream(graph, starts, &in);
	while (format_finish(now.format) > 0)
		strbuf_reset(&now.out);
	format_free(now.format);
	graph_free(graph);
	starts_free(starts);
	return 0;
}
