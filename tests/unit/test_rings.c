/* The reader over rings in plain memory, written as the BPF programs write them. */
#include "attach/rings.h"

#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define REC_CNT 1024u

struct bench {
	struct rings_memory mem;
	struct rings rings;
};

/* What the programs of one CPU see. */
struct side {
	struct nfg_rec *recs;
	struct nfg_gaps *gaps;
	struct nfg_cpu *cpu;
};

static struct side side_of(const struct bench *b, uint32_t cpu)
{
	return (struct side){
		.recs = b->mem.recs + cpu * REC_CNT,
		.gaps = &b->mem.gaps[cpu],
		.cpu = &b->mem.cpus[cpu],
	};
}

static struct bench start(uint32_t cpu_cnt)
{
	struct bench b = {
		.mem = { .recs = calloc(cpu_cnt * REC_CNT, sizeof(struct nfg_rec)),
			 .gaps = calloc(cpu_cnt, sizeof(struct nfg_gaps)),
			 .cpus = calloc(cpu_cnt, sizeof(struct nfg_cpu)),
			 .cpu_cnt = cpu_cnt,
			 .rec_cnt = REC_CNT },
	};

	CHECK(b.mem.recs && b.mem.gaps && b.mem.cpus);
	CHECK(!rings_init(&b.rings, &b.mem));
	return b;
}

static void finish(struct bench *b)
{
	rings_release(&b->rings);
	free(b->mem.recs);
	free(b->mem.gaps);
	free(b->mem.cpus);
}

static uint64_t reserve(struct side side)
{
	return side.cpu->head++;
}

static void fill(struct side side, uint64_t pos, uint64_t time_ns, uint32_t tid)
{
	side.recs[pos % REC_CNT] =
		(struct nfg_rec){ .time_ns = time_ns, .task = tid, .func_id = 1 };
}

static bool is_full(struct side side)
{
	return side.cpu->head >= side.cpu->limit;
}

static void lose(struct side side, uint64_t cnt)
{
	side.cpu->lost_full += cnt;
	side.gaps->list[side.gaps->cnt++ % NFG_GAP_CNT] =
		(struct nfg_gap){ .pos = side.cpu->head, .lost_cnt = cnt };
}

static size_t read_all(struct bench *b, struct event *events, size_t cap)
{
	size_t cnt = 0;
	size_t got;

	rings_begin(&b->rings, UINT64_MAX, 0);
	while ((got = rings_read(&b->rings, events + cnt, cap - cnt)))
		cnt += got;
	return cnt;
}

