/* Records with values, alone and in any order of writing: the reader against a model. */
#include "attach/rings.h"
#include "harness.h"
#include "random.h"
#include "ringbench.h"

AFTER(end_rings);

TEST(rings_read_values_behind_their_record)
{
	struct event ev[128];

	start_with_values(2);
	for (uint32_t seed = 0; seed < 64; seed++)
		put_whole(side_of(seed & 1), 100 + seed, seed);
	CHECK(read_all(ev, 128) == 64);
	for (uint32_t i = 0; i < 64; i++) {
		CHECK(ev[i].time_ns == 100 + i && ev[i].tid == i && ev[i].cpu == (i & 1));
		check_values(&ev[i]);
	}
	CHECK(rings_is_drained(&rb.rings) && is_empty());
	CHECK(rb.mem.cpus[0].limit_bytes ==
	      rb.mem.cpus[0].head_bytes + (REC_CNT - NFG_RING_SLACK) * NFG_REC_BYTES);
}

/* Each of the tasks that are preempted before they reserve may take two dozen slots. */
TEST(rings_with_values_keep_more_room)
{
	start_with_values(1);
	rings_release(&rb.rings);
	rb.mem.rec_cnt = 64 * REC_CNT; /* none of them is touched */
	CHECK(!rings_init(&rb.rings, &rb.mem));
	CHECK(rb.mem.cpus[0].limit_bytes == (64 - 4) * REC_CNT * NFG_REC_BYTES);
	rings_release(&rb.rings);
	values_free(rb.mem.values);
	rb.mem.values = NULL;
	CHECK(!rings_init(&rb.rings, &rb.mem));
	CHECK(rb.mem.cpus[0].limit_bytes == (64 * REC_CNT - NFG_RING_SLACK) * NFG_REC_BYTES);
}

TEST(rings_without_a_place_for_values_drop_them)
{
	struct event ev[128];

	start_rings(1);
	for (uint32_t seed = 0; seed < 64; seed++)
		put_whole(side_of(0), 100 + seed, seed);
	CHECK(read_all(ev, 128) == 64);
	for (uint32_t i = 0; i < 64; i++)
		CHECK(ev[i].tid == i && !ev[i].values);
	CHECK(rings_is_drained(&rb.rings) && is_empty());
}

TEST(rings_values_do_not_change_what_a_record_says)
{
	struct side side = start_with_values(1);
	struct event ev[2];

	put_whole(side, 10, 16); /* three arguments and a caller */
	side.recs[0].task |= NFG_TASK_EXIT | NFG_GATE_PACKET | NFG_TASK_MARKED;
	side.recs[0].func_id = 0xabcd;
	side.recs[0].frame = 0x1234;
	CHECK(read_all(ev, 2) == 1);
	CHECK(ev[0].kind == EVENT_EXIT && ev[0].tid == 16 && ev[0].func_id == 0xabcd);
	CHECK(ev[0].frame == 0x1234 && ev[0].flags == (EVENT_TREE | EVENT_MARKED));
	check_values(&ev[0]);
}

TEST(rings_wait_for_a_record_whose_values_are_written)
{
	const uint32_t seed = 12 | 32; /* five arguments, a result */
	struct side side;
	struct event ev[8];
	uint64_t pos;

	start_with_values(1);
	side = side_of(0);
	put_whole(side, 10, 1);
	pos = reserve_with_values(side, seed);
	CHECK(read_all(ev, 8) == 1);
	fill_values(side, pos, seed);
	CHECK(read_all(ev, 8) == 0 && !rings_is_drained(&rb.rings));
	put_whole(side, 20, 17); /* an interrupt before the record is written */
	CHECK(read_all(ev, 8) == 0);
	fill_record(side, pos, 30, seed);
	CHECK(read_all(ev, 8) == 2);
	CHECK(ev[0].tid == 17 && ev[1].tid == seed);
	check_values(&ev[0]);
	check_values(&ev[1]);
	CHECK(rings_is_drained(&rb.rings) && is_empty());
}

