#include "trace/rowbuf.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

static void texts_of(struct row *row, struct text *texts[ROWBUF_TEXT_CNT])
{
	texts[0] = &row->task.comm;
	texts[1] = &row->prev.comm;
	texts[2] = &row->name;
	texts[3] = &row->module;
	texts[4] = &row->args_text;
	texts[5] = &row->note;
	texts[6] = &row->flags;
	texts[7] = &row->text;
}

static void rowbuf_put_texts(struct rowbuf *buf, struct held_row *held, struct row *row)
{
	struct text *texts[ROWBUF_TEXT_CNT];

	texts_of(row, texts);
	held->bytes_at = buf->bytes.len;
	for (int i = 0; i < ROWBUF_TEXT_CNT; i++) {
		held->lens[i] = (uint32_t)texts[i]->len;
		strbuf_add(&buf->bytes, texts[i]->ptr, texts[i]->len);
	}
}

int rowbuf_add(struct rowbuf *buf, const struct row *row, uint64_t call)
{
	struct row copy = *row;

	if (VEC_RESERVE(buf->rows, buf->cap, buf->cnt + 1))
		return -ENOMEM;
	buf->rows[buf->cnt] = (struct held_row){
		.time_ns = row->time_ns,
		.duration_ns = row->duration_ns,
		.lost_cnt = row->lost_cnt,
		.call = call,
		.cpu = row->cpu,
		.depth = row->depth,
		.tid = row->task.tid,
		.prev_tid = row->prev.tid,
		.kind = (uint8_t)row->kind,
		.is_named = row->is_named,
		.lacks_duration = row->lacks_duration,
		.is_below = row->is_below,
		.is_untimed = row->is_untimed,
	};
	rowbuf_put_texts(buf, &buf->rows[buf->cnt], &copy);
	buf->cnt++;
	return strbuf_ok(&buf->bytes) ? 0 : -ENOMEM;
}

int rowbuf_end(struct rowbuf *buf, size_t idx, const struct row *end)
{
	struct held_row *held = &buf->rows[idx];
	size_t len = 0;
	struct row row;

	held->kind = ROW_LEAF;
	held->duration_ns = end->duration_ns;
	held->is_below = end->is_below;
	held->is_untimed = end->is_untimed;
	if (!end->note.len)
		return 0;
	/* its strings, including the note, are written again after all others */
	for (int i = 0; i < ROWBUF_TEXT_CNT; i++)
		len += held->lens[i];
	if (!strbuf_reserve(&buf->bytes, len + end->note.len))
		return -ENOMEM;
	row = rowbuf_get(buf, idx);
	row.note = end->note;
	rowbuf_put_texts(buf, held, &row);
	return 0;
}

struct row rowbuf_get(const struct rowbuf *buf, size_t idx)
{
	const struct held_row *held = &buf->rows[idx];
	const char *at = buf->bytes.ptr ? buf->bytes.ptr + held->bytes_at : "";
	struct text *texts[ROWBUF_TEXT_CNT];
	struct row row = {
		.kind = (enum row_kind)held->kind,
		.cpu = held->cpu,
		.depth = held->depth,
		.is_named = held->is_named,
		.lacks_duration = held->lacks_duration,
		.is_below = held->is_below,
		.is_untimed = held->is_untimed,
		.time_ns = held->time_ns,
		.duration_ns = held->duration_ns,
		.lost_cnt = held->lost_cnt,
		.task.tid = held->tid,
		.prev.tid = held->prev_tid,
	};

	texts_of(&row, texts);
	for (int i = 0; i < ROWBUF_TEXT_CNT; i++) {
		*texts[i] = (struct text){ at, held->lens[i] };
		at += held->lens[i];
	}
	return row;
}

void rowbuf_clear(struct rowbuf *buf)
{
	buf->cnt = 0;
	strbuf_reset(&buf->bytes);
}

void rowbuf_release(struct rowbuf *buf)
{
	free(buf->rows);
	strbuf_release(&buf->bytes);
	*buf = (struct rowbuf){ 0 };
}
