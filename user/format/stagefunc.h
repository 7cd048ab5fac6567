#ifndef NFG_FORMAT_STAGEFUNC_H
#define NFG_FORMAT_STAGEFUNC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/calltree.h"

/* What functions mean for packets that are followed through calls with the same skb. */

/* The meaning of a function for the stages of a packet. */
enum stagefunc_step {
	STEP_NONE,
	STEP_SENDER,  /* the call that sends; has a socket */
	STEP_SEND,    /* below it, the first functions with the skb */
	STEP_QUEUE,   /* at the device */
	STEP_DRIVE,   /* the driver, and its caller */
	STEP_BACKLOG, /* for a receiver on this host */
	STEP_RECEIVE,
	STEP_DEFRAG, /* a fragment waits there for the others; behind it is only the packet put together from them */
	STEP_WAKE,
	STEP_READER, /* the call that reads */
	STEP_COPY,   /* within it, with the skb */
	STEP_FREE,
};

/* The meaning of a function for the arrows of a packet. */
enum stagefunc_arrow {
	ARROW_NONE,
	ARROW_SEND,    /* where a packet begins its way */
	ARROW_RECEIVE, /* the same, unless it is known already */
	ARROW_QUEUE,   /* from where another task takes it */
	ARROW_TAKE,    /* a task takes it from there */
	ARROW_WAKE,
	ARROW_FREE,
};

struct stagefunc {
	const char *name;
	enum stagefunc_step step;
	enum stagefunc_arrow arrow;
	uint8_t level; /* SEND, RECEIVE: a packet reaches lower levels first; DRIVE: 1: calls drivers */
	bool is_local;  /* DRIVE: gives packets to a receiver on this host */
	bool has_first; /* the argument that is the packet is called first, not skb */
	bool is_stream; /* SENDER, READER: of a connection's bytes */
};

/* The functions of a trace, by the callsym's id. Zeroed: none; free @funcs. */
struct stagefuncs {
	const struct stagefunc **funcs;
	size_t cap;
};

/* stagefunc_at - known function @i, from 0 on; NULL after the last one. */
const struct stagefunc *stagefunc_at(size_t i);

/* stagefunc_of - the table's entry for the function, or one with STEP_NONE; never NULL. */
const struct stagefunc *stagefunc_of(struct text name);

/* stagefunc_frees - whether the function frees a packet, or a list of packets, for whoever calls it. */
bool stagefunc_frees(struct text name);

/* stagefunc_passes_drop - the same, and what others call to have a packet dropped: none of these is where it was dropped. */
bool stagefunc_passes_drop(struct text name);

/* stagefuncs_of - the same for a function of the trace. Return: NULL: no memory. */
const struct stagefunc *stagefuncs_of(struct stagefuncs *known, const struct callsym *sym);

/* stagefunc_skb - a number for the call's skb; 0: none. */
uint64_t stagefunc_skb(const struct call *call, const struct stagefunc *func);

/* stagefunc_is_inside - whether one of its callers, on the same track, has the same skb (in user_ns). */
bool stagefunc_is_inside(const struct calltask *task, const struct call *call);

#endif
