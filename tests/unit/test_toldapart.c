/* Which causes, and which tasks, are told apart. */
#include <stdio.h>

#include "format/explain.h"
#include "harness.h"
#include "rows.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

/* ---- tasks ---- */

/* A call of f that was preempted by each of so many tasks of one name for as many ms as before it, and one. */
static void put_preempted_by(int cnt)
{
	const uint64_t at = put_usuals(1000, 30);
	char note[64];

	put(ROW_ENTRY, 0, at, 0, "f");
	for (int i = 0; i < cnt; i++) {
		snprintf(note, sizeof(note), "preempted: us=%d prev_comm=hog prev_pid=%d",
			 1000 * (cnt - i), 70 + i);
		put_note(at + 10000, note);
	}
	put(ROW_RETURN, 0, at + 60000, 60000, "f");
}

TEST(tasks_of_one_name_are_told_apart)
{
	put_preempted_by(3);
	check_has(NULL, "preempted by hog-70 (50 %), hog-71 (33 %), hog-72 (17 %)\n", true);
}

TEST(many_tasks_of_one_name_are_one_part)
{
	put_preempted_by(8);
	check_has(NULL, "preempted by one of 8 tasks named hog\n", true);
}

TEST(two_wakers_of_one_name_have_their_doings)
{
	static const char *const first[] = {
		WOKEN_BY("task"),
		DID("50000", "0", "0", "0", "0", ""),
	};
	static const char *const second[] = {
		"slept: us=50000 state=S in=sk_wait_data+0x1/0x20 waker=task waker_comm=server "
		"waker_pid=10 from=tcp_data_queue+0x2/0x30 queued_us=0",
		DID("0", "50000", "0", "0", "0", "state=S in=x+0x1/0x9 prev_comm=hog prev_pid=3"),
	};
	uint64_t at = put_usuals(1000, 30);

	at = put_slow_did(at, first, 2);
	put_slow_did(at, second, 2);
	check_has(NULL,
		  "woken by task server-9 from tcp_data_queue (50 %), task server-10 from "
		  "tcp_data_queue (50 %); server-9 meanwhile ran 100 %; server-10 meanwhile waited "
		  "for a CPU that hog-3 had 100 %;",
		  true);
}

/* The longest of all that wakers did stands in the first words. */
TEST(the_waker_that_was_busy_longest_is_named)
{
	static const char *const first[] = {
		WOKEN_BY("task"),
		DID("40000", "0", "0", "10000", "10000", "state=S in=sk_wait_data+0x1/0x9"),
	};
	static const char *const second[] = {
		"slept: us=50000 state=S in=sk_wait_data+0x1/0x20 waker=own_softirq waker_comm=app "
		"waker_pid=10 from=tcp_data_queue+0x2/0x30 queued_us=0",
		DID("0", "50000", "0", "0", "0", "state=S in=x+0x1/0x9 prev_comm=rt prev_pid=3"),
	};
	uint64_t at = put_usuals(1000, 30);

	at = put_slow_did(at, first, 2);
	put_slow_did(at, second, 2);
	check_has(
		NULL,
		"\nLikely: the sender was late: app-10 waited for a CPU that rt-3 had for 50 % of that time.\n",
		true);
}

/* Rounded once, with what else it did. */
TEST(what_one_waker_did_has_one_number)
{
	static const char *const notes[] = {
		WOKEN_BY("task"),
		DID("8700", "75", "0", "41225", "41225", "state=S in=hrtimer_nanosleep+0x1/0x9"),
	};

	put_slow_did(put_usuals(1000, 30), notes, 2);
	check_has(NULL, "server-9 was asleep in hrtimer_nanosleep for 83 % of that time.\n", true);
	check_has(NULL, "meanwhile was asleep in hrtimer_nanosleep (state S) 83 %, ran 17 %\n",
		  true);
}

/* What many wakers of one name did is summed up. */
TEST(many_wakers_of_one_name_did_it_together)
{
	char slept[160], did[160];
	const char *const notes[] = { slept, did };
	uint64_t at = put_usuals(1000, 60);

	for (int i = 0; i < 5; i++) {
		snprintf(slept, sizeof(slept),
			 "slept: us=50000 state=S in=wait+0x1/0x2 waker=task waker_comm=server "
			 "waker_pid=%d from=wake+0x2/0x3 queued_us=0",
			 20 + i);
		snprintf(did, sizeof(did),
			 "waker_did: us=50000 ran_us=10000 queued_us=40000 faults=0 asleep_us=0 "
			 "longest_us=0 state=R in=0x0 prev_comm=hog prev_pid=%d",
			 40 + i);
		at = put_slow_did(at, notes, 2);
	}
	check_has(NULL,
		  "woken by one of 5 tasks named server from wake; one of 5 tasks named server "
		  "meanwhile waited for a CPU that one of 5 tasks named hog had 80 %, ran 20 %;",
		  true);
}

