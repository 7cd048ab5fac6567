#ifndef NFG_FORMAT_STAGES_H
#define NFG_FORMAT_STAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/table.h"
#include "filter/pcapfilter.h"
#include "format/profile.h"
#include "trace/netcost.h"
#include "trace/row.h"

/*
 * The table has the time that packets spent in each stage of the network stack, from rows whose calls have arguments.
 *
 * A packet is followed from function to function by the address of its skb and, where calls have it, by its number
 * (--track), which a copy has, too. Each function of the table in stagefunc.c that begins a stage ends the previous one,
 * so the stages of a packet add up to its total. Other cases (a stage whose functions were not traced, a clone, a
 * segment, a packet merged into another) are counted separately, and their time is in no stage. The kernel reuses an
 * skb's memory: a function that no packet in that stage can reach begins another packet.
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
	STAGES_OTHER, /* anywhere: one that --packet does not choose, and that nothing else counts */
	STAGES_BEGIN_CNT,
};

/* Where the trace last sees it. */
enum stages_end {
	STAGES_READ,   /* its reader returned */
	STAGES_LEFT,   /* a driver took it, and its receiver is not on this host */
	STAGES_FREED,  /* unread */
	STAGES_UNSEEN, /* its memory was reused */
	STAGES_OPEN,   /* still in the stack when the trace ended */
	STAGES_LOST,   /* not known, as events were lost: where it was seen last */
	STAGES_MERGED, /* put together with other fragments of its number into a packet that went on */
	STAGES_COPIED, /* freed, unseen or merged, but its copies go on, so that its times are in theirs */
	STAGES_END_CNT,
};

/* Times that are in no stage alone, from the time stamps of packets. */
enum stages_beside {
	STAGES_CARD,      /* received: from the card's stamp to the first function */
	STAGES_STAMP,     /* the same from the driver's or the kernel's */
	STAGES_DEPARTURE, /* part of QDISC: until the packet's time of departure */
	STAGES_BESIDE_CNT,
};

/* The times of a stage, in ns. */
struct stage_times {
	struct hist gross;
	struct hist net; /* without the cost of tracing, of those packets of which it is known */
	uint64_t net_error_sum_ns; /* by how much these may be wrong */
};

struct stages_sums {
	struct stage_times stages[STAGE_CNT];
	struct stage_times total; /* of packets with known first and last stage */
	uint64_t
		part_cnts[STAGE_CNT + 1]; /* of the packets in these, in their order: STAGES_COPY */
	/* from the end of a call that read from a connection to the next one that sends on it */
	struct stage_times application;
	struct stage_times beside[STAGES_BESIDE_CNT]; /* these have no net times */
	uint64_t
		card_off_cnt; /* packets with a card's stamp that is of another clock than the system's */
	uint64_t begin_cnts[STAGES_BEGIN_CNT];
	uint64_t end_cnts[STAGES_END_CNT][STAGE_CNT]; /* by the last stage */
	/* times that cannot be separated: the sum of all stages from the first index to the second */
	uint64_t mixed_cnts[STAGE_CNT][STAGE_CNT];
	uint64_t packet_cnt;
	bool has_funcs; /* a function of the stages was called, with a packet or without */
};

/*
 * stages_new - @lacks_task: as calltree_config; @filter: that of --packet, with which packets are STAGES_OTHER if their
 * headers are known, or NULL; borrowed. Return: 0 or -ENOMEM. Caller frees with stages_free.
 */
int stages_new(struct stages **out, bool lacks_task, const struct pcapfilter *filter);
void stages_free(struct stages *st);

/* stages_set_clock - @real_offset_ns: from the clock of the next rows to ns since 1970; 0: unknown, as it is at first. */
void stages_set_clock(struct stages *st, uint64_t real_offset_ns);

/* stages_set_cost - of a traced call in the next rows, for net times; not known, or NULL: as before, and at first none. */
void stages_set_cost(struct stages *st, const struct netcost *cost);

/* stages_row - take the next row. Return: 0 or -ENOMEM. */
int stages_row(struct stages *st, const struct row *row);

/*
 * stages_lost - how many events the trace lacks, before stages_finish. If that is more than its rows have, nobody knows where the
 * others are missing: what would then be told of a packet because nothing more was seen of it is STAGES_LOST.
 */
void stages_lost(struct stages *st, uint64_t cnt);

/* stages_finish - the trace ends. Return: 0 or -ENOMEM. */
int stages_finish(struct stages *st);

/* stages_sums - final after stages_finish. */
const struct stages_sums *stages_sums(const struct stages *st);

/* stages_put - append the tables, as data one that docs/stages.md describes. Return: 0 or -ENOMEM. */
int stages_put(const struct stages_sums *sums, struct tablew *w);

/* stages_has_func - whether stages begin or end at a function of this name. */
bool stages_has_func(struct text name);

/* stage_name - "socket", "qdisc", ... */
const char *stage_name(enum stage stage);

#define STAGES_TIMES_CNT (STAGE_CNT + 2 + STAGES_BESIDE_CNT)

/*
 * stages_times - row @i of the times, from 0 on: card, stamp, each stage, total, departure, application, and what it is
 * called. stages_has_times: whether the row is shown; stages and total always are, others where they counted something.
 */
const struct stage_times *stages_times(const struct stages_sums *sums, int i, const char **name);

/* stages_have_net - whether a row has net times. */
bool stages_have_net(const struct stages_sums *sums);

/* stages_net_at - the @percent-th percentile of net times; its error is the mean of the packets'. */
struct net_time stages_net_at(const struct stage_times *times, double percent);

bool stages_has_times(const struct stages_sums *sums, int i);

#endif
