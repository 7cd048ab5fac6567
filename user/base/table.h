#ifndef NFG_BASE_TABLE_H
#define NFG_BASE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/strbuf.h"

/*
 * Writes tables: as text, as CSV by RFC 4180 with LF line ends, or as JSON. A row is a struct; a column says where in it
 * its value is, and what it is called.
 */
enum table_form {
	TABLE_TEXT,
	TABLE_JSON, /* one object per line, with "table" and "schema" */
	TABLE_CSV,
	TABLE_ARRAY, /* a JSON array of objects without these and the host */
};

/* What is in a row. "" and NULL are unknown: null in JSON, empty in CSV and, unless column.needs is set, in text. */
enum cell {
	CELL_STRING, /* const char * */
	CELL_CHARS,  /* char [] */
	CELL_TEXT,   /* struct text */
	CELL_WORDS,  /* const char *: words separated by blanks; an array in JSON, "" has none */
	CELL_U64,
	CELL_U32,
	CELL_NS,   /* uint64_t; us in text */
	CELL_BOOL, /* for text it needs column.put */
	CELL_TIME, /* uint64_t, in ns since 1970; 0: unknown. For text it needs column.put */
	CELL_HOST, /* in no row: tablew.host */
};

struct column {
	const char *key;   /* in JSON and CSV; NULL: in text alone */
	const char *title; /* above the text, or ""; NULL: in JSON and CSV alone */
	enum cell cell;
	size_t offset; /* in the row */
	int width;     /* of the text, at least: numbers end there. 0, -width: it begins there */
	/*
	 * Where the row has a uint64_t without which the value is unknown: null, and - in text. 0: nowhere, so the
	 * row must not begin with it.
	 */
	size_t needs;
	/* Where the row has a bool that says that its text is a number: not quoted in JSON. 0: nowhere. */
	size_t is_bare;
	bool is_extra; /* not in TABLE_ARRAY */
	bool is_name;  /* from others: in text without blanks, - if unknown */
	void (*put)(struct strbuf *out, const void *row); /* its text; NULL: by the cell */
};

/* column_is_known - whether @row has what the column needs for its value to be known. */
static inline bool column_is_known(const struct column *column, const void *row)
{
	return !column->needs || *(const uint64_t *)((const char *)row + column->needs);
}

/* COLUMN_AT - the cell and offset of a member, for the initializer of a column. */
#define COLUMN_AT(row, member) COLUMN_AS(COLUMN_CELL(((row *)0)->member), row, member)
#define COLUMN_CELL(member) \
	_Generic(&(member), uint64_t *: CELL_U64, uint32_t *: CELL_U32, bool *: CELL_BOOL, \
		 struct text *: CELL_TEXT, char **: CELL_STRING, const char **: CELL_STRING, \
		 char(*)[sizeof(member)]: CELL_CHARS)

/* COLUMN_AS - the same for another kind of cell. */
#define COLUMN_AS(kind, row, member) .cell = kind, .offset = offsetof(row, member)

struct table {
	const char *name;
	unsigned int schema; /* the version of its columns */
	const struct column *columns;
	size_t column_cnt;
};

/* TABLE - a table of the columns in an array. */
#define TABLE(name, columns)                                             \
	{                                                                \
		name, 1, columns, sizeof(columns) / sizeof((columns)[0]) \
	}

#define TABLE_TEXT_MAX 10 /* columns that tablew_measure knows */

/* A table being written. The caller sets the first three, and zeroes the rest. */
struct tablew {
	struct strbuf *out;
	enum table_form form;
	const char *host; /* borrowed; NULL, "": unknown */
	/* private */
	struct jsonw json;
	bool is_head;
	bool has_head;
	size_t row_at;                 /* where the row begins in the text, */
	size_t blank_cnt;              /* what goes before its next cell, */
	size_t cell_cnt;               /* and how many it has */
	size_t widths[TABLE_TEXT_MAX]; /* by tablew_measure */
};

/* tablew_head - begin the table: the titles, if there are any; in CSV the keys, once. */
void tablew_head(struct tablew *w, const struct table *table);

/* tablew_row - append a row. */
void tablew_row(struct tablew *w, const struct table *table, const void *row);

/* tablew_end - end a TABLE_ARRAY. */
void tablew_end(struct tablew *w);

/* tablew_measure - before the head: columns are to be as wide as this row's text. */
void tablew_measure(struct tablew *w, const struct table *table, const void *row);

/*
 * tablew_open, tablew_cell, tablew_close - a row whose values are in several places. @row: what the column's offset is
 * in; NULL: the value is unknown. For the head, the same calls append the names, if tablew_head_begin says that there is
 * one.
 */
bool tablew_head_begin(struct tablew *w);
void tablew_open(struct tablew *w, const char *name, unsigned int schema);
void tablew_cell(struct tablew *w, const struct column *column, const void *row);
void tablew_close(struct tablew *w);

/* tablew_member - begin a member that JSON alone has. Return: where its value goes; NULL: not JSON. */
struct jsonw *tablew_member(struct tablew *w, const char *key);

#endif
