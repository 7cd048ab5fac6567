/* Causes of slow calls: from calls whose cause is known, to exact figures. */
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/causes.h"
#include "format/explain.h"
#include "format/likely.h"
#include "harness.h"
#include "random.h"
#include "rows.h"
#include "slowcalled.h"

BEFORE(calls_begin);
AFTER(calls_free);

#define FIELD_US(key, us)                                                                 \
	{                                                                                 \
		.name = TEXT(key), .number = us, .kind = VALUE_INT, .form = FORM_UNSIGNED \
	}

TEST(a_sleep_has_its_function_its_waker_and_the_time_on_the_queue)
{
	const struct detail_key *detail;
	uint64_t at = put_usuals(1000, 19);

	put_usuals(put_slow(at, 50000, SLEPT), 20);
	find(0);
	CHECK_INT(causes.slow_cnt, 1);
	CHECK_INT(causes.usual_ns, 100 * US);
	CHECK_INT(causes.slow_median_ns, 50100 * US);
	CHECK_INT(causes.excess_ns, 50000 * US);
	check_cause(0, CAUSE_ASLEEP, "wait_more", 48000);
	check_cause(1, CAUSE_QUEUED, "", 2000);
	check_cause(2, CAUSE_RUNNING, "g", 0);
	check_cause(3, CAUSE_RUNNING, "f", 0);
	CHECK_INT(causes.unexplained_ns, 0);
	check_whole();
	CHECK_INT(causes.items[0].largest_cnt, 1);
	detail = slowcalls_detail(sc, causes.items[0].details[0].key);
	CHECK_STR(name_at(detail->waker), "task");
	CHECK_STR(name_at(detail->comm), "a server");
	CHECK_STR(name_at(detail->from), "send_it");
	detail = slowcalls_detail(sc, causes.items[1].details[0].key);
	CHECK_STR(name_at(detail->comm), "hog");
}

TEST(sleeps_in_a_recording_are_those_in_its_text)
{
	static const struct value slept[] = {
		FIELD_US("us", 50000),
		FIELD_TEXT("state", "D"),
		FIELD_TEXT("in", "wait_more+1"),
		FIELD_TEXT("waker", "softirq"),
		FIELD_TEXT("waker_comm", "swapper/3"),
		FIELD_US("queued_us", 49000),
	};
	static const struct value preempted[] = { FIELD_US("us", 600),
						  FIELD_TEXT("prev_comm", "hog") };
	const uint64_t at = put_usuals(1000, 10);

	put(ROW_ENTRY, 0, at, 0, "f");
	put_point(at + 50000, "sched", "slept", slept, ARRAY_SIZE(slept));
	put_point(at + 50700, "sched", "preempted", preempted, ARRAY_SIZE(preempted));
	put(ROW_RETURN, 0, at + 50800, 50800, "f");
	find(0);
	CHECK_INT(causes.excess_ns, 50700 * US);
	check_cause(0, CAUSE_QUEUED, "", 49000);
	check_cause(1, CAUSE_ASLEEP, "wait_more", 1000);
	check_cause(2, CAUSE_PREEMPTED, "", 600);
	check_cause(3, CAUSE_RUNNING, "f", 140);
	check_cause(4, CAUSE_RUNNING, "g", -40);
	check_whole();
	/* which of the idle tasks says nothing */
	CHECK_INT(slowcalls_detail(sc, causes.items[1].details[0].key)->comm, SLOWCALLS_NONE);
	CHECK(slowcalls_has_sleeps(sc));
}

TEST(a_sleep_that_was_not_seen_is_not_known)
{
	const uint64_t at = put_usuals(1000, 10);

	put_slow(at, 3000, "sleep_unseen: missing=waking us=2900 in=wait_more+0x1/0x20");
	find(0);
	check_cause(0, CAUSE_UNSEEN, "wait_more", 2900);
	check_cause(1, CAUSE_RUNNING, "f", 100);
	check_whole();
}

TEST(more_calls_and_longer_ones_are_told_apart)
{
	uint64_t at = put_usuals(1000, 30);

	put(ROW_ENTRY, 0, at, 0, "f");
	for (uint64_t i = 0; i < 10; i++)
		put(ROW_LEAF, 1, at + 10 + i * 50, 40, "g");
	put(ROW_LEAF, 1, at + 600, 300, "h");
	put(ROW_RETURN, 0, at + 1000, 1000, "f");
	find(0);
	CHECK_INT(causes.excess_ns, 900 * US);
	check_cause(0, CAUSE_RUNNING, "g", 360);
	CHECK_INT(causes.items[0].sums.slow_cnt, 10);
	CHECK_INT(causes.items[0].sums.usual_cnt, 1);
	check_cause(1, CAUSE_RUNNING, "h", 300);
	CHECK_INT(causes.items[1].sums.usual_cnt, 0);
	check_cause(2, CAUSE_RUNNING, "f", 240);
	CHECK_INT(causes.items[2].sums.slow_cnt, 1);
	check_whole();
}

TEST(the_tree_of_an_interrupt_is_one_cause)
{
	uint64_t at = put_usuals(1000, 10);

	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_ENTRY, 1, at + 10, 0, "handle_softirqs");
	put(ROW_LEAF, 2, at + 20, 900, "busy");
	put(ROW_RETURN, 1, at + 1010, 1000, "handle_softirqs");
	put(ROW_LEAF, 1, at + 1020, 40, "g");
	put(ROW_RETURN, 0, at + 1100, 1100, "f");
	find(0);
	CHECK_INT(causes.excess_ns, 1000 * US);
	check_cause(0, CAUSE_INTERRUPTED, "handle_softirqs", 1000);
	CHECK_INT(causes.items[0].sums.slow_cnt, 1);
	CHECK_STR(name_at(slowcalls_detail(sc, causes.items[0].details[0].key)->from), "busy");
	CHECK_INT(causes.items[0].details[0].sums.excess_ns, 900 * US);
	check_whole();
}

/* In the call itself and in what it calls, by the function that the interrupt begins with. */
TEST(interrupts_are_one_cause_wherever_they_come)
{
	uint64_t at = put_usuals(1000, 10);

	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_LEAF, 1, at + 10, 400, "hrtimer_interrupt");
	put(ROW_ENTRY, 1, at + 500, 0, "g");
	put(ROW_LEAF, 2, at + 510, 300, "hrtimer_interrupt");
	put(ROW_LEAF, 2, at + 900, 200, "handle_irq_event");
	put(ROW_RETURN, 1, at + 1440, 940, "g");
	put(ROW_RETURN, 0, at + 1500, 1500, "f");
	find(0);
	check_cause(0, CAUSE_INTERRUPTED, "hrtimer_interrupt", 700);
	CHECK_INT(causes.items[0].sums.slow_cnt, 2);
	CHECK_INT(causes.items[0].largest_cnt, 1);
	check_cause(1, CAUSE_RUNNING, "g", 400);
	CHECK_INT(causes.items[1].below_ns, 900 * US);
	check_cause(2, CAUSE_INTERRUPTED, "handle_irq_event", 200);
	check_whole();
}

