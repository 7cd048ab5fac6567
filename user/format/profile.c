#include "format/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/vec.h"
#include "format/profile_parts.h"
#include "nfg_hist.h"

/* 32 steps for each power of two, exact below 64. */

#define STEP_CNT  NFG_HIST_STEP_CNT
#define BAR_WIDTH 52

/* The least value of a bucket. */
static uint64_t bucket_low(uint32_t bucket)
{
	unsigned int shift = bucket < 2 * STEP_CNT ? 0 : bucket / STEP_CNT - 1;

	return shift ? (uint64_t)(bucket - shift * STEP_CNT) << shift : bucket;
}

uint64_t hist_middle(uint32_t bucket)
{
	uint64_t low = bucket_low(bucket);
	unsigned int shift = bucket < 2 * STEP_CNT ? 0 : bucket / STEP_CNT - 1;

	return low + (((uint64_t)1 << shift) - 1) / 2;
}

/* hist_reserve - room for @bucket; new buckets are 0. Return: 0 or -ENOMEM. */
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

/* hist_clear - forget all values, keeping the memory. */
static void hist_clear(struct hist *h)
{
	if (h->cnt)
		memset(h->buckets, 0, h->bucket_cnt * sizeof(*h->buckets));
	*h = (struct hist){ .buckets = h->buckets, .bucket_cnt = h->bucket_cnt };
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
			value = hist_middle(i);
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

/* Put the line of the values from 2^power to below 2^(power + 1); power -1 is the value 0. */
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

void hist_by_powers(const struct hist *h, uint64_t cnts[HIST_POWER_CNT])
{
	memset(cnts, 0, HIST_POWER_CNT * sizeof(*cnts));
	for (uint32_t i = 0; i < h->bucket_cnt; i++)
		cnts[power_of(bucket_low(i)) + 1] += h->buckets[i];
}

void hist_print(const struct hist *h, struct strbuf *out)
{
	uint64_t cnts[HIST_POWER_CNT];
	uint64_t cnt_max = 1;

	hist_by_powers(h, cnts);
	for (int i = 0; i < HIST_POWER_CNT; i++) {
		if (cnts[i] > cnt_max)
			cnt_max = cnts[i];
	}
	for (int i = power_of(h->min); h->cnt && i <= power_of(h->max); i++)
		put_hist_line(out, i, cnts[i + 1], cnt_max);
}

/* ---- functions and their callers ---- */

static uint64_t stat_call_cnt(const struct func_stat *stat)
{
	return stat->hist.cnt + stat->untimed_cnt;
}

static uint32_t profile_func_of(const struct call *call)
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

/* @duration_ns: of all these calls; NULL: the trace has no durations. */
static int profile_add_caller(struct profile *p, uint32_t func, uint32_t caller, uint64_t call_cnt,
			      const uint64_t *duration_ns)
{
	struct caller_stat *stat = caller_stat(p, func, caller);

	if (!stat)
		return -ENOMEM;
	stat->call_cnt += call_cnt;
	stat->is_timed |= duration_ns != NULL;
	stat->duration_ns += duration_ns ? *duration_ns : 0;
	return 0;
}

static void count_caller(struct profile *p, const struct call *call)
{
	uint32_t caller = call->depth ? profile_func_of(call - 1) : OUTERMOST;

	if (profile_add_caller(p, profile_func_of(call), caller, 1,
			       call->has_duration ? &call->duration_ns : NULL))
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
	/* functions without a name are not the same one */
	struct call *around = call->sym ? same_around(task, call) : NULL;

	if (around)
		around->user_ns += known_ns;
	else
		stat->total_ns += known_ns;
	if (around || !call->net.is_known)
		return;
	stat->total_cost_ns += call->net.cost_ns;
	stat->total_error_ns += call->net.error_ns;
}

/* What is left of a call's cost when that of the calls inside is taken off: its own, and what it pays for them. */
static void add_self_cost(const struct call *call, struct func_stat *stat)
{
	if (!call->net.is_known)
		return;
	stat->net_cnt++;
	if (call->net.cost_ns > call->child_cost_ns)
		stat->self_cost_ns += call->net.cost_ns - call->child_cost_ns;
}

static void profile_on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct profile *p = ctx;
	struct func_stat *stat = func_stat(p, profile_func_of(call));

	if (!stat) {
		p->failed = true;
		return;
	}
	add_total(task, call, stat);
	if (call->has_entry && call->has_return && call->is_untimed) {
		stat->untimed_cnt++;
		if (p->config.has_callers)
			count_caller(p, call);
		return;
	}
	if (!call->has_return || !call->has_duration) {
		p->partial_cnt += call->has_entry;
		p->stray_cnt += !call->has_entry;
		return;
	}
	if (hist_add(&stat->hist, call->duration_ns)) {
		p->failed = true;
		return;
	}
	if (p->config.has_net_median && call->net.is_known)
		p->failed |= hist_add(&stat->net_hist, call->net.ns) != 0;
	stat->self_ns += call_self_ns(call);
	add_self_cost(call, stat);
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
		.end = profile_on_end,
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
	for (uint32_t i = 0; i < p->func_cap; i++) {
		hist_release(&p->funcs[i].hist);
		hist_release(&p->funcs[i].net_hist);
	}
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

void profile_restart(struct profile *p)
{
	for (size_t i = 0; i < p->func_cap; i++) {
		p->funcs[i].total_ns = 0;
		p->funcs[i].self_ns = 0;
		p->funcs[i].total_cost_ns = p->funcs[i].total_error_ns = 0;
		p->funcs[i].self_cost_ns = p->funcs[i].net_cnt = 0;
		p->funcs[i].untimed_cnt = 0;
		hist_clear(&p->funcs[i].hist);
		hist_clear(&p->funcs[i].net_hist);
	}
	p->caller_cnt = 0;
	hash_clear(&p->caller_idx);
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

/* As add_total and add_self_cost, of many calls. */
static void add_cost(struct func_stat *stat, const struct profile_sums *sums)
{
	const struct netcost *cost = sums->cost;
	const uint64_t outer_cnt =
		sums->call_cnt > sums->inner_cnt ? sums->call_cnt - sums->inner_cnt : 0;

	if (!netcost_is_known(cost))
		return;
	stat->net_cnt += sums->call_cnt;
	stat->total_cost_ns += outer_cnt * cost->inner_ns +
			       sums->inside_cnt * ((uint64_t)cost->inner_ns + cost->outer_ns);
	stat->total_error_ns += (outer_cnt + sums->inside_cnt) * cost->error_ns;
	stat->self_cost_ns +=
		sums->call_cnt * cost->inner_ns + sums->child_cnt * (uint64_t)cost->outer_ns;
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
	add_cost(stat, sums);
	return 0;
}

int profile_put_caller(struct profile *p, uint32_t func, uint32_t caller, uint64_t call_cnt,
		       uint64_t duration_ns)
{
	if (!p->config.has_callers || !call_cnt)
		return 0;
	return profile_add_caller(p, func, caller, call_cnt, &duration_ns);
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

static uint64_t net_of(uint64_t ns, uint64_t cost_ns)
{
	return ns > cost_ns ? ns - cost_ns : 0;
}

/* The error of each cost is the same part of it. */
static void put_net(const struct func_stat *stat, struct profile_func *out)
{
	out->net_total_ns = net_of(stat->total_ns, stat->total_cost_ns);
	out->net_self_ns = net_of(stat->self_ns, stat->self_cost_ns);
	out->net_total_error_ns = stat->total_error_ns;
	if (stat->total_cost_ns)
		out->net_self_error_ns =
			(uint64_t)((double)stat->total_error_ns * (double)stat->self_cost_ns /
				   (double)stat->total_cost_ns) +
			1;
	out->has_net_total = out->net_total_ns >= out->net_total_error_ns;
	out->has_net_self = out->net_self_ns >= out->net_self_error_ns;
	if (!stat->net_hist.cnt)
		return;
	out->net_p50_ns = hist_percentile(&stat->net_hist, 50);
	out->net_p50_error_ns = stat->total_error_ns / stat->net_cnt;
	out->has_net_p50 = out->net_p50_ns >= out->net_p50_error_ns;
}

void profile_func_at(const struct profile *p, uint32_t func, struct profile_func *out)
{
	const struct func_stat *stat = &p->funcs[func];
	const struct hist *h = &stat->hist;
	const struct callsym *sym = func ? calltree_sym(p->tree, func - 1) : NULL;

	*out = (struct profile_func){
		.name = sym ? sym->name : (struct text){ "", 0 },
		.module = sym ? sym->module : (struct text){ "", 0 },
		.call_cnt = stat_call_cnt(stat),
		.timed_cnt = h->cnt,
		.knows_total = h->cnt || !stat->untimed_cnt,
		.total_ns = stat->total_ns,
		.self_ns = stat->self_ns,
		.min_ns = h->min,
		.avg_ns = h->cnt ? h->sum / h->cnt : 0,
		.p50_ns = hist_percentile(h, 50),
		.p99_ns = hist_percentile(h, 99),
		.max_ns = h->max,
	};
	if (h->cnt && stat->net_cnt == h->cnt)
		put_net(stat, out);
}

bool profile_has_net(const struct profile *p)
{
	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (p->funcs[i].net_cnt)
			return true;
	}
	return false;
}

uint32_t profile_func_cnt(const struct profile *p)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; i < p->func_cap; i++)
		cnt += stat_call_cnt(&p->funcs[i]) > 0;
	return cnt;
}

