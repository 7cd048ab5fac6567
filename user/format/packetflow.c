/* The arrows of a packet: from task to task, into softirqs and out of them. */
#include "format/packetflow.h"

#include <errno.h>
#include <stdlib.h>

/* Each key has one slot. Few packets are in flight at a time, and a later one may take the slot of another. */
#define SLOT_CNT 65536u

struct packetflow_way {
	uint64_t key; /* of an skb, or of a socket whose reader was woken; 0: free */
	uint64_t id;
	uint64_t last_ns;
	uint32_t track;
	uint32_t task_id;
};

enum key_kind {
	KEY_SKB = 1,
	KEY_SK,
};

/* @kind keeps skbs and sockets apart. Keys are the same in every run, so that slots are, too. */
static uint64_t key_of(uint64_t object, enum key_kind kind)
{
	uint64_t key;

	if (!object)
		return 0;
	key = (object ^ (uint64_t)kind << 60) * 0x9e3779b97f4a7c15u;
	key ^= key >> 32;
	return key ? key : 1;
}

/* The way of @key, or the slot for it. */
static struct packetflow_way *flow_of(struct packetflow *pf, uint64_t key)
{
	return &pf->ways[key % SLOT_CNT];
}

static bool flow_is_known(const struct packetflow_way *way, uint64_t key, uint64_t now_ns)
{
	return way->key == key && (now_ns < way->last_ns || now_ns - way->last_ns <= PACKETFLOW_NS);
}

static void flow_put(struct packetflow_way *way, uint64_t key, uint64_t id,
		     const struct calltask *task, const struct call *call)
{
	*way = (struct packetflow_way){ .key = key,
					.id = id,
					.last_ns = call->begin_ns,
					.track = call->user,
					.task_id = task->id };
}

/* The skb of the innermost caller that has one. */
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

static void flow_end(struct packetflow *pf, const struct calltask *task, const struct call *call,
		     struct packetflow_step *out)
{
	struct packetflow_way *way = flow_of(pf, call->user_ns);

	if (flow_is_known(way, call->user_ns, call->begin_ns) && is_elsewhere(way, task, call))
		*out = (struct packetflow_step){ way->id, true };
	*way = (struct packetflow_way){ 0 };
}

static void flow_go(struct packetflow *pf, const struct calltask *task, const struct call *call,
		    enum stagefunc_arrow arrow, struct packetflow_step *out)
{
	uint64_t key = call->user_ns;
	struct packetflow_way *way = flow_of(pf, key);
	bool is_here = flow_is_known(way, key, call->begin_ns);

	if (arrow == ARROW_NONE || (arrow != ARROW_QUEUE && stagefunc_is_inside(task, call)))
		return;
	if (arrow == ARROW_TAKE && !(is_here && is_elsewhere(way, task, call)))
		return;
	flow_put(way, key, is_here && arrow != ARROW_SEND ? way->id : ++pf->last_id, task, call);
	out->id = way->id;
}

/* A reader of @sk was woken because of the packet that the callers are at. */
static void flow_wake(struct packetflow *pf, const struct calltask *task, const struct call *call,
		      uint64_t sk, struct packetflow_step *out)
{
	uint64_t skb = skb_around(task, call);
	const struct packetflow_way *way = skb ? flow_of(pf, skb) : NULL;

	if (!way || !flow_is_known(way, skb, call->begin_ns))
		return;
	out->id = way->id;
	flow_put(flow_of(pf, sk), sk, way->id, task, call);
}

/*
 * If this is the first call with the socket after the wake-up, by another task, it gets the arrow, unless @out has
 * one already.
 */
static void flow_woken(struct packetflow *pf, const struct calltask *task, const struct call *call,
		       uint64_t sk, struct packetflow_step *out)
{
	struct packetflow_way *way = flow_of(pf, sk);

	if (!sk || !flow_is_known(way, sk, call->begin_ns) || !is_elsewhere(way, task, call))
		return;
	if (!out->id)
		out->id = way->id;
	*way = (struct packetflow_way){ 0 };
}

/*
 * A task that takes a packet from a socket is the reader that was woken, perhaps inside a call with that socket:
 * @call or one of its callers has the socket. A later call with the socket is not the woken one.
 */
static void flow_take(struct packetflow *pf, const struct calltask *task, const struct call *call,
		      uint64_t sk, struct packetflow_step *out)
{
	flow_go(pf, task, call, ARROW_TAKE, out);
	flow_woken(pf, task, call, sk, out);
	for (uint32_t i = call->depth; i-- > 0 && task->calls[i].user == call->user;)
		flow_woken(pf, task, call, key_of(call_object(&task->calls[i], "sk"), KEY_SK), out);
}

static int object_step(struct packetflow *pf, const struct calltask *task, struct call *call,
		       struct packetflow_step *out)
{
	const struct stagefunc *func = stagefuncs_of(&pf->known, call->sym);
	uint64_t sk;

	if (!func)
		return -ENOMEM;
	call->user_ns = key_of(stagefunc_skb(call, func), KEY_SKB);
	sk = key_of(call_object(call, "sk"), KEY_SK);
	if (!call->user_ns && !sk)
		return 0;
	if (!pf->ways)
		pf->ways = calloc(SLOT_CNT, sizeof(*pf->ways));
	if (!pf->ways)
		return -ENOMEM;
	if (!call->user_ns && func->arrow == ARROW_WAKE)
		flow_wake(pf, task, call, sk, out);
	else if (!call->user_ns)
		flow_woken(pf, task, call, sk, out);
	else if (func->arrow == ARROW_FREE)
		flow_end(pf, task, call, out);
	else if (func->arrow == ARROW_TAKE)
		flow_take(pf, task, call, sk, out);
	else
		flow_go(pf, task, call, func->arrow, out);
	return 0;
}

/* The arrows of a packet's number (--track), which no others have. */
#define FLOW_OF_NUMBER (UINT64_C(1) << 63)

int packetflow_step(struct packetflow *pf, const struct calltask *task, struct call *call,
		    struct packetflow_step *out)
{
	const uint64_t nr = call_packet(call);
	int err;

	*out = (struct packetflow_step){ 0 };
	err = call->arg_cnt ? object_step(pf, task, call, out) : 0;
	if (nr)
		*out = (struct packetflow_step){ .id = FLOW_OF_NUMBER | nr };
	return err;
}

void packetflow_release(struct packetflow *pf)
{
	free(pf->ways);
	free(pf->known.funcs);
	*pf = (struct packetflow){ 0 };
}