TEST(rings_keep_the_values_of_held_back_records)
{
	static const uint32_t seeds[] = { 12 | 48, 0, 5, 16 | 12, 32 };
	static const uint64_t times[] = { 50, 40, 20, 30, 60 };
	static const uint32_t want[] = { 2, 3, 1, 0, 4 };
	struct side side;
	struct event ev[8];
	uint64_t pos[5];

	start_with_values(1);
	side = side_of(0);
	for (int i = 0; i < 5; i++)
		pos[i] = reserve_with_values(side, seeds[i]);
	for (int i = 5; i-- > 0;) {
		fill_values(side, pos[i], seeds[i]);
		fill_record(side, pos[i], times[i], seeds[i]);
	}
	CHECK(read_all(ev, 8) == 5);
	for (int i = 0; i < 5; i++) {
		CHECK(ev[i].tid == seeds[want[i]] && ev[i].time_ns == times[want[i]]);
		check_values(&ev[i]);
	}
	CHECK(rings_is_drained(&rb.rings) && is_empty());
}

TEST(rings_read_values_at_every_place_of_the_wrap)
{
	struct side side = start_with_values(1);
	struct event ev[4];

	for (uint32_t start_pos = REC_CNT - 16; start_pos < REC_CNT + 2; start_pos++) {
		while (side.cpu->head_bytes / NFG_REC_BYTES % REC_CNT != start_pos % REC_CNT) {
			put_whole(side, 1, 0);
			CHECK(read_all(ev, 4) == 1);
		}
		put_whole(side, 7, 12 | 48); /* 14 values at once, more than ever come */
		CHECK(read_all(ev, 4) == 1 && ev[0].tid == (12 | 48));
		check_values(&ev[0]);
		CHECK(is_empty());
	}
}

TEST(rings_show_a_loss_between_records_with_values)
{
	struct side side = start_with_values(1);
	static struct event ev[REC_CNT];
	uint32_t cnt = 0;

	while (!is_full(side))
		put_whole(side, 10 + cnt++, 9 | 16);
	CHECK(side.cpu->head_bytes <= side.cpu->limit_bytes + NFG_VALUE_CNT * NFG_REC_BYTES);
	lose(side, 3);
	CHECK(read_all(ev, REC_CNT) == cnt + 1 && is_empty());
	CHECK(ev[cnt].kind == EVENT_GAP);
	put_whole(side, 5000, 40);
	CHECK(read_all(ev, REC_CNT) == 2);
	CHECK(ev[0].kind == EVENT_LOST && ev[0].lost_cnt == 3 && ev[1].tid == 40);
	check_values(&ev[1]);
}

static uint64_t ustack_take(void *ctx, uint64_t taken, uint64_t mm)
{
	CHECK(taken == NFG_USTACK(77, 5) && mm == 0x7ffc0000);
	return ++*(uint64_t *)ctx;
}

/* All that an entry can have: as many values as there are, but for the result. */
static void put_all(struct side side, uint64_t time_ns)
{
	uint32_t left = NFG_VALUE_CNT - 1;
	uint64_t pos = side.cpu->head_bytes / NFG_REC_BYTES;

	side.cpu->head_bytes += (1 + left) * NFG_REC_BYTES;
	fill(side, pos, time_ns, 7 | NFG_TASK_VALUES);
	for (uint32_t which = 0; which < NFG_VALUE_CNT; which++) {
		struct nfg_value slot = { NFG_VALUE_TAG(left, which), 1000 + which };

		if (which == NFG_VALUE_RET)
			continue;
		if (which == NFG_VALUE_USTACK)
			slot.value = NFG_USTACK(77, 5);
		if (which == NFG_VALUE_USTACK_MM)
			slot.value = 0x7ffc0000;
		memcpy(&side.recs[++pos % REC_CNT], &slot, sizeof(slot));
		left--;
	}
	CHECK(!left);
}

TEST(rings_tell_user_stacks_from_members)
{
	struct side side = start_with_values(1);
	struct call_values got;
	struct event ev[2];
	uint64_t cnt = 0;

	for (uint32_t i = 0; i < 3; i++) {
		rb.rings.ustack = (struct rings_ustack){ i < 2 ? ustack_take : NULL, &cnt };
		put_all(side, 10 + i);
		CHECK(read_all(ev, 2) == 1 && values_get(rb.mem.values, ev[0].values, &got));
		CHECK(got.arg_cnt == 12 && got.args[11] == 1011 && got.has_packet && !got.has_ret);
		CHECK(got.caller == 1000 + NFG_VALUE_CALLER);
		CHECK(got.has_stack && got.stack == 1000 + NFG_VALUE_STACK);
		CHECK(got.shown_cnt == 1 + NFG_SHOWN_WORDS);
		CHECK(got.shown[0] == 1000 + NFG_VALUE_SHOWN);
		CHECK(got.shown[NFG_SHOWN_WORDS] == 1000 + NFG_VALUE_SHOWN + NFG_SHOWN_WORDS);
		CHECK(got.pkt == 1000 + NFG_VALUE_PKT);
		CHECK(got.has_ustack == (i < 2) && (i == 2 || got.ustack == i + 1));
		CHECK(is_empty());
	}
	CHECK(cnt == 2);
}