void profile_func_get(const struct profile *p, uint32_t idx, struct profile_func *out)
{
	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (stat_call_cnt(&p->funcs[i]) && !idx--) {
			profile_func_at(p, i, out);
			return;
		}
	}
	*out = (struct profile_func){ 0 };
}

#define COUNT(member) COLUMN_AT(struct profile_func, member)
#define NS(member)    COLUMN_AS(CELL_NS, struct profile_func, member)
#define OF_CALLS      .needs = offsetof(struct profile_func, timed_cnt)
#define OF_TIMES      .needs = offsetof(struct profile_func, knows_total)

const struct profile_column profile_columns[PROFILE_COLUMN_CNT] = {
	{ { "count", "COUNT", COUNT(call_cnt), 10 }, "count", PROFILE_BY_COUNT },
	{ { "total_ns", "TOTAL us", NS(total_ns), 14, OF_TIMES }, "total", PROFILE_BY_TOTAL },
	{ { "self_ns", "SELF us", NS(self_ns), 14, OF_TIMES }, "self", PROFILE_BY_SELF },
	{ { "min_ns", NS(min_ns), OF_CALLS }, "min", PROFILE_SORT_CNT },
	{ { "avg_ns", "AVG us", NS(avg_ns), 12, OF_CALLS }, "avg", PROFILE_BY_AVG },
	{ { "p50_ns", "P50 us", NS(p50_ns), 12, OF_CALLS }, "p50", PROFILE_BY_P50 },
	{ { "p99_ns", "P99 us", NS(p99_ns), 12, OF_CALLS }, "p99", PROFILE_BY_P99 },
	{ { "max_ns", "MAX us", NS(max_ns), 12, OF_CALLS }, "max", PROFILE_BY_MAX },
};

