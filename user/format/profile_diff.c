#include "format/profile_diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/calltree.h"
#include "format/diff_parts.h"

/* What no other table has. */
static const struct profile_column net_p50 = {
	{ "net_p50_ns", "NET P50 us", COLUMN_AS(CELL_NS, struct profile_func, net_p50_ns),
	  .needs = offsetof(struct profile_func, has_net_p50) },
	"net p50",
	PROFILE_SORT_CNT,
};
static const struct column few_column = { "few_calls", .cell = CELL_U64 };
static const struct column beyond_column = { "beyond_usual", .cell = CELL_BOOL };

static uint64_t diff_call_cnt(const struct diff_rows *rows, int side);
static int diff_rows_begin(struct diff_rows *rows, const struct profile_diff *diff);
static void diff_rows_end(struct diff_rows *rows);

/* ---- JSON ---- */

static void json_name(struct jsonw *out, const char *key, const char *module_key,
		      const struct profile_func *func)
{
	jsonw_key(out, key);
	jsonw_known(out, func->name);
	jsonw_key(out, module_key);
	jsonw_known(out, func->module);
}

void profile_diff_json_side(const struct profile_side sides[2], int side, uint64_t cnt,
			    const char *what, struct jsonw *out)
{
	const struct profile_side *s = &sides[side];

	jsonw_key(out, side ? "b" : "a");
	jsonw_object(out);
	jsonw_key(out, "file");
	jsonw_string(out, s->path);
	jsonw_key(out, "length_ns");
	if (s->length_ns)
		jsonw_u64(out, s->length_ns);
	else
		jsonw_null(out);
	jsonw_key(out, what);
	jsonw_u64(out, cnt);
	jsonw_key(out, "lacks_events");
	jsonw_bool(out, s->lacks_events);
	jsonw_object_end(out);
}

static void json_func(const struct profile_diff *diff, const struct func_pair *pair,
		      struct jsonw *out)
{
	jsonw_object(out);
	json_name(out, "func", "module", diff_name_of(pair));
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++) {
		const struct profile_column *number = &profile_columns[i];

		if (number->sort == PROFILE_SORT_CNT)
			continue;
		jsonw_key(out, number->column.key);
		jsonw_array(out);
		for (int side = 0; side < 2; side++)
			jsonw_u64(out, profile_column_get(number, &pair->f[side]));
		jsonw_array_end(out);
	}
	for (size_t i = 0; i < PROFILE_NET_COLUMN_CNT; i++) {
		jsonw_key(out, profile_net_columns[i].column.key);
		jsonw_array(out);
		for (int side = 0; side < 2; side++) {
			if (column_is_known(&profile_net_columns[i].column, &pair->f[side]))
				jsonw_u64(out, profile_column_get(&profile_net_columns[i],
								  &pair->f[side]));
			else
				jsonw_null(out);
		}
		jsonw_array_end(out);
	}
	jsonw_key(out, net_p50.column.key);
	jsonw_array(out);
	for (int side = 0; side < 2; side++) {
		if (pair->f[side].has_net_p50)
			jsonw_u64(out, pair->f[side].net_p50_ns);
		else
			jsonw_null(out);
	}
	jsonw_array_end(out);
	jsonw_key(out, few_column.key);
	jsonw_array(out);
	for (int side = 0; side < 2; side++)
		jsonw_u64(out, pair->few_cnt[side]);
	jsonw_array_end(out);
	jsonw_key(out, beyond_column.key);
	jsonw_bool(out, pair->is_beyond);
	jsonw_key(out, "traced");
	jsonw_array(out);
	for (int side = 0; side < 2; side++) {
		if (pair->is_known[side] || diff->sides[side].knows_traced)
			jsonw_bool(out, pair->is_known[side]);
		else
			jsonw_null(out);
	}
	jsonw_array_end(out);
	jsonw_object_end(out);
}

static void json_edges(const struct diff_rows *rows, const char *key, int side, struct jsonw *out)
{
	jsonw_key(out, key);
	jsonw_array(out);
	for (size_t i = 0; i < rows->edge_cnt; i++) {
		const struct edge_pair *edge = &rows->edges[i];

		if (!edge->call_cnt[side] || edge->call_cnt[!side])
			continue;
		jsonw_object(out);
		json_name(out, "caller", "caller_module", &edge->caller);
		json_name(out, "func", "module", &edge->func);
		jsonw_key(out, "count");
		jsonw_u64(out, edge->call_cnt[side]);
		jsonw_key(out, "total_ns");
		if (edge->is_timed[side])
			jsonw_u64(out, edge->duration_ns[side]);
		else
			jsonw_null(out);
		jsonw_object_end(out);
	}
	jsonw_array_end(out);
}

