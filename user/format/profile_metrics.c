#include "format/profile_metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/vec.h"
#include "format/profile_parts.h"

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

static void put_label(struct strbuf *out, const char *name, struct text value)
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
	put_label(out, "func", s->func);
	if (s->module.len) {
		strbuf_char(out, ',');
		put_label(out, "module", s->module);
	}
	if (pm->label.name) {
		strbuf_char(out, ',');
		put_label(out, pm->label.name, text_from(pm->label.value));
	}
}

static void put_seconds(struct strbuf *out, uint64_t ns)
{
	strbuf_printf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000, ns % 1000000000);
}

static void put_head(struct strbuf *out, const char *name, const char *type, const char *help)
{
	strbuf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

#define DURATION "netfgraph_call_duration_seconds"
#define SELF     "netfgraph_call_self_seconds"

static void put_histogram(const struct profile_metrics *pm, const struct series *s,
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
		put_seconds(out, (UINT64_C(1) << power) - 1);
		strbuf_printf(out, "\"} %" PRIu64 "\n", cnt);
	}
	strbuf_str(out, DURATION "_bucket");
	put_labels(pm, s, out);
	strbuf_printf(out, ",le=\"+Inf\"} %" PRIu64 "\n" DURATION "_sum", s->call_cnt);
	put_labels(pm, s, out);
	strbuf_str(out, "} ");
	put_seconds(out, s->sum_ns);
	strbuf_str(out, "\n" DURATION "_count");
	put_labels(pm, s, out);
	strbuf_printf(out, "} %" PRIu64 "\n", s->call_cnt);
}

static void put_self(const struct profile_metrics *pm, const struct series *s, struct strbuf *out)
{
	strbuf_str(out, SELF);
	put_labels(pm, s, out);
	strbuf_str(out, "} ");
	put_seconds(out, s->self_ns);
	strbuf_char(out, '\n');
}

static void put_number(struct strbuf *out, const char *name, const char *help, uint64_t number)
{
	put_head(out, name, "gauge", help);
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

/* Who has series keeps them: a sum of others that shrinks would look like a restart. */
static int choose_funcs(struct profile_metrics *pm, const struct profile *p)
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

/* @put for each function with series of its own, and for the others together. */
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
	int err = choose_funcs(pm, p);

	if (err)
		return err;
	put_head(out, DURATION, "histogram", "How long calls of kernel functions took.");
	each_series(pm, p, put_histogram, out);
	put_head(out, SELF, "gauge", "Time in these calls without the calls traced inside them.");
	each_series(pm, p, put_self, out);
	put_number(out, "netfgraph_other_functions", "Functions that have no series of their own.",
		   pm->other_cnt);
	put_number(out, "netfgraph_uncounted_calls", "Calls whose beginning or end was not traced.",
		   profile_partial_cnt(p) + profile_stray_cnt(p));
	put_number(out, "netfgraph_gaps", "Places in the trace where events were lost.",
		   profile_gap_cnt(p));
	strbuf_str(out, "# EOF\n");
	return strbuf_ok(out) ? 0 : -ENOMEM;
}
