#ifndef NFG_REPORT_SHOW_ROWS_H
#define NFG_REPORT_SHOW_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/row.h"

/*
 * Turns the rows chosen from a text (choose_rows.h) back into a trace: a call becomes a leaf if all its callees are
 * left out, banners appear where the remaining rows change tasks, and a } has its name where it needs one, or
 * everywhere if the text has it everywhere. Pure: no clock, no I/O.
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
 * show_rows_read - take the text's next ENTRY, LEAF, RETURN or BANNER, before show_rows_add of the same row, to learn
 * which names and banners the text has. Return: 0 or -ENOMEM.
 */
int show_rows_read(struct show_rows *sr, const struct row *row);

/* show_rows_has_banners - whether the text has had a banner of that CPU. */
bool show_rows_has_banners(const struct show_rows *sr, uint32_t cpu);

/*
 * show_rows_add - take a row to show, with its final depth. It is emitted once it is known which of the rows up to it
 * are leaves: an ENTRY waits for the next row of its CPU, and later rows wait for it.
 *
 * @call: a unique number for the call that an ENTRY begins or a RETURN ends; 0: unknown. Return: 0 or -ENOMEM.
 */
int show_rows_add(struct show_rows *sr, const struct row *row, uint64_t call);

/*
 * show_rows_has_callees - @call, which began on @cpu, is not a leaf: its task continued with another call on another
 * CPU. (get_return_for_leaf of kernel/trace/trace_functions_graph.c sees only one CPU, and makes it a leaf.)
 */
void show_rows_has_callees(struct show_rows *sr, uint32_t cpu, uint64_t call);

/* show_rows_finish - emit all waiting rows; no row may follow. */
void show_rows_finish(struct show_rows *sr);

#endif
