/*
 * Values under their numbers. The code is included, not linked: only so can the ring's head be put where
 * 32-bit numbers begin again, which a trace reaches after 32 GiB of values.
 */
#include "harness.h"

static bool has_memory = true;

static void *realloc_or_not(void *ptr, size_t bytes)
{
	return has_memory ? realloc(ptr, bytes) : NULL;
}

#define realloc realloc_or_not
#include "trace/values.c"
#include "random.h"

#define SMALL_CNT 64u
#define WRAP      (UINT64_C(1) << 32)

static struct values *vs;

static void end(void)
{
	values_free(vs);
	vs = NULL;
}
AFTER(end);

static void start(size_t word_cnt, uint64_t head)
{
	end();
	CHECK(!values_new(&vs, word_cnt));
	if (head)
		vs->head = head;
}

/* Every word of the block identifies its owner. */
static struct call_values make_call(uint32_t arg_cnt, bool has_caller, bool has_ret, uint64_t seed)
{
	struct call_values call = { .arg_cnt = (uint8_t)arg_cnt,
				    .has_caller = has_caller,
				    .has_ret = has_ret };

	for (uint32_t i = 0; i < arg_cnt; i++)
		call.args[i] = seed * 100 + i;
	if (has_caller)
		call.caller = ~seed;
	if (has_ret)
		call.ret = seed << 32;
	return call;
}

static void add_members(struct call_values *call, uint32_t cnt, uint64_t seed)
{
	call->shown_cnt = (uint8_t)cnt;
	for (uint32_t i = 0; i < cnt; i++)
		call->shown[i] = seed + i;
}

static void add_ustack(struct call_values *call, uint64_t seed)
{
	call->has_ustack = true;
	call->ustack = ~seed << 5;
}

static struct call_values any_call(uint64_t seed)
{
	struct call_values call =
		make_call(random_below(VALUES_ARG_MAX + 1), random_below(2), random_below(2), seed);

	add_members(&call, random_below(3) ? 0 : random_below(NFG_SHOWN_WORDS + 2), seed);
	if (!random_below(3))
		add_ustack(&call, seed);
	call.pkt = random_below(3) ? 0 : seed + 1;
	return call;
}

static bool same_call(const struct call_values *a, const struct call_values *b)
{
	return !memcmp(a->args, b->args, sizeof(a->args)) && a->caller == b->caller &&
	       a->ret == b->ret && a->arg_cnt == b->arg_cnt && a->has_caller == b->has_caller &&
	       a->has_ret == b->has_ret && a->shown_cnt == b->shown_cnt &&
	       !memcmp(a->shown, b->shown, sizeof(a->shown)) && a->has_ustack == b->has_ustack &&
	       a->ustack == b->ustack && a->pkt == b->pkt;
}

static uint32_t word_cnt_of(const struct call_values *call)
{
	return 1u + call->arg_cnt + call->has_caller + call->has_ret + call->shown_cnt +
	       call->has_ustack + (call->pkt != 0);
}

static bool gives(uint32_t id, const struct call_values *want)
{
	struct call_values got;

	memset(&got, 0xff, sizeof(got));
	return values_get(vs, id, &got) && same_call(&got, want);
}

TEST(values_give_back_every_combination)
{
	struct call_values calls[(VALUES_ARG_MAX + 1) * 4];
	uint32_t ids[(VALUES_ARG_MAX + 1) * 4];
	uint32_t cnt = 0;

	start(4096, 0);
	for (uint32_t arg_cnt = 0; arg_cnt <= VALUES_ARG_MAX; arg_cnt++) {
		for (uint32_t bits = 0; bits < 4; bits++, cnt++) {
			calls[cnt] = make_call(arg_cnt, bits & 1, bits & 2, cnt + 1);
			add_members(&calls[cnt], cnt % (NFG_SHOWN_WORDS + 2), cnt);
			if (cnt / 2 % 3)
				add_ustack(&calls[cnt], cnt);
			ids[cnt] = values_put(vs, &calls[cnt]);
			CHECK(ids[cnt] && (!cnt || ids[cnt] > ids[cnt - 1]));
		}
	}
	for (uint32_t i = 0; i < cnt; i++)
		CHECK(gives(ids[i], &calls[i]));
	CHECK(!values_missed_cnt(vs));
	values_free(NULL);
}

