/* The reader over rings in plain memory, written as the BPF programs write them. */
#include "attach/rings.h"
#include "harness.h"
#include "ringbench.h"

AFTER(end_rings);

TEST(rings_merge_by_time_across_cpus)
{
	start_rings(3);
	write_rings("0:10:1 0:40:2 1:20:3 2:5:4 2:30:5");
	CHECK_STR(taken(), "2:5:4 0:10:1 1:20:3 2:30:5 0:40:2");
	CHECK(rings_is_drained(&rb.rings));
}

TEST(rings_decode_a_record)
{
	struct side side = start_rings(1);
	struct event ev[2];

	side.recs[reserve(side)] = (struct nfg_rec){
		.time_ns = 77, .task = 4194304 - 1, .func_id = 0x1234, .frame = 0xbeef
	};
	side.recs[reserve(side)] = (struct nfg_rec){ .time_ns = 78,
						     .task = (4194304 - 1) | NFG_TASK_EXIT,
						     .func_id = 0xfffe };
	CHECK(read_all(ev, 2) == 2);
	CHECK(ev[0].kind == EVENT_ENTRY && ev[0].tid == 4194303);
	CHECK(ev[0].func_id == 0x1234 && ev[0].frame == 0xbeef);
	CHECK(ev[1].kind == EVENT_EXIT && ev[1].func_id == 0xfffe && ev[1].frame == 0);
}

TEST(rings_tell_switches_from_calls)
{
	struct side side = start_rings(1);

	side.recs[reserve(side)] = (struct nfg_rec){ .time_ns = 77,
						     .task = 8 | NFG_TASK_EXIT,
						     .func_id = NFG_FUNC_SWITCH };
	side.recs[reserve(side)] =
		(struct nfg_rec){ .time_ns = 78, .task = 9, .func_id = NFG_FUNC_SWITCH };
	CHECK_STR(taken(), "0:77:out8 0:78:in9");
}

TEST(rings_tell_doubts_from_switches)
{
	struct side side = start_rings(1);
	struct event ev[2];

	side.recs[reserve(side)] = (struct nfg_rec){
		.time_ns = 77, .task = 8 | NFG_SWITCH_DOUBT, .func_id = NFG_FUNC_SWITCH, .frame = 7
	};
	side.recs[reserve(side)] = (struct nfg_rec){ .time_ns = 78,
						     .task = 8 | NFG_SWITCH_DOUBT | NFG_TASK_EXIT,
						     .func_id = NFG_FUNC_SWITCH };
	CHECK(read_all(ev, 2) == 2 && rb.rings.mark_cnt == 2);
	CHECK(ev[0].kind == EVENT_DOUBT && ev[0].tid == 8 && ev[0].time_ns == 77);
	CHECK(!ev[0].func_id && !ev[0].frame && !ev[0].flags);
	CHECK(ev[1].kind == EVENT_SURE && ev[1].tid == 8);
}

TEST(rings_stop_before_a_slot_that_is_taken_but_not_written)
{
	start_rings(2);
	write_rings("0:10:1 0:x 0:30:3 1:12:4");
	CHECK_STR(taken(), "0:10:1");
	CHECK_STR(taken(), "");
	CHECK(!rings_is_drained(&rb.rings));
	write_rings("0:x:35:2"); /* younger than the interrupt's record behind it */
	CHECK_STR(taken(), "1:12:4 0:30:3 0:35:2");
	CHECK(rings_is_drained(&rb.rings));
}

/* Until its slot is written, a ring may still have what is older. */
TEST(rings_know_until_when_everything_was_seen)
{
	struct event ev[8];

	start_rings(2);
	write_rings("0:10:1");
	CHECK_STR(taken_at(50), "0:10:1");
	CHECK(rings_seen_ns(&rb.rings) == 50);
	write_rings("0:60:2 1:x");
	taken_at(100);
	CHECK(rings_seen_ns(&rb.rings) <= 50);
	write_rings("1:x:55:3");
	CHECK_STR(taken_at(200), "1:55:3 0:60:2");
	CHECK(rings_seen_ns(&rb.rings) == 200);
	write_rings("0:210:4 0:220:5");
	rings_begin(&rb.rings, 300, 0);
	CHECK(rings_read(&rb.rings, ev, 1) == 1 && rings_seen_ns(&rb.rings) == 210);
	CHECK(rings_read(&rb.rings, ev, 8) == 1 && !rings_read(&rb.rings, ev, 8));
	CHECK(rings_seen_ns(&rb.rings) == 300);
}

