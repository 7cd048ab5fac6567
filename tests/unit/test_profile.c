/* Sums, percentiles and tables of known durations. */
#include "format/profile.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "nfg_hist.h"
#include "profiled.h"

static struct profile *profile_of(bool has_callers, const struct row *rows, size_t cnt)
{
	const struct profile_config config = { .has_callers = has_callers };
	struct profile *p;

	CHECK(!profile_new(&p, &config));
	for (size_t i = 0; i < cnt; i++)
		CHECK(!profile_row(p, &rows[i]));
	profile_finish(p);
	return p;
}

/* a { b a { b } } c, c; an open call and one whose entry is missing */
static const struct row *sample_rows(size_t *cnt)
{
	static struct row rows[11];

	rows[0] = call_row(ROW_ENTRY, 0, 1000, 0, "a");
	rows[1] = call_row(ROW_LEAF, 1, 1100, 100, "b");
	rows[2] = call_row(ROW_ENTRY, 1, 2000, 0, "a");
	rows[3] = call_row(ROW_LEAF, 2, 2100, 300, "b");
	rows[4] = call_row(ROW_RETURN, 1, 3000, 1000, "a");
	rows[5] = call_row(ROW_RETURN, 0, 6000, 5000, "a");
	rows[6] = call_row(ROW_LEAF, 0, 7000, 1234567, "c");
	rows[6].module = (struct text){ "mod", 3 };
	rows[7] = call_row(ROW_LEAF, 0, 7000000, 10, "c");
	rows[8] = (struct row){ .kind = ROW_LOST, .lost_cnt = 3 };
	rows[9] = call_row(ROW_RETURN, 0, 8000000, 40, "d");
	rows[10] = call_row(ROW_ENTRY, 0, 9000000, 0, "e");
	*cnt = 11;
	return rows;
}

TEST(sums)
{
	size_t cnt;
	const struct row *rows = sample_rows(&cnt);
	struct profile *p = profile_of(false, rows, cnt);
	struct profile_func a = get(p, "a");
	struct profile_func b = get(p, "b");

	CHECK(profile_func_cnt(p) == 5);
	CHECK(a.call_cnt == 2 && a.total_ns == 5000); /* the recursion once */
	CHECK(a.self_ns == 5000 - 100 - 1000 + 1000 - 300);
	CHECK(a.min_ns == 1000 && a.max_ns == 5000 && a.avg_ns == 3000);
	CHECK(b.call_cnt == 2 && b.total_ns == 400 && b.self_ns == 400);
	CHECK(get(p, "d").call_cnt == 1 && get(p, "d").total_ns == 40);
	CHECK(profile_gap_cnt(p) == 1 && profile_partial_cnt(p) == 1);
	profile_free(p);
}

/* Durations across missing events are not added up, neither a child's nor a return's. */
TEST(ends_that_may_not_belong_together_are_not_counted)
{
	struct row rows[4] = {
		call_row(ROW_ENTRY, 0, 1000, 0, "a"),
		call_row(ROW_LEAF, 1, 1100, 100, "b"),
		call_row(ROW_RETURN, 0, 9000, 0, "a"),
		call_row(ROW_LEAF, 0, 9500, 20, "a"),
	};
	struct profile *p;
	struct profile_func a;

	rows[2].lacks_duration = true;
	p = profile_of(false, rows, 4);
	a = get(p, "a");
	CHECK(a.call_cnt == 1 && a.total_ns == 20 && a.self_ns == 20 && a.max_ns == 20);
	CHECK(get(p, "b").call_cnt == 1);
	CHECK(profile_partial_cnt(p) == 1 && profile_stray_cnt(p) == 1);
	profile_free(p);
}

/* If a call's duration is unknown, the time of the calls inside it counts for no other call. */
TEST(total_is_never_below_self)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 1000, 0, "a"), call_row(ROW_ENTRY, 1, 1100, 0, "a"),
		call_row(ROW_LEAF, 2, 1200, 50, "a"), call_row(ROW_RETURN, 1, 1400, 300, "a"),
		call_row(ROW_LEAF, 1, 1500, 70, "a"), call_row(ROW_ENTRY, 0, 2000, 0, "b"),
		call_row(ROW_LEAF, 1, 2100, 5, "a"),  call_row(ROW_RETURN, 0, 2500, 500, "b"),
	};
	struct profile *p = profile_of(false, rows, 8);
	struct profile_func a = get(p, "a");

	CHECK(a.call_cnt == 4 && a.total_ns == 300 + 70 + 5 && a.self_ns == 250 + 50 + 70 + 5);
	CHECK(get(p, "b").self_ns == 495 && profile_partial_cnt(p) == 1);
	profile_free(p);
}

