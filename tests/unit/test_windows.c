#include "trace/limits.h"
#include "base/strbuf.h"
#include "harness.h"

#define MS 1000000ull

static struct windows w;

/* A cycle in which attaching and detaching take so long. Return: when the next window begins. */
static uint64_t cycle(uint64_t attach_ns, uint64_t detach_ns)
{
	const uint64_t close_ns = w.next_ns;

	CHECK(w.is_open && !windows_is_due(&w, close_ns - 1) && windows_is_due(&w, close_ns));
	windows_close(&w, close_ns, close_ns + detach_ns);
	CHECK(!w.is_open && w.next_ns > close_ns + detach_ns);
	windows_open(&w, w.next_ns, w.next_ns + attach_ns);
	return w.since_ns;
}

TEST(a_share_of_each_second_is_traced)
{
	windows_begin(&w, 20, 5000 * MS);
	CHECK(w.is_open && w.next_ns == 5200 * MS && cycle(0, 0) == 6000 * MS);
	CHECK(cycle(0, 0) == 7000 * MS);
	windows_end(&w, 7100 * MS);
	CHECK(w.cnt == 3 && w.open_ns == 500 * MS && w.closed_ns == 1600 * MS);
}

TEST(what_attaching_takes_counts_as_traced)
{
	uint64_t begin_ns;

	windows_begin(&w, 20, 0);
	begin_ns = cycle(30 * MS, 10 * MS);
	CHECK(w.next_ns - begin_ns == 160 * MS);
	CHECK(cycle(30 * MS, 10 * MS) - begin_ns == 1000 * MS);
}

TEST(where_attaching_takes_long_cycles_do)
{
	uint64_t begin_ns;

	windows_begin(&w, 20, 0);
	cycle(500 * MS, 100 * MS);
	begin_ns = cycle(500 * MS, 100 * MS);
	CHECK(w.next_ns - begin_ns == 1800 * MS); /* three times as long as it takes */
	CHECK(cycle(500 * MS, 100 * MS) - begin_ns == 12000 * MS);
}

TEST(a_window_is_never_too_short_for_a_call)
{
	uint64_t begin_ns;

	windows_begin(&w, 1, 0);
	begin_ns = cycle(2 * MS, 1 * MS);
	CHECK(w.next_ns - begin_ns == 10 * MS); /* not 1 % of 1.2 s less 3 ms */
	CHECK(cycle(2 * MS, 1 * MS) - begin_ns == 1300 * MS);
}

TEST_ONE(without_the_option_nothing_is_due,
	 CHECK(!windows_is_due(&(struct windows){ 0 }, UINT64_MAX)));

TEST(making_links_anew_is_not_traced_with_or_without_windows)
{
	struct windows none = { 0 };

	CHECK(windows_gap(&none, 5000 * MS, 5640 * MS) == 640 * MS && none.closed_ns == 640 * MS);
	windows_begin(&w, 20, 5000 * MS);
	windows_gap(&w, 5100 * MS, 5150 * MS);
	windows_close(&w, 5200 * MS, 5210 * MS);
	CHECK(w.open_ns == 150 * MS && w.closed_ns == 50 * MS);
	CHECK(windows_open(&w, 5900 * MS, 6000 * MS) == 800 * MS && w.closed_ns == 850 * MS);
}

TEST(a_window_says_how_long_nothing_was_traced)
{
	const struct leftout lo = { .limit = LEFTOUT_WINDOW, .measured = 814999999, .max = 20 };
	struct strbuf text = { 0 };

	leftout_text(&text, &lo, NULL, SIZE_MAX);
	CHECK_BUF(&text, "not traced for 0.814 s until here, --duty 20");
	leftout_text(&text, &(struct leftout){ .limit = LEFTOUT_WINDOW, .measured = 640000000 },
		     NULL, SIZE_MAX);
	CHECK_BUF(&text, "not traced for 0.640 s until here, while functions were left out");
}
