/* Interrupts that arrive inside a BPF program: the reader keeps such an interrupt whole or drops it whole. */
#include "attach/rings.h"

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "ringbench.h"

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
	struct bench b = start_rings(2);
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

/*
 * The entry of a call is missing, its return, or the entry of one and the return of another: the
 * whole interrupt is dropped, and nothing else.
 */
TEST(rings_leave_interrupts_out_that_lack_an_end)
{
	static const uint32_t ends[][4] = {
		{ 2, 3, 3 | NFG_TASK_EXIT }, /* no return of 2 */
		{ 3, 3 | NFG_TASK_EXIT, 2 | NFG_TASK_EXIT },
		{ 2, 3, 2 | NFG_TASK_EXIT },
		{ 2, 3 | NFG_TASK_EXIT },
	};

	for (int i = 0; i < 4; i++) {
		struct bench b = start_rings(2);
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

/*
 * Two programs are active in the inner interrupt, so a call's entry and return may both be missing;
 * likewise where one program serves both ends.
 */
TEST(rings_do_not_trust_what_two_programs_skip)
{
	struct bench b = start_rings(1);
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
	struct bench b = start_rings(2);
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

/* The interrupted program has reserved its slot, and fills it after the interrupt. */
TEST(rings_put_what_was_interrupted_behind_the_interrupt)
{
	for (int is_torn = 0; is_torn < 2; is_torn++) {
		struct bench b = start_rings(1);
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

/* The ring fills up inside the interrupt; the end of the interrupt still finds a slot. */
TEST(rings_show_a_loss_within_an_interrupt)
{
	for (int is_torn = 0; is_torn < 2; is_torn++) {
		struct bench b = start_rings(1);
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

/* Another packet's tree: the calls below its start function have no returns. */
TEST(rings_know_a_packets_tree_that_is_given_up)
{
	struct bench b = start_rings(1);
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

/* A ring that is given up at the end is not read twice, and does not stop the others. */
TEST(rings_give_up_an_interrupt_without_an_end)
{
	struct bench b = start_rings(2);
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
