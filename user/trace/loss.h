#ifndef NFG_TRACE_LOSS_H
#define NFG_TRACE_LOSS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Why events of a trace are missing. A recording stores the numbers in this order, so a new reason goes right before
 * LOSS_RECORDED_CNT. loss.c has the words; all code that counts, reports and stores losses uses this list.
 */
enum loss_reason {
	LOSS_RING_FULL,
	LOSS_NESTED_TOO_DEEP,
	LOSS_RECURSION_GUARD,
	LOSS_TASK_NAME, /* not an event */
	LOSS_LATE,      /* in recordings since 1.3 */
	LOSS_MAX_EVENTS,
	LOSS_SCOPE, /* not an event, but a change that may have lost some; in recordings since 1.7 */
	LOSS_FTRACE_OFF, /* not an event, but a second; in recordings since 1.7 */
	LOSS_PACKET,     /* not an event, but a packet with its calls; in recordings since 1.8 */
	LOSS_RECORDED_CNT,
	LOSS_TORN = LOSS_RECORDED_CNT, /* in a recording, EVENT_TORN has the number */
	LOSS_CNT,
};

/* Losses by reason. Zeroed: none. */
struct loss_counts {
	uint64_t cnt[LOSS_CNT];
};

/* Words for a reason: "VERB 7 events: LIVE", "7 RECORDED_MANY". */
struct loss_words {
	const char *key;           /* ring_full */
	const char *verb;          /* lost */
	const char *one;           /* event */
	const char *many;          /* events */
	const char *live;          /* ring full; ... */
	const char *recorded_one;  /* event was lost: a ring was full */
	const char *recorded_many; /* events were lost: a ring was full */
	bool is_name;              /* a task's name is missing, not an event */
};

/* loss_words - the words for @reason, below LOSS_CNT. */
const struct loss_words *loss_words(enum loss_reason reason);

/*
 * When this process, which empties the rings, did not run: it was stopped, waited for a disk, or had no CPU. Zeroed: not begun. Time counts
 * that passes between two looks without being spent in the process, if it is more than a second.
 */
struct absence {
	uint64_t looked_ns; /* 0: not yet */
	uint64_t cpu_ns;    /* spent in the process until then */
	uint64_t total_ns;
};

/* absence_look - the clock is at @now_ns, and this process has spent @cpu_ns of CPU time. */
void absence_look(struct absence *ab, uint64_t now_ns, uint64_t cpu_ns);

/* absence_skip - the same after work that may have waited for the kernel: the time since the last look does not count. */
void absence_skip(struct absence *ab, uint64_t now_ns, uint64_t cpu_ns);

/* loss_total - the number of missing events over all reasons. */
uint64_t loss_total(const struct loss_counts *counts);

#endif
