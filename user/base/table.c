#include "base/table.h"

#include <string.h>

#include "base/cleantext.h"

static bool is_json(const struct tablew *w)
{
	return w->form == TABLE_JSON || w->form == TABLE_ARRAY;
}

/* ---- values ---- */

/* What is in a cell: a number, or text. */
struct content {
	bool is_known;
	uint64_t number;
	struct text text;
};

static struct content content_of(const struct tablew *w, const struct column *column,
				 const char *row)
{
	struct content in = { .text = text_from(w->host) };

	in.is_known = in.text.len;
	if (column->cell == CELL_HOST)
		return in;
	in.text = (struct text){ 0 };
	in.is_known = row && column_is_known(column, row);
	if (!in.is_known)
		return in;
	row += column->offset;
	switch (column->cell) {
	case CELL_U64:
	case CELL_NS:
		in.number = *(const uint64_t *)row;
		return in;
	case CELL_TIME:
		in.number = *(const uint64_t *)row;
		in.is_known = in.number;
		return in;
	case CELL_U32:
		in.number = *(const uint32_t *)row;
		return in;
	case CELL_BOOL:
		in.number = *(const bool *)row;
		return in;
	case CELL_WORDS:
		in.text = text_from(*(const char *const *)row);
		in.is_known = in.text.ptr;
		return in;
	case CELL_STRING:
		in.text = text_from(*(const char *const *)row);
		break;
	case CELL_CHARS:
		in.text = text_from(row);
		break;
	default:
		in.text = *(const struct text *)row;
	}
	in.is_known = in.text.len;
	return in;
}

/* ---- JSON and CSV ---- */

static void json_words(struct jsonw *json, const char *words)
{
	jsonw_array(json);
	for (struct text word; (word = text_word(&words)).len;)
		jsonw_text(json, word);
	jsonw_array_end(json);
}

/* Names come from kernels, hosts and files: invisible characters are escaped, and quotes are doubled. */
static void csv_text(struct strbuf *out, struct text text)
{
	struct strbuf clean = { 0 };
	bool is_quoted;

	clean_add(&clean, text.ptr, text.len, CLEAN_LINE);
	is_quoted = clean.len &&
		    (memchr(clean.ptr, ',', clean.len) || memchr(clean.ptr, '"', clean.len));
	strbuf_str(out, is_quoted ? "\"" : "");
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.ptr[i] == '"')
			strbuf_char(out, '"');
		strbuf_char(out, clean.ptr[i]);
	}
	strbuf_str(out, is_quoted ? "\"" : "");
	out->failed |= clean.failed;
	strbuf_release(&clean);
}

static void jsonw_number(struct jsonw *json, struct text digits)
{
	jsonw_next(json);
	strbuf_add(json->out, digits.ptr, digits.len);
}

static void data_text(struct tablew *w, const struct column *column, const char *row,
		      struct text text)
{
	if (!is_json(w))
		csv_text(w->out, text);
	else if (column->cell == CELL_WORDS)
		json_words(&w->json, text.ptr);
	else if (column->is_bare && *(const bool *)(row + column->is_bare))
		jsonw_number(&w->json, text);
	else
		jsonw_text(&w->json, text);
}

static void data_cell(struct tablew *w, const struct column *column, const char *row)
{
	const struct content in = content_of(w, column, row);
	const char *quote = is_json(w) ? "\"" : "";

	if (is_json(w))
		jsonw_key(&w->json, column->key);
	else if (w->cell_cnt++)
		strbuf_char(w->out, ',');
	if (w->is_head) {
		strbuf_str(w->out, column->key);
	} else if (in.text.ptr && in.is_known) {
		data_text(w, column, row, in.text);
	} else {
		/* these are the same in both, but for what is unknown */
		w->json.has_item = true;
		if (!in.is_known)
			strbuf_str(w->out, is_json(w) ? "null" : "");
		else if (column->cell == CELL_BOOL)
			strbuf_str(w->out, in.number ? "true" : "false");
		else if (column->cell != CELL_TIME)
			strbuf_u64(w->out, in.number);
		else {
			strbuf_str(w->out, quote);
			utc_put(w->out, in.number);
			strbuf_str(w->out, quote);
		}
	}
}

/* ---- text ---- */

static void text_put(struct tablew *w, const struct column *column, const char *row)
{
	struct content in = { 0 };

	if (!w->is_head && !column->put)
		in = content_of(w, column, row);
	if (w->is_head)
		strbuf_str(w->out, column->title);
	else if (column->put)
		column->put(w->out, row);
	else if (in.is_known && in.text.ptr)
		clean_add(w->out, in.text.ptr, in.text.len,
			  CLEAN_WORD | (column->is_name ? CLEAN_BLANK : 0));
	else if (!in.is_known)
		strbuf_str(w->out, column->needs || column->is_name ? "-" : "");
	else if (column->cell == CELL_NS)
		us_put(w->out, in.number);
	else
		strbuf_u64(w->out, in.number);
}

