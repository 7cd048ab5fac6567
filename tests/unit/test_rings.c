/* The reader over rings in plain memory, written as the BPF programs write them. */
#include "attach/rings.h"

#include "harness.h"
#include "ringbench.h"

TEST(rings_merge_by_time_across_cpus)
{
	struct bench b = start_rings(3);
	struct event ev[16];

	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 10, 1);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 40, 2);
	fill(side_of(&b, 1), reserve(side_of(&b, 1)), 20, 3);
	fill(side_of(&b, 2), reserve(side_of(&b, 2)), 5, 4);
	fill(side_of(&b, 2), reserve(side_of(&b, 2)), 30, 5);
	CHECK(read_all(&b, ev, 16) == 5);
	for (int i = 0; i < 4; i++)
		CHECK(ev[i].time_ns < ev[i + 1].time_ns);
	CHECK(ev[0].cpu == 2 && ev[0].tid == 4);
	CHECK(ev[2].cpu == 1 && ev[2].tid == 3);
	CHECK(rings_is_drained(&b.rings));
	finish(&b);
}

TEST(rings_decode_a_record)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[2];

	side.recs[reserve(side)] = (struct nfg_rec){
		.time_ns = 77, .task = 4194304 - 1, .func_id = 0x1234, .frame = 0xbeef
	};
	side.recs[reserve(side)] = (struct nfg_rec){ .time_ns = 78,
						     .task = (4194304 - 1) | NFG_TASK_EXIT,
						     .func_id = 0xfffe };
	CHECK(read_all(&b, ev, 2) == 2);
	CHECK(ev[0].kind == EVENT_ENTRY && ev[0].tid == 4194303);
	CHECK(ev[0].func_id == 0x1234 && ev[0].frame == 0xbeef);
	CHECK(ev[1].kind == EVENT_EXIT && ev[1].func_id == 0xfffe && ev[1].frame == 0);
	finish(&b);
}

TEST(rings_tell_switches_from_calls)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[2];

	side.recs[reserve(side)] = (struct nfg_rec){ .time_ns = 77,
						     .task = 8 | NFG_TASK_EXIT,
						     .func_id = NFG_FUNC_SWITCH };
	side.recs[reserve(side)] =
		(struct nfg_rec){ .time_ns = 78, .task = 9, .func_id = NFG_FUNC_SWITCH };
	CHECK(read_all(&b, ev, 2) == 2);
	CHECK(ev[0].kind == EVENT_OUT && ev[0].tid == 8);
	CHECK(ev[1].kind == EVENT_IN && ev[1].tid == 9);
	finish(&b);
}

TEST(rings_tell_doubts_from_switches)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[2];

	side.recs[reserve(side)] = (struct nfg_rec){
		.time_ns = 77, .task = 8 | NFG_SWITCH_DOUBT, .func_id = NFG_FUNC_SWITCH, .frame = 7
	};
	side.recs[reserve(side)] = (struct nfg_rec){ .time_ns = 78,
						     .task = 8 | NFG_SWITCH_DOUBT | NFG_TASK_EXIT,
						     .func_id = NFG_FUNC_SWITCH };
	CHECK(read_all(&b, ev, 2) == 2 && b.rings.mark_cnt == 2);
	CHECK(ev[0].kind == EVENT_DOUBT && ev[0].tid == 8 && ev[0].time_ns == 77);
	CHECK(!ev[0].func_id && !ev[0].frame && !ev[0].flags);
	CHECK(ev[1].kind == EVENT_SURE && ev[1].tid == 8);
	finish(&b);
}

TEST(rings_stop_before_a_slot_that_is_taken_but_not_written)
{
	struct bench b = start_rings(2);
	struct event ev[8];
	uint64_t pos;

	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 10, 1);
	pos = reserve(side_of(&b, 0));
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 30, 3);
	fill(side_of(&b, 1), reserve(side_of(&b, 1)), 12, 4);
	CHECK(read_all(&b, ev, 8) == 1);
	CHECK(read_all(&b, ev, 8) == 0);
	CHECK(!rings_is_drained(&b.rings));
	/* younger than the interrupt's record behind it */
	fill(side_of(&b, 0), pos, 35, 2);
	CHECK(read_all(&b, ev, 8) == 3);
	CHECK(ev[0].tid == 4 && ev[1].tid == 3 && ev[2].tid == 2);
	CHECK(rings_is_drained(&b.rings));
	finish(&b);
}

