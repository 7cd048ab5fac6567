/* The tables of a profile as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/glob.h"
#include "format/profile_parts.h"

/* ---- functions in order ---- */

struct table_row {
	uint32_t func;
	enum profile_sort sort;
	struct profile_func f;
};

static int compare_names(const struct profile_func *a, const struct profile_func *b)
{
	size_t len = a->name.len < b->name.len ? a->name.len : b->name.len;
	int diff = len ? memcmp(a->name.ptr, b->name.ptr, len) : 0;

	if (diff)
		return diff;
	if (a->name.len != b->name.len)
		return a->name.len < b->name.len ? -1 : 1;
	return (a->module.len > b->module.len) - (a->module.len < b->module.len);
}

static uint64_t sort_value(const struct table_row *row)
{
	switch (row->sort) {
	case PROFILE_BY_TOTAL:
		return row->f.total_ns;
	case PROFILE_BY_SELF:
		return row->f.self_ns;
	case PROFILE_BY_COUNT:
		return row->f.call_cnt;
	case PROFILE_BY_AVG:
		return row->f.avg_ns;
	case PROFILE_BY_P50:
		return row->f.p50_ns;
	case PROFILE_BY_MAX:
		return row->f.max_ns;
	case PROFILE_BY_P99:
		return row->f.p99_ns;
	default:
		return 0;
	}
}

/* The largest first; equal ones by name. */
static int compare_rows(const void *a, const void *b)
{
	const struct table_row *ra = a;
	const struct table_row *rb = b;
	uint64_t va = sort_value(ra);
	uint64_t vb = sort_value(rb);

	if (va != vb)
		return va > vb ? -1 : 1;
	return compare_names(&ra->f, &rb->f);
}

static struct table_row *sorted_funcs(const struct profile *p, enum profile_sort sort,
				      uint32_t *out_cnt)
{
	struct table_row *rows = malloc((profile_func_cnt(p) + 1) * sizeof(*rows));
	uint32_t cnt = 0;

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (!p->funcs[i].hist.cnt)
			continue;
		rows[cnt].func = i;
		rows[cnt].sort = sort;
		profile_func_at(p, i, &rows[cnt++].f);
	}
	if (cnt)
		qsort(rows, cnt, sizeof(*rows), compare_rows);
	*out_cnt = cnt;
	return rows;
}

/* ---- callers and callees ---- */

/* Pairs of caller and function, those of one function together, its most frequent first. */
struct pairs {
	struct caller_stat *items;
	size_t cnt;
	bool is_by_caller; /* what a function calls; else who calls it */
};

static int compare_pairs(const struct caller_stat *a, const struct caller_stat *b,
			 bool is_by_caller)
{
	const uint32_t key_a = is_by_caller ? a->caller : a->func;
	const uint32_t key_b = is_by_caller ? b->caller : b->func;
	const uint32_t other_a = is_by_caller ? a->func : a->caller;
	const uint32_t other_b = is_by_caller ? b->func : b->caller;

	if (key_a != key_b)
		return key_a < key_b ? -1 : 1;
	if (a->call_cnt != b->call_cnt)
		return a->call_cnt > b->call_cnt ? -1 : 1;
	return (other_a > other_b) - (other_a < other_b);
}

static int compare_callers(const void *a, const void *b)
{
	return compare_pairs(a, b, false);
}

static int compare_callees(const void *a, const void *b)
{
	return compare_pairs(a, b, true);
}

/* Return: 0 or -ENOMEM; the caller frees the items. */
static int sort_pairs(struct pairs *pairs, const struct profile *p, bool is_wanted,
		      bool is_by_caller)
{
	*pairs = (struct pairs){ .is_by_caller = is_by_caller };
	if (!is_wanted || !p->caller_cnt)
		return 0;
	pairs->items = malloc(p->caller_cnt * sizeof(*pairs->items));
	if (!pairs->items)
		return -ENOMEM;
	memcpy(pairs->items, p->callers, p->caller_cnt * sizeof(*pairs->items));
	pairs->cnt = p->caller_cnt;
	qsort(pairs->items, pairs->cnt, sizeof(*pairs->items),
	      is_by_caller ? compare_callees : compare_callers);
	return 0;
}

static uint32_t pair_key(const struct pairs *pairs, size_t i)
{
	return pairs->is_by_caller ? pairs->items[i].caller : pairs->items[i].func;
}

static void put_us(struct strbuf *out, uint64_t ns, int width)
{
	strbuf_printf(out, "%*llu.%03llu", width - 4, (unsigned long long)(ns / 1000),
		      (unsigned long long)(ns % 1000));
}

static void put_func_name(struct strbuf *out, struct text name, struct text module)
{
	if (!name.len)
		name = (struct text){ "[unknown]", 9 };
	clean_add(out, name.ptr, name.len, CLEAN_WORD);
	if (!module.len)
		return;
	strbuf_str(out, " [");
	clean_add(out, module.ptr, module.len, CLEAN_WORD);
	strbuf_char(out, ']');
}

static void put_table_row(struct strbuf *out, const struct profile_func *f)
{
	strbuf_printf(out, "%10llu ", (unsigned long long)f->call_cnt);
	put_us(out, f->total_ns, 14);
	strbuf_char(out, ' ');
	put_us(out, f->self_ns, 14);
	strbuf_char(out, ' ');
	put_us(out, f->avg_ns, 12);
	strbuf_char(out, ' ');
	put_us(out, f->p50_ns, 12);
	strbuf_char(out, ' ');
	put_us(out, f->p99_ns, 12);
	strbuf_char(out, ' ');
	put_us(out, f->max_ns, 12);
	strbuf_str(out, "  ");
	put_func_name(out, f->name, f->module);
	strbuf_char(out, '\n');
}

