#ifndef NFG_FORMAT_DATAROW_H
#define NFG_FORMAT_DATAROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "format/format.h"

/*
 * Rows of a table as data for other programs: one JSON object per line, or CSV by RFC 4180 with LF line ends. The
 * same calls with DATAROW_CSV_HEAD write the names of the columns, so header and rows cannot differ.
 */
enum datarow_kind {
	DATAROW_JSON,
	DATAROW_CSV,
	DATAROW_CSV_HEAD,
};

/* datarow_kind_of - the kind of rows for FORMAT_JSON or FORMAT_CSV. */
static inline enum datarow_kind datarow_kind_of(enum format_kind format)
{
	return format == FORMAT_CSV ? DATAROW_CSV : DATAROW_JSON;
}

/* A row being written. Private. */
struct datarow {
	struct strbuf *out;
	struct jsonw json;
	enum datarow_kind kind;
	bool has_column; /* of CSV */
};

/* datarow_begin - begin a row. In JSON it has "table" and "schema", the version of that table's columns. */
void datarow_begin(struct datarow *row, enum datarow_kind kind, struct strbuf *out,
		   const char *table, unsigned int schema);

/*
 * datarow_text, datarow_string - "" and NULL are null in JSON and empty in CSV, where invisible characters are
 * escaped.
 */
void datarow_text(struct datarow *row, const char *column, struct text text);
void datarow_string(struct datarow *row, const char *column, const char *string);

void datarow_number(struct datarow *row, const char *column, uint64_t number);
void datarow_bool(struct datarow *row, const char *column, bool is_true);
void datarow_null(struct datarow *row, const char *column);

/* datarow_time - a time in ns since 1970; 0: null. */
void datarow_time(struct datarow *row, const char *column, uint64_t real_ns);

/* datarow_words - words separated by blanks: an array in JSON, unchanged in CSV. "" has none. */
void datarow_words(struct datarow *row, const char *column, const char *words);

/*
 * datarow_member - begin a member that has no CSV column. Return: whether the caller writes its value to @row->json.
 */
bool datarow_member(struct datarow *row, const char *column);

void datarow_end(struct datarow *row);

#endif
