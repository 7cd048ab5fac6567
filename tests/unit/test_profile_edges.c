/* Who calls whom: callers and callees below the functions of a table. */
#include <string.h>

#include "harness.h"
#include "profiled.h"

/* a { b; c { b } b } twice, and c alone */
static struct profile *sample(void)
{
	const struct profile_config config = { .has_callers = true };
	struct profile *p;

	CHECK(!profile_new(&p, &config));
	for (uint64_t t = 0; t < 20000; t += 10000) {
		const struct row rows[] = {
			call_row(ROW_ENTRY, 0, t + 1000, 0, "a"),
			call_row(ROW_LEAF, 1, t + 1100, 100, "b"),
			call_row(ROW_ENTRY, 1, t + 2000, 0, "c"),
			call_row(ROW_LEAF, 2, t + 2100, 50, "b"),
			call_row(ROW_RETURN, 1, t + 3000, 1000, "c"),
			call_row(ROW_LEAF, 1, t + 4000, 7, "b"),
			call_row(ROW_RETURN, 0, t + 6000, 5000, "a"),
		};

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			CHECK(!profile_row(p, &rows[i]));
	}
	CHECK(!profile_row(p, &(struct row){ .kind = ROW_LEAF,
					     .time_ns = 90000,
					     .duration_ns = 3,
					     .task.tid = 5,
					     .name = { "c", 1 } }));
	profile_finish(p);
	return p;
}

/* The table without its numbers but for counts and totals: "2 10.000 a;". */
static void check_table(const struct profile *p, const struct profile_view *view, const char *want)
{
	struct strbuf out = { 0 };
	char got[1024] = "";

	CHECK(!profile_print(p, view, &out));
	strbuf_char(&out, '\0');
	for (char *line = strtok(out.ptr, "\n"); (line = strtok(NULL, "\n"));) {
		char *name = strchr(line, '<') ? strchr(line, '<') : strchr(line, '-');
		char cnt[16];
		char total[16];

		CHECK(sscanf(line, "%15s %15s", cnt, total) == 2);
		name = name ? name : strrchr(line, ' ') + 1;
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s %s %s;", cnt, total,
			 name);
	}
	CHECK_STR(got, want);
	strbuf_release(&out);
}

TEST(callees_of_each_function)
{
	const struct profile_view view = { .sort = PROFILE_BY_NAME, .has_callees = true };
	struct profile *p = sample();

	check_table(p, &view,
		    "2 10.000 a;4 0.214 -> b;2 2.000 -> c;6 0.314 b;3 2.003 c;2 0.100 -> b;");
	profile_free(p);
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
	profile_free(p);
}

TEST(rows_are_counted_where_functions_are_left_out)
{
	const struct profile_view view = { .row_max = 1,
					   .has_callers = true,
					   .callers_of = "[bc]" };
	struct profile *p = sample();

	check_table(p, &view, "3 2.003 c;2 2.000 <- a;1 0.003 <- (outermost);");
	profile_free(p);
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
	profile_free(p);
}

/* A table begins anew while calls are open. */
TEST(calls_count_in_the_table_in_which_they_return)
{
	const struct profile_config config = { .has_callers = true };
	const struct profile_view view = { .has_callers = true };
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 1000, 0, "a"),
		call_row(ROW_LEAF, 1, 1100, 100, "b"),
		call_row(ROW_LEAF, 1, 2100, 50, "b"),
		call_row(ROW_RETURN, 0, 6000, 5000, "a"),
	};
	struct profile *p;

	CHECK(!profile_new(&p, &config));
	CHECK(!profile_row(p, &rows[0]) && !profile_row(p, &rows[1]));
	check_table(p, &view, "1 0.100 b;1 0.100 <- a;");
	profile_restart(p);
	CHECK(!profile_func_cnt(p));
	check_table(p, &view, "");
	CHECK(!profile_row(p, &rows[2]) && !profile_row(p, &rows[3]));
	check_table(p, &view, "1 5.000 a;1 5.000 <- (outermost);1 0.050 b;1 0.050 <- a;");
	CHECK(get(p, "a").self_ns == 5000 - 150);
	CHECK(get(p, "b").min_ns == 50 && get(p, "b").max_ns == 50);
	profile_free(p);
}
