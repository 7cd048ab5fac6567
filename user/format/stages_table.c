#include "format/stages.h"

#include <errno.h>
#include <stdio.h>

static const char *const stage_names[STAGE_CNT] = {
	[STAGE_SOCKET] = "socket",   [STAGE_QDISC] = "qdisc",       [STAGE_DRIVER] = "driver",
	[STAGE_SOFTIRQ] = "softirq", [STAGE_PROTOCOL] = "protocol", [STAGE_WAKEUP] = "wake-up",
};

static const struct {
	const char *name; /* in JSON */
	const char *text;
} begins[STAGES_BEGIN_CNT] = {
	[STAGES_SENT] = { "sent", "the call that sends" },
	[STAGES_UNCALLED] = { "uncalled",
			      "sent in no recorded call that sends: socket and total are not counted" },
	[STAGES_RECEIVED] = { "received", "received from a device" },
	[STAGES_MIDDLE] = { "middle", "at a device: total is not counted" },
	[STAGES_COPY] = { "copy",
			  "made of a packet above: a copy, segment or fragment, with its times until then" },
	[STAGES_OTHER] = { "other",
			   "not chosen by --packet, in calls with such packets: in no other row" },
};

static const struct {
	const char *name;
	const char *text;
	bool has_stage;
} ends[STAGES_END_CNT] = {
	[STAGES_READ] = { "read", "read", false },
	[STAGES_LEFT] = { "left", "given to a device", false },
	[STAGES_FREED] = { "freed", "freed unread in", true },
	[STAGES_UNSEEN] = { "unseen", "not seen again after", true },
	[STAGES_OPEN] = { "open", "when the trace ended, in", true },
	[STAGES_LOST] = { "lost", "not known, because events were lost; last seen in", true },
	[STAGES_MERGED] = { "merged",
			    "put together with other fragments; the last of them went on as the packet",
			    false },
	[STAGES_COPIED] = { "copied",
			    "cut or copied, and freed: its parts have its times, and it is in no stage",
			    false },
};

const char *stage_name(enum stage stage)
{
	return stage_names[stage];
}

#define FIRST_STAGE 2 /* among the times */

const struct stage_times *stages_times(const struct stages_sums *sums, int i, const char **name)
{
	/* in the order of a packet's way */
	const struct {
		const char *name;
		const struct stage_times *times;
	} others[] = {
		{ "card", &sums->beside[STAGES_CARD] },
		{ "stamp", &sums->beside[STAGES_STAMP] },
		{ "total", &sums->total },
		{ "departure", &sums->beside[STAGES_DEPARTURE] },
		{ "application", &sums->application },
	};
	const int stage = i - FIRST_STAGE;

	if (stage >= 0 && stage < STAGE_CNT) {
		*name = stage_names[stage];
		return &sums->stages[stage];
	}
	i = stage < 0 ? i : i - STAGE_CNT;
	*name = others[i].name;
	return others[i].times;
}

bool stages_have_net(const struct stages_sums *sums)
{
	for (int i = 0; i < STAGES_TIMES_CNT; i++) {
		const char *name;

		if (stages_times(sums, i, &name)->net.cnt)
			return true;
	}
	return false;
}

struct net_time stages_net_at(const struct stage_times *times, double percent)
{
	const uint64_t cnt = times->net.cnt;

	if (!cnt)
		return (struct net_time){ 0 };
	return (struct net_time){ .ns = hist_percentile(&times->net, percent),
				  .error_ns = (times->net_error_sum_ns + cnt - 1) / cnt,
				  .is_known = true };
}

bool stages_has_times(const struct stages_sums *sums, int i)
{
	const char *name;

	return (i >= FIRST_STAGE && i <= FIRST_STAGE + STAGE_CNT) ||
	       stages_times(sums, i, &name)->gross.cnt;
}

/* A row of any of the tables. In the text each has its own; a row of the data has the columns of all. */
struct stages_row {
	uint64_t packet_cnt;
	uint64_t part_cnt;
	uint64_t timed_cnt; /* packets of the times below */
	uint64_t p50_ns;
	uint64_t p90_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t net_p50_ns;
	uint64_t net_p99_ns;
	uint64_t net_error_ns; /* 0: net times are not known */
	uint64_t has_net_p50;  /* it is known, and not below its error */
	uint64_t has_net_p99;
	const char *stage;
	const char *first_seen;
	const char *last_seen;
	const char *not_told_apart;
	const char *text;
};

