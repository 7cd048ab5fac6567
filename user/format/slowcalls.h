#ifndef NFG_FORMAT_SLOWCALLS_H
#define NFG_FORMAT_SLOWCALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/calltree.h"
#include "format/slowgap.h"
#include "format/slowtree.h"
#include "trace/row.h"

/*
 * Rows in; out come the calls of start functions, that is, the outermost calls, each with what its time went into: its
 * parts. The parts of a call add up to its duration exactly, which is the one without the cost of tracing where that is
 * known. causes.h compares them. Beside these there are parts that say where interrupts came, and what wakers did meanwhile
 * (cause_is_beside).
 *
 * Pure: no clock, no I/O. Memory: 16 bytes for each different part of each call, so not more than a recording has for the
 * same calls.
 */
struct slowcalls;

enum cause_kind {
	CAUSE_ASLEEP,      /* in one function and state */
	CAUSE_QUEUED,      /* after a sleep: on a run queue */
	CAUSE_PREEMPTED,   /* could have gone on */
	CAUSE_UNSEEN,      /* off the CPU, but how was not seen */
	CAUSE_INTERRUPTED, /* a softirq or hard interrupt inside: all of its tree, wherever it came */
	CAUSE_RUNNING,     /* in a function itself, by its place in the tree */
	CAUSE_EVENT,       /* no time: a tracepoint that was hit inside */
	/* what is in other parts already: the same interrupts, by their places in the tree; what packets took in them */
	CAUSE_IRQ_PLACE,
	CAUSE_IRQ_PACKET,
	/* no parts of the call: what the waker did during a sleep */
	CAUSE_WAKER_ASLEEP, /* in one function and state */
	CAUSE_WAKER_QUEUED,
	CAUSE_WAKER_RAN,
	CAUSE_WAKER_FAULTS, /* no time: their number */
	CAUSE_KIND_CNT,
};

#define SLOWCALLS_NONE UINT32_MAX

/* What excess is blamed on. Names are numbers for slowcalls_name, SLOWCALLS_NONE where there is none. */
struct cause_key {
	uint32_t kind; /* enum cause_kind */
	uint32_t
		path; /* RUNNING, IRQ_PLACE: for slowcalls_path; WAKER_*: of the sleep, for slowcalls_detail; EVENT: the name of the packet's protocol; IRQ_PACKET: the name of what packets are of */
	uint32_t
		func; /* ASLEEP, UNSEEN, WAKER_ASLEEP: that slept; WAKER_QUEUED: the task that had the CPU; INTERRUPTED, IRQ_PACKET: the outermost; RUNNING: of path; EVENT: its name */
	uint32_t state; /* ASLEEP, WAKER_ASLEEP: of the task; EVENT: its reason */
	uint32_t
		tid; /* WAKER_QUEUED: of the task that had the CPU; 0: not known. IRQ_PACKET: enum packets_by */
};

/* What packets are told apart by. */
enum packets_by {
	PACKETS_BY_ENDS,  /* "udp 10.0.0.9:4000 > 10.0.0.2:9" */
	PACKETS_BY_HOSTS, /* without ports */
	PACKETS_BY_CNT,
};

/* A part of a cause. */
struct detail_key {
	uint32_t cause; /* for slowcalls_cause */
	uint32_t waker; /* ASLEEP: task, softirq, hardirq, own_softirq */
	uint32_t comm;  /* ASLEEP: of the waker; QUEUED, PREEMPTED: of the task that had the CPU */
	uint32_t
		from; /* ASLEEP: the function that woke it; INTERRUPTED: the function; EVENT: where */
	uint32_t tid;   /* of the task with the name @comm; 0: not known */
	uint32_t rules; /* EVENT: for slowcalls_rules: whose rules dropped the packet */
};

/* What evaluated rules of a firewall, and where it began; names, SLOWCALLS_NONE where there is none. */
struct rules_key {
	uint32_t func;
	uint32_t table;
	uint32_t chain;
};

/* A place in the tree of calls: a function below another place. */
struct callpath {
	uint32_t parent; /* SLOWCALLS_NONE: the start function */
	uint32_t func;
	uint32_t
		irq; /* the outermost place, from here up, that is in an interrupt of the start function; NONE: none */
	uint32_t context; /* enum call_context */
};

struct callpart {
	uint32_t detail;
	uint32_t cnt; /* calls, sleeps or events */
	int64_t ns;
};

struct slowcall {
	uint64_t begin_ns;   /* 0: the rows have no times */
	int64_t duration_ns; /* net if @is_net */
	uint32_t tid;
	uint32_t cpu;
	uint32_t comm;
	uint32_t part_cnt;
	size_t part_at; /* in slowcalls_parts */
	bool is_net;
};

