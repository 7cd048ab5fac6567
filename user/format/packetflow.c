#include "format/packetflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Paths are searched in turn; few packets are in flight at a time, and a later one may take a slot. */
#define SLOT_CNT 65536u

struct packetflow_way {
	uint64_t key; /* of an skb, or of a socket whose reader was woken; 0: free */
	uint64_t id;
	uint64_t last_ns;
	uint32_t track;
	uint32_t task_id;
};

enum step {
	STEP_PLAIN,
	STEP_SEND,    /* where a packet begins its way */
	STEP_RECEIVE, /* the same, unless it is known already */
	STEP_QUEUE,   /* from where another task takes it */
	STEP_TAKE,    /* a task takes it from there */
	STEP_WAKE,
	STEP_FREE,
};

static const struct {
	const char *name;
	enum step step;
	const char *skb; /* the argument that is the packet; NULL: "skb" */
} steps[] = {
	{ "__tcp_transmit_skb", STEP_SEND, NULL },
	{ "__ip_queue_xmit", STEP_SEND, NULL },
	{ "ip_queue_xmit", STEP_SEND, NULL },
	{ "ip_send_skb", STEP_SEND, NULL },
	{ "udp_send_skb", STEP_SEND, NULL },
	{ "ip_local_out", STEP_SEND, NULL },
	{ "__ip_local_out", STEP_SEND, NULL },
	{ "ip6_xmit", STEP_SEND, NULL },
	{ "ip6_send_skb", STEP_SEND, NULL },
	{ "udp_v6_send_skb", STEP_SEND, NULL },
	{ "ip6_local_out", STEP_SEND, NULL },
	{ "__dev_queue_xmit", STEP_QUEUE, NULL },
	{ "enqueue_to_backlog", STEP_QUEUE, NULL },
	{ "netif_rx", STEP_QUEUE, NULL },
	{ "__netif_rx", STEP_QUEUE, NULL },
	{ "veth_xmit", STEP_QUEUE, NULL },
	{ "napi_gro_receive", STEP_RECEIVE, NULL },
	{ "gro_receive_skb", STEP_RECEIVE, NULL },
	{ "netif_receive_skb", STEP_RECEIVE, NULL },
	{ "__netif_receive_skb", STEP_RECEIVE, NULL },
	{ "__netif_receive_skb_one_core", STEP_RECEIVE, NULL },
	{ "ip_rcv", STEP_RECEIVE, NULL },
	{ "ipv6_rcv", STEP_RECEIVE, NULL },
	{ "tcp_v4_rcv", STEP_RECEIVE, NULL },
	{ "tcp_v6_rcv", STEP_RECEIVE, NULL },
	{ "udp_rcv", STEP_RECEIVE, NULL },
	{ "udpv6_rcv", STEP_RECEIVE, NULL },
	{ "sch_direct_xmit", STEP_TAKE, NULL },
	{ "dev_hard_start_xmit", STEP_TAKE, "first" },
	{ "tcp_v4_do_rcv", STEP_TAKE, NULL },
	{ "tcp_v6_do_rcv", STEP_TAKE, NULL },
	{ "skb_copy_datagram_iter", STEP_TAKE, NULL },
	{ "skb_copy_and_csum_datagram_msg", STEP_TAKE, NULL },
	{ "skb_consume_udp", STEP_TAKE, NULL },
	{ "sock_def_readable", STEP_WAKE, NULL },
	{ "kfree_skb", STEP_FREE, NULL },
	{ "__kfree_skb", STEP_FREE, NULL },
	{ "kfree_skb_reason", STEP_FREE, NULL },
	{ "consume_skb", STEP_FREE, NULL },
	{ "__consume_stateless_skb", STEP_FREE, NULL },
	{ "napi_consume_skb", STEP_FREE, NULL },
	{ "skb_attempt_defer_free", STEP_FREE, NULL },
	{ "kfree_skb_partial", STEP_FREE, NULL },
	{ "sk_skb_reason_drop", STEP_FREE, NULL },
	{ "skb_free_datagram", STEP_FREE, NULL },
};

/* @skb: what its argument is called. */
static enum step step_of(const struct callsym *sym, const char **skb)
{
	*skb = "skb";
	for (size_t i = 0; sym && i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (!text_equal(sym->name, (struct text){ steps[i].name, strlen(steps[i].name) }))
			continue;
		if (steps[i].skb)
			*skb = steps[i].skb;
		return steps[i].step;
	}
	return STEP_PLAIN;
}

enum key_kind {
	KEY_SKB = 1,
	KEY_SK,
};

/* @kind keeps skbs and sockets apart. The same in every run. */
static uint64_t key_of(const struct call *call, const char *name, enum key_kind kind)
{
	uint64_t key = call_object(call, name);

	if (!key)
		return 0;
	key = (key ^ (uint64_t)kind << 60) * 0x9e3779b97f4a7c15u;
	key ^= key >> 32;
	return key ? key : 1;
}

/* The way of @key, or the slot for it. */
static struct packetflow_way *way_of(struct packetflow *pf, uint64_t key)
{
	return &pf->ways[key % SLOT_CNT];
}