/* Below a start function of a softirq nothing is an interrupt of it, unless a hard one. */
TEST(a_softirq_is_not_interrupted_by_itself)
{
	put(ROW_ENTRY, 0, 1000, 0, "net_rx_action");
	put(ROW_LEAF, 1, 1010, 40, "__netif_receive_skb_one_core");
	put(ROW_RETURN, 0, 1100, 100, "net_rx_action");
	find(1);
	check_cause(0, CAUSE_RUNNING, "net_rx_action", 60);
	check_cause(1, CAUSE_RUNNING, "__netif_receive_skb_one_core", 40);
}

TEST(net_durations_are_compared_where_they_are_known)
{
	struct row row = call_row(ROW_RETURN, 0, 2000 * US, 1000 * US, "f");

	put(ROW_ENTRY, 0, 1000, 0, "f");
	put(ROW_LEAF, 1, 1100, 500, "g");
	row.net = (struct net_time){ .ns = 700 * US, .cost_ns = 300 * US, .is_known = true };
	CHECK(!slowcalls_row(sc, &row));
	find(1);
	CHECK_INT(causes.excess_ns, 700 * US);
	check_cause(0, CAUSE_RUNNING, "g", 500);
	check_cause(1, CAUSE_RUNNING, "f", 200);
	check_whole();
}

TEST(events_are_counted_in_slow_calls_and_in_others)
{
	static const struct value fields[] = { FIELD_TEXT("location", "drop_it+0x1/0x9"),
					       FIELD_TEXT("reason", "NO_SOCKET") };
	uint64_t at = put_usuals(1000, 30);

	for (int i = 0; i < 3; i++) {
		put(ROW_ENTRY, 0, at, 0, "f");
		if (i)
			put_point(at + 10, "skb", "kfree_skb", fields, 2);
		put(ROW_RETURN, 0, at + 1000, 1000, "f");
		at += 2000;
	}
	put(ROW_ENTRY, 0, at, 0, "f");
	put_point(at + 10, "skb", "kfree_skb", fields, 2);
	put(ROW_RETURN, 0, at + 100, 100, "f");
	find(0);
	CHECK_INT(causes.slow_cnt, 3);
	check_cause(causes.cnt - 1, CAUSE_EVENT, "kfree_skb", 0);
	CHECK_INT(causes.items[causes.cnt - 1].sums.seen_cnt, 2);
	CHECK_INT(causes.items[causes.cnt - 1].sums.other_seen_cnt, 1);
	check_whole();
}

/* What kind of lock, and in which traced call. */
TEST(a_lock_that_is_held_is_an_event)
{
	static const struct {
		uint64_t flags;
		const char *names; /* NULL: the bits have none */
		const char *want;
	} rows[] = {
		{ 32, NULL, "a mutex" },          { 33, NULL, "a mutex" },
		{ 1, NULL, "a spinlock" },        { 3, NULL, "a spinlock" },
		{ 8, NULL, "a mutex" },           { 2, NULL, "a semaphore" },
		{ 20, NULL, "a semaphore" },      { 32, "MUTEX", "a mutex" },
		{ 33, "SPIN|MUTEX", "a mutex" },  { 9, "SPIN|RT", "a mutex" },
		{ 3, "SPIN|READ", "a spinlock" }, { 20, "WRITE|PERCPU", "a semaphore" },
		{ 0, "0x0", "a semaphore" },
	};

	EACH(row, rows) {
		const struct value field = { .name = text_from("flags"),
					     .form = row->names ? FORM_TEXT : FORM_UNSIGNED,
					     .kind = row->names ? VALUE_FLAGS : VALUE_TEXT,
					     .text = text_from(row->names),
					     .number = row->flags };
		const uint64_t at = put_usuals(1000, 30);
		const struct cause_key *key;
		const struct detail_key *detail;

		put(ROW_ENTRY, 0, at, 0, "f");
		put(ROW_ENTRY, 1, at + 5, 0, "g");
		put_point(at + 10, "lock", "contention_begin", &field, 1);
		put(ROW_RETURN, 1, at + 990, 985, "g");
		put(ROW_RETURN, 0, at + 1000, 1000, "f");
		find(0);
		check_cause(causes.cnt - 1, CAUSE_EVENT, "contention_begin", 0);
		key = slowcalls_cause(sc, causes.items[causes.cnt - 1].key);
		detail = slowcalls_detail(sc, causes.items[causes.cnt - 1].details[0].key);
		CHECK_STR(name_at(key->state), row->want);
		CHECK_STR(name_at(detail->from), "g");
		calls_free();
		calls_begin();
	}
}

/* Where a traced function was called from is hidden by what traces it: it is somewhere in the call around. */
TEST(the_place_of_an_event_is_not_in_tracing)
{
	static const struct value fields[] = { FIELD_TEXT("location",
							  "return_to_handler+0x0/0x50") };
	uint64_t at = put_usuals(1000, 30);

	put(ROW_ENTRY, 0, at, 0, "f");
	put_point(at + 10, "skb", "kfree_skb", fields, 1);
	put(ROW_RETURN, 0, at + 1000, 1000, "f");
	find(0);
	check_cause(causes.cnt - 1, CAUSE_EVENT, "kfree_skb", 0);
	CHECK_STR(name_at(slowcalls_detail(sc, causes.items[causes.cnt - 1].details[0].key)->from),
		  "f");
}

/* ---- calls that are not whole ---- */

TEST(calls_without_an_end_are_counted_apart)
{
	const struct row lost = { .kind = ROW_LOST, .cpu = 1, .time_ns = 5000 * US, .lost_cnt = 3 };
	const struct startfunc *start;

	put(ROW_ENTRY, 0, 1000, 0, "f");
	CHECK(!slowcalls_row(sc, &lost));
	put_usual(6000);
	put(ROW_ENTRY, 0, 8000, 0, "f");
	put(ROW_LEAF, 1, 9000, 500, "g");
	put_note(11000, "trigger 'f > 2ms': f in task 7");
	CHECK(!slowcalls_finish(sc));
	start = slowcalls_start(sc, 0);
	CHECK_INT(start->call_cnt, 1);
	CHECK_INT(start->cut_cnt, 1);
	CHECK_INT(start->open_cnt, 1);
	CHECK_INT(start->open_ns, 3000 * US); /* to the end of all rows */
}

TEST(a_trace_without_calls_has_no_start_functions)
{
	struct strbuf out = { 0 };
	struct explain_result result;
	const struct explain_view view = { .input = "x", .start_max = 3 };

	put_note(1000, SLEPT);
	CHECK(!slowcalls_finish(sc));
	CHECK(!slowcalls_start(sc, 0));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK_INT(result.slow_start_cnt, 0);
	CHECK(!result.most);
	CHECK_INT(out.len, 0);
	strbuf_release(&out);
}

