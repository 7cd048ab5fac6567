/* What is likely behind causes of slow calls. */
#include "base/strbuf.h"
#include "base/vec.h"
#include "format/likely.h"
#include "harness.h"

#define US 1000ll

static struct netstat counted_as(const char *name, uint64_t cnt)
{
	struct netstat stat = { .has_net = true };

	CHECK(netstat_find(name) < NETSTAT_CNT);
	stat.values[netstat_find(name)] = cnt;
	return stat;
}

static const char *likely_of_symptom(const struct symptom *symptom, const struct netstat *counted)
{
	struct likely likely[LIKELY_MAX];

	return likely_add(likely, 0, symptom, counted) ? likely[0].words : "";
}

/* What is said first of calls that slept there, woken from there; "" if nothing is. */
static const char *likely_of(const char *in, const char *from, int64_t ms,
			     const struct netstat *counted)
{
	const struct symptom symptom = { .kind = CAUSE_ASLEEP,
					 .in = text_from(in),
					 .from = text_from(from),
					 .ns = ms * 1000 * US,
					 .call_cnt = 8 };

	return likely_of_symptom(&symptom, counted);
}

TEST(a_counter_that_went_up_often_enough_makes_a_cause_likely)
{
	struct netstat counted = counted_as("TcpExtTCPSynRetrans", 2);

	CHECK(strstr(likely_of("__inet_stream_connect", "tcp_rcv_state_process", 1000, &counted),
		     "a SYN or the answer to it was lost"));
	counted.values[netstat_find("TcpExtListenOverflows")] = 2;
	CHECK(strstr(likely_of("inet_stream_connect", "", 1000, &counted), "accept queue"));
	/* once for eight calls is less than their share */
	counted = counted_as("TcpExtListenOverflows", 1);
	CHECK_STR(likely_of("__inet_stream_connect", "", 1000, &counted), "");
	counted.has_net = false;
	counted.values[netstat_find("TcpExtListenOverflows")] = 9;
	CHECK_STR(likely_of("__inet_stream_connect", "", 500, &counted), "");
	CHECK_STR(likely_of("__inet_stream_connect", "", 500, NULL), "");
}

/* The largest cause in all may be the largest of no call. */
TEST(a_counter_that_did_not_go_up_makes_nothing_likely)
{
	const struct netstat none = { .has_net = true };
	const struct symptom symptom = { .kind = CAUSE_ASLEEP,
					 .in = text_from("__inet_stream_connect"),
					 .ns = 1000 };

	CHECK_STR(likely_of_symptom(&symptom, &none), "");
}

TEST(some_sleeps_say_enough_without_a_counter)
{
	const struct netstat none = { .has_net = true };

	CHECK(strstr(likely_of("__inet_stream_connect", "tcp_v4_err", 3000, &none), "an error"));
	CHECK(strstr(likely_of("__skb_wait_for_more_packets", "call_timer_fn", 50, NULL),
		     "no datagram came"));
	CHECK_STR(likely_of("__skb_wait_for_more_packets", "sock_def_readable", 50, NULL), "");
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 50, NULL), "not been acknowledged"));
	CHECK_STR(likely_of("sk_wait_data", "tcp_data_queue", 50, &none), "");
	CHECK_STR(likely_of("", "", 50, &none), "");
}

/* With counters, and without, as in a recording. */
TEST(a_reset_a_socket_of_another_and_little_memory)
{
	const struct netstat lost = counted_as("TcpRetransSegs", 8);
	const struct netstat none = { .has_net = true };
	struct symptom symptom = { .kind = CAUSE_RUNNING,
				   .in = text_from("try_to_free_pages"),
				   .part = 0.5,
				   .ns = 1000 * US };

	CHECK(strstr(likely_of("__inet_stream_connect", "tcp_reset", 50, &none), "refused"));
	CHECK(strstr(likely_of("sk_wait_data", "tcp_reset", 50, &none), "reset the connection"));
	CHECK(strstr(likely_of("sk_wait_data", "tcp_reset", 50, &lost), "reset the connection"));
	CHECK(strstr(likely_of("sk_wait_data", "tcp_data_queue", 50, &lost), "segments were lost"));
	CHECK(strstr(likely_of("__lock_sock", "release_sock", 50, NULL), "locked the socket"));
	CHECK(strstr(likely_of("reclaim_throttle", "", 50, NULL), "memory was short"));
	CHECK(strstr(likely_of_symptom(&symptom, &none), "memory was short"));
}