void profile_net_put(struct strbuf *out, uint64_t ns, uint64_t error_ns)
{
	if (!error_ns) {
		strbuf_char(out, '-');
		return;
	}
	if (ns < error_ns) {
		strbuf_char(out, '<');
	} else {
		us_put(out, ns);
		strbuf_str(out, "+-");
	}
	us_put(out, error_ns);
}

static void net_total_put(struct strbuf *out, const void *row)
{
	const struct profile_func *f = row;

	profile_net_put(out, f->net_total_ns, f->net_total_error_ns);
}

static void net_self_put(struct strbuf *out, const void *row)
{
	const struct profile_func *f = row;

	profile_net_put(out, f->net_self_ns, f->net_self_error_ns);
}

#define NET(member, known) NS(member), .needs = offsetof(struct profile_func, known)

const struct profile_column profile_net_columns[PROFILE_NET_COLUMN_CNT] = {
	{ { "net_total_ns", "NET us", NET(net_total_ns, has_net_total), .width = 20,
	    .put = net_total_put },
	  "net",
	  PROFILE_BY_NET },
	{ { "net_total_error_ns", NET(net_total_error_ns, net_total_error_ns) },
	  "net-error",
	  PROFILE_SORT_CNT },
	{ { "net_self_ns", "NET SELF us", NET(net_self_ns, has_net_self), .width = 20,
	    .put = net_self_put },
	  "net-self",
	  PROFILE_BY_NET_SELF },
	{ { "net_self_error_ns", NET(net_self_error_ns, net_self_error_ns) },
	  "net-self-error",
	  PROFILE_SORT_CNT },
};

const struct column profile_name_columns[2] = {
	{ "func", COLUMN_AT(struct profile_func, name) },
	{ "module", COLUMN_AT(struct profile_func, module) },
};

const struct profile_column *profile_column_of(enum profile_sort sort)
{
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++) {
		if (profile_columns[i].sort == sort)
			return &profile_columns[i];
	}
	for (size_t i = 0; i < PROFILE_NET_COLUMN_CNT; i++) {
		if (profile_net_columns[i].sort == sort)
			return &profile_net_columns[i];
	}
	return NULL;
}

const char *profile_sort_name(enum profile_sort sort)
{
	const struct profile_column *number = profile_column_of(sort);

	return number ? number->name : sort == PROFILE_BY_BYTES ? "bytes" : "name";
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

/* ---- the rows to print, and their order ---- */

/* ---- functions in order ---- */

static int profile_compare_names(const struct profile_func *a, const struct profile_func *b)
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
	return row->sort ? profile_column_get(row->sort, &row->f) : 0;
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
	return profile_compare_names(&ra->f, &rb->f);
}

static struct table_row *sorted_funcs(const struct profile *p, enum profile_sort sort,
				      uint32_t *out_cnt)
{
	struct table_row *rows = malloc((profile_func_cnt(p) + 1) * sizeof(*rows));
	uint32_t cnt = 0;

	if (!rows)
		return NULL;
	for (uint32_t i = 0; i < p->func_cap; i++) {
		if (!stat_call_cnt(&p->funcs[i]))
			continue;
		rows[cnt].func = i;
		rows[cnt].sort = profile_column_of(sort);
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
	const size_t low = VEC_BISECT(i, pairs->cnt, pair_key(pairs, i) < func);
	size_t cnt = 0;

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
		if (!stat_call_cnt(&p->funcs[i]))
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

	*pr = (struct printing){ .p = p, .view = view, .has_net = profile_has_net(p) };
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
static bool profile_is_asked_for(bool is_wanted, const char *pattern, struct text name)
{
	return is_wanted && (!pattern || profile_name_matches(pattern, name));
}

bool printing_has_callers(const struct printing *pr, const struct table_row *row)
{
	return profile_is_asked_for(pr->view->has_callers, pr->view->callers_of, row->f.name);
}

bool printing_has_callees(const struct printing *pr, const struct table_row *row)
{
	return profile_is_asked_for(pr->view->has_callees, pr->view->callees_of, row->f.name);
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