/* A start function and its calls. */
struct startfunc {
	uint32_t func;
	struct slowcall *
		calls; /* that have an entry, a return and a duration, in the order of their returns */
	size_t call_cnt;
	size_t call_cap;
	uint64_t cut_cnt;   /* calls that lack their entry or return, because events are missing */
	uint64_t stray_cnt; /* of those, the ones that lack their entry, */
	struct slowgap_calls
		gaps;         /* and the ones that were open when a gap began, which ended them */
	uint64_t open_cnt;    /* that had not returned at the end, */
	uint64_t open_ns;     /* and how long the longest had taken then, */
	uint32_t open_in;     /* in which function it was */
	uint64_t open_in_ns;  /* without a traced call; 0: unknown */
	uint64_t untimed_cnt; /* of a trace without durations */
	struct slowtree
		tree; /* with slowcalls_keep_trees, that of the slowest call, the last one of several */
	int64_t tree_ns;
};

/* slowcalls_new - @lacks_time, @lacks_task: as calltree_config. Return: 0 or -ENOMEM. Caller frees with slowcalls_free. */
int slowcalls_new(struct slowcalls **out, bool lacks_time, bool lacks_task);
void slowcalls_free(struct slowcalls *sc);

/* slowcalls_keep_trees - before the first row: keep the tree of each start function's slowest call. Return: 0 or -ENOMEM. */
int slowcalls_keep_trees(struct slowcalls *sc, unsigned int cpu_width);

/* slowcalls_row - take the next row. Return: 0 or -ENOMEM, after which only free is allowed. */
int slowcalls_row(struct slowcalls *sc, const struct row *row);

/* slowcalls_left_out - functions are left out from @time_ns on. */
void slowcalls_left_out(struct slowcalls *sc, uint64_t time_ns);

/* slowcalls_gap - nothing was traced from @from_ns until now: all rows from before have been taken. Return: 0 or -ENOMEM. */
int slowcalls_gap(struct slowcalls *sc, enum slowgap kind, uint64_t from_ns);

/* slowcalls_finish - the trace ends. Return: 0 or -ENOMEM. */
int slowcalls_finish(struct slowcalls *sc);

/* Results, valid after slowcalls_finish. Each returns NULL, or an empty name, beyond the last. */
const struct startfunc *slowcalls_start(const struct slowcalls *sc, uint32_t i);
struct slowtree *slowcalls_tree(struct slowcalls *sc, const struct startfunc *start);
const struct callpart *slowcalls_parts(const struct slowcalls *sc);
const struct cause_key *slowcalls_cause(const struct slowcalls *sc, uint32_t i);
const struct detail_key *slowcalls_detail(const struct slowcalls *sc, uint32_t i);
const struct rules_key *slowcalls_rules(const struct slowcalls *sc, uint32_t i);

/* slowcalls_by_task - ASLEEP: whether a task woke it, be it in its softirq. */
bool slowcalls_by_task(const struct slowcalls *sc, const struct detail_key *detail);

/*
 * slowcalls_told - the cause by which cause @i is told: the first one of the same words. A function below the same caller has
 * several places in the tree if that has, and a program loaded twice has one name in two modules.
 */
uint32_t slowcalls_told(const struct slowcalls *sc, uint32_t i);
const struct callpath *slowcalls_path(const struct slowcalls *sc, uint32_t i);
struct text slowcalls_name(const struct slowcalls *sc, uint32_t name);
/* slowcalls_has_func - whether a call of a function of this name was seen to end. */
bool slowcalls_has_func(const struct slowcalls *sc, struct text name);
struct text slowcalls_module(const struct slowcalls *sc, uint32_t name);
uint32_t slowcalls_cause_cnt(const struct slowcalls *sc);
uint32_t slowcalls_detail_cnt(const struct slowcalls *sc);

/* slowcalls_has_sleeps - whether there was a sleep (--graph-opts sleep) in any call. */
bool slowcalls_has_sleeps(const struct slowcalls *sc);

/* cause_is_of_waker - whether parts of this kind are what a waker did. */
static inline bool cause_is_of_waker(uint32_t kind)
{
	return kind >= CAUSE_WAKER_ASLEEP && kind <= CAUSE_WAKER_FAULTS;
}

/* cause_is_beside - whether parts of this kind are none of those that add up to the call's duration. */
static inline bool cause_is_beside(uint32_t kind)
{
	return kind == CAUSE_IRQ_PLACE || kind == CAUSE_IRQ_PACKET || cause_is_of_waker(kind);
}

/* sum_add - add to a sum, which stops at the limits of its type: durations of damaged files may have any size. */
static inline void sum_add(int64_t *sum, int64_t ns)
{
	if (__builtin_add_overflow(*sum, ns, sum))
		*sum = ns < 0 ? INT64_MIN : INT64_MAX;
}

/* cnt_add - the same for a number of things. */
static inline void cnt_add(uint32_t *sum, uint32_t cnt)
{
	if (__builtin_add_overflow(*sum, cnt, sum))
		*sum = UINT32_MAX;
}

#endif
