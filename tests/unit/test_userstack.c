/* User stacks that are kept: all of their parts come back, texts are shared, the oldest go when there is no room. */
#include "trace/userstack.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"

static struct userstacks *stacks;

static void end(void)
{
	userstacks_free(stacks);
	stacks = NULL;
}
AFTER(end);

static void begin(uint32_t max, uint64_t bytes)
{
	end();
	CHECK(!userstacks_new(&stacks, max));
	userstacks_limit(stacks, bytes);
}

/* One of many: two frames in a file that all share, the symbol of the second is its own, unless @symbol_len is 0. */
static uint32_t add(uint32_t nr, size_t symbol_len)
{
	char symbol[4097];
	char file[] = "/opt/shared/by/all/of/them";
	const struct user_frame frames[] = {
		{ .ip = nr, .symbol = text_from("inner"), .file = text_from(file) },
		{ .ip = nr + 1,
		  .symbol = { symbol, symbol_len },
		  .file = text_from(file),
		  .build_id = text_from("01ab") },
		{ .ip = 7 },
	};
	const struct user_stack stack = { frames, 3, USER_STACK_NAMED };
	uint32_t got;

	snprintf(symbol, sizeof(symbol), "%-*u", (int)sizeof(symbol) - 1, nr);
	got = userstacks_add(stacks, &stack);
	/* what was copied is not borrowed */
	memset(symbol, '?', sizeof(symbol));
	memset(file, '?', sizeof(file));
	return got;
}

/* NULL: it has gone. */
static const struct user_stack *kept(uint32_t nr)
{
	return userstacks_has(stacks, nr) ? userstacks_show(stacks, nr) : NULL;
}

/* Whether stack @got is still there; if so, as add(@nr) made it. */
static bool is_kept(uint32_t got, uint32_t nr, size_t symbol_len)
{
	const struct user_stack *stack = kept(got);
	char symbol[4097];

	if (!stack)
		return false;
	snprintf(symbol, sizeof(symbol), "%-*u", (int)sizeof(symbol) - 1, nr);
	CHECK(stack->frame_cnt == 3 && stack->state == USER_STACK_NAMED);
	CHECK(stack->frames[0].ip == nr && text_equal(stack->frames[0].symbol, text_from("inner")));
	CHECK(text_equal(stack->frames[1].symbol, (struct text){ symbol, symbol_len }));
	for (int i = 0; i < 2; i++)
		CHECK(text_equal(stack->frames[i].file, text_from("/opt/shared/by/all/of/them")));
	CHECK(text_equal(stack->frames[1].build_id, text_from("01ab")));
	CHECK(stack->frames[2].ip == 7 && !stack->frames[2].file.len);
	return true;
}

TEST(equal_texts_are_kept_once)
{
	const struct user_stack *a;
	const struct user_stack *b;
	uint32_t nrs[2];

	begin(0, 0);
	for (uint32_t i = 0; i < 2; i++)
		nrs[i] = add(i, 30);
	CHECK(is_kept(nrs[0], 0, 30) && is_kept(nrs[1], 1, 30));
	a = kept(nrs[0]);
	b = kept(nrs[1]);
	CHECK(a->frames[0].file.ptr == a->frames[1].file.ptr);
	CHECK(a->frames[0].file.ptr == b->frames[0].file.ptr);
	CHECK(a->frames[0].symbol.ptr == b->frames[0].symbol.ptr);
	CHECK(a->frames[1].symbol.ptr != b->frames[1].symbol.ptr);
}

/* Each has 4,000 bytes of its own and some hundred for frames: at least 10 and at most 15 fit into 64,000 bytes. */
TEST(the_oldest_go_when_bytes_are_short)
{
	static const uint32_t maxs[] = { 0, 7, 20, 1000 };

	for (size_t m = 0; m < CNT_OF(maxs); m++) {
		const uint32_t least = maxs[m] == 7 ? 7 : 10;
		const uint32_t most = maxs[m] == 7 ? 7 : 15;
		uint32_t nrs[200];

		begin(maxs[m], 64000);
		for (uint32_t i = 0; i < CNT_OF(nrs); i++) {
			uint32_t cnt = 0;

			nrs[i] = add(i, 4000);
			CHECK(nrs[i]);
			for (uint32_t k = 0; k <= i; k++) {
				const bool is_here = is_kept(nrs[k], k, 4000);

				CHECK(is_here ||
				      !cnt); /* none behind one that is kept is missing */
				cnt += is_here;
			}
			CHECK(cnt <= most && cnt >= (i + 1 < least ? i + 1 : least));
		}
	}
}

/* Shared texts take no room of the others. */
TEST(stacks_of_known_texts_are_small)
{
	uint32_t nrs[100];

	begin(1000, 64000);
	for (uint32_t i = 0; i < CNT_OF(nrs); i++)
		nrs[i] = add(i, 0);
	for (uint32_t i = 0; i < CNT_OF(nrs); i++)
		CHECK(is_kept(nrs[i], i, 0));
}

TEST(the_last_stack_is_kept_whatever_it_takes)
{
	uint32_t nr;

	begin(1000, 1);
	for (uint32_t i = 0; i < 5; i++) {
		nr = add(i, 4000);
		CHECK(is_kept(nr, i, 4000) && (i == 0 || !kept(nr - 1)));
	}
	begin(1, 1);
	for (uint32_t i = 0; i < 5; i++) {
		nr = add(i, 10);
		CHECK(is_kept(nr, i, 10));
	}
}
