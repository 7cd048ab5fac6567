/* The tables of stages. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "format/stages.h"

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
			      "sent in no traced call: socket and total are not counted" },
	[STAGES_RECEIVED] = { "received", "received from a device" },
	[STAGES_MIDDLE] = { "middle", "at a device: total is not counted" },
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
	[STAGES_LOST] = { "lost", "when events were lost, in", true },
};

const char *stage_name(enum stage stage)
{
	return stage_names[stage];
}

/* ---- text ---- */

static void put_us(struct strbuf *out, uint64_t ns)
{
	strbuf_printf(out, " %9" PRIu64 ".%03" PRIu64, ns / 1000, ns % 1000);
}

static void put_hist(const struct hist *h, const char *name, struct strbuf *out)
{
	strbuf_printf(out, "%10" PRIu64, h->cnt);
	for (int i = 0; i < 4; i++) {
		static const double pcts[] = { 50, 90, 99 };

		if (h->cnt)
			put_us(out, i < 3 ? hist_percentile(h, pcts[i]) : h->max);
		else
			strbuf_printf(out, " %13s", "-");
	}
	strbuf_printf(out, "  %s\n", name);
}

static void put_begins(const struct stages_sums *sums, struct strbuf *out)
{
	strbuf_printf(out, "\n%10s  FIRST SEEN\n", "PACKETS");
	for (int i = 0; i < STAGES_BEGIN_CNT; i++) {
		if (sums->begin_cnts[i])
			strbuf_printf(out, "%10" PRIu64 "  %s\n", sums->begin_cnts[i],
				      begins[i].text);
	}
}

static void put_end(const struct stages_sums *sums, enum stages_end end, struct strbuf *out)
{
	uint64_t cnt = 0;

	for (int i = 0; i < STAGE_CNT; i++) {
		const uint64_t its_cnt = sums->end_cnts[end][i];

		cnt += its_cnt;
		if (its_cnt && ends[end].has_stage)
			strbuf_printf(out, "%10" PRIu64 "  %s %s\n", its_cnt, ends[end].text,
				      stage_names[i]);
	}
	if (cnt && !ends[end].has_stage)
		strbuf_printf(out, "%10" PRIu64 "  %s\n", cnt, ends[end].text);
}

static void put_mixed(const struct stages_sums *sums, struct strbuf *out)
{
	bool has_head = false;

	for (int i = 0; i < STAGE_CNT * STAGE_CNT; i++) {
		const int first = i / STAGE_CNT;
		const int last = i % STAGE_CNT;

		if (!sums->mixed_cnts[first][last])
			continue;
		if (!has_head)
			strbuf_printf(out, "\n%10s  NOT SEPARATED\n", "PACKETS");
		has_head = true;
		strbuf_printf(out, "%10" PRIu64 "  %s", sums->mixed_cnts[first][last],
			      stage_names[first]);
		for (int k = first + 1; k <= last; k++)
			strbuf_printf(out, ", %s", stage_names[k]);
		strbuf_char(out, '\n');
	}
}

int stages_put_text(const struct stages_sums *sums, struct strbuf *out)
{
	strbuf_printf(out, "%10s %13s %13s %13s %13s  STAGE\n", "PACKETS", "P50 us", "P90 us",
		      "P99 us", "MAX us");
	for (int i = 0; i < STAGE_CNT; i++)
		put_hist(&sums->stages[i], stage_names[i], out);
	put_hist(&sums->total, "total", out);
	if (sums->packet_cnt)
		put_begins(sums, out);
	if (sums->packet_cnt)
		strbuf_printf(out, "\n%10s  LAST SEEN\n", "PACKETS");
	for (int i = 0; i < STAGES_END_CNT; i++)
		put_end(sums, (enum stages_end)i, out);
	put_mixed(sums, out);
	return strbuf_ok(out) ? 0 : -ENOMEM;
}

/* ---- data: a row is of one of the tables, and has the columns of all ---- */

struct stages_row {
	const char *stage;
	const struct hist *hist;
	const char *first_seen;
	const char *last_seen;
	const char *not_told_apart;
	uint64_t packet_cnt;
};

static void put_percentile(struct datarow *data, const char *column, const struct hist *h,
			   double pct)
{
	if (h && h->cnt)
		datarow_number(data, column, pct < 100 ? hist_percentile(h, pct) : h->max);
	else
		datarow_null(data, column);
}

static void put_row(const struct stages_data *to, enum datarow_kind kind,
		    const struct stages_row *row)
{
	struct datarow data;

	datarow_begin(&data, kind, to->out, "stages", 1);
	datarow_string(&data, "host", to->host);
	datarow_string(&data, "stage", row->stage);
	datarow_number(&data, "packets", row->hist ? row->hist->cnt : row->packet_cnt);
	put_percentile(&data, "p50_ns", row->hist, 50);
	put_percentile(&data, "p90_ns", row->hist, 90);
	put_percentile(&data, "p99_ns", row->hist, 99);
	put_percentile(&data, "max_ns", row->hist, 100);
	datarow_string(&data, "first_seen", row->first_seen);
	datarow_string(&data, "last_seen", row->last_seen);
	if (row->not_told_apart)
		datarow_words(&data, "not_told_apart", row->not_told_apart);
	else
		datarow_null(&data, "not_told_apart");
	datarow_end(&data);
}

static void put_mixed_rows(const struct stages_sums *sums, const struct stages_data *to)
{
	for (int i = 0; i < STAGE_CNT * STAGE_CNT; i++) {
		struct stages_row row = { .packet_cnt =
						  sums->mixed_cnts[i / STAGE_CNT][i % STAGE_CNT] };
		char words[64];

		snprintf(words, sizeof(words), "%s %s", stage_names[i / STAGE_CNT],
			 stage_names[i % STAGE_CNT]);
		row.not_told_apart = words;
		if (row.packet_cnt)
			put_row(to, to->kind, &row);
	}
}

int stages_put_data(const struct stages_sums *sums, const struct stages_data *to)
{
	const struct stages_row total = { .stage = "total", .hist = &sums->total };

	if (to->kind == DATAROW_CSV)
		put_row(to, DATAROW_CSV_HEAD, &total);
	for (int i = 0; i < STAGE_CNT; i++)
		put_row(to, to->kind,
			&(struct stages_row){ .stage = stage_names[i], .hist = &sums->stages[i] });
	put_row(to, to->kind, &total);
	for (int i = 0; i < STAGES_BEGIN_CNT; i++) {
		if (sums->begin_cnts[i])
			put_row(to, to->kind,
				&(struct stages_row){ .first_seen = begins[i].name,
						      .packet_cnt = sums->begin_cnts[i] });
	}
	for (int i = 0; i < STAGES_END_CNT * STAGE_CNT; i++) {
		const uint64_t cnt = sums->end_cnts[i / STAGE_CNT][i % STAGE_CNT];

		if (cnt)
			put_row(to, to->kind,
				&(struct stages_row){ .last_seen = ends[i / STAGE_CNT].name,
						      .stage = stage_names[i % STAGE_CNT],
						      .packet_cnt = cnt });
	}
	put_mixed_rows(sums, to);
	return strbuf_ok(to->out) ? 0 : -ENOMEM;
}
