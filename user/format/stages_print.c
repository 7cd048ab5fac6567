/* The tables of stages. */
#include <errno.h>
#include <inttypes.h>

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
			strbuf_printf(out, "\n%10s  NOT TOLD APART\n", "PACKETS");
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

/* ---- JSON: an object a line ---- */

static void put_json_hist(const struct hist *h, const char *name, struct strbuf *out)
{
	strbuf_printf(out, "{\"table\":\"stages\",\"stage\":\"%s\",\"packets\":%" PRIu64, name,
		      h->cnt);
	if (h->cnt)
		strbuf_printf(out,
			      ",\"p50_ns\":%" PRIu64 ",\"p90_ns\":%" PRIu64 ",\"p99_ns\":%" PRIu64
			      ",\"max_ns\":%" PRIu64,
			      hist_percentile(h, 50), hist_percentile(h, 90),
			      hist_percentile(h, 99), h->max);
	strbuf_str(out, "}\n");
}

int stages_put_json(const struct stages_sums *sums, struct strbuf *out)
{
	for (int i = 0; i < STAGE_CNT; i++)
		put_json_hist(&sums->stages[i], stage_names[i], out);
	put_json_hist(&sums->total, "total", out);
	for (int i = 0; i < STAGES_BEGIN_CNT; i++) {
		if (sums->begin_cnts[i])
			strbuf_printf(
				out,
				"{\"table\":\"stages\",\"first_seen\":\"%s\",\"packets\":%" PRIu64
				"}\n",
				begins[i].name, sums->begin_cnts[i]);
	}
	for (int i = 0; i < STAGES_END_CNT * STAGE_CNT; i++) {
		const int stage = i % STAGE_CNT;
		const uint64_t cnt = sums->end_cnts[i / STAGE_CNT][stage];

		if (cnt)
			strbuf_printf(out,
				      "{\"table\":\"stages\",\"last_seen\":\"%s\",\"stage\":\"%s\","
				      "\"packets\":%" PRIu64 "}\n",
				      ends[i / STAGE_CNT].name, stage_names[stage], cnt);
	}
	for (int i = 0; i < STAGE_CNT * STAGE_CNT; i++) {
		const uint64_t cnt = sums->mixed_cnts[i / STAGE_CNT][i % STAGE_CNT];

		if (cnt)
			strbuf_printf(out,
				      "{\"table\":\"stages\",\"not_told_apart\":[\"%s\",\"%s\"],"
				      "\"packets\":%" PRIu64 "}\n",
				      stage_names[i / STAGE_CNT], stage_names[i % STAGE_CNT], cnt);
	}
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
