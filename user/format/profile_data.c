/* The tables of a profile as data, for other programs. */
#include "format/profile_data.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "format/datarow.h"
#include "format/fmt.h"
#include "format/profile_rows.h"

#define SCHEMA 1

/* The numbers of a function, by the names of their columns. */
static const struct {
	const char *name;
	size_t offset; /* in struct profile_func */
} columns[] = {
	{ "count", offsetof(struct profile_func, call_cnt) },
	{ "total_ns", offsetof(struct profile_func, total_ns) },
	{ "self_ns", offsetof(struct profile_func, self_ns) },
	{ "min_ns", offsetof(struct profile_func, min_ns) },
	{ "avg_ns", offsetof(struct profile_func, avg_ns) },
	{ "p50_ns", offsetof(struct profile_func, p50_ns) },
	{ "p99_ns", offsetof(struct profile_func, p99_ns) },
	{ "max_ns", offsetof(struct profile_func, max_ns) },
};

#define COLUMN_CNT (sizeof(columns) / sizeof(columns[0]))

static uint64_t number_at(const struct profile_func *f, size_t column)
{
	uint64_t number;

	memcpy(&number, (const char *)f + columns[column].offset, sizeof(number));
	return number;
}

static uint64_t real_ns(const struct profile_origin *origin, uint64_t time_ns)
{
	return origin->real_offset_ns && origin->end_ns ? time_ns + origin->real_offset_ns : 0;
}

/* ---- lists, which CSV has no place for ---- */

static void json_text(struct strbuf *out, const char *key, struct text text)
{
	strbuf_printf(out, ",\"%s\":", key);
	if (text.len)
		fmt_json_text(out, text);
	else
		strbuf_str(out, "null");
}

static void put_pairs(const struct profile *p, const struct pairs *pairs, uint32_t func,
		      const char *column, struct datarow *data)
{
	struct strbuf *out = data->out;
	const struct caller_stat *first;
	const size_t cnt = pairs_of(pairs, func, &first);

	if (!datarow_member(data, column))
		return;
	strbuf_char(out, '[');
	for (size_t i = 0; i < cnt; i++) {
		const uint32_t other = pairs->is_by_caller ? first[i].func : first[i].caller;
		struct profile_func f = { 0 };

		if (other != OUTERMOST)
			profile_func_at(p, other, &f);
		strbuf_printf(out, "%s{\"count\":%" PRIu64 ",\"total_ns\":%" PRIu64, i ? "," : "",
			      first[i].call_cnt, first[i].duration_ns);
		json_text(out, "func", f.name);
		json_text(out, "module", f.module);
		strbuf_char(out, '}');
	}
	strbuf_char(out, ']');
}

static void put_histogram(const struct hist *hist, struct datarow *data)
{
	struct strbuf *out = data->out;
	uint64_t cnts[HIST_POWER_CNT];
	const char *between = "";

	if (!datarow_member(data, "histogram"))
		return;
	hist_by_powers(hist, cnts);
	strbuf_char(out, '[');
	for (int i = 0; i < HIST_POWER_CNT; i++) {
		if (!cnts[i])
			continue;
		strbuf_printf(out, "%s{\"from_ns\":%" PRIu64 ",\"count\":%" PRIu64 "}", between,
			      i ? UINT64_C(1) << (i - 1) : 0, cnts[i]);
		between = ",";
	}
	strbuf_char(out, ']');
}

/* ---- a row ---- */

static void put_columns(struct datarow *data, const struct profile_func *f,
			const struct profile_origin *origin)
{
	datarow_string(data, "host", origin->host);
	datarow_time(data, "begin", real_ns(origin, origin->begin_ns));
	datarow_time(data, "end", real_ns(origin, origin->end_ns));
	datarow_text(data, "func", f->name);
	datarow_text(data, "module", f->module);
	for (size_t i = 0; i < COLUMN_CNT; i++)
		datarow_number(data, columns[i].name, number_at(f, i));
}

static void put_row(const struct printing *pr, const struct table_row *row,
		    const struct profile_origin *origin, enum datarow_kind kind, struct strbuf *out)
{
	struct datarow data;

	datarow_begin(&data, kind, out, origin->table, SCHEMA);
	put_columns(&data, &row->f, origin);
	if (printing_has_callers(pr, row))
		put_pairs(pr->p, &pr->callers, row->func, "callers", &data);
	if (printing_has_callees(pr, row))
		put_pairs(pr->p, &pr->callees, row->func, "callees", &data);
	if (origin->has_histogram)
		put_histogram(&pr->p->funcs[row->func].hist, &data);
	datarow_end(&data);
}

void profile_put_csv_head(struct strbuf *out)
{
	const struct profile_func none = { 0 };
	const struct profile_origin nobody = { 0 };
	struct datarow data;

	datarow_begin(&data, DATAROW_CSV_HEAD, out, "", SCHEMA);
	put_columns(&data, &none, &nobody);
	datarow_end(&data);
}

/* ---- the table ---- */

static int put(const struct profile *p, const struct profile_view *view,
	       const struct profile_origin *origin, enum datarow_kind kind, struct strbuf *out)
{
	struct printing pr;
	int err = printing_begin(&pr, p, view);
	uint32_t cnt = 0;

	for (uint32_t i = 0; !err && i < pr.row_cnt && (!view->row_max || cnt < view->row_max);
	     i++) {
		if (!printing_has(&pr, &pr.rows[i]))
			continue;
		put_row(&pr, &pr.rows[i], origin, kind, out);
		cnt++;
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

int profile_put_json(const struct profile *p, const struct profile_view *view,
		     const struct profile_origin *origin, struct strbuf *out)
{
	return put(p, view, origin, DATAROW_JSON, out);
}

int profile_put_csv(const struct profile *p, const struct profile_view *view,
		    const struct profile_origin *origin, struct strbuf *out)
{
	return put(p, view, origin, DATAROW_CSV, out);
}