static void put_text(struct strbuf *out, const void *data)
{
	const struct stages_row *row = data;

	strbuf_str(out, row->text);
	if (row->stage)
		strbuf_printf(out, " %s", row->stage);
}

static void put_net_p50(struct strbuf *out, const void *data)
{
	const struct stages_row *row = data;

	profile_net_put(out, row->net_p50_ns, row->net_error_ns);
}

#define ROW(member)   COLUMN_AT(struct stages_row, member)
#define TIME(member)  COLUMN_AS(CELL_NS, struct stages_row, member)
#define NEEDS(member) .needs = offsetof(struct stages_row, member)
#define NEEDS_TIME    NEEDS(timed_cnt)

#define TIMES                                                         \
	{ "p50_ns", "P50 us", TIME(p50_ns), 13, NEEDS_TIME },         \
		{ "p90_ns", "P90 us", TIME(p90_ns), 13, NEEDS_TIME }, \
		{ "p99_ns", "P99 us", TIME(p99_ns), 13, NEEDS_TIME }, \
	{                                                             \
		"max_ns", "MAX us", TIME(max_ns), 13, NEEDS_TIME      \
	}

static const struct column columns[] = {
	{ "host", .cell = CELL_HOST },
	{ "stage", ROW(stage) },
	{ "packets", "PACKETS", ROW(packet_cnt), 10 },
	TIMES,
	{ "first_seen", ROW(first_seen) },
	{ "last_seen", ROW(last_seen) },
	{ "not_told_apart", COLUMN_AS(CELL_WORDS, struct stages_row, not_told_apart) },
	{ "parts", ROW(part_cnt), NEEDS_TIME },
	{ "net_p50_ns", ROW(net_p50_ns), NEEDS(has_net_p50) },
	{ "net_p99_ns", ROW(net_p99_ns), NEEDS(has_net_p99) },
	{ "net_error_ns", ROW(net_error_ns), NEEDS(net_error_ns) },
	{ NULL, "STAGE", ROW(stage) },
};

static const struct table table = TABLE("stages", columns);

/* Text has PARTS if there are any among the packets, and net times where they are known. */
static const struct column text_parts[] = {
	{ NULL, "PACKETS", ROW(packet_cnt), 10 },
	{ NULL, "PARTS", ROW(part_cnt), 10, NEEDS_TIME },
};
static const struct column text_times[] = { TIMES };
static const struct column text_net = { NULL, "NET P50 us", TIME(net_p50_ns), 20,
					.put = put_net_p50 };
static const struct column text_stage = { NULL, "STAGE", ROW(stage) };

#define TEXT_COLUMNS_MAX 8

/* text_table - the columns that the text needs, into @out. */
static struct table text_table(const struct stages_sums *sums, struct column *out)
{
	size_t cnt = 0;

	out[cnt++] = text_parts[0];
	if (sums->begin_cnts[STAGES_COPY])
		out[cnt++] = text_parts[1];
	for (size_t i = 0; i < sizeof(text_times) / sizeof(text_times[0]); i++)
		out[cnt++] = text_times[i];
	if (stages_have_net(sums))
		out[cnt++] = text_net;
	out[cnt++] = text_stage;
	return (struct table){ .name = "stages", .schema = 1, .columns = out, .column_cnt = cnt };
}

static void put_times(struct tablew *w, const struct table *of, const char *name,
		      const struct stage_times *times, uint64_t part_cnt)
{
	const struct net_time net_p50 = stages_net_at(times, 50);
	const struct net_time net_p99 = stages_net_at(times, 99);
	const struct hist *h = &times->gross;
	struct stages_row row = { .stage = name,
				  .packet_cnt = h->cnt,
				  .part_cnt = part_cnt,
				  .timed_cnt = h->cnt,
				  .p50_ns = hist_percentile(h, 50),
				  .p90_ns = hist_percentile(h, 90),
				  .p99_ns = hist_percentile(h, 99),
				  .max_ns = h->max,
				  .net_p50_ns = net_p50.ns,
				  .net_p99_ns = net_p99.ns,
				  .net_error_ns = net_p50.error_ns,
				  .has_net_p50 = net_is_told(&net_p50),
				  .has_net_p99 = net_is_told(&net_p99) };

	tablew_row(w, of, &row);
}

