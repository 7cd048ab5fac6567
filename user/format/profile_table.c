#include "format/profile_table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/profile.h"
#include "format/profile_parts.h"

/* ---- text ---- */

static void put_func_name(struct strbuf *out, struct text name, struct text module)
{
	clean_func(out, name.len ? name : (struct text){ "[unknown]", 9 }, module, CLEAN_WORD);
}

static void put_func(struct strbuf *out, const void *row)
{
	const struct profile_func *f = row;

	put_func_name(out, f->name, f->module);
	if (f->is_left_out)
		leftfuncs_put_mark(out);
}

static void mark_left(struct profile_func *f, const struct profile_view *view)
{
	f->is_left_out = leftfuncs_mark(view->left, f->name, f->module);
}

/* Names begin in column @column. */
static void table_put_pair(const struct profile *p, const struct pairs *pairs,
			   const struct caller_stat *pair, size_t column, struct strbuf *out)
{
	const uint32_t other = pairs->is_by_caller ? pair->func : pair->caller;
	const size_t mark = out->len;
	struct profile_func f = { .name = { "(outermost)", 11 } };

	if (other != OUTERMOST)
		profile_func_at(p, other, &f);
	strbuf_printf(out, "%10" PRIu64, pair->call_cnt);
	if (pair->is_timed)
		strbuf_printf(out, " %10" PRIu64 ".%03" PRIu64, pair->duration_ns / 1000,
			      pair->duration_ns % 1000);
	else
		strbuf_printf(out, " %14s", "-");
	if (out->len - mark < column)
		strbuf_fill(out, ' ', column - (out->len - mark));
	strbuf_str(out, pairs->is_by_caller ? "-> " : "<- ");
	put_func_name(out, f.name, f.module);
	strbuf_char(out, '\n');
}

#define PAIR_COLUMN         94 /* the column of functions in the table */
#define NET_COLUMNS         30 /* how much further it is with net durations */
#define LATENCY_PAIR_COLUMN 27

static void profile_print_put_pairs(const struct profile *p, const struct pairs *pairs,
				    uint32_t func, size_t column, struct strbuf *out)
{
	const struct caller_stat *first;
	const size_t cnt = pairs_of(pairs, func, &first);

	for (size_t i = 0; i < cnt; i++)
		table_put_pair(p, pairs, &first[i], column, out);
}

static void table_put_edges(const struct printing *pr, const struct table_row *row, size_t column,
			    struct strbuf *out)
{
	if (printing_has_callers(pr, row))
		profile_print_put_pairs(pr->p, &pr->callers, row->func, column, out);
	if (printing_has_callees(pr, row))
		profile_print_put_pairs(pr->p, &pr->callees, row->func, column, out);
}

/* ---- latency ---- */

static void table_put_latency(const struct profile *p, const struct table_row *row,
			      struct strbuf *out)
{
	const struct profile_func *f = &row->f;

	put_func(out, f);
	strbuf_printf(out, ": %" PRIu64 " %s", f->call_cnt, plural(f->call_cnt, "call", "calls"));
	if (!f->timed_cnt) {
		strbuf_str(out, ", of unknown duration\n");
		return;
	}
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++) {
		if (!profile_column_is_of_calls(&profile_columns[i]))
			continue;
		strbuf_printf(out, ", %s ", profile_columns[i].name);
		us_put(out, profile_column_get(&profile_columns[i], f));
		strbuf_str(out, " us");
	}
	if (f->net_total_error_ns) {
		strbuf_str(out, ", net avg ");
		profile_net_put(out, f->net_total_ns / f->call_cnt,
				(f->net_total_error_ns + f->call_cnt - 1) / f->call_cnt);
		strbuf_str(out, " us");
	}
	strbuf_str(out, "; in ns:\n");
	hist_print(&p->funcs[row->func].hist, out);
}