/* It comes after all others, and 0 takes no word. */
TEST(values_give_back_the_number_of_a_packet)
{
	struct call_values call = make_call(2, true, true, 5);
	struct call_values got;
	uint64_t words[VALUES_WORD_MAX];

	start(SMALL_CNT, 0);
	CHECK(values_pack(&call, words) == 5);
	call.pkt = 1ull << 40;
	CHECK(values_pack(&call, words) == 6 && words[0] & VALUES_PKT && words[5] == call.pkt);
	CHECK(!values_unpack(words, 5, &got));
	call.has_packet = call.has_stack = true;
	call.stack = 9;
	CHECK(values_get(vs, values_put(vs, &call), &got));
	CHECK(same_call(&got, &call) && got.stack == 9 && got.has_packet);
	add_members(&call, NFG_SHOWN_WORDS + 1, 11);
	CHECK(values_get(vs, values_put(vs, &call), &got) && same_call(&got, &call));
	for (uint32_t i = 0; i < VALUES_ARG_MAX; i++)
		call.args[call.arg_cnt = (uint8_t)i] = i;
	call.arg_cnt = VALUES_ARG_MAX;
	add_ustack(&call, 12);
	CHECK(values_pack(&call, words) == VALUES_WORD_MAX);
}

TEST(values_that_are_zero_or_all_ones_come_back)
{
	struct call_values call = { .arg_cnt = 2, .has_caller = true, .has_ret = true };

	start(SMALL_CNT, 0);
	CHECK(gives(values_put(vs, &call), &call));
	call = (struct call_values){ .args = { UINT64_MAX, UINT64_MAX },
				     .arg_cnt = 2,
				     .caller = UINT64_MAX,
				     .ret = UINT64_MAX,
				     .has_caller = true,
				     .has_ret = true };
	CHECK(gives(values_put(vs, &call), &call));
}

TEST(values_number_0_means_none_and_is_not_missed)
{
	struct call_values call;

	start(SMALL_CNT, 0);
	CHECK(!values_get(vs, 0, &call));
	CHECK(!call.arg_cnt && !call.has_caller && !call.has_ret && !values_missed_cnt(vs));
}

TEST(values_overwritten_are_not_found_and_counted)
{
	const struct call_values call = make_call(3, false, false, 7); /* 4 words */
	struct call_values got = make_call(3, true, true, 9);
	uint32_t ids[5];

	start(16, 0);
	for (int i = 0; i < 5; i++)
		ids[i] = values_put(vs, &call);
	CHECK(!values_get(vs, ids[0], &got));
	CHECK(!got.arg_cnt && !got.has_caller && !got.has_ret && values_missed_cnt(vs) == 1);
	for (int i = 1; i < 5; i++)
		CHECK(gives(ids[i], &call));
	CHECK(values_missed_cnt(vs) == 1);
	/* numbers that were never given */
	CHECK(!values_get(vs, ids[4] + 4, &got) && !values_get(vs, UINT32_MAX, &got));
	CHECK(!values_get(vs, ids[4] + 1, &got) && values_missed_cnt(vs) == 4);
}

/* The model: all that was ever put, with its place. */
struct put {
	struct call_values call;
	uint64_t pos;
	uint32_t id;
};

/* Put many from @head on; after each, what fits into the ring is there and nothing else. */
static void check_many(uint64_t head, size_t word_cnt, uint32_t cnt)
{
	struct put *puts = calloc(cnt, sizeof(*puts));
	uint64_t missed_cnt = 0;

	start(word_cnt, head);
	CHECK(puts);
	for (uint32_t i = 0; i < cnt; i++) {
		puts[i].call = any_call(i + 1);
		puts[i].id = values_put(vs, &puts[i].call);
		puts[i].pos = vs->head - word_cnt_of(&puts[i].call);
		CHECK(puts[i].id && puts[i].id == (uint32_t)puts[i].pos);
		for (uint32_t j = i > 40 ? i - 40 : 0; j <= i; j++) {
			bool is_there_still = vs->head - puts[j].pos <= word_cnt;

			CHECK(gives(puts[j].id, &puts[j].call) == is_there_still);
			missed_cnt += !is_there_still;
		}
	}
	CHECK(missed_cnt && values_missed_cnt(vs) == missed_cnt);
	free(puts);
}