static bool is_known(const struct packetflow_way *way, uint64_t key, uint64_t now_ns)
{
	return way->key == key && (now_ns < way->last_ns || now_ns - way->last_ns <= PACKETFLOW_NS);
}

static void put_way(struct packetflow_way *way, uint64_t key, uint64_t id,
		    const struct calltask *task, const struct call *call)
{
	*way = (struct packetflow_way){ .key = key,
					.id = id,
					.last_ns = call->begin_ns,
					.track = call->user,
					.task_id = task->id };
}

/* Whether a caller on the same track has the same skb: an arrow into it would show nothing. */
static bool is_inside(const struct calltask *task, const struct call *call, uint64_t key)
{
	for (uint32_t i = call->depth; i-- > 0 && task->calls[i].user == call->user;) {
		if (task->calls[i].user_ns == key)
			return true;
	}
	return false;
}

/* The skb that the callers are at. */
static uint64_t skb_around(const struct calltask *task, const struct call *call)
{
	for (uint32_t i = call->depth; i-- > 0;) {
		if (task->calls[i].user_ns)
			return task->calls[i].user_ns;
	}
	return 0;
}

static bool is_elsewhere(const struct packetflow_way *way, const struct calltask *task,
			 const struct call *call)
{
	return way->track != call->user || way->task_id != task->id;
}

static void end_packet(struct packetflow *pf, const struct calltask *task, const struct call *call,
		       struct packetflow_step *out)
{
	struct packetflow_way *way = way_of(pf, call->user_ns);

	if (is_known(way, call->user_ns, call->begin_ns) && is_elsewhere(way, task, call))
		*out = (struct packetflow_step){ way->id, true };
	*way = (struct packetflow_way){ 0 };
}

static void step_packet(struct packetflow *pf, const struct calltask *task, const struct call *call,
			enum step step, struct packetflow_step *out)
{
	uint64_t key = call->user_ns;
	struct packetflow_way *way = way_of(pf, key);
	bool is_here = is_known(way, key, call->begin_ns);

	if (step == STEP_PLAIN || (step != STEP_QUEUE && is_inside(task, call, key)))
		return;
	if (step == STEP_TAKE && !(is_here && is_elsewhere(way, task, call)))
		return;
	put_way(way, key, is_here && step != STEP_SEND ? way->id : ++pf->last_id, task, call);
	out->id = way->id;
}

/* A reader of @sk was woken because of the packet that the callers are at. */
static void step_wake(struct packetflow *pf, const struct calltask *task, const struct call *call,
		      uint64_t sk, struct packetflow_step *out)
{
	uint64_t skb = skb_around(task, call);
	const struct packetflow_way *way = skb ? way_of(pf, skb) : NULL;

	if (!way || !is_known(way, skb, call->begin_ns))
		return;
	out->id = way->id;
	put_way(way_of(pf, sk), sk, way->id, task, call);
}

/* The first call with the socket after the wake-up, by another task. Its arrow, unless @out has one already. */
static void step_woken(struct packetflow *pf, const struct calltask *task, const struct call *call,
		       uint64_t sk, struct packetflow_step *out)
{
	struct packetflow_way *way = way_of(pf, sk);

	if (!sk || !is_known(way, sk, call->begin_ns) || !is_elsewhere(way, task, call))
		return;
	if (!out->id)
		out->id = way->id;
	*way = (struct packetflow_way){ 0 };
}

/*
 * A task that takes a packet from a socket is the reader that was woken, perhaps inside a call with that socket: @call or
 * one of its callers has the socket. A later call with the socket is not the woken one.
 */
static void step_take(struct packetflow *pf, const struct calltask *task, const struct call *call,
		      uint64_t sk, struct packetflow_step *out)
{
	step_packet(pf, task, call, STEP_TAKE, out);
	step_woken(pf, task, call, sk, out);
	for (uint32_t i = call->depth; i-- > 0 && task->calls[i].user == call->user;) {
		step_woken(pf, task, call, key_of(&task->calls[i], "sk", KEY_SK), out);
	}
}

int packetflow_step(struct packetflow *pf, const struct calltask *task, struct call *call,
		    struct packetflow_step *out)
{
	const char *skb;
	enum step step;
	uint64_t sk;

	*out = (struct packetflow_step){ 0 };
	if (!call->arg_cnt)
		return 0;
	step = step_of(call->sym, &skb);
	call->user_ns = key_of(call, skb, KEY_SKB);
	sk = key_of(call, "sk", KEY_SK);
	if (!call->user_ns && !sk)
		return 0;
	if (!pf->ways)
		pf->ways = calloc(SLOT_CNT, sizeof(*pf->ways));
	if (!pf->ways)
		return -ENOMEM;
	if (!call->user_ns && step == STEP_WAKE)
		step_wake(pf, task, call, sk, out);
	else if (!call->user_ns)
		step_woken(pf, task, call, sk, out);
	else if (step == STEP_FREE)
		end_packet(pf, task, call, out);
	else if (step == STEP_TAKE)
		step_take(pf, task, call, sk, out);
	else
		step_packet(pf, task, call, step, out);
	return 0;
}

void packetflow_release(struct packetflow *pf)
{
	free(pf->ways);
	pf->ways = NULL;
}
