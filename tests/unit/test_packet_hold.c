/* Which packets' trees reach the graph. */
#include "trace/packet_hold.h"
#include "harness.h"
#include "script.h"

static struct packet_hold *trees;

static void start(void)
{
	CHECK(!packet_hold_new(&trees, 2));
}
BEFORE(start);
AT_END(packet_hold_free(trees));

/* The times of what comes out, as digits: the first event is 1, the second 2. */
static const char *passed(const char *script)
{
	static char text[64];
	struct event events[16];
	size_t cnt;

	SCRIPT_EACH(script, ev)
		CHECK(!packet_hold_feed(trees, ev, 1));
	cnt = packet_hold_take(trees, events, 16);
	for (size_t i = 0; i < cnt; i++)
		text[i] = (char)('0' + events[i].time_ns);
	text[cnt] = '\0';
	return text;
}

static void end(uint64_t dropped_cnt, uint64_t unknown_cnt)
{
	CHECK(packet_hold_stats_get(trees)->dropped_cnt == dropped_cnt);
	CHECK(packet_hold_stats_get(trees)->unknown_cnt == unknown_cnt);
}

static void check_hold(const char *script, const char *want, uint64_t dropped_cnt,
		       uint64_t unknown_cnt)
{
	CHECK_STR(passed(script), want);
	end(dropped_cnt, unknown_cnt);
}

TEST_ONE(trees_let_others_pass, check_hold("a{ cpu1 a{/tr }/tr", "123", 0, 0));

TEST(tracepoints_share_the_verdict_on_their_tree)
{
	check_hold("a{/tur point0/tu }/tr", "123", 0, 0);
	check_hold("a{/tur point0/tu }/trd", "", 1, 0);
}

/* Its tree ends where it begins. */
TEST(a_tracepoint_outside_every_tree_is_shown_if_its_packet_has_an_owner)
{
	check_hold("point0/tr point0/tur a{/tr }/tr", "134", 0, 1);
}

/* The event of a task says that the open tree is over. */
TEST(a_tracepoint_of_a_task_ends_a_tree_whose_end_was_lost)
{
	check_hold("a{/tur b{/tu point0", "3", 0, 1);
}

TEST(trees_show_a_late_owner_whole_and_in_place)
{
	CHECK_STR(passed("a{/tur cpu1 a{ cpu0 a{/tu"), "");
	CHECK_STR(passed("}/t"), "1234");
	CHECK_STR(passed("}/tr"), "5");
	end(0, 0);
}

TEST_ONE(trees_drop_what_is_somebody_elses,
	 check_hold("a{/tur cpu1 a{ cpu0 a{/tu }/trd", "2", 1, 0));

TEST(trees_drop_what_nobody_could_tell)
{
	CHECK_STR(passed("a{/tur }/tur a{"), "3");
	CHECK(packet_hold_stats_get(trees)->unknown_cnt == 1);
	CHECK_STR(passed("a{/tur"), "");
	packet_hold_finish(trees);
	CHECK_STR(passed(""), "");
	end(0, 2);
}

TEST_ONE(trees_keep_losses_where_they_were, check_hold("a{/tur lost0 }/trd", "2", 0, 1));

/* The verdict may be another packet's: that of the first tree, and where it began, are lost. */
TEST_ONE(trees_across_a_gap_are_nobodys, check_hold("a{/tur gap lost0 a{/tu }/t", "2345", 0, 1));

TEST_ONE(trees_in_doubt_are_nobodys,
	 check_hold("a{/tur doubt a{/tur }/t a{/tur sure a{/tur }/t", "24678", 0, 3));

/* A device's interrupt handler interrupted the softirq. */
TEST_ONE(trees_are_not_cut_off_by_a_torn_interrupt,
	 check_hold("a{/tur torn0 a{/t }/tr", "1234", 0, 0));

/* The second is another packet; then there is a task's own call. */
TEST_ONE(trees_survive_a_lost_root_exit, CHECK_STR(passed("a{/tur a{/tur }/tr"), "23"),
	 CHECK_STR(passed("a{/tur a{"), "5"));

TEST(trees_grow)
{
	struct event events[16];
	size_t seen = 0;
	size_t cnt;

	CHECK_STR(passed("a90{/tur cpu1"), "");
	for (int i = 0; i < 50000; i++) {
		SCRIPT_EACH("a90{", ev)
			CHECK(!packet_hold_feed(trees, ev, 1));
	}
	SCRIPT_EACH("cpu0 }a90/tr", ev)
		CHECK(!packet_hold_feed(trees, ev, 1));
	while ((cnt = packet_hold_take(trees, events, 16))) {
		for (size_t i = 0; i < cnt; i++)
			CHECK(events[i].time_ns == ++seen);
	}
	CHECK(seen == 50002);
}

TEST_ONE(trees_keep_switches_and_learn_nothing_from_them,
	 check_hold("a{/tur out in }/turd", "23", 1, 0));
