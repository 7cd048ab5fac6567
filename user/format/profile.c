#include "format/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/calltree.h"
#include "base/cleantext.h"
#include "base/glob.h"
#include "nfg_hist.h"

/* ---- histogram: 32 steps for each power of two, exact below 64 ---- */

#define STEP_CNT  NFG_HIST_STEP_CNT
#define BAR_WIDTH 52

/* The least value of a bucket. */
static uint64_t bucket_low(uint32_t bucket)
{
	unsigned int shift = bucket < 2 * STEP_CNT ? 0 : bucket / STEP_CNT - 1;

	return shift ? (uint64_t)(bucket - shift * STEP_CNT) << shift : bucket;
}

static uint64_t bucket_middle(uint32_t bucket)
{
	uint64_t low = bucket_low(bucket);
	unsigned int shift = bucket < 2 * STEP_CNT ? 0 : bucket / STEP_CNT - 1;

	return low + (((uint64_t)1 << shift) - 1) / 2;
}

static int hist_reserve(struct hist *h, uint32_t bucket)
{
	uint32_t cnt = (bucket / STEP_CNT + 1) * STEP_CNT;
	uint64_t *buckets;

	if (bucket < h->bucket_cnt)
		return 0;
	buckets = realloc(h->buckets, cnt * sizeof(*buckets));
	if (!buckets)
		return -ENOMEM;
	memset(buckets + h->bucket_cnt, 0, (cnt - h->bucket_cnt) * sizeof(*buckets));
	h->buckets = buckets;
	h->bucket_cnt = cnt;
	return 0;
}

int hist_add(struct hist *h, uint64_t value)
{
	uint32_t bucket = nfg_hist_bucket(value);

	if (hist_reserve(h, bucket))
		return -ENOMEM;
	h->buckets[bucket]++;
	if (!h->cnt || value < h->min)
		h->min = value;
	if (value > h->max)
		h->max = value;
	h->cnt++;
	h->sum += value;
	return 0;
}

void hist_release(struct hist *h)
{
	free(h->buckets);
	*h = (struct hist){ 0 };
}

uint64_t hist_percentile(const struct hist *h, double pct)
{
	double want = (double)h->cnt * pct / 100;
	uint64_t seen = 0;
	uint64_t value = h->max;

	if (want > (double)h->cnt - 1)
		return h->max;
	for (uint32_t i = 0; i < h->bucket_cnt; i++) {
		seen += h->buckets[i];
		if (h->buckets[i] && (double)seen >= want) {
			value = bucket_middle(i);
			break;
		}
	}
	if (value < h->min)
		return h->min;
	return value < h->max ? value : h->max;
}

/* "256", "1K", "32M": a power of two. Return: characters. */
static size_t put_power(struct strbuf *out, unsigned int power)
{
	static const char units[] = "\0KMGTPE";
	size_t mark = out->len;

	strbuf_printf(out, "%u", 1u << power % 10);
	if (power >= 10)
		strbuf_char(out, units[power / 10]);
	return out->len - mark;
}

/* Values from 2^power on, below the next; power -1 is the value 0. */
static void put_hist_line(struct strbuf *out, int power, uint64_t cnt, uint64_t cnt_max)
{
	size_t mark = out->len;
	size_t bar = (size_t)((double)cnt * BAR_WIDTH / (double)cnt_max);

	strbuf_char(out, '[');
	if (power < 1) {
		strbuf_str(out, power < 0 ? "0]" : "1]");
	} else {
		put_power(out, (unsigned int)power);
		strbuf_str(out, ", ");
		put_power(out, (unsigned int)power + 1);
		strbuf_char(out, ')');
	}
	strbuf_fill(out, ' ', 16 - (out->len - mark));
	strbuf_printf(out, "%12llu |", (unsigned long long)cnt);
	strbuf_fill(out, '@', bar);
	strbuf_fill(out, ' ', BAR_WIDTH - bar);
	strbuf_str(out, "|\n");
}

