#ifndef NFG_FORMAT_DATAROW_H
#define NFG_FORMAT_DATAROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/format.h"

/*
 * Rows of a table as data for other programs: a JSON object a line, or CSV by RFC 4180, but for line ends, which are LF.
 * The same calls, made for DATAROW_CSV_HEAD, write the names of the columns, so that header and rows cannot differ.
 */
enum datarow_kind {
	DATAROW_JSON,
	DATAROW_CSV,
	DATAROW_CSV_HEAD,
};

/* datarow_kind_of - how rows of FORMAT_JSON or FORMAT_CSV are written. */
static inline enum datarow_kind datarow_kind_of(enum format_kind format)
{
	return format == FORMAT_CSV ? DATAROW_CSV : DATAROW_JSON;
}

/* A row that is being written. Private. */
struct datarow {
	struct strbuf *out;
	enum datarow_kind kind;
	bool has_column;
};

/* datarow_begin - JSON says whose row it is: "table" and "schema", the version of the columns of that table. */
void datarow_begin(struct datarow *row, enum datarow_kind kind, struct strbuf *out,
		   const char *table, unsigned int schema);

/* datarow_text, datarow_string - "", NULL: null in JSON, empty in CSV, where what would not be seen is escaped. */
void datarow_text(struct datarow *row, const char *column, struct text text);
void datarow_string(struct datarow *row, const char *column, const char *string);

void datarow_number(struct datarow *row, const char *column, uint64_t number);
void datarow_bool(struct datarow *row, const char *column, bool is_true);
void datarow_null(struct datarow *row, const char *column);

/* datarow_time - a moment, in ns since 1970; 0: null. */
void datarow_time(struct datarow *row, const char *column, uint64_t real_ns);

/* datarow_words - words with blanks in between: in JSON an array, in CSV as they are. "" has none. */
void datarow_words(struct datarow *row, const char *column, const char *words);

/* datarow_member - begin a member that CSV has no column for. Return: whether its value is to be appended to the strbuf. */
bool datarow_member(struct datarow *row, const char *column);

void datarow_end(struct datarow *row);

#endif