/* One pass at @now_ns. */
static size_t read_at(struct bench *b, uint64_t now_ns, struct event *events, size_t cap)
{
	size_t cnt = 0;
	size_t got;

	rings_begin(&b->rings, now_ns, 0);
	while ((got = rings_read(&b->rings, events + cnt, cap - cnt)))
		cnt += got;
	return cnt;
}

/* Until its slot is written, a ring may still have what is older. */
TEST(rings_know_until_when_everything_was_seen)
{
	struct bench b = start_rings(2);
	struct event ev[8];
	uint64_t pos;

	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 10, 1);
	CHECK(read_at(&b, 50, ev, 8) == 1 && rings_seen_ns(&b.rings) == 50);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 60, 2);
	pos = reserve(side_of(&b, 1));
	read_at(&b, 100, ev, 8);
	CHECK(rings_seen_ns(&b.rings) <= 50);
	fill(side_of(&b, 1), pos, 55, 3);
	CHECK(read_at(&b, 200, ev, 8) == 2 && rings_seen_ns(&b.rings) == 200);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 210, 4);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 220, 5);
	rings_begin(&b.rings, 300, 0);
	CHECK(rings_read(&b.rings, ev, 1) == 1 && rings_seen_ns(&b.rings) == 210);
	CHECK(rings_read(&b.rings, ev, 8) == 1 && !rings_read(&b.rings, ev, 8));
	CHECK(rings_seen_ns(&b.rings) == 300);
	finish(&b);
}

TEST(rings_go_on_without_one_that_is_stuck_and_drop_what_comes_too_late)
{
	const uint64_t begun_ns = 1000000000;
	const uint64_t over_ns = begun_ns + RINGS_PATIENCE_NS + 1;
	struct bench b = start_rings(2);
	struct event ev[8];
	uint64_t pos;

	pos = reserve(side_of(&b, 0)); /* preempted */
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 30, 3);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 45, 6);
	fill(side_of(&b, 1), reserve(side_of(&b, 1)), 40, 4);
	CHECK(read_at(&b, begun_ns, ev, 8) == 0);
	CHECK(read_at(&b, begun_ns + RINGS_PATIENCE_NS, ev, 8) == 0);
	CHECK(read_at(&b, over_ns, ev, 8) == 2);
	CHECK(ev[0].kind == EVENT_GAP && ev[0].cpu == 0 && ev[1].tid == 4);
	CHECK(read_at(&b, over_ns, ev, 8) == 0 && !b.rings.late_cnt);
	CHECK(!rings_fill_pct(&b.rings));
	/* it runs again; the event at 30 stands behind its own */
	fill(side_of(&b, 0), pos, 60, 2);
	fill(side_of(&b, 1), reserve(side_of(&b, 1)), 50, 5);
	CHECK(read_at(&b, over_ns, ev, 8) == 4);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 1 && ev[0].cpu == 0);
	CHECK(ev[1].tid == 6 && ev[2].tid == 5 && ev[3].tid == 2);
	CHECK(b.rings.late_cnt == 1 && rings_is_drained(&b.rings));
	finish(&b);
}

TEST(rings_say_what_came_too_late_when_nothing_follows)
{
	struct bench b = start_rings(2);
	struct event ev[8];
	uint64_t pos;

	pos = reserve(side_of(&b, 0));
	fill(side_of(&b, 1), reserve(side_of(&b, 1)), 40, 4);
	CHECK(read_at(&b, UINT64_MAX, ev, 8) == 0);
	rings_give_up(&b.rings);
	CHECK(read_at(&b, UINT64_MAX, ev, 8) == 2 && ev[0].kind == EVENT_GAP && ev[1].tid == 4);
	fill(side_of(&b, 0), pos, 20, 2);
	CHECK(read_at(&b, UINT64_MAX, ev, 8) == 0 && rings_is_drained(&b.rings));
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 1);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 1 && ev[0].time_ns == 99);
	finish(&b);
}