TEST(a_connect_that_is_not_answered)
{
	struct netstat counted = counted_as("TcpExtTCPSynRetrans", 16);

	CHECK(strstr(likely_of("__inet_stream_connect", "process_timeout", 3000, &counted),
		     "the socket's time limit: SYNs were dropped, or nobody is there"));
	CHECK(strstr(likely_of("__inet_stream_connect", "tcp_write_err", 127000, &counted),
		     "the kernel gave up: they were dropped, or nobody is there"));
	CHECK(strstr(likely_of("__inet_stream_connect", "complete_signal", 2400, &counted),
		     "a signal ended the wait"));
	counted.values[netstat_find("TcpExtListenOverflows")] = 16;
	CHECK(strstr(likely_of("__inet_stream_connect", "process_timeout", 3000, &counted),
		     "the accept queue of a listener was full, so that it did not answer"));
	CHECK(strstr(likely_of("__inet_stream_connect", "complete_signal", 2400, &counted),
		     "accept queue"));
	counted = counted_as("TcpExtTCPSynRetrans", 0);
	CHECK_STR(likely_of("__inet_stream_connect", "tcp_rcv_state_process", 1200, &counted), "");
	CHECK(strstr(
		likely_of("__inet_stream_connect", "tcp_rcv_state_process", 1000, NULL),
		"a SYN or the answer to it was lost, and sent again, or the accept queue of a listener was full: only the kernel's counters tell"));
	CHECK_STR(
		likely_of("__inet_stream_connect", "call_timer_fn", 300, NULL),
		"no answer came before the socket's time limit: SYNs were dropped, the accept queue of a listener "
		"was full (explain without FILE reads the kernel's counter), or nobody is there");
	CHECK(strstr(
		likely_of("__inet_stream_connect", "tcp_write_err", 127000, NULL),
		"the kernel gave up: they were dropped, the accept queue of a listener was full"));
	CHECK(strstr(likely_of("__inet_stream_connect", "complete_signal", 2400, NULL),
		     "a signal ended the wait"));
}

/* Who traces a namespace alone has no FILE to leave out. */
TEST(a_live_trace_without_counters_says_what_reads_them)
{
	const struct netstat unread = { .has_net = false };
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("__inet_stream_connect"),
				   .from = text_from("tcp_write_err"),
				   .ns = 127000000 * US,
				   .is_live = true,
				   .call_cnt = 8 };

	CHECK(strstr(
		likely_of_symptom(&symptom, NULL),
		"a listener was full (the kernel's counter was not read: -p and --cgroup read it, --netns alone does not), or nobody is there"));
	symptom.from = text_from("call_timer_fn");
	CHECK(strstr(likely_of_symptom(&symptom, &unread), "limit: SYNs were dropped, the accept"));
	CHECK(!strstr(likely_of_symptom(&symptom, &unread), "FILE"));
	symptom.from = text_from("tcp_rcv_state_process");
	CHECK(strstr(likely_of_symptom(&symptom, NULL),
		     "only the kernel's counters tell, which were not read: -p and --cgroup"));
}

/* A drop that the call has made itself is said behind these, and no counter has to tell then. */
TEST(a_connect_whose_packet_was_dropped_before_it_left)
{
	const struct netstat counted = counted_as("TcpExtTCPSynRetrans", 8);
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("__inet_stream_connect"),
				   .from = text_from("tcp_rcv_state_process"),
				   .ns = 1000 * 1000 * US,
				   .is_outside = true,
				   .has_drop = true,
				   .call_cnt = 8 };

	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "was lost, and sent again"));
	symptom.from = text_from("process_timeout");
	CHECK_STR(likely_of_symptom(&symptom, NULL),
		  "no answer came before the socket's time limit");
	symptom.from = text_from("tcp_write_err");
	CHECK_STR(likely_of_symptom(&symptom, NULL), "no SYN was answered, and the kernel gave up");
}

