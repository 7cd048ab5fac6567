/* Tables as data: JSON and CSV. */
#include "format/profile_table.h"

#include <string.h>

#include "harness.h"
#include "nfg_hist.h"
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
	"host,begin,end,func,module,count,total_ns,self_ns,min_ns,avg_ns,p50_ns,p99_ns,max_ns,net_total_ns,net_total_error_ns,net_self_ns,net_self_error_ns\n"

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

#define NO_NET                                               \
	"\"net_total_ns\":null,\"net_total_error_ns\":null," \
	"\"net_self_ns\":null,\"net_self_error_ns\":null"

#define OUTER_NUMBERS \
	"\"count\":1,\"total_ns\":5000,\"self_ns\":4900,\"min_ns\":5000,\"avg_ns\":5000,\"p50_ns\":5000,\"p99_ns\":5000,\"max_ns\":5000," NO_NET

TEST(json_says_when_and_whose)
{
	const struct profile_view view = { .sort = PROFILE_BY_TOTAL, .row_max = 1 };

	check_json(
		"b", &view, &web,
		"{\"table\":\"profile\",\"schema\":1,\"host\":\"web-1\","
		"\"begin\":\"2025-11-23T07:47:36.123451Z\",\"end\":\"2025-11-23T07:47:36.123462Z\","
		"\"func\":\"outer\",\"module\":null," OUTER_NUMBERS ",\"left_out\":false}\n");
}

TEST(json_has_null_for_what_is_unknown)
{
	const struct profile_view view = { .sort = PROFILE_BY_TOTAL, .row_max = 1 };
	const struct profile_origin unknown = { .table = "profile" };

	check_json("b", &view, &unknown,
		   "{\"table\":\"profile\",\"schema\":1,\"host\":null,\"begin\":null,\"end\":null,"
		   "\"func\":\"outer\",\"module\":null," OUTER_NUMBERS ",\"left_out\":false}\n");
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
		"\"avg_ns\":1033,\"p50_ns\":100,\"p99_ns\":3000,\"max_ns\":3000," NO_NET ","
		"\"callers\":[{\"count\":2,\"total_ns\":100,\"func\":\"outer\",\"module\":null},"
		"{\"count\":1,\"total_ns\":3000,\"func\":null,\"module\":null}],\"callees\":[],"
		"\"histogram\":[{\"from_ns\":0,\"count\":1},{\"from_ns\":64,\"count\":1},"
		"{\"from_ns\":2048,\"count\":1}],\"left_out\":false}\n");
}

/* In a table as text a mark, and a line below that says what it is. */
TEST(what_a_limit_left_out_is_marked)
{
	const uint32_t ids[] = { 0, 9 };
	struct leftout lo = { .limit = LEFTOUT_NEIGHBOURS, .func_ids = ids, .func_cnt = 2 };
	struct func funcs[] = { { .name = { "outer", 5 } }, { .name = { "b", 1 } } };
	const struct functab tab = { .funcs = funcs, .cnt = CNT_OF(funcs) };
	struct leftfuncs left = { 0 };
	const struct profile_view view = { .sort = PROFILE_BY_TOTAL, .row_max = 1, .left = &left };
	struct strbuf out = { 0 };

	lo.limit = LEFTOUT_LEARNED;
	CHECK(!leftfuncs_add(&left, &lo, &tab));
	CHECK(!leftfuncs_mark(&left, TEXT("outer"), TEXT("")));
	lo.limit = LEFTOUT_NEIGHBOURS;
	CHECK(!leftfuncs_add(&left, &lo, &tab));
	funcs[0].name = TEXT("gone");
	CHECK(strstr(table_of(sample("b"), &view), "  outer *\n"));
	leftfuncs_put_line(&left, &out);
	CHECK_STR(
		strbuf_cstr(&out),
		"* left out during the trace (--max-overhead): the row has the calls until then\n");
	strbuf_reset(&out);
	check_json("b", &view, &(struct profile_origin){ .table = "profile" },
		   "{\"table\":\"profile\",\"schema\":1,\"host\":null,\"begin\":null,\"end\":null,"
		   "\"func\":\"outer\",\"module\":null," OUTER_NUMBERS ",\"left_out\":true}\n");
	CHECK(!leftfuncs_mark(&left, TEXT("outer"), TEXT("module")));
	leftfuncs_put_line(&left, &out);
	strbuf_reset(&out);
	leftfuncs_put_line(&left, &out); /* not twice, nor below a table without one */
	CHECK(!out.len);
	strbuf_release(&out);
	leftfuncs_release(&left);
}

TEST(csv_quotes_what_would_be_another_column)
{
	const struct profile_origin unknown = { .table = "profile" };

	check_csv(
		"b,\"c\"", &web,
		CSV_HEAD
		"web-1,2025-11-23T07:47:36.123451Z,2025-11-23T07:47:36.123462Z,\"b,\"\"c\"\"\",,3,3100,3100,0,1033,100,3000,3000,,,,\n"
		"web-1,2025-11-23T07:47:36.123451Z,2025-11-23T07:47:36.123462Z,outer,,1,5000,4900,5000,5000,5000,5000,5000,,,,\n");
	check_csv("b\n\033[2J", &unknown,
		  CSV_HEAD ",,,b\\x0a\\x1b[2J,,3,3100,3100,0,1033,100,3000,3000,,,,\n"
			   ",,,outer,,1,5000,4900,5000,5000,5000,5000,5000,,,,\n");
}

