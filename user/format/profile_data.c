/* The tables of a profile as data, for other programs. */
#include "format/profile_data.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/utc.h"
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

static bool has_times(const struct profile_origin *origin)
{
	return origin->real_offset_ns && origin->end_ns;
}

/* ---- JSON ---- */

static void json_text(struct strbuf *out, const char *key, struct text text)
{
	strbuf_printf(out, ",\"%s\":", key);
	if (text.len)
		fmt_json_text(out, text);
	else
		strbuf_str(out, "null");
}

static void json_time(struct strbuf *out, const char *key, const struct profile_origin *origin,
		      uint64_t time_ns)
{
	strbuf_printf(out, ",\"%s\":", key);
	if (!has_times(origin)) {
		strbuf_str(out, "null");
		return;
	}
	strbuf_char(out, '"');
	utc_put(out, time_ns + origin->real_offset_ns);
	strbuf_char(out, '"');
}

static void json_pairs(const struct profile *p, const struct pairs *pairs, uint32_t func,
		       const char *key, struct strbuf *out)
{
	const struct caller_stat *first;
	const size_t cnt = pairs_of(pairs, func, &first);

	strbuf_printf(out, ",\"%s\":[", key);
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

static void json_histogram(const struct hist *hist, struct strbuf *out)
{
	uint64_t cnts[HIST_POWER_CNT];
	const char *between = "";

	hist_by_powers(hist, cnts);
	strbuf_str(out, ",\"histogram\":[");
	for (int i = 0; i < HIST_POWER_CNT; i++) {
		if (!cnts[i])
			continue;
		strbuf_printf(out, "%s{\"from_ns\":%" PRIu64 ",\"count\":%" PRIu64 "}", between,
			      i ? UINT64_C(1) << (i - 1) : 0, cnts[i]);
		between = ",";
	}
	strbuf_char(out, ']');
}

static void json_row(const struct printing *pr, const struct table_row *row,
		     const struct profile_origin *origin, struct strbuf *out)
{
	strbuf_printf(out, "{\"table\":\"%s\",\"schema\":%d", origin->table, SCHEMA);
	json_text(out, "host",
		  (struct text){ origin->host, origin->host ? strlen(origin->host) : 0 });
	json_time(out, "begin", origin, origin->begin_ns);
	json_time(out, "end", origin, origin->end_ns);
	json_text(out, "func", row->f.name);
	json_text(out, "module", row->f.module);
	for (size_t i = 0; i < COLUMN_CNT; i++)
		strbuf_printf(out, ",\"%s\":%" PRIu64, columns[i].name, number_at(&row->f, i));
	if (printing_has_callers(pr, row))
		json_pairs(pr->p, &pr->callers, row->func, "callers", out);
	if (printing_has_callees(pr, row))
		json_pairs(pr->p, &pr->callees, row->func, "callees", out);
	if (origin->has_histogram)
		json_histogram(&pr->p->funcs[row->func].hist, out);
	strbuf_str(out, "}\n");
}

/* ---- CSV ---- */

/* Names are of kernels, hosts and files: whatever would not be seen is escaped, and quotes are doubled. */
static void csv_text(struct strbuf *out, struct text text)
{
	struct strbuf clean = { 0 };
	bool is_quoted;

	clean_add(&clean, text.ptr, text.len, CLEAN_LINE);
	is_quoted = clean.len &&
		    (memchr(clean.ptr, ',', clean.len) || memchr(clean.ptr, '"', clean.len));
	strbuf_str(out, is_quoted ? "\"" : "");
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.ptr[i] == '"')
			strbuf_char(out, '"');
		strbuf_char(out, clean.ptr[i]);
	}
	strbuf_str(out, is_quoted ? "\"" : "");
	strbuf_release(&clean);
}

static void csv_time(struct strbuf *out, const struct profile_origin *origin, uint64_t time_ns)
{
	if (has_times(origin))
		utc_put(out, time_ns + origin->real_offset_ns);
	strbuf_char(out, ',');
}

static void csv_row(const struct table_row *row, const struct profile_origin *origin,
		    struct strbuf *out)
{
	if (origin->host)
		csv_text(out, (struct text){ origin->host, strlen(origin->host) });
	strbuf_char(out, ',');
	csv_time(out, origin, origin->begin_ns);
	csv_time(out, origin, origin->end_ns);
	csv_text(out, row->f.name);
	strbuf_char(out, ',');
	csv_text(out, row->f.module);
	for (size_t i = 0; i < COLUMN_CNT; i++)
		strbuf_printf(out, ",%" PRIu64, number_at(&row->f, i));
	strbuf_char(out, '\n');
}

void profile_put_csv_head(struct strbuf *out)
{
	strbuf_str(out, "host,begin,end,func,module");
	for (size_t i = 0; i < COLUMN_CNT; i++)
		strbuf_printf(out, ",%s", columns[i].name);
	strbuf_char(out, '\n');
}

/* ---- the table ---- */

static int put(const struct profile *p, const struct profile_view *view,
	       const struct profile_origin *origin, bool is_json, struct strbuf *out)
{
	struct printing pr;
	int err = printing_begin(&pr, p, view);
	uint32_t cnt = 0;

	for (uint32_t i = 0; !err && i < pr.row_cnt && (!view->row_max || cnt < view->row_max);
	     i++) {
		if (!printing_has(&pr, &pr.rows[i]))
			continue;
		if (is_json)
			json_row(&pr, &pr.rows[i], origin, out);
		else
			csv_row(&pr.rows[i], origin, out);
		cnt++;
	}
	printing_end(&pr);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

int profile_put_json(const struct profile *p, const struct profile_view *view,
		     const struct profile_origin *origin, struct strbuf *out)
{
	return put(p, view, origin, true, out);
}

int profile_put_csv(const struct profile *p, const struct profile_view *view,
		    const struct profile_origin *origin, struct strbuf *out)
{
	return put(p, view, origin, false, out);
}
