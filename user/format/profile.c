#include "format/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "format/profile_parts.h"

/* ---- functions and their callers ---- */

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

void profile_restart(struct profile *p)
{
	for (size_t i = 0; i < p->func_cap; i++) {
		p->funcs[i].total_ns = 0;
		p->funcs[i].self_ns = 0;
		hist_clear(&p->funcs[i].hist);
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

void profile_func_at(const struct profile *p, uint32_t func, struct profile_func *out)
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
			profile_func_at(p, i, out);
			return;
		}
	}
	*out = (struct profile_func){ 0 };
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