/* One is preempted in 0:x. When it runs again, the event at 30 stands behind its own. */
TEST(rings_go_on_without_one_that_is_stuck_and_drop_what_comes_too_late)
{
	const uint64_t begun_ns = 1000000000;
	const uint64_t over_ns = begun_ns + RINGS_PATIENCE_NS + 1;

	start_rings(2);
	write_rings("0:x 0:30:3 0:45:6 1:40:4");
	CHECK_STR(taken_at(begun_ns), "");
	CHECK_STR(taken_at(begun_ns + RINGS_PATIENCE_NS), "");
	CHECK_STR(taken_at(over_ns), "0:0:gap 1:40:4");
	CHECK_STR(taken_at(over_ns), "");
	CHECK(!rb.rings.late_cnt && !rings_fill_pct(&rb.rings));
	write_rings("0:x:60:2 1:50:5");
	CHECK_STR(taken_at(over_ns), "0:45:lost1 0:45:6 1:50:5 0:60:2");
	CHECK(rb.rings.late_cnt == 1 && rings_is_drained(&rb.rings));
}

TEST(rings_say_what_came_too_late_when_nothing_follows)
{
	start_rings(2);
	write_rings("0:x 1:40:4");
	CHECK_STR(taken(), "");
	rings_give_up(&rb.rings);
	CHECK_STR(taken(), "0:0:gap 1:40:4");
	write_rings("0:x:20:2");
	CHECK_STR(taken(), "");
	CHECK(rings_is_drained(&rb.rings));
	CHECK_STR(flushed(99), "0:99:lost1");
}

/* No record vanishes: those behind a slot that is never written are counted as lost. */
TEST(rings_count_what_is_behind_a_slot_that_is_never_written)
{
	struct side side = start_rings(2);

	reserve(side); /* with two values, which are written */
	side.recs[reserve(side)].time_ns = NFG_VALUE_TAG(2, 0);
	side.recs[reserve(side)].time_ns = NFG_VALUE_TAG(1, NFG_VALUE_CALLER);
	/* 1:x is found in the last pass */
	write_rings("0:1000000030:3 1:1000000040:4 1:x 1:1000000050:5 1:1000000060:6");
	CHECK_STR(taken(), "");
	rings_give_up(&rb.rings);
	CHECK_STR(taken(), "0:0:gap 1:1000000040:4 1:1000000040:gap");
	CHECK_STR(flushed(99), "0:99:lost2 1:99:lost3");
	CHECK(rb.rings.late_cnt == 5);
	CHECK_STR(flushed(99), "");
}

TEST(rings_hold_back_what_is_younger_than_the_horizon)
{
	struct event ev[8];

	start_rings(1);
	write_rings("0:100:1 0:200:2");
	rings_begin(&rb.rings, 160, 10);
	CHECK(rings_read(&rb.rings, ev, 8) == 1 && rings_read(&rb.rings, ev, 8) == 0);
	rings_begin(&rb.rings, 210, 10);
	CHECK(rings_read(&rb.rings, ev, 8) == 1);
}

/* Task, softirq in it, hardirq in that: slots in order taken, times in order written. */
TEST(rings_sort_nested_interruptions)
{
	start_rings(1);
	write_rings("0:a 0:b 0:c 0:d 0:e 0:a:50:1 0:b:40:2 0:c:20:3 0:d:30:4 0:e:60:5");
	CHECK_STR(taken(), "0:20:3 0:30:4 0:40:2 0:50:1 0:60:5");
	CHECK(rings_is_drained(&rb.rings));
}

