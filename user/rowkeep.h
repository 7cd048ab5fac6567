/* layer 11: model */
#ifndef NFG_ROWKEEP_H
#define NFG_ROWKEEP_H

#include <stddef.h>

#include "row.h"
#include "strbuf.h"

/* Rows to be looked at again when what they borrowed is gone. Zeroed: none. */
struct rowkeep {
	struct row *rows; /* their texts are places in bytes */
	size_t cnt;
	size_t cap;
	struct strbuf bytes;
};

/* rowkeep_add - a copy of @row. Return: 0 or -ENOMEM. */
int rowkeep_add(struct rowkeep *keep, const struct row *row);

/* rowkeep_get - the @idx-th row; valid until the next change. */
struct row rowkeep_get(const struct rowkeep *keep, size_t idx);

/* rowkeep_clear - forget all, keep the memory. */
void rowkeep_clear(struct rowkeep *keep);
void rowkeep_release(struct rowkeep *keep);

#endif
