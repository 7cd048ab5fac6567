/* The functions by which packets are followed. The preset "stages" has the same. */
#include "format/stages_steps.h"

#include <string.h>

static const struct stages_func none;

static const struct stages_func funcs[] = {
	{ "tcp_sendmsg", STEP_SENDER, 0, false },
	{ "tcp_sendmsg_locked", STEP_SENDER, 0, false },
	{ "tcp_v4_connect", STEP_SENDER, 0, false },
	{ "tcp_v6_connect", STEP_SENDER, 0, false },
	{ "tcp_close", STEP_SENDER, 0, false },
	{ "tcp_shutdown", STEP_SENDER, 0, false },
	{ "udp_sendmsg", STEP_SENDER, 0, false },
	{ "udpv6_sendmsg", STEP_SENDER, 0, false },
	{ "raw_sendmsg", STEP_SENDER, 0, false },
	{ "rawv6_sendmsg", STEP_SENDER, 0, false },
	{ "ping_v4_sendmsg", STEP_SENDER, 0, false },
	{ "ping_v6_sendmsg", STEP_SENDER, 0, false },
	{ "__ip_queue_xmit", STEP_SEND, 1, false },
	{ "ip_build_and_send_pkt", STEP_SEND, 1, false },
	{ "ip_send_skb", STEP_SEND, 1, false },
	{ "ip6_xmit", STEP_SEND, 1, false },
	{ "ip6_send_skb", STEP_SEND, 1, false },
	{ "ip_local_out", STEP_SEND, 2, false },
	{ "__dev_queue_xmit", STEP_QUEUE, 0, false },
	{ "dev_hard_start_xmit", STEP_DRIVE, 1, false },
	{ "loopback_xmit", STEP_DRIVE, 0, true },
	{ "veth_xmit", STEP_DRIVE, 0, true },
	{ "netif_rx", STEP_BACKLOG, 0, false },
	{ "__netif_rx", STEP_BACKLOG, 0, false },
	{ "enqueue_to_backlog", STEP_BACKLOG, 0, false },
	{ "napi_gro_receive", STEP_RECEIVE, 1, false },
	{ "gro_receive_skb", STEP_RECEIVE, 1, false },
	{ "netif_receive_skb", STEP_RECEIVE, 2, false },
	{ "__netif_receive_skb", STEP_RECEIVE, 3, false },
	{ "__netif_receive_skb_one_core", STEP_RECEIVE, 4, false },
	{ "ip_rcv", STEP_RECEIVE, 5, false },
	{ "ipv6_rcv", STEP_RECEIVE, 5, false },
	{ "ip_local_deliver", STEP_RECEIVE, 6, false },
	{ "ip6_input", STEP_RECEIVE, 6, false },
	{ "tcp_v4_rcv", STEP_RECEIVE, 7, false },
	{ "tcp_v6_rcv", STEP_RECEIVE, 7, false },
	{ "udp_rcv", STEP_RECEIVE, 7, false },
	{ "udpv6_rcv", STEP_RECEIVE, 7, false },
	{ "tcp_v4_do_rcv", STEP_RECEIVE, 8, false },
	{ "tcp_v6_do_rcv", STEP_RECEIVE, 8, false },
	{ "sock_def_readable", STEP_WAKE, 0, false },
	{ "tcp_recvmsg", STEP_READER, 0, false },
	{ "udp_recvmsg", STEP_READER, 0, false },
	{ "udpv6_recvmsg", STEP_READER, 0, false },
	{ "raw_recvmsg", STEP_READER, 0, false },
	{ "ping_recvmsg", STEP_READER, 0, false },
	{ "skb_copy_datagram_iter", STEP_COPY, 0, false },
	{ "skb_copy_and_csum_datagram_msg", STEP_COPY, 0, false },
	{ "skb_consume_udp", STEP_COPY, 0, false },
	{ "kfree_skb", STEP_FREE, 0, false },
	{ "kfree_skb_reason", STEP_FREE, 0, false },
	{ "sk_skb_reason_drop", STEP_FREE, 0, false },
	{ "__kfree_skb", STEP_FREE, 0, false },
	{ "kfree_skb_partial", STEP_FREE, 0, false },
	{ "consume_skb", STEP_FREE, 0, false },
	{ "napi_consume_skb", STEP_FREE, 0, false },
	{ "skb_attempt_defer_free", STEP_FREE, 0, false },
};

const struct stages_func *stages_func_at(size_t i)
{
	return i < sizeof(funcs) / sizeof(funcs[0]) ? &funcs[i] : NULL;
}

const struct stages_func *stages_func_of(struct text name)
{
	for (size_t i = 0; stages_func_at(i); i++) {
		if (text_equal(name, (struct text){ funcs[i].name, strlen(funcs[i].name) }))
			return &funcs[i];
	}
	return &none;
}