/* No record vanishes: those behind a slot that is never written are counted as lost. */
TEST(rings_count_what_is_behind_a_slot_that_is_never_written)
{
	const uint64_t begun_ns = 1000000000;
	struct bench b = start_rings(2);
	struct side side = side_of(&b, 0);
	struct side other = side_of(&b, 1);
	struct event ev[8];

	reserve(side); /* with two values, which are written */
	side.recs[reserve(side)].time_ns = NFG_VALUE_TAG(2, 0);
	side.recs[reserve(side)].time_ns = NFG_VALUE_TAG(1, NFG_VALUE_CALLER);
	fill(side, reserve(side), begun_ns + 30, 3);
	fill(other, reserve(other), begun_ns + 40, 4);
	reserve(other); /* found in the last pass */
	fill(other, reserve(other), begun_ns + 50, 5);
	fill(other, reserve(other), begun_ns + 60, 6);
	CHECK(read_at(&b, UINT64_MAX, ev, 8) == 0);
	rings_give_up(&b.rings);
	CHECK(read_at(&b, UINT64_MAX, ev, 8) == 3 && ev[1].tid == 4);
	CHECK(ev[0].kind == EVENT_GAP && ev[0].cpu == 0);
	CHECK(ev[2].kind == EVENT_GAP && ev[2].cpu == 1 && ev[2].time_ns == begun_ns + 40);
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 2 && b.rings.late_cnt == 5);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 2 && ev[0].cpu == 0);
	CHECK(ev[1].kind == EVENT_LOST && ev[1].lost_cnt == 3 && ev[1].cpu == 1);
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 0);
	finish(&b);
}

TEST(rings_hold_back_what_is_younger_than_the_horizon)
{
	struct bench b = start_rings(1);
	struct event ev[8];

	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 100, 1);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 200, 2);
	rings_begin(&b.rings, 160, 10);
	CHECK(rings_read(&b.rings, ev, 8) == 1);
	CHECK(rings_read(&b.rings, ev, 8) == 0);
	rings_begin(&b.rings, 210, 10);
	CHECK(rings_read(&b.rings, ev, 8) == 1);
	finish(&b);
}

TEST(rings_sort_nested_interruptions)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[8];

	/* task, softirq in it, hardirq in that: slots in order taken, times in order written */
	for (int i = 0; i < 5; i++)
		reserve(side);
	fill(side, 0, 50, 0);
	fill(side, 1, 40, 1);
	fill(side, 2, 20, 2);
	fill(side, 3, 30, 3);
	fill(side, 4, 60, 4);
	CHECK(read_all(&b, ev, 8) == 5);
	for (int i = 0; i < 4; i++)
		CHECK(ev[i].time_ns < ev[i + 1].time_ns);
	CHECK(rings_is_drained(&b.rings));
	finish(&b);
}

TEST(rings_give_slots_back_and_wrap)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	static struct event ev[REC_CNT];
	uint64_t seen = 0;

	for (uint64_t i = 1; i <= 20 * REC_CNT; i++) {
		if (is_full(side))
			seen += read_all(&b, ev, REC_CNT);
		CHECK(!is_full(side));
		fill(side, reserve(side), i, 1);
	}
	seen += read_all(&b, ev, REC_CNT);
	CHECK(seen == 20 * REC_CNT);
	finish(&b);
}

TEST(rings_show_a_loss_where_it_happened)
{
	struct bench b = start_rings(2);
	struct side side = side_of(&b, 1);
	static struct event ev[REC_CNT + 8];
	struct loss_counts lost = { 0 };
	size_t before = 0;
	size_t cnt;

	while (!is_full(side)) {
		fill(side, reserve(side), 10 + before, 1);
		before++;
	}
	lose(side, 17);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 10 + before, 3); /* during the loss */
	CHECK(read_all(&b, ev, REC_CNT + 8) == before + 2);
	CHECK(ev[before].kind == EVENT_GAP && ev[before].cpu == 1);
	CHECK(ev[before].time_ns == ev[before - 1].time_ns);
	CHECK(ev[before + 1].cpu == 0);
	fill(side, reserve(side), 5000, 2);
	cnt = read_all(&b, ev, 8);
	CHECK(cnt == 2);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 17 && ev[0].cpu == 1);
	CHECK(ev[0].time_ns == 5000 && ev[1].tid == 2);
	rings_lost(&b.rings, &lost);
	CHECK(lost.cnt[LOSS_RING_FULL] == 17 && loss_total(&lost) == 17);
	CHECK(b.rings.shown_lost_cnt == 17);
	CHECK(b.rings.mark_cnt == 2);
	finish(&b);
}