/* Whatever a file says, the parts of a call are its duration. */
TEST(sleeps_longer_than_their_call_keep_the_sum)
{
	uint64_t at = put_usuals(1000, 10);

	put_slow(at, 1000, "slept: us=18446744073709551615 state=S queued_us=18446744073709551615");
	find(0);
	CHECK_INT(causes.excess_ns, 1000 * US);
	check_whole();
}

TEST(a_call_of_a_million_parts_takes_the_memory_of_its_different_ones)
{
	uint64_t at = put_usuals(1000, 10);

	put(ROW_ENTRY, 0, at, 0, "f");
	for (uint64_t i = 0; i < 1000000; i++)
		put(ROW_LEAF, 1, at + i * 2, 1, i % 2 ? "g" : "h");
	put(ROW_RETURN, 0, at + 2000000, 2000000, "f");
	find(0);
	CHECK_INT(slowcalls_start(sc, 0)->calls[10].part_cnt, 3);
	check_cause(0, CAUSE_RUNNING, "f", 1000000 - 60);
	check_cause(1, CAUSE_RUNNING, "h", 500000);
	check_cause(2, CAUSE_RUNNING, "g", 500000 - 40);
	check_whole();
}

/* A call of f: g calls h, and in slow ones h takes longer, and calls k so often. */
static uint64_t put_deep(uint64_t at_us, uint64_t more_us, int cnt)
{
	const uint64_t took_us = 50 + more_us + (uint64_t)cnt * 30;

	put(ROW_ENTRY, 0, at_us, 0, "f");
	put(ROW_ENTRY, 1, at_us + 10, 0, "g");
	put(ROW_ENTRY, 2, at_us + 20, 0, "h");
	for (int i = 0; i < cnt; i++)
		put(ROW_LEAF, 3, at_us + 30 + (uint64_t)i * 30, 30, "k");
	put(ROW_RETURN, 2, at_us + 20 + took_us, took_us, "h");
	put(ROW_RETURN, 1, at_us + 30 + took_us, took_us + 20, "g");
	put(ROW_RETURN, 0, at_us + 40 + took_us, took_us + 40, "f");
	return at_us + took_us + 1000;
}

TEST(what_many_functions_share_is_within_one)
{
	uint64_t at = 1000;

	for (int i = 0; i < 40; i++)
		at = put_deep(at, 0, 0);
	for (int i = 0; i < 2; i++)
		at = put_deep(at, 3000, 100);
	find(0);
	CHECK_INT(causes.running_ns, 2 * 6000 * US);
	check_cause(0, CAUSE_RUNNING, "k", 2 * 3000);
	check_cause(1, CAUSE_RUNNING, "h", 2 * 3000);
	CHECK_STR(name_at(slowcalls_path(sc, causes.within_path)->func), "h");
	CHECK_INT(causes.within.excess_ns, 2 * 6000 * US);
	CHECK_INT(causes.within.slow_cnt, 2);
	CHECK_INT(causes.within.usual_cnt, 1);
	check_whole();
}

TEST(a_sleep_is_within_no_function)
{
	put_slow(put_usuals(1000, 40), 50000, "slept: us=50000 state=S in=wait queued_us=0");
	find(0);
	CHECK_INT(causes.within_path, SLOWCALLS_NONE);
}

/* ---- what is said ---- */

static void check_said(bool is_json, bool has_sleeps, const char *want)
{
	const struct explain_view view = {
		.input = "x.rec", .start_max = 3, .has_sleeps = has_sleeps, .lost_cnt = 4
	};
	struct explain_result result;
	struct strbuf out = { 0 };

	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, is_json ? EXPLAIN_JSON : EXPLAIN_TEXT, &out, &result));
	CHECK_INT(result.slow_start_cnt, 1);
	CHECK_STR(strbuf_cstr(&out), want);
	strbuf_release(&out);
}

static void put_two_slow(void)
{
	const uint64_t at = put_usuals(1000, 28);

	put_slow(put_slow(at, 50000, SLEPT), 50200, SLEPT);
}

TEST(causes_in_words)
{
	put_two_slow();
	check_said(
		false, true,
		"2 of 30 calls of f were slow: 50.10 ms and 50.30 ms instead of 100.0 us (median).\n"
		"What a slow call took longer, in the mean:\n"
		"    48.00 ms   95.8 %  asleep in wait_more (state S), woken by task a server-9 from "
		"send_it; what a server-9 did meanwhile is not known; the most in 2 of 2\n"
		"     2.00 ms    4.0 %  ready but not running: meanwhile ran hog-7; the most in 0 of 2\n"
		"    100.0 us    0.2 %  2 smaller parts\n"
		"The slowest took 50.30 ms, in task curl-77 on CPU 1 at 0.080000: netfgraph report "
		"-G f --tid 77 --slower-than 50300us FILE\n");
}

/* Only the one is the waker; the other was there when an interrupt ended. */
TEST(whose_softirq_woke_it_is_said)
{
	const uint64_t at = put_usuals(1000, 30);

	put_slow(put_slow(at, 50000, WOKEN_BY("own_softirq")), 50000, WOKEN_BY("softirq"));
	check_said(
		false, true,
		"2 of 32 calls of f were slow: 50.10 ms each instead of 100.0 us (median).\n"
		"What a slow call took longer, in the mean:\n"
		"    50.00 ms  100.0 %  asleep in sk_wait_data (state S), woken by server-9, in its softirq, "
		"from tcp_data_queue (50 %), a softirq (while server-9 ran) from tcp_data_queue (50 %); what server-9 did meanwhile is not known; "
		"the most in 2 of 2\n"
		"      0.0 us    0.0 %  2 smaller parts\n"
		"The slowest took 50.10 ms, in task curl-77 on CPU 1 at 0.082000: netfgraph report "
		"-G f --tid 77 --slower-than 50100us FILE\n");
}

#define WOKEN_FROM(func)                                                                        \
	"slept: us=50000 state=S in=sk_wait_data+0x1/0x20 waker=own_softirq waker_comm=server " \
	"waker_pid=9 from=" func "+0x2/0x30 queued_us=0"

/* A waker that does it from several places is named once. */
TEST(one_waker_has_several_places)
{
	uint64_t at = put_usuals(1000, 40);

	at = put_slow(at, 50000, WOKEN_FROM("tcp_rcv_established"));
	at = put_slow(at, 50000, WOKEN_FROM("tcp_rcv_established"));
	put_slow(at, 50000, WOKEN_FROM("tcp_data_queue"));
	check_said(
		false, true,
		"3 of 43 calls of f were slow: 50.10 ms instead of 100.0 us (medians).\n" LATE_BY_SERVER
		"What a slow call took longer, in the mean:\n"
		"    50.00 ms  100.0 %  asleep in sk_wait_data (state S), woken by server-9, in its softirq, "
		"from tcp_rcv_established (67 %), from tcp_data_queue (33 %); what server-9 did meanwhile is not known; the most in 3 of 3\n"
		"      0.0 us    0.0 %  2 smaller parts\n"
		"The slowest took 50.10 ms, in task curl-77 on CPU 1 at 0.143000: netfgraph report "
		"-G f --tid 77 --slower-than 50100us FILE\n");
}

