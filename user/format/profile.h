#ifndef NFG_FORMAT_PROFILE_H
#define NFG_FORMAT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/table.h"
#include "format/leftfuncs.h"
#include "base/vec.h"
#include "trace/netcost.h"
#include "trace/row.h"

/*
 * Sums and distributions of each function's durations, from rows. Memory grows with the number of functions and
 * caller pairs, not with the trace.
 *
 * Only calls whose return is in the trace count. total counts time inside a recursion once; self is the time of a
 * call without the traced calls inside it. Percentiles come from a histogram with 32 steps per doubling, so they are
 * within 1.6 percent.
 */
struct profile;

enum profile_sort {
	PROFILE_BY_TOTAL,
	PROFILE_BY_SELF,
	PROFILE_BY_COUNT,
	PROFILE_BY_AVG,
	PROFILE_BY_P50,
	PROFILE_BY_P99,
	PROFILE_BY_MAX,
	PROFILE_BY_NET,
	PROFILE_BY_NET_SELF,
	PROFILE_BY_BYTES, /* of tables by key (keytable.h) alone */
	PROFILE_BY_NAME,
	PROFILE_SORT_CNT,
};

/* Their names, for the help of --sort. */
#define PROFILE_SORT_NAMES "total, self, count, avg, p50, p99, max, net, net-self, bytes or name"

struct profile_config {
	bool has_callers;    /* keep pairs of caller and function, too */
	bool has_net_median; /* keep what makes profile_func.net_p50_ns */
	/* what rows from text lack */
	bool lacks_time;
	bool lacks_task;
};

/* The numbers of one function. */
struct profile_func {
	struct text name;   /* empty: closing braces without name and entry */
	struct text module; /* len 0: built in */
	uint64_t call_cnt;
	uint64_t timed_cnt;   /* of these, those with a duration */
	uint64_t knows_total; /* 0: the trace has no durations */
	uint64_t total_ns;
	uint64_t self_ns;
	uint64_t min_ns;
	uint64_t avg_ns; /* of the durations, those inside a recursion included */
	uint64_t p50_ns;
	uint64_t p99_ns;
	uint64_t max_ns;
	/* total_ns and self_ns without what tracing added; 0 if they would be negative */
	uint64_t net_total_ns;
	uint64_t net_self_ns;
	/* by how much each of them may be wrong; 0: not known */
	uint64_t net_total_error_ns;
	uint64_t net_self_error_ns;
	/* the same of single calls: the median, and by how much it may be wrong in the mean */
	uint64_t net_p50_ns;
	uint64_t net_p50_error_ns;
	/* 1: known, and not less than its error; else 0 */
	uint64_t has_net_total;
	uint64_t has_net_self;
	uint64_t has_net_p50;
	bool is_left_out; /* its calls were not traced to the end: profile_view.left */
};

/* A number of a function: a column of the tables, and what they can be sorted by. */
struct profile_column {
	struct column
		column; /* of a struct profile_func; without title: the table has it as data alone */
	const char *name;       /* --sort; in the line of latency */
	enum profile_sort sort; /* PROFILE_SORT_CNT: none; diff has those with one */
};

#define PROFILE_COLUMN_CNT 8

/* In the order of the columns. */
extern const struct profile_column profile_columns[PROFILE_COLUMN_CNT];

#define PROFILE_NET_COLUMN_CNT 4

/* The same for net durations, which follow; as text only where they are known. */
extern const struct profile_column profile_net_columns[PROFILE_NET_COLUMN_CNT];

/* The columns of a function's name and module in data. */
extern const struct column profile_name_columns[2];

/* profile_column_of - the column that @sort sorts by; NULL: by name. */
const struct profile_column *profile_column_of(enum profile_sort sort);

/* profile_net_put - append a net duration with its error, in us: "12.345+-0.210", "<0.210" below the error, "-" if it is not known. */
void profile_net_put(struct strbuf *out, uint64_t ns, uint64_t error_ns);

static inline uint64_t profile_column_get(const struct profile_column *number,
					  const struct profile_func *func)
{
	return *(const uint64_t *)((const char *)func + number->column.offset);
}

/* profile_column_is_of_calls - whether it is of single calls: unknown without any. */
static inline bool profile_column_is_of_calls(const struct profile_column *number)
{
	return number->column.needs == offsetof(struct profile_func, timed_cnt);
}

/* profile_new - Return: 0 or -ENOMEM. Caller frees with profile_free. */
int profile_new(struct profile **out, const struct profile_config *config);
void profile_free(struct profile *p);

/* profile_row - take the next row. Return: 0 or -ENOMEM. */
int profile_row(struct profile *p, const struct row *row);

/*
 * profile_restart - begin the next table with all counts at zero. Open calls continue, and count when they return.
 * The counts of gaps, partial and stray calls are kept.
 */
void profile_restart(struct profile *p);

/* profile_finish - end the trace: open calls count as partial. */
void profile_finish(struct profile *p);

/* ---- instead of rows, or with them: sums made elsewhere ---- */

#define PROFILE_OUTERMOST UINT32_MAX /* as a caller: no caller was traced */

struct profile_sums {
	uint64_t call_cnt;
	uint64_t total_ns; /* time inside a recursion once */
	uint64_t self_ns;
	uint64_t sum_ns; /* of all durations */
	uint64_t min_ns;
	uint64_t max_ns;
	uint64_t inner_cnt;         /* calls inside another call of the function */
	uint64_t child_cnt;         /* calls directly inside */
	uint64_t inside_cnt;        /* calls at any depth inside those that are no inner ones */
	const struct netcost *cost; /* for net durations; NULL: not known */
	const uint64_t
		*buckets; /* calls by nfg_hist_bucket() of their duration; borrowed for the call */
	uint32_t bucket_cnt;
};