TEST(values_survive_the_wrap_of_the_ring)
{
	check_many(0, SMALL_CNT, 20000);
	check_many(0, 16, 20000); /* as many words as the largest takes, and one */
}

TEST_ONE(values_survive_the_growth_of_the_ring, check_many(0, FIRST_WORD_CNT, 20000),
	 check_many(0, FIRST_WORD_CNT * 4, 20000),
	 check_many(WRAP - 1000, FIRST_WORD_CNT * 4, 20000));

TEST(values_take_memory_as_they_come)
{
	struct call_values call;

	start(1u << 22, 0);
	for (uint32_t i = 0; i < 10000; i++) {
		call = make_call(3, false, false, i); /* 4 words */
		CHECK(values_put(vs, &call) == 1 + i * 4);
	}
	for (uint32_t i = 0; i < 10000; i++) {
		call = make_call(3, false, false, i);
		CHECK(gives(1 + i * 4, &call));
	}
	CHECK(vs->word_cnt == 65536);
}

TEST(values_without_memory_are_overwritten_earlier_and_counted)
{
	const struct call_values call = make_call(3, false, false, 7); /* 4 words */
	struct call_values got;
	uint32_t ids[1000];

	start(4096, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		has_memory = i < 100;
		ids[i] = values_put(vs, &call);
	}
	for (uint32_t i = 0; i < 1000 - 512 / 4; i++)
		CHECK(!values_get(vs, ids[i], &got) && values_missed_cnt(vs) == i + 1);
	for (uint32_t i = 1000 - 512 / 4; i < 1000; i++)
		CHECK(gives(ids[i], &call));
	has_memory = true;
}

TEST(values_survive_the_wrap_of_their_numbers)
{
	for (uint64_t before = 0; before < 40; before++) {
		check_many(WRAP - before, SMALL_CNT, 200);
		check_many(3 * WRAP - before, SMALL_CNT, 200);
	}
}

TEST(values_are_never_number_0_where_numbers_begin_again)
{
	const struct call_values call = make_call(2, true, true, 5);
	struct call_values got;
	uint32_t id;

	start(SMALL_CNT, WRAP);
	id = values_put(vs, &call);
	CHECK(id == 1 && gives(id, &call));
	/* a number of the round before, whose place is not written in this one */
	CHECK(!values_get(vs, UINT32_MAX - 10, &got) && !values_get(vs, 2000, &got));
}

/* A recording may have a word that looks like a first one where a number of a round ago points to. */
TEST(values_that_are_made_up_are_not_copied_beyond_their_room)
{
	struct call_values call;
	uint32_t id;

	start(SMALL_CNT, 20);
	call = make_call(2, true, true, 7);
	id = values_put(vs, &call);
	*values_word_at(vs, id) |= VALUES_SHOWN | VALUES_ARGS;
	CHECK(!values_get(vs, id, &call) && values_missed_cnt(vs) == 1);
	/* more words than there are */
	call = make_call(2, true, true, 7);
	id = values_put(vs, &call);
	*values_word_at(vs, id) += 5;
	CHECK(!values_get(vs, id, &call) && values_missed_cnt(vs) == 2);
}

TEST(values_of_a_round_ago_are_not_taken_for_new_ones)
{
	const struct call_values old = make_call(1, false, false, 1);
	const struct call_values new = make_call(1, false, false, 2);
	struct call_values got;
	uint32_t id;

	start(SMALL_CNT, 100);
	id = values_put(vs, &old);
	vs->head = WRAP + 50; /* 32 GiB later, before the place comes again */
	CHECK(!values_get(vs, id, &got));
	vs->head = WRAP + 100;
	CHECK(values_put(vs, &new) == id && gives(id, &new));
}
