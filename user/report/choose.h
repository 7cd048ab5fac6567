#ifndef NFG_REPORT_CHOOSE_H
#define NFG_REPORT_CHOOSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/details.h"
#include "options/opts.h"
#include "select/select.h"
#include "trace/event.h"
#include "trace/functab.h"
#include "trace/row.h"

/*
 * Selects the rows of function_graph text that the options show, as choose_events does for a recording's events. In a
 * text, rows may be missing, and a row's task is known only if the text shows it. Rows move left when their callers
 * are left out; choose_rows recomputes leaves, banners and names of }.
 */
struct choose_rows;

struct choose_rows_config {
	const struct opts *opts; /* borrowed */
	const char *path;        /* of the text, for messages; borrowed */
	/* Called once per row that is shown, in order. row is borrowed for the call. */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/*
 * choose_rows_check - whether the options suit @opts->input_path, which is a text if @opts->input_is_text.
 *
 * Return: 0, or VERDICT_USAGE after an error message: they need a recording.
 */
int choose_rows_check(const struct opts *opts);

/* choose_rows_new - Return: 0 or -ENOMEM. Caller frees with choose_rows_free. */
int choose_rows_new(struct choose_rows **out, const struct choose_rows_config *config);
void choose_rows_free(struct choose_rows *cr);

/*
 * choose_rows_row - take the next row. Selected rows are emitted as soon as their selection is certain: with
 * --slower-than when their outermost call has returned.
 *
 * @row: a call has its task, if the text shows it, and its name, even if the text omits it after a }. Borrowed for
 * the call. Return: 0 or -ENOMEM.
 */
int choose_rows_row(struct choose_rows *cr, const struct row *row);

/*
 * choose_rows_finish - emit waiting rows; no row may follow.
 *
 * Return: 0, or VERDICT_NOTHING when a rule named no function of the text, or tasks are asked for and the text shows
 * none; already logged.
 */
int choose_rows_finish(struct choose_rows *cr);

/* ---- events of a recording ---- */

/*
 * Selects the events of a recording that the options show: by function (-T, -N) or tracepoint (-e), CPU (-C), task (--tid, --comm), and
 * by the calls above them (-G, -g, --preset, --packet, --slower-than, --errors-only, --filter). The result is as if nothing
 * else had been recorded.
 */
struct choose_events;

struct choose_events_config {
	const struct opts *opts;
	const struct functab *functab; /* of the recording; it may grow */
	bool may_grow; /* the recording says so: only choose_events_finish knows whether a rule names no function */
	const struct pointtab *points; /* the same */
	const struct details *details; /* values, for --errors-only and --filter; may be NULL */
	const char *path;              /* of the recording, for messages */
	const struct netcost *cost;    /* of its calls; may be NULL */
	/* The name of a task at @time_ns, for --comm. */
	struct text (*comm)(void *ctx, uint32_t tid, uint64_t time_ns);
	void *comm_ctx;
};

/*
 * choose_events_new - everything that @config points to is borrowed.
 *
 * Return: 0, -ENOMEM, or VERDICT_NOTHING when a rule names no function of the recording or --filter needs values that
 * it lacks; already logged. Caller frees with choose_events_free.
 */
int choose_events_new(struct choose_events **out, const struct choose_events_config *config);
void choose_events_free(struct choose_events *ch);

/*
 * choose_events_feed - take the next @cnt events and return the selected ones; losses always are.
 *
 * @out, @out_cnt: borrowed until the next call. Return: 0 or -ENOMEM, after which it may only be freed.
 */
int choose_events_feed(struct choose_events *ch, const struct event *events, size_t cnt,
		       const struct event **out, size_t *out_cnt);

/*
 * choose_events_finish - nothing more comes. Return: 0, or VERDICT_NOTHING as choose_events_new, of a recording that
 * may_grow; already logged.
 */
int choose_events_finish(struct choose_events *ch);

/* choose_events_starts - what selects by start functions, durations or results; NULL: the options ask for neither. */
struct starts *choose_events_starts(struct choose_events *ch);

/* choose_events_account - log how many calls lacked the values to choose by, and with -v how many were chosen. */
void choose_events_account(const struct choose_events *ch);

/* Classifies functions by name: shown (-T, -N), start function (-G, --preset), or one that closes the graph (-g). */
struct funcfilter {
	const struct opts *opts;
	struct funcrules trace;
	struct funcrules notrace;
	struct funcrules graph;
	struct funcrules nograph;
};

enum funcfilter_kind {
	FUNCFILTER_CHOSEN =
		1, /* -T, or a start function; without -T all functions; never those of -N */
	FUNCFILTER_START = 2, /* -G, --preset */
	FUNCFILTER_SHUT = 4,  /* -g */
};

#endif