int profile_diff_json(const struct profile_diff *diff, struct strbuf *out)
{
	struct jsonw json = { .out = out };
	struct diff_rows rows;
	int err = diff_rows_begin(&rows, diff);

	if (!err) {
		jsonw_object(&json);
		profile_diff_json_side(diff->sides, 0, diff_call_cnt(&rows, 0), "calls", &json);
		profile_diff_json_side(diff->sides, 1, diff_call_cnt(&rows, 1), "calls", &json);
		profile_usual_json(&rows.usual_p50, &json);
		jsonw_key(&json, "functions");
		jsonw_array(&json);
		for (size_t i = 0; i < rows.func_cnt; i++)
			json_func(diff, &rows.funcs[i], &json);
		jsonw_array_end(&json);
		json_edges(&rows, "new_calls", 1, &json);
		json_edges(&rows, "gone_calls", 0, &json);
		jsonw_object_end(&json);
		jsonw_end(&json);
	}
	diff_rows_end(&rows);
	return !err && strbuf_ok(out) ? 0 : -ENOMEM;
}

/* ---- functions of both sides ---- */

static int compare_text(struct text a, struct text b)
{
	size_t len = a.len < b.len ? a.len : b.len;
	int diff = len ? memcmp(a.ptr, b.ptr, len) : 0;

	return diff ? diff : (a.len > b.len) - (a.len < b.len);
}

static int compare_func(const struct profile_func *a, const struct profile_func *b)
{
	int diff = compare_text(a->name, b->name);

	return diff ? diff : compare_text(a->module, b->module);
}

int diff_compare_names(const void *a, const void *b)
{
	return compare_func(diff_name_of(a), diff_name_of(b));
}

static size_t sym_cnt(const struct profile *p)
{
	size_t cnt = 0;

	while (calltree_sym(p->tree, (uint32_t)cnt))
		cnt++;
	return cnt;
}

static void diff_get_func(const struct profile *p, uint32_t func, struct profile_func *out)
{
	const struct callsym *sym = calltree_sym(p->tree, func - 1);

	if (func < p->func_cap)
		profile_func_at(p, func, out);
	else
		*out = (struct profile_func){ .name = sym->name, .module = sym->module };
}

/* Functions of the same name become one row; functions without calls are removed. */
static size_t merge_funcs(struct func_pair *funcs, size_t cnt)
{
	size_t to = 0;

	for (size_t i = 0; i < cnt; i++) {
		struct func_pair *last = to ? &funcs[to - 1] : NULL;
		int side = !funcs[i].is_known[0];

		if (last && !compare_func(diff_name_of(last), diff_name_of(&funcs[i]))) {
			last->f[side] = funcs[i].f[side];
			last->is_known[side] = true;
			last->hist[side] = funcs[i].hist[side];
			continue;
		}
		if (last && !last->f[0].call_cnt && !last->f[1].call_cnt)
			to--;
		funcs[to++] = funcs[i];
	}
	if (to && !funcs[to - 1].f[0].call_cnt && !funcs[to - 1].f[1].call_cnt)
		to--;
	return to;
}

static int collect_funcs(struct diff_rows *rows, const struct profile_diff *diff)
{
	const struct profile *a = diff->sides[0].profile;
	const struct profile *b = diff->sides[1].profile;
	const size_t cnts[2] = { sym_cnt(a), sym_cnt(b) };
	size_t cnt = 0;

	rows->funcs = calloc(cnts[0] + cnts[1] + 1, sizeof(*rows->funcs));
	if (!rows->funcs)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		for (uint32_t func = 1; func <= cnts[side]; func++, cnt++) {
			const struct profile *p = side ? b : a;

			diff_get_func(p, func, &rows->funcs[cnt].f[side]);
			rows->funcs[cnt].is_known[side] = true;
			if (func < p->func_cap)
				rows->funcs[cnt].hist[side] = &p->funcs[func].hist;
		}
	}
	qsort(rows->funcs, cnt, sizeof(*rows->funcs), diff_compare_names);
	rows->func_cnt = merge_funcs(rows->funcs, cnt);
	return 0;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge_pair *ea = a;
	const struct edge_pair *eb = b;
	int diff = compare_func(&ea->func, &eb->func);

	return diff ? diff : compare_func(&ea->caller, &eb->caller);
}

