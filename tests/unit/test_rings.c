/* The reader over rings in plain memory, written as the BPF programs write them. */
#include "rings.h"

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
	CHECK(read_all(&b, ev, REC_CNT + 8) == before);
	fill(side, reserve(side), 5000, 2);
	cnt = read_all(&b, ev, 8);
	CHECK(cnt == 2);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 17 && ev[0].cpu == 1);
	CHECK(ev[0].time_ns == 5000 && ev[1].tid == 2);
	rings_lost(&b.rings, &full_cnt, &depth_cnt);
	CHECK(full_cnt == 17 && !depth_cnt && b.rings.shown_lost_cnt == 17);
	finish(&b);
}

TEST(rings_show_a_loss_that_nothing_follows)
{
	struct bench b = start(1);
	struct event ev[4];

	lose(side_of(&b, 0), 3);
	CHECK(read_all(&b, ev, 4) == 0);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 1);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 3);
	CHECK(rings_flush_gaps(&b.rings, ev, 4, 99) == 0);
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
