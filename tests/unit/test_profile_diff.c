/* Two profiles compared. */
#include "format/profile_diff.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "profiled.h"
#include "script.h"

AFTER(free_profiles);

/* @cnt times f { g } of 1000 and @inner_ns ns, from @at_ns on. */
static void add_calls(struct profile *p, uint64_t at_ns, unsigned int cnt, const char *outer,
		      const char *inner, uint64_t inner_ns)
{
	for (unsigned int i = 0; i < cnt; i++, at_ns += 10000)
		profile_feed(p,
			     script_of("%d %s{ %d %s;%d %d }", (int)at_ns, outer, (int)at_ns + 100,
				       inner, (int)inner_ns, (int)at_ns + 1000));
}

/* A: f calls g four times; B: twice, slower, and h calls g. k was traced in A. */
static void make_sides(struct profile_diff *diff)
{
	struct profile *a = new_profile(true);
	struct profile *b = new_profile(true);
	uint32_t func;

	add_calls(a, 1000, 4, "f", "g", 100);
	CHECK(!profile_func_named(a, (struct text){ "k", 1 }, (struct text){ "", 0 }, &func));
	add_calls(b, 1000, 2, "f", "g", 300);
	add_calls(b, 100000, 1, "h", "g", 300);
	add_calls(b, 200000, 1, "k", "g", 300);
	profile_finish(a);
	profile_finish(b);
	diff->sides[0] = (struct profile_side){
		.path = "a.rec", .profile = a, .length_ns = 2000000000, .knows_traced = true
	};
	diff->sides[1] = (struct profile_side){
		.path = "b\x1b", .profile = b, .length_ns = 1000000000, .lacks_events = true
	};
}

/* The text with single blanks. */
static char *text_of(const struct profile_diff *diff)
{
	struct strbuf out = { 0 };
	size_t to = 0;

	CHECK(!profile_diff_put(diff, &(struct tablew){ .out = &out }));
	strbuf_char(&out, '\0');
	for (size_t i = 0; i < out.len; i++) {
		if (out.ptr[i] != ' ' || (i && out.ptr[i - 1] != ' '))
			out.ptr[to++] = out.ptr[i];
	}
	return out.ptr;
}

TEST(functions_and_calls_that_differ)
{
	struct profile_diff diff = { .sort = PROFILE_BY_NAME };
	char *text;

	make_sides(&diff);
	text = text_of(&diff);
	CHECK(strstr(text, "# A: a.rec, 2.000000 s, 8 calls\n"));
	CHECK(strstr(text, "# B: b\\x1b, 1.000000 s, 8 calls; it lacks events"));
	CHECK(strstr(text, "# counts and totals in all, sorted by name\n"));
	CHECK(strstr(text,
		     "\n 4 2 -50.0% 4.000 2.000 -50.0% 1.000 1.000 +0.0% 1.000 1.000 +0.0% f\n"));
	CHECK(strstr(
		text,
		"\n 4 4 +0.0% 0.400 1.200 +200.0% 0.100 0.300 +200.0% 0.100 0.300 +200.0% g\n"));
	CHECK(strstr(text,
		     "\n 0 1 - 0.000 1.000 - - 1.000 - - 1.000 - h (new, not traced in A)\n"));
	CHECK(strstr(text, "\n 0 1 - 0.000 1.000 - - 1.000 - - 1.000 - k (new)\n"));
	CHECK(strstr(text, " COUNT TOTAL us CALLS IN B ALONE\n 1 0.300 h -> g\n"));
	CHECK(strstr(text, " 1 1.000 (outermost) -> h\n") && strstr(text, " 1 0.300 k -> g\n"));
	CHECK(!strstr(text, "CALLS IN A ALONE") && !strstr(text, "f -> g"));
	free(text);
}

TEST(per_second_and_the_other_way_round)
{
	struct profile_diff diff = { .sort = PROFILE_BY_TOTAL,
				     .is_per_second = true,
				     .row_max = 1 };
	struct profile_side a;
	char *text;

	make_sides(&diff);
	a = diff.sides[0];
	diff.sides[0] = diff.sides[1];
	diff.sides[1] = a;
	text = text_of(&diff);
	CHECK(strstr(text, "# counts and totals per second, sorted by change of total\n"));
	/* g, h and k change by 1 us a second each */
	CHECK(strstr(
		text,
		"\n 4.0 2.0 -50.0% 1.200 0.200 -83.3% 0.300 0.100 -66.7% 0.300 0.100 -66.7% g\n"));
	CHECK(strstr(text, " and 3 more\n"));
	CHECK(strstr(text, "CALLS IN A ALONE\n 1.0 0.300 h -> g\n and 3 more\n"));
	free(text);
}

