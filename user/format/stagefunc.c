#include "format/stagefunc.h"

#include <string.h>

#include "base/vec.h"

/* The functions by which packets are followed. The preset "stages" has those that are steps. */

static const struct stagefunc none;

static const struct stagefunc funcs[] = {
	{ "tcp_sendmsg", .step = STEP_SENDER, .is_stream = true },
	{ "tcp_sendmsg_locked", .step = STEP_SENDER, .is_stream = true },
	{ "tcp_v4_connect", .step = STEP_SENDER },
	{ "tcp_v6_connect", .step = STEP_SENDER },
	{ "tcp_close", .step = STEP_SENDER },
	{ "tcp_shutdown", .step = STEP_SENDER },
	{ "udp_sendmsg", .step = STEP_SENDER },
	{ "udpv6_sendmsg", .step = STEP_SENDER },
	{ "raw_sendmsg", .step = STEP_SENDER },
	{ "rawv6_sendmsg", .step = STEP_SENDER },
	{ "ping_v4_sendmsg", .step = STEP_SENDER },
	{ "ping_v6_sendmsg", .step = STEP_SENDER },
	{ "__tcp_transmit_skb", .arrow = ARROW_SEND },
	{ "__ip_queue_xmit", .step = STEP_SEND, .arrow = ARROW_SEND, .level = 1 },
	{ "ip_queue_xmit", .arrow = ARROW_SEND },
	{ "ip_build_and_send_pkt", .step = STEP_SEND, .level = 1 },
	{ "ip_send_skb", .step = STEP_SEND, .arrow = ARROW_SEND, .level = 1 },
	{ "udp_send_skb", .arrow = ARROW_SEND },
	{ "ip6_xmit", .step = STEP_SEND, .arrow = ARROW_SEND, .level = 1 },
	{ "ip6_send_skb", .step = STEP_SEND, .arrow = ARROW_SEND, .level = 1 },
	{ "udp_v6_send_skb", .arrow = ARROW_SEND },
	{ "ip_local_out", .step = STEP_SEND, .arrow = ARROW_SEND, .level = 2 },
	{ "__ip_local_out", .arrow = ARROW_SEND },
	{ "ip6_local_out", .arrow = ARROW_SEND },
	{ "__dev_queue_xmit", .step = STEP_QUEUE, .arrow = ARROW_QUEUE },
	{ "sch_direct_xmit", .arrow = ARROW_TAKE },
	{ "dev_hard_start_xmit", .step = STEP_DRIVE, .arrow = ARROW_TAKE, .level = 1,
	  .has_first = true },
	{ "loopback_xmit", .step = STEP_DRIVE, .is_local = true },
	{ "veth_xmit", .step = STEP_DRIVE, .arrow = ARROW_QUEUE, .is_local = true },
	{ "netif_rx", .step = STEP_BACKLOG, .arrow = ARROW_QUEUE },
	{ "__netif_rx", .step = STEP_BACKLOG, .arrow = ARROW_QUEUE },
	{ "enqueue_to_backlog", .step = STEP_BACKLOG, .arrow = ARROW_QUEUE },
	{ "napi_gro_receive", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 1 },
	{ "gro_receive_skb", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 1 },
	{ "netif_receive_skb", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 2 },
	{ "__netif_receive_skb", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 3 },
	{ "__netif_receive_skb_one_core", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE,
	  .level = 4 },
	{ "ip_rcv", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 5 },
	{ "ipv6_rcv", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 5 },
	{ "ip_local_deliver", .step = STEP_RECEIVE, .level = 6 },
	{ "ip6_input", .step = STEP_RECEIVE, .level = 6 },
	{ "tcp_v4_rcv", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 7 },
	{ "tcp_v6_rcv", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 7 },
	{ "udp_rcv", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 7 },
	{ "udpv6_rcv", .step = STEP_RECEIVE, .arrow = ARROW_RECEIVE, .level = 7 },
	{ "tcp_v4_do_rcv", .step = STEP_RECEIVE, .arrow = ARROW_TAKE, .level = 8 },
	{ "tcp_v6_do_rcv", .step = STEP_RECEIVE, .arrow = ARROW_TAKE, .level = 8 },
	{ "ip_defrag", .step = STEP_DEFRAG },
	{ "ipv6_frag_rcv", .step = STEP_DEFRAG },
	{ "nf_ct_frag6_gather", .step = STEP_DEFRAG },
	{ "sock_def_readable", .step = STEP_WAKE, .arrow = ARROW_WAKE },
	{ "tcp_recvmsg", .step = STEP_READER, .is_stream = true },
	{ "udp_recvmsg", .step = STEP_READER },
	{ "udpv6_recvmsg", .step = STEP_READER },
	{ "raw_recvmsg", .step = STEP_READER },
	{ "ping_recvmsg", .step = STEP_READER },
	{ "skb_copy_datagram_iter", .step = STEP_COPY, .arrow = ARROW_TAKE },
	{ "skb_copy_and_csum_datagram_msg", .step = STEP_COPY, .arrow = ARROW_TAKE },
	{ "skb_consume_udp", .step = STEP_COPY, .arrow = ARROW_TAKE },
	{ "kfree_skb", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "kfree_skb_reason", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "sk_skb_reason_drop", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "__kfree_skb", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "kfree_skb_partial", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "skb_free_datagram", .arrow = ARROW_FREE },
	{ "consume_skb", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "__consume_stateless_skb", .arrow = ARROW_FREE },
	{ "napi_consume_skb", .step = STEP_FREE, .arrow = ARROW_FREE },
	{ "skb_attempt_defer_free", .step = STEP_FREE, .arrow = ARROW_FREE },
};

const struct stagefunc *stagefunc_at(size_t i)
{
	return i < sizeof(funcs) / sizeof(funcs[0]) ? &funcs[i] : NULL;
}

const struct stagefunc *stagefunc_of(struct text name)
{
	for (size_t i = 0; stagefunc_at(i); i++) {
		if (text_equal(name, (struct text){ funcs[i].name, strlen(funcs[i].name) }))
			return &funcs[i];
	}
	return &none;
}

bool stagefunc_frees(struct text name)
{
	static const char free[] = "free";
	static const char list[] = "_list";

	return stagefunc_of(name)->step == STEP_FREE ||
	       (memmem(name.ptr, name.len, free, sizeof(free) - 1) &&
		memmem(name.ptr, name.len, list, sizeof(list) - 1));
}

bool stagefunc_passes_drop(struct text name)
{
	return stagefunc_frees(name) || text_has_word("tcp_drop tcp_drop_reason", name);
}

const struct stagefunc *stagefuncs_of(struct stagefuncs *known, const struct callsym *sym)
{
	if (!sym)
		return &none;
	if (VEC_RESERVE_ZEROED(known->funcs, known->cap, sym->id + 1u))
		return NULL;
	if (!known->funcs[sym->id])
		known->funcs[sym->id] = stagefunc_of(sym->name);
	return known->funcs[sym->id];
}

uint64_t stagefunc_skb(const struct call *call, const struct stagefunc *func)
{
	return call_object(call, func->has_first ? "first" : "skb");
}

bool stagefunc_is_inside(const struct calltask *task, const struct call *call)
{
	for (uint32_t i = call->depth; i-- > 0 && task->calls[i].user == call->user;) {
		if (task->calls[i].user_ns == call->user_ns)
			return true;
	}
	return false;
}