TEST(what_the_waker_did_is_said_in_the_mean)
{
	static const char *const first[] = {
		WOKEN_BY("own_softirq"),
		DID("1000", "500", "3", "48500", "48000", "state=S in=hrtimer_nanosleep+0x1/0x9"),
	};
	static const char *const second[] = {
		WOKEN_BY("own_softirq"),
		DID("40000", "0", "801", "10000", "10000", "state=T in=do_signal_stop+0x1/0x9"),
	};
	uint64_t at = put_usuals(1000, 30);

	at = put_slow_did(at, first, 2);
	put_slow_did(at, second, 2);
	check_said(
		false, true,
		"2 of 32 calls of f were slow: 50.10 ms each instead of 100.0 us (median).\n"
		"Likely: the sender was late: server-9 was asleep in hrtimer_nanosleep for 48 % of that time.\n"
		"What a slow call took longer, in the mean:\n"
		"    50.00 ms  100.0 %  asleep in sk_wait_data (state S), woken by server-9, in its softirq, "
		"from tcp_data_queue; server-9 meanwhile was asleep in hrtimer_nanosleep (state S) 48 %, "
		"ran 41 % (402 page faults), was stopped in do_signal_stop (state T) 10 %; "
		"the most in 2 of 2\n"
		"      0.0 us    0.0 %  2 smaller parts\n"
		"The slowest took 50.10 ms, in task curl-77 on CPU 1 at 0.091000: netfgraph report "
		"-G f --tid 77 --slower-than 50100us FILE\n");
}

/* Sleeps whose waker is not known are not forgotten, and what was not a waker's is nobody's. */
TEST(of_wakers_only_what_is_known_is_said)
{
	static const char *const known[] = {
		WOKEN_BY("task"),
		DID("0", "50000", "0", "0", "0", ""),
	};
	static const char *const not_known[] = { WOKEN_BY("task") };
	static const char *const softirq[] = {
		WOKEN_BY("softirq"),
		"preempted: us=0 in=g+0x1/0x2",
		/* its sleep was lost */
		DID("50000", "0", "0", "0", "0", ""),
	};
	uint64_t at = put_usuals(1000, 40);

	at = put_slow_did(at, known, 2);
	at = put_slow_did(at, not_known, 1);
	put_slow_did(at, softirq, 3);
	check_said(
		false, true,
		"3 of 43 calls of f were slow: 50.10 ms instead of 100.0 us (medians).\n"
		"What a slow call took longer, in the mean:\n"
		"    50.00 ms  100.0 %  asleep in sk_wait_data (state S), woken by task server-9 from "
		"tcp_data_queue (67 %), a softirq (while server-9 ran) from tcp_data_queue (33 %); "
		"server-9 meanwhile waited for a CPU 50 %, what else is not known 50 %; the most in 3 of 3\n"
		"      0.0 us    0.0 %  3 smaller parts\n"
		"The slowest took 50.10 ms, in task curl-77 on CPU 1 at 0.161000: netfgraph report "
		"-G f --tid 77 --slower-than 50100us FILE\n");
	find_again(0);
	check_whole();
}

/* A call of f that waits for so long while two tasks have its CPU. Return: when the next one may begin. */
static uint64_t put_preempted(uint64_t at_us, int x_us, int y_us)
{
	char note[64];

	put(ROW_ENTRY, 0, at_us, 0, "f");
	snprintf(note, sizeof(note), "preempted: us=%d prev_comm=x prev_pid=7", x_us);
	if (x_us)
		put_note(at_us + 10000, note);
	snprintf(note, sizeof(note), "preempted: us=%d prev_comm=y prev_pid=8", y_us);
	if (y_us)
		put_note(at_us + 20000, note);
	put(ROW_RETURN, 0, at_us + 30000, (uint64_t)(100 + x_us + y_us), "f");
	return at_us + 40000;
}

/* One of both is usual, so that a slow call has more of each than of both together. */
TEST(parts_of_a_line_are_not_more_than_all_of_it)
{
	uint64_t at = 1000;

	for (int i = 0; i < 30; i++)
		at = put_preempted(at, i % 2 ? 0 : 1000, i % 2 ? 1000 : 0);
	put_preempted(at, 12000, 4000);
	find(0);
	check_cause(0, CAUSE_PREEMPTED, "", 15000);
	CHECK_INT(causes.items[0].details_ns, 16000 * US);
	check_has(NULL, "preempted by x-7 (75 %), y-8 (25 %)\n", true);
}

/* Who had the CPU meanwhile is part of what a waker did, if anybody is known. */
TEST(what_kept_the_waker_from_its_cpu_is_named)
{
	static const char *const notes[] = {
		WOKEN_BY("task"),
		DID("1000", "40000", "0", "9000", "9000",
		    "state=S in=wait_1+0x1/0x9 prev_comm=hog prev_pid=9"),
	};
	static const char *const nobody[] = {
		WOKEN_BY("task"),
		DID("1000", "49000", "0", "0", "0",
		    "state=R in=0x0 prev_comm=swapper/1 prev_pid=0"),
	};
	uint64_t at = put_usuals(1000, 30);

	at = put_slow_did(at, notes, 2);
	put_slow_did(at, nobody, 2);
	check_has(
		NULL,
		"; server-9 meanwhile waited for a CPU otherwise 49 %, waited for a CPU that hog-9 had 40 %, "
		"was asleep in wait_1 (state S) 9 %, ran 2 %;",
		true);
}

/* Whoever had the CPU is named for as long as it had it, and not for the rest of the wait. */
TEST(the_wait_for_a_cpu_that_a_task_had_is_as_long_as_it_had_it)
{
	static char texts[20][200];
	const char *notes[2] = { WOKEN_BY("task"), NULL };
	uint64_t at = put_usuals(1000, 200);
	uint64_t had_us[3] = { 0 };
	uint64_t rest_us = 0;
	struct dids dids = { 0 };
	size_t found_cnt = 0;

	for (uint32_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const uint32_t queued_us = random_below(50000);
		const uint32_t prev_us = random_below(60000); /* of two clocks it may be more */
		const uint32_t named_us = prev_us < queued_us ? prev_us : queued_us;

		snprintf(texts[i], sizeof(texts[i]),
			 "waker_did: us=50000 ran_us=%u queued_us=%u faults=0 asleep_us=0 "
			 "longest_us=0 state=R in=0x0 prev_comm=hog prev_pid=%u prev_us=%u",
			 50000 - queued_us, queued_us, 1 + i % 3, prev_us);
		notes[1] = texts[i];
		at = put_slow_did(at, notes, 2);
		had_us[i % 3] += named_us;
		rest_us += queued_us - named_us;
	}
	find(0);
	for (uint32_t i = 0; i < causes.items[0].detail_cnt; i++)
		CHECK(!dids_add(&dids, sc, &causes, &causes.items[0].details[i]));
	dids_sort(&dids);
	for (size_t i = 0; i < dids.cnt; i++) {
		const struct did *did = &dids.items[i];

		if (did->kind != CAUSE_WAKER_QUEUED)
			continue;
		found_cnt++;
		CHECK_INT(did->ns, (did->tid ? had_us[did->tid - 1] : rest_us) * US);
	}
	CHECK_INT(found_cnt, 4);
	free(dids.items);
}