TEST(rings_merge_by_time_across_cpus)
{
	struct bench b = start(3);
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
	struct bench b = start(1);
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
	struct bench b = start(1);
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
	struct bench b = start(1);
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
	struct bench b = start(2);
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

TEST(rings_go_on_without_one_that_is_stuck_and_drop_what_comes_too_late)
{
	const uint64_t begun_ns = 1000000000;
	const uint64_t over_ns = begun_ns + RINGS_PATIENCE_NS + 1;
	struct bench b = start(2);
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
	struct bench b = start(2);
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

/* Nothing that was recorded vanishes: what stands behind a slot that is never written is counted. */
TEST(rings_count_what_is_behind_a_slot_that_is_never_written)
{
	const uint64_t begun_ns = 1000000000;
	struct bench b = start(2);
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
	struct bench b = start(1);
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
	struct bench b = start(1);
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
	struct bench b = start(1);
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
	struct bench b = start(2);
	struct side side = side_of(&b, 1);
	static struct event ev[REC_CNT + 8];
	uint64_t full_cnt;
	uint64_t depth_cnt;
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
	rings_lost(&b.rings, &full_cnt, &depth_cnt);
	CHECK(full_cnt == 17 && !depth_cnt && b.rings.shown_lost_cnt == 17);
	CHECK(b.rings.mark_cnt == 2);
	finish(&b);
}

TEST(rings_tell_of_a_loss_before_what_happened_meanwhile_elsewhere)
{
	struct bench b = start(2);
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

/* A task's program that an interrupt ran in: its record stands before the gap and is younger than what is behind. */
TEST(rings_begin_a_gap_before_a_record_that_was_held_back)
{
	struct bench b = start(1);
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

/* Of more gaps than are remembered the first are one with everything up to the oldest that is. */
TEST(rings_make_one_loss_of_gaps_without_a_place)
{
	const uint64_t gap_cnt = NFG_GAP_CNT + 40;
	struct bench b = start(1);
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
	struct bench b = start(2);
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
	struct bench b = start(1);
	struct event ev[4];

	lose(side_of(&b, 0), 3);
	CHECK(rings_flush_gaps(&b.rings, ev, 1, 99) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 1);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 3);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 0);
	finish(&b);
}

/* Else nothing on any CPU could be paired for as long as this one is silent. */
TEST(rings_end_a_loss_that_nothing_follows_when_there_is_room)
{
	struct bench b = start(2);
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

/* What came back at the last moment is not known to be over. */
TEST(rings_end_no_loss_without_a_horizon_or_room)
{
	struct bench b = start(1);
	struct side side = side_of(&b, 0);
	struct event ev[4];

	lose(side, 3);
	CHECK(read_at(&b, 100, ev, 4) == 1 && ev[0].kind == EVENT_GAP);
	CHECK(read_all(&b, ev, 4) == 0);
	side.cpu->limit = side.cpu->head;
	CHECK(read_at(&b, 200, ev, 4) == 0);
	CHECK(read_at(&b, 300, ev, 4) == 1 && ev[0].kind == EVENT_LOST && ev[0].time_ns == 300);
	finish(&b);
}

TEST(rings_show_a_loss_that_is_counted_late)
{
	struct bench b = start(1);
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

/* What happens to all CPUs at once is told of each that has a past, unless its ring does that already. */
TEST(rings_mark_each_cpu_as_its_own)
{
	struct bench b = start(4);
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
	struct bench b = start(1);
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
	struct bench b = start(3);

	CHECK(b.mem.cpus[0].ring == 0 && b.mem.cpus[2].ring == 2);
	rings_mute(&b.rings, 1);
	CHECK(!b.mem.cpus[0].muted && b.mem.cpus[1].muted && !b.mem.cpus[2].muted);
	finish(&b);
}

TEST(rings_keep_the_order_when_a_slot_is_written_between_two_reads)
{
	struct bench b = start(2);
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

/* ---- records with values ---- */

#define WORD_CNT (1u << 15)

static struct bench start_with_values(uint32_t cpu_cnt)
{
	struct bench b = start(cpu_cnt);

	rings_release(&b.rings);
	CHECK(!values_new(&b.mem.values, WORD_CNT));
	CHECK(!rings_init(&b.rings, &b.mem));
	return b;
}

static void finish_with_values(struct bench *b)
{
	values_free(b->mem.values);
	finish(b);
}

/* What @seed's call has: every combination, told by its number alone. */
static struct call_values values_of(uint32_t seed)
{
	struct call_values call = { .arg_cnt = (uint8_t)(seed % (VALUES_ARG_MAX + 1)),
				    .has_caller = seed / 16 & 1,
				    .has_ret = seed / 32 & 1 };

	for (uint32_t i = 0; i < call.arg_cnt; i++)
		call.args[i] = (uint64_t)seed << 32 | i;
	if (call.has_caller)
		call.caller = ~(uint64_t)seed;
	if (call.has_ret)
		call.ret = seed % 3 ? seed : 0;
	return call;
}

static uint32_t value_cnt(const struct call_values *call)
{
	return (uint32_t)call->arg_cnt + call->has_caller + call->has_ret;
}

static uint64_t reserve_with_values(struct side side, uint32_t seed)
{
	const struct call_values call = values_of(seed);
	uint64_t pos = side.cpu->head;

	side.cpu->head += 1 + value_cnt(&call);
	return pos;
}

static void fill_value(struct side side, uint64_t pos, uint32_t left, uint32_t which,
		       uint64_t value)
{
	const struct nfg_value slot = { NFG_VALUE_TAG(left, which), value };

	memcpy(&side.recs[pos % REC_CNT], &slot, sizeof(slot));
}

/* As put_values of bpf/values.bpf.h: the caller, the arguments; or the result. */
static void fill_values(struct side side, uint64_t pos, uint32_t seed)
{
	const struct call_values call = values_of(seed);
	uint32_t left = value_cnt(&call);

	if (call.has_caller)
		fill_value(side, ++pos, left--, NFG_VALUE_CALLER, call.caller);
	for (uint32_t i = 0; i < call.arg_cnt; i++)
		fill_value(side, ++pos, left--, i, call.args[i]);
	if (call.has_ret)
		fill_value(side, ++pos, left--, NFG_VALUE_RET, call.ret);
}

/* The record, whose thread is its seed. */
static void fill_record(struct side side, uint64_t pos, uint64_t time_ns, uint32_t seed)
{
	const struct call_values call = values_of(seed);

	fill(side, pos, time_ns, seed | (value_cnt(&call) ? NFG_TASK_VALUES : 0));
}

static void put_whole(struct side side, uint64_t time_ns, uint32_t seed)
{
	uint64_t pos = reserve_with_values(side, seed);

	fill_values(side, pos, seed);
	fill_record(side, pos, time_ns, seed);
}

static void check_values(const struct bench *b, const struct event *ev)
{
	const struct call_values want = values_of(ev->tid);
	struct call_values got;

	CHECK(values_get(b->mem.values, ev->values, &got) == (value_cnt(&want) != 0));
	CHECK(got.arg_cnt == want.arg_cnt && got.has_caller == want.has_caller);
	CHECK(got.has_ret == want.has_ret && got.caller == want.caller && got.ret == want.ret);
	CHECK(!memcmp(got.args, want.args, sizeof(got.args)));
}

static bool is_empty(const struct bench *b)
{
	for (uint32_t i = 0; i < b->mem.cpu_cnt * REC_CNT; i++) {
		if (b->mem.recs[i].time_ns)
			return false;
	}
	return true;
}

TEST(rings_read_values_behind_their_record)
{
	struct bench b = start_with_values(2);
	struct event ev[128];

	for (uint32_t seed = 0; seed < 64; seed++)
		put_whole(side_of(&b, seed & 1), 100 + seed, seed);
	CHECK(read_all(&b, ev, 128) == 64);
	for (uint32_t i = 0; i < 64; i++) {
		CHECK(ev[i].time_ns == 100 + i && ev[i].tid == i && ev[i].cpu == (i & 1));
		check_values(&b, &ev[i]);
	}
	CHECK(rings_is_drained(&b.rings) && is_empty(&b));
	CHECK(b.mem.cpus[0].limit == b.mem.cpus[0].head + REC_CNT - NFG_RING_SLACK);
	finish_with_values(&b);
}

TEST(rings_without_a_place_for_values_drop_them)
{
	struct bench b = start(1);
	struct event ev[128];

	for (uint32_t seed = 0; seed < 64; seed++)
		put_whole(side_of(&b, 0), 100 + seed, seed);
	CHECK(read_all(&b, ev, 128) == 64);
	for (uint32_t i = 0; i < 64; i++)
		CHECK(ev[i].tid == i && !ev[i].values);
	CHECK(rings_is_drained(&b.rings) && is_empty(&b));
	finish(&b);
}

TEST(rings_values_do_not_change_what_a_record_says)
{
	struct bench b = start_with_values(1);
	struct side side = side_of(&b, 0);
	struct event ev[2];

	put_whole(side, 10, 16); /* three arguments and a caller */
	side.recs[0].task |= NFG_TASK_EXIT | NFG_GATE_PACKET | NFG_TASK_MARKED;
	side.recs[0].func_id = 0xabcd;
	side.recs[0].frame = 0x1234;
	CHECK(read_all(&b, ev, 2) == 1);
	CHECK(ev[0].kind == EVENT_EXIT && ev[0].tid == 16 && ev[0].func_id == 0xabcd);
	CHECK(ev[0].frame == 0x1234 && ev[0].flags == (EVENT_TREE | EVENT_MARKED));
	check_values(&b, &ev[0]);
	finish_with_values(&b);
}

TEST(rings_wait_for_a_record_whose_values_are_written)
{
	const uint32_t seed = 12 | 32; /* five arguments, a result */
	struct bench b = start_with_values(1);
	struct side side = side_of(&b, 0);
	struct event ev[8];
	uint64_t pos;

	put_whole(side, 10, 1);
	pos = reserve_with_values(side, seed);
	CHECK(read_all(&b, ev, 8) == 1);
	fill_values(side, pos, seed);
	CHECK(read_all(&b, ev, 8) == 0 && !rings_is_drained(&b.rings));
	put_whole(side, 20, 17); /* an interrupt before the record is written */
	CHECK(read_all(&b, ev, 8) == 0);
	fill_record(side, pos, 30, seed);
	CHECK(read_all(&b, ev, 8) == 2);
	CHECK(ev[0].tid == 17 && ev[1].tid == seed);
	check_values(&b, &ev[0]);
	check_values(&b, &ev[1]);
	CHECK(rings_is_drained(&b.rings) && is_empty(&b));
	finish_with_values(&b);
}

TEST(rings_keep_the_values_of_held_back_records)
{
	static const uint32_t seeds[] = { 12 | 48, 0, 5, 16 | 12, 32 };
	static const uint64_t times[] = { 50, 40, 20, 30, 60 };
	static const uint32_t want[] = { 2, 3, 1, 0, 4 };
	struct bench b = start_with_values(1);
	struct side side = side_of(&b, 0);
	struct event ev[8];
	uint64_t pos[5];

	for (int i = 0; i < 5; i++)
		pos[i] = reserve_with_values(side, seeds[i]);
	for (int i = 5; i-- > 0;) {
		fill_values(side, pos[i], seeds[i]);
		fill_record(side, pos[i], times[i], seeds[i]);
	}
	CHECK(read_all(&b, ev, 8) == 5);
	for (int i = 0; i < 5; i++) {
		CHECK(ev[i].tid == seeds[want[i]] && ev[i].time_ns == times[want[i]]);
		check_values(&b, &ev[i]);
	}
	CHECK(rings_is_drained(&b.rings) && is_empty(&b));
	finish_with_values(&b);
}

TEST(rings_read_values_at_every_place_of_the_wrap)
{
	struct bench b = start_with_values(1);
	struct side side = side_of(&b, 0);
	struct event ev[4];

	for (uint32_t start_pos = REC_CNT - 16; start_pos < REC_CNT + 2; start_pos++) {
		while (side.cpu->head % REC_CNT != start_pos % REC_CNT) {
			put_whole(side, 1, 0);
			CHECK(read_all(&b, ev, 4) == 1);
		}
		put_whole(side, 7, 12 | 48); /* 14 values at once, more than ever come */
		CHECK(read_all(&b, ev, 4) == 1 && ev[0].tid == (12 | 48));
		check_values(&b, &ev[0]);
		CHECK(is_empty(&b));
	}
	finish_with_values(&b);
}

TEST(rings_show_a_loss_between_records_with_values)
{
	struct bench b = start_with_values(1);
	struct side side = side_of(&b, 0);
	static struct event ev[REC_CNT];
	uint32_t cnt = 0;

	while (!is_full(side))
		put_whole(side, 10 + cnt++, 9 | 16);
	CHECK(side.cpu->head <= side.cpu->limit + NFG_VALUE_CNT);
	lose(side, 3);
	CHECK(read_all(&b, ev, REC_CNT) == cnt + 1 && is_empty(&b));
	CHECK(ev[cnt].kind == EVENT_GAP);
	put_whole(side, 5000, 40);
	CHECK(read_all(&b, ev, REC_CNT) == 2);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 3 && ev[1].tid == 40);
	check_values(&b, &ev[1]);
	finish_with_values(&b);
}

/* ---- interrupts that came inside a program ---- */

#define IRQ_BEGINS (NFG_SWITCH_DOUBT | NFG_SWITCH_IRQ)
#define IRQ_ENDS   (IRQ_BEGINS | NFG_TASK_EXIT)

static void put(struct side side, uint64_t time_ns, uint32_t task, uint16_t func_id)
{
	side.recs[reserve(side) % REC_CNT] = (struct nfg_rec){
		.time_ns = time_ns, .task = 7 | task, .func_id = func_id, .frame = func_id
	};
}

static void put_irq(struct side side, uint64_t time_ns, uint32_t task)
{
	put(side, time_ns, task, NFG_FUNC_SWITCH);
}

/* What is read, as "time entry, exit) or ?lost". */
static const char *told(struct bench *b)
{
	static char text[1024];
	struct event ev[64];
	size_t cnt = read_all(b, ev, 64);
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; i < cnt; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llu%s", i ? " " : "",
					(unsigned long long)ev[i].time_ns,
					ev[i].kind == EVENT_ENTRY  ? "("
					: ev[i].kind == EVENT_EXIT ? ")"
					: ev[i].kind == EVENT_TORN ? "?"
								   : "!");
	return text;
}

TEST(rings_give_interrupts_out_whose_calls_are_whole)
{
	struct bench b = start(2);
	struct side side = side_of(&b, 0);

	put(side, 10, 0, 1);
	put_irq(side, 20, IRQ_BEGINS);
	put(side, 21, 0, 2);
	put(side, 22, 0, 3);
	put(side, 23, NFG_TASK_EXIT, 3);
	put(side, 24, NFG_TASK_EXIT, 2);
	put(side, 25, 0, 2);
	put(side, 26, NFG_TASK_EXIT, 2);
	put_irq(side, 30, IRQ_ENDS);
	put_irq(side, 31, IRQ_BEGINS); /* of nothing */
	put_irq(side, 32, IRQ_ENDS);
	put(side, 40, NFG_TASK_EXIT, 1);
	put(side_of(&b, 1), 22, 0, 1);
	CHECK_STR(told(&b), "10( 21( 22( 22( 23) 24) 25( 26) 40)");
	CHECK(!b.rings.mark_cnt && !b.rings.torn_cnt && rings_is_drained(&b.rings) && is_empty(&b));
	finish(&b);
}

/* An entry, a return, or the one of one call and the other of another: all of it is left out, and nothing else. */
TEST(rings_leave_interrupts_out_that_lack_an_end)
{
	static const uint32_t ends[][4] = {
		{ 2, 3, 3 | NFG_TASK_EXIT }, /* no return of 2 */
		{ 3, 3 | NFG_TASK_EXIT, 2 | NFG_TASK_EXIT },
		{ 2, 3, 2 | NFG_TASK_EXIT },
		{ 2, 3 | NFG_TASK_EXIT },
	};

	for (int i = 0; i < 4; i++) {
		struct bench b = start(2);
		struct side side = side_of(&b, 0);
		struct event ev[8];
		int cnt = 0;

		put(side, 10, 0, 1);
		put_irq(side, 20, IRQ_BEGINS);
		for (; ends[i][cnt]; cnt++)
			put(side, 21 + (uint64_t)cnt, ends[i][cnt] & NFG_TASK_EXIT,
			    (uint16_t)ends[i][cnt]);
		put_irq(side, 30, IRQ_ENDS);
		put(side, 40, NFG_TASK_EXIT, 1);
		put(side_of(&b, 1), 22, 0, 1);
		CHECK(read_all(&b, ev, 8) == 4);
		CHECK(ev[0].time_ns == 10 && ev[1].time_ns == 20 && ev[2].time_ns == 22);
		CHECK(ev[1].kind == EVENT_TORN && ev[1].lost_cnt == (uint64_t)cnt && !ev[1].cpu);
		CHECK(ev[3].time_ns == 40 && ev[3].kind == EVENT_EXIT);
		CHECK(b.rings.mark_cnt == 1 && b.rings.torn_cnt == (uint64_t)cnt);
		CHECK(rings_is_drained(&b.rings) && is_empty(&b));
		finish(&b);
	}
}

/* Two programs are active in the inner one, and both ends of a call may be missing. Where one is for both, likewise. */
TEST(rings_do_not_trust_what_two_programs_skip)
{
	struct bench b = start(1);
	struct side side = side_of(&b, 0);

	for (int i = 0; i < 2; i++) {
		put_irq(side, 20, IRQ_BEGINS);
		if (!i)
			put_irq(side, 21, IRQ_BEGINS);
		put(side, 22, 0, 2);
		put(side, 23, NFG_TASK_EXIT, 2);
		if (!i)
			put_irq(side, 24, IRQ_ENDS);
		put_irq(side, 25, IRQ_ENDS);
		CHECK_STR(told(&b), "20?");
		CHECK(b.rings.torn_cnt == 2);
		CHECK(is_empty(&b));
		b.rings.skips_whole_calls = true;
		b.rings.torn_cnt = 0;
	}
	finish(&b);
}

TEST(rings_wait_for_the_end_of_an_interrupt)
{
	struct bench b = start(2);
	struct side side = side_of(&b, 0);

	put(side, 10, 0, 1);
	put_irq(side, 20, IRQ_BEGINS);
	put(side, 21, 0, 2);
	put(side_of(&b, 1), 22, 0, 1);
	CHECK_STR(told(&b), "10(");
	put(side, 23, NFG_TASK_EXIT, 2);
	CHECK_STR(told(&b), "");
	put_irq(side, 24, IRQ_ENDS);
	CHECK_STR(told(&b), "21( 22( 23)");
	CHECK(is_empty(&b));
	finish(&b);
}

/* The program that it came into has its slot, and writes it when the interrupt is through. */
TEST(rings_put_what_was_interrupted_behind_the_interrupt)
{
	for (int is_torn = 0; is_torn < 2; is_torn++) {
		struct bench b = start(1);
		struct side side = side_of(&b, 0);
		uint64_t pos = reserve(side);

		put_irq(side, 20, IRQ_BEGINS);
		put(side, 21, 0, 2);
		if (!is_torn)
			put(side, 22, NFG_TASK_EXIT, 2);
		CHECK_STR(told(&b), "");
		fill(side, pos, 40, 7);
		CHECK_STR(told(&b), ""); /* on the way from another CPU: nothing may pass it */
		put_irq(side, 30, IRQ_ENDS);
		put(side, 50, NFG_TASK_EXIT, 1);
		CHECK_STR(told(&b), is_torn ? "20? 40( 50)" : "21( 22) 40( 50)");
		CHECK(is_empty(&b));
		finish(&b);
	}
}

TEST(rings_leave_values_out_with_their_interrupt)
{
	struct bench b = start_with_values(1);
	struct side side = side_of(&b, 0);
	struct event ev[8];

	put_whole(side, 10, 37);
	put_irq(side, 20, IRQ_BEGINS);
	put_whole(side, 21, 38);
	put_whole(side, 22, 39);
	put_irq(side, 30, IRQ_ENDS);
	put_whole(side, 40, 40);
	CHECK(read_all(&b, ev, 8) == 3);
	check_values(&b, &ev[0]);
	CHECK(ev[1].kind == EVENT_TORN && ev[1].lost_cnt == 2);
	check_values(&b, &ev[2]);
	CHECK(is_empty(&b));
	finish_with_values(&b);
}

/* The ring gets full in it; its end finds a place all the same. */
TEST(rings_show_a_loss_within_an_interrupt)
{
	for (int is_torn = 0; is_torn < 2; is_torn++) {
		struct bench b = start(1);
		struct side side = side_of(&b, 0);

		put(side, 10, 0, 1);
		put_irq(side, 20, IRQ_BEGINS);
		put(side, 21, 0, 2);
		lose(side, 3);
		if (!is_torn)
			put(side, 22, NFG_TASK_EXIT, 2);
		put_irq(side, 30, IRQ_ENDS);
		put(side, 50, NFG_TASK_EXIT, 1);
		CHECK_STR(told(&b), is_torn ? "10( 10! 20! 20? 50)" : "10( 21( 21! 22! 22) 50)");
		CHECK(b.rings.shown_lost_cnt == 3 && is_empty(&b));
		finish(&b);
	}
}

/* Somebody else's: the calls below its root have no returns. */
TEST(rings_know_a_packets_tree_that_is_given_up)
{
	struct bench b = start(1);
	struct side side = side_of(&b, 0);
	const uint32_t tree = NFG_GATE_PACKET | NFG_TREE_UNSURE;

	put_irq(side, 20, IRQ_BEGINS);
	put(side, 21, tree | NFG_TREE_ROOT, 2);
	put(side, 22, tree, 3);
	put(side, 23, NFG_GATE_PACKET | NFG_TREE_ROOT | NFG_TREE_DROP | NFG_TASK_EXIT, 2);
	put_irq(side, 30, IRQ_ENDS);
	CHECK_STR(told(&b), "21( 22( 23)");
	finish(&b);
}

/* Of a ring that is left behind at the end nothing is read twice, and it does not stop the others. */
TEST(rings_give_up_an_interrupt_without_an_end)
{
	struct bench b = start(2);
	struct side side = side_of(&b, 0);
	struct event ev[8];

	put_irq(side, 20, IRQ_BEGINS);
	put(side, 21, 0, 2);
	put(side_of(&b, 1), 30, 0, 1);
	CHECK_STR(told(&b), "");
	rings_give_up(&b.rings);
	CHECK(read_all(&b, ev, 8) == 2 && ev[1].kind == EVENT_ENTRY && ev[1].cpu == 1);
	CHECK(rings_flush_gaps(&b.rings, ev, 8, 99) == 1 && ev[0].kind == EVENT_LOST);
	CHECK(rings_is_drained(&b.rings));
	finish(&b);
}

/* ---- any order of writing, against a model ---- */

#define NEST_MAX 4 /* task, softirq, hardirq, NMI */

static uint64_t random_state = 4711;

static uint32_t random_below(uint32_t limit)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((random_state >> 33) % limit);
}

/* A CPU's programs: each interrupts the one below anywhere between two stores. */
struct model {
	struct {
		uint64_t pos;
		uint32_t seed;
		bool has_values; /* they are written; the record is what comes next */
	} open[NEST_MAX];
	uint32_t open_cnt;
	uint32_t made_cnt;
};

/* One step of what runs on the CPU. */
static void model_step(struct model *m, struct side side, uint64_t *now_ns, bool may_begin)
{
	uint32_t top = m->open_cnt - 1;

	if (may_begin && m->open_cnt < NEST_MAX && !random_below(3) && !is_full(side)) {
		uint32_t seed = random_below(64) | random_below(1000) << 6;

		m->open[m->open_cnt].pos = reserve_with_values(side, seed);
		m->open[m->open_cnt].seed = seed;
		m->open[m->open_cnt++].has_values = false;
		m->made_cnt++;
	} else if (m->open_cnt && !m->open[top].has_values) {
		fill_values(side, m->open[top].pos, m->open[top].seed);
		m->open[top].has_values = true;
	} else if (m->open_cnt) {
		fill_record(side, m->open[top].pos, ++*now_ns, m->open[top].seed);
		m->open_cnt--;
	}
}

/* Steps of all CPUs; what is read is in order of time, whole, and each record comes once. */
static void check_random(uint32_t cpu_cnt, uint32_t step_cnt, uint32_t read_each)
{
	struct bench b = start_with_values(cpu_cnt);
	static struct event ev[4 * REC_CNT];
	struct model models[4] = { 0 };
	uint64_t now_ns = 1000;
	uint64_t last_ns = 0;
	uint64_t made_cnt = 0;
	uint64_t read_cnt = 0;

	for (uint32_t i = 0; i < step_cnt + 100; i++) {
		uint32_t cpu = i < step_cnt ? random_below(cpu_cnt) : i % cpu_cnt;
		size_t cnt = 0;

		model_step(&models[cpu], side_of(&b, cpu), &now_ns, i < step_cnt);
		if (!random_below(read_each) || i == step_cnt + 99)
			cnt = read_all(&b, ev, 4 * REC_CNT);
		for (size_t j = 0; j < cnt; j++) {
			CHECK(ev[j].time_ns > last_ns && ev[j].cpu < cpu_cnt);
			check_values(&b, &ev[j]);
			last_ns = ev[j].time_ns;
		}
		read_cnt += cnt;
	}
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++)
		made_cnt += models[cpu].made_cnt;
	CHECK(read_cnt == made_cnt && read_cnt == now_ns - 1000);
	CHECK(rings_is_drained(&b.rings) && is_empty(&b));
	finish_with_values(&b);
}

TEST(rings_agree_with_a_model_in_any_order_of_writing)
{
	check_random(1, 100000, 1);
	check_random(1, 100000, 200);
	check_random(3, 200000, 40);
	check_random(4, 200000, 3000); /* rings get full */
}
