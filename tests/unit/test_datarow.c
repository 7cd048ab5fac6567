/* Rows of tables as data. */
#include "format/datarow.h"

#include "harness.h"

static struct strbuf out;

/* Everything that a row can have. */
static void put(enum datarow_kind kind, const char *name, uint64_t time_ns)
{
	struct datarow row;

	datarow_begin(&row, kind, &out, "sample", 3);
	datarow_string(&row, "name", name);
	datarow_text(&row, "none", (struct text){ NULL, 0 });
	datarow_number(&row, "number", UINT64_MAX);
	datarow_bool(&row, "is", time_ns != 0);
	datarow_null(&row, "null");
	datarow_time(&row, "time", time_ns);
	datarow_words(&row, "words", time_ns ? "a b" : "");
	if (datarow_member(&row, "list"))
		strbuf_str(&out, "[1]");
	datarow_end(&row);
}

static void check(const char *want)
{
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

TEST(json_has_table_schema_and_null)
{
	put(DATAROW_JSON, "a,\"b\"\n", 1763884056123450000);
	put(DATAROW_JSON, NULL, 0);
	check("{\"table\":\"sample\",\"schema\":3,\"name\":\"a,\\\"b\\\"\\u000a\",\"none\":null,"
	      "\"number\":18446744073709551615,\"is\":true,\"null\":null,"
	      "\"time\":\"2025-11-23T07:47:36.123450Z\",\"words\":[\"a\",\"b\"],\"list\":[1]}\n"
	      "{\"table\":\"sample\",\"schema\":3,\"name\":null,\"none\":null,"
	      "\"number\":18446744073709551615,\"is\":false,\"null\":null,\"time\":null,"
	      "\"words\":[],\"list\":[1]}\n");
}

TEST(csv_quotes_escapes_and_leaves_empty)
{
	put(DATAROW_CSV_HEAD, "a", 1);
	put(DATAROW_CSV, "a,\"b\"\n", 1763884056123450000);
	put(DATAROW_CSV, NULL, 0);
	check("name,none,number,is,null,time,words\n"
	      "\"a,\"\"b\"\"\\x0a\",,18446744073709551615,true,,2025-11-23T07:47:36.123450Z,a b\n"
	      ",,18446744073709551615,false,,,\n");
}
