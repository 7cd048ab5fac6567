#include "format/profile_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "format/fmt.h"
#include "format/profile_diff_parts.h"

/* The numbers of a function: all that it can be sorted by. */
static const struct number {
	const char *name;
	size_t offset;  /* of struct profile_func */
	bool is_a_call; /* of single calls: unknown without any */
} numbers[] = {
	{ "count", offsetof(struct profile_func, call_cnt), false },
	{ "total_ns", offsetof(struct profile_func, total_ns), false },
	{ "self_ns", offsetof(struct profile_func, self_ns), false },
	{ "avg_ns", offsetof(struct profile_func, avg_ns), true },
	{ "p50_ns", offsetof(struct profile_func, p50_ns), true },
	{ "p99_ns", offsetof(struct profile_func, p99_ns), true },
	{ "max_ns", offsetof(struct profile_func, max_ns), true },
};
#define NUMBER_CNT (sizeof(numbers) / sizeof(numbers[0]))

static uint64_t number_of(const struct number *number, const struct profile_func *func)
{
	return *(const uint64_t *)((const char *)func + number->offset);
}

/* ---- JSON ---- */

static void json_text(struct strbuf *out, const char *key, struct text text)
{
	strbuf_printf(out, "\"%s\":", key);
	if (text.len)
		fmt_json_text(out, text);
	else
		strbuf_str(out, "null");
	strbuf_char(out, ',');
}

static void json_side(const struct profile_diff *diff, const struct diff_rows *rows, int side,
		      struct strbuf *out)
{
	const struct profile_side *s = &diff->sides[side];

	strbuf_printf(out, "\"%c\":{\"file\":", "ab"[side]);
	fmt_json_text(out, text_from(s->path));
	if (s->length_ns)
		strbuf_printf(out, ",\"length_ns\":%" PRIu64, s->length_ns);
	else
		strbuf_str(out, ",\"length_ns\":null");
	strbuf_printf(out, ",\"calls\":%" PRIu64 ",\"lacks_events\":%s},",
		      diff_call_cnt(rows, side), s->lacks_events ? "true" : "false");
}

static const char *json_traced(const struct profile_diff *diff, const struct func_pair *pair,
			       int side)
{
	if (pair->is_known[side])
		return "true";
	return diff->sides[side].knows_traced ? "false" : "null";
}

static void json_func(const struct profile_diff *diff, const struct func_pair *pair,
		      struct strbuf *out)
{
	strbuf_char(out, '{');
	json_text(out, "func", diff_name_of(pair)->name);
	json_text(out, "module", diff_name_of(pair)->module);
	for (size_t i = 0; i < NUMBER_CNT; i++)
		strbuf_printf(out, "\"%s\":[%" PRIu64 ",%" PRIu64 "],", numbers[i].name,
			      number_of(&numbers[i], &pair->f[0]),
			      number_of(&numbers[i], &pair->f[1]));
	strbuf_printf(out, "\"traced\":[%s,%s]}", json_traced(diff, pair, 0),
		      json_traced(diff, pair, 1));
}

static void json_edges(const struct diff_rows *rows, const char *key, int side, struct strbuf *out)
{
	const char *between = "";

	strbuf_printf(out, ",\"%s\":[", key);
	for (size_t i = 0; i < rows->edge_cnt; i++) {
		const struct edge_pair *edge = &rows->edges[i];

		if (!edge->call_cnt[side] || edge->call_cnt[!side])
			continue;
		strbuf_printf(out, "%s{", between);
		between = ",";
		json_text(out, "caller", edge->caller.name);
		json_text(out, "caller_module", edge->caller.module);
		json_text(out, "func", edge->func.name);
		json_text(out, "module", edge->func.module);
		strbuf_printf(out, "\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64 "}",
			      edge->call_cnt[side], edge->duration_ns[side]);
	}
	strbuf_char(out, ']');
}

int profile_diff_json(const struct profile_diff *diff, struct strbuf *out)
{
	struct diff_rows rows;
	int err = diff_rows_begin(&rows, diff);

	if (!err) {
		strbuf_char(out, '{');
		json_side(diff, &rows, 0, out);
		json_side(diff, &rows, 1, out);
		strbuf_str(out, "\"functions\":[");
		for (size_t i = 0; i < rows.func_cnt; i++) {
			if (i)
				strbuf_char(out, ',');
			json_func(diff, &rows.funcs[i], out);
		}
		strbuf_char(out, ']');
		json_edges(&rows, "new_calls", 1, out);
		json_edges(&rows, "gone_calls", 0, out);
		strbuf_str(out, "}\n");
	}
	diff_rows_end(&rows);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

/* ---- rows ---- */

/* A number of each side, null where it is not known. */
static void put_pair(struct datarow *data, const char *name, const uint64_t values[2],
		     const bool is_known[2])
{
	char column[32];

	for (int side = 0; side < 2; side++) {
		snprintf(column, sizeof(column), "%s_%c", name, "ab"[side]);
		if (is_known[side])
			datarow_number(data, column, values[side]);
		else
			datarow_null(data, column);
	}
}

static void put_traced(struct datarow *data, const char *column, const struct profile_side *side,
		       bool is_known)
{
	if (is_known || side->knows_traced)
		datarow_bool(data, column, is_known);
	else
		datarow_null(data, column);
}

static void put_row(const struct profile_diff *diff, const struct func_pair *pair,
		    enum datarow_kind kind, struct strbuf *out)
{
	static const bool always[2] = { true, true };
	const struct profile_side *sides = diff->sides;
	const bool has_calls[2] = { pair->f[0].call_cnt, pair->f[1].call_cnt };
	const bool has_length[2] = { sides[0].length_ns, sides[1].length_ns };
	const uint64_t lengths_ns[2] = { sides[0].length_ns, sides[1].length_ns };
	struct datarow data;

	datarow_begin(&data, kind, out, "diff", 1);
	datarow_string(&data, "file_a", sides[0].path);
	datarow_string(&data, "file_b", sides[1].path);
	put_pair(&data, "length_ns", lengths_ns, has_length);
	datarow_bool(&data, "lacks_events_a", sides[0].lacks_events);
	datarow_bool(&data, "lacks_events_b", sides[1].lacks_events);
	datarow_text(&data, "func", diff_name_of(pair)->name);
	datarow_text(&data, "module", diff_name_of(pair)->module);
	for (size_t i = 0; i < NUMBER_CNT; i++) {
		const uint64_t values[2] = { number_of(&numbers[i], &pair->f[0]),
					     number_of(&numbers[i], &pair->f[1]) };

		put_pair(&data, numbers[i].name, values, numbers[i].is_a_call ? has_calls : always);
	}
	put_traced(&data, "traced_a", &sides[0], pair->is_known[0]);
	put_traced(&data, "traced_b", &sides[1], pair->is_known[1]);
	datarow_end(&data);
}

int profile_diff_data(const struct profile_diff *diff, enum datarow_kind kind, struct strbuf *out)
{
	const struct func_pair none = { 0 };
	struct diff_rows rows;
	int err = diff_rows_begin(&rows, diff);

	if (!err && kind == DATAROW_CSV)
		put_row(diff, &none, DATAROW_CSV_HEAD, out);
	for (size_t i = 0; !err && i < rows.func_cnt && (!diff->row_max || i < diff->row_max); i++)
		put_row(diff, &rows.funcs[i], kind, out);
	diff_rows_end(&rows);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}