/* Without a reason it may have been anything, unless the wait is as long as a lost SYN makes it. */
TEST(what_follows_from_a_drop)
{
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("__inet_stream_connect"),
				   .ns = 300 * 1000 * US };

	CHECK(likely_is_of_drop(&symptom, true));
	CHECK(!likely_is_of_drop(&symptom, false));
	symptom.ns = 1000 * 1000 * US;
	CHECK(likely_is_of_drop(&symptom, false));
	symptom.in = text_from("sk_wait_data");
	CHECK(!likely_is_of_drop(&symptom, true));
	symptom.in = text_from("__inet_stream_connect");
	symptom.kind = CAUSE_RUNNING;
	CHECK(!likely_is_of_drop(&symptom, true));
}

/* An error that an ICMP message brought, or that came before any SYN left: what was sent again is no loss then. */
TEST(an_error_is_no_loss)
{
	struct netstat counted = counted_as("TcpExtTCPSynRetrans", 8);
	const struct symptom symptom = { .kind = CAUSE_ASLEEP,
					 .in = text_from("__inet_stream_connect"),
					 .from = text_from("ip_icmp_error"),
					 .call_cnt = 8 };
	struct likely likely[LIKELY_MAX];

	CHECK(likely_add(likely, 0, &symptom, &counted) == 1);
	CHECK(strstr(likely[0].words, "a rule that rejects"));
	counted.values[netstat_find("NeighResFailed")] = 1; /* for all eight */
	CHECK(likely_add(likely, 0, &symptom, &counted) == 2);
	CHECK(strstr(likely[0].words, "its address was not found"));
	CHECK(likely_add(likely, 0, &symptom, NULL) == 1);
	CHECK(strstr(likely[0].words, "the neighbour does not answer"));
}

/* A softirq on no task's way brought it; what was sent again explains that it was late. */
TEST(what_comes_late_from_outside)
{
	const struct netstat none = { .has_net = true };
	const struct netstat counted = counted_as("TcpRetransSegs", 8);
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("sk_wait_data"),
				   .from = text_from("tcp_data_queue"),
				   .is_outside = true,
				   .call_cnt = 8 };
	struct likely likely[LIKELY_MAX];

	CHECK(strstr(likely_of_symptom(&symptom, &none), "the data came late"));
	CHECK(likely_add(likely, 0, &symptom, &counted) == 1);
	CHECK(strstr(likely[0].words, "lost"));
	symptom.is_outside = false;
	CHECK_STR(likely_of_symptom(&symptom, &none), "");
}

TEST(a_function_that_takes_long_whoever_calls_it)
{
	struct symptom symptom = { .kind = CAUSE_RUNNING,
				   .in = text_from("__inet_hash_connect"),
				   .is_as_often = true,
				   .part = 0.6 };

	CHECK(strstr(likely_of_symptom(&symptom, NULL), "a free local port"));
	symptom.part = 0.4;
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
	symptom.part = 1;
	symptom.in = text_from("ip_do_fragment");
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
}

/* An acknowledgement is put off for 40 to 200 ms: what took other times had another reason. */
TEST(what_was_put_off_is_neither_short_nor_long)
{
	const struct netstat counted = counted_as("TcpExtDelayedACKs", 100);

	CHECK_STR(likely_of("sk_wait_data", "tcp_data_queue", 2, &counted), "");
	CHECK(strstr(likely_of("sk_wait_data", "tcp_data_queue", 41, &counted), "put off"));
	CHECK_STR(likely_of("sk_wait_data", "tcp_data_queue", 1000, &counted), "");
}

/* A server that thought for 50 ms did not wait for an acknowledgement, and a server that waited for the request may have. */
TEST(who_was_busy_meanwhile_waited_for_no_acknowledgement)
{
	const struct netstat counted = counted_as("TcpExtDelayedACKs", 100);
	struct did did = { .kind = CAUSE_WAKER_ASLEEP,
			   .in = text_from("sk_wait_data"),
			   .ns = 300 * 1000 * US };
	const struct symptom symptom = { .kind = CAUSE_ASLEEP,
					 .in = text_from("sk_wait_data"),
					 .ns = 50 * 1000 * US,
					 .call_cnt = 8,
					 .slept_ns = 400 * 1000 * US,
					 .dids = &did,
					 .did_cnt = 1 };

	CHECK(strstr(likely_of_symptom(&symptom, &counted), "put off"));
	did.in = text_from("ep_poll");
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "put off"));
	did.in = text_from(""); /* in short sleeps, which may be any */
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "put off"));
	did.in = text_from("hrtimer_nanosleep");
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "sender was late"));
	did.kind = CAUSE_WAKER_QUEUED;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "sender was late"));
	did.kind = CAUSE_WAKER_RAN;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "sender was late"));
	did.ns = 199 * 1000 * US;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "put off"));
}

