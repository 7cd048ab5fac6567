#ifndef NFG_FORMAT_KEYTABLE_H
#define NFG_FORMAT_KEYTABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"
#include "format/leftfuncs.h"
#include "format/profile.h"
#include "format/profile_table.h"
#include "format/rowkey.h"
#include "trace/row.h"

/*
 * Calls and tracepoints counted by what they have (rowkey.h) and by function: the tables of profile --by. With two keys a drop
 * must have its reason, if that is one of them, and anything else either key; the other one is then unknown in its row.
 *
 * As in a profile, calls whose return is in the trace count; a tracepoint counts where it is. Total counts time inside
 * a recursion once. Memory grows with the number of rows, of which there are KEYTABLE_ROW_MAX at most: what comes to
 * further ones is in one row, (other).
 */
struct keytable;

#define KEYTABLE_ROW_MAX 10000u

/* How calls of a function count. */
#define KEYTABLE_EACH  0u   /* all of them */
#define KEYTABLE_NEVER 255u /* none; and as if they had no key */
/* others: those that are not inside a call of a function of the same number */

struct keytable_config {
	struct rowkeys keys;
	/* One of these for a function, asked once for each; NULL: KEYTABLE_EACH */
	uint8_t (*counts)(void *ctx, struct text func, struct text module);
	/* The function in whose rows a call of @func is, one that is neither EACH nor NEVER; NULL: each has rows of its own */
	struct text (*counts_as)(void *ctx, struct text func);
	uint32_t row_max; /* KEYTABLE_ROW_MAX, or less in tests */
	/* ROWKEY_CONTAINER: set @path and @container of a cgroup; len 0: unknown. NULL: all are */
	void (*cgroup)(void *ctx, uint64_t id, struct text *path, struct text *container);
	void *ctx;
	/* what rows from text lack */
	bool lacks_time;
	bool lacks_task;
};

struct keytable_stats {
	uint64_t counted_cnt; /* (other) included */
	uint64_t other_cnt;   /* of these in (other) */
	uint64_t
		keyless_cnt; /* calls and tracepoints that are not counted, because they have no key */
	uint64_t lacking_cnts[ROWKEYS_MAX]; /* of those that are counted, without this key */
	/* drops of which tracing hides the place, with no traced function around them: tracepoints, and calls that are counted */
	uint64_t placeless_cnt;
	uint64_t placeless_call_cnt;
	uint64_t no_drop_cnt; /* calls that are not counted by reason, because they drop nothing */
	uint64_t partial_cnt; /* calls left out because their return is missing; */
	uint64_t stray_cnt;   /* because their entry is */
	uint64_t gap_cnt;     /* places where events are missing */
};

/* keytable_new - Return: 0 or -ENOMEM. Caller frees with keytable_free. */
int keytable_new(struct keytable **out, const struct keytable_config *config);
void keytable_free(struct keytable *kt);

/* keytable_row - take the next row. Return: 0 or -ENOMEM. */
int keytable_row(struct keytable *kt, const struct row *row);

/* keytable_has_calls - whether the table has a row: a call or a tracepoint since the last restart. */
bool keytable_has_calls(const struct keytable *kt);

/*
 * keytable_restart - count anew: calls that are open count when they end. Rows that stayed empty since the last restart no
 * longer count among config.row_max. Return: 0 or -ENOMEM, after which it may only be freed.
 */
int keytable_restart(struct keytable *kt);

/* keytable_finish - the trace ends: open calls are partial. */
void keytable_finish(struct keytable *kt);

const struct keytable_stats *keytable_stats(const struct keytable *kt);

/* keytable_has_reason - whether something was dropped for a reason with @word in its name. */
bool keytable_has_reason(const struct keytable *kt, const char *word);

/* keytable_has_funcs - whether there are rows of more than one function. */
bool keytable_has_funcs(const struct keytable *kt);

/* keytable_sorts - whether the table has that column. */
bool keytable_sorts(enum profile_sort sort);

struct keytable_view {
	enum profile_sort sort;
	uint32_t row_max; /* 0: all */
	/* of the table's first and last call; 0: unknown. From these to ns since 1970; 0: unknown */
	uint64_t begin_ns;
	uint64_t end_ns;
	uint64_t real_offset_ns;
	struct leftfuncs *left; /* functions whose rows are marked; NULL: none */
};

/* keytable_put - append the table. Return: 0 or -ENOMEM. */
int keytable_put(const struct keytable *kt, const struct keytable_view *view, struct tablew *w);

/*
 * keytable_put_metrics - append the numbers for OpenMetrics, with "# EOF" at the end. @view: rows beyond its row_max
 * share one series. Return: 0 or -ENOMEM.
 */
int keytable_put_metrics(const struct keytable *kt, const struct keytable_view *view,
			 struct metrics_label label, struct strbuf *out);

#endif
