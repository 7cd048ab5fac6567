#ifndef NFG_REPORT_SHOW_ROWS_H
#define NFG_REPORT_SHOW_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/row.h"

/*
 * Makes a trace again of the rows that were chosen from a text (choose_rows.h): a call becomes a leaf when all its
 * callees are left out, banners stand where the rows that are left change tasks, and a } has its name where it
 * needs it, or everywhere if the text has it everywhere. Pure: no clock, no I/O.
 */
struct show_rows;

struct show_rows_config {
	/* Called once per row, in order. row is borrowed for the call. */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/* show_rows_new - Return: 0 or -ENOMEM. Caller frees with show_rows_free. */
int show_rows_new(struct show_rows **out, const struct show_rows_config *config);
void show_rows_free(struct show_rows *sr);

/*
 * show_rows_read - the next ENTRY, LEAF, RETURN or BANNER of the text, before show_rows_add of the same row. Tells
 * which names and banners the text has. Return: 0 or -ENOMEM.
 */
int show_rows_read(struct show_rows *sr, const struct row *row);

/* show_rows_has_banners - whether the text had a banner of that CPU so far. */
bool show_rows_has_banners(const struct show_rows *sr, uint32_t cpu);

/*
 * show_rows_add - a row to be shown, at the depth that it is to have. It is emitted once it is known which of the rows
 * up to it are leaves: an ENTRY waits for the next row of its CPU, and later rows wait behind it.
 *
 * @call: a number for the call that an ENTRY begins, or that a RETURN ends; 0: it is not known. Never the same for
 * two calls. Return: 0 or -ENOMEM.
 */
int show_rows_add(struct show_rows *sr, const struct row *row, uint64_t call);

/*
 * show_rows_has_callees - @call, which began on @cpu, is no leaf: its task went on with another call elsewhere.
 * (get_return_for_leaf of kernel/trace/trace_functions_graph.c, which sees only one CPU, makes a leaf of it.)
 */
void show_rows_has_callees(struct show_rows *sr, uint32_t cpu, uint64_t call);

/* show_rows_finish - emit all rows that wait: no others come. */
void show_rows_finish(struct show_rows *sr);

#endif
