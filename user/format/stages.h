#ifndef NFG_FORMAT_STAGES_H
#define NFG_FORMAT_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "format/calltree.h"
#include "format/profile.h"
#include "trace/row.h"

/*
 * Packets, followed through calls with the same skb by one table of functions: for the table of latency --by stage,
 * and for the arrows of --format perfetto.
 *
 * The table has the time that packets spent in each stage of the network stack, from rows whose calls have arguments.
 *
 * A packet is followed from function to function by the address of its skb and, where calls have it, by its number
 * (--track), which a copy has, too. Each function of the table in stages.c
 * that begins a stage ends the previous one, so the stages of a packet add up to its total. Other cases (a stage
 * whose functions were not traced, a clone, a segment, a packet merged into another) are counted separately, and
 * their time is in no stage. The kernel reuses an skb's memory: a function that no packet in that stage can reach
 * begins another packet.
 */
struct stages;

enum stage {
	STAGE_SOCKET,   /* from the call that sends to the device's queue */
	STAGE_QDISC,    /* to the device's driver */
	STAGE_DRIVER,   /* to its return, or to queueing the packet for a receiver on this host */
	STAGE_SOFTIRQ,  /* to the first function that receives */
	STAGE_PROTOCOL, /* to the wake-up of the reader */
	STAGE_WAKEUP,   /* to the return of the call that reads */
	STAGE_CNT,
};

/* Where the trace first sees a packet. */
enum stages_begin {
	STAGES_SENT,     /* in a call that sends */
	STAGES_UNCALLED, /* being sent, but in no such call */
	STAGES_RECEIVED,
	STAGES_MIDDLE, /* at a device */
	STAGES_COPY, /* by its number, a copy of one that was seen, or a part: it has that one's times */
	STAGES_BEGIN_CNT,
};

/* Where the trace last sees it. */
enum stages_end {
	STAGES_READ,   /* its reader returned */
	STAGES_LEFT,   /* a driver took it, and its receiver is not on this host */
	STAGES_FREED,  /* unread */
	STAGES_UNSEEN, /* its memory was reused */
	STAGES_OPEN,   /* still in the stack when the trace ended */
	STAGES_LOST,   /* still in the stack when events were lost */
	STAGES_COPIED, /* freed or unseen, but its copies go on, so that its times are in theirs */
	STAGES_END_CNT,
};

struct stages_sums {
	struct hist stages[STAGE_CNT]; /* ns */
	struct hist total;             /* of packets with known first and last stage */
	uint64_t begin_cnts[STAGES_BEGIN_CNT];
	uint64_t end_cnts[STAGES_END_CNT][STAGE_CNT]; /* by the last stage */
	/* times that cannot be separated: the sum of all stages from the first index to the second */
	uint64_t mixed_cnts[STAGE_CNT][STAGE_CNT];
	uint64_t packet_cnt;
};

/* stages_new - @lacks_task: as calltree_config. Return: 0 or -ENOMEM. Caller frees with stages_free. */
int stages_new(struct stages **out, bool lacks_task);
void stages_free(struct stages *st);

/* stages_row - take the next row. Return: 0 or -ENOMEM. */
int stages_row(struct stages *st, const struct row *row);

/* stages_finish - the trace ends. Return: 0 or -ENOMEM. */
int stages_finish(struct stages *st);

/* stages_sums - final after stages_finish. */
const struct stages_sums *stages_sums(const struct stages *st);

/* stages_put - append the tables, as data one that docs/stages.md describes. Return: 0 or -ENOMEM. */
int stages_put(const struct stages_sums *sums, struct tablew *w);

/* stage_name - "socket", "qdisc", ... */
const char *stage_name(enum stage stage);

/* The meaning of a function for the stages of a packet. */
enum stages_step {
	STEP_NONE,
	STEP_SENDER,  /* the call that sends; has a socket */
	STEP_SEND,    /* below it, the first functions with the skb */
	STEP_QUEUE,   /* at the device */
	STEP_DRIVE,   /* the driver, and its caller */
	STEP_BACKLOG, /* for a receiver on this host */
	STEP_RECEIVE,
	STEP_WAKE,
	STEP_READER, /* the call that reads */
	STEP_COPY,   /* within it, with the skb */
	STEP_FREE,
};

/* The meaning of a function for the arrows of a packet. */
enum stages_arrow {
	ARROW_NONE,
	ARROW_SEND,    /* where a packet begins its way */
	ARROW_RECEIVE, /* the same, unless it is known already */
	ARROW_QUEUE,   /* from where another task takes it */
	ARROW_TAKE,    /* a task takes it from there */
	ARROW_WAKE,
	ARROW_FREE,
};

struct stages_func {
	const char *name;
	enum stages_step step;
	enum stages_arrow arrow;
	uint8_t level; /* SEND, RECEIVE: a packet reaches lower levels first; DRIVE: 1: calls drivers */
	bool is_local;  /* DRIVE: gives packets to a receiver on this host */
	bool has_first; /* the argument that is the packet is called first, not skb */
};

/* The functions of a trace, by the callsym's id. Zeroed: none. */
struct stages_known {
	const struct stages_func **funcs;
	size_t cap;
};

/* stages_func_at - known function @i, from 0 on; NULL after the last one. */
const struct stages_func *stages_func_at(size_t i);

/* stages_func_of - the table's entry for the function, or one with STEP_NONE; never NULL. */
const struct stages_func *stages_func_of(struct text name);

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
	struct stages_known known;
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