/* One blank goes before numbers, which are aligned on their right, two before text. None goes to the end of a line. */
static void text_cell(struct tablew *w, const struct column *column, const char *row)
{
	struct strbuf *out = w->out;
	const size_t before = out->len;
	const size_t measured = w->cell_cnt < TABLE_TEXT_MAX ? w->widths[w->cell_cnt] : 0;
	size_t width = (size_t)(column->width < 0 ? -column->width : column->width);
	size_t len;
	size_t at;

	width = measured > width ? measured : width;
	w->blank_cnt += w->cell_cnt++ ? 1 + (column->width <= 0) : 0;
	if (w->blank_cnt)
		strbuf_fill(out, ' ', w->blank_cnt);
	at = out->len;
	text_put(w, column, row);
	len = out->len - at;
	width = width > len ? width - len : 0;
	if (!len) {
		out->len = before;
		w->blank_cnt += width;
	} else if (column->width <= 0) {
		w->blank_cnt = width;
	} else {
		strbuf_fill(out, ' ', width);
		w->blank_cnt = 0;
		if (out->failed)
			return;
		memmove(out->ptr + at + width, out->ptr + at, len);
		memset(out->ptr + at, ' ', width);
	}
}

/* ---- rows ---- */

void tablew_open(struct tablew *w, const char *name, unsigned int schema)
{
	w->json.out = w->out;
	w->json.is_spaced = w->form == TABLE_ARRAY;
	w->row_at = w->out->len;
	w->blank_cnt = w->cell_cnt = 0;
	if (w->form == TABLE_ARRAY)
		jsonw_line(&w->json, "  ");
	if (!is_json(w))
		return;
	jsonw_object(&w->json);
	if (w->form == TABLE_ARRAY)
		return;
	jsonw_key(&w->json, "table");
	jsonw_string(&w->json, name);
	jsonw_key(&w->json, "schema");
	jsonw_u64(&w->json, schema);
}

void tablew_cell(struct tablew *w, const struct column *column, const void *row)
{
	if (w->form == TABLE_TEXT && column->title)
		text_cell(w, column, row);
	else if (w->form == TABLE_CSV && column->key)
		data_cell(w, column, row);
	else if (is_json(w) && column->key &&
		 !(w->form == TABLE_ARRAY && (column->is_extra || column->cell == CELL_HOST)))
		data_cell(w, column, row);
}

void tablew_close(struct tablew *w)
{
	if (is_json(w))
		jsonw_object_end(&w->json);
	if (w->form == TABLE_JSON)
		jsonw_end(&w->json);
	else if (w->form == TABLE_CSV || (w->form == TABLE_TEXT && w->out->len > w->row_at))
		strbuf_char(w->out, '\n');
	w->is_head = false;
}

void tablew_row(struct tablew *w, const struct table *table, const void *row)
{
	tablew_open(w, table->name, table->schema);
	for (size_t i = 0; i < table->column_cnt; i++)
		tablew_cell(w, &table->columns[i], row);
	tablew_close(w);
}

bool tablew_head_begin(struct tablew *w)
{
	w->json.out = w->out;
	if (w->form == TABLE_ARRAY)
		jsonw_array(&w->json);
	w->is_head = w->form == TABLE_TEXT || (w->form == TABLE_CSV && !w->has_head);
	w->has_head = true;
	return w->is_head;
}

void tablew_head(struct tablew *w, const struct table *table)
{
	if (tablew_head_begin(w))
		tablew_row(w, table, NULL);
}

void tablew_end(struct tablew *w)
{
	if (w->form != TABLE_ARRAY)
		return;
	jsonw_end(&w->json);
	jsonw_array_end(&w->json);
	jsonw_end(&w->json);
}

struct jsonw *tablew_member(struct tablew *w, const char *key)
{
	if (!is_json(w))
		return NULL;
	jsonw_key(&w->json, key);
	return &w->json;
}

void tablew_measure(struct tablew *w, const struct table *table, const void *row)
{
	struct strbuf text = { 0 };
	struct tablew cell = { .out = &text, .host = w->host };
	size_t cnt = 0;

	for (size_t i = 0; i < table->column_cnt && cnt < TABLE_TEXT_MAX && w->form == TABLE_TEXT;
	     i++) {
		const struct column *column = &table->columns[i];
		size_t len = column->title ? strlen(column->title) : 0;

		if (!column->title)
			continue;
		strbuf_reset(&text);
		text_put(&cell, column, row);
		len = text.len > len ? text.len : len;
		w->widths[cnt] = len > w->widths[cnt] ? len : w->widths[cnt];
		cnt++;
	}
	w->out->failed |= text.failed;
	strbuf_release(&text);
}
