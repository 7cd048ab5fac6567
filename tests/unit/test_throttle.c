/* No second has more events than it may, and whatever is missing is said where it is. */
#include "trace/limits.h"
#include "harness.h"
#include "random.h"
#include "script.h"

static struct throttle th;

static void end(void)
{
	throttle_release(&th);
}
AFTER(end);

#define SEC       1000000000ull
#define BATCH_CNT 16

/* What comes out of a script: its events as words, and the CPU of each: "a{/0 gap/1". */
static void check_out(const char *want)
{
	struct strbuf text = { 0 };

	for (size_t i = 0; i < th.out_cnt; i++)
		strbuf_printf(&text, "%s%s/%u", i ? " " : "", script_text(&th.out[i], 1),
			      th.out[i].cpu);
	CHECK_BUF(&text, want);
}

static size_t fed(const char *script)
{
	struct event events[16];

	script_begin("a");
	return throttle_feed(&th, events, script_events(script, events, 16));
}

TEST(no_second_has_more)
{
	CHECK(!throttle_init(&th, 2, 2, BATCH_CNT));
	CHECK(fed("1s a{ cpu1 a{ cpu0 }a cpu1 }a cpu0 a{ }a 2s cpu1 a{") == 7);
	check_out("a{/0 a{/1 gap/0 gap/1 lost3/0 lost1/1 a{/1");
	CHECK(th.out[4].time_ns == SEC + 5 && th.dropped_cnt == 4);
	CHECK(!throttle_finish(&th));
}

/* What the ring lost meanwhile is counted in, and does not end our gap; switches are no calls. */
TEST(a_gap_of_the_ring_in_ours_is_part_of_it)
{
	CHECK(!throttle_init(&th, 1, 1, BATCH_CNT));
	CHECK(fed("1s a{ }a gap lost40 out }a") == 3);
	check_out("a{/0 gap/0 out/0");
	CHECK(throttle_finish(&th) == 1 && th.dropped_cnt == 2);
	check_out("lost42/0");
}

TEST(a_gap_of_the_ring_alone_stays)
{
	CHECK(!throttle_init(&th, 1, 1, BATCH_CNT) && fed("1s gap lost5 a{") == 3);
	check_out("gap/0 lost5/0 a{/0");
	CHECK(!th.dropped_cnt);
}

struct tally {
	uint64_t kept_cnt;
	uint64_t lost_cnt;
	uint64_t second_ns;
	uint64_t second_cnt;
	bool in_gap[3];
};

static void take(struct tally *t, uint64_t max_cnt)
{
	for (size_t i = 0; i < th.out_cnt; i++) {
		const struct event *ev = &th.out[i];

		if (ev->kind == EVENT_GAP || ev->kind == EVENT_LOST) {
			CHECK(t->in_gap[ev->cpu] == (ev->kind == EVENT_LOST));
			t->in_gap[ev->cpu] = ev->kind == EVENT_GAP;
			t->lost_cnt += ev->kind == EVENT_LOST ? ev->lost_cnt : 0;
			continue;
		}
		CHECK(!t->in_gap[ev->cpu]);
		t->kept_cnt++;
		if (!t->second_ns || ev->time_ns - t->second_ns >= SEC) {
			t->second_ns = ev->time_ns;
			t->second_cnt = 0;
		}
		CHECK(++t->second_cnt <= max_cnt);
	}
}

TEST(any_stream)
{
	for (uint64_t max_cnt = 1; max_cnt < 40; max_cnt += 3) {
		struct tally t = { 0 };
		uint64_t now_ns = 1;

		CHECK(!throttle_init(&th, max_cnt, 3, BATCH_CNT));
		for (int round = 0; round < 2000; round++) {
			struct event events[BATCH_CNT];

			for (size_t i = 0; i < BATCH_CNT; i++) {
				now_ns += random_below(8) ? random_below(SEC / 20)
							  : random_below(2 * SEC);
				events[i] = (struct event){ .time_ns = now_ns,
							    .tid = 7,
							    .cpu = (uint16_t)random_below(3),
							    .kind = random_below(2) };
			}
			CHECK(throttle_feed(&th, events, BATCH_CNT) <= 2 * BATCH_CNT + 3);
			take(&t, max_cnt);
		}
		throttle_finish(&th);
		take(&t, max_cnt);
		CHECK(!t.in_gap[0] && !t.in_gap[1] && !t.in_gap[2]);
		CHECK(t.kept_cnt + t.lost_cnt == 2000 * BATCH_CNT && t.lost_cnt == th.dropped_cnt);
		throttle_release(&th);
	}
}
