#ifndef NFG_FORMAT_PACKETFLOW_H
#define NFG_FORMAT_PACKETFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "format/calltree.h"
#include "format/stagefunc.h"

/*
 * The path of a packet through calls with the same skb: from the first function that sends or receives it, through
 * queues and softirqs, to the wake-up of a reader, and the reader's next call with the socket, or with the packet if
 * the reader slept inside such a call.
 *
 * It needs the arguments named skb (first in dev_hard_start_xmit) and sk, so a trace must have arguments. The kernel
 * reuses an skb's memory: a path ends at a function that frees the skb and after PACKETFLOW_NS, and a new one begins
 * at a function that sends. Functions not known to send, queue, take or receive packets are ignored. Zeroed: none.
 */
struct packetflow {
	struct stagefuncs known;
	struct packetflow_way *ways;
	uint64_t last_id;
};

#define PACKETFLOW_NS 1000000000ull

/* The flow arrow at a call. */
struct packetflow_step {
	uint64_t id; /* of the path; 0: no arrow */
	bool is_end;
};

/*
 * packetflow_step - take the beginning of @call of @task; its callers are task->calls[0 ... depth - 1].
 *
 * Uses user_ns of the task's calls, and expects each call's track in its user. Return: 0 or -ENOMEM.
 */
int packetflow_step(struct packetflow *pf, const struct calltask *task, struct call *call,
		    struct packetflow_step *out);
void packetflow_release(struct packetflow *pf);

#endif