/* ---- places ---- */

/* A call of f that has k below h at two places, once and twice. */
static void put_two_places(uint64_t at)
{
	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_ENTRY, 1, at + 10, 0, "a");
	put(ROW_ENTRY, 2, at + 20, 0, "h");
	put(ROW_LEAF, 3, at + 30, 1000, "k");
	put(ROW_RETURN, 2, at + 1040, 1020, "h");
	put(ROW_RETURN, 1, at + 1050, 1040, "a");
	put(ROW_ENTRY, 1, at + 1110, 0, "h");
	put(ROW_LEAF, 2, at + 1130, 2000, "k");
	put(ROW_LEAF, 2, at + 4130, 3000, "k");
	put(ROW_RETURN, 1, at + 7150, 6040, "h");
	put(ROW_RETURN, 0, at + 7200, 7200, "f");
}

TEST(places_of_the_same_words_are_one_cause)
{
	const uint64_t at = put_usuals(1000, 40);

	put_two_places(at);
	put_two_places(at + 8000);
	find(0);
	check_cause(0, CAUSE_RUNNING, "k", 2 * 6000);
	CHECK_INT(causes.items[0].sums.slow_cnt, 6);
	CHECK_INT(causes.items[0].sums.seen_cnt, 2);
	CHECK_INT(causes.items[0].largest_cnt, 2);
	CHECK_INT(causes.items[0].below_ns, 2 * 6000 * US);
	check_cause(1, CAUSE_RUNNING, "h", 2 * 1040); /* below f */
	check_whole();
}

/* What a function that calls itself does is below it once. */
TEST(a_recursion_is_below_itself_once)
{
	const uint64_t at = put_usuals(1000, 40);

	put(ROW_ENTRY, 0, at, 0, "f");
	for (uint32_t i = 1; i <= 4; i++)
		put(ROW_ENTRY, i, at + i, 0, "h");
	for (uint32_t i = 4; i; i--)
		put(ROW_RETURN, i, at + 5000 - i, 5000 - 2 * i, "h");
	put(ROW_RETURN, 0, at + 5000, 5000, "f");
	find(0);
	check_cause(0, CAUSE_RUNNING, "h", 4996);
	CHECK_INT(causes.items[0].below_ns, 4996 * US);
	check_whole();
}

/* The same program, loaded twice. */
TEST(programs_of_one_name_are_one_cause)
{
	const uint64_t at = put_usuals(1000, 40);
	struct row row = call_row(ROW_LEAF, 1, (at + 10) * US, 2000 * US, "prog");

	put(ROW_ENTRY, 0, at, 0, "f");
	row.module = text_from("bpf:7");
	CHECK(!slowcalls_row(sc, &row));
	row.module = text_from("bpf:8");
	row.time_ns += 2500 * US;
	CHECK(!slowcalls_row(sc, &row));
	put(ROW_RETURN, 0, at + 5000, 5000, "f");
	find(0);
	check_cause(0, CAUSE_RUNNING, "prog", 4000);
	check_whole();
}

/* ---- parts that are less ---- */

/* Slow calls lack a part that others have, so that the rest is more than all of the excess. */
TEST(what_slow_calls_have_less_of_is_said)
{
	const uint64_t at = put_usuals(1000, 40);

	put(ROW_LEAF, 0, at, 1100, "f");
	check_has(NULL, "     1.04 ms  104.0 %  running in f", true);
	check_has(NULL,
		  "    -40.0 us   -4.0 %  1 part of which the slow call has less than others\n",
		  true);
	check_has(NULL, "smaller", false);
}

/* Each usual call has one of three parts, so that the median of each part is nothing. */
TEST(medians_that_do_not_add_up_are_said)
{
	static const char *const parts[] = { "g", "h", "i" };
	uint64_t at = 1000;

	for (int i = 0; i < 30; i++, at += 1000) {
		put(ROW_ENTRY, 0, at, 0, "f");
		put(ROW_LEAF, 1, at + 10, 60, parts[i % 3]);
		put(ROW_RETURN, 0, at + 90, 90, "f");
	}
	put(ROW_LEAF, 0, at, 590, "f");
	check_has(NULL, "    560.0 us  112.0 %  running in f", true);
	check_has(NULL, "    -60.0 us  -12.0 %  not explained: medians of parts do not add up\n",
		  true);
}