/* In the second call of f, a is called, and b in it. */
static struct profile *net_sample(const struct netcost *cost)
{
	struct row_list list = rows_of("1000 f;50 2000 f{ 2010 a{ 2020 b;20 2060 } 2100 }");
	const uint32_t below_cnts[] = { 0, 0, 0, 0, 1, 2 };
	struct profile *p = new_profile(false);

	CHECK(list.cnt == CNT_OF(below_cnts));
	for (size_t i = 0; i < list.cnt; i++) {
		struct row *row = &list.rows[i];

		if (row->kind != ROW_ENTRY)
			row->net = netcost_net(cost, row->duration_ns, below_cnts[i]);
		CHECK(!profile_row(p, row));
	}
	profile_finish(p);
	return p;
}

/* f 50 and 100, less 8, and 8 and 30 for two calls; its self 50 and 50, less 8 twice, and 7 for a alone. */
TEST(net_is_without_the_cost_of_all_calls)
{
	const struct netcost cost = { .inner_ns = 8, .outer_ns = 7, .error_ns = 2 };
	struct profile *p = net_sample(&cost);
	struct profile_func f = get(p, "f");

	CHECK(profile_has_net(p) && f.total_ns == 150 && f.self_ns == 100);
	CHECK(f.net_total_ns == 150 - 8 - 8 - 30 && f.has_net_total && f.net_total_error_ns == 8);
	CHECK(f.net_self_ns == 100 - 8 - 8 - 7 && f.has_net_self && f.net_self_error_ns == 5);
	f = get(p, "b");
	CHECK(f.net_total_ns == 12 && f.net_self_ns == 12 && f.net_self_error_ns == 3);
	f = get(p, "a");
	CHECK(f.net_total_ns == 50 - 8 - 15 && f.net_self_ns == 30 - 8 - 7);
}

static void put_sums(struct profile *p, const char *name, struct profile_sums sums)
{
	uint64_t buckets[NFG_HIST_CNT] = { 0 };
	uint32_t func;

	buckets[nfg_hist_bucket(50)] = sums.call_cnt;
	sums.sum_ns = sums.total_ns;
	sums.buckets = buckets;
	sums.bucket_cnt = NFG_HIST_CNT;
	CHECK(!profile_func_named(p, text_from(name), text_from(""), &func));
	CHECK(!profile_put(p, func, &sums));
}

/* As the calls of net_sample one by one. */
TEST(net_of_sums)
{
	const struct netcost cost = { .inner_ns = 8, .outer_ns = 7, .error_ns = 2 };
	const struct netcost unknown = { 0 };
	struct profile *p = new_profile(false);
	struct profile_func f;

	put_sums(p, "f",
		 (struct profile_sums){ .call_cnt = 2,
					.total_ns = 150,
					.self_ns = 100,
					.child_cnt = 1,
					.inside_cnt = 2,
					.cost = &cost });
	put_sums(p, "a",
		 (struct profile_sums){ .call_cnt = 1,
					.total_ns = 50,
					.self_ns = 30,
					.child_cnt = 1,
					.inside_cnt = 1,
					.cost = &cost });
	f = get(p, "f");
	CHECK(f.net_total_ns == 150 - 8 - 8 - 30 && f.net_total_error_ns == 8);
	CHECK(f.net_self_ns == 100 - 8 - 8 - 7 && f.net_self_error_ns == 5);
	f = get(p, "a");
	CHECK(f.net_total_ns == 50 - 8 - 15 && f.net_self_ns == 30 - 8 - 7);
	/* two of five calls are inside others of r, and have what they called there */
	put_sums(p, "r",
		 (struct profile_sums){ .call_cnt = 5,
					.total_ns = 500,
					.self_ns = 400,
					.inner_cnt = 2,
					.child_cnt = 4,
					.inside_cnt = 4,
					.cost = &cost });
	f = get(p, "r");
	CHECK(f.net_total_ns == 500 - 3 * 8 - 4 * 15 && f.net_total_error_ns == 7 * 2);
	CHECK(f.net_self_ns == 400 - 5 * 8 - 4 * 7);
	put_sums(p, "u", (struct profile_sums){ .call_cnt = 1, .total_ns = 90, .cost = &unknown });
	CHECK(!get(p, "u").net_total_error_ns);
}

TEST(net_below_its_error_is_not_known)
{
	const struct netcost cost = { .inner_ns = 19, .outer_ns = 1, .error_ns = 2 };
	const struct profile_view view = { .sort = PROFILE_BY_NET };
	struct profile *p = net_sample(&cost);
	const struct profile_func f = get(p, "b");
	const char *text = table_of(p, &view);

	CHECK(f.net_total_ns == 1 && !f.has_net_total && !f.has_net_self);
	CHECK(strstr(text, "              NET us          NET SELF us  FUNCTION\n"));
	CHECK(strstr(text, "               <0.002               <0.003  b\n"));
	CHECK(strstr(text, "         0.072+-0.008         0.061+-0.005  f\n"));
}

TEST(net_of_a_part_is_not_known)
{
	const struct netcost cost = { .inner_ns = 8, .outer_ns = 7, .error_ns = 2 };
	struct profile *p = net_sample(&cost);
	const struct row row = call_row(ROW_LEAF, 0, 9000, 50, "f");

	CHECK(!profile_row(p, &row));
	CHECK(!get(p, "f").net_total_error_ns && get(p, "b").net_total_error_ns);
	CHECK(!profile_has_net(sample("b")));
	profile_restart(p);
	CHECK(!profile_has_net(p));
}