/* However many different things a waker did, the longest is said, and that it comes last takes nothing from it. */
TEST(of_many_things_that_the_waker_did_the_longest_are_said)
{
	static char texts[12][160];
	const char *notes[2] = { WOKEN_BY("task"), NULL };
	uint64_t at = put_usuals(1000, 150);

	for (int i = 0; i < 12; i++) {
		const int ms = i == 11 ? 40 : 2;

		snprintf(texts[i], sizeof(texts[i]),
			 "waker_did: us=50000 ran_us=%d queued_us=0 faults=0 asleep_us=%d "
			 "longest_us=%d state=S in=wait_%d+0x1/0x9",
			 50000 - ms * 1000, ms * 1000, ms * 1000, i);
		notes[1] = texts[i];
		at = put_slow_did(at, notes, 2);
	}
	check_has(
		NULL,
		"; server-9 meanwhile ran 90 %, was asleep in wait_11 (state S) 7 %, 11 smaller parts 3 %",
		true);
}

/* A waker's sleeps of which nothing is known are those of its details, and only of those that are said to be its. */
TEST(what_is_known_of_a_waker_is_a_part_of_its_sleeps)
{
	static const char *const known[] = {
		WOKEN_BY("task"),
		DID("0", "50000", "0", "0", "0", ""),
	};
	static const char *const beside[] = { WOKEN_BY("softirq") };
	uint64_t at = put_usuals(1000, 40);

	at = put_slow_did(at, known, 2);
	put_slow_did(at, beside, 1);
	check_has(NULL, "server-9 meanwhile waited for a CPU 100 %; the most", true);
}

/* ---- the slowest call's tree ---- */

/* The tree behind what is said. */
static void check_tree(const char *want)
{
	const struct explain_view view = {
		.start_max = 3, .has_sleeps = true, .has_trees = true, .cpu_width = 1
	};
	struct explain_result result;
	struct strbuf out = { 0 };
	const char *tree;

	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	tree = strstr(strbuf_cstr(&out), "\n\nThe slowest call");
	CHECK(tree != NULL);
	CHECK_STR(tree ? tree + 2 : "", want);
	strbuf_release(&out);
}

#define TREE_HEADER                                         \
	"# tracer: function_graph\n#\n"                     \
	"# CPU  DURATION                  FUNCTION CALLS\n" \
	"# |     |   |                     |   |   |   |\n"

/* Only the call that slept, what is around it, and the sleep are marked; of two slow calls the slower one is shown. */
TEST(the_way_to_a_sleep_is_marked)
{
	uint64_t at = put_usuals(1000, 40);

	CHECK(!slowcalls_keep_trees(sc, 1));
	at = put_slow(at, 50000, SLEPT);
	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_LEAF, 1, at + 10, 40, "g");
	put(ROW_ENTRY, 1, at + 60, 0, "h");
	put(ROW_ENTRY, 2, at + 61, 0, "i");
	put_note(at + 50065, SLEPT);
	put(ROW_RETURN, 2, at + 50070, 50009, "i");
	put(ROW_LEAF, 2, at + 50071, 4, "g");
	put(ROW_RETURN, 1, at + 50080, 50020, "h");
	put_note(at + 50090, "hello");
	put(ROW_RETURN, 0, at + 50200, 50200, "f");
	at = put_slow(at + 60000, 49000, SLEPT);
	check_tree(
		"The slowest call; <== is the way to its part 'asleep in wait_more (state S)':\n" TREE_HEADER
		" 1)               |  f() { /* <== */\n"
		" 1) + 40.000 us   |    g();\n"
		" 1)               |    h() { /* <== */\n"
		" 1)               |      i() { /* <== */\n"
		" 1)               |        /* " SLEPT " <== */\n"
		" 1) * 50009.00 us |      }\n"
		" 1)   4.000 us    |      g();\n"
		" 1) * 50020.00 us |    }\n"
		" 1)               |    /* hello */\n"
		" 1) * 50200.00 us |  }\n");
}

/* Each call of the function that runs longer is marked where that is the cause, and no other place of the same function. */
TEST(the_way_to_what_runs_is_marked)
{
	uint64_t at = 1000;

	CHECK(!slowcalls_keep_trees(sc, 1));
	for (int i = 0; i < 30; i++)
		at = put_deep(at, 0, 0);
	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_ENTRY, 1, at + 10, 0, "g");
	put(ROW_LEAF, 2, at + 20, 4000, "k");
	put(ROW_LEAF, 2, at + 4100, 4000, "k");
	put(ROW_RETURN, 1, at + 8200, 8190, "g");
	put(ROW_LEAF, 1, at + 8300, 5, "k");
	put(ROW_RETURN, 0, at + 8400, 8400, "f");
	check_tree("The slowest call; <== is the way to its part 'running in k':\n" TREE_HEADER
		   " 1)               |  f() { /* <== */\n"
		   " 1)               |    g() { /* <== */\n"
		   " 1) # 4000.000 us |      k(); /* <== */\n"
		   " 1) # 4000.000 us |      k(); /* <== */\n"
		   " 1) # 8190.000 us |    }\n"
		   " 1)   5.000 us    |    k();\n"
		   " 1) # 8400.000 us |  }\n");
}

/* Calls of several tasks at once have trees of their own, and a call that was cut none. */
TEST(a_tree_has_the_rows_of_one_call)
{
	struct row other = call_row(ROW_ENTRY, 0, 0, 0, "f");
	uint64_t at = put_usuals(1000, 30);

	CHECK(!slowcalls_keep_trees(sc, 1));
	put(ROW_RETURN, 1, at, 5, "g");
	at += 100;
	other.task.tid = 78;
	other.time_ns = (at + 1) * US;
	put(ROW_ENTRY, 0, at, 0, "f");
	CHECK(!slowcalls_row(sc, &other));
	put(ROW_RETURN, 0, at + 900, 900, "f");
	other.kind = ROW_RETURN;
	other.time_ns = (at + 5000) * US;
	other.duration_ns = 4999 * US;
	CHECK(!slowcalls_row(sc, &other));
	check_tree("The slowest call; <== is the way to its part 'running in f':\n" TREE_HEADER
		   " 1)               |  f() { /* <== */\n"
		   " 1) # 4999.000 us |  }\n");
}