TEST(rings_tell_of_a_loss_before_what_happened_meanwhile_elsewhere)
{
	struct bench b = start_rings(2);
	struct side side = side_of(&b, 1);
	struct side other = side_of(&b, 0);
	static struct event ev[REC_CNT + 8];
	size_t before = 0;

	while (!is_full(side)) {
		fill(side, reserve(side), 10 + before, 1);
		before++;
	}
	rings_begin(&b.rings, 3000, 0);
	fill(other, reserve(other), 4000, 3); /* not in this pass */
	CHECK(rings_read(&b.rings, ev, before) == before);
	lose(side, 2); /* all was read, but no room given back yet when it happened */
	CHECK(rings_read(&b.rings, ev, 8) == 0);
	rings_begin(&b.rings, 5000, 0);
	CHECK(rings_read(&b.rings, ev, 8) == 2);
	CHECK(ev[0].kind == EVENT_GAP && ev[0].cpu == 1 && ev[0].time_ns == 9 + before);
	CHECK(ev[1].cpu == 0 && ev[1].time_ns == 4000);
	/* the next loss begins behind what stands between them */
	fill(side, reserve(side), 4500, 1);
	lose(side, 3);
	fill(side, reserve(side), 4600, 1);
	fill(other, reserve(other), 4550, 3);
	CHECK(read_all(&b, ev, 8) == 6);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 2 && ev[0].time_ns == 4500);
	CHECK(ev[1].kind == EVENT_ENTRY && ev[2].kind == EVENT_GAP && ev[2].time_ns == 4500);
	CHECK(ev[3].cpu == 0 && ev[4].kind == EVENT_LOST && ev[4].lost_cnt == 3);
	CHECK(ev[5].time_ns == 4600 && b.rings.shown_lost_cnt == 5 && b.rings.mark_cnt == 4);
	finish(&b);
}

/*
 * An interrupt ran inside a task's program: the record stands before the gap, but is younger than
 * what follows the gap.
 */
TEST(rings_begin_a_gap_before_a_record_that_was_held_back)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[8];

	fill(side, reserve(side), 50, 1);
	fill(side, reserve(side), 100, 2);
	lose(side, 1);
	fill(side, reserve(side), 90, 3);
	CHECK(read_all(&b, ev, 8) == 5);
	CHECK(ev[0].time_ns == 50 && ev[1].kind == EVENT_GAP && ev[1].time_ns == 50);
	CHECK(ev[2].kind == EVENT_LOST && ev[2].time_ns == 90);
	CHECK(ev[3].tid == 3 && ev[4].tid == 2);
	finish(&b);
}

/* When there are more gaps than a ring remembers, the oldest are merged into one. */
TEST(rings_make_one_loss_of_gaps_without_a_place)
{
	const uint64_t gap_cnt = NFG_GAP_CNT + 40;
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	static struct event ev[REC_CNT];
	uint64_t lost_cnt = 0;
	size_t first_lost = 0;
	size_t cnt;

	for (uint64_t i = 0; i < gap_cnt; i++) {
		fill(side, reserve(side), 10 + i, 1);
		lose(side, 2);
	}
	fill(side, reserve(side), 1000, 1);
	cnt = read_all(&b, ev, REC_CNT);
	CHECK(ev[0].kind == EVENT_GAP);
	for (size_t i = 0; i < cnt; i++) {
		if (ev[i].kind != EVENT_LOST)
			continue;
		first_lost = first_lost ? first_lost : i;
		lost_cnt += ev[i].lost_cnt;
	}
	CHECK(lost_cnt == 2 * gap_cnt && b.rings.shown_lost_cnt == lost_cnt);
	/* GAP, the records of the forgotten gaps and of the first that is known */
	CHECK(first_lost == 1 + 42);
	CHECK(ev[first_lost].lost_cnt == 2 * 42);
	CHECK(ev[cnt - 1].time_ns == 1000 && ev[cnt - 2].kind == EVENT_LOST);
	CHECK(rings_is_drained(&b.rings));
	finish(&b);
}

TEST(rings_show_what_nested_too_deep)
{
	struct bench b = start_rings(2);
	struct side side = side_of(&b, 1);
	struct event ev[8];

	fill(side, reserve(side), 10, 1);
	CHECK(read_all(&b, ev, 8) == 1);
	side.cpu->lost_depth = 3;
	fill(side, reserve(side), 20, 1);
	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 15, 2);
	CHECK(read_all(&b, ev, 8) == 4);
	CHECK(ev[0].kind == EVENT_GAP && ev[0].time_ns == 10 && ev[1].time_ns == 15);
	CHECK(ev[2].kind == EVENT_LOST && ev[2].lost_cnt == 3 && ev[3].time_ns == 20);
	side.cpu->lost_depth = 4;
	CHECK(read_all(&b, ev, 8) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 1);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 1);
	finish(&b);
}