static int collect_edges(struct diff_rows *rows, const struct profile_diff *diff)
{
	const struct profile_side *sides = diff->sides;
	const size_t max = sides[0].profile->caller_cnt + sides[1].profile->caller_cnt;
	size_t cnt = 0;
	size_t to = 0;

	rows->edges = calloc(max + 1, sizeof(*rows->edges));
	if (!rows->edges)
		return -ENOMEM;
	for (int side = 0; side < 2; side++) {
		const struct profile *p = sides[side].profile;

		for (size_t i = 0; i < p->caller_cnt; i++) {
			const struct caller_stat *stat = &p->callers[i];
			struct edge_pair *edge = &rows->edges[cnt];

			/* functions without a name cannot be compared */
			if (!stat->func || !stat->caller)
				continue;
			diff_get_func(p, stat->func, &edge->func);
			if (stat->caller != OUTERMOST)
				diff_get_func(p, stat->caller, &edge->caller);
			edge->call_cnt[side] = stat->call_cnt;
			edge->duration_ns[side] = stat->duration_ns;
			edge->is_timed[side] = stat->is_timed;
			cnt++;
		}
	}
	qsort(rows->edges, cnt, sizeof(*rows->edges), compare_edges);
	for (size_t i = 0; i < cnt; i++) {
		struct edge_pair *last = to ? &rows->edges[to - 1] : NULL;

		if (!last || compare_edges(last, &rows->edges[i])) {
			rows->edges[to++] = rows->edges[i];
			continue;
		}
		for (int side = 0; side < 2; side++) {
			last->call_cnt[side] += rows->edges[i].call_cnt[side];
			last->duration_ns[side] += rows->edges[i].duration_ns[side];
			last->is_timed[side] |= rows->edges[i].is_timed[side];
		}
	}
	rows->edge_cnt = to;
	return 0;
}

/* ---- what ran elsewhere ---- */

static double inside_share(const struct inside *in, int side)
{
	return (double)in->inner_cnt[side] / (double)in->call_cnt[side];
}

/* More than 10 % of its calls are inside others on one side alone. */
static bool has_moved(const struct inside *in)
{
	return in->call_cnt[0] && in->call_cnt[1] &&
	       fabs(inside_share(in, 0) - inside_share(in, 1)) > 0.1;
}

static uint64_t moved_ns(const struct inside *in)
{
	return in->inner_ns[0] > in->inner_ns[1] ? in->inner_ns[0] - in->inner_ns[1]
						 : in->inner_ns[1] - in->inner_ns[0];
}

/*
 * A softirq runs inside the call that raised it, in another task's, or in a task of its own. Then the calls that it no longer
 * interrupts seem to be faster: find the function that takes the most time elsewhere. Edges are in the order of their functions.
 */
static void find_moved(struct diff_rows *rows)
{
	struct inside *most = &rows->moved;
	size_t end;

	for (size_t i = 0; i < rows->edge_cnt; i = end) {
		struct inside in = { .func = rows->edges[i].func };

		for (end = i; end < rows->edge_cnt; end++) {
			const struct edge_pair *edge = &rows->edges[end];
			const bool is_inner = edge->caller.name.len != 0;

			if (compare_func(&edge->func, &in.func))
				break;
			for (int side = 0; side < 2; side++) {
				in.call_cnt[side] += edge->call_cnt[side];
				in.inner_cnt[side] += is_inner ? edge->call_cnt[side] : 0;
				in.inner_ns[side] += is_inner ? edge->duration_ns[side] : 0;
			}
		}
		if (has_moved(&in) && (!most->call_cnt[0] || moved_ns(&in) > moved_ns(most)))
			*most = in;
	}
}

/* ---- what may have run in other tasks ---- */

/* A function of softirqs, or one that sends a queue's packets: that is done by whoever sends next, or by the queue's timer. */
static bool enters_softirq(const struct profile_func *func)
{
	return func->name.len &&
	       (text_has_word("__qdisc_run sch_direct_xmit dev_hard_start_xmit", func->name) ||
		call_context_entered(func->name) == CALL_CONTEXT_SOFTIRQ);
}

/* Whether most calls of @func are in or below a function of softirqs, as far as its callers are known. */
static bool is_in_softirq(const struct diff_rows *rows, int side, const struct profile_func *func)
{
	const struct edge_pair *edges = rows->edges;
	uint64_t softirq_cnt = 0;
	uint64_t other_cnt = 0;
	size_t at;

	if (enters_softirq(func))
		return true;
	at = VEC_BISECT(i, rows->edge_cnt, compare_func(&edges[i].func, func) < 0);
	for (; at < rows->edge_cnt && !compare_func(&edges[at].func, func); at++)
		*(edges[at].is_softirq[side] ? &softirq_cnt : &other_cnt) +=
			edges[at].call_cnt[side];
	return softirq_cnt > other_cnt;
}