/* Names begin in column @column. */
static void put_pair(const struct profile *p, const struct pairs *pairs,
		     const struct caller_stat *pair, size_t column, struct strbuf *out)
{
	const uint32_t other = pairs->is_by_caller ? pair->func : pair->caller;
	const size_t mark = out->len;
	struct profile_func f = { .name = { "(outermost)", 11 } };

	if (other != OUTERMOST)
		profile_func_at(p, other, &f);
	strbuf_printf(out, "%10llu ", (unsigned long long)pair->call_cnt);
	put_us(out, pair->duration_ns, 14);
	if (out->len - mark < column)
		strbuf_fill(out, ' ', column - (out->len - mark));
	strbuf_str(out, pairs->is_by_caller ? "-> " : "<- ");
	put_func_name(out, f.name, f.module);
	strbuf_char(out, '\n');
}

static void put_pairs(const struct profile *p, const struct pairs *pairs, uint32_t func,
		      size_t column, struct strbuf *out)
{
	size_t low = 0;
	size_t high = pairs->cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pair_key(pairs, middle) < func)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < pairs->cnt && pair_key(pairs, low) == func; low++)
		put_pair(p, pairs, &pairs->items[low], column, out);
}

static bool name_matches(const char *pattern, struct text name)
{
	char buf[512];

	if (name.len >= sizeof(buf))
		return false;
	memcpy(buf, name.ptr, name.len);
	buf[name.len] = '\0';
	return glob_match(pattern, buf);
}

/* ---- the table ---- */

#define PAIR_COLUMN         94 /* where the table has its functions */
#define LATENCY_PAIR_COLUMN 27

/* What is printed, and in which order. */
struct printing {
	const struct profile *p;
	const struct profile_view *view;
	struct table_row *rows;
	uint32_t row_cnt;
	struct pairs callers;
	struct pairs callees;
};

static int printing_begin(struct printing *pr, const struct profile *p,
			  const struct profile_view *view)
{
	int err;

	*pr = (struct printing){ .p = p, .view = view };
	pr->rows = sorted_funcs(p, view->sort, &pr->row_cnt);
	err = pr->rows ? 0 : -ENOMEM;
	if (!err)
		err = sort_pairs(&pr->callers, p, view->has_callers, false);
	if (!err)
		err = sort_pairs(&pr->callees, p, view->has_callees, true);
	return err;
}

static void printing_end(struct printing *pr)
{
	free(pr->rows);
	free(pr->callers.items);
	free(pr->callees.items);
}

/* @pattern: NULL matches all. */
static bool is_asked_for(bool is_wanted, const char *pattern, struct text name)
{
	return is_wanted && (!pattern || name_matches(pattern, name));
}

static void put_edges(const struct printing *pr, const struct table_row *row, size_t column,
		      struct strbuf *out)
{
	const struct profile_view *view = pr->view;

	if (is_asked_for(view->has_callers, view->callers_of, row->f.name))
		put_pairs(pr->p, &pr->callers, row->func, column, out);
	if (is_asked_for(view->has_callees, view->callees_of, row->f.name))
		put_pairs(pr->p, &pr->callees, row->func, column, out);
}

/* Functions that --callers=GLOB and --callees=GLOB name, or all without a GLOB. */
static bool has_row(const struct profile_view *view, struct text name)
{
	if (!view->callers_of && !view->callees_of)
		return true;
	return is_asked_for(view->has_callers, view->callers_of, name) ||
	       is_asked_for(view->has_callees, view->callees_of, name);
}

int profile_print(const struct profile *p, const struct profile_view *view, struct strbuf *out)
{
	struct printing pr;
	int err = printing_begin(&pr, p, view);
	uint32_t cnt = 0;

	strbuf_printf(out, "%10s %14s %14s %12s %12s %12s %12s  FUNCTION\n", "COUNT", "TOTAL us",
		      "SELF us", "AVG us", "P50 us", "P99 us", "MAX us");
	for (uint32_t i = 0; !err && i < pr.row_cnt && (!view->row_max || cnt < view->row_max);
	     i++) {
		if (!has_row(view, pr.rows[i].f.name))
			continue;
		put_table_row(out, &pr.rows[i].f);
		put_edges(&pr, &pr.rows[i], PAIR_COLUMN, out);
		cnt++;
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

bool profile_has(const struct profile *p, const char *pattern)
{
	struct profile_func f;

	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (!p->funcs[i].hist.cnt)
			continue;
		profile_func_at(p, i, &f);
		if (name_matches(pattern, f.name))
			return true;
	}
	return false;
}

/* ---- latency ---- */

static void put_latency(const struct profile *p, const struct table_row *row, struct strbuf *out)
{
	const struct profile_func *f = &row->f;
	const struct {
		const char *name;
		uint64_t value_ns;
	} numbers[] = { { "min", f->min_ns },
			{ "avg", f->avg_ns },
			{ "p50", f->p50_ns },
			{ "p99", f->p99_ns },
			{ "max", f->max_ns } };

	put_func_name(out, f->name, f->module);
	strbuf_printf(out, ": %llu calls", (unsigned long long)f->call_cnt);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		strbuf_printf(out, ", %s ", numbers[i].name);
		put_us(out, numbers[i].value_ns, 5);
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
		if (!name_matches(pattern, pr.rows[i].f.name))
			continue;
		if (matched++)
			strbuf_char(out, '\n');
		put_latency(p, &pr.rows[i], out);
		put_edges(&pr, &pr.rows[i], LATENCY_PAIR_COLUMN, out);
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? matched : -ENOMEM;
}
