#include "format/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/calltree.h"
#include "base/cleantext.h"
#include "base/glob.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/hist.h"

/* ---- functions and their callers ---- */

#define OUTERMOST PROFILE_OUTERMOST

struct func_stat {
	uint64_t total_ns;
	uint64_t self_ns;
	struct hist hist;
};

struct caller_stat {
	uint32_t func;
	uint32_t caller; /* OUTERMOST: none */
	uint64_t call_cnt;
	uint64_t duration_ns;
};

struct profile {
	struct profile_config config;
	struct calltree *tree;
	bool failed;
	struct func_stat *funcs; /* [0]: without name; then by the callsym's id, plus 1 */
	size_t func_cap;         /* those that were not called are zeroed */
	struct caller_stat *callers;
	size_t caller_cnt;
	size_t caller_cap;
	struct hash caller_idx; /* of callers, by func and caller */
	uint64_t gap_cnt;
	uint64_t partial_cnt;
	uint64_t stray_cnt;
};

static uint32_t func_of(const struct call *call)
{
	return call->sym ? call->sym->id + 1 : 0;
}

/* NULL: no memory */
static struct func_stat *func_stat(struct profile *p, uint32_t func)
{
	if (VEC_RESERVE_ZEROED(p->funcs, p->func_cap, (size_t)func + 1))
		return NULL;
	return &p->funcs[func];
}

/* NULL: no memory */
static struct caller_stat *caller_stat(struct profile *p, uint32_t func, uint32_t caller)
{
	uint64_t hash = hash_u64((uint64_t)func << 32 | caller);

	for (uint32_t at = 0, item; hash_next(&p->caller_idx, hash, &at, &item);) {
		if (p->callers[item].func == func && p->callers[item].caller == caller)
			return &p->callers[item];
	}
	if (VEC_RESERVE(p->callers, p->caller_cap, p->caller_cnt + 1) ||
	    hash_add(&p->caller_idx, hash, (uint32_t)p->caller_cnt))
		return NULL;
	p->callers[p->caller_cnt] = (struct caller_stat){ .func = func, .caller = caller };
	return &p->callers[p->caller_cnt++];
}

static int add_caller(struct profile *p, uint32_t func, uint32_t caller, uint64_t call_cnt,
		      uint64_t duration_ns)
{
	struct caller_stat *stat = caller_stat(p, func, caller);

	if (!stat)
		return -ENOMEM;
	stat->call_cnt += call_cnt;
	stat->duration_ns += duration_ns;
	return 0;
}

static void count_caller(struct profile *p, const struct call *call)
{
	uint32_t caller = call->depth ? func_of(call - 1) : OUTERMOST;

	if (add_caller(p, func_of(call), caller, 1, call->duration_ns))
		p->failed = true;
}

/* The innermost open call of the same function around it, or NULL. */
static struct call *same_around(const struct calltask *task, const struct call *call)
{
	for (uint32_t i = call->depth; i-- > 0;) {
		if (task->calls[i].sym == call->sym)
			return &task->calls[i];
	}
	return NULL;
}

/*
 * Time in a function counts once: a recursive call is part of the call around it. Where the duration of the outer
 * call is unknown, the sum of the inner calls is used (call.user_ns).
 */
static void add_total(const struct calltask *task, const struct call *call, struct func_stat *stat)
{
	uint64_t known_ns = call->has_duration ? call->duration_ns : call->user_ns;
	struct call *around = same_around(task, call);

	if (around)
		around->user_ns += known_ns;
	else
		stat->total_ns += known_ns;
}

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct profile *p = ctx;
	struct func_stat *stat = func_stat(p, func_of(call));

	if (!stat) {
		p->failed = true;
		return;
	}
	add_total(task, call, stat);
	if (!call->has_return || !call->has_duration) {
		p->partial_cnt += call->has_entry;
		p->stray_cnt += !call->has_entry;
		return;
	}
	if (hist_add(&stat->hist, call->duration_ns)) {
		p->failed = true;
		return;
	}
	stat->self_ns += call_self_ns(call);
	if (p->config.has_callers)
		count_caller(p, call);
}