/* Down from the functions of softirqs, a level in each turn. Edges are in the order of their functions. */
static void find_softirqs(struct diff_rows *rows, int side)
{
	bool is_new = true;

	while (is_new) {
		is_new = false;
		for (size_t i = 0; i < rows->edge_cnt; i++) {
			struct edge_pair *edge = &rows->edges[i];

			if (edge->is_softirq[side] || !edge->call_cnt[side] ||
			    (!enters_softirq(&edge->func) &&
			     !is_in_softirq(rows, side, &edge->caller)))
				continue;
			edge->is_softirq[side] = true;
			is_new = true;
		}
	}
}

/* Whether the side that has no call of @pair could not see all tasks that may have called it. */
static bool may_be_elsewhere(const struct diff_rows *rows, const struct profile_diff *diff,
			     const struct func_pair *pair)
{
	const int side = pair->f[0].call_cnt ? 1 : 0;

	return diff->sides[side].is_of_command && !pair->f[side].call_cnt &&
	       pair->f[!side].call_cnt &&
	       (!diff->sides[side].knows_traced || pair->is_known[side]) &&
	       is_in_softirq(rows, !side, &pair->f[!side]);
}

/* Whether what @side has otherwise is in softirqs: a function beyond the usual change, or one, or a pair, that the other side lacks. */
static bool differs_in_softirqs(const struct diff_rows *rows, int side)
{
	for (size_t i = 0; i < rows->func_cnt; i++) {
		const struct func_pair *pair = &rows->funcs[i];

		if ((pair->is_beyond || pair->may_be_elsewhere) && pair->f[side].call_cnt &&
		    is_in_softirq(rows, side, &pair->f[side]))
			return true;
	}
	for (size_t i = 0; i < rows->edge_cnt; i++) {
		if (rows->edges[i].is_softirq[side] && !rows->edges[i].call_cnt[!side])
			return true;
	}
	return false;
}

/*
 * What softirqs did for a command in other tasks is not in its recording. That matters if nothing else was found, or if what was found
 * is in softirqs.
 */
static void find_lacking(struct diff_rows *rows, const struct profile_diff *diff)
{
	bool is_found = !rows->usual_p50.func_cnt;

	for (size_t i = 0; i < rows->func_cnt && !is_found; i++)
		is_found = rows->funcs[i].is_beyond;
	for (int side = 0; side < 2; side++) {
		if (diff->sides[!side].is_of_command)
			rows->lacks_softirqs |= !is_found || differs_in_softirqs(rows, side);
	}
}

/* ---- what a few calls did ---- */

#define FEW_PART 100 /* calls are few if they are at most one of so many, or one alone */
#define FEW_OF   10  /* of fewer calls each one counts */
#define FEW_MORE 0.1 /* by less than this part of its time no side is slower */

/*
 * Whether a side took longer because of a few calls: these have more than half of what its calls took beyond the average
 * of the other side, and without them the average is less than twice as long.
 */
static void find_few(struct func_pair *pair)
{
	const int side = pair->f[1].avg_ns >= pair->f[0].avg_ns;
	const struct profile_func *f = &pair->f[side];
	const double usual_ns = (double)pair->f[!side].avg_ns;
	const double more_ns = ((double)f->avg_ns - usual_ns) * (double)f->timed_cnt;
	const uint64_t few_max = f->timed_cnt < FEW_PART ? 1 : f->timed_cnt / FEW_PART;
	const struct hist *hist = pair->hist[side];
	double few_ns = 0;
	bool is_few = false;
	uint64_t cnt = 0;

	if (!pair->f[!side].timed_cnt || f->timed_cnt < FEW_OF ||
	    more_ns < FEW_MORE * usual_ns * (double)f->timed_cnt)
		return;
	for (uint32_t i = hist->bucket_cnt; i && cnt < few_max && !is_few; i--) {
		for (uint64_t k = hist->buckets[i - 1]; k && cnt < few_max && !is_few; k--) {
			const uint64_t ns = cnt ? hist_middle(i - 1) : hist->max;

			few_ns += (double)ns - usual_ns;
			cnt++;
			is_few = few_ns > more_ns / 2 &&
				 more_ns - few_ns < usual_ns * (double)(f->timed_cnt - cnt);
		}
	}
	if (is_few)
		pair->few_cnt[side] = cnt;
}

/* ---- the compared files ---- */

