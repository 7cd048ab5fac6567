/* Sums, percentiles and tables of known durations. */
#include "format/profile.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "nfg_hist.h"
#include "profiled.h"

AFTER(free_profiles);

/* An open call at the end, and one whose entry is missing. */
static const char sample[] =
	"1000 a{ 1100 b;100 2000 a{ 2100 b;300 3000 } 6000 } 7000 c[mod];1234567 "
	"7000000 c;10 lost3 8000000 }d;40 9000000 e{";

TEST(sums)
{
	struct profile *p = profile_of(false, sample);
	struct profile_func a = get(p, "a");
	struct profile_func b = get(p, "b");

	CHECK(profile_func_cnt(p) == 5);
	CHECK(a.call_cnt == 2 && a.total_ns == 5000); /* the recursion once */
	CHECK(a.self_ns == 5000 - 100 - 1000 + 1000 - 300);
	CHECK(a.min_ns == 1000 && a.max_ns == 5000 && a.avg_ns == 3000);
	CHECK(b.call_cnt == 2 && b.total_ns == 400 && b.self_ns == 400);
	CHECK(get(p, "d").call_cnt == 1 && get(p, "d").total_ns == 40);
	CHECK(profile_gap_cnt(p) == 1 && profile_partial_cnt(p) == 1);
}

/* Durations across missing events are not added up, neither a child's nor a return's. */
TEST(ends_that_may_not_belong_together_are_not_counted)
{
	struct profile *p = profile_of(false, "1000 a{ 1100 b;100 9000 }a;? 9500 a;20");
	struct profile_func a = get(p, "a");

	CHECK(a.call_cnt == 1 && a.total_ns == 20 && a.self_ns == 20 && a.max_ns == 20);
	CHECK(get(p, "b").call_cnt == 1);
	CHECK(profile_partial_cnt(p) == 1 && profile_stray_cnt(p) == 1);
}

/* If a call's duration is unknown, the time of the calls inside it counts for no other call. */
TEST(total_is_never_below_self)
{
	struct profile *p = profile_of(false, "1000 a{ 1100 a{ 1200 a;50 1400 } 1500 a;70 "
					      "@0 2000 b{ @1 2100 a;5 @0 2500 }b;500");
	struct profile_func a = get(p, "a");

	CHECK(a.call_cnt == 4 && a.total_ns == 300 + 70 + 5 && a.self_ns == 250 + 50 + 70 + 5);
	CHECK(get(p, "b").self_ns == 495 && profile_partial_cnt(p) == 1);
}

TEST(table)
{
	struct profile *p = profile_of(true, sample);

	CHECK_STR(table_of(p, &(struct profile_view){ .sort = PROFILE_BY_TOTAL,
						      .row_max = 3,
						      .has_callers = true }),
		  "     COUNT       TOTAL us        SELF us       AVG us       P50 us       "
		  "P99 us       MAX us  FUNCTION\n"
		  "         1       1234.567       1234.567     1234.567     1234.567     "
		  "1234.567     1234.567  c [mod]\n"
		  "         1       1234.567                                              "
		  "                       <- (outermost)\n"
		  "         2          5.000          4.600        3.000        1.000        "
		  "5.000        5.000  a\n"
		  "         1          1.000                                              "
		  "                       <- a\n"
		  "         1          5.000                                              "
		  "                       <- (outermost)\n"
		  "         2          0.400          0.400        0.200        0.100        "
		  "0.300        0.300  b\n"
		  "         2          0.400                                              "
		  "                       <- a\n");
}

static const char *first_name(const struct profile *p, enum profile_sort sort)
{
	const struct profile_view view = { .sort = sort, .row_max = 1, .has_callers = true };
	static char name[64];
	const char *line = strchr(table_of(p, &view), '\n') + 1;

	CHECK(sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %63s", name) == 1);
	return name;
}

TEST(sorted)
{
	struct profile *p =
		profile_of(false,
			   "0 outer{ 1000 self;800 2000 often;1 3000 often;1 4000 }outer;1000");
	enum profile_sort sort;

	CHECK_STR(first_name(p, PROFILE_BY_TOTAL), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_SELF), "self");
	CHECK_STR(first_name(p, PROFILE_BY_COUNT), "often");
	CHECK_STR(first_name(p, PROFILE_BY_MAX), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_AVG), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_P99), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_NAME), "often");
	CHECK(!profile_sort_by_name("self", &sort) && sort == PROFILE_BY_SELF);
	CHECK(profile_sort_by_name("size", &sort) == -ENOENT);
}