static void check_first(enum profile_sort sort, const char *want)
{
	struct profile_diff diff = { .sort = sort };
	char *line;
	char *text;

	make_sides(&diff);
	text = text_of(&diff);
	line = strstr(text, "FUNCTION\n") + 9;
	line[strcspn(line, "\n(")] = 0;
	if (line[strlen(line) - 1] == ' ')
		line[strlen(line) - 1] = 0;
	CHECK_STR(strrchr(line, ' ') + 1, want);
	free(text);
}

TEST(the_greatest_change_comes_first)
{
	check_first(PROFILE_BY_TOTAL, "f");
	check_first(PROFILE_BY_COUNT, "f");
	check_first(PROFILE_BY_P50, "h");
	check_first(PROFILE_BY_P99, "h");
	check_first(PROFILE_BY_SELF, "f");
	check_first(PROFILE_BY_AVG, "h");
	check_first(PROFILE_BY_MAX, "h");
	check_first(PROFILE_BY_NAME, "f");
}

TEST(differences_as_json)
{
	struct profile_diff diff = { .is_per_second = true, .row_max = 1 };
	struct strbuf out = { 0 };

	make_sides(&diff);
	CHECK(!profile_diff_json(&diff, &out));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "\"a\":{\"file\":\"a.rec\",\"length_ns\":2000000000,\"calls\":8,"
			      "\"lacks_events\":false}"));
	CHECK(strstr(out.ptr,
		     "{\"func\":\"g\",\"module\":null,\"count\":[4,4],\"total_ns\":[400,1200],"
		     "\"self_ns\":[400,1200],\"avg_ns\":[100,300],\"p50_ns\":[100,300],"
		     "\"p99_ns\":[100,300],\"max_ns\":[100,300],\"traced\":[true,true]}"));
	CHECK(strstr(out.ptr, "\"total_ns\":[4000,2000],\"self_ns\":[3600,1400],"));
	CHECK(strstr(out.ptr, "\"func\":\"h\"") && strstr(out.ptr, "\"traced\":[false,true]"));
	CHECK(strstr(out.ptr,
		     "{\"caller\":\"h\",\"caller_module\":null,\"func\":\"g\",\"module\":null,"
		     "\"count\":1,\"total_ns\":300}"));
	CHECK(strstr(out.ptr, "\"gone_calls\":[]}\n"));
	strbuf_release(&out);
}

TEST(differences_as_rows)
{
	struct profile_diff diff = { .row_max = 2, .sort = PROFILE_BY_NAME };
	struct strbuf out = { 0 };

	make_sides(&diff);
	CHECK(!profile_diff_put(&diff, &(struct tablew){ .out = &out, .form = TABLE_CSV }));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr,
		     "file_a,file_b,length_ns_a,length_ns_b,lacks_events_a,lacks_events_b,func,"
		     "module,count_a,count_b,total_ns_a,total_ns_b,self_ns_a,self_ns_b,avg_ns_a,"
		     "avg_ns_b,p50_ns_a,p50_ns_b,p99_ns_a,p99_ns_b,max_ns_a,max_ns_b,traced_a,"
		     "traced_b\na.rec,b\\x1b,2000000000,1000000000,false,true,") == out.ptr);
	CHECK(strstr(out.ptr, ",f,,4,2,4000,2000,3600,1400,1000,1000,"));
	CHECK(strstr(out.ptr, ",g,,4,4,400,1200,400,1200,100,300,100,300,100,300,100,300,true,"
			      "true\n"));
	CHECK(!strstr(out.ptr, ",h,"));
	strbuf_reset(&out);
	diff.row_max = 0;
	CHECK(!profile_diff_put(&diff, &(struct tablew){ .out = &out, .form = TABLE_JSON }));
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "\"func\":\"h\",\"module\":null,\"count_a\":0,"));
	CHECK(strstr(out.ptr, "\"self_ns_a\":0,") && strstr(out.ptr, "\"avg_ns_a\":null,"));
	CHECK(strstr(out.ptr, "\"p50_ns_a\":null,") && strstr(out.ptr, "\"traced_a\":false,"));
	strbuf_release(&out);
}

TEST(nothing_differs_from_nothing)
{
	struct profile_diff diff = { .sides = { { .path = "a" }, { .path = "b" } } };
	char *text;

	diff.sides[0].profile = new_profile(true);
	diff.sides[1].profile = new_profile(true);
	text = text_of(&diff);
	CHECK(strstr(text, "# A: a, of unknown length, 0 calls\n"));
	free(text);
}