/* @number: NULL: 0. */
static double diff_value_of(const struct profile_diff *diff, int side, const struct profile_func *f,
			    const struct profile_column *number)
{
	const uint64_t value = number ? profile_column_get(number, f) : 0;

	return number && number != &net_p50 && !profile_column_is_of_calls(number)
		       ? diff_norm(diff, side, value)
		       : (double)value;
}

/*
 * If no other column of the text has the number by which it is sorted, the last one has it; else the median of net durations,
 * where both sides know them, or p99.
 */
static const struct profile_column *last_column(const struct profile_diff *diff)
{
	const bool has_it = diff->sort == PROFILE_BY_COUNT || diff->sort == PROFILE_BY_TOTAL ||
			    diff->sort == PROFILE_BY_P50 || diff->sort == PROFILE_BY_NAME;

	if (!has_it)
		return profile_column_of(diff->sort);
	return profile_has_net(diff->sides[0].profile) && profile_has_net(diff->sides[1].profile)
		       ? &net_p50
		       : profile_column_of(PROFILE_BY_P99);
}

static int compare_changes(const void *a, const void *b)
{
	const struct func_pair *pa = a;
	const struct func_pair *pb = b;

	if (pa->change != pb->change)
		return pa->change > pb->change ? -1 : 1;
	return diff_compare_names(a, b);
}

/* The most frequent first. */
static int compare_edge_cnts(const void *a, const void *b)
{
	const struct edge_pair *ea = a;
	const struct edge_pair *eb = b;
	const uint64_t ca = ea->call_cnt[0] + ea->call_cnt[1];
	const uint64_t cb = eb->call_cnt[0] + eb->call_cnt[1];

	return ca == cb ? compare_edges(a, b) : ca > cb ? -1 : 1;
}

/* diff_rows_begin - Return: 0 or -ENOMEM. Release with diff_rows_end in every case. */
static int diff_rows_begin(struct diff_rows *rows, const struct profile_diff *diff)
{
	const struct profile_column *by = profile_column_of(diff->sort); /* NULL: by name */
	int err;

	*rows = (struct diff_rows){ 0 };
	err = collect_funcs(rows, diff);
	if (!err)
		err = collect_edges(rows, diff);
	if (!err)
		find_moved(rows);
	/* of the side that a command's lacks it */
	for (int side = 0; !err && side < 2; side++) {
		if (diff->sides[!side].is_of_command)
			find_softirqs(rows, side);
	}
	for (size_t i = 0; !err && i < rows->func_cnt; i++) {
		struct func_pair *pair = &rows->funcs[i];

		find_few(pair);
		pair->may_be_elsewhere = may_be_elsewhere(rows, diff, pair);
		pair->change = fabs(diff_value_of(diff, 1, &pair->f[1], by) -
				    diff_value_of(diff, 0, &pair->f[0], by));
	}
	if (!err)
		err = profile_usual_find(rows, diff);
	if (!err)
		find_lacking(rows, diff);
	if (!err && rows->func_cnt)
		qsort(rows->funcs, rows->func_cnt, sizeof(*rows->funcs), compare_changes);
	if (!err && rows->edge_cnt)
		qsort(rows->edges, rows->edge_cnt, sizeof(*rows->edges), compare_edge_cnts);
	return err;
}

static void diff_rows_end(struct diff_rows *rows)
{
	free(rows->funcs);
	free(rows->edges);
}

/* diff_call_cnt - all calls of a side. */
static uint64_t diff_call_cnt(const struct diff_rows *rows, int side)
{
	uint64_t cnt = 0;

	for (size_t i = 0; i < rows->func_cnt; i++)
		cnt += rows->funcs[i].f[side].call_cnt;
	return cnt;
}

/* ---- rows ---- */

void profile_diff_sides(struct tablew *w, const struct column *column, const void *a, const void *b)
{
	char key[32];
	struct column its = *column;

	its.key = key;
	its.title = NULL;
	snprintf(key, sizeof(key), "%s_a", column->key);
	tablew_cell(w, &its, a);
	snprintf(key, sizeof(key), "%s_b", column->key);
	tablew_cell(w, &its, b);
}

#define SIDE(member) COLUMN_AT(struct profile_side, member)

static const struct column side_columns[] = {
	{ "file", SIDE(path) },
	{ "length_ns", SIDE(length_ns), .needs = offsetof(struct profile_side, length_ns) },
	{ "lacks_events", SIDE(lacks_events) },
};

void profile_diff_files(struct tablew *w, const struct profile_side sides[2])
{
	for (size_t i = 0; i < sizeof(side_columns) / sizeof(side_columns[0]); i++)
		profile_diff_sides(w, &side_columns[i], &sides[0], &sides[1]);
}

