/* What of a profile is printed, and in which order. */
#include "format/profile_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/glob.h"

/* ---- functions in order ---- */

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

size_t pairs_of(const struct pairs *pairs, uint32_t func, const struct caller_stat **first)
{
	size_t low = 0;
	size_t high = pairs->cnt;
	size_t cnt = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pair_key(pairs, middle) < func)
			low = middle + 1;
		else
			high = middle;
	}
	while (low + cnt < pairs->cnt && pair_key(pairs, low + cnt) == func)
		cnt++;
	*first = cnt ? &pairs->items[low] : NULL;
	return cnt;
}

bool profile_name_matches(const char *pattern, struct text name)
{
	char buf[512];

	if (name.len >= sizeof(buf))
		return false;
	memcpy(buf, name.ptr, name.len);
	buf[name.len] = '\0';
	return glob_match(pattern, buf);
}

bool profile_has(const struct profile *p, const char *pattern)
{
	struct profile_func f;

	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (!p->funcs[i].hist.cnt)
			continue;
		profile_func_at(p, i, &f);
		if (profile_name_matches(pattern, f.name))
			return true;
	}
	return false;
}

/* ---- all of it ---- */

int printing_begin(struct printing *pr, const struct profile *p, const struct profile_view *view)
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

void printing_end(struct printing *pr)
{
	free(pr->rows);
	free(pr->callers.items);
	free(pr->callees.items);
}

/* @pattern: NULL matches all. */
static bool is_asked_for(bool is_wanted, const char *pattern, struct text name)
{
	return is_wanted && (!pattern || profile_name_matches(pattern, name));
}

bool printing_has_callers(const struct printing *pr, const struct table_row *row)
{
	return is_asked_for(pr->view->has_callers, pr->view->callers_of, row->f.name);
}

bool printing_has_callees(const struct printing *pr, const struct table_row *row)
{
	return is_asked_for(pr->view->has_callees, pr->view->callees_of, row->f.name);
}

static bool is_one_of(const struct str_list *patterns, struct text name)
{
	for (size_t i = 0; i < patterns->cnt; i++) {
		if (profile_name_matches(patterns->items[i], name))
			return true;
	}
	return false;
}

/* Functions that --callers=GLOB and --callees=GLOB name, or all without a GLOB. */
bool printing_has(const struct printing *pr, const struct table_row *row)
{
	const struct profile_view *view = pr->view;

	if (view->funcs && !is_one_of(view->funcs, row->f.name))
		return false;
	return (!view->callers_of && !view->callees_of) || printing_has_callers(pr, row) ||
	       printing_has_callees(pr, row);
}
