// SPDX-License-Identifier: GPL-2.0
/* What is worth more where not all functions can be attached. */

#include "select/presets.h"
#include "harness.h"

TEST(common_names_are_found)
{
	CHECK(common_below("__sys_sendto") == COMMON_SEND);
	CHECK(common_below("vfs_write") == COMMON_WRITE);
	CHECK(common_below("____sys_recvmsg") & COMMON_RECEIVE);
	CHECK(common_below("xfrm_lookup_with_ifid") & COMMON_CONNECT);
	CHECK(common_below("inet_csk_accept") & COMMON_ACCEPT);
	CHECK(common_below("tcp_ack") & COMMON_SOFTIRQ);
	CHECK(common_below("tcp_push") && common_below("skb_release_data"));
	CHECK(!common_below("tcp_ac") && !common_below("tcp_ackk") && !common_below(""));
	CHECK(!common_below("zzz") && !common_below("A") && !common_below("tcp_ack tcp"));
	CHECK(!common_below("tcp_ack,") && !common_below("tcp_ack,s"));
}

/* The first and the last of the table, and some of two kernels. */
TEST(a_datagram_comes_through_some_functions)
{
	CHECK(common_datagram_calls("__alloc_skb") == 1);
	CHECK(common_datagram_calls("x64_sys_call") == 2);
	CHECK(common_datagram_calls("udp_sendmsg") == 1);
	CHECK(common_datagram_calls("__rcu_read_lock") == 18);
	CHECK(common_datagram_calls("udp4_lib_lookup2.isra.0") == 1);
	CHECK(!common_datagram_calls("tcp_sendmsg") && !common_datagram_calls("udp"));
	CHECK(!common_datagram_calls("udp_sendmsg,1") && !common_datagram_calls(""));
}

static struct rank_view view_of(const char *start)
{
	const struct reach_start starts[] = { { .name = "__sys_connect" }, { .name = start } };

	return start ? rank_view(starts, 2, true) : rank_view(starts, 1, true);
}

static uint32_t rank(const struct rank_view *view, const char *name, unsigned int depth)
{
	const struct reach_func func = { .name = name, .depth = depth };

	return rank_of_callee(&func, view);
}

TEST(what_is_common_below_a_start_function_comes_first)
{
	const struct rank_view view = view_of(NULL);
	const struct rank_view both = view_of("__sys_recvfrom");

	CHECK(view.is_common && view.below == COMMON_CONNECT);
	CHECK(both.is_common && both.below == (COMMON_CONNECT | COMMON_RECEIVE));
	CHECK(rank(&view, "__sys_connect", 0) == RANK_START);
	CHECK(rank(&view, "__dev_queue_xmit", 9) == RANK_MAIN_ROAD);
	CHECK(rank(&view, "nft_do_chain", 12) == RANK_MAIN_ROAD); /* a rule has loaded its module */
	CHECK(rank(&view, "inet_hash_connect", 1) == RANK_COMMON);
	CHECK(rank(&view, "inet_hash_connect", 7) == RANK_COMMON + 6);
	CHECK(rank(&view, "tcp_ack_update_rtt", 7) == RANK_OFTEN + 6);
	CHECK(rank(&view, "skb_recv_datagram", 1) == RANK_COMMON_ELSEWHERE);
	CHECK(rank(&view, "__skb_datagram_iter", 2) == RANK_OFTEN_ELSEWHERE + 1);
	CHECK(rank(&both, "skb_recv_datagram", 1) == RANK_COMMON);
	CHECK(rank(&view, "tcp_rare", 1) == RANK_NEAREST);
	CHECK(rank(&view, "tcp_rare", REACH_UNKNOWN) < RANK_SELDOM);
	CHECK(rank(&view, "inet_hash_connect", REACH_UNKNOWN) < RANK_OFTEN_ELSEWHERE);
	CHECK(rank(&view, "skb_recv_datagram", REACH_UNKNOWN) < RANK_PRESET);
}

/* Nothing is known of what runs there. */
TEST(what_is_near_counts_below_one_of_uncommon_traffic)
{
	const struct rank_view view = view_of("sctp_sendmsg");
	const struct rank_view rule = view_of("nft_do_chain");
	const struct reach_func seldom = { .name = "tcp_rare", .depth = 1, .is_seldom = true };

	CHECK(!view.is_common);
	CHECK(rank(&view, "__dev_queue_xmit", 9) == RANK_MAIN_ROAD);
	CHECK(rank(&view, "sctp_rare", 1) == rank(&view, "skb_recv_datagram", 3));
	CHECK(rank(&view, "sctp_rare", 1) < rank(&view, "inet_hash_connect", 4));
	CHECK(rank(&view, "sctp_rare", 2) > rank(&view, "inet_hash_connect", 3));
	CHECK(rank_of_callee(&seldom, &view) == RANK_SELDOM);
	CHECK(!rule.is_common && rule.below == COMMON_CONNECT);
	CHECK(rank(&rule, "nft_payload_eval", 1) < rank(&rule, "inet_hash_connect", 4));
}

/* The list was captured on one host, whose card and driver are not those of others. */
TEST(entries_of_drivers_are_main_road)
{
	const struct rank_view view = view_of(NULL);
	struct reach_func poll = { .name = "virtnet_poll", .depth = 9, .is_driver_entry = true };

	CHECK(rank_of_callee(&poll, &view) == RANK_MAIN_ROAD);
	poll.is_seldom = true;
	CHECK(rank_of_callee(&poll, &view) != RANK_MAIN_ROAD);
}

TEST(without_a_limit_nearness_alone_counts)
{
	const struct reach_start start = { .name = "__sys_connect" };
	const struct rank_view view = rank_view(&start, 1, false);

	CHECK(rank(&view, "__sys_connect", 0) == RANK_START);
	CHECK(rank(&view, "__dev_queue_xmit", 2) == RANK_NEAREST + 1);
	CHECK(rank(&view, "inet_hash_connect", 1) == RANK_NEAREST);
}
