#include "base/json.h"
#include "harness.h"

/* The text of the member "a"; NULL when that is no string. */
static const char *a_of(const char *doc)
{
	static char out[16];

	return json_string(json_member(text_from(doc), "a"), out, sizeof(out)) ? out : NULL;
}

static const struct text_case string_cases[] = {
	{ "{\"a\":\"x\"}", "x" },
	{ " {\n\t\"a\" : \"x\" , \"b\":1}\r\n", "x" },
	{ "{\"b\":{\"a\":\"no\"},\"a\":\"x\"}", "x" },
	{ "{\"b\":[{},[\"]}\",\"\\\"a\\\":\"],1.5e-3,null,true],\"a\":\"x\"}", "x" },
	{ "{\"a\":\"x\",\"a\":\"y\"}", "x" },
	{ "{\"a\":\"\"}", "" },
	{ "{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t" },
	{ "{\"a\":\"\\u0041\\u00e4\\u20AC\"}", "A\xc3\xa4\xe2\x82\xac" },
	{ "{\"a\":\"\\ud83d\\ude00\"}", "\xf0\x9f\x98\x80" },
	{ "{\"a\":\"\\ud83dx\"}", "\xef\xbf\xbdx" },
	{ "{\"a\":\"\\ud83d\\u0041\"}", "\xef\xbf\xbd\x41" },
	{ "{\"a\":\"\\ude00\"}", "\xef\xbf\xbd" },
	{ "{\"a\":\"123456789012345\"}", "123456789012345" },
	{ "{\"a\":\"1234567890123456\"}", NULL }, /* no room */
	{ "{\"a\":\"12345678901234\\u00e4\"}", NULL },
	{ "{\"a\":\"x\\u0000y\"}", NULL },
	{ "{\"a\":\"\\u00g0\"}", NULL },
	{ "{\"a\":\"\\u00\"}", NULL },
	{ "{\"a\":\"\\x41\"}", NULL },
	{ "{\"a\":7}", NULL },
	{ "{\"a\":null}", NULL },
	{ "{\"a\":[\"x\"]}", NULL },
	{ "{\"A\":\"x\"}", NULL },
	{ "{\"ab\":\"x\"}", NULL },
	{ "{}", NULL },
	{ "", NULL },
	{ "[\"a\",\"x\"]", NULL },
	{ "\"a\"", NULL },
	{ "{\"b\":1 \"a\":\"x\"}", NULL }, /* no comma */
	{ "{\"b\",\"a\":\"x\"}", NULL },
	{ "{\"b\":[},\"a\":\"x\"}", NULL },
	{ "{\"b\":[[],\"a\":\"x\"}", NULL },
	{ "{\"b\":,\"a\":\"x\"}", NULL },
	{ "{b:1,\"a\":\"x\"}", NULL },
	{ "{\"a\":\"x", NULL }, /* cut off */
	{ "{\"a\":\"x\\", NULL },
	{ "{\"a\":", NULL },
	{ "{\"a", NULL },
	{ "{", NULL },
};

TEST(strings_of_members)
{
	EACH(c, string_cases) {
		const char *got = a_of(c->in);

		in_case("%s: %s", c->in, got ? got : "no string");
		CHECK(!got == !c->want);
		if (got)
			CHECK_STR(got, c->want);
	}
}

/* Every beginning of a document ends in time and inside of it: there is nothing behind, not even a NUL. */
TEST(cut_documents_are_read_to_their_end)
{
	for (size_t i = 0; i < CNT_OF(string_cases); i++) {
		const char *doc = string_cases[i].in;

		for (size_t len = 0; len < strlen(doc); len++) {
			char *copy = memcpy(malloc(len + 1), doc, len);
			struct text value = json_member((struct text){ copy, len }, "a");
			char out[16];

			CHECK(!value.ptr ||
			      (value.ptr >= copy && value.ptr + value.len <= copy + len));
			json_string(value, out, sizeof(out));
			free(copy);
		}
	}
}

