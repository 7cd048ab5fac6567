// SPDX-License-Identifier: GPL-2.0
/* Which functions an address is in: searched without branches, and compared with a look at each. */
#include "nfg_ranges.h"

#include <string.h>

#include "harness.h"
#include "random.h"

#define RANGE_CNT 16
#define KERNEL    0xffffffff81000000ull

/* As on a stack: of the kernel's text, of modules, of trampolines; at times the whole upper half. */
static uint64_t draw_addr(void)
{
	if (!random_below(50))
		return random_below(2) ? 1ull << 63 : UINT64_MAX;
	if (!random_below(10))
		return 0xffffffffc0000000ull + random_below(1000);
	return KERNEL + random_below(200);
}

/* Ranges by address, with gaps between some of them, and the rest unused. */
static void draw(struct nfg_softirq_range *ranges)
{
	const uint32_t cnt = random_below(RANGE_CNT + 1);
	uint64_t addr = KERNEL;

	memset(ranges, 0, RANGE_CNT * sizeof(*ranges));
	for (uint32_t i = 0; i < cnt; i++) {
		ranges[i].range.begin = addr + random_below(2) * random_below(10);
		addr = ranges[i].range.end = ranges[i].range.begin + 1 + random_below(20);
		ranges[i].func = 1 + random_below(3);
	}
}

static uint64_t func_at(const struct nfg_softirq_range *ranges, uint64_t addr)
{
	const struct nfg_softirq_range *range =
		&ranges[nfg_range_at(ranges, sizeof(*ranges), RANGE_CNT, addr)];

	return nfg_if_in(range->func, &range->range, addr);
}

TEST(a_range_is_found_as_by_looking_at_each)
{
	for (int i = 0; i < 50000; i++) {
		struct nfg_softirq_range ranges[RANGE_CNT];
		const uint64_t addr = draw_addr();
		uint64_t want = 0;

		draw(ranges);
		for (uint32_t k = 0; k < RANGE_CNT; k++) {
			if (addr >= ranges[k].range.begin && addr < ranges[k].range.end)
				want = ranges[k].func;
		}
		CHECK(func_at(ranges, addr) == want);
	}
}

TEST(nothing_is_in_an_empty_list)
{
	static const struct nfg_softirq_range none[RANGE_CNT];

	CHECK(!func_at(none, 0));
	CHECK(!func_at(none, KERNEL));
	CHECK(!func_at(none, UINT64_MAX));
}