/* Tasks preempted inside programs, on one CPU, may go on in any order. */
TEST(rings_sort_what_preempted_tasks_write_in_any_order)
{
	EACH_PART(order, "a b c; a c b; b a c; b c a; c a b; c b a") {
		char script[160];

		start_rings(1);
		snprintf(
			script, sizeof(script),
			"0:a 0:1:11 0:2:12 0:b 0:3:13 0:c 0:4:14 0:%c:20:1 0:%c:30:2 0:%c:40:3 0:50:4",
			order[0], order[2], order[4]);
		write_rings(script);
		CHECK_STR(taken(), "0:1:11 0:2:12 0:3:13 0:4:14 0:20:1 0:30:2 0:40:3 0:50:4");
		CHECK(rings_is_drained(&rb.rings));
		end_rings();
	}
}

/* Nothing was recorded between the first two that were preempted. */
TEST(rings_sort_preempted_tasks_with_neighbouring_slots)
{
	start_rings(1);
	write_rings("0:a 0:b 0:10:11 0:a:20:1 0:b:30:2 0:40:3");
	CHECK_STR(taken(), "0:10:11 0:20:1 0:30:2 0:40:3");
	CHECK(rings_is_drained(&rb.rings));
}

TEST(rings_give_slots_back_and_wrap)
{
	struct side side = start_rings(1);
	static struct event ev[REC_CNT];
	uint64_t seen = 0;

	for (uint64_t i = 1; i <= 20 * REC_CNT; i++) {
		if (is_full(side))
			seen += read_all(ev, REC_CNT);
		CHECK(!is_full(side));
		fill(side, reserve(side), i, 1);
	}
	seen += read_all(ev, REC_CNT);
	CHECK(seen == 20 * REC_CNT);
}

/* Fill a ring from time 10 on, one record each ns. Return: their number. */
static size_t fill_up(struct side side)
{
	size_t cnt = 0;

	while (!is_full(side))
		fill(side, reserve(side), 10 + cnt++, 1);
	return cnt;
}

TEST(rings_show_a_loss_where_it_happened)
{
	struct side side;
	static struct event ev[REC_CNT + 8];
	struct loss_counts lost = { 0 };
	size_t before;

	start_rings(2);
	side = side_of(1);
	before = fill_up(side);
	lose(side, 17);
	fill(side_of(0), reserve(side_of(0)), 10 + before, 3); /* during the loss */
	CHECK(read_all(ev, REC_CNT + 8) == before + 2);
	CHECK(ev[before].kind == EVENT_GAP && ev[before].cpu == 1);
	CHECK(ev[before].time_ns == ev[before - 1].time_ns && ev[before + 1].cpu == 0);
	write_rings("1:5000:2");
	CHECK_STR(taken(), "1:5000:lost17 1:5000:2");
	rings_lost(&rb.rings, &lost);
	CHECK(lost.cnt[LOSS_RING_FULL] == 17 && loss_total(&lost) == 17);
	CHECK(rb.rings.shown_lost_cnt == 17 && rb.rings.mark_cnt == 2);
}

TEST(rings_tell_of_a_loss_before_what_happened_meanwhile_elsewhere)
{
	static struct event ev[REC_CNT + 8];
	size_t before;

	start_rings(2);
	before = fill_up(side_of(1));
	rings_begin(&rb.rings, 3000, 0);
	write_rings("0:4000:3"); /* not in this pass */
	CHECK(rings_read(&rb.rings, ev, before) == before);
	write_rings("1:lost2"); /* all was read, but no room given back yet when it happened */
	CHECK(rings_read(&rb.rings, ev, 8) == 0);
	rings_begin(&rb.rings, 5000, 0);
	CHECK(rings_read(&rb.rings, ev, 8) == 2);
	CHECK(ev[0].kind == EVENT_GAP && ev[0].cpu == 1 && ev[0].time_ns == 9 + before);
	CHECK(ev[1].cpu == 0 && ev[1].time_ns == 4000);
	/* the next loss begins behind what stands between them */
	write_rings("1:4500:1 1:lost3 1:4600:1 0:4550:3");
	CHECK_STR(taken(), "1:4500:lost2 1:4500:1 1:4500:gap 0:4550:3 1:4600:lost3 1:4600:1");
	CHECK(rb.rings.shown_lost_cnt == 5 && rb.rings.mark_cnt == 4);
}

