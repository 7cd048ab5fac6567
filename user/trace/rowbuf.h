#ifndef NFG_TRACE_ROWBUF_H
#define NFG_TRACE_ROWBUF_H

#include <stddef.h>

#include "trace/row.h"
#include "base/strbuf.h"

#define ROWBUF_TEXT_CNT 8

/* A waiting row, in less than half the size of struct row. */
struct held_row {
	uint64_t time_ns;
	uint64_t duration_ns;
	uint64_t lost_cnt;
	uint64_t call;   /* the number from rowbuf_add */
	size_t bytes_at; /* offset of its consecutive strings in rowbuf.bytes */
	uint32_t lens[ROWBUF_TEXT_CNT];
	uint32_t cpu;
	uint32_t depth;
	uint32_t tid;
	uint32_t prev_tid;
	uint8_t kind; /* enum row_kind */
	bool is_named;
	bool lacks_duration;
	bool is_below;
	bool is_untimed;
	bool may_be_leaf; /* for the owner: an ENTRY whose CPU has had no row since */
};

/* Rows of a text in order, with copies of their strings. Zeroed: none. */
struct rowbuf {
	struct held_row *rows;
	size_t cnt;
	size_t cap;
	struct strbuf bytes;
};

/*
 * rowbuf_add - append a copy of @row without the fields that rows of a text lack (values, slept_ns, keeps_open,
 * prev_ns).
 *
 * @call: a number for the call that begins or ends here; 0: none, or unknown. Return: 0 or -ENOMEM.
 */
int rowbuf_add(struct rowbuf *buf, const struct row *row, uint64_t call);

/* rowbuf_end - turn row @idx, an ENTRY, into a leaf; @end is its RETURN. Return: 0 or -ENOMEM. */
int rowbuf_end(struct rowbuf *buf, size_t idx, const struct row *end);

/* rowbuf_get - row @idx; its strings are valid until the next change. */
struct row rowbuf_get(const struct rowbuf *buf, size_t idx);

/* rowbuf_clear - remove all rows, keep the memory. */
void rowbuf_clear(struct rowbuf *buf);
void rowbuf_release(struct rowbuf *buf);

#endif
