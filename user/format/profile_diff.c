#include "format/profile_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "format/profile_parts.h"

/* ---- the two sides ---- */

struct func_pair {
	struct profile_func f[2];
	bool is_known[2]; /* the side's profile has its name */
	double change;    /* the key by which rows are sorted */
};

/* Pairs of caller and function on both sides. */
struct edge_pair {
	struct profile_func caller; /* names alone; without name: outermost */
	struct profile_func func;
	uint64_t call_cnt[2];
	uint64_t duration_ns[2];
};

struct diff_rows {
	struct func_pair *funcs;
	size_t func_cnt;
	struct edge_pair *edges;
	size_t edge_cnt;
};

static uint64_t diff_call_cnt(const struct diff_rows *rows, int side);
static const struct profile_func *diff_name_of(const struct func_pair *pair);
static int diff_rows_begin(struct diff_rows *rows, const struct profile_diff *diff);
static void diff_rows_end(struct diff_rows *rows);

/* ---- JSON ---- */

static void json_name(struct jsonw *out, const char *key, const char *module_key,
		      const struct profile_func *func)
{
	jsonw_key(out, key);
	jsonw_known(out, func->name);
	jsonw_key(out, module_key);
	jsonw_known(out, func->module);
}

static void json_side(const struct profile_diff *diff, const struct diff_rows *rows, int side,
		      struct jsonw *out)
{
	const struct profile_side *s = &diff->sides[side];

	jsonw_key(out, side ? "b" : "a");
	jsonw_object(out);
	jsonw_key(out, "file");
	jsonw_string(out, s->path);
	jsonw_key(out, "length_ns");
	if (s->length_ns)
		jsonw_u64(out, s->length_ns);
	else
		jsonw_null(out);
	jsonw_key(out, "calls");
	jsonw_u64(out, diff_call_cnt(rows, side));
	jsonw_key(out, "lacks_events");
	jsonw_bool(out, s->lacks_events);
	jsonw_object_end(out);
}

static void json_func(const struct profile_diff *diff, const struct func_pair *pair,
		      struct jsonw *out)
{
	jsonw_object(out);
	json_name(out, "func", "module", diff_name_of(pair));
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++) {
		const struct profile_column *number = &profile_columns[i];

		if (number->sort == PROFILE_SORT_CNT)
			continue;
		jsonw_key(out, number->key);
		jsonw_array(out);
		for (int side = 0; side < 2; side++)
			jsonw_u64(out, profile_column_get(number, &pair->f[side]));
		jsonw_array_end(out);
	}
	jsonw_key(out, "traced");
	jsonw_array(out);
	for (int side = 0; side < 2; side++) {
		if (pair->is_known[side] || diff->sides[side].knows_traced)
			jsonw_bool(out, pair->is_known[side]);
		else
			jsonw_null(out);
	}
	jsonw_array_end(out);
	jsonw_object_end(out);
}