static const struct column traced_column = { "traced", .cell = CELL_BOOL };

static void put_data_cells(const struct profile_diff *diff, const struct func_pair *pair,
			   struct tablew *w)
{
	const bool *traced[2];

	for (int side = 0; side < 2; side++)
		traced[side] = pair->is_known[side] || diff->sides[side].knows_traced
				       ? &pair->is_known[side]
				       : NULL;
	profile_diff_files(w, diff->sides);
	for (size_t i = 0; i < 2; i++)
		tablew_cell(w, &profile_name_columns[i], diff_name_of(pair));
	for (size_t i = 0; i < PROFILE_COLUMN_CNT; i++) {
		if (profile_columns[i].sort != PROFILE_SORT_CNT)
			profile_diff_sides(w, &profile_columns[i].column, &pair->f[0], &pair->f[1]);
	}
	for (size_t i = 0; i < PROFILE_NET_COLUMN_CNT; i++)
		profile_diff_sides(w, &profile_net_columns[i].column, &pair->f[0], &pair->f[1]);
	profile_diff_sides(w, &net_p50.column, &pair->f[0], &pair->f[1]);
	profile_diff_sides(w, &few_column, &pair->few_cnt[0], &pair->few_cnt[1]);
	tablew_cell(w, &beyond_column, &pair->is_beyond);
	profile_diff_sides(w, &traced_column, traced[0], traced[1]);
}

/* ---- text ---- */

void diff_put_name(struct strbuf *out, const struct profile_func *f)
{
	if (f->name.len)
		clean_func(out, f->name, f->module, CLEAN_WORD);
	else
		strbuf_str(out, "(outermost)");
}

void profile_diff_side(const struct profile_side sides[2], int side, uint64_t cnt, const char *what,
		       struct strbuf *out)
{
	const struct profile_side *s = &sides[side];

	strbuf_str(out, side ? "# B: " : "# A: ");
	clean_add(out, s->path, strlen(s->path), CLEAN_LINE);
	strbuf_str(out, s->length_ns ? ", " : ", of unknown length");
	if (s->length_ns)
		seconds_put(out, s->length_ns, 6);
	strbuf_printf(out, ", %" PRIu64 " %s%s\n", cnt, what,
		      s->lacks_events ? "; it lacks events, so its numbers are too low" : "");
}

static void put_side(const struct profile_diff *diff, const struct diff_rows *rows, int side,
		     struct strbuf *out)
{
	const uint64_t cnt = diff_call_cnt(rows, side);

	profile_diff_side(diff->sides, side, cnt, plural(cnt, "call", "calls"), out);
}

void profile_diff_change(struct tablew *w, double a, double b)
{
	const struct column column = { .title = "CHANGE", .cell = CELL_CHARS, .width = 8 };
	char text[16] = "-";

	if (a > 0)
		snprintf(text, sizeof(text), "%+.1f%%", (b - a) * 100 / a);
	if (a > 0 && (b - a) / a > 999)
		strcpy(text, ">999x");
	tablew_cell(w, &column, text);
}

static bool is_known(const struct profile_func *f, const struct column *number, bool needs_calls)
{
	if (number->put || number == &net_p50.column) /* a net duration */
		return column_is_known(number, f);
	return number->cell == CELL_U64 ||
	       (needs_calls ? f->timed_cnt : f->knows_total || !f->call_cnt);
}

/* A net duration below its error says only that. Return: the error, in ns; 0: it is not below, or not known. */
static uint64_t net_bound(const struct profile_func *f, const struct profile_column *number)
{
	if (number == &net_p50)
		return f->has_net_p50 ? 0 : f->net_p50_error_ns;
	if (number->sort == PROFILE_BY_NET)
		return f->has_net_total ? 0 : f->net_total_error_ns;
	if (number->sort == PROFILE_BY_NET_SELF)
		return f->has_net_self ? 0 : f->net_self_error_ns;
	return 0;
}

