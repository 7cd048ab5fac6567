#ifndef NFG_TRACE_ROWBUF_H
#define NFG_TRACE_ROWBUF_H

#include <stddef.h>

#include "trace/row.h"
#include "base/strbuf.h"

#define ROWBUF_TEXT_CNT 8

/* A row that waits, in less than half the size of struct row. */
struct held_row {
	uint64_t time_ns;
	uint64_t duration_ns;
	uint64_t lost_cnt;
	uint64_t call;   /* which call begins or ends here, as rowbuf_add was told */
	size_t bytes_at; /* where its strings begin in rowbuf.bytes, one behind the other */
	uint32_t lens[ROWBUF_TEXT_CNT];
	uint32_t cpu;
	uint32_t depth;
	uint32_t tid;
	uint32_t prev_tid;
	uint8_t kind; /* enum row_kind */
	bool is_named;
	bool lacks_duration;
	bool may_be_leaf; /* the owner's: an ENTRY, and what comes next on its CPU is not known yet */
};

/* Rows of a text with all that they borrowed, in order. Zeroed: none. */
struct rowbuf {
	struct held_row *rows;
	size_t cnt;
	size_t cap;
	struct strbuf bytes;
};

/*
 * rowbuf_add - a copy of @row, but for what rows of a text do not have (values, slept_ns, keeps_open, prev_ns).
 *
 * @call: a number for the call that begins or ends here; 0: none, or not known. Return: 0 or -ENOMEM.
 */
int rowbuf_add(struct rowbuf *buf, const struct row *row, uint64_t call);

/* rowbuf_end - row @idx, an ENTRY, is a leaf: @end is its RETURN. Return: 0 or -ENOMEM. */
int rowbuf_end(struct rowbuf *buf, size_t idx, const struct row *end);

/* rowbuf_get - row @idx; its strings are valid until the next change. */
struct row rowbuf_get(const struct rowbuf *buf, size_t idx);

/* rowbuf_clear - remove all rows, keep the memory. */
void rowbuf_clear(struct rowbuf *buf);
void rowbuf_release(struct rowbuf *buf);

#endif