static void json_edges(const struct diff_rows *rows, const char *key, int side, struct jsonw *out)
{
	jsonw_key(out, key);
	jsonw_array(out);
	for (size_t i = 0; i < rows->edge_cnt; i++) {
		const struct edge_pair *edge = &rows->edges[i];

		if (!edge->call_cnt[side] || edge->call_cnt[!side])
			continue;
		jsonw_object(out);
		json_name(out, "caller", "caller_module", &edge->caller);
		json_name(out, "func", "module", &edge->func);
		jsonw_key(out, "count");
		jsonw_u64(out, edge->call_cnt[side]);
		jsonw_key(out, "total_ns");
		jsonw_u64(out, edge->duration_ns[side]);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

int profile_diff_json(const struct profile_diff *diff, struct strbuf *out)
{
	struct jsonw json = { .out = out };
	struct diff_rows rows;
	int err = diff_rows_begin(&rows, diff);

	if (!err) {
		jsonw_object(&json);
		json_side(diff, &rows, 0, &json);
		json_side(diff, &rows, 1, &json);
		jsonw_key(&json, "functions");
		jsonw_array(&json);
		for (size_t i = 0; i < rows.func_cnt; i++)
			json_func(diff, &rows.funcs[i], &json);
		jsonw_array_end(&json);
		json_edges(&rows, "new_calls", 1, &json);
		json_edges(&rows, "gone_calls", 0, &json);
		jsonw_object_end(&json);
		jsonw_end(&json);
	}
	diff_rows_end(&rows);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

/* ---- rows ---- */

/* A number of each side, null where it is not known. */
static void diff_put_pair(struct datarow *data, const char *name, const uint64_t values[2],
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

static void diff_put_row(const struct profile_diff *diff, const struct func_pair *pair,
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
	diff_put_pair(&data, "length_ns", lengths_ns, has_length);
	datarow_bool(&data, "lacks_events_a", sides[0].lacks_events);
	datarow_bool(&data, "lacks_events_b", sides[1].lacks_events);
	datarow_text(&data, "func", diff_name_of(pair)->name);
	datarow_text(&data, "module", diff_name_of(pair)->module);
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++) {
		const struct profile_column *number = &profile_columns[i];
		const uint64_t values[2] = { profile_column_get(number, &pair->f[0]),
					     profile_column_get(number, &pair->f[1]) };

		if (number->sort != PROFILE_SORT_CNT)
			diff_put_pair(&data, number->key, values,
				      number->is_of_calls ? has_calls : always);
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
		diff_put_row(diff, &none, DATAROW_CSV_HEAD, out);
	for (size_t i = 0; !err && i < rows.func_cnt && (!diff->row_max || i < diff->row_max); i++)
		diff_put_row(diff, &rows.funcs[i], kind, out);
	diff_rows_end(&rows);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

/* ---- functions of both sides ---- */

static int compare_text(struct text a, struct text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int diff = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return diff ? diff : (a.len > b.len) - (a.len < b.len);
}

static int compare_func(const struct profile_func *a, const struct profile_func *b)
{
	int diff = compare_text(a->name, b->name);

	return diff ? diff : compare_text(a->module, b->module);
}

/* diff_name_of - the names of a function that either side has. */
static const struct profile_func *diff_name_of(const struct func_pair *pair)
{
	return &pair->f[!pair->is_known[0]];
}

static int compare_pair_names(const void *a, const void *b)
{
	return compare_func(diff_name_of(a), diff_name_of(b));
}

static size_t sym_cnt(const struct profile *p)
{
	size_t cnt = 0;

	while (calltree_sym(p->tree, (uint32_t)cnt))
		cnt++;
	return cnt;
}

static void diff_get_func(const struct profile *p, uint32_t func, struct profile_func *out)
{
	const struct callsym *sym = calltree_sym(p->tree, func - 1);

	if (func < p->func_cap)
		profile_func_at(p, func, out);
	else
		*out = (struct profile_func){ .name = sym->name, .module = sym->module };
}

/* Functions of the same name become one row; functions without calls are removed. */
static size_t merge_funcs(struct func_pair *funcs, size_t cnt)
{
	size_t to = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct func_pair *last = to ? &funcs[to - 1] : NULL;
		int side = !funcs[i].is_known[0];

		if (last && !compare_func(diff_name_of(last), diff_name_of(&funcs[i]))) {
			last->f[side] = funcs[i].f[side];
			last->is_known[side] = true;
			continue;
		}
		if (last && !last->f[0].call_cnt && !last->f[1].call_cnt)
			to--;
		funcs[to++] = funcs[i];
	}
	if (to && !funcs[to - 1].f[0].call_cnt && !funcs[to - 1].f[1].call_cnt)
		to--;
	return to;
}

static int collect_funcs(struct diff_rows *rows, const struct profile_diff *diff)
{
	const struct profile *a = diff->sides[0].profile;
	const struct profile *b = diff->sides[1].profile;
	const size_t cnts[2] = { sym_cnt(a), sym_cnt(b) };
	size_t cnt = 0;

	rows->funcs = calloc(cnts[0] + cnts[1] + 1, sizeof(*rows->funcs));
	if (!rows->funcs)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		for (uint32_t func = 1; func <= cnts[side]; func++, cnt++) {
			diff_get_func(side ? b : a, func, &rows->funcs[cnt].f[side]);
			rows->funcs[cnt].is_known[side] = true;
		}
	}
	qsort(rows->funcs, cnt, sizeof(*rows->funcs), compare_pair_names);
	rows->func_cnt = merge_funcs(rows->funcs, cnt);
	return 0;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge_pair *ea = a;
	const struct edge_pair *eb = b;
	int diff = compare_func(&ea->func, &eb->func);

	return diff ? diff : compare_func(&ea->caller, &eb->caller);
}

static int collect_edges(struct diff_rows *rows, const struct profile_diff *diff)
{
	const struct profile_side *sides = diff->sides;
	const size_t max = sides[0].profile->caller_cnt + sides[1].profile->caller_cnt;
	size_t cnt = 0;
	size_t to = 0;

	rows->edges = calloc(max + 1, sizeof(*rows->edges));
	if (!rows->edges)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		const struct profile *p = sides[side].profile;

		for (size_t i = 0; i < p->caller_cnt; i++) {
			const struct caller_stat *stat = &p->callers[i];
			struct edge_pair *edge = &rows->edges[cnt];

			/* functions without a name cannot be compared */
			if (!stat->func || !stat->caller)
				continue;
			diff_get_func(p, stat->func, &edge->func);
			if (stat->caller != OUTERMOST)
				diff_get_func(p, stat->caller, &edge->caller);
			edge->call_cnt[side] = stat->call_cnt;
			edge->duration_ns[side] = stat->duration_ns;
			cnt++;
		}
	}
	qsort(rows->edges, cnt, sizeof(*rows->edges), compare_edges);
	for (size_t i = 0; i < cnt; i++) {
		struct edge_pair *last = to ? &rows->edges[to - 1] : NULL;

		if (!last || compare_edges(last, &rows->edges[i])) {
			rows->edges[to++] = rows->edges[i];
			continue;
		}
		for (int side = 0; side < 2; side++) {
			last->call_cnt[side] += rows->edges[i].call_cnt[side];
			last->duration_ns[side] += rows->edges[i].duration_ns[side];
		}
	}
	rows->edge_cnt = to;
	return 0;
}

/* ---- the compared files ---- */

/* The value per second, or of the whole trace. */
static double norm(const struct profile_diff *diff, int side, uint64_t value)
{
	if (!diff->is_per_second)
		return (double)value;
	return (double)value * 1e9 / (double)diff->sides[side].length_ns;
}

/* The number that @sort sorts by; 0 by name. */
static double diff_value_of(const struct profile_diff *diff, int side, const struct profile_func *f,
			    enum profile_sort sort)
{
	const struct profile_column *number = profile_column_of(sort);
	const uint64_t value = number ? profile_column_get(number, f) : 0;

	return number && !number->is_of_calls ? norm(diff, side, value) : (double)value;
}

/* If no other column of the text has the number by which it is sorted, the last one has it, in place of p99. */
static enum profile_sort last_column(const struct profile_diff *diff)
{
	const bool has_it = diff->sort == PROFILE_BY_COUNT || diff->sort == PROFILE_BY_TOTAL ||
			    diff->sort == PROFILE_BY_P50 || diff->sort == PROFILE_BY_NAME;

	return has_it ? PROFILE_BY_P99 : diff->sort;
}

static int compare_changes(const void *a, const void *b)
{
	const struct func_pair *pa = a;
	const struct func_pair *pb = b;

	if (pa->change != pb->change)
		return pa->change > pb->change ? -1 : 1;
	return compare_pair_names(a, b);
}

/* The most frequent first. */
static int compare_edge_cnts(const void *a, const void *b)
{
	const struct edge_pair *ea = a;
	const struct edge_pair *eb = b;
	const uint64_t ca = ea->call_cnt[0] + ea->call_cnt[1];
	const uint64_t cb = eb->call_cnt[0] + eb->call_cnt[1];

	return ca == cb ? compare_edges(a, b) : ca > cb ? -1 : 1;
}

/* diff_rows_begin - Return: 0 or -ENOMEM. Release with diff_rows_end in every case. */
static int diff_rows_begin(struct diff_rows *rows, const struct profile_diff *diff)
{
	int err;

	*rows = (struct diff_rows){ 0 };
	err = collect_funcs(rows, diff);
	if (!err)
		err = collect_edges(rows, diff);
	for (size_t i = 0; !err && i < rows->func_cnt; i++) {
		struct func_pair *pair = &rows->funcs[i];

		if (diff->sort != PROFILE_BY_NAME)
			pair->change = fabs(diff_value_of(diff, 1, &pair->f[1], diff->sort) -
					    diff_value_of(diff, 0, &pair->f[0], diff->sort));
	}
	if (!err && rows->func_cnt)
		qsort(rows->funcs, rows->func_cnt, sizeof(*rows->funcs), compare_changes);
	if (!err && rows->edge_cnt)
		qsort(rows->edges, rows->edge_cnt, sizeof(*rows->edges), compare_edge_cnts);
	return err;
}

static void diff_rows_end(struct diff_rows *rows)
{
	free(rows->funcs);
	free(rows->edges);
}

/* diff_call_cnt - all calls of a side. */
static uint64_t diff_call_cnt(const struct diff_rows *rows, int side)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < rows->func_cnt; i++)
		cnt += rows->funcs[i].f[side].call_cnt;
	return cnt;
}

