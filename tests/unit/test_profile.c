/* Sums, percentiles and tables of known durations. */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static struct row call_row(enum row_kind kind, uint32_t depth, uint64_t time_ns,
			   uint64_t duration_ns, const char *name)
{
	return (struct row){
		.kind = kind,
		.depth = depth,
		.time_ns = time_ns,
		.duration_ns = duration_ns,
		.task = { 77, { "curl", 4 } },
		.name = { name, strlen(name) },
	};
}

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

static struct profile_func get(const struct profile *p, const char *name)
{
	struct profile_func f;

	for (uint32_t i = 0; i < profile_func_cnt(p); i++) {
		profile_func_get(p, i, &f);
		if (f.name.len == strlen(name) && !memcmp(f.name.ptr, name, f.name.len))
			return f;
	}
	return (struct profile_func){ 0 };
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

TEST(table)
{
	size_t cnt;
	const struct row *rows = sample_rows(&cnt);
	struct profile *p = profile_of(true, rows, cnt);
	struct strbuf out = { 0 };

	CHECK(!profile_print(p, PROFILE_BY_TOTAL, 3, &out));
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
	CHECK(!profile_print(p, sort, 1, out));
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
	CHECK(!profile_print(p, PROFILE_BY_SELF, 0, &out));
	CHECK(!profile_print_latency(p, "*", &out));
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
	CHECK(profile_print_latency(p, "*", &out) == 2);
	strbuf_char(&out, '\0');
	CHECK_STR(
		out.ptr,
		"tcp_sendmsg: 6 calls, min 1.500 us, avg 2.666 us, p50 1.500 us, p99 5.000 us, "
		"max 5.000 us; in ns:\n"
		"[1K, 2K)                   4 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"[2K, 4K)                   0 |                                                    |\n"
		"[4K, 8K)                   2 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		"\n"
		"udp_sendmsg: 1 calls, min 0.000 us, avg 0.000 us, p50 0.000 us, p99 0.000 us, "
		"max 0.000 us; in ns:\n"
		"[0]                        1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n");
	strbuf_reset(&out);
	CHECK(profile_print_latency(p, "udp_*", &out) == 1);
	strbuf_release(&out);
	profile_free(p);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t va = *(const uint64_t *)a;
	uint64_t vb = *(const uint64_t *)b;

	return (va > vb) - (va < vb);
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