/* ---- packets that were dropped ---- */

/* What a call does behind that; NULL: it only takes as long. */
static const char *freed_note;

/* So many calls in which a packet was freed, in a call below these functions, each called by the one before. */
static void put_freed_below(uint64_t at, int cnt, const char *const *funcs, uint32_t func_cnt,
			    const char *location, const char *reason, uint64_t protocol)
{
	const struct value fields[] = {
		{ .name = TEXT("protocol"), .number = protocol, .form = FORM_UNSIGNED },
		{ .name = TEXT("location"), .text = text_from(location) },
		{ .name = TEXT("reason"), .text = text_from(reason) },
	};

	for (int i = 0; i < cnt; i++, at += 60000) {
		struct row row = call_row(ROW_POINT, func_cnt + 1, (at + 20) * US, 0, "kfree_skb");

		put(ROW_ENTRY, 0, at, 0, "f");
		for (uint32_t k = 0; k < func_cnt; k++)
			put(ROW_ENTRY, k + 1, at + 10 + k, 0, funcs[k]);
		row.module = text_from("skb");
		row.args = fields;
		row.arg_cnt = CNT_OF(fields);
		CHECK(!slowcalls_row(sc, &row));
		for (uint32_t k = func_cnt; k; k--)
			put(ROW_RETURN, k, at + 30 - k, 21 - 2 * k, funcs[k - 1]);
		if (freed_note)
			put_note(at + 1000, freed_note);
		put(ROW_RETURN, 0, at + 50000, 50000, "f");
	}
}

/* Two slow calls in which a packet was freed. */
static void put_freed(const char *location, const char *reason, uint64_t protocol)
{
	put_freed_below(put_usuals(1000, 40), 2, NULL, 0, location, reason, protocol);
}

/* Before the figures. */
TEST(what_was_dropped_is_said_with_its_reason)
{
	put_freed("nft_do_chain+0x1/0x2", "NETFILTER_DROP", 2048);
	check_has(
		NULL,
		"(median).\nLikely because IPv4 packets were dropped (skb:kfree_skb) reason=NETFILTER_DROP "
		"(by a firewall rule or connection tracking; recorded with --show rules --graph-opts retval, it names the table) in nft_do_chain: in 2 of 2 slow calls, and in 0 of 40 others.\nWhat a slow call",
		true);
}

/* BPF programs and modules are no functions of the kernel itself. */
TEST(a_function_has_its_module)
{
	const uint64_t at = put_usuals(1000, 40);
	struct row row = call_row(ROW_LEAF, 1, (at + 20) * US, 40000 * US, "slow_tc");

	put(ROW_ENTRY, 0, at, 0, "f");
	row.module = text_from("bpf:162");
	CHECK(!slowcalls_row(sc, &row));
	put(ROW_RETURN, 0, at + 50000, 50000, "f");
	check_has(NULL, "  running in slow_tc [bpf:162] below f, 1 call instead of none\n", true);
}

TEST(a_drop_without_protocol_and_reason)
{
	put_freed("tcp_v4_rcv+0x1/0x2", "", 0);
	check_has(NULL,
		  "\nLikely because packets were dropped (skb:kfree_skb) in tcp_v4_rcv: in 2 of 2",
		  true);
}

/* They go with their packet, whether it was received or not. */
TEST(freed_fragments_are_no_reason)
{
	put_freed("skb_release_data+0x1/0x2", "NOT_SPECIFIED", 0x86dd);
	check_has(
		NULL,
		"\nSeen: IPv6 packets' fragments were freed (skb:kfree_skb) reason=NOT_SPECIFIED in "
		"skb_release_data, which is no drop by itself: in 2 of 2 slow calls, and in 0 of 40",
		true);
}

#define IS_HIDDEN "return_to_handler+0x0/0x50"

/* Where the trace itself hides who called, it is the traced function around those that only free. */
TEST(the_place_of_a_drop_that_tracing_hides)
{
	static const char *const funcs[] = { "nft_do_chain", "sk_skb_reason_drop" };

	put_freed_below(put_usuals(1000, 40), 2, funcs, 2, IS_HIDDEN, "NETFILTER_DROP", 2048);
	check_has(
		NULL,
		"(by a firewall rule or connection tracking; recorded with --show rules --graph-opts retval, it names the table) in nft_do_chain: in 2 of 2",
		true);
}

