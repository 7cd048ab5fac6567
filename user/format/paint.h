#ifndef NFG_FORMAT_PAINT_H
#define NFG_FORMAT_PAINT_H

#include "base/strbuf.h"
#include "trace/row.h"

/*
 * paint_row - set the text of @row, which is @out from @start on, in colours.
 *
 * Coloured are what one looks for first: durations by their marks (! # yellow, * @ $ red), errors that calls
 * returned, lost events, changes of task, comments. Without the escapes the text is what it was. A row that ends with
 * several lines still begins as it did.
 */
void paint_row(struct strbuf *out, size_t start, const struct row *row);

/* paint_table - likewise the table of profile or latency that is @out from @start on: what its columns and rows are. */
void paint_table(struct strbuf *out, size_t start);

#endif