TEST(table)
{
	size_t cnt;
	const struct row *rows = sample_rows(&cnt);
	struct profile *p = profile_of(true, rows, cnt);
	struct strbuf out = { 0 };

	CHECK(!profile_print(p,
			     &(struct profile_view){
				     .sort = PROFILE_BY_TOTAL, .row_max = 3, .has_callers = true },
			     &out));
	strbuf_char(&out, '\0');
	CHECK_STR(out.ptr,
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
	strbuf_release(&out);
	profile_free(p);
}

static const char *first_name(const struct profile *p, enum profile_sort sort, struct strbuf *out)
{
	char *name;

	strbuf_reset(out);
	CHECK(!profile_print(
		p, &(struct profile_view){ .sort = sort, .row_max = 1, .has_callers = true }, out));
	out->ptr[out->len - 1] = '\0';
	name = strrchr(out->ptr, '\n');
	CHECK(name);
	return strrchr(name, ' ') + 1;
}

TEST(sorted)
{
	const struct row rows[] = {
		call_row(ROW_ENTRY, 0, 0, 0, "outer"),
		call_row(ROW_LEAF, 1, 1000, 800, "self"),
		call_row(ROW_LEAF, 1, 2000, 1, "often"),
		call_row(ROW_LEAF, 1, 3000, 1, "often"),
		call_row(ROW_RETURN, 0, 4000, 1000, "outer"),
	};
	struct profile *p = profile_of(false, rows, 5);
	struct strbuf out = { 0 };
	enum profile_sort sort;

	CHECK_STR(first_name(p, PROFILE_BY_TOTAL, &out), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_SELF, &out), "self");
	CHECK_STR(first_name(p, PROFILE_BY_COUNT, &out), "often");
	CHECK_STR(first_name(p, PROFILE_BY_MAX, &out), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_AVG, &out), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_P99, &out), "outer");
	CHECK_STR(first_name(p, PROFILE_BY_NAME, &out), "often");
	CHECK(!profile_sort_by_name("self", &sort) && sort == PROFILE_BY_SELF);
	CHECK(profile_sort_by_name("size", &sort) == -ENOENT);
	strbuf_release(&out);
	profile_free(p);
}

TEST(nothing)
{
	struct profile *p = profile_of(true, NULL, 0);
	struct strbuf out = { 0 };

	CHECK(!profile_func_cnt(p));
	CHECK(!profile_print(p,
			     &(struct profile_view){
				     .sort = PROFILE_BY_SELF, .row_max = 0, .has_callers = true },
			     &out));
	CHECK(!profile_print_latency(p, "*", &(struct profile_view){ .sort = PROFILE_BY_NAME },
				     &out));
	CHECK(memchr(out.ptr, '\n', out.len) == out.ptr + out.len - 1);
	strbuf_release(&out);
	profile_free(p);
}

TEST(latency)
{
	struct profile *p;
	struct row rows[7];
	struct strbuf out = { 0 };

	for (unsigned int i = 0; i < 7; i++)
		rows[i] = call_row(ROW_LEAF, 0, i * 10000, i < 4 ? 1500 : 5000, "tcp_sendmsg");
	rows[6].name = (struct text){ "udp_sendmsg", 11 };
	rows[6].duration_ns = 0;
	p = profile_of(false, rows, 7);
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
	profile_free(p);
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
	const struct profile_config config = { 0 };
	struct row row = call_row(ROW_LEAF, 3, 1000, 10, "f");
	struct row stuck = call_row(ROW_ENTRY, 0, 1000, 0, "stuck");
	struct mallinfo2 before;
	struct mallinfo2 after;
	struct profile *p;

	CHECK(!profile_new(&p, &config));
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
	profile_free(p);
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
	struct row rows[9];
	struct strbuf out = { 0 };
	struct strbuf want = { 0 };
	struct profile *p = profile_of(true, NULL, 0);
	struct profile *by_rows;

	for (unsigned int i = 0; i < 9; i++)
		rows[i] = call_row(ROW_LEAF, 0, i * 10000000, values[i], "f");
	by_rows = profile_of(true, rows, 9);
	put_calls(p, "f", values, 4, 0);
	put_calls(p, "f", values + 4, 5, 0);
	put_calls(p, "never", NULL, 0, 0);
	CHECK(!profile_put_caller(p, 1, PROFILE_OUTERMOST, 9, get(p, "f").total_ns));
	CHECK(!profile_print(p,
			     &(struct profile_view){
				     .sort = PROFILE_BY_TOTAL, .row_max = 0, .has_callers = true },
			     &out));
	CHECK(!profile_print(by_rows,
			     &(struct profile_view){
				     .sort = PROFILE_BY_TOTAL, .row_max = 0, .has_callers = true },
			     &want));
	CHECK(profile_print_latency(p, "f", &(struct profile_view){ .sort = PROFILE_BY_NAME },
				    &out) == 1);
	CHECK(profile_print_latency(by_rows, "f", &(struct profile_view){ .sort = PROFILE_BY_NAME },
				    &want) == 1);
	strbuf_char(&out, '\0');
	strbuf_char(&want, '\0');
	CHECK_STR(out.ptr, want.ptr);
	CHECK(profile_func_cnt(p) == 1);
	profile_put_partial(p, 3);
	CHECK(profile_partial_cnt(p) == 3);
	strbuf_release(&out);
	strbuf_release(&want);
	profile_free(p);
	profile_free(by_rows);
}