TEST(rings_show_a_loss_that_nothing_follows)
{
	struct bench b = start_rings(1);
	struct event ev[4];

	lose(side_of(&b, 0), 3);
	CHECK(rings_flush_gaps(&b.rings, ev, 1, 99) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 1);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 3);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 0);
	finish(&b);
}

/* Otherwise calls on no CPU could be paired while this one is silent. */
TEST(rings_end_a_loss_that_nothing_follows_when_there_is_room)
{
	struct bench b = start_rings(2);
	struct side side = side_of(&b, 1);
	struct side other = side_of(&b, 0);
	static struct event ev[REC_CNT];
	size_t before = 0;

	while (!is_full(side))
		fill(side, reserve(side), 10 + before++, 1);
	lose(side, 5);
	CHECK(read_at(&b, 3000, ev, REC_CNT) == before + 1 && ev[before].kind == EVENT_GAP);
	side.cpu->lost_full++; /* just before there was room */
	side.gaps->list[0].lost_cnt++;
	CHECK(read_at(&b, 4000, ev, 8) == 0);
	fill(other, reserve(other), 4500, 3);
	fill(other, reserve(other), 5500, 3);
	CHECK(read_at(&b, 5000, ev, 8) == 2 && ev[0].time_ns == 4500);
	CHECK(ev[1].kind == EVENT_LOST && ev[1].cpu == 1 && ev[1].time_ns == 5000);
	CHECK(ev[1].lost_cnt == 6 && b.rings.shown_lost_cnt == 6);
	CHECK(read_at(&b, 6000, ev, 8) == 1 && ev[0].time_ns == 5500);
	/* lost at the same place, which has been reported */
	side.cpu->lost_full += 2;
	side.gaps->list[0].lost_cnt += 2;
	CHECK(read_at(&b, 7000, ev, 8) == 1 && ev[0].kind == EVENT_GAP && ev[0].time_ns == 5500);
	fill(side, reserve(side), 7500, 1);
	CHECK(read_at(&b, 8000, ev, 8) == 2 && ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 2);
	CHECK(ev[1].time_ns == 7500 && read_at(&b, 9000, ev, 8) == 0);
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 0 && b.rings.shown_lost_cnt == 8);
	finish(&b);
}

/* A loss that was reported at the last moment may still go on. */
TEST(rings_end_no_loss_without_a_horizon_or_room)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[4];

	lose(side, 3);
	CHECK(read_at(&b, 100, ev, 4) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(read_all(&b, ev, 4) == 0);
	side.cpu->limit_bytes = side.cpu->head_bytes;
	CHECK(read_at(&b, 200, ev, 4) == 0);
	CHECK(read_at(&b, 300, ev, 4) == 1 && ev[0].kind == EVENT_LOST && ev[0].time_ns == 300);
	finish(&b);
}

TEST(rings_show_a_loss_that_is_counted_late)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	struct event ev[4];

	lose(side, 3);
	fill(side, reserve(side), 10, 1);
	CHECK(read_all(&b, ev, 4) == 3 && ev[1].lost_cnt == 3);
	side.cpu->lost_full++;
	side.gaps->list[0].lost_cnt++;
	CHECK(read_all(&b, ev, 4) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 1);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 1);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 0 && b.rings.shown_lost_cnt == 4);
	finish(&b);
}

/* A loss on all CPUs is reported for each CPU with events, unless its ring reports it already. */
TEST(rings_mark_each_cpu_as_its_own)
{
	struct bench b = start_rings(4);
	struct event ev[8];
	uint32_t cpu = 0;

	CHECK(rings_mark(&b.rings, EVENT_GAP, &cpu, ev, 8) == 0);
	for (uint32_t i = 1; i < 4; i++)
		fill(side_of(&b, i), reserve(side_of(&b, i)), 10 * i, i);
	lose(side_of(&b, 2), 5);
	CHECK(read_at(&b, 100, ev, 8) == 4 && ev[2].kind == EVENT_GAP && ev[2].cpu == 2);
	cpu = 0;
	CHECK(rings_mark(&b.rings, EVENT_GAP, &cpu, ev, 1) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(ev[0].cpu == 1 && ev[0].time_ns == 30);
	CHECK(rings_mark(&b.rings, EVENT_GAP, &cpu, ev, 8) == 1 && ev[0].cpu == 3);
	CHECK(rings_mark(&b.rings, EVENT_GAP, &cpu, ev, 8) == 0);
	/* the ring's own loss is over when a record follows it */
	fill(side_of(&b, 2), reserve(side_of(&b, 2)), 200, 2);
	cpu = 0;
	CHECK(rings_mark(&b.rings, EVENT_LOST, &cpu, ev, 8) == 2);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].cpu == 1 && !ev[0].lost_cnt && ev[1].cpu == 3);
	CHECK(read_at(&b, 300, ev, 8) == 2 && ev[0].kind == EVENT_LOST && ev[0].cpu == 2);
	CHECK(ev[0].lost_cnt == 5 && b.rings.shown_lost_cnt == 5);
	finish(&b);
}