/* ---- text ---- */

static void diff_put_name(struct strbuf *out, const struct profile_func *f)
{
	if (!f->name.len) {
		strbuf_str(out, "(outermost)");
		return;
	}
	clean_add(out, f->name.ptr, f->name.len, CLEAN_WORD);
	if (!f->module.len)
		return;
	strbuf_str(out, " [");
	clean_add(out, f->module.ptr, f->module.len, CLEAN_WORD);
	strbuf_char(out, ']');
}

static void put_side(const struct profile_diff *diff, const struct diff_rows *rows, int side,
		     struct strbuf *out)
{
	const struct profile_side *s = &diff->sides[side];

	strbuf_str(out, side ? "# B: " : "# A: ");
	clean_add(out, s->path, strlen(s->path), CLEAN_LINE);
	strbuf_str(out, s->length_ns ? ", " : ", of unknown length");
	if (s->length_ns)
		seconds_put(out, s->length_ns, 6);
	strbuf_printf(out, ", %" PRIu64 " %s%s\n", diff_call_cnt(rows, side),
		      plural(diff_call_cnt(rows, side), "call", "calls"),
		      s->lacks_events ? "; it lacks events, so its numbers are too low" : "");
}

static void put_change(struct strbuf *out, double a, double b)
{
	char text[16] = "-";

	if (a > 0)
		snprintf(text, sizeof(text), "%+.1f%%", (b - a) * 100 / a);
	if (a > 0 && (b - a) / a > 999)
		strcpy(text, ">999x");
	strbuf_printf(out, " %8s", text);
}