int profile_new(struct profile **out, const struct profile_config *config)
{
	struct profile *p = calloc(1, sizeof(*p));
	const struct calltree_config tree = {
		.lacks_time = config->lacks_time,
		.lacks_task = config->lacks_task,
		.forgets_tasks = true,
		.end = on_end,
		.ctx = p,
	};

	if (!p)
		return -ENOMEM;
	p->config = *config;
	if (calltree_new(&p->tree, &tree)) {
		free(p);
		return -ENOMEM;
	}
	*out = p;
	return 0;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	calltree_free(p->tree);
	for (uint32_t i = 0; i < p->func_cap; i++)
		hist_release(&p->funcs[i].hist);
	free(p->funcs);
	free(p->callers);
	hash_release(&p->caller_idx);
	free(p);
}

int profile_row(struct profile *p, const struct row *row)
{
	int err;

	if (row->kind == ROW_LOST)
		p->gap_cnt++;
	err = calltree_row(p->tree, row);
	return p->failed ? -ENOMEM : err;
}

void profile_finish(struct profile *p)
{
	calltree_finish(p->tree);
}

/* ---- sums made elsewhere ---- */

int profile_func_named(struct profile *p, struct text name, struct text module, uint32_t *func)
{
	const struct callsym *sym = calltree_intern(p->tree, name, module);

	if (!sym || !func_stat(p, sym->id + 1))
		return -ENOMEM;
	*func = sym->id + 1;
	return 0;
}

int profile_put(struct profile *p, uint32_t func, const struct profile_sums *sums)
{
	struct func_stat *stat = func_stat(p, func);
	struct hist *h = stat ? &stat->hist : NULL;

	if (!sums->call_cnt)
		return 0;
	if (!stat || hist_reserve(h, sums->bucket_cnt - 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < sums->bucket_cnt; i++)
		h->buckets[i] += sums->buckets[i];
	if (!h->cnt || sums->min_ns < h->min)
		h->min = sums->min_ns;
	if (sums->max_ns > h->max)
		h->max = sums->max_ns;
	h->cnt += sums->call_cnt;
	h->sum += sums->sum_ns;
	stat->total_ns += sums->total_ns;
	stat->self_ns += sums->self_ns;
	return 0;
}

int profile_put_caller(struct profile *p, uint32_t func, uint32_t caller, uint64_t call_cnt,
		       uint64_t duration_ns)
{
	if (!p->config.has_callers || !call_cnt)
		return 0;
	return add_caller(p, func, caller, call_cnt, duration_ns);
}

void profile_put_partial(struct profile *p, uint64_t call_cnt)
{
	p->partial_cnt += call_cnt;
}

uint64_t profile_gap_cnt(const struct profile *p)
{
	return p->gap_cnt;
}

uint64_t profile_partial_cnt(const struct profile *p)
{
	return p->partial_cnt;
}

uint64_t profile_stray_cnt(const struct profile *p)
{
	return p->stray_cnt;
}

/* ---- results ---- */

static void fill_func(const struct profile *p, uint32_t func, struct profile_func *out)
{
	const struct func_stat *stat = &p->funcs[func];
	const struct hist *h = &stat->hist;
	const struct callsym *sym = func ? calltree_sym(p->tree, func - 1) : NULL;

	*out = (struct profile_func){
		.name = sym ? sym->name : (struct text){ "", 0 },
		.module = sym ? sym->module : (struct text){ "", 0 },
		.call_cnt = h->cnt,
		.total_ns = stat->total_ns,
		.self_ns = stat->self_ns,
		.min_ns = h->min,
		.avg_ns = h->cnt ? h->sum / h->cnt : 0,
		.p50_ns = hist_percentile(h, 50),
		.p99_ns = hist_percentile(h, 99),
		.max_ns = h->max,
	};
}

uint32_t profile_func_cnt(const struct profile *p)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->func_cap; i++)
		cnt += p->funcs[i].hist.cnt > 0;
	return cnt;
}

void profile_func_get(const struct profile *p, uint32_t idx, struct profile_func *out)
{
	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (p->funcs[i].hist.cnt && !idx--) {
			fill_func(p, i, out);
			return;
		}
	}
	*out = (struct profile_func){ 0 };
}

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