/* A number of each side, times in us, and its change. @needs_calls: it is unknown of a side without calls. */
static void put_numbers(const struct profile_diff *diff, const struct func_pair *pair,
			struct tablew *w, const struct profile_column *by, int width,
			bool needs_calls)
{
	const struct column *number = &by->column;
	const bool is_cnt = number->cell == CELL_U64;
	const int digits = is_cnt ? diff->is_per_second : 3;
	double values[2];
	char title[32];
	char text[64];

	for (int side = 0; side < 2; side++) {
		const uint64_t bound = net_bound(&pair->f[side], by);

		values[side] = diff_value_of(diff, side, &pair->f[side], by);
		snprintf(title, sizeof(title), "%s %c", number->title, "AB"[side]);
		snprintf(text, sizeof(text), "%.*f", digits, values[side] / (is_cnt ? 1 : 1000));
		if (bound)
			snprintf(text, sizeof(text), "<%.3f",
				 (by == &net_p50 ? (double)bound : diff_norm(diff, side, bound)) /
					 1000);
		tablew_cell(w,
			    &(struct column){ .title = title, .cell = CELL_CHARS, .width = width },
			    bound || is_known(&pair->f[side], number, needs_calls) ? text : "-");
	}
	if (!is_known(&pair->f[0], number, needs_calls) ||
	    !is_known(&pair->f[1], number, needs_calls))
		values[0] = 0;
	profile_diff_change(w, values[0], values[1]);
}

struct diff_row {
	const struct profile_diff *diff;
	const struct func_pair *pair;
};

/* "(mostly 1 call of 4800.000 us in B)" */
static void put_few(struct strbuf *out, const struct func_pair *pair)
{
	for (int side = 0; side < 2; side++) {
		const uint64_t cnt = pair->few_cnt[side];

		if (!cnt)
			continue;
		strbuf_printf(out, " (mostly %" PRIu64 " %s ", cnt,
			      plural(cnt, "call of", "calls of up to"));
		us_put(out, pair->f[side].max_ns);
		strbuf_printf(out, " us in %c)", "AB"[side]);
	}
}

/* Put "new" or "gone" after the name, and "not traced" if that side could not have any calls. */
static void put_func(struct strbuf *out, const void *data)
{
	const struct diff_row *row = data;

	diff_put_name(out, diff_name_of(row->pair));
	for (int side = 0; side < 2; side++) {
		if (row->pair->f[side].call_cnt)
			continue;
		strbuf_str(out, side ? " (gone" : " (new");
		if (row->diff->sides[side].knows_traced && !row->pair->is_known[side])
			strbuf_printf(out, ", not traced in %c", "AB"[side]);
		if (row->pair->may_be_elsewhere)
			strbuf_str(out, " or in another task");
		strbuf_char(out, ')');
	}
	put_few(out, row->pair);
}

static const struct column func_column = { .title = "FUNCTION", .put = put_func };

static void put_row(const struct profile_diff *diff, const struct func_pair *pair,
		    const struct profile_column *last, struct tablew *w)
{
	const struct diff_row row = { diff, pair };

	tablew_open(w, "diff", 1);
	put_data_cells(diff, pair, w);
	put_numbers(diff, pair, w, profile_column_of(PROFILE_BY_COUNT), 11, false);
	put_numbers(diff, pair, w, profile_column_of(PROFILE_BY_TOTAL), 14, false);
	put_numbers(diff, pair, w, profile_column_of(PROFILE_BY_P50), 12, true);
	put_numbers(diff, pair, w, last, last->sort == PROFILE_BY_NET ? 14 : 12, true);
	tablew_cell(w, &func_column, &row);
	tablew_close(w);
}

static void put_more(struct strbuf *out, size_t cnt, uint32_t row_max)
{
	if (row_max && cnt > row_max)
		strbuf_printf(out, "%11s and %zu more\n", "", cnt - row_max);
}

/* @cnt of the @pair_cnt pairs that @side lacks are in softirqs. */
static void put_softirq_pairs(size_t cnt, size_t pair_cnt, int side, struct strbuf *out)
{
	if (cnt == pair_cnt)
		strbuf_printf(out, "# %s", plural(cnt, "this pair", "these pairs"));
	else
		strbuf_printf(out, "# %zu of these %zu pairs", cnt, pair_cnt);
	strbuf_printf(out, " may have run in another task in %c: %s in or below a softirq\n",
		      "AB"[side], plural(cnt, "it is", "they are"));
}

/* Put the pairs that @side alone has. */
static void diff_put_edges(const struct profile_diff *diff, const struct diff_rows *rows, int side,
			   struct strbuf *out)
{
	size_t softirq_cnt = 0;
	size_t cnt = 0;