static void check_page_has(const char *page, const char *want)
{
	if (!strstr(page, want))
		printf("%s", page);
	CHECK(strstr(page, want));
}

/* The page opens the calls around the cause alone, and what a trace says is no HTML. */
TEST(a_page_opens_the_way)
{
	const struct explain_view view = { .start_max = 3, .has_sleeps = true, .has_trees = true };
	struct explain_result result;
	struct strbuf out = { 0 };
	uint64_t at = put_usuals(1000, 30);
	const char *page;

	CHECK(!slowcalls_keep_trees(sc, 1));
	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_ENTRY, 1, at + 10, 0, "g");
	put(ROW_LEAF, 2, at + 12, 4, "k");
	put_note(at + 20, "<b>&");
	put(ROW_RETURN, 1, at + 50, 40, "g");
	put(ROW_ENTRY, 1, at + 60, 0, "h");
	put_note(at + 50065, SLEPT);
	put(ROW_RETURN, 1, at + 50080, 50020, "h");
	put(ROW_RETURN, 0, at + 50200, 50200, "f");
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_HTML, &out, &result));
	page = strbuf_cstr(&out);
	check_page_has(page, "<pre>1 of 31 calls of f was slow: 50.20 ms instead of 100.0 us");
	check_page_has(page, "<div class=\"tree\"><details open><summary class=\"way\">"
			     " 1)               |  f() {</summary>"
			     "<details><summary> 1)               |    g() {</summary>"
			     "<div> 1)   4.000 us    |      k();</div>");
	check_page_has(page,
		       "/* &lt;b&gt;&amp; */</div><div> 1) + 40.000 us   |    }</div></details>"
		       "<details open><summary class=\"way\"> 1)               |    h() {</summary>"
		       "<div class=\"way\"> 1)               |      /* slept: ");
	check_page_has(page,
		       "|    }</div></details><div> 1) * 50200.00 us |  }</div></details></div>\n"
		       "</body></html>\n");
	strbuf_release(&out);
}

/* A tree of a million rows keeps the first ones. */
TEST(a_tree_has_a_limit)
{
	struct slowtree *tree;
	uint64_t at = put_usuals(1000, 10);

	CHECK(!slowcalls_keep_trees(sc, 1));
	put(ROW_ENTRY, 0, at, 0, "f");
	for (uint64_t i = 0; i < 1000000; i++)
		put(ROW_LEAF, 1, at + i * 2, 1, "g");
	put(ROW_RETURN, 0, at + 2000000, 2000000, "f");
	CHECK(!slowcalls_finish(sc));
	tree = slowcalls_tree(sc, slowcalls_start(sc, 0));
	CHECK_INT(tree->cnt, SLOWTREE_ROWS_MAX);
	CHECK_INT(tree->left_out_cnt, 1000002 - SLOWTREE_ROWS_MAX);
}

/* A call of f, of which a part is in a function that only slow calls have, and with time off the CPU. */
static void put_more(const char *func, uint64_t func_us, const char *note)
{
	const uint64_t at = put_usuals(1000, 30);

	put(ROW_ENTRY, 0, at, 0, "f");
	put(ROW_ENTRY, 1, at + 10, 0, func);
	put(ROW_LEAF, 2, at + 11, func_us - 1, "dev_queue_xmit");
	put(ROW_RETURN, 1, at + 10 + func_us, func_us, func);
	if (note)
		put_note(at + 40000, note);
	put(ROW_RETURN, 0, at + 50100, 50100, "f");
}

TEST(what_is_called_counts_with_what_it_calls)
{
	put_more("ip_do_fragment", 30000, NULL);
	check_has(
		NULL,
		"(medians).\nLikely: packets were longer than the MTU, and were sent in fragments.\n   ",
		true);
}

TEST(what_has_hardly_any_time_is_no_reason)
{
	put_more("ip_do_fragment", 4000, NULL);
	check_has(NULL, "Likely:", false);
}

TEST(how_much_makes_likely_is_said_of_each_function)
{
	put_more("__neigh_event_send", 8000, NULL);
	check_has(NULL, "Likely:", false);
}

TEST(a_neighbour_that_is_asked_takes_much)
{
	put_more("__neigh_event_send", 14000, NULL);
	check_has(NULL, "Likely: the neighbour's address was not known yet.", true);
}

TEST(who_is_preempted_does_not_run_longer)
{
	put_more("ip_do_fragment", 20000, "preempted: us=29000 prev_comm=hog prev_pid=7");
	check_has(NULL, "Likely:", false);
}

TEST(preemption_by_netfgraph_itself_is_no_reason)
{
	put_more("ip_do_fragment", 4000, "preempted: us=45000 prev_comm=netfgraph prev_pid=7");
	check_has(NULL, "Likely: packets were longer than the MTU", true);
}

/* Counts of a damaged recording stop at their limit. */
TEST(counts_do_not_wrap)
{
	static const char *const notes[] = {
		WOKEN_BY("task"),
		DID("50000", "0", "4294967295", "0", "0", ""),
		WOKEN_BY("task"),
		DID("50000", "0", "4294967295", "0", "0", ""),
	};

	put_slow_did(put_usuals(1000, 30), notes, 4);
	check_has(NULL, "(4294967295 page faults)", true);
}

/* The places of one start function are not searched in those of all. */
TEST(a_chain_of_places_beside_many_others)
{
	char name[16];
	uint64_t at = put_usuals(1000, 30);

	put(ROW_ENTRY, 0, at, 0, "f");
	for (uint32_t i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "deep_%u", i);
		put(ROW_ENTRY, i + 1, at + i, 0, name);
	}
	for (uint32_t i = 60; i--;) {
		snprintf(name, sizeof(name), "deep_%u", i);
		put(ROW_RETURN, i + 1, at + 50060 - i, 50060 - 2 * i, name);
	}
	put(ROW_RETURN, 0, at + 50100, 50100, "f");
	find(0);
	CHECK_STR(name_at(slowcalls_path(sc, causes.within_path)->func), "deep_59");
	check_whole();
}

TEST(what_the_waker_did_as_json)
{
	static const char *const notes[] = {
		WOKEN_BY("own_softirq"),
		DID("1000", "500", "3", "48500", "48000", "state=S in=hrtimer_nanosleep+0x1/0x9"),
	};
	const struct explain_view view = { .start_max = 3, .has_sleeps = true };
	struct explain_result result;
	struct strbuf out = { 0 };

	put_slow_did(put_usuals(1000, 30), notes, 2);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(strbuf_cstr(&out),
		     "\"from\":\"tcp_data_queue\",\"waker_did\":{\"asleep\":["
		     "{\"func\":\"hrtimer_nanosleep\",\"state\":\"S\",\"ns\":48000000},"
		     "{\"func\":null,\"state\":null,\"ns\":500000}],"
		     "\"queued\":[{\"comm\":null,\"tid\":null,\"tasks\":0,\"ns\":500000}],"
		     "\"queued_ns\":500000,\"ran_ns\":1000000,\"not_known_ns\":0,"
		     "\"faults\":3}}]"));
	strbuf_release(&out);
}

