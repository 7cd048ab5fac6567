#include "trace/rowbuf.h"

#include <errno.h>
#include <stdlib.h>

#define TEXT_NOTE 5

static void texts_of(struct row *row, struct text *texts[ROWBUF_TEXT_CNT])
{
	texts[0] = &row->task.comm;
	texts[1] = &row->prev.comm;
	texts[2] = &row->name;
	texts[3] = &row->module;
	texts[4] = &row->args;
	texts[TEXT_NOTE] = &row->note;
	texts[6] = &row->flags;
	texts[7] = &row->text;
}

static void put_texts(struct rowbuf *keep, struct kept_row *kept, struct row *row)
{
	struct text *texts[ROWBUF_TEXT_CNT];

	texts_of(row, texts);
	kept->bytes_at = keep->bytes.len;
	for (int i = 0; i < ROWBUF_TEXT_CNT; i++) {
		kept->lens[i] = (uint32_t)texts[i]->len;
		strbuf_add(&keep->bytes, texts[i]->ptr, texts[i]->len);
	}
}

int rowbuf_add(struct rowbuf *keep, const struct row *row)
{
	struct row copy = *row;

	if (keep->cnt == keep->cap) {
		size_t cap = keep->cap ? keep->cap * 2 : 16;
		struct kept_row *rows = realloc(keep->rows, cap * sizeof(*rows));

		if (!rows)
			return -ENOMEM;
		keep->rows = rows;
		keep->cap = cap;
	}
	keep->rows[keep->cnt] = (struct kept_row){
		.time_ns = row->time_ns,
		.duration_ns = row->duration_ns,
		.lost_cnt = row->lost_cnt,
		.cpu = row->cpu,
		.depth = row->depth,
		.tid = row->task.tid,
		.prev_tid = row->prev.tid,
		.kind = (uint8_t)row->kind,
		.is_named = row->is_named,
		.lacks_duration = row->lacks_duration,
	};
	put_texts(keep, &keep->rows[keep->cnt], &copy);
	keep->cnt++;
	return strbuf_ok(&keep->bytes) ? 0 : -ENOMEM;
}

int rowbuf_end(struct rowbuf *keep, size_t idx, const struct row *end)
{
	struct kept_row *kept = &keep->rows[idx];
	size_t len = 0;
	struct row row;

	kept->kind = ROW_LEAF;
	kept->duration_ns = end->duration_ns;
	if (!end->note.len)
		return 0;
	/* the texts move to the end, with the new one among them */
	for (int i = 0; i < ROWBUF_TEXT_CNT; i++)
		len += kept->lens[i];
	if (!strbuf_reserve(&keep->bytes, len + end->note.len))
		return -ENOMEM;
	row = rowbuf_get(keep, idx);
	row.note = end->note;
	put_texts(keep, kept, &row);
	return 0;
}

struct row rowbuf_get(const struct rowbuf *keep, size_t idx)
{
	const struct kept_row *kept = &keep->rows[idx];
	const char *at = keep->bytes.ptr ? keep->bytes.ptr + kept->bytes_at : "";
	struct text *texts[ROWBUF_TEXT_CNT];
	struct row row = {
		.kind = (enum row_kind)kept->kind,
		.cpu = kept->cpu,
		.depth = kept->depth,
		.is_named = kept->is_named,
		.lacks_duration = kept->lacks_duration,
		.time_ns = kept->time_ns,
		.duration_ns = kept->duration_ns,
		.lost_cnt = kept->lost_cnt,
		.task.tid = kept->tid,
		.prev.tid = kept->prev_tid,
	};

	texts_of(&row, texts);
	for (int i = 0; i < ROWBUF_TEXT_CNT; i++) {
		*texts[i] = (struct text){ at, kept->lens[i] };
		at += kept->lens[i];
	}
	return row;
}

void rowbuf_clear(struct rowbuf *keep)
{
	keep->cnt = 0;
	strbuf_reset(&keep->bytes);
}

void rowbuf_release(struct rowbuf *keep)
{
	free(keep->rows);
	strbuf_release(&keep->bytes);
	*keep = (struct rowbuf){ 0 };
}
