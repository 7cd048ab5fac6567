/* Who calls whom: callers and callees below the functions of a table. */
#include <string.h>

#include "harness.h"
#include "profiled.h"

AFTER(free_profiles);

/* a { b; c { b } b } twice, and c alone */
static struct profile *sample(void)
{
	return profile_of(true,
			  "1000 a{ 1100 b;100 2000 c{ 2100 b;50 3000 } 4000 b;7 6000 } "
			  "11000 a{ 11100 b;100 12000 c{ 12100 b;50 13000 } 14000 b;7 16000 } "
			  "tid5 90000 c;3");
}

/* The table without its numbers but for counts and totals: "2 10.000 a;". */
static void check_table(const struct profile *p, const struct profile_view *view, const char *want)
{
	char text[4096];
	char got[1024] = "";

	snprintf(text, sizeof(text), "%s", table_of(p, view));
	for (char *line = strtok(text, "\n"); (line = strtok(NULL, "\n"));) {
		char *name = strchr(line, '<') ? strchr(line, '<') : strchr(line, '-');
		char cnt[16];
		char total[16];

		CHECK(sscanf(line, "%15s %15s", cnt, total) == 2);
		name = name ? name : strrchr(line, ' ') + 1;
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %s %s;", cnt, total,
			 name);
	}
	CHECK_STR(got, want);
}

TEST(callees_of_each_function)
{
	const struct profile_view view = { .sort = PROFILE_BY_NAME, .has_callees = true };
	struct profile *p = sample();

	check_table(p, &view,
		    "2 10.000 a;4 0.214 -> b;2 2.000 -> c;6 0.314 b;3 2.003 c;2 0.100 -> b;");
}

TEST(callers_and_callees_of_one_function)
{
	const struct profile_view callers = { .has_callers = true, .callers_of = "b" };
	const struct profile_view callees = { .has_callees = true, .callees_of = "[ac]" };
	const struct profile_view both = {
		.has_callers = true, .callers_of = "c", .has_callees = true, .callees_of = "c"
	};
	struct profile *p = sample();

	check_table(p, &callers, "6 0.314 b;4 0.214 <- a;2 0.100 <- c;");
	check_table(p, &callees, "2 10.000 a;4 0.214 -> b;2 2.000 -> c;3 2.003 c;2 0.100 -> b;");
	check_table(p, &both, "3 2.003 c;2 2.000 <- a;1 0.003 <- (outermost);2 0.100 -> b;");
	CHECK(profile_has(p, "[ab]") && !profile_has(p, "d*"));
}

TEST(rows_are_counted_where_functions_are_left_out)
{
	const struct profile_view view = { .row_max = 1,
					   .has_callers = true,
					   .callers_of = "[bc]" };
	struct profile *p = sample();

	check_table(p, &view, "3 2.003 c;2 2.000 <- a;1 0.003 <- (outermost);");
}

TEST(histograms_have_callers_and_an_order)
{
	const struct profile_view by_name = { .sort = PROFILE_BY_NAME, .has_callers = true };
	const struct profile_view by_cnt = { .sort = PROFILE_BY_COUNT };
	struct profile *p = sample();
	struct strbuf out = { 0 };

	CHECK(profile_print_latency(p, "[bc]", &by_name, &out) == 2);
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "b: 6 calls") < strstr(out.ptr, "c: 3 calls"));
	CHECK(strstr(out.ptr, "         2          0.100  <- c\n\nc: 3 calls"));
	strbuf_reset(&out);
	CHECK(profile_print_latency(p, "[ac]", &by_cnt, &out) == 2);
	strbuf_char(&out, '\0');
	CHECK(strstr(out.ptr, "c: 3 calls") < strstr(out.ptr, "a: 2 calls"));
	CHECK(!strstr(out.ptr, "<-"));
	strbuf_release(&out);
}

/* A table begins anew while calls are open. */
TEST(calls_count_in_the_table_in_which_they_return)
{
	const struct profile_view view = { .has_callers = true };
	struct profile *p = new_profile(true);

	profile_feed(p, "1000 a{ 1100 b;100");
	check_table(p, &view, "1 0.100 b;1 0.100 <- a;");
	profile_restart(p);
	CHECK(!profile_func_cnt(p));
	check_table(p, &view, "");
	profile_feed(p, "@1 2100 b;50 6000 }a;5000");
	check_table(p, &view, "1 5.000 a;1 5.000 <- (outermost);1 0.050 b;1 0.050 <- a;");
	CHECK(get(p, "a").self_ns == 5000 - 150);
	CHECK(get(p, "b").min_ns == 50 && get(p, "b").max_ns == 50);
}