	for (size_t i = 0; i < rows->edge_cnt; i++) {
		const struct edge_pair *edge = &rows->edges[i];

		if (!edge->call_cnt[side] || edge->call_cnt[!side])
			continue;
		softirq_cnt += edge->is_softirq[side];
		if (!cnt)
			strbuf_printf(out, "\n%11s %14s  CALLS IN %c ALONE\n", "COUNT", "TOTAL us",
				      "AB"[side]);
		if (diff->row_max && cnt++ >= diff->row_max)
			continue;
		cnt += !diff->row_max;
		strbuf_printf(out, "%11.*f ", diff->is_per_second ? 1 : 0,
			      diff_norm(diff, side, edge->call_cnt[side]));
		if (edge->is_timed[side])
			strbuf_printf(out, "%14.3f  ",
				      diff_norm(diff, side, edge->duration_ns[side]) / 1000);
		else
			strbuf_printf(out, "%14s  ", "-");
		diff_put_name(out, &edge->caller);
		strbuf_str(out, " -> ");
		diff_put_name(out, &edge->func);
		strbuf_char(out, '\n');
	}
	put_more(out, cnt, diff->row_max);
	if (softirq_cnt)
		put_softirq_pairs(softirq_cnt, cnt, !side, out);
}

static void diff_put_moved(const struct inside *moved, struct strbuf *out)
{
	if (!moved->call_cnt[0])
		return;
	strbuf_str(out, "# inside other calls ran ");
	diff_put_name(out, &moved->func);
	strbuf_printf(
		out,
		": %.0f %% of its calls in A, %.0f %% in B. TOTAL and P50 of these other calls have its time, SELF (--sort self) does not\n",
		inside_share(moved, 0) * 100, inside_share(moved, 1) * 100);
}

/*
 * A softirq runs in a command's call, or in another task, of which a recording of the command has nothing. So a function of
 * softirqs, or called there, that only the other side has may have run as often.
 */
static void diff_put_unseen(const struct diff_rows *rows, int side, struct strbuf *out)
{
	const struct func_pair *first = NULL;
	size_t cnt = 0;

	for (size_t i = 0; i < rows->func_cnt; i++) {
		const struct func_pair *pair = &rows->funcs[i];

		if (!pair->may_be_elsewhere || pair->f[side].call_cnt)
			continue;
		first = first ? first : pair;
		cnt++;
	}
	if (!cnt)
		return;
	strbuf_str(out, "# softirqs: ");
	diff_put_name(out, &first->f[!side]);
	if (cnt > 1)
		strbuf_printf(out, " and %zu more", cnt - 1);
	strbuf_printf(out,
		      " ran in no call of the command in %c, but may have run in another task\n",
		      "AB"[side]);
}

static void put_lacking(const struct profile_diff *diff, const struct diff_rows *rows,
			struct strbuf *out)
{
	const bool is_both = diff->sides[0].is_of_command && diff->sides[1].is_of_command;

	if (!rows->lacks_softirqs)
		return;
	if (is_both)
		strbuf_str(out, "# both files have");
	else
		strbuf_printf(out, "# %c has", "AB"[diff->sides[1].is_of_command]);
	strbuf_printf(
		out,
		" the command's own calls alone: what softirqs did for it in other tasks is %s; netfgraph record --packet 'tcp port N' -o FILE, N the port, with the command in another shell, has that\n",
		is_both ? "in neither" : "not in it");
}

static void put_about(const struct profile_diff *diff, const struct diff_rows *rows,
		      struct strbuf *out)
{
	put_side(diff, rows, 0, out);
	put_side(diff, rows, 1, out);
	diff_put_moved(&rows->moved, out);
	diff_put_unseen(rows, 0, out);
	diff_put_unseen(rows, 1, out);
	profile_usual_put(diff, rows, out);
	put_lacking(diff, rows, out);
	strbuf_printf(out, "# counts and totals %s, sorted by %s%s\n",
		      diff->is_per_second ? "per second" : "in all",
		      diff->sort == PROFILE_BY_NAME ? "" : "change of ",
		      profile_sort_name(diff->sort));
}

int profile_diff_put(const struct profile_diff *diff, struct tablew *w)
{
	const struct func_pair none = { 0 };
	const bool is_text = w->form == TABLE_TEXT;
	const struct profile_column *last = last_column(diff);
	struct diff_rows rows;
	int err = diff_rows_begin(&rows, diff);

	if (!err && is_text)
		put_about(diff, &rows, w->out);
	if (!err && tablew_head_begin(w))
		put_row(diff, &none, last, w);
	for (size_t i = 0; !err && i < rows.func_cnt && (!diff->row_max || i < diff->row_max); i++)
		put_row(diff, &rows.funcs[i], last, w);
	if (!err && is_text) {
		put_more(w->out, rows.func_cnt, diff->row_max);
		diff_put_edges(diff, &rows, 1, w->out);
		diff_put_edges(diff, &rows, 0, w->out);
	}
	diff_rows_end(&rows);
	return !err && strbuf_ok(w->out) ? 0 : -ENOMEM;
}