/* profile_func_named - set @func to the number of the function of that name. Return: 0 or -ENOMEM. */
int profile_func_named(struct profile *p, struct text name, struct text module, uint32_t *func);

/* profile_put - count the calls of @func that @sums has. Return: 0 or -ENOMEM. */
int profile_put(struct profile *p, uint32_t func, const struct profile_sums *sums);

/* profile_put_caller - add @call_cnt calls of @func by @caller. Return: 0 or -ENOMEM. */
int profile_put_caller(struct profile *p, uint32_t func, uint32_t caller, uint64_t call_cnt,
		       uint64_t duration_ns);

/* profile_put_partial - add calls whose beginning or end is missing. */
void profile_put_partial(struct profile *p, uint64_t call_cnt);

/* profile_func_cnt - the number of called functions; profile_func_get fills in one of them. */
uint32_t profile_func_cnt(const struct profile *p);
void profile_func_get(const struct profile *p, uint32_t idx, struct profile_func *out);

/*
 * profile_gap_cnt - gaps in the trace; profile_partial_cnt - calls left out because an end is missing;
 * profile_stray_cnt - returns left out because the durations of their calls are unknown.
 */
uint64_t profile_gap_cnt(const struct profile *p);
uint64_t profile_partial_cnt(const struct profile *p);
uint64_t profile_stray_cnt(const struct profile *p);

/* Which part of a profile to print, and in which order. */
struct profile_view {
	enum profile_sort sort;
	uint32_t row_max; /* functions at most; 0: all */
	/* below each function its callers or callees, the most frequent first; needs profile_config.has_callers */
	bool has_callers;
	bool has_callees;
	/* globs: print only matching functions, with their callers or callees; NULL: all functions */
	const char *callers_of;
	const char *callees_of;
	const struct str_list *funcs; /* globs: only matching functions; NULL: all */
	struct leftfuncs *left;       /* functions whose rows are marked; NULL: none */
};

/*
 * profile_print_latency - append the histogram of each function that matches the glob @pattern, in the order of
 * @view->sort; row_max at most.
 *
 * One line with count, min, avg, p50, p99 and max, then a line for each power of two.
 * Return: the number of printed functions, or -ENOMEM.
 */
int profile_print_latency(const struct profile *p, const char *pattern,
			  const struct profile_view *view, struct strbuf *out);

/* profile_has_net - whether net durations of any call are known. */
bool profile_has_net(const struct profile *p);

/* profile_has - whether a called function matches the glob @pattern. */
bool profile_has(const struct profile *p, const char *pattern);

/* profile_sort_name, profile_sort_by_name - one of PROFILE_SORT_NAMES. Return: 0 or -ENOENT. */
const char *profile_sort_name(enum profile_sort sort);
int profile_sort_by_name(const char *name, enum profile_sort *out);

/* A histogram of values; zeroed: empty. */
struct hist {
	uint64_t cnt;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t *buckets; /* private */
	uint32_t bucket_cnt;
};

/* hist_add - count @value. Return: 0 or -ENOMEM. hist_release frees the histogram. */
int hist_add(struct hist *h, uint64_t value);
void hist_release(struct hist *h);

/* hist_middle - the middle of the values that nfg_hist_bucket() counts in @bucket. */
uint64_t hist_middle(uint32_t bucket);

/* hist_percentile - the value that @pct percent of the values do not exceed; 0 if empty. */
uint64_t hist_percentile(const struct hist *h, double pct);

#define HIST_POWER_CNT 65

/* hist_by_powers - the number of values that are 0, in [1, 2), in [2, 4), ... */
void hist_by_powers(const struct hist *h, uint64_t cnts[HIST_POWER_CNT]);

/*
 * hist_print - append a line for each power of two from the least to the greatest value:
 *
 *	[256, 512)            12 |@@@@@@@@@@                              |
 */
void hist_print(const struct hist *h, struct strbuf *out);

/* The rows of a profile to print, in order, for profile_table.c. */

struct table_row {
	uint32_t func;
	const struct profile_column *sort; /* NULL: by name */
	struct profile_func f;
};

/* Pairs of caller and function, grouped by function, the most frequent first. */
struct pairs {
	struct caller_stat *items;
	size_t cnt;
	bool is_by_caller; /* grouped by caller: the callees of a function; else its callers */
};

struct printing {
	const struct profile *p;
	const struct profile_view *view;
	struct table_row *rows; /* in order; printing_has selects */
	uint32_t row_cnt;
	struct pairs callers;
	struct pairs callees;
	bool has_net; /* profile_has_net */
};

/* printing_begin - Return: 0 or -ENOMEM; call printing_end in both cases. @p and @view are borrowed until then. */
int printing_begin(struct printing *pr, const struct profile *p, const struct profile_view *view);
void printing_end(struct printing *pr);

/* printing_has - whether the view asks for the function. */
bool printing_has(const struct printing *pr, const struct table_row *row);

/* printing_has_callers, printing_has_callees - whether the view asks for its callers or callees. */
bool printing_has_callers(const struct printing *pr, const struct table_row *row);
bool printing_has_callees(const struct printing *pr, const struct table_row *row);

/* pairs_of - the pairs of @func begin at *@first. Return: their number. */
size_t pairs_of(const struct pairs *pairs, uint32_t func, const struct caller_stat **first);

/* profile_name_matches - whether @name matches the glob @pattern. */
bool profile_name_matches(const char *pattern, struct text name);

#endif
