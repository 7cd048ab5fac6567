#include "base/parse.h"
#include "harness.h"

static const struct {
	const char *text;
	const char *why;
	uint64_t value;
} u64_cases[] = {
	{ "1", "", 1 },
	{ "100", "", 100 },
	{ "007", "", 7 },
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
	EACH(c, u64_cases) {
		uint64_t value = 0;
		const char *why = parse_u64(c->text, 1, 100, &value);

		in_case("'%s'", c->text);
		CHECK_STR(why ? why : "", c->why);
		CHECK(value == c->value);
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
	uint64_t value_ns;
} duration_cases[] = {
	{ "1ns", 1 },
	{ "500ms", 500000000 },
	{ "10s", 10000000000 },
	{ "1.5s", 1500000000 },
	{ "0.25us", 250 },
	{ "2m", 120000000000 },
	{ "1h", 3600000000000 },
	{ "1.9ns", 1 },
	{ "1.0000000000000000000000000000001s", 1000000000 },
	{ "4611686018427387903ns", 4611686018427387903 },
};

TEST(duration_needs_a_unit)
{
	uint64_t value_ns = 0;

	EACH(c, duration_cases) {
		in_case("'%s'", c->text);
		CHECK(!parse_duration(c->text, &value_ns) && value_ns == c->value_ns);
	}
	value_ns = 0;
	EACH_PART(bad, "5; 0s; 1.s; .5s; 1 s; 1sec; -1s; ; 99999999999999999999s; 9999999999999h; "
		       "4611686018427387904ns; 5124095h")
		CHECK(parse_duration(bad, &value_ns) && !value_ns);
}

TEST(size_knows_three_suffixes)
{
	uint64_t bytes;

	CHECK(!parse_size("4096", &bytes) && bytes == 4096);
	CHECK(!parse_size("64K", &bytes) && bytes == 65536);
	CHECK(!parse_size("4m", &bytes) && bytes == 4 << 20);
	CHECK(!parse_size("1G", &bytes) && bytes == 1 << 30);
	EACH_PART(bad, "1T; 1KB; 1 ; K; 18446744073709551615G")
		CHECK(parse_size(bad, &bytes));
}

TEST(count_has_thousands)
{
	uint64_t cnt;

	CHECK(!parse_count("1", &cnt) && cnt == 1);
	CHECK(!parse_count("50K", &cnt) && cnt == 50000);
	CHECK(!parse_count("2m", &cnt) && cnt == 2000000);
	CHECK(!parse_count("3G", &cnt) && cnt == 3000000000);
	EACH_PART(bad, "0; 0K; 1.5K; 5/s; 5 ; 18446744073709551615K")
		CHECK(parse_count(bad, &cnt));
}

TEST(num_list_adds_up)
{
	struct num_list list = { 0 };

	CHECK(!parse_num_list("1,22,333", 1, 1000, &list));
	CHECK(!parse_num_list("4", 1, 1000, &list));
	CHECK(list.cnt == 4 && list.items[0] == 1 && list.items[2] == 333 && list.items[3] == 4);
	EACH_PART(bad, "; 1,; 1,,2; 1;2; 0; 1001")
		CHECK(parse_num_list(bad, 1, 1000, &list));
	EACH_PART(bad, "1,; 1,,2; ,1; ,")
		CHECK_STR(parse_num_list(bad, 1, 1000, &list), "has an empty part");
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
	EACH_PART(bad, "4-2; 1-; 8192; a; ")
		CHECK(parse_cpu_list(bad, &set));
	EACH_PART(bad, "1,; 1,,2-3; ,1; ,")
		CHECK_STR(parse_cpu_list(bad, &set), "has an empty part");
}

/* The other way round, for messages: the number and its suffix. */
static void check_suffix(uint64_t value, unsigned int step, uint64_t want, char suffix)
{
	CHECK(parse_suffix(&value, step) == suffix);
	CHECK(value == want);
}

TEST(a_number_has_the_largest_suffix_without_a_rest)
{
	check_suffix(1 << 30, 1024, 1, 'G');
	check_suffix(256 << 20, 1024, 256, 'M');
	check_suffix(1536, 1024, 1536, '\0');
	check_suffix(1ull << 40, 1024, 1024, 'G');
	check_suffix(50000, 1000, 50, 'K');
	check_suffix(0, 1000, 0, '\0');
}

TEST(glob_matches_all_of_a_name)
{
	CHECK(glob_match("tcp_*", "tcp_sendmsg") && !glob_match("tcp_*", "__tcp_push"));
	CHECK(glob_match("*tcp*", "__tcp_push") && glob_match("ip_rc?", "ip_rcv"));
	CHECK(glob_match("tcp_v[46]_rcv", "tcp_v6_rcv") && !glob_match("tcp", "tcp_ack"));
	CHECK(glob_is_plain("tcp_ack") && !glob_is_plain("tcp_?"));
}

/* It matches one name, but not itself: to compare the texts would not find it. */
TEST(a_backslash_is_no_plain_name)
{
	CHECK(glob_match("tcp\\_ack", "tcp_ack") && !glob_match("tcp\\_ack", "tcp\\_ack"));
	CHECK(!glob_is_plain("tcp\\_ack"));
}
