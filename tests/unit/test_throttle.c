/* No second has more events than it may, and whatever is missing is said where it is. */
#include "trace/limits.h"

#include <stdbool.h>

#include "harness.h"
#include "random.h"

static struct throttle th;

static void end(void)
{
	throttle_release(&th);
}
AFTER(end);

#define SEC       1000000000ull
#define BATCH_CNT 16

static struct event call(uint64_t time_ns, uint16_t cpu, enum event_kind kind)
{
	return (struct event){ .time_ns = time_ns, .tid = 7, .cpu = cpu, .kind = (uint8_t)kind };
}

static void expect(size_t at, enum event_kind kind, uint16_t cpu)
{
	CHECK(at < th.out_cnt && th.out[at].kind == kind && th.out[at].cpu == cpu);
}

TEST(no_second_has_more)
{
	struct event events[7] = {
		call(SEC, 0, EVENT_ENTRY),     call(SEC + 1, 1, EVENT_ENTRY),
		call(SEC + 2, 0, EVENT_EXIT),  call(SEC + 3, 1, EVENT_EXIT),
		call(SEC + 4, 0, EVENT_ENTRY), call(SEC + 5, 0, EVENT_EXIT),
		call(2 * SEC, 1, EVENT_ENTRY),
	};

	CHECK(!throttle_init(&th, 2, 2, BATCH_CNT));
	CHECK(throttle_feed(&th, events, 7) == 7);
	expect(0, EVENT_ENTRY, 0);
	expect(1, EVENT_ENTRY, 1);
	expect(2, EVENT_GAP, 0);
	expect(3, EVENT_GAP, 1);
	expect(4, EVENT_LOST, 0);
	CHECK(th.out[4].lost_cnt == 3 && th.out[4].time_ns == SEC + 5);
	expect(5, EVENT_LOST, 1);
	CHECK(th.out[5].lost_cnt == 1);
	expect(6, EVENT_ENTRY, 1);
	CHECK(th.dropped_cnt == 4);
	CHECK(!throttle_finish(&th));
}

/* What the ring lost meanwhile is counted in, and does not end our gap; switches are no calls. */
TEST(a_gap_of_the_ring_in_ours_is_part_of_it)
{
	struct event events[6] = {
		call(SEC, 0, EVENT_ENTRY),   call(SEC + 1, 0, EVENT_EXIT),
		call(SEC + 2, 0, EVENT_GAP), call(SEC + 3, 0, EVENT_LOST),
		call(SEC + 4, 0, EVENT_OUT), call(SEC + 5, 0, EVENT_EXIT),
	};

	events[3] = (struct event){ .time_ns = SEC + 3, .lost_cnt = 40, .kind = EVENT_LOST };
	CHECK(!throttle_init(&th, 1, 1, BATCH_CNT));
	CHECK(throttle_feed(&th, events, 6) == 3);
	expect(0, EVENT_ENTRY, 0);
	expect(1, EVENT_GAP, 0);
	expect(2, EVENT_OUT, 0);
	CHECK(throttle_finish(&th) == 1);
	expect(0, EVENT_LOST, 0);
	CHECK(th.out[0].lost_cnt == 42 && th.dropped_cnt == 2);
}

TEST(a_gap_of_the_ring_alone_stays)
{
	struct event events[3] = { call(SEC, 0, EVENT_GAP),
				   { .time_ns = SEC + 1, .lost_cnt = 5, .kind = EVENT_LOST },
				   call(SEC + 2, 0, EVENT_ENTRY) };

	CHECK(!throttle_init(&th, 1, 1, BATCH_CNT));
	CHECK(throttle_feed(&th, events, 3) == 3);
	expect(1, EVENT_LOST, 0);
	CHECK(th.out[1].lost_cnt == 5 && !th.dropped_cnt);
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
				events[i] = call(now_ns, (uint16_t)random_below(3),
						 random_below(2) ? EVENT_ENTRY : EVENT_EXIT);
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