/*
 * An interrupt ran inside a task's program: the record stands before the gap, but is younger than
 * what follows the gap.
 */
TEST_ONE(rings_begin_a_gap_before_a_record_that_was_held_back, start_rings(1),
	 write_rings("0:50:1 0:100:2 0:lost1 0:90:3"),
	 CHECK_STR(taken(), "0:50:1 0:50:gap 0:90:lost1 0:90:3 0:100:2"));

/* When there are more gaps than a ring remembers, the oldest are merged into one. */
TEST(rings_make_one_loss_of_gaps_without_a_place)
{
	const uint64_t gap_cnt = NFG_GAP_CNT + 40;
	struct side side;
	static struct event ev[REC_CNT];
	uint64_t lost_cnt = 0;
	size_t first_lost = 0;
	size_t cnt;

	start_rings(1);
	side = side_of(0);
	for (uint64_t i = 0; i < gap_cnt; i++) {
		fill(side, reserve(side), 10 + i, 1);
		lose(side, 2);
	}
	fill(side, reserve(side), 1000, 1);
	cnt = read_all(ev, REC_CNT);
	CHECK(ev[0].kind == EVENT_GAP);
	for (size_t i = 0; i < cnt; i++) {
		if (ev[i].kind != EVENT_LOST)
			continue;
		first_lost = first_lost ? first_lost : i;
		lost_cnt += ev[i].lost_cnt;
	}
	CHECK(lost_cnt == 2 * gap_cnt && rb.rings.shown_lost_cnt == lost_cnt);
	/* GAP, the records of the forgotten gaps and of the first that is known */
	CHECK(first_lost == 1 + 42 && ev[first_lost].lost_cnt == 2 * 42);
	CHECK(ev[cnt - 1].time_ns == 1000 && ev[cnt - 2].kind == EVENT_LOST);
	CHECK(rings_is_drained(&rb.rings));
}

TEST(rings_show_what_nested_too_deep)
{
	struct side side;

	start_rings(2);
	side = side_of(1);
	write_rings("1:10:1");
	CHECK_STR(taken(), "1:10:1");
	side.cpu->lost_depth = 3;
	write_rings("1:20:1 0:15:2");
	CHECK_STR(taken(), "1:10:gap 0:15:2 1:20:lost3 1:20:1");
	side.cpu->lost_depth = 4;
	CHECK_STR(taken(), "1:20:gap");
	CHECK_STR(flushed(99), "1:99:lost1");
}

TEST(rings_show_a_loss_that_nothing_follows)
{
	struct event ev[4];

	start_rings(1);
	write_rings("0:lost3");
	CHECK(rings_flush_gaps(&rb.rings, ev, 1, 99) == 1 && ev[0].kind == EVENT_GAP);
	CHECK_STR(flushed(99), "0:99:lost3");
	CHECK_STR(flushed(99), "");
}

/* Otherwise calls on no CPU could be paired while this one is silent. */
TEST(rings_end_a_loss_that_nothing_follows_when_there_is_room)
{
	struct side side;
	static struct event ev[REC_CNT];
	size_t before;
	size_t cnt = 0;
	size_t got;

	start_rings(2);
	side = side_of(1);
	before = fill_up(side);
	write_rings("1:lost5");
	rings_begin(&rb.rings, 3000, 0);
	while ((got = rings_read(&rb.rings, ev + cnt, REC_CNT - cnt)))
		cnt += got;
	CHECK(cnt == before + 1 && ev[before].kind == EVENT_GAP);
	side.cpu->lost_full++; /* just before there was room */
	side.gaps->list[0].lost_cnt++;
	CHECK_STR(taken_at(4000), "");
	write_rings("0:4500:3 0:5500:3");
	CHECK_STR(taken_at(5000), "0:4500:3 1:5000:lost6");
	CHECK(rb.rings.shown_lost_cnt == 6);
	CHECK_STR(taken_at(6000), "0:5500:3");
	/* lost at the same place, which has been reported */
	side.cpu->lost_full += 2;
	side.gaps->list[0].lost_cnt += 2;
	CHECK_STR(taken_at(7000), "1:5500:gap");
	write_rings("1:7500:1");
	CHECK_STR(taken_at(8000), "1:7500:lost2 1:7500:1");
	CHECK_STR(taken_at(9000), "");
	CHECK_STR(flushed(99), "");
	CHECK(rb.rings.shown_lost_cnt == 8);
}