/* Two contexts opened the same gap: the second entry says what it said when it was used last. */
TEST(rings_show_no_loss_twice)
{
	struct bench b = start_rings(1);
	struct side side = side_of(&b, 0);
	static struct event ev[REC_CNT];
	uint64_t lost_cnt = 0;
	size_t cnt;

	fill(side, reserve(side), 10, 1);
	side.gaps->list[1] = (struct nfg_gap){ .pos = 0, .lost_cnt = 17 };
	lose(side, 2);
	side.gaps->cnt++;
	fill(side, reserve(side), 20, 1);
	lose(side, 3);
	fill(side, reserve(side), 30, 1);
	cnt = read_all(&b, ev, REC_CNT);
	for (size_t i = 0; i < cnt; i++)
		lost_cnt += ev[i].kind == EVENT_LOST ? ev[i].lost_cnt : 0;
	CHECK(cnt == 7 && lost_cnt == 5 && b.rings.shown_lost_cnt == 5);
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 0);
	finish(&b);
}

TEST(rings_know_their_cpu)
{
	struct bench b = start_rings(3);

	CHECK(b.mem.cpus[0].ring == 0 && b.mem.cpus[2].ring == 2);
	rings_mute(&b.rings, 1);
	CHECK(!b.mem.cpus[0].muted && b.mem.cpus[1].muted && !b.mem.cpus[2].muted);
	finish(&b);
}

TEST(rings_keep_the_order_when_a_slot_is_written_between_two_reads)
{
	struct bench b = start_rings(2);
	struct event ev[8];
	uint64_t pos;

	fill(side_of(&b, 0), reserve(side_of(&b, 0)), 10, 1);
	pos = reserve(side_of(&b, 0));
	fill(side_of(&b, 1), reserve(side_of(&b, 1)), 12, 2);
	rings_begin(&b.rings, UINT64_MAX, 0);
	CHECK(rings_read(&b.rings, ev, 8) <= 1);
	fill(side_of(&b, 0), pos, 35, 1);
	CHECK(rings_read(&b.rings, ev, 8) == 0); /* the pass is over */
	CHECK(read_all(&b, ev, 8) == 2);
	CHECK(ev[0].time_ns == 12 && ev[1].time_ns == 35);
	finish(&b);
}

/* A virtual machine with two CPUs may be told that 240 are possible. */
TEST(rings_are_sized_by_cpus_and_memory)
{
	CHECK(rings_bytes_default(2, 0) == 2u << 20 && rings_bytes_default(32, 0) == 2u << 20);
	CHECK(rings_bytes_default(64, 1ull << 30) == 1u << 20);
	CHECK(rings_bytes_default(8192, 1ull << 30) == 64u << 10);
	CHECK(rings_bytes_default(240, 1ull << 30) < 300000);
	CHECK(rings_bytes_default(240, 64ull << 30) == 2u << 20);
	CHECK(rings_bytes_default(384, 512ull << 30) == 1u << 20);
}

/* They have places in the trace like others, and another reason. */
TEST(rings_tell_doubt_from_fullness)
{
	struct bench b = start_rings(2);
	struct loss_counts counts = { 0 };

	b.rings.cursors[0].shared->lost_full = 5;
	b.rings.cursors[0].gaps->doubt_cnt = 2;
	b.rings.cursors[1].shared->lost_full = 1;
	b.rings.cursors[1].gaps->doubt_cnt = 1;
	rings_lost(&b.rings, &counts);
	CHECK(counts.cnt[LOSS_RING_FULL] == 3 && rings_doubt_cnt(&b.rings) == 3);
	finish(&b);
}