TEST(without_sleeps_nothing_is_said_to_run)
{
	uint64_t at = put_usuals(1000, 10);

	put_slow(at, 1000, NULL);
	check_said(
		false, false,
		"1 of 11 calls of f was slow: 1.10 ms instead of 100.0 us (medians).\n"
		"     1.00 ms  100.0 %  running or asleep in f, not called more often\n"
		"      0.0 us    0.0 %  1 smaller part\n"
		"The slowest took 1.10 ms, in task curl-77 on CPU 1 at 0.011000: netfgraph report "
		"-G f --tid 77 --slower-than 1100us FILE\n"
		"Not known: sleeps; netfgraph record -G f --graph-opts sleep -o FILE keeps them.\n");
}

TEST(causes_as_json)
{
	put_two_slow();
	check_said(
		true, true,
		"{\"schema\":1,\"file\":\"x.rec\",\"has_sleeps\":true,\"lost_events\":4,\"functions\":["
		"{\"func\":\"f\",\"module\":null,\"calls\":30,\"slow_calls\":2,\"beyond_calls\":0,"
		"\"slower_than_ns\":null,\"slow_at_least_ns\":50100000,\"slow_median_ns\":50100000,"
		"\"usual_median_ns\":100000,\"excess_ns\":100200000,\"stood_still_ns\":0,\"waited_for\":false,\"causes\":["
		"{\"kind\":\"asleep\",\"func\":\"wait_more\",\"module\":null,\"state\":\"S\","
		"\"excess_ns\":96000000,\"excess_percent\":95.8,\"slow_ns\":96000000,"
		"\"usual_ns\":0,\"slow_count\":2,\"usual_count\":0,\"slow_calls_with\":2,"
		"\"slow_calls_most\":2,\"details\":[{\"excess_ns\":96000000,\"waker\":\"task\","
		"\"waker_comm\":\"a server\",\"waker_tid\":9,\"tasks\":1,\"from\":\"send_it\",\"waker_did\":null}]},"
		"{\"kind\":\"queued\",\"excess_ns\":4000000,\"excess_percent\":4.0,"
		"\"slow_ns\":4000000,\"usual_ns\":0,\"slow_count\":2,\"usual_count\":0,"
		"\"slow_calls_with\":2,\"slow_calls_most\":0,"
		"\"details\":[{\"excess_ns\":4000000,\"comm\":\"hog\",\"tid\":7,\"tasks\":1}]}],"
		"\"smaller_parts\":2,\"smaller_ns\":200000,\"not_explained_ns\":0,\"running_within\":null,\"likely\":[],\"events\":[],"
		"\"slowest\":{\"duration_ns\":50300000,\"time_ns\":80000000,\"tid\":77,"
		"\"comm\":\"curl\",\"cpu\":1},\"open_calls\":0,\"cut_calls\":0,\"other_groups\":[]}],\"hanging\":[],\"untraced_ns\":0,\"left_out\":[],\"meanwhile\":null}\n");
}

/* The end of what is said of a live trace. */
static void check_end(bool is_json, const struct netstat *counted, const char *want)
{
	const struct explain_view view = { .start_max = 3, .has_sleeps = true, .counted = counted };
	struct explain_result result;
	struct strbuf out = { 0 };
	size_t want_len = strlen(want);

	CHECK(!explain_put(sc, &view, is_json ? EXPLAIN_JSON : EXPLAIN_TEXT, &out, &result));
	strbuf_char(&out, '\0');
	CHECK(out.len > want_len && !strcmp(out.ptr + out.len - 1 - want_len, want));
	strbuf_release(&out);
}

/* What a recorder waited for is slow, if calls were: the shortest limit that the function has. */
TEST(what_a_recorder_waited_for_is_slow)
{
	static const struct slow_limit limits[] = { { "f", 30000 * US },
						    { "g*", 1 * US },
						    { "?", 20000 * US } };
	struct explain_view view = {
		.input = "x", .start_max = 3, .limits = limits, .limit_cnt = ARRAY_SIZE(limits)
	};
	const uint64_t at = put_slow(put_slow(put_usuals(1000, 28), 19000, NULL), 29900, NULL);
	struct explain_result result;
	struct strbuf out = { 0 };

	put_slow(at, 50000, NULL);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(strstr(strbuf_cstr(&out),
		     "2 of 31 calls of f were slow: 30.00 ms and 50.10 ms instead of 100.0 us"));
	CHECK(strstr(strbuf_cstr(&out),
		     "\nSlow is what took 20.00 ms or longer, as the recorder's"));
	strbuf_reset(&out);
	view.slower_ns = 10000 * US;
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(strstr(strbuf_cstr(&out), "3 of 31 calls of f were slow"));
	CHECK(!strstr(strbuf_cstr(&out), "Slow is what took"));
	strbuf_release(&out);
}

/* It waited for a call that has not returned. */
TEST(what_no_call_reaches_is_no_limit)
{
	static const struct slow_limit limits[] = { { "f", 60000 * US } };
	const struct explain_view view = {
		.input = "x", .start_max = 3, .limits = limits, .limit_cnt = 1
	};
	struct explain_result result;
	struct strbuf out = { 0 };

	put_slow(put_usuals(1000, 30), 50000, NULL);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(strbuf_cstr(&out),
		     "\"slow_calls\":1,\"beyond_calls\":0,\"slower_than_ns\":null,"));
	strbuf_release(&out);
}

/* One call has returned, and another hangs; of what nobody waited for nothing is said. */
TEST(what_hangs_until_the_end_is_said)
{
	static const struct slow_limit limits[] = { { "hang", 30000 * US } };
	const struct explain_view view = {
		.input = "x", .limits = limits, .limit_cnt = 1, .needs_limited = true
	};
	struct explain_result result;
	struct strbuf out = { 0 };
	uint64_t at = put_slow(put_usuals(1000, 30), 50000, NULL);

	put(ROW_ENTRY, 0, at, 0, "hang");
	put(ROW_ENTRY, 1, at + 100, 0, "wait");
	put(ROW_LEAF, 2, at + 200000, 100000, "look");
	put_note(at + 2300000, "trigger 'hang > 30ms': hang in task 7");
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(!result.slow_start_cnt && !result.has_limited);
	CHECK_STR(
		strbuf_cstr(&out),
		"A call of hang had not returned at the end, after 2.300 s, the last 2.000 s without a traced call in wait: "
		"report --slower-than shows it.\n");
	strbuf_reset(&out);
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\"hanging\":[{\"func\":\"hang\",\"open_ns\":2300000000,\"in\":\"wait\",\"in_ns\":2000000000}]"));
	strbuf_release(&out);
}