/* @title: of the table in the text, which begins with its first row; "": it has begun. */
static void put_packets(struct tablew *w, const char **title, const struct stages_row *row)
{
	const struct column packet_columns[] = {
		{ NULL, "PACKETS", ROW(packet_cnt), 10 },
		{ NULL, *title, .put = put_text },
	};
	const struct table packets = TABLE("packets", packet_columns);
	const bool is_text = w->form == TABLE_TEXT;

	if (!row->packet_cnt)
		return;
	if (is_text && **title) {
		strbuf_char(w->out, '\n');
		tablew_head(w, &packets);
	}
	*title = "";
	tablew_row(w, is_text ? &packets : &table, row);
}

static void put_ends(const struct stages_sums *sums, struct tablew *w)
{
	const char *title = "LAST SEEN";

	for (int i = 0; i < STAGES_END_CNT; i++) {
		struct stages_row row = { .last_seen = ends[i].name, .text = ends[i].text };
		const bool is_sum = w->form == TABLE_TEXT && !ends[i].has_stage;
		uint64_t cnt = 0;

		for (int k = 0; k < STAGE_CNT; k++) {
			cnt += sums->end_cnts[i][k];
			row.packet_cnt = is_sum ? 0 : sums->end_cnts[i][k];
			row.stage = stage_names[k];
			put_packets(w, &title, &row);
		}
		row.packet_cnt = is_sum ? cnt : 0;
		row.stage = NULL;
		put_packets(w, &title, &row);
	}
}

/* Data have the first and the last stage, the text has all. */
static void put_mixed(const struct stages_sums *sums, struct tablew *w)
{
	const char *title = "NOT SEPARATED";

	for (int i = 0; i < STAGE_CNT * STAGE_CNT; i++) {
		const int first = i / STAGE_CNT;
		const int last = i % STAGE_CNT;
		char words[64];
		char text[64];
		int len = snprintf(text, sizeof(text), "%s", stage_names[first]);

		for (int k = first + 1; k <= last; k++)
			len += snprintf(text + len, sizeof(text) - (size_t)len, ", %s",
					stage_names[k]);
		snprintf(words, sizeof(words), "%s %s", stage_names[first], stage_names[last]);
		put_packets(w, &title,
			    &(struct stages_row){ .packet_cnt = sums->mixed_cnts[first][last],
						  .not_told_apart = words,
						  .text = text });
	}
}

/* Of the times of stages and of the total, which count parts. */
static uint64_t parts_of(const struct stages_sums *sums, int i)
{
	return i >= FIRST_STAGE && i <= FIRST_STAGE + STAGE_CNT ? sums->part_cnts[i - FIRST_STAGE]
								: 0;
}

int stages_put(const struct stages_sums *sums, struct tablew *w)
{
	struct column text_columns[TEXT_COLUMNS_MAX];
	const struct table text = text_table(sums, text_columns);
	const struct table *of = w->form == TABLE_TEXT ? &text : &table;
	const char *title = "FIRST SEEN";

	tablew_head(w, of);
	for (int i = 0; i < STAGES_TIMES_CNT; i++) {
		const char *name;
		const struct stage_times *times = stages_times(sums, i, &name);

		if (stages_has_times(sums, i))
			put_times(w, of, name, times, parts_of(sums, i));
	}
	if (of == &text && sums->begin_cnts[STAGES_COPY])
		strbuf_str(
			w->out,
			"PARTS are copies, segments and fragments: each is one of the PACKETS.\n");
	for (int i = 0; i < STAGES_BEGIN_CNT; i++)
		put_packets(w, &title,
			    &(struct stages_row){ .packet_cnt = sums->begin_cnts[i],
						  .first_seen = begins[i].name,
						  .text = begins[i].text });
	put_ends(sums, w);
	put_mixed(sums, w);
	return strbuf_ok(w->out) ? 0 : -ENOMEM;
}
