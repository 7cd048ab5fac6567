/* Tables as text, CSV and JSON. */
#include "base/table.h"

#include "harness.h"

static struct strbuf out;

/* Everything that a row can have. */
struct sample {
	uint64_t number;
	uint64_t time_ns;
	const char *name;
	struct text none;
	const char *words;
	char chars[4];
	uint32_t small;
	bool is;
};

static void put_name(struct strbuf *to, const void *row)
{
	strbuf_printf(to, "<%s>", ((const struct sample *)row)->name);
}

static const struct column columns[] = {
	{ "host", .cell = CELL_HOST, .is_extra = true },
	{ "name", "NAME", COLUMN_AT(struct sample, name), -6, .is_name = true },
	{ "none", COLUMN_AT(struct sample, none) },
	{ "number", "NUMBER", COLUMN_AT(struct sample, number), 8 },
	{ "us", "US", COLUMN_AS(CELL_NS, struct sample, number), 6,
	  .needs = offsetof(struct sample, time_ns) },
	{ "small", COLUMN_AT(struct sample, small) },
	{ "is", COLUMN_AT(struct sample, is) },
	{ "time", COLUMN_AS(CELL_TIME, struct sample, time_ns) },
	{ "words", COLUMN_AS(CELL_WORDS, struct sample, words) },
	{ "chars", "CHARS", COLUMN_AT(struct sample, chars) },
	{ .title = "PUT", .put = put_name },
};

static const struct table table = { "sample", 3, columns, sizeof(columns) / sizeof(columns[0]) };

static const struct sample rows[] = {
	{ .number = UINT64_MAX,
	  .time_ns = 1763884056123450000,
	  .name = "a,\"b\"\n",
	  .words = "a b",
	  .chars = "abc",
	  .small = UINT32_MAX,
	  .is = true },
	{ .number = 12345, .name = "", .words = "" },
	{ .name = "c d" },
};

static void check(struct tablew w, bool is_measured, const char *want)
{
	w.out = &out;
	for (size_t i = 0; i < 3 && is_measured; i++)
		tablew_measure(&w, &table, &rows[i]);
	tablew_head(&w, &table);
	for (size_t i = 0; i < 3; i++)
		tablew_row(&w, &table, &rows[i]);
	tablew_end(&w);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

TEST(json_has_table_schema_and_null)
{
	check((struct tablew){ .form = TABLE_JSON, .host = "web" }, false,
	      "{\"table\":\"sample\",\"schema\":3,\"host\":\"web\",\"name\":\"a,\\\"b\\\"\\u000a\","
	      "\"none\":null,\"number\":18446744073709551615,\"us\":18446744073709551615,"
	      "\"small\":4294967295,\"is\":true,\"time\":\"2025-11-23T07:47:36.123450Z\","
	      "\"words\":[\"a\",\"b\"],\"chars\":\"abc\"}\n"
	      "{\"table\":\"sample\",\"schema\":3,\"host\":\"web\",\"name\":null,\"none\":null,"
	      "\"number\":12345,\"us\":null,\"small\":0,\"is\":false,\"time\":null,\"words\":[],"
	      "\"chars\":null}\n"
	      "{\"table\":\"sample\",\"schema\":3,\"host\":\"web\",\"name\":\"c d\",\"none\":null,"
	      "\"number\":0,\"us\":null,\"small\":0,\"is\":false,\"time\":null,\"words\":null,"
	      "\"chars\":null}\n");
}

TEST(an_array_has_objects_without_the_host)
{
	static const struct column few[] = {
		{ "host", .cell = CELL_HOST, .is_extra = true },
		{ "name", COLUMN_AT(struct sample, name) },
		{ "is", COLUMN_AT(struct sample, is) },
	};
	static const struct table small = TABLE("small", few);
	struct tablew w = { .out = &out, .form = TABLE_ARRAY, .host = "web" };

	tablew_head(&w, &small);
	tablew_row(&w, &small, &rows[1]);
	tablew_row(&w, &small, &rows[2]);
	tablew_end(&w);
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, "[\n  {\"name\": null, \"is\": false},\n"
			   "  {\"name\": \"c d\", \"is\": false}\n]\n");
	strbuf_release(&out);
}

TEST(csv_quotes_escapes_and_leaves_empty)
{
	check((struct tablew){ .form = TABLE_CSV }, false,
	      "host,name,none,number,us,small,is,time,words,chars\n"
	      ",\"a,\"\"b\"\"\\x0a\",,18446744073709551615,18446744073709551615,4294967295,true,"
	      "2025-11-23T07:47:36.123450Z,a b,abc\n"
	      ",,,12345,,0,false,,,\n"
	      ",c d,,0,,0,false,,,\n");
}

/* Numbers end in their column, text begins there, and no line ends with blanks. */
TEST(text_is_aligned)
{
	check((struct tablew){ 0 }, false,
	      "NAME     NUMBER     US  CHARS  PUT\n"
	      "a,\"b\"\\x0a 18446744073709551615 18446744073709551.615  abc  <a,\"b\"\n>\n"
	      "-         12345      -    <>\n"
	      "c\\x20d        0      -    <c d>\n");
}

TEST(text_is_as_wide_as_its_rows)
{
	check((struct tablew){ 0 }, true,
	      "NAME                    NUMBER                    US  CHARS  PUT\n"
	      "a,\"b\"\\x0a 18446744073709551615 18446744073709551.615  abc    <a,\"b\"\n>\n"
	      "-                        12345                     -         <>\n"
	      "c\\x20d                       0                     -         <c d>\n");
}
