#include "base/strbuf.h"

#include <inttypes.h>

#include "harness.h"

static void check_number(uint64_t value)
{
	struct strbuf out = { 0 };
	char want[64];

	snprintf(want, sizeof(want), "%" PRIu64, value);
	strbuf_u64(&out, value);
	CHECK_BUF(&out, want);
}

/* Around every power of ten and of two, where the number of digits changes. */
TEST(numbers_are_written_as_printf_does)
{
	uint64_t power = 1;

	for (int i = 0; i < 20; i++, power *= 10) {
		check_number(power - 1);
		check_number(power);
		check_number(power + 1);
	}
	for (int i = 0; i < 64; i++) {
		check_number((1ull << i) - 1);
		check_number(1ull << i);
	}
	check_number(UINT64_MAX);
}

/* Written where there is no room yet: nothing before it is lost. */
TEST(seconds_are_cut_after_their_digits)
{
	struct strbuf sb = { 0 };

	seconds_put(&sb, 814999999, 3);
	strbuf_char(&sb, ' ');
	seconds_put(&sb, 12000001999, 6);
	strbuf_char(&sb, ' ');
	seconds_put(&sb, 5, 9);
	CHECK_BUF(&sb, "0.814 s 12.000001 s 0.000000005 s");
}

TEST(numbers_enlarge_the_buffer)
{
	struct strbuf out = { 0 };

	for (int i = 0; i < 1000; i++)
		strbuf_u64(&out, 12345);
	CHECK(strbuf_ok(&out) && out.len == 5000);
	for (size_t i = 0; i < out.len; i += 5)
		CHECK(!memcmp(out.ptr + i, "12345", 5));
	strbuf_release(&out);
}

TEST(a_base_name_is_the_last_part_of_a_path)
{
	static const char *const paths[][2] = {
		{ "/opt/a/client", "client" },
		{ "client", "client" },
		{ "/x", "x" },
		{ "/opt/a/", "" },
		{ "/", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < CNT_OF(paths); i++)
		CHECK(text_equal(text_base_name(text_from(paths[i][0])), text_from(paths[i][1])));
	CHECK(!text_base_name((struct text){ 0 }).len);
}
