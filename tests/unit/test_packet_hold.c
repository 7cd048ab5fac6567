/* Which packets' trees reach the graph. An event is written as CPU, kind, flags. */
#include "trace/packet_hold.h"

#include <string.h>

#include "harness.h"

enum {
	IN = EVENT_TREE,
	UNSURE = EVENT_TREE | EVENT_TREE_UNSURE,
	ROOT = EVENT_TREE_ROOT,
	DROP = EVENT_TREE_DROP,
};

struct bench {
	struct packet_hold *trees;
	uint64_t time_ns;
};

static struct bench start(void)
{
	struct bench b = { 0 };

	CHECK(!packet_hold_new(&b.trees, 2));
	return b;
}

static void feed(struct bench *b, uint32_t cpu, enum event_kind kind, unsigned int flags)
{
	const struct event ev = {
		.time_ns = ++b->time_ns, .cpu = cpu, .kind = kind, .flags = (uint16_t)flags
	};

	CHECK(!packet_hold_feed(b->trees, &ev, 1));
}

/* The times of what comes out, as digits. */
static const char *taken(struct bench *b)
{
	static char text[64];
	struct event events[16];
	size_t cnt = packet_hold_take(b->trees, events, 16);

	for (size_t i = 0; i < cnt; i++)
		text[i] = (char)('0' + events[i].time_ns);
	text[cnt] = '\0';
	return text;
}

TEST(trees_let_others_pass)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, 0);
	feed(&b, 1, EVENT_ENTRY, IN | ROOT);
	feed(&b, 1, EVENT_EXIT, IN | ROOT);
	CHECK_STR(taken(&b), "123");
	packet_hold_free(b.trees);
}

TEST(trees_show_a_late_owner_whole_and_in_place)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 1, EVENT_ENTRY, 0);
	feed(&b, 0, EVENT_ENTRY, UNSURE);
	CHECK_STR(taken(&b), "");
	feed(&b, 0, EVENT_EXIT, IN);
	CHECK_STR(taken(&b), "1234");
	feed(&b, 0, EVENT_EXIT, IN | ROOT);
	CHECK_STR(taken(&b), "5");
	packet_hold_free(b.trees);
}

TEST(trees_drop_what_is_somebody_elses)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 1, EVENT_ENTRY, 0);
	feed(&b, 0, EVENT_ENTRY, UNSURE);
	feed(&b, 0, EVENT_EXIT, IN | ROOT | DROP);
	CHECK_STR(taken(&b), "2");
	CHECK(packet_hold_stats_get(b.trees)->dropped_cnt == 1);
	packet_hold_free(b.trees);
}

TEST(trees_drop_what_nobody_could_tell)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_EXIT, UNSURE | ROOT);
	feed(&b, 0, EVENT_ENTRY, 0);
	CHECK_STR(taken(&b), "3");
	CHECK(packet_hold_stats_get(b.trees)->unknown_cnt == 1);
	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	packet_hold_finish(b.trees);
	CHECK_STR(taken(&b), "");
	CHECK(packet_hold_stats_get(b.trees)->unknown_cnt == 2);
	packet_hold_free(b.trees);
}

TEST(trees_keep_losses_where_they_were)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_LOST, 0);
	feed(&b, 0, EVENT_EXIT, IN | ROOT | DROP);
	CHECK_STR(taken(&b), "2");
	packet_hold_free(b.trees);
}

/* The verdict may be another packet's: that of the first tree, and where it began, are lost. */
TEST(trees_across_a_gap_are_nobodys)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_GAP, 0);
	feed(&b, 0, EVENT_LOST, 0);
	feed(&b, 0, EVENT_ENTRY, UNSURE);
	feed(&b, 0, EVENT_EXIT, IN);
	CHECK_STR(taken(&b), "2345");
	CHECK(packet_hold_stats_get(b.trees)->unknown_cnt == 1);
	packet_hold_free(b.trees);
}

TEST(trees_in_doubt_are_nobodys)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_DOUBT, 0);
	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_EXIT, IN);
	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_SURE, 0);
	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_EXIT, IN);
	CHECK_STR(taken(&b), "24678");
	CHECK(packet_hold_stats_get(b.trees)->unknown_cnt == 3);
	packet_hold_free(b.trees);
}

/* A device's interrupt handler interrupted the softirq. */
TEST(trees_are_not_cut_off_by_a_torn_interrupt)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_TORN, 0);
	feed(&b, 0, EVENT_ENTRY, IN);
	feed(&b, 0, EVENT_EXIT, IN | ROOT);
	CHECK_STR(taken(&b), "1234");
	CHECK(!packet_hold_stats_get(b.trees)->unknown_cnt);
	packet_hold_free(b.trees);
}

TEST(trees_survive_a_lost_root_exit)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT); /* another packet */
	feed(&b, 0, EVENT_EXIT, IN | ROOT);
	CHECK_STR(taken(&b), "23");
	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_ENTRY, 0); /* a task's own call */
	CHECK_STR(taken(&b), "5");
	packet_hold_free(b.trees);
}

TEST(trees_grow)
{
	struct bench b = start();
	struct event events[16];
	size_t seen = 0;
	size_t cnt;

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	for (int i = 0; i < 50000; i++)
		feed(&b, 1, EVENT_ENTRY, 0);
	feed(&b, 0, EVENT_EXIT, IN | ROOT);
	while ((cnt = packet_hold_take(b.trees, events, 16))) {
		for (size_t i = 0; i < cnt; i++)
			CHECK(events[i].time_ns == ++seen);
	}
	CHECK(seen == 50002);
	packet_hold_free(b.trees);
}

TEST(trees_keep_switches_and_learn_nothing_from_them)
{
	struct bench b = start();

	feed(&b, 0, EVENT_ENTRY, UNSURE | ROOT);
	feed(&b, 0, EVENT_OUT, 0);
	feed(&b, 0, EVENT_IN, 0);
	feed(&b, 0, EVENT_EXIT, UNSURE | ROOT | DROP);
	CHECK_STR(taken(&b), "23");
	CHECK(packet_hold_stats_get(b.trees)->dropped_cnt == 1);
	CHECK(packet_hold_stats_get(b.trees)->unknown_cnt == 0);
	packet_hold_free(b.trees);
}