TEST(nothing)
{
	struct profile *p = profile_of(true, "");
	struct strbuf out = { 0 };

	CHECK(!profile_func_cnt(p));
	CHECK(!profile_put_table(p,
				 &(struct profile_view){ .sort = PROFILE_BY_SELF,
							 .row_max = 0,
							 .has_callers = true },
				 &(struct profile_origin){ 0 }, &(struct tablew){ .out = &out }));
	CHECK(!profile_print_latency(p, "*", &(struct profile_view){ .sort = PROFILE_BY_NAME },
				     &out));
	CHECK(memchr(out.ptr, '\n', out.len) == out.ptr + out.len - 1);
	strbuf_release(&out);
}

TEST(latency)
{
	struct profile *p = new_profile(false);
	struct strbuf out = { 0 };

	for (unsigned int i = 0; i < 6; i++)
		profile_feed(p, i < 4 ? "tcp_sendmsg;1500" : "tcp_sendmsg;5000");
	profile_feed(p, "60000 udp_sendmsg;0");
	profile_finish(p);
	CHECK(profile_print_latency(p, "*", &(struct profile_view){ .sort = PROFILE_BY_NAME },
				    &out) == 2);
	strbuf_char(&out, '\0');
	CHECK_STR(
		out.ptr,
		"tcp_sendmsg: 6 calls, min 1.500 us, avg 2.666 us, p50 1.500 us, p99 5.000 us, "
		"max 5.000 us; in ns:\n"
		"[1K, 2K)                   4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"[2K, 4K)                   0 |                                                    |\n"
		"[4K, 8K)                   2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		"\n"
		"udp_sendmsg: 1 call, min 0.000 us, avg 0.000 us, p50 0.000 us, p99 0.000 us, "
		"max 0.000 us; in ns:\n"
		"[0]                        1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
	strbuf_reset(&out);
	CHECK(profile_print_latency(p, "udp_*", &(struct profile_view){ .sort = PROFILE_BY_NAME },
				    &out) == 1);
	strbuf_release(&out);
}

/* Against the sorted values themselves: nearest rank, within 2 percent. */
TEST(percentiles)
{
	static uint64_t values[20000];
	const size_t cnt = sizeof(values) / sizeof(values[0]);
	uint64_t random = 4711;
	struct hist h = { 0 };

	for (size_t i = 0; i < cnt; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		values[i] = (random >> 20) >> (random >> 58); /* all sizes */
		CHECK(!hist_add(&h, values[i]));
	}
	qsort(values, cnt, sizeof(values[0]), compare_u64);
	for (int pct = 1; pct <= 100; pct++) {
		uint64_t want = values[(cnt * (size_t)pct + 99) / 100 - 1];
		uint64_t got = hist_percentile(&h, pct);
		uint64_t diff = got > want ? got - want : want - got;

		CHECK(diff * 50 <= want);
	}
	CHECK(h.min == values[0] && h.max == values[cnt - 1]);
	hist_release(&h);
}

TEST(hist_edges)
{
	static const uint64_t values[] = {
		0, 1, 63, 64, 65, UINT32_MAX, UINT64_MAX / 2, UINT64_MAX
	};

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		struct hist h = { 0 };
		struct strbuf out = { 0 };

		CHECK(!hist_percentile(&h, 50));
		CHECK(!hist_add(&h, values[i]));
		CHECK(hist_percentile(&h, 50) == values[i]);
		hist_print(&h, &out);
		CHECK(out.len && memchr(out.ptr, '\n', out.len) == out.ptr + out.len - 1);
		strbuf_release(&out);
		hist_release(&h);
	}
}

/* A host that forks makes no profile grow: a million tasks with a call each. */
TEST(memory_does_not_grow_with_tasks)
{
	struct row row = call_row(ROW_LEAF, 3, 1000, 10, "f");
	struct row stuck = call_row(ROW_ENTRY, 0, 1000, 0, "stuck");
	struct mallinfo2 before;
	struct mallinfo2 after;
	struct profile *p;

	p = new_profile(false);
	stuck.task.tid = 1;
	CHECK(!profile_row(p, &stuck));
	for (uint32_t tid = 2; tid < 10000; tid++) {
		row.task.tid = tid;
		CHECK(!profile_row(p, &row));
	}
	before = mallinfo2();
	for (uint32_t tid = 10000; tid < 1000000; tid++) {
		row.task.tid = tid;
		row.depth = tid % 2 ? 3 : 0;
		CHECK(!profile_row(p, &row));
	}
	after = mallinfo2();
	CHECK(after.uordblks < before.uordblks + (64u << 20));
	/* who is within a call is not forgotten */
	stuck = call_row(ROW_RETURN, 0, 900000, 899000, "stuck");
	stuck.task.tid = 1;
	CHECK(!profile_row(p, &stuck));
	CHECK(get(p, "stuck").call_cnt == 1 && get(p, "f").call_cnt == 999998);
}