/* A queue drops what it has put into a list. */
TEST(the_place_of_a_drop_in_a_list_is_the_queue)
{
	static const char *const funcs[] = { "__dev_queue_xmit", "kfree_skb_list_reason" };

	put_freed_below(put_usuals(1000, 40), 2, funcs, 2, "kfree_skb_list_reason+0x1/0x2",
			"QDISC_DROP", 2048);
	check_has(NULL, " reason=QDISC_DROP in __dev_queue_xmit: in 2 of 2", true);
}

/* A start function that itself frees has nothing around it. */
TEST(a_drop_may_have_no_place)
{
	const struct value fields[] = {
		{ .name = TEXT("location"), .text = TEXT(IS_HIDDEN) },
		{ .name = TEXT("reason"), .text = TEXT("NO_SOCKET") },
	};
	const uint64_t at = 1000;
	struct row row = call_row(ROW_POINT, 1, (at + 20) * US, 0, "kfree_skb");

	put(ROW_ENTRY, 0, at, 0, "sk_skb_reason_drop");
	row.module = text_from("skb");
	row.args = fields;
	row.arg_cnt = CNT_OF(fields);
	CHECK(!slowcalls_row(sc, &row));
	put(ROW_RETURN, 0, at + 50000, 50000, "sk_skb_reason_drop");
	find(10000);
	CHECK(slowcalls_detail(sc, causes.items[causes.cnt - 1].details[0].key)->from ==
	      SLOWCALLS_NONE);
}

/* ---- drops without calls to compare with ---- */

#define CONNECTED(us)                                                                            \
	"slept: us=" us " state=S in=__inet_stream_connect+0x1/0x20 waker=softirq waker_comm=x " \
	"waker_pid=9 from=tcp_rcv_state_process+0x2/0x30 queued_us=0"

/* One call in which a packet was dropped below nft_do_chain. */
static void put_one_dropped(const char *reason, const char *note)
{
	static const char *const func = "nft_do_chain";

	freed_note = note;
	put_freed_below(1000, 1, &func, 1, IS_HIDDEN, reason, 2048);
	freed_note = NULL;
}

/* As in a recorder's file: the drop is in the call that waited for the answer. */
TEST(a_drop_in_a_connect_without_others)
{
	put_one_dropped("NETFILTER_DROP", CONNECTED("49000"));
	check_slower_has(
		10000, NULL,
		"1 of 1 call of f was slow: 50.00 ms.\n"
		"Likely because IPv4 packets were dropped (skb:kfree_skb) reason=NETFILTER_DROP (by a "
		"firewall rule or connection tracking; recorded with --show rules --graph-opts retval, it names the table) in nft_do_chain: in 1 of 1 slow call; there are no "
		"others to compare with.\n    49.00 ms",
		true);
	check_slower_has(10000, NULL, "counters", false);
}

TEST(a_drop_for_no_reason_without_others)
{
	put_one_dropped("NOT_SPECIFIED", CONNECTED("49000"));
	check_slower_has(
		10000, NULL,
		"\nSeen: IPv4 packets were dropped (skb:kfree_skb) reason=NOT_SPECIFIED in "
		"nft_do_chain: in 1 of 1 slow call; there are no others to compare with.\n",
		true);
}

TEST(a_drop_in_a_call_that_waited_for_something_else)
{
	put_one_dropped("NETFILTER_DROP", SLEPT);
	check_slower_has(10000, NULL, "\nSeen: IPv4 packets were dropped", true);
}

/* What frees the packets of these calls is no function to look at, unless it is waited for. */
TEST(what_frees_is_not_explained_beside_what_a_recorder_waited_for)
{
	static const struct slow_limit limits[] = { { "f", 30000 * US },
						    { "sk_skb_reason_drop", 10000000 * US } };
	struct explain_view view = {
		.input = "x", .start_max = 3, .limits = limits, .limit_cnt = 1
	};
	struct explain_result result;
	struct strbuf out = { 0 };
	uint64_t at = put_slow(put_usuals(1000, 30), 50000, NULL);

	for (uint64_t i = 0; i < 9; i++, at += 1000)
		put(ROW_LEAF, 0, at, 2, "sk_skb_reason_drop");
	put(ROW_LEAF, 0, at, 62, "sk_skb_reason_drop");
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(!strncmp(strbuf_cstr(&out), "1 of 31 calls of f was slow", 27));
	CHECK(!strstr(strbuf_cstr(&out), "sk_skb_reason_drop"));
	CHECK(result.slow_start_cnt == 1);
	strbuf_reset(&out);
	view.limit_cnt = 2;
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(strstr(strbuf_cstr(&out), "\n1 of 10 calls of sk_skb_reason_drop was slow"));
	strbuf_release(&out);
}
