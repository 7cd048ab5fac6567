#ifndef NFG_FORMAT_PACKETFLOW_H
#define NFG_FORMAT_PACKETFLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "format/calltree.h"

/*
 * The way of a packet through calls: those that have the same skb, from the first function that sends or receives it,
 * through queues and softirqs, to the waking of a reader and that one's next call with the socket.
 *
 * Known from the arguments called skb and sk, so only where a trace has arguments. The kernel uses an skb's memory
 * again: a way ends at a function that frees it, begins anew at one that sends, and ends after PACKETFLOW_NS. Functions
 * that are not known to send, queue, take or receive packets are no part of it. Zeroed: none.
 */
struct packetflow {
	struct packetflow_way *ways;
	uint64_t last_id;
};

#define PACKETFLOW_NS 1000000000ull

/* What an arrow is for at a call. */
struct packetflow_step {
	uint64_t id; /* of the way; 0: no arrow */
	bool is_end;
};

/*
 * packetflow_step - @call of @task begins; its callers are task->calls[0 ... depth - 1].
 *
 * Uses user_ns of the task's calls, and expects the track that each is on in its user. Return: 0 or -ENOMEM.
 */
int packetflow_step(struct packetflow *pf, const struct calltask *task, struct call *call,
		    struct packetflow_step *out);
void packetflow_release(struct packetflow *pf);

/* packetflow_arg - the value of the argument @name in @args ("skb=0x1, len=2"); len 0: there is none. */
struct text packetflow_arg(struct text args, const char *name);

#endif