/* The command that records what a recorder's file lacks waits for the same calls. */
TEST(a_recorder_that_kept_no_sleeps_is_told_how)
{
	static const struct slow_limit limits[] = { { "f", 1500 * US } };
	const struct explain_view view = {
		.input = "x", .start_max = 1, .limits = limits, .limit_cnt = 1
	};
	struct explain_result result;
	struct strbuf out = { 0 };

	put_slow(put_usuals(1000, 30), 50000, NULL);
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\nNot known: sleeps; netfgraph record --ring 64M --when 'f > 1500us' -o DIR, without -T, keeps them.\n"));
	strbuf_release(&out);
}

/* Calls of another function have a larger excess; nobody waited for these. */
TEST(what_a_recorder_waited_for_comes_first)
{
	static const struct slow_limit limits[] = { { "f", 30000 * US } };
	struct explain_view view = { .input = "x", .limits = limits, .limit_cnt = 1 };
	struct explain_result result;
	struct strbuf out = { 0 };
	uint64_t at = put_slow(put_usuals(1000, 30), 50000, NULL);

	for (uint64_t i = 0; i < 9; i++, at += 1000)
		put(ROW_LEAF, 0, at, 100, "other");
	put(ROW_LEAF, 0, at, 900000, "other");
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(!strncmp(strbuf_cstr(&out), "1 of 31 calls of f was slow", 27));
	CHECK(!strstr(strbuf_cstr(&out), "calls of other"));
	CHECK(strstr(strbuf_cstr(&out),
		     "\nSlow calls of 1 other start function are in the file, too, of up to "
		     "900.00 ms (other): --rows N explains more, -G FUNC one.\n"));
	strbuf_reset(&out);
	view.start_max = 2;
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(strstr(strbuf_cstr(&out), "\n1 of 10 calls of other was slow"));
	CHECK(!strstr(strbuf_cstr(&out), "other start function"));
	strbuf_release(&out);
}

TEST(counters_stand_behind_the_causes)
{
	struct netstat counted = { .has_net = true, .pid = 12 };

	put_two_slow();
	CHECK(!slowcalls_finish(sc));
	check_end(false, &counted, "in task curl-77 on CPU 1 at 0.080000.\n");
	check_end(true, &counted,
		  "\"meanwhile\":{\"throttled_ns\":0,\"throttled_periods\":0,\"stolen_ns\":0}}\n");
	counted.throttled_us = 1500;
	counted.throttled_cnt = 1;
	check_end(
		false, &counted,
		" at 0.080000.\n\n"
		"Meanwhile the cgroup, or one above it, waited for its cpu.max 1.50 ms in all, in 1 period.\n");
	counted.values[0] = 1;
	counted.values[1] = 2;
	check_end(
		false, &counted,
		" at 0.080000.\n\n"
		"Counted meanwhile for all tasks of the network namespace of process 12: "
		"1 segment sent again (TcpRetransSegs), "
		"2 SYNs or SYN-ACKs sent again (TcpExtTCPSynRetrans).\n"
		"Meanwhile the cgroup, or one above it, waited for its cpu.max 1.50 ms in all, in 1 period.\n");
	counted.pid = 0;
	counted.throttled_us = 0;
	check_end(false, &counted,
		  "Counted meanwhile for all tasks of netfgraph's network namespace: "
		  "1 segment sent again (TcpRetransSegs), "
		  "2 SYNs or SYN-ACKs sent again (TcpExtTCPSynRetrans).\n");
	check_end(
		true, &counted,
		"\"meanwhile\":{\"throttled_ns\":0,\"throttled_periods\":1,\"stolen_ns\":0,\"TcpRetransSegs\":1,"
		"\"TcpExtTCPSynRetrans\":2}}\n");
	counted.has_net = false; /* the process has ended */
	check_end(false, &counted, " at 0.080000.\n");
}

/* A function that is not traced any more may hide a cause. */
TEST(what_was_left_out_is_said)
{
	static const uint32_t ids[] = { 0, 1, 2 };
	static const struct leftout los[] = {
		{ .limit = LEFTOUT_OVERHEAD, .max = 25, .func_ids = &ids[0], .func_cnt = 1 },
		{ .limit = LEFTOUT_EVENTS, .max = 1000, .func_ids = &ids[1], .func_cnt = 1 },
		{ .limit = LEFTOUT_NEIGHBOURS, .max = 25, .func_ids = &ids[2], .func_cnt = 1 },
		/* is traced again */
		{ .limit = LEFTOUT_WINDOW, .max = 20, .func_ids = ids, .func_cnt = 3 },
	};
	struct func funcs[] = { { .name = TEXT("tcp_ack") },
				{ .name = TEXT("skb_put") },
				{ .name = TEXT("ip_rcv") } };
	const struct functab functab = { .funcs = funcs, .cnt = ARRAY_SIZE(funcs) };
	struct leftfuncs left = { 0 };
	const struct explain_view view = { .start_max = 3, .has_sleeps = true, .left = &left };
	struct explain_result result;
	struct strbuf out = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(los); i++)
		CHECK(!leftfuncs_add(&left, &los[i], &functab));
	put_two_slow();
	CHECK(!slowcalls_finish(sc));
	CHECK(!explain_put(sc, &view, EXPLAIN_TEXT, &out, &result));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\n\nLeft out during the trace, to stay below --max-overhead 25: tcp_ack, "
		"ip_rcv. From then on their time counts as that of their callers: a cause may be "
		"hidden there.\n"
		"\nLeft out during the trace, to stay below --max-events 1000: skb_put. From"));
	strbuf_reset(&out);
	CHECK(!explain_put(sc, &view, EXPLAIN_JSON, &out, &result));
	CHECK(strstr(
		strbuf_cstr(&out),
		"\"left_out\":[{\"func\":\"tcp_ack\",\"option\":\"--max-overhead\",\"max\":25},"
		"{\"func\":\"skb_put\",\"option\":\"--max-events\",\"max\":1000},"
		"{\"func\":\"ip_rcv\",\"option\":\"--max-overhead\",\"max\":25}],"));
	strbuf_release(&out);
	leftfuncs_release(&left);
}

TEST(lengths_have_the_unit_that_suits_them)
{
	struct strbuf out = { 0 };

	for (int64_t ns = 1234; ns < 2000000000000; ns *= 1000) {
		span_put(&out, ns);
		strbuf_char(&out, ';');
	}
	span_put(&out, -1500000);
	CHECK_STR(strbuf_cstr(&out), "1.2 us;1.23 ms;1.234 s;1234.000 s;-1.50 ms");
	strbuf_release(&out);
}