/* A receiver whose window closes reads slowly, unless it was waiting for data that came late. */
TEST(who_waited_for_input_does_not_read_slowly)
{
	const struct netstat counted = counted_as("TcpExtTCPToZeroWindowAdv", 1);
	struct did did = { .kind = CAUSE_WAKER_ASLEEP,
			   .in = text_from("sk_wait_data"),
			   .ns = 300 * 1000 * US };
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("sk_stream_wait_memory"),
				   .call_cnt = 2,
				   .slept_ns = 400 * 1000 * US };

	CHECK(strstr(likely_of_symptom(&symptom, &counted), "read slowly"));
	symptom.is_outside = true; /* a reader on this host wakes the sender itself */
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "a slow path"));
	symptom.is_outside = false;
	symptom.dids = &did;
	symptom.did_cnt = 1;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "a slow path"));
	did.in = text_from("hrtimer_nanosleep");
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "read slowly"));
	CHECK(strstr(likely_of_symptom(&symptom, NULL), "the receiver read late"));
	did.in = text_from("sk_wait_data");
	did.ns = 200 * 1000 * US;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "read slowly"));
}

/* Who sends late because it did something else; where segments were lost, they are the reason. */
TEST(who_did_something_else_answers_late)
{
	const struct netstat none = { .has_net = true };
	const struct netstat counted = counted_as("TcpRetransSegs", 8);
	struct did did = { .kind = CAUSE_WAKER_ASLEEP,
			   .in = text_from("hrtimer_nanosleep"),
			   .ns = 300 * 1000 * US };
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("sk_wait_data"),
				   .call_cnt = 8,
				   .slept_ns = 400 * 1000 * US,
				   .dids = &did,
				   .did_cnt = 1 };
	struct likely likely[LIKELY_MAX];

	CHECK(strstr(likely_of_symptom(&symptom, &none), "the sender was late"));
	CHECK(likely_add(likely, 0, &symptom, &counted) == 1);
	CHECK(strstr(likely[0].words, "lost"));
	did.kind = CAUSE_WAKER_QUEUED;
	CHECK(strstr(likely_of_symptom(&symptom, NULL), "the sender was late"));
	did.ns = 200 * 1000 * US; /* no more than half of it is known */
	CHECK_STR(likely_of_symptom(&symptom, &none), "");
	did.kind = CAUSE_WAKER_ASLEEP;
	did.ns = 400 * 1000 * US;
	did.in = text_from("sk_wait_data"); /* it waited itself */
	CHECK_STR(likely_of_symptom(&symptom, &none), "");
}

/* Of a receiver in another namespace or on another host, the sender's own counter tells it; what it sends again then is not lost. */
TEST(a_window_that_the_sender_probes_is_closed)
{
	struct did did = { .kind = CAUSE_WAKER_ASLEEP,
			   .in = text_from("sk_wait_data"),
			   .ns = 300 * 1000 * US };
	const struct symptom waiting = { .kind = CAUSE_ASLEEP,
					 .in = text_from("sk_stream_wait_memory"),
					 .call_cnt = 8,
					 .slept_ns = 400 * 1000 * US,
					 .dids = &did,
					 .did_cnt = 1 };
	struct netstat counted = counted_as("TcpExtTCPWinProbe", 2);

	counted.values[netstat_find("TcpRetransSegs")] = 6;
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 300, &counted), "read slowly"));
	counted.values[netstat_find("TcpExtTCPWinProbe")] = 1; /* once for eight calls */
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 300, &counted), "lost"));
	counted.values[netstat_find("TcpExtTCPWinProbe")] = 8;
	CHECK(strstr(likely_of_symptom(&waiting, &counted), "a slow path"));
}

