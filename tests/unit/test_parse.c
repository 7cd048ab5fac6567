#include "base/parse.h"

#include <string.h>

#include "harness.h"

static const struct {
	const char *text;
	const char *why; /* NULL: fine */
	uint64_t value;
} u64_cases[] = {
	{ "1", NULL, 1 },
	{ "100", NULL, 100 },
	{ "007", NULL, 7 },
	{ "", "is empty where a number is needed", 0 },
	{ "-1", "is negative", 0 },
	{ "+1", "is not a number", 0 },
	{ " 1", "is not a number", 0 },
	{ "12abc", "is not a whole number", 0 },
	{ "1.5", "is not a whole number", 0 },
	{ "0x10", "is not a whole number", 0 },
	{ "0", "is too small", 0 },
	{ "101", "is too large", 0 },
	{ "1180591620717411303424", "is too large", 0 }, /* 2^70 */
	{ "18446744073709551616", "is too large", 0 },   /* 2^64 */
};

TEST(u64_is_strict)
{
	for (size_t i = 0; i < sizeof(u64_cases) / sizeof(u64_cases[0]); i++) {
		uint64_t value = 0;
		const char *why = parse_u64(u64_cases[i].text, 1, 100, &value);

		CHECK(!why == !u64_cases[i].why);
		if (why)
			CHECK_STR(why, u64_cases[i].why);
		CHECK(value == u64_cases[i].value);
	}
}

TEST(u64_reaches_its_end)
{
	uint64_t value;

	CHECK(!parse_u64("18446744073709551615", 0, UINT64_MAX, &value));
	CHECK(value == UINT64_MAX);
}

static const struct {
	const char *text;
	bool is_fine;
	uint64_t value_ns;
} duration_cases[] = {
	{ "1ns", true, 1 },
	{ "500ms", true, 500000000 },
	{ "10s", true, 10000000000 },
	{ "1.5s", true, 1500000000 },
	{ "0.25us", true, 250 },
	{ "2m", true, 120000000000 },
	{ "1h", true, 3600000000000 },
	{ "1.9ns", true, 1 },
	{ "1.0000000000000000000000000000001s", true, 1000000000 },
	{ "5", false, 0 },
	{ "0s", false, 0 },
	{ "1.s", false, 0 },
	{ ".5s", false, 0 },
	{ "1 s", false, 0 },
	{ "1sec", false, 0 },
	{ "-1s", false, 0 },
	{ "", false, 0 },
	{ "99999999999999999999s", false, 0 },
	{ "9999999999999h", false, 0 },
	{ "4611686018427387903ns", true, 4611686018427387903 },
	{ "4611686018427387904ns", false, 0 },
	{ "5124095h", false, 0 },
};

TEST(duration_needs_a_unit)
{
	for (size_t i = 0; i < sizeof(duration_cases) / sizeof(duration_cases[0]); i++) {
		uint64_t value_ns = 0;

		CHECK(!parse_duration(duration_cases[i].text, &value_ns) ==
		      duration_cases[i].is_fine);
		CHECK(value_ns == duration_cases[i].value_ns);
	}
}

TEST(size_knows_three_suffixes)
{
	uint64_t bytes;

	CHECK(!parse_size("4096", &bytes) && bytes == 4096);
	CHECK(!parse_size("64K", &bytes) && bytes == 65536);
	CHECK(!parse_size("4m", &bytes) && bytes == 4 << 20);
	CHECK(!parse_size("1G", &bytes) && bytes == 1 << 30);
	CHECK(parse_size("1T", &bytes));
	CHECK(parse_size("1KB", &bytes));
	CHECK(parse_size("1 ", &bytes));
	CHECK(parse_size("K", &bytes));
	CHECK(parse_size("18446744073709551615G", &bytes));
}

TEST(count_has_thousands)
{
	uint64_t cnt;

	CHECK(!parse_count("1", &cnt) && cnt == 1);
	CHECK(!parse_count("50K", &cnt) && cnt == 50000);
	CHECK(!parse_count("2m", &cnt) && cnt == 2000000);
	CHECK(!parse_count("3G", &cnt) && cnt == 3000000000);
	CHECK(parse_count("0", &cnt));
	CHECK(parse_count("0K", &cnt));
	CHECK(parse_count("1.5K", &cnt));
	CHECK(parse_count("5/s", &cnt));
	CHECK(parse_count("5 ", &cnt));
	CHECK(parse_count("18446744073709551615K", &cnt));
}

TEST(num_list_adds_up)
{
	struct num_list list = { 0 };

	CHECK(!parse_num_list("1,22,333", 1, 1000, &list));
	CHECK(!parse_num_list("4", 1, 1000, &list));
	CHECK(list.cnt == 4 && list.items[0] == 1 && list.items[2] == 333 && list.items[3] == 4);
	CHECK(parse_num_list("", 1, 1000, &list));
	CHECK(parse_num_list("1,", 1, 1000, &list));
	CHECK(parse_num_list("1,,2", 1, 1000, &list));
	CHECK(parse_num_list("1;2", 1, 1000, &list));
	CHECK(parse_num_list("0", 1, 1000, &list));
	CHECK(parse_num_list("1001", 1, 1000, &list));
	num_list_release(&list);
}

TEST(cpu_list_has_ranges)
{
	struct cpu_set_list set = { 0 };

	CHECK(!parse_cpu_list("0,2-4,8191", &set));
	CHECK(cpu_set_list_has(&set, 0) && !cpu_set_list_has(&set, 1));
	CHECK(cpu_set_list_has(&set, 2) && cpu_set_list_has(&set, 4));
	CHECK(!cpu_set_list_has(&set, 5) && cpu_set_list_has(&set, 8191));
	CHECK(!cpu_set_list_has(&set, 8192));
	CHECK(parse_cpu_list("4-2", &set));
	CHECK(parse_cpu_list("1-", &set));
	CHECK(parse_cpu_list("8192", &set));
	CHECK(parse_cpu_list("a", &set));
	CHECK(parse_cpu_list("", &set));
}

TEST(glob_matches_all_of_a_name)
{
	CHECK(glob_match("tcp_*", "tcp_sendmsg"));
	CHECK(!glob_match("tcp_*", "__tcp_push"));
	CHECK(glob_match("*tcp*", "__tcp_push"));
	CHECK(glob_match("ip_rc?", "ip_rcv"));
	CHECK(glob_match("tcp_v[46]_rcv", "tcp_v6_rcv"));
	CHECK(!glob_match("tcp", "tcp_ack"));
	CHECK(glob_is_plain("tcp_ack") && !glob_is_plain("tcp_?"));
}
