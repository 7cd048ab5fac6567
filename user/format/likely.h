#ifndef NFG_FORMAT_LIKELY_H
#define NFG_FORMAT_LIKELY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/causes.h"
#include "kernel/netstat.h"

/*
 * What is likely behind a cause: of sleeps by the function that sleeps, the one that woke it, how long that was, what
 * wakers did and what the kernel counted meanwhile; of tasks that wait for a CPU by what was counted; of what runs by a
 * function that others did not call. A counter belongs to no call, so nothing of this is ever more than likely. Pure.
 */
#define LIKELY_MAX 2

/* Which of the wakers stands behind the words. */
enum likely_waker {
	LIKELY_NO_WAKER,
	LIKELY_BUSY_WAKER, /* the one that did something else longest */
	LIKELY_ANY_WAKER,  /* the one that woke most of the time; what it did is not known */
};

/* What wakers did meanwhile. */
struct did {
	uint32_t kind; /* enum cause_kind, that of a waker */
	uint32_t
		func; /* for slowcalls_name; WAKER_ASLEEP: SLOWCALLS_NONE: elsewhere; WAKER_QUEUED: who had the CPU */
	uint32_t state;
	uint32_t tid;      /* WAKER_QUEUED: of the task func; 0: not known, or of several */
	uint32_t task_cnt; /* WAKER_QUEUED: so many tasks of that name; 0: the one */
	int64_t ns;
	struct text in; /* the name of func */
};

/* Each thing once, the longest first, after dids_sort. The caller frees the items. */
struct dids {
	struct did *items;
	size_t cnt;
	size_t cap;
	uint64_t fault_cnt;
	int64_t known_ns; /* of all */
};

/* dids_add - add what was done in the sleeps of one detail, by any of its tasks. Return: 0 or -ENOMEM. */
int dids_add(struct dids *dids, const struct slowcalls *sc, const struct causes *causes,
	     const struct cause_detail *detail);
void dids_sort(struct dids *dids);

/* did_is_busy - whether it is known to be something else than to wait for input, or for one of several things. */
bool did_is_busy(const struct did *did);

/* What most of the slow calls' time went into. */
struct symptom {
	uint32_t kind;    /* ASLEEP, QUEUED, PREEMPTED, RUNNING */
	struct text in;   /* the function that slept, or that others did not call */
	struct text from; /* the function that woke it; empty: not known */
	int64_t ns;       /* of one slow call, in the mean */
	double part;      /* RUNNING: of the excess, with what it calls */
	bool is_as_often; /* RUNNING: others called it as often */
	bool is_outside;  /* ASLEEP: a softirq woke it, on no task's way */
	bool is_by_task;  /* ASLEEP: a task woke it, or in its softirq */
	bool has_drop;    /* that calls dropped packets themselves is said to be likely already */
	bool is_live; /* the kernel traces, so that its counters could be read; else it is a file */
	uint64_t call_cnt;      /* slow calls that had it as their largest part */
	int64_t slept_ns;       /* in all slow calls, */
	const struct did *dids; /* and what wakers did of that time */
	size_t did_cnt;
};

struct likely {
	const char *words;
	size_t counter; /* of netstat.h; NETSTAT_CNT: none */
	enum likely_waker waker;
};

/*
 * likely_is_of_drop - whether @symptom, of calls that drop packets themselves and have no others to be compared with, is what
 * follows from such a drop: a connect() waits for the answer to a SYN that was dropped on its way. @has_reason: the kernel says
 * why it dropped it; else the wait has to be as long as it takes until a SYN is sent again.
 */
bool likely_is_of_drop(const struct symptom *symptom, bool has_reason);

/*
 * likely_add - what is likely behind @symptom, behind the first @cnt of @out, the best first; nothing twice. @counted: NULL: not
 * known. Return: how many there are now.
 */
size_t likely_add(struct likely out[LIKELY_MAX], size_t cnt, const struct symptom *symptom,
		  const struct netstat *counted);

#endif
