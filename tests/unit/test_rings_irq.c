/* Interrupts that arrive inside a BPF program: the reader keeps such an interrupt whole or drops it whole. */
#include "attach/rings.h"
#include "harness.h"
#include "ringbench.h"

AFTER(end_rings);

/* What is read of @script; nothing is left behind. */
static void check_taken(const char *script, const char *want)
{
	write_rings(script);
	CHECK_STR(taken(), want);
	CHECK(rings_is_drained(&rb.rings) && is_empty());
}

/* The last interrupt is one of nothing. */
TEST_ONE(rings_give_interrupts_out_whose_calls_are_whole, start_rings(2),
	 check_taken("0:10:a{ 0:20:irq{ 0:21:b{ 0:22:c{ 0:23:}c 0:24:}b 0:25:b{ 0:26:}b 0:30:}irq "
		     "0:31:irq{ 0:32:}irq 0:40:}a 1:22:a{",
		     "0:10:7 0:21:7 0:22:7 1:22:7 0:23:/7 0:24:/7 0:25:7 0:26:/7 0:40:/7"),
	 CHECK(!rb.rings.mark_cnt && !rb.rings.torn_cnt));

/*
 * The entry of a call is missing, its return, or the entry of one and the return of another: the
 * whole interrupt is dropped, and nothing else.
 */
TEST(rings_leave_interrupts_out_that_lack_an_end)
{
	static const struct {
		const char *calls;
		uint64_t cnt;
	} torn[] = {
		{ "0:21:b{ 0:22:c{ 0:23:}c", 3 }, /* no return of b */
		{ "0:21:c{ 0:22:}c 0:23:}b", 3 },
		{ "0:21:b{ 0:22:c{ 0:23:}b", 3 },
		{ "0:21:b{ 0:22:}c", 2 },
	};

	for (int i = 0; i < 4; i++) {
		start_rings(2);
		write_rings("0:10:a{ 0:20:irq{");
		write_rings(torn[i].calls);
		check_taken("0:30:}irq 0:40:}a 1:22:a{",
			    torn[i].cnt == 3 ? "0:10:7 0:20:torn3 1:22:7 0:40:/7"
					     : "0:10:7 0:20:torn2 1:22:7 0:40:/7");
		CHECK(rb.rings.mark_cnt == 1 && rb.rings.torn_cnt == torn[i].cnt);
	}
}

/*
 * Two programs are active in the inner interrupt, so a call's entry and return may both be missing;
 * likewise where one program serves both ends.
 */
TEST(rings_do_not_trust_what_two_programs_skip)
{
	start_rings(1);
	check_taken("0:20:irq{ 0:21:irq{ 0:22:b{ 0:23:}b 0:24:}irq 0:25:}irq", "0:20:torn2");
	CHECK(rb.rings.torn_cnt == 2);
	rb.rings.skips_whole_calls = true;
	rb.rings.torn_cnt = 0;
	check_taken("0:20:irq{ 0:22:b{ 0:23:}b 0:25:}irq", "0:20:torn2");
	CHECK(rb.rings.torn_cnt == 2);
}

TEST(rings_wait_for_the_end_of_an_interrupt)
{
	start_rings(2);
	write_rings("0:10:a{ 0:20:irq{ 0:21:b{ 1:22:a{");
	CHECK_STR(taken(), "0:10:7");
	write_rings("0:23:}b");
	CHECK_STR(taken(), "");
	check_taken("0:24:}irq", "0:21:7 1:22:7 0:23:/7");
}

/* The interrupted program has reserved its slot, and fills it after the interrupt. */
TEST(rings_put_what_was_interrupted_behind_the_interrupt)
{
	for (int is_torn = 0; is_torn < 2; is_torn++) {
		start_rings(1);
		write_rings(is_torn ? "0:x 0:20:irq{ 0:21:b{" : "0:x 0:20:irq{ 0:21:b{ 0:22:}b");
		CHECK_STR(taken(), "");
		write_rings("0:x:40:7");
		CHECK_STR(taken(), ""); /* on the way from another CPU: nothing may pass it */
		check_taken("0:30:}irq 0:50:}a", is_torn ? "0:20:torn1 0:40:7 0:50:/7"
							 : "0:21:7 0:22:/7 0:40:7 0:50:/7");
	}
}

TEST(rings_leave_values_out_with_their_interrupt)
{
	struct side side = start_with_values(1);
	struct event ev[8];

	put_whole(side, 10, 37);
	write_rings("0:20:irq{");
	put_whole(side, 21, 38);
	put_whole(side, 22, 39);
	write_rings("0:30:}irq");
	put_whole(side, 40, 40);
	CHECK(read_all(ev, 8) == 3);
	check_values(&ev[0]);
	CHECK(ev[1].kind == EVENT_TORN && ev[1].lost_cnt == 2);
	check_values(&ev[2]);
	CHECK(is_empty());
}

/* The ring fills up inside the interrupt; the end of the interrupt still finds a slot. */
TEST(rings_show_a_loss_within_an_interrupt)
{
	for (int is_torn = 0; is_torn < 2; is_torn++) {
		start_rings(1);
		write_rings("0:10:a{ 0:20:irq{ 0:21:b{ 0:lost3");
		if (!is_torn)
			write_rings("0:22:}b");
		check_taken("0:30:}irq 0:50:}a",
			    is_torn ? "0:10:7 0:10:gap 0:20:lost3 0:20:torn1 0:50:/7"
				    : "0:10:7 0:21:7 0:21:gap 0:22:lost3 0:22:/7 0:50:/7");
		CHECK(rb.rings.shown_lost_cnt == 3);
	}
}

static void put(struct side side, uint64_t time_ns, uint32_t task, uint16_t func_id)
{
	side.recs[reserve(side) % REC_CNT] = (struct nfg_rec){
		.time_ns = time_ns, .task = 7 | task, .func_id = func_id, .frame = func_id
	};
}

/* Another packet's tree: the calls below its start function have no returns. */
TEST(rings_know_a_packets_tree_that_is_given_up)
{
	struct side side = start_rings(1);
	const uint32_t tree = NFG_GATE_PACKET | NFG_TREE_UNSURE;

	write_rings("0:20:irq{");
	put(side, 21, tree | NFG_TREE_ROOT, 2);
	put(side, 22, tree, 3);
	put(side, 23, NFG_GATE_PACKET | NFG_TREE_ROOT | NFG_TREE_DROP | NFG_TASK_EXIT, 2);
	check_taken("0:30:}irq", "0:21:7 0:22:7 0:23:/7");
}

/* A ring that is given up at the end is not read twice, and does not stop the others. */
TEST(rings_give_up_an_interrupt_without_an_end)
{
	start_rings(2);
	write_rings("0:20:irq{ 0:21:b{ 1:30:a{");
	CHECK_STR(taken(), "");
	rings_give_up(&rb.rings);
	CHECK_STR(taken(), "0:0:gap 1:30:7");
	CHECK_STR(flushed(99), "0:99:lost0");
	CHECK(rings_is_drained(&rb.rings));
}
