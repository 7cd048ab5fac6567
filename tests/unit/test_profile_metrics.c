/* Tables as Prometheus reads them. */
#include "format/profile_table.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "profiled.h"

static struct profile_metrics *pm;
static struct profile *p;

static void begin(unsigned int func_max, struct metrics_label label)
{
	p = new_profile(false);
	CHECK(!profile_metrics_new(&pm, func_max, label));
}

static void end(void)
{
	profile_metrics_free(pm);
	free_profiles();
}
AFTER(end);

static void call(const char *name, uint64_t duration_ns, size_t cnt)
{
	static uint64_t time_ns;
	struct row row;

	for (size_t i = 0; i < cnt; i++) {
		time_ns += duration_ns + 1;
		row = call_row(ROW_LEAF, 0, time_ns, duration_ns, name);
		CHECK(!profile_row(p, &row));
	}
}

/* What the exposition says: the number behind @series, or -1. */
static double value(const char *series)
{
	struct strbuf out = { 0 };
	const char *at;
	double number = -1;

	CHECK(!profile_metrics_put(pm, p, &out));
	strbuf_char(&out, '\0');
	at = strstr(out.ptr, series);
	if (at)
		number = strtod(at + strlen(series), NULL);
	strbuf_release(&out);
	return number;
}

#define DURATION "\nnetfgraph_call_duration_seconds"

TEST(metrics_count_at_the_ends_of_buckets)
{
	begin(5, (struct metrics_label){ 0 });
	call("f", 255, 2);
	call("f", 256, 1);
	call("f", 20000000000, 1);
	CHECK(value(DURATION "_bucket{func=\"f\",le=\"0.000000255\"} ") == 2);
	CHECK(value(DURATION "_bucket{func=\"f\",le=\"0.000000511\"} ") == 3);
	CHECK(value(DURATION "_bucket{func=\"f\",le=\"17.179869183\"} ") == 3);
	CHECK(value(DURATION "_bucket{func=\"f\",le=\"+Inf\"} ") == 4);
	CHECK(value(DURATION "_count{func=\"f\"} ") == 4);
	CHECK(value(DURATION "_sum{func=\"f\"} ") == 20.000000766);
}

/* A series that belongs to somebody stays, and the sum of the others never shrinks. */
TEST(metrics_of_the_first_functions_stay)
{
	begin(1, (struct metrics_label){ "pod", "shop/web \"1\"\\" });
	call("first", 1000, 1);
	CHECK(value("_count{func=\"first\",pod=\"shop/web \\\"1\\\"\\\\\"} ") == 1);
	CHECK(value("func=\"(other)\"") == -1 && !profile_metrics_other_cnt(pm));
	call("second", 1000, 10);
	call("third", 2000, 5);
	CHECK(value("_count{func=\"first\",pod=\"shop/web \\\"1\\\"\\\\\"} ") == 1);
	CHECK(value("_count{func=\"(other)\",pod=\"shop/web \\\"1\\\"\\\\\"} ") == 15);
	CHECK(value("func=\"second\"") == -1 && profile_metrics_other_cnt(pm) == 2);
	CHECK(value("\nnetfgraph_other_functions ") == 2);
}

TEST(metrics_say_what_is_missing)
{
	const struct row open = call_row(ROW_ENTRY, 0, 10, 0, "f");

	begin(1, (struct metrics_label){ 0 });
	CHECK(value("\nnetfgraph_uncounted_calls ") == 0);
	CHECK(!profile_row(p, &open));
	profile_finish(p);
	CHECK(value("\nnetfgraph_uncounted_calls ") == 1);
	CHECK(value("\nnetfgraph_gaps ") == 0 && value("\n# EOF\n") == 0);
}