/* As the hardware counts the leading zeros. */
static uint32_t bucket_by_clz(uint64_t value)
{
	unsigned int shift;

	if (value < 64)
		return (uint32_t)value;
	shift = 63 - (unsigned int)__builtin_clzll(value) - 5;
	return shift * 32 + (uint32_t)(value >> shift);
}

TEST(bucket_of_every_size)
{
	uint64_t random = 4711;

	for (uint64_t i = 0; i < 5000; i++)
		CHECK(nfg_hist_bucket(i) == bucket_by_clz(i));
	for (int power = 6; power < 64; power++) {
		uint64_t value = 1ull << power;

		CHECK(nfg_hist_bucket(value - 1) == bucket_by_clz(value - 1));
		CHECK(nfg_hist_bucket(value) == bucket_by_clz(value));
		CHECK(nfg_hist_bucket(value + 1) == bucket_by_clz(value + 1));
		CHECK(nfg_hist_bucket(value - 1) + 1 == nfg_hist_bucket(value));
	}
	for (int i = 0; i < 100000; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		CHECK(nfg_hist_bucket(random >> (i & 63)) == bucket_by_clz(random >> (i & 63)));
	}
	CHECK(nfg_hist_bucket((1ull << 40) - 1) == NFG_HIST_CNT - 1);
	CHECK(nfg_hist_bucket(UINT64_MAX) == bucket_by_clz(UINT64_MAX));
}

static void put_calls(struct profile *p, const char *name, const uint64_t *values, size_t cnt,
		      uint64_t inner_ns)
{
	uint64_t buckets[NFG_HIST_CNT] = { 0 };
	struct profile_sums sums = { .min_ns = UINT64_MAX,
				     .buckets = buckets,
				     .bucket_cnt = NFG_HIST_CNT };
	uint32_t func;

	for (size_t i = 0; i < cnt; i++) {
		buckets[nfg_hist_bucket(values[i])]++;
		sums.call_cnt++;
		sums.sum_ns += values[i];
		sums.min_ns = values[i] < sums.min_ns ? values[i] : sums.min_ns;
		sums.max_ns = values[i] > sums.max_ns ? values[i] : sums.max_ns;
	}
	sums.total_ns = sums.sum_ns - inner_ns;
	sums.self_ns = sums.sum_ns;
	CHECK(!profile_func_named(p, (struct text){ name, strlen(name) }, (struct text){ "", 0 },
				  &func));
	CHECK(!profile_put(p, func, &sums));
}

/* Sums in two parts make the table that the calls one by one make. */
TEST(sums_put)
{
	static const uint64_t values[] = { 40, 100, 100, 7777, 1234567, 65, 64, 0, 1ull << 39 };
	const struct profile_view by_total = { .sort = PROFILE_BY_TOTAL, .has_callers = true };
	const struct profile_view by_name = { .sort = PROFILE_BY_NAME };
	struct strbuf out[2] = { 0 };
	struct profile *p = profile_of(true, "");
	struct profile *by_rows =
		profile_of(true, "0 f;40 10000000 f;100 20000000 f;100 30000000 f;7777 "
				 "40000000 f;1234567 50000000 f;65 60000000 f;64 70000000 f;0 "
				 "80000000 f;549755813888");

	put_calls(p, "f", values, 4, 0);
	put_calls(p, "f", values + 4, 5, 0);
	put_calls(p, "never", NULL, 0, 0);
	CHECK(!profile_put_caller(p, 1, PROFILE_OUTERMOST, 9, get(p, "f").total_ns));
	CHECK_STR(table_of(p, &by_total), table_of(by_rows, &by_total));
	CHECK(profile_print_latency(p, "f", &by_name, &out[0]) == 1);
	CHECK(profile_print_latency(by_rows, "f", &by_name, &out[1]) == 1);
	CHECK(out[0].len == out[1].len && !memcmp(out[0].ptr, out[1].ptr, out[0].len));
	CHECK(profile_func_cnt(p) == 1);
	profile_put_partial(p, 3);
	CHECK(profile_partial_cnt(p) == 3);
	strbuf_release(&out[0]);
	strbuf_release(&out[1]);
}