/* A loss that was reported at the last moment may still go on. */
TEST(rings_end_no_loss_without_a_horizon_or_room)
{
	struct side side = start_rings(1);

	write_rings("0:lost3");
	CHECK_STR(taken_at(100), "0:0:gap");
	CHECK_STR(taken(), "");
	side.cpu->limit_bytes = side.cpu->head_bytes;
	CHECK_STR(taken_at(200), "");
	CHECK_STR(taken_at(300), "0:300:lost3");
}

TEST(rings_show_a_loss_that_is_counted_late)
{
	struct side side = start_rings(1);

	write_rings("0:lost3 0:10:1");
	CHECK_STR(taken(), "0:0:gap 0:10:lost3 0:10:1");
	side.cpu->lost_full++;
	side.gaps->list[0].lost_cnt++;
	CHECK_STR(taken(), "0:10:gap");
	CHECK_STR(flushed(99), "0:99:lost1");
	CHECK_STR(flushed(99), "");
	CHECK(rb.rings.shown_lost_cnt == 4);
}

/* A loss on all CPUs is reported for each CPU with events, unless its ring reports it already. */
TEST(rings_mark_each_cpu_as_its_own)
{
	struct event ev[8];
	uint32_t cpu = 0;

	start_rings(4);
	CHECK(rings_mark(&rb.rings, EVENT_GAP, &cpu, ev, 8) == 0);
	write_rings("1:10:1 2:20:2 3:30:3 2:lost5");
	CHECK_STR(taken_at(100), "1:10:1 2:20:2 2:20:gap 3:30:3");
	cpu = 0;
	CHECK(rings_mark(&rb.rings, EVENT_GAP, &cpu, ev, 1) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(ev[0].cpu == 1 && ev[0].time_ns == 30);
	CHECK(rings_mark(&rb.rings, EVENT_GAP, &cpu, ev, 8) == 1 && ev[0].cpu == 3);
	CHECK(rings_mark(&rb.rings, EVENT_GAP, &cpu, ev, 8) == 0);
	/* the ring's own loss is over when a record follows it */
	write_rings("2:200:2");
	cpu = 0;
	CHECK(rings_mark(&rb.rings, EVENT_LOST, &cpu, ev, 8) == 2);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].cpu == 1 && !ev[0].lost_cnt && ev[1].cpu == 3);
	CHECK_STR(taken_at(300), "2:200:lost5 2:200:2");
	CHECK(rb.rings.shown_lost_cnt == 5);
}

/* Two contexts opened the same gap: the second entry says what it said when it was used last. */
TEST(rings_show_no_loss_twice)
{
	struct side side = start_rings(1);

	write_rings("0:10:1");
	side.gaps->list[1] = (struct nfg_gap){ .pos = 0, .lost_cnt = 17 };
	write_rings("0:lost2");
	side.gaps->cnt++;
	write_rings("0:20:1 0:lost3 0:30:1");
	CHECK_STR(taken(), "0:10:1 0:10:gap 0:20:lost5 0:20:1 0:20:gap 0:30:lost0 0:30:1");
	CHECK(rb.rings.shown_lost_cnt == 5);
	CHECK_STR(flushed(99), "");
}