static void put_cnts(const struct profile_diff *diff, const struct func_pair *pair,
		     struct strbuf *out)
{
	const double a = norm(diff, 0, pair->f[0].call_cnt);
	const double b = norm(diff, 1, pair->f[1].call_cnt);
	const int digits = diff->is_per_second ? 1 : 0;

	strbuf_printf(out, "%11.*f %11.*f", digits, a, digits, b);
	put_change(out, a, b);
}

static void diff_put_us(struct strbuf *out, double a, double b)
{
	strbuf_printf(out, " %14.3f %14.3f", a / 1000, b / 1000);
	put_change(out, a, b);
}

/* A time of the calls of each side, if there are any. */
static void diff_put_times(const struct profile_diff *diff, const struct func_pair *pair,
			   enum profile_sort sort, struct strbuf *out)
{
	const bool is_in_both = pair->f[0].call_cnt && pair->f[1].call_cnt;
	const double values_ns[2] = { diff_value_of(diff, 0, &pair->f[0], sort),
				      diff_value_of(diff, 1, &pair->f[1], sort) };

	for (int side = 0; side < 2; side++) {
		if (pair->f[side].call_cnt)
			strbuf_printf(out, " %12.3f", values_ns[side] / 1000);
		else
			strbuf_printf(out, " %12s", "-");
	}
	put_change(out, is_in_both ? values_ns[0] : 0, values_ns[1]);
}