TEST(elements_in_order)
{
	struct text doc = text_from("[1, \"b\",{\"c\":[2,3]} ,[]]");
	const char *const want[] = { "1", "\"b\"", "{\"c\":[2,3]}", "[]" };
	struct text value;
	size_t cnt = 0;

	for (size_t at = 0; json_element(doc, &at, &value); cnt++) {
		CHECK(cnt < 4 && text_equal(value, text_from(want[cnt])));
	}
	CHECK(cnt == 4);
}

static size_t element_cnt(const char *doc)
{
	struct text value;
	size_t cnt = 0;

	for (size_t at = 0; json_element(text_from(doc), &at, &value);)
		cnt++;
	return cnt;
}

TEST(elements_of_what_is_no_array)
{
	CHECK(element_cnt("[]") == 0 && element_cnt("{\"a\":1}") == 0);
	CHECK(element_cnt("") == 0 && element_cnt("[1,2") == 2);
	CHECK(element_cnt("[1,]") == 1 && element_cnt("[1 2]") == 1);
}

TEST(depth_is_bounded)
{
	char doc[2 * JSON_DEPTH_MAX + 64];

	for (int depth = JSON_DEPTH_MAX; depth <= JSON_DEPTH_MAX + 1; depth++) {
		snprintf(doc, sizeof(doc), "{\"b\":%0*d,\"a\":\"x\"}", 2 * depth, 0);
		memset(doc + 5, '[', (size_t)depth);
		memset(doc + 5 + depth, ']', (size_t)depth);
		CHECK((a_of(doc) != NULL) == (depth <= JSON_DEPTH_MAX));
	}
}

static void put_all(struct jsonw *w)
{
	jsonw_array(w);
	jsonw_line(w, " ");
	jsonw_object(w);
	jsonw_key(w, "none");
	jsonw_known(w, (struct text){ 0 });
	jsonw_key(w, "numbers");
	jsonw_array(w);
	jsonw_u64(w, UINT64_MAX);
	jsonw_i64(w, INT64_MIN);
	jsonw_i64(w, 0);
	jsonw_array_end(w);
	jsonw_key_text(w, text_from("a\"b"));
	jsonw_bool(w, true);
	jsonw_object_end(w);
	jsonw_line(w, " ");
	jsonw_quote(w);
	strbuf_str(w->out, "id ");
	jsonw_part(w, text_from("\\"));
	jsonw_quote_end(w);
	jsonw_raw(w, (struct text){ 0 });
	jsonw_raw(w, text_from("1,2"));
	jsonw_array_end(w);
	jsonw_end(w);
	jsonw_null(w);
}

static void check_written(bool is_spaced, const char *want)
{
	struct strbuf out = { 0 };

	put_all(&(struct jsonw){ .out = &out, .is_spaced = is_spaced });
	CHECK_BUF(&out, want);
}

TEST_ONE(commas_and_quotes_are_the_writers,
	 check_written(false, "[\n {\"none\":null,\"numbers\":[18446744073709551615,"
			      "-9223372036854775808,0],\"a\\\"b\":true},\n \"id \\\\\",1,2]\nnull"),
	 check_written(true,
		       "[\n {\"none\": null, \"numbers\": [18446744073709551615, "
		       "-9223372036854775808, 0], \"a\\\"b\": true},\n \"id \\\\\", 1,2]\nnull"));

TEST(appended_text_is_escaped_only_where_it_needs_to_be)
{
	struct strbuf out = { 0 };
	struct jsonw w = { .out = &out };
	size_t at;

	jsonw_array(&w);
	jsonw_quote(&w);
	at = out.len;
	strbuf_str(&out, "plain=1");
	jsonw_part_since(&w, at);
	jsonw_quote_end(&w);
	jsonw_quote(&w);
	at = out.len;
	strbuf_str(&out, "a\"=1, b\\=\n");
	jsonw_part_since(&w, at);
	jsonw_quote_end(&w);
	jsonw_array_end(&w);
	CHECK_BUF(&out, "[\"plain=1\",\"a\\\"=1, b\\\\=\\u000a\"]");
}
