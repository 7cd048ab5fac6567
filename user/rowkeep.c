#include "rowkeep.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define TEXT_CNT 8

static void texts_of(struct row *row, struct text *texts[TEXT_CNT])
{
	texts[0] = &row->task.comm;
	texts[1] = &row->prev.comm;
	texts[2] = &row->name;
	texts[3] = &row->module;
	texts[4] = &row->args;
	texts[5] = &row->note;
	texts[6] = &row->flags;
	texts[7] = &row->text;
}

int rowkeep_add(struct rowkeep *keep, const struct row *row)
{
	struct text *texts[TEXT_CNT];
	struct row *copy;

	if (keep->cnt == keep->cap) {
		size_t cap = keep->cap ? keep->cap * 2 : 16;
		struct row *rows = realloc(keep->rows, cap * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		keep->rows = rows;
		keep->cap = cap;
	}
	copy = &keep->rows[keep->cnt];
	*copy = *row;
	texts_of(copy, texts);
	for (int i = 0; i < TEXT_CNT; i++) {
		const char *from = texts[i]->ptr;

		texts[i]->ptr = (const char *)(uintptr_t)keep->bytes.len;
		strbuf_add(&keep->bytes, from, texts[i]->len);
	}
	keep->cnt++;
	return strbuf_ok(&keep->bytes) ? 0 : -ENOMEM;
}

struct row rowkeep_get(const struct rowkeep *keep, size_t idx)
{
	struct row row = keep->rows[idx];
	struct text *texts[TEXT_CNT];

	texts_of(&row, texts);
	for (int i = 0; i < TEXT_CNT; i++)
		texts[i]->ptr = texts[i]->len ? keep->bytes.ptr + (uintptr_t)texts[i]->ptr : "";
	return row;
}

void rowkeep_clear(struct rowkeep *keep)
{
	keep->cnt = 0;
	strbuf_reset(&keep->bytes);
}

void rowkeep_release(struct rowkeep *keep)
{
	free(keep->rows);
	strbuf_release(&keep->bytes);
	*keep = (struct rowkeep){ 0 };
}
