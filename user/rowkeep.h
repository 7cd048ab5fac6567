/* layer 11: model */
#ifndef NFG_ROWKEEP_H
#define NFG_ROWKEEP_H

#include <stddef.h>

#include "row.h"
#include "strbuf.h"

#define ROWKEEP_TEXT_CNT 8

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
	uint32_t lens[ROWKEEP_TEXT_CNT];
	uint32_t serial; /* for whoever keeps it */
	uint8_t kind;    /* enum row_kind */
	bool is_named;
	bool lacks_duration;
	bool is_pending; /* for whoever keeps it */
};

/* Rows of a text, to be looked at again when what they borrowed is gone. Zeroed: none. */
struct rowkeep {
	struct kept_row *rows;
	size_t cnt;
	size_t cap;
	struct strbuf bytes;
};

/* rowkeep_add - a copy of @row. Return: 0 or -ENOMEM. */
int rowkeep_add(struct rowkeep *keep, const struct row *row);

/* rowkeep_end - the kept call was a leaf: @end is its return. Return: 0 or -ENOMEM. */
int rowkeep_end(struct rowkeep *keep, size_t idx, const struct row *end);

/* rowkeep_get - the @idx-th row; valid until the next change. */
struct row rowkeep_get(const struct rowkeep *keep, size_t idx);

/* rowkeep_clear - forget all, keep the memory. */
void rowkeep_clear(struct rowkeep *keep);
void rowkeep_release(struct rowkeep *keep);

#endif
