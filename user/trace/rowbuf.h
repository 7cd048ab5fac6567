#ifndef NFG_TRACE_ROWBUF_H
#define NFG_TRACE_ROWBUF_H

#include <stddef.h>

#include "trace/row.h"
#include "base/strbuf.h"

#define ROWBUF_TEXT_CNT 8

/* What a row of a text says, in less than half of its size; the texts stand one behind the other in bytes. */
struct kept_row {
	uint64_t time_ns;
	uint64_t duration_ns;
	uint64_t lost_cnt;
	size_t bytes_at;
	uint32_t cpu;
	uint32_t depth;
	uint32_t tid;
	uint32_t prev_tid;
	uint32_t lens[ROWBUF_TEXT_CNT];
	uint32_t serial; /* for whoever keeps it */
	uint8_t kind;    /* enum row_kind */
	bool is_named;
	bool lacks_duration;
	bool is_pending; /* for whoever keeps it */
};

/* Rows of a text, to be looked at again when what they borrowed is gone. Zeroed: none. */
struct rowbuf {
	struct kept_row *rows;
	size_t cnt;
	size_t cap;
	struct strbuf bytes;
};

/* rowbuf_add - a copy of @row. Return: 0 or -ENOMEM. */
int rowbuf_add(struct rowbuf *keep, const struct row *row);

/* rowbuf_end - the kept call was a leaf: @end is its return. Return: 0 or -ENOMEM. */
int rowbuf_end(struct rowbuf *keep, size_t idx, const struct row *end);

/* rowbuf_get - the @idx-th row; valid until the next change. */
struct row rowbuf_get(const struct rowbuf *keep, size_t idx);

/* rowbuf_clear - forget all, keep the memory. */
void rowbuf_clear(struct rowbuf *keep);
void rowbuf_release(struct rowbuf *keep);

#endif
