/* Rows of tables as data. */
#include "format/datarow.h"

#include <string.h>

#include "base/cleantext.h"
#include "base/strbuf.h"

void datarow_begin(struct datarow *row, enum datarow_kind kind, struct strbuf *out,
		   const char *table, unsigned int schema)
{
	*row = (struct datarow){ .out = out, .json.out = out, .kind = kind };
	if (kind != DATAROW_JSON)
		return;
	jsonw_object(&row->json);
	jsonw_key(&row->json, "table");
	jsonw_string(&row->json, table);
	jsonw_key(&row->json, "schema");
	jsonw_u64(&row->json, schema);
}

/* Return: whether a value follows. */
static bool column_begin(struct datarow *row, const char *column)
{
	if (row->kind == DATAROW_JSON) {
		jsonw_key(&row->json, column);
		return true;
	}
	if (row->has_column)
		strbuf_char(row->out, ',');
	row->has_column = true;
	if (row->kind == DATAROW_CSV_HEAD)
		strbuf_str(row->out, column);
	return row->kind != DATAROW_CSV_HEAD;
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

void datarow_null(struct datarow *row, const char *column)
{
	if (column_begin(row, column) && row->kind == DATAROW_JSON)
		jsonw_null(&row->json);
}

void datarow_text(struct datarow *row, const char *column, struct text text)
{
	if (!text.len)
		datarow_null(row, column);
	else if (!column_begin(row, column))
		return;
	else if (row->kind == DATAROW_JSON)
		jsonw_text(&row->json, text);
	else
		csv_text(row->out, text);
}

void datarow_string(struct datarow *row, const char *column, const char *string)
{
	datarow_text(row, column, text_from(string));
}

void datarow_number(struct datarow *row, const char *column, uint64_t number)
{
	if (!column_begin(row, column))
		return;
	if (row->kind == DATAROW_JSON)
		jsonw_u64(&row->json, number);
	else
		strbuf_u64(row->out, number);
}

void datarow_bool(struct datarow *row, const char *column, bool is_true)
{
	if (!column_begin(row, column))
		return;
	if (row->kind == DATAROW_JSON)
		jsonw_bool(&row->json, is_true);
	else
		strbuf_str(row->out, is_true ? "true" : "false");
}

void datarow_time(struct datarow *row, const char *column, uint64_t real_ns)
{
	if (!real_ns) {
		datarow_null(row, column);
	} else if (column_begin(row, column)) {
		if (row->kind == DATAROW_JSON)
			jsonw_quote(&row->json);
		utc_put(row->out, real_ns);
		if (row->kind == DATAROW_JSON)
			jsonw_quote_end(&row->json);
	}
}

void datarow_words(struct datarow *row, const char *column, const char *words)
{
	if (row->kind != DATAROW_JSON) {
		datarow_string(row, column, words);
		return;
	}
	column_begin(row, column);
	jsonw_array(&row->json);
	for (size_t len; *words; words += len + (words[len] == ' ')) {
		len = strcspn(words, " ");
		jsonw_text(&row->json, (struct text){ words, len });
	}
	jsonw_array_end(&row->json);
}

bool datarow_member(struct datarow *row, const char *column)
{
	return row->kind == DATAROW_JSON && column_begin(row, column);
}

void datarow_end(struct datarow *row)
{
	if (row->kind == DATAROW_JSON)
		jsonw_object_end(&row->json);
	strbuf_char(row->out, '\n');
}
