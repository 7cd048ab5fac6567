/* --when: any text is refused with a reason, or says what it means; and any events give hits of its conditions alone. */
#include "fuzz.h"
#include "../unit/script.c"
#include "../unit/test_trigger.c"

static const struct trigger_rule *fed;
static uint64_t fed_ns;

static void check_hit(void *ctx, const struct trigger_hit *hit)
{
	CHECK(hit->cond >= fed->conds && hit->cond < fed->conds + fed->cnt);
	CHECK(hit->time_ns <= fed_ns);
	CHECK(!hit->begin_ns == !hit->cond->longer_ns);
	CHECK(!hit->cond->test.len || hit->tid);
	CHECK(!hit->begin_ns || hit->time_ns == hit->begin_ns + hit->cond->longer_ns);
}

/* What is accepted names something and has one limit, and means the same when it stands alone. */
static void check_cond(const struct trigger_cond *cond, const char *text, size_t len)
{
	struct trigger_rule again;
	char *alone = fuzz_string((const uint8_t *)cond->text.ptr, cond->text.len);

	CHECK(cond->text.ptr >= text && cond->text.ptr + cond->text.len <= text + len);
	CHECK(cond->rule[0] == '+' && cond->pattern == cond->rule + 1);
	CHECK(*cond->pattern && memmem(text, len, cond->pattern, strlen(cond->pattern)));
	CHECK(trigger_is_each(cond) ? !cond->per_sec : !cond->longer_ns != !cond->per_sec);
	CHECK(cond->what == TRIGGER_FUNCS || (cond->per_sec && !cond->test.len));
	CHECK(!cond->test.len ||
	      (cond->test.ptr > cond->text.ptr &&
	       cond->test.ptr + cond->test.len < cond->text.ptr + cond->text.len));
	CHECK(!trigger_parse(&again, alone) && again.cnt == 1);
	CHECK(again.conds[0].what == cond->what);
	CHECK(again.conds[0].longer_ns == cond->longer_ns);
	CHECK(again.conds[0].per_sec == cond->per_sec);
	CHECK(again.conds[0].test.len == cond->test.len);
	CHECK_STR(again.conds[0].rule, cond->rule);
	free(alone);
}

static bool fuzz_fits(void *ctx, uint32_t cond_idx, uint32_t func_id)
{
	(void)ctx;
	CHECK(fed->conds[cond_idx].test.len);
	return func_id & 1;
}

static bool fuzz_passes(void *ctx, uint32_t cond_idx, const struct event *ev)
{
	(void)ctx;
	CHECK(fed->conds[cond_idx].test.len && ev->func_id & 1);
	return ev->tid & 1;
}

static struct event any_event(uint64_t word)
{
	struct event ev = { .time_ns = fed_ns, .kind = EVENT_LOST };

	if ((word & 15) == 14 || (word & 15) == 15) {
		ev.kind = word & 1 ? EVENT_DOUBT : EVENT_SURE;
		ev.tid = word >> 4 & 3;
		return ev;
	}
	if (word & 8) {
		ev.lost_cnt = word >> 24;
		return ev;
	}
	ev.kind = word & 4 ? EVENT_EXIT : EVENT_ENTRY;
	ev.func_id = word & 3;
	ev.tid = word >> 4 & 3;
	ev.frame = word >> 6 & 3;
	return ev;
}

static const struct trigger_ops fuzz_ops = { .hit = check_hit,
					     .fits = fuzz_fits,
					     .passes = fuzz_passes };

static void feed_any(struct fuzz_input in)
{
	fed_ns = 1;
	while (in.at < in.end) {
		const uint64_t word = fuzz_take(&in, 4);
		const struct event ev = any_event(word);

		CHECK(!trigger_feed(t, &ev, 1));
		fed_ns += (word >> 8 & 0xffff) << (word >> 24 & 15);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct trigger_rule parsed;
	const struct trigger_cond *missing = NULL;
	/* events stand behind a zero byte */
	const uint8_t *end = memchr(data, 0, len);
	const size_t text_len = end ? (size_t)(end - data) : len;
	char *text = fuzz_string(data, text_len);
	const char *wrong = trigger_parse(&parsed, text);
	int err;

	CHECK(!wrong || *wrong);
	CHECK(wrong || (parsed.cnt && parsed.cnt <= TRIGGER_CONDS_MAX));
	for (uint32_t i = 0; !wrong && i < parsed.cnt; i++)
		check_cond(&parsed.conds[i], text, text_len);
	if (!wrong && end) {
		fed = &parsed;
		for (uint32_t i = 0; i < parsed.cnt; i++)
			parsed.conds[i].tests_result = parsed.conds[i].test.len & 1;
		err = trigger_new(&t, &parsed, &functab, &fuzz_ops, &missing);
		CHECK(!err || (err == -ENOENT && missing));
		if (!err) {
			feed_any((struct fuzz_input){ end + 1, data + len });
			CHECK(trigger_stats(t).unwatched_cnt <= len);
			trigger_free(t);
		}
	}
	free(text);
	return 0;
}
