#include "format/stages_diff.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A stage on one side. */
struct stage_side {
	const char *stage;
	uint64_t packet_cnt;
	uint64_t p50_ns;
	uint64_t p90_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	uint64_t net_p50_ns;
	uint64_t has_net_p50; /* it is known, and not below its error */
};

#define SIDE(member) COLUMN_AT(struct stage_side, member)
#define TIME(member)                                   \
	COLUMN_AS(CELL_NS, struct stage_side, member), \
		.needs = offsetof(struct stage_side, packet_cnt)

static const struct column stage_column = { "stage", "STAGE", SIDE(stage) };

/* Those without a title are in data alone. */
static const struct column numbers[] = {
	{ "packets", "PACKETS", SIDE(packet_cnt), .width = 11 },
	{ "p50_ns", "P50 us", TIME(p50_ns), .width = 12 },
	{ "p90_ns", NULL, TIME(p90_ns) },
	{ "p99_ns", "P99 us", TIME(p99_ns), .width = 12 },
	{ "max_ns", NULL, TIME(max_ns) },
	{ "net_p50_ns", "NET P50 us", COLUMN_AS(CELL_NS, struct stage_side, net_p50_ns),
	  .needs = offsetof(struct stage_side, has_net_p50), .width = 14 },
};

#define NUMBER_CNT (sizeof(numbers) / sizeof(numbers[0]))

static bool is_net(const struct column *number)
{
	return number->needs == offsetof(struct stage_side, has_net_p50);
}

/* @i: as for stages_times. */
static struct stage_side side_of(const struct stages_diff *diff, int side, int i)
{
	const char *name;
	const struct stage_times *times = stages_times(diff->sums[side], i, &name);
	const struct net_time net_p50 = stages_net_at(times, 50);
	const struct hist *h = &times->gross;

	return (struct stage_side){
		.stage = name,
		.packet_cnt = h->cnt,
		.p50_ns = hist_percentile(h, 50),
		.p90_ns = hist_percentile(h, 90),
		.p99_ns = hist_percentile(h, 99),
		.max_ns = h->max,
		.net_p50_ns = net_p50.ns,
		.has_net_p50 = net_is_told(&net_p50),
	};
}

static bool has_net(const struct stages_diff *diff)
{
	return stages_have_net(diff->sums[0]) || stages_have_net(diff->sums[1]);
}

static bool has_times(const struct stages_diff *diff, int i)
{
	return stages_has_times(diff->sums[0], i) || stages_has_times(diff->sums[1], i);
}

static uint64_t value_of(const struct column *number, const struct stage_side *side)
{
	return *(const uint64_t *)((const char *)side + number->offset);
}

/* A number of each side and its change, in the text. */
static void put_pair(struct tablew *w, const struct column *number, const struct stage_side s[2])
{
	const bool is_known = column_is_known(number, &s[0]) && column_is_known(number, &s[1]);

	for (int side = 0; side < 2; side++) {
		struct column its = *number;
		char title[16];

		snprintf(title, sizeof(title), "%s %c", number->title, "AB"[side]);
		its.key = NULL;
		its.title = title;
		tablew_cell(w, &its, &s[side]);
	}
	profile_diff_change(w, is_known ? (double)value_of(number, &s[0]) : 0,
			    (double)value_of(number, &s[1]));
}

static void put_stage(const struct stages_diff *diff, struct tablew *w, int i)
{
	const struct stage_side s[2] = { side_of(diff, 0, i), side_of(diff, 1, i) };
	struct column text_column = stage_column;
	struct column data_column = stage_column;

	text_column.key = NULL;
	data_column.title = NULL;
	tablew_open(w, "stages_diff", 1);
	profile_diff_files(w, diff->sides);
	tablew_cell(w, &data_column, &s[0]);
	for (size_t k = 0; k < NUMBER_CNT; k++)
		profile_diff_sides(w, &numbers[k], &s[0], &s[1]);
	for (size_t k = 0; k < NUMBER_CNT; k++) {
		if (numbers[k].title && (!is_net(&numbers[k]) || has_net(diff)))
			put_pair(w, &numbers[k], s);
	}
	tablew_cell(w, &text_column, &s[0]);
	tablew_close(w);
}

int stages_diff_put(const struct stages_diff *diff, struct tablew *w)
{
	for (int side = 0; side < 2 && w->form == TABLE_TEXT; side++) {
		const uint64_t cnt = diff->sums[side]->packet_cnt;

		profile_diff_side(diff->sides, side, cnt, plural(cnt, "packet", "packets"), w->out);
	}
	if (tablew_head_begin(w))
		put_stage(diff, w, 0);
	for (int i = 0; i < STAGES_TIMES_CNT; i++) {
		if (has_times(diff, i))
			put_stage(diff, w, i);
	}
	return strbuf_ok(w->out) ? 0 : -ENOMEM;
}

static void json_stage(const struct stages_diff *diff, int i, struct jsonw *out)
{
	const struct stage_side s[2] = { side_of(diff, 0, i), side_of(diff, 1, i) };

	jsonw_object(out);
	jsonw_key(out, stage_column.key);
	jsonw_string(out, s[0].stage);
	for (size_t k = 0; k < NUMBER_CNT; k++) {
		jsonw_key(out, numbers[k].key);
		jsonw_array(out);
		for (int side = 0; side < 2; side++) {
			if (column_is_known(&numbers[k], &s[side]))
				jsonw_u64(out, value_of(&numbers[k], &s[side]));
			else
				jsonw_null(out);
		}
		jsonw_array_end(out);
	}
	jsonw_object_end(out);
}

int stages_diff_json(const struct stages_diff *diff, struct strbuf *out)
{
	struct jsonw json = { .out = out };

	jsonw_object(&json);
	for (int side = 0; side < 2; side++)
		profile_diff_json_side(diff->sides, side, diff->sums[side]->packet_cnt, "packets",
				       &json);
	jsonw_key(&json, "stages");
	jsonw_array(&json);
	for (int i = 0; i < STAGES_TIMES_CNT; i++) {
		if (has_times(diff, i))
			json_stage(diff, i, &json);
	}
	jsonw_array_end(&json);
	jsonw_object_end(&json);
	jsonw_end(&json);
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
