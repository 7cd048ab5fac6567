/* The tables of a profile as text. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleantext.h"
#include "base/plural.h"
#include "format/profile_rows.h"

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

/* ---- the table ---- */

#define PAIR_COLUMN         94 /* where the table has its functions */
#define LATENCY_PAIR_COLUMN 27

static void put_pairs(const struct profile *p, const struct pairs *pairs, uint32_t func,
		      size_t column, struct strbuf *out)
{
	const struct caller_stat *first;
	const size_t cnt = pairs_of(pairs, func, &first);

	for (size_t i = 0; i < cnt; i++)
		put_pair(p, pairs, &first[i], column, out);
}

static void put_edges(const struct printing *pr, const struct table_row *row, size_t column,
		      struct strbuf *out)
{
	if (printing_has_callers(pr, row))
		put_pairs(pr->p, &pr->callers, row->func, column, out);
	if (printing_has_callees(pr, row))
		put_pairs(pr->p, &pr->callees, row->func, column, out);
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
		if (!printing_has(&pr, &pr.rows[i]))
			continue;
		put_table_row(out, &pr.rows[i].f);
		put_edges(&pr, &pr.rows[i], PAIR_COLUMN, out);
		cnt++;
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
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
	strbuf_printf(out, ": %" PRIu64 " %s", f->call_cnt, plural(f->call_cnt, "call", "calls"));
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
		if (!profile_name_matches(pattern, pr.rows[i].f.name))
			continue;
		if (view->row_max && (uint32_t)matched == view->row_max)
			break;
		if (matched++)
			strbuf_char(out, '\n');
		put_latency(p, &pr.rows[i], out);
		put_edges(&pr, &pr.rows[i], LATENCY_PAIR_COLUMN, out);
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? matched : -ENOMEM;
}