int profile_print_latency(const struct profile *p, const char *pattern,
			  const struct profile_view *view, struct strbuf *out)
{
	struct printing pr;
	int matched = 0;
	int err = printing_begin(&pr, p, view);

	for (uint32_t i = 0; !err && i < pr.row_cnt; i++) {
		if (!profile_name_matches(pattern, pr.rows[i].f.name))
			continue;
		if (view->row_max && (uint32_t)matched == view->row_max)
			break;
		if (matched++)
			strbuf_char(out, '\n');
		mark_left(&pr.rows[i].f, view);
		table_put_latency(p, &pr.rows[i], out);
		table_put_edges(&pr, &pr.rows[i], LATENCY_PAIR_COLUMN, out);
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? matched : -ENOMEM;
}

/* ---- lists in JSON ---- */

static void profile_data_put_pairs(const struct profile *p, const struct pairs *pairs,
				   uint32_t func, const char *key, struct tablew *w)
{
	struct jsonw *out = tablew_member(w, key);
	const struct caller_stat *first;
	const size_t cnt = pairs_of(pairs, func, &first);

	if (!out)
		return;
	jsonw_array(out);
	for (size_t i = 0; i < cnt; i++) {
		const uint32_t other = pairs->is_by_caller ? first[i].func : first[i].caller;
		struct profile_func f = { 0 };

		if (other != OUTERMOST)
			profile_func_at(p, other, &f);
		jsonw_object(out);
		jsonw_key(out, "count");
		jsonw_u64(out, first[i].call_cnt);
		jsonw_key(out, "total_ns");
		if (first[i].is_timed)
			jsonw_u64(out, first[i].duration_ns);
		else
			jsonw_null(out);
		jsonw_key(out, "func");
		jsonw_known(out, f.name);
		jsonw_key(out, "module");
		jsonw_known(out, f.module);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

static void profile_data_put_histogram(const struct hist *hist, struct tablew *w)
{
	struct jsonw *out = tablew_member(w, "histogram");
	uint64_t cnts[HIST_POWER_CNT];

	if (!out)
		return;
	hist_by_powers(hist, cnts);
	jsonw_array(out);
	for (int i = 0; i < HIST_POWER_CNT; i++) {
		if (!cnts[i])
			continue;
		jsonw_object(out);
		jsonw_key(out, "from_ns");
		jsonw_u64(out, i ? UINT64_C(1) << (i - 1) : 0);
		jsonw_key(out, "count");
		jsonw_u64(out, cnts[i]);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

/* ---- the table ---- */

static const struct column begin_columns[] = {
	{ "host", .cell = CELL_HOST },
	{ "begin", COLUMN_AS(CELL_TIME, struct profile_origin, begin_ns) },
	{ "end", COLUMN_AS(CELL_TIME, struct profile_origin, end_ns) },
};

static const struct column func_column = { .title = "FUNCTION", .put = put_func };

/* @begin: its times are since 1970. @row: NULL: the names of the columns. */
static void table_put_row(const struct printing *pr, const struct table_row *row,
			  const struct profile_origin *begin, struct tablew *w)
{
	const struct profile_func *f = row ? &row->f : NULL;
	const bool has_net = w->form != TABLE_TEXT || pr->has_net;

	tablew_open(w, begin->table, 1);
	for (size_t i = 0; i < 3; i++)
		tablew_cell(w, &begin_columns[i], begin);
	for (size_t i = 0; i < 2; i++)
		tablew_cell(w, &profile_name_columns[i], f);
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++)
		tablew_cell(w, &profile_columns[i].column, f);
	for (size_t i = 0; i < PROFILE_NET_COLUMN_CNT && has_net; i++)
		tablew_cell(w, &profile_net_columns[i].column, f);
	tablew_cell(w, &func_column, f);
	if (row && printing_has_callers(pr, row))
		profile_data_put_pairs(pr->p, &pr->callers, row->func, "callers", w);
	if (row && printing_has_callees(pr, row))
		profile_data_put_pairs(pr->p, &pr->callees, row->func, "callees", w);
	if (row && begin->has_histogram)
		profile_data_put_histogram(&pr->p->funcs[row->func].hist, w);
	if (row)
		leftfuncs_put_member(w, f->is_left_out);
	tablew_close(w);
	if (row && w->form == TABLE_TEXT)
		table_put_edges(pr, row, PAIR_COLUMN + (has_net ? NET_COLUMNS : 0), w->out);
}

int profile_put_table(const struct profile *p, const struct profile_view *view,
		      const struct profile_origin *origin, struct tablew *w)
{
	struct profile_origin begin = *origin;
	struct printing pr;
	int err = printing_begin(&pr, p, view);
	uint32_t cnt = 0;

	begin.begin_ns += origin->real_offset_ns;
	begin.end_ns += origin->real_offset_ns;
	if (!origin->real_offset_ns || !origin->end_ns)
		begin.begin_ns = begin.end_ns = 0;
	if (tablew_head_begin(w))
		table_put_row(&pr, NULL, &begin, w);
	for (uint32_t i = 0; !err && i < pr.row_cnt && (!view->row_max || cnt < view->row_max);
	     i++) {
		if (!printing_has(&pr, &pr.rows[i]))
			continue;
		mark_left(&pr.rows[i].f, view);
		table_put_row(&pr, &pr.rows[i], &begin, w);
		cnt++;
	}
	printing_end(&pr);
	return !err && strbuf_ok(w->out) ? 0 : -ENOMEM;
}

/* Buckets end at 255 ns, 511 ns, ... 17 s: the last values before powers of two, which the histograms know exactly. */
#define POWER_FIRST 8
#define POWER_LAST  34

_Static_assert(POWER_LAST - POWER_FIRST + 1 + 4 == METRICS_SERIES_PER_FUNC,
	       "buckets, +Inf, sum, count, self");

struct profile_metrics {
	uint32_t func_max;
	uint32_t func_cnt;
	uint32_t other_cnt;
	bool *is_own; /* by function: it has series of its own */
	size_t own_cap;
	struct metrics_label label;
};

/* The values of one set of series. */
struct series {
	struct text func;
	struct text module;
	uint64_t cnts[HIST_POWER_CNT];
	uint64_t call_cnt;
	uint64_t sum_ns;
	uint64_t self_ns;
};

int profile_metrics_new(struct profile_metrics **out, uint32_t func_max, struct metrics_label label)
{
	struct profile_metrics *pm = calloc(1, sizeof(*pm));

	if (!pm)
		return -ENOMEM;
	pm->func_max = func_max;
	pm->label = label;
	*out = pm;
	return 0;
}

void profile_metrics_free(struct profile_metrics *pm)
{
	if (!pm)
		return;
	free(pm->is_own);
	free(pm);
}

uint32_t profile_metrics_other_cnt(const struct profile_metrics *pm)
{
	return pm->other_cnt;
}

/* ---- text ---- */

void metrics_put_label(struct strbuf *out, const char *name, struct text value)
{
	struct strbuf clean = { 0 };

	clean_add(&clean, value.ptr, value.len, CLEAN_LINE);
	strbuf_printf(out, "%s=\"", name);
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.ptr[i] == '"' || clean.ptr[i] == '\\')
			strbuf_char(out, '\\');
		strbuf_char(out, clean.ptr[i]);
	}
	strbuf_char(out, '"');
	strbuf_release(&clean);
}

static void put_labels(const struct profile_metrics *pm, const struct series *s, struct strbuf *out)
{
	strbuf_char(out, '{');
	metrics_put_label(out, "func", s->func);
	if (s->module.len) {
		strbuf_char(out, ',');
		metrics_put_label(out, "module", s->module);
	}
	if (pm->label.name) {
		strbuf_char(out, ',');
		metrics_put_label(out, pm->label.name, text_from(pm->label.value));
	}
}

void metrics_put_seconds(struct strbuf *out, uint64_t ns)
{
	strbuf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

void metrics_put_head(struct strbuf *out, const char *name, const char *type, const char *help)
{
	strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

#define DURATION "netfgraph_call_duration_seconds"
#define SELF     "netfgraph_call_self_seconds"

static void profile_metrics_put_histogram(const struct profile_metrics *pm, const struct series *s,
					  struct strbuf *out)
{
	uint64_t cnt = 0;

	for (int power = 0; power <= POWER_LAST; power++) {
		cnt += s->cnts[power];
		if (power < POWER_FIRST)
			continue;
		strbuf_str(out, DURATION "_bucket");
		put_labels(pm, s, out);
		strbuf_str(out, ",le=\"");
		metrics_put_seconds(out, (UINT64_C(1) << power) - 1);
		strbuf_printf(out, "\"} %" PRIu64 "\n", cnt);
	}
	strbuf_str(out, DURATION "_bucket");
	put_labels(pm, s, out);
	strbuf_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n" DURATION "_sum", s->call_cnt);
	put_labels(pm, s, out);
	strbuf_str(out, "} ");
	metrics_put_seconds(out, s->sum_ns);
	strbuf_str(out, "\n" DURATION "_count");
	put_labels(pm, s, out);
	strbuf_printf(out, "} %" PRIu64 "\n", s->call_cnt);
}

static void put_self(const struct profile_metrics *pm, const struct series *s, struct strbuf *out)
{
	strbuf_str(out, SELF);
	put_labels(pm, s, out);
	strbuf_str(out, "} ");
	metrics_put_seconds(out, s->self_ns);
	strbuf_char(out, '\n');
}

void metrics_put_number(struct strbuf *out, const char *name, const char *help, uint64_t number)
{
	metrics_put_head(out, name, "gauge", help);
	strbuf_printf(out, "%s %" PRIu64 "\n", name, number);
}

/* ---- functions ---- */

static void add_func(const struct profile *p, uint32_t func, struct series *s)
{
	const struct func_stat *stat = &p->funcs[func];
	uint64_t cnts[HIST_POWER_CNT];

	hist_by_powers(&stat->hist, cnts);
	for (int i = 0; i < HIST_POWER_CNT; i++)
		s->cnts[i] += cnts[i];
	s->call_cnt += stat->hist.cnt;
	s->sum_ns += stat->hist.sum;
	s->self_ns += stat->self_ns;
}

/* A function keeps its series: moved to (other), its counter would go back, which Prometheus reads as a restart. */
static int table_choose_funcs(struct profile_metrics *pm, const struct profile *p)
{
	if (VEC_RESERVE_ZEROED(pm->is_own, pm->own_cap, p->func_cap))
		return -ENOMEM;
	pm->other_cnt = 0;
	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (!p->funcs[i].hist.cnt || pm->is_own[i])
			continue;
		if (pm->func_cnt < pm->func_max) {
			pm->is_own[i] = true;
			pm->func_cnt++;
		} else {
			pm->other_cnt++;
		}
	}
	return 0;
}

/* Call @put for each function with series of its own, and for the others together. */
static void each_series(const struct profile_metrics *pm, const struct profile *p,
			void (*put)(const struct profile_metrics *pm, const struct series *s,
				    struct strbuf *out),
			struct strbuf *out)
{
	struct series others = { .func = { "(other)", 7 } };

	for (uint32_t i = 0; i < p->func_cap; i++) {
		struct profile_func f;
		struct series own;

		if (!p->funcs[i].hist.cnt)
			continue;
		if (!pm->is_own[i]) {
			add_func(p, i, &others);
			continue;
		}
		profile_func_at(p, i, &f);
		own = (struct series){ .func = f.name, .module = f.module };
		if (!own.func.len)
			own.func = (struct text){ "(unknown)", 9 };
		add_func(p, i, &own);
		put(pm, &own, out);
	}
	if (pm->other_cnt)
		put(pm, &others, out);
}

int profile_metrics_put(struct profile_metrics *pm, const struct profile *p, struct strbuf *out)
{
	int err = table_choose_funcs(pm, p);

	if (err)
		return err;
	metrics_put_head(out, DURATION, "histogram", "How long calls of kernel functions took.");
	each_series(pm, p, profile_metrics_put_histogram, out);
	metrics_put_head(out, SELF, "gauge",
			 "Time in these calls without the calls traced inside them.");
	each_series(pm, p, put_self, out);
	metrics_put_number(out, "netfgraph_other_functions",
			   "Functions that have no series of their own.", pm->other_cnt);
	metrics_put_number(out, "netfgraph_uncounted_calls",
			   "Calls whose beginning or end was not traced.",
			   profile_partial_cnt(p) + profile_stray_cnt(p));
	metrics_put_number(out, "netfgraph_gaps", "Places in the trace where events were lost.",
			   profile_gap_cnt(p));
	strbuf_str(out, "# EOF\n");
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