/* Put "new" or "gone", and "not traced" if that side could not have any calls. */
static void put_remark(const struct profile_diff *diff, const struct func_pair *pair,
		       struct strbuf *out)
{
	for (int side = 0; side < 2; side++) {
		if (pair->f[side].call_cnt)
			continue;
		strbuf_str(out, side ? " (gone" : " (new");
		if (diff->sides[side].knows_traced && !pair->is_known[side])
			strbuf_printf(out, ", not traced in %c", "AB"[side]);
		strbuf_char(out, ')');
	}
}

static void diff_put_func(const struct profile_diff *diff, const struct func_pair *pair,
			  struct strbuf *out)
{
	put_cnts(diff, pair, out);
	diff_put_us(out, diff_value_of(diff, 0, &pair->f[0], PROFILE_BY_TOTAL),
		    diff_value_of(diff, 1, &pair->f[1], PROFILE_BY_TOTAL));
	diff_put_times(diff, pair, PROFILE_BY_P50, out);
	diff_put_times(diff, pair, last_column(diff), out);
	strbuf_str(out, "  ");
	diff_put_name(out, diff_name_of(pair));
	put_remark(diff, pair, out);
	strbuf_char(out, '\n');
}

static void put_more(struct strbuf *out, size_t cnt, uint32_t row_max)
{
	if (row_max && cnt > row_max)
		strbuf_printf(out, "%11s and %zu more\n", "", cnt - row_max);
}

/* Put the pairs that @side alone has. */
static void diff_put_edges(const struct profile_diff *diff, const struct diff_rows *rows, int side,
			   struct strbuf *out)
{
	size_t cnt = 0;

	for (size_t i = 0; i < rows->edge_cnt; i++) {
		const struct edge_pair *edge = &rows->edges[i];

		if (!edge->call_cnt[side] || edge->call_cnt[!side])
			continue;
		if (!cnt)
			strbuf_printf(out, "\n%11s %14s  CALLS IN %c ALONE\n", "COUNT", "TOTAL us",
				      "AB"[side]);
		if (diff->row_max && cnt++ >= diff->row_max)
			continue;
		cnt += !diff->row_max;
		strbuf_printf(out, "%11.*f %14.3f  ", diff->is_per_second ? 1 : 0,
			      norm(diff, side, edge->call_cnt[side]),
			      norm(diff, side, edge->duration_ns[side]) / 1000);
		diff_put_name(out, &edge->caller);
		strbuf_str(out, " -> ");
		diff_put_name(out, &edge->func);
		strbuf_char(out, '\n');
	}
	put_more(out, cnt, diff->row_max);
}

static void diff_put_head(const struct profile_diff *diff, struct strbuf *out)
{
	const struct {
		enum profile_sort sort;
		int width;
	} columns[] = { { PROFILE_BY_COUNT, 11 },
			{ PROFILE_BY_TOTAL, 14 },
			{ PROFILE_BY_P50, 12 },
			{ last_column(diff), 12 } };

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
		const char *heading = profile_column_of(columns[i].sort)->heading;
		const int width = columns[i].width - 2;

		strbuf_printf(out, "%*s A %*s B %8s ", width, heading, width, heading, "CHANGE");
	}
	strbuf_str(out, " FUNCTION\n");
}

int profile_diff_text(const struct profile_diff *diff, struct strbuf *out)
{
	struct diff_rows rows;
	int err = diff_rows_begin(&rows, diff);

	if (!err) {
		put_side(diff, &rows, 0, out);
		put_side(diff, &rows, 1, out);
		strbuf_printf(out, "# counts and totals %s, sorted by %s%s\n",
			      diff->is_per_second ? "per second" : "in all",
			      diff->sort == PROFILE_BY_NAME ? "" : "change of ",
			      profile_sort_name(diff->sort));
		diff_put_head(diff, out);
		for (size_t i = 0; i < rows.func_cnt && (!diff->row_max || i < diff->row_max); i++)
			diff_put_func(diff, &rows.funcs[i], out);
		put_more(out, rows.func_cnt, diff->row_max);
		diff_put_edges(diff, &rows, 1, out);
		diff_put_edges(diff, &rows, 0, out);
	}
	diff_rows_end(&rows);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}
