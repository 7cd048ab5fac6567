#ifndef NFG_FORMAT_PAINT_H
#define NFG_FORMAT_PAINT_H

#include "base/strbuf.h"
#include "trace/row.h"

/*
 * paint_row - colour the text of @row, which is @out from @start on.
 *
 * Colours durations by their marks (! # yellow, * @ $ red), errors that calls returned, lost events, changes of task,
 * and comments. Apart from the escapes the text is unchanged.
 */
void paint_row(struct strbuf *out, size_t start, const struct row *row);

/*
 * paint_table - the same for the table of profile or latency that is @out from @start on: its headings and row names.
 */
void paint_table(struct strbuf *out, size_t start);

#endif