/* Segments that had arrived before they were sent again were late, not lost. */
TEST(what_was_sent_again_for_nothing_was_not_lost)
{
	struct netstat counted = counted_as("TcpRetransSegs", 3);

	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 220, &counted), "lost"));
	counted.values[netstat_find("TcpExtTCPDSACKRecv")] = 1;
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 220, &counted), "lost"));
	counted.values[netstat_find("TcpExtTCPDSACKRecv")] = 2; /* once for eight calls */
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 220, &counted), "a slow path"));
	counted.values[netstat_find("TcpExtTCPDSACKRecv")] = 4;
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 220, &counted), "a slow path"));
	counted.has_net = false;
	CHECK(strstr(likely_of("sk_stream_wait_memory", "", 220, &counted), "a slow path"));
}

TEST(a_cgroup_that_was_held_back)
{
	struct netstat counted = { .throttled_cnt = 2, .throttled_us = 1 };
	struct symptom symptom = { .kind = CAUSE_QUEUED, .call_cnt = 8, .ns = 300000 };

	CHECK_STR(likely_of_symptom(&symptom, &counted), ""); /* an ordinary wait */
	symptom.ns = 40000000;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "cpu.max"));
	symptom.kind = CAUSE_PREEMPTED;
	CHECK(strstr(likely_of_symptom(&symptom, &counted), "cpu.max"));
	symptom.kind = CAUSE_ASLEEP;
	CHECK_STR(likely_of_symptom(&symptom, &counted), "");
	symptom.kind = CAUSE_QUEUED;
	symptom.call_cnt = 9;
	CHECK_STR(likely_of_symptom(&symptom, &counted), "");
	counted.throttled_cnt = 0;
	symptom.call_cnt = 0;
	CHECK_STR(likely_of_symptom(&symptom, &counted), "");
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
}

TEST(functions_that_only_slow_calls_have)
{
	struct symptom symptom = { .kind = CAUSE_RUNNING, .in = text_from("ip_do_fragment") };
	struct likely likely[LIKELY_MAX];

	CHECK(strstr(likely_of_symptom(&symptom, NULL), "MTU"));
	CHECK(likely_add(likely, 0, &symptom, NULL) == 1);
	CHECK(likely_add(likely, 1, &symptom, NULL) == 1); /* nothing twice */
	symptom.in = text_from("nft_do_chain");
	CHECK(likely_add(likely, 1, &symptom, NULL) == 2);
	CHECK(likely_add(likely, 2, &symptom, NULL) == 2);
	symptom.in = text_from("ip_output");
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
	symptom.in = text_from("");
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
}

/* To ask for an address takes some time; to send over loopback goes through neighbours' functions, too. */
TEST(a_neighbour_is_asked_for_its_address)
{
	struct symptom symptom = { .kind = CAUSE_RUNNING,
				   .in = text_from("__neigh_event_send"),
				   .part = 0.3 };

	CHECK(strstr(likely_of_symptom(&symptom, NULL), "neighbour's address"));
	symptom.part = 0.16;
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
	symptom.part = 1;
	symptom.in = text_from("neigh_resolve_output");
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
}

/* Whoever brought the data late is named, but only if nothing says what it did. */
TEST(data_that_comes_late_by_a_task_of_which_nothing_is_known)
{
	struct did did = { .kind = CAUSE_WAKER_RAN, .ns = 100 * 1000 * US };
	struct symptom symptom = { .kind = CAUSE_ASLEEP,
				   .in = text_from("sk_wait_data"),
				   .call_cnt = 8,
				   .slept_ns = 400 * 1000 * US };
	struct likely likely[LIKELY_MAX];

	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
	symptom.is_by_task = true;
	CHECK(likely_add(likely, 0, &symptom, NULL) == 1);
	CHECK_STR(likely[0].words, "the data came late");
	CHECK(likely[0].waker == LIKELY_ANY_WAKER);
	symptom.dids = &did;
	symptom.did_cnt = 1;
	CHECK_STR(likely_of_symptom(&symptom, NULL), "");
	did.ns = 300 * 1000 * US;
	CHECK(likely_add(likely, 0, &symptom, NULL) == 1);
	CHECK_STR(likely[0].words, "the sender was late");
	CHECK(likely[0].waker == LIKELY_BUSY_WAKER);
}
