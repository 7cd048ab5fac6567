#ifndef NFG_FORMAT_STAGES_H
#define NFG_FORMAT_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/hist.h"
#include "trace/row.h"

/*
 * Which stage of the stack took a packet's time, from rows whose calls have arguments.
 *
 * A packet is followed by the address of its skb, from function to function. Each function of the table in stages.c that
 * begins a stage ends the one before, so the stages of a packet add up to its total. What does not fit (a stage between
 * two others whose function was not traced, a clone, a segment, a packet merged into another) is counted apart,
 * and its time in no stage. The kernel uses an skb's memory again: a function that no packet in that stage can
 * reach begins another packet.
 */
struct stages;

enum stage {
	STAGE_SOCKET, /* from the call that sends to the queueing at the device */
	STAGE_QDISC,  /* to the device's driver */
	STAGE_DRIVER, /* to its return, or where it queues the packet for a receiver on this host */
	STAGE_SOFTIRQ,  /* from there to the first function that receives */
	STAGE_PROTOCOL, /* to the wake-up of the reader */
	STAGE_WAKEUP,   /* to the return of the call that reads */
	STAGE_CNT,
};

/* How the trace sees a packet first. */
enum stages_begin {
	STAGES_SENT,     /* in a call that sends */
	STAGES_UNCALLED, /* being sent, but in no such call */
	STAGES_RECEIVED,
	STAGES_MIDDLE, /* at a device */
	STAGES_BEGIN_CNT,
};

/* How it sees it last. */
enum stages_end {
	STAGES_READ,   /* its reader returned */
	STAGES_LEFT,   /* a driver took it that gives nothing to a receiver on this host */
	STAGES_FREED,  /* unread */
	STAGES_UNSEEN, /* its memory was used again */
	STAGES_OPEN,   /* it was under way when the trace ended */
	STAGES_LOST,   /* likewise, when events were lost */
	STAGES_END_CNT,
};

struct stages_sums {
	struct hist stages[STAGE_CNT]; /* ns */
	struct hist total;             /* of packets whose first and last stage are known */
	uint64_t begin_cnts[STAGES_BEGIN_CNT];
	uint64_t end_cnts[STAGES_END_CNT][STAGE_CNT]; /* by the last stage */
	/* times that cannot be told apart: of all stages from the first on, up to the second one */
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

/* stages_put_text, stages_put_json - append the tables. Return: 0 or -ENOMEM. */
int stages_put_text(const struct stages_sums *sums, struct strbuf *out);
int stages_put_json(const struct stages_sums *sums, struct strbuf *out);

/* stage_name - "socket", "qdisc", ... */
const char *stage_name(enum stage stage);

#endif