static int power_of(uint64_t value)
{
	return value ? 63 - __builtin_clzll(value) : -1;
}

void hist_print(const struct hist *h, struct strbuf *out)
{
	uint64_t cnts[65] = { 0 }; /* by power + 1 */
	uint64_t cnt_max = 1;

	for (uint32_t i = 0; i < h->bucket_cnt; i++)
		cnts[power_of(bucket_low(i)) + 1] += h->buckets[i];
	for (int i = 0; i < 65; i++) {
		if (cnts[i] > cnt_max)
			cnt_max = cnts[i];
	}
	for (int i = power_of(h->min); h->cnt && i <= power_of(h->max); i++)
		put_hist_line(out, i, cnts[i + 1], cnt_max);
}

/* ---- functions and who calls them ---- */

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
	uint32_t func_cap;
	struct caller_stat *callers; /* open addressing; call_cnt 0 is free */
	uint32_t caller_cap;
	uint32_t caller_cnt;
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
	if (func >= p->func_cap) {
		uint32_t cap = p->func_cap ? p->func_cap * 2 : 64;
		struct func_stat *funcs;

		while (cap <= func)
			cap *= 2;
		funcs = realloc(p->funcs, cap * sizeof(*funcs));
		if (!funcs)
			return NULL;
		memset(funcs + p->func_cap, 0, (cap - p->func_cap) * sizeof(*funcs));
		p->funcs = funcs;
		p->func_cap = cap;
	}
	return &p->funcs[func];
}

static struct caller_stat *caller_slot(struct caller_stat *callers, uint32_t cap, uint32_t func,
				       uint32_t caller)
{
	uint64_t hash = ((uint64_t)func << 32 | caller) * 0x9e3779b97f4a7c15u;
	uint32_t idx = (uint32_t)(hash >> 32) & (cap - 1);

	while (callers[idx].call_cnt &&
	       (callers[idx].func != func || callers[idx].caller != caller))
		idx = (idx + 1) & (cap - 1);
	return &callers[idx];
}

static bool callers_grow(struct profile *p)
{
	uint32_t cap = p->caller_cap ? p->caller_cap * 2 : 256;
	struct caller_stat *callers = calloc(cap, sizeof(*callers));

	if (!callers)
		return false;
	for (uint32_t i = 0; i < p->caller_cap; i++) {
		const struct caller_stat *old = &p->callers[i];

		if (old->call_cnt)
			*caller_slot(callers, cap, old->func, old->caller) = *old;
	}
	free(p->callers);
	p->callers = callers;
	p->caller_cap = cap;
	return true;
}

static int add_caller(struct profile *p, uint32_t func, uint32_t caller, uint64_t call_cnt,
		      uint64_t duration_ns)
{
	struct caller_stat *slot;

	if (p->caller_cnt * 2 >= p->caller_cap && !callers_grow(p))
		return -ENOMEM;
	slot = caller_slot(p->callers, p->caller_cap, func, caller);
	p->caller_cnt += !slot->call_cnt;
	slot->func = func;
	slot->caller = caller;
	slot->call_cnt += call_cnt;
	slot->duration_ns += duration_ns;
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
 * Time in a function counts once: that of a call is in the one around it. When nobody knows how long that one took,
 * the sum of those inside is what is known (call.user_ns).
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

/* ---- sums that others made ---- */

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

static void put_callers(const struct profile *p, const struct caller_stat *callers, uint32_t cnt,
			uint32_t func, struct strbuf *out)
{
	uint32_t low = 0;
	uint32_t high = cnt;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

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
	uint32_t cnt = 0;

	if (!callers)
		return NULL;
	for (uint32_t i = 0; i < p->caller_cap; i++) {
		if (p->callers[i].call_cnt)
			callers[cnt++] = p->callers[i];
	}
	if (cnt)
		qsort(callers, cnt, sizeof(*callers), compare_callers);
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
							     "max",   "p99",  "name" };

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