static int compare_callers(const void *a, const void *b)
{
	const struct caller_stat *ca = a;
	const struct caller_stat *cb = b;

	if (ca->func != cb->func)
		return ca->func < cb->func ? -1 : 1;
	if (ca->call_cnt != cb->call_cnt)
		return ca->call_cnt > cb->call_cnt ? -1 : 1;
	return (ca->caller > cb->caller) - (ca->caller < cb->caller);
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

static void put_callers(const struct profile *p, const struct caller_stat *callers, size_t cnt,
			uint32_t func, struct strbuf *out)
{
	size_t low = 0;
	size_t high = cnt;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (callers[middle].func < func)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < cnt && callers[low].func == func; low++) {
		const struct caller_stat *c = &callers[low];
		struct profile_func from = { .name = { "(outermost)", 11 } };

		if (c->caller != OUTERMOST) {
			const struct callsym *sym =
				c->caller ? calltree_sym(p->tree, c->caller - 1) : NULL;

			from.name = sym ? sym->name : (struct text){ "", 0 };
			from.module = sym ? sym->module : (struct text){ "", 0 };
		}
		strbuf_printf(out, "%10llu ", (unsigned long long)c->call_cnt);
		put_us(out, c->duration_ns, 14);
		strbuf_fill(out, ' ', 69);
		strbuf_str(out, "<- ");
		put_func_name(out, from.name, from.module);
		strbuf_char(out, '\n');
	}
}

static struct caller_stat *sorted_callers(const struct profile *p)
{
	struct caller_stat *callers = malloc((p->caller_cnt + 1) * sizeof(*callers));

	if (!callers)
		return NULL;
	if (p->caller_cnt) {
		memcpy(callers, p->callers, p->caller_cnt * sizeof(*callers));
		qsort(callers, p->caller_cnt, sizeof(*callers), compare_callers);
	}
	return callers;
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
		fill_func(p, i, &rows[cnt++].f);
	}
	if (cnt)
		qsort(rows, cnt, sizeof(*rows), compare_rows);
	*out_cnt = cnt;
	return rows;
}

int profile_print(const struct profile *p, enum profile_sort sort, uint32_t row_max,
		  struct strbuf *out)
{
	uint32_t cnt = 0;
	struct table_row *rows = sorted_funcs(p, sort, &cnt);
	struct caller_stat *callers = sorted_callers(p);

	strbuf_printf(out, "%10s %14s %14s %12s %12s %12s %12s  FUNCTION\n", "COUNT", "TOTAL us",
		      "SELF us", "AVG us", "P50 us", "P99 us", "MAX us");
	for (uint32_t i = 0; rows && callers && i < cnt && (!row_max || i < row_max); i++) {
		put_table_row(out, &rows[i].f);
		put_callers(p, callers, p->caller_cnt, rows[i].func, out);
	}
	free(callers);
	free(rows);
	return rows && callers && strbuf_ok(out) ? 0 : -ENOMEM;
}

/* ---- latency ---- */

static bool name_matches(const char *pattern, struct text name)
{
	char buf[512];

	if (name.len >= sizeof(buf))
		return false;
	memcpy(buf, name.ptr, name.len);
	buf[name.len] = '\0';
	return glob_match(pattern, buf);
}

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

int profile_print_latency(const struct profile *p, const char *pattern, struct strbuf *out)
{
	uint32_t cnt = 0;
	struct table_row *rows = sorted_funcs(p, PROFILE_BY_NAME, &cnt);
	int matched = 0;

	for (uint32_t i = 0; rows && i < cnt; i++) {
		if (!name_matches(pattern, rows[i].f.name))
			continue;
		if (matched++)
			strbuf_char(out, '\n');
		put_latency(p, &rows[i], out);
	}
	free(rows);
	return rows && strbuf_ok(out) ? matched : -ENOMEM;
}

const char *profile_sort_name(enum profile_sort sort)
{
	static const char *const names[PROFILE_SORT_CNT] = { "total", "self", "count", "avg",
							     "p50",   "p99",  "max",   "name" };

	return names[sort];
}

int profile_sort_by_name(const char *name, enum profile_sort *out)
{
	for (int i = 0; i < PROFILE_SORT_CNT; i++) {
		if (!strcmp(profile_sort_name((enum profile_sort)i), name)) {
			*out = (enum profile_sort)i;
			return 0;
		}
	}
	return -ENOENT;
}
