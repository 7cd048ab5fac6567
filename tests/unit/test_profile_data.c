/* Tables as data: JSON and CSV. */
#include "format/profile_table.h"

#include <string.h>

#include "harness.h"
#include "profiled.h"

/* outer { b } twice and b alone, of 3 us; b has a name that no kernel would give it. */
static struct profile *sample(const char *b)
{
	struct row_list list = rows_of("1000 outer{ 1100 b;100 1300 b;0 6000 } 9000 b;3000");
	struct profile *p = new_profile(true);

	for (size_t i = 0; i < list.cnt; i++) {
		if (list.rows[i].name.len == 1)
			list.rows[i].name = (struct text){ b, strlen(b) };
		CHECK(!profile_row(p, &list.rows[i]));
	}
	profile_finish(p);
	return p;
}
AFTER(free_profiles);

static const struct profile_origin web = {
	.table = "profile",
	.begin_ns = 1000,
	.end_ns = 12000,
	.real_offset_ns = 1763884056123450000,
};

static void check_json(const char *b, const struct profile_view *view,
		       const struct profile_origin *origin, const char *want)
{
	struct profile *p = sample(b);
	struct strbuf out = { 0 };

	CHECK(!profile_put_table(p, view, origin,
				 &(struct tablew){ .out = &out,
						   .form = TABLE_JSON,
						   .host = origin == &web ? "web-1" : NULL }));
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

#define CSV_HEAD \
	"host,begin,end,func,module,count,total_ns,self_ns,min_ns,avg_ns,p50_ns,p99_ns,max_ns\n"

static void check_csv(const char *b, const struct profile_origin *origin, const char *want)
{
	const struct profile_view view = { .sort = PROFILE_BY_NAME };
	struct profile *p = sample(b);
	struct strbuf out = { 0 };

	CHECK(!profile_put_table(p, &view, origin,
				 &(struct tablew){ .out = &out,
						   .form = TABLE_CSV,
						   .host = origin == &web ? "web-1" : NULL }));
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr, want);
	strbuf_release(&out);
}

#define OUTER_NUMBERS \
	"\"count\":1,\"total_ns\":5000,\"self_ns\":4900,\"min_ns\":5000,\"avg_ns\":5000,\"p50_ns\":5000,\"p99_ns\":5000,\"max_ns\":5000"

TEST(json_says_when_and_whose)
{
	const struct profile_view view = { .sort = PROFILE_BY_TOTAL, .row_max = 1 };

	check_json(
		"b", &view, &web,
		"{\"table\":\"profile\",\"schema\":1,\"host\":\"web-1\","
		"\"begin\":\"2025-11-23T07:47:36.123451Z\",\"end\":\"2025-11-23T07:47:36.123462Z\","
		"\"func\":\"outer\",\"module\":null," OUTER_NUMBERS "}\n");
}

TEST(json_has_null_for_what_is_unknown)
{
	const struct profile_view view = { .sort = PROFILE_BY_TOTAL, .row_max = 1 };
	const struct profile_origin unknown = { .table = "profile" };

	check_json("b", &view, &unknown,
		   "{\"table\":\"profile\",\"schema\":1,\"host\":null,\"begin\":null,\"end\":null,"
		   "\"func\":\"outer\",\"module\":null," OUTER_NUMBERS "}\n");
}

TEST(json_has_callers_and_callees_and_histograms)
{
	const char *items[] = { "b" };
	const struct str_list funcs = { .items = items, .cnt = 1 };
	const struct profile_view view = { .has_callers = true,
					   .has_callees = true,
					   .funcs = &funcs };
	const struct profile_origin origin = { .table = "latency", .has_histogram = true };

	check_json(
		"b", &view, &origin,
		"{\"table\":\"latency\",\"schema\":1,\"host\":null,\"begin\":null,\"end\":null,"
		"\"func\":\"b\",\"module\":null,\"count\":3,\"total_ns\":3100,\"self_ns\":3100,\"min_ns\":0,"
		"\"avg_ns\":1033,\"p50_ns\":100,\"p99_ns\":3000,\"max_ns\":3000,"
		"\"callers\":[{\"count\":2,\"total_ns\":100,\"func\":\"outer\",\"module\":null},"
		"{\"count\":1,\"total_ns\":3000,\"func\":null,\"module\":null}],\"callees\":[],"
		"\"histogram\":[{\"from_ns\":0,\"count\":1},{\"from_ns\":64,\"count\":1},"
		"{\"from_ns\":2048,\"count\":1}]}\n");
}

TEST(csv_quotes_what_would_be_another_column)
{
	const struct profile_origin unknown = { .table = "profile" };

	check_csv(
		"b,\"c\"", &web,
		CSV_HEAD
		"web-1,2025-11-23T07:47:36.123451Z,2025-11-23T07:47:36.123462Z,\"b,\"\"c\"\"\",,3,3100,3100,0,1033,100,3000,3000\n"
		"web-1,2025-11-23T07:47:36.123451Z,2025-11-23T07:47:36.123462Z,outer,,1,5000,4900,5000,5000,5000,5000,5000\n");
	check_csv("b\n\033[2J", &unknown,
		  CSV_HEAD ",,,b\\x0a\\x1b[2J,,3,3100,3100,0,1033,100,3000,3000\n"
			   ",,,outer,,1,5000,4900,5000,5000,5000,5000,5000\n");
}