TEST(rings_know_their_cpu)
{
	start_rings(3);
	CHECK(rb.mem.cpus[0].ring == 0 && rb.mem.cpus[2].ring == 2);
	rings_mute(&rb.rings, 1);
	CHECK(!rb.mem.cpus[0].muted && rb.mem.cpus[1].muted && !rb.mem.cpus[2].muted);
}

TEST(rings_keep_the_order_when_a_slot_is_written_between_two_reads)
{
	struct event ev[8];

	start_rings(2);
	write_rings("0:10:1 0:x 1:12:2");
	rings_begin(&rb.rings, UINT64_MAX, 0);
	CHECK(rings_read(&rb.rings, ev, 8) <= 1);
	write_rings("0:x:35:1");
	CHECK(rings_read(&rb.rings, ev, 8) == 0); /* the pass is over */
	CHECK_STR(taken(), "1:12:2 0:35:1");
}

/* A virtual machine with two CPUs may be told that 240 are possible. */
TEST(rings_are_sized_by_cpus_and_memory)
{
	CHECK(rings_bytes_default(2, 0) == 2u << 20 && rings_bytes_default(32, 0) == 2u << 20);
	CHECK(rings_bytes_default(64, 1ull << 30) == 1u << 20);
	CHECK(rings_bytes_default(8192, 1ull << 30) == 64u << 10);
	CHECK(rings_bytes_default(240, 1ull << 30) < 300000);
	CHECK(256 * rings_bytes_default(255, 1ull << 30) == 64u << 20);
	CHECK(rings_bytes_default(240, 64ull << 30) == 2u << 20);
	CHECK(rings_bytes_default(384, 512ull << 30) == 1u << 20);
}

/* They have places in the trace like others, and another reason. */
TEST(rings_tell_doubt_from_fullness)
{
	struct loss_counts counts = { 0 };

	start_rings(2);
	rb.rings.cursors[0].shared->lost_full = 5;
	rb.rings.cursors[0].gaps->doubt_cnt = 2;
	rb.rings.cursors[1].shared->lost_full = 1;
	rb.rings.cursors[1].gaps->doubt_cnt = 1;
	rings_lost(&rb.rings, &counts);
	CHECK(counts.cnt[LOSS_RING_FULL] == 3 && rings_doubt_cnt(&rb.rings) == 3);
}

/* What calibration recorded is neither an event of the trace nor lost. */
TEST(rings_restart_as_if_nothing_had_been)
{
	struct loss_counts counts = { 0 };
	struct nfg_rec recs[2];
	uint64_t slots[2];

	start_rings(2);
	write_rings("1:100010:b{ 1:100012:}b 1:100014:b{ 1:lost17");
	rb.mem.cpus[1].lost_depth = 1;
	CHECK(rings_restart(&rb.rings, 1, recs, 2) == 3);
	CHECK(recs[0].time_ns == 100010 && !(recs[0].task & NFG_TASK_EXIT));
	CHECK(recs[1].time_ns == 100012 && recs[1].task & NFG_TASK_EXIT && recs[1].func_id == 2);
	rings_lost(&rb.rings, &counts);
	CHECK(!counts.cnt[LOSS_RING_FULL] && !counts.cnt[LOSS_NESTED_TOO_DEEP]);
	rings_slot_cnts(&rb.rings, slots);
	CHECK(!slots[1] && rings_restart(&rb.rings, 1, recs, 2) == 0);
	CHECK_STR(taken(), "");
	write_rings("1:20:3");
	CHECK_STR(taken(), "1:20:3");
}

/* And all of the ring is there for the trace. */
TEST(rings_restart_makes_room)
{
	struct nfg_rec recs[1];
	uint64_t cnt = 0;
	struct side side;

	start_rings(1);
	side = side_of(0);
	for (int round = 0; round < 2; round++) {
		for (cnt = 0; !is_full(side); cnt++)
			fill(side, reserve(side), 100000 + cnt, 7);
		CHECK(cnt == REC_CNT - NFG_RING_SLACK);
		CHECK(rings_restart(&rb.rings, 0, recs, 1) == cnt);
	}
}