/* ---- any order of writing, against a model ---- */

#define NEST_MAX 4 /* task, softirq, hardirq, NMI */

/* A CPU's programs: each interrupts the one below anywhere between two stores. */
struct model {
	struct {
		uint64_t pos;
		uint32_t seed;
		bool has_values; /* they are written; the record is what comes next */
	} open[NEST_MAX];
	uint32_t open_cnt;
	uint32_t made_cnt;
	uint32_t values_pct; /* of the records have values; the others go a shorter way (rings.h) */
};

#define SEED_PLAIN(n) ((n)*13u * 64u) /* no arguments, caller or result */

static uint32_t model_seed(const struct model *m)
{
	if (random_below(100) >= m->values_pct)
		return SEED_PLAIN(random_below(1000));
	return random_below(64) | random_below(1000) << 6;
}

/* One step of what runs on the CPU. */
static void model_step(struct model *m, struct side side, uint64_t *now_ns, bool may_begin)
{
	uint32_t top = m->open_cnt - 1;

	if (may_begin && m->open_cnt < NEST_MAX && !random_below(3) && !is_full(side)) {
		uint32_t seed = model_seed(m);

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
static void check_random(uint32_t cpu_cnt, uint32_t step_cnt, uint32_t read_each,
			 uint32_t values_pct)
{
	static struct event ev[4 * REC_CNT];
	struct model models[4] = { { .values_pct = values_pct },
				   { .values_pct = values_pct },
				   { .values_pct = values_pct },
				   { .values_pct = values_pct } };
	uint64_t now_ns = 1000;
	uint64_t last_ns = 0;
	uint64_t made_cnt = 0;
	uint64_t read_cnt = 0;

	start_with_values(cpu_cnt);
	for (uint32_t i = 0; i < step_cnt + 100; i++) {
		uint32_t cpu = i < step_cnt ? random_below(cpu_cnt) : i % cpu_cnt;
		size_t cnt = 0;

		model_step(&models[cpu], side_of(cpu), &now_ns, i < step_cnt);
		if (!random_below(read_each) || i == step_cnt + 99)
			cnt = read_all(ev, 4 * REC_CNT);
		for (size_t j = 0; j < cnt; j++) {
			CHECK(ev[j].time_ns > last_ns && ev[j].cpu < cpu_cnt);
			check_values(&ev[j]);
			last_ns = ev[j].time_ns;
		}
		read_cnt += cnt;
	}
	for (uint32_t cpu = 0; cpu < cpu_cnt; cpu++)
		made_cnt += models[cpu].made_cnt;
	CHECK(read_cnt == made_cnt && read_cnt == now_ns - 1000);
	CHECK(rings_is_drained(&rb.rings) && is_empty());
}

TEST(rings_agree_with_a_model_in_any_order_of_writing)
{
	for (uint32_t values_pct = 0; values_pct <= 100; values_pct += 10) {
		check_random(1, 50000, 1, values_pct);
		check_random(1, 50000, 200, values_pct);
		check_random(3, 100000, 40, values_pct);
		check_random(4, 100000, 3000, values_pct); /* rings get full */
	}
}

TEST(rings_tell_tracepoints_from_calls)
{
	struct side side;
	struct event ev[2];

	start_with_values(1);
	side = side_of(0);
	put_whole(side, 10, 16); /* three arguments and a caller */
	side.recs[0].task |= NFG_TASK_POINT | NFG_GATE_PACKET | NFG_TREE_ROOT;
	side.recs[0].func_id = 5;
	CHECK(read_all(ev, 2) == 1);
	CHECK(ev[0].kind == EVENT_POINT && ev[0].tid == 16 && ev[0].func_id == 5);
	CHECK(ev[0].flags == (EVENT_TREE | EVENT_TREE_ROOT));
	check_values(&ev[0]);
}
