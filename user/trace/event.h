#ifndef NFG_TRACE_EVENT_H
#define NFG_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_kind {
	EVENT_ENTRY,
	EVENT_EXIT,
	EVENT_LOST, /* lost_cnt events of this CPU are missing before the next one */
	EVENT_OUT,  /* the task leaves the processor (--nosleep-time) ... */
	EVENT_IN,   /* ... and gets one, perhaps another */
	/*
	 * Events of this CPU are missing from here on, until its EVENT_LOST, which has their number. Any task may run
	 * there in the meantime. Without an EVENT_GAP, an EVENT_LOST covers the time since the CPU's last event.
	 */
	EVENT_GAP,
	/*
	 * The task runs on a CPU where another task was preempted inside one of our programs: the kernel's recursion
	 * guard skips that program, so calls of this task may lack their entry, return, or both, until EVENT_SURE,
	 * when it leaves the CPU. func_id and frame are 0.
	 */
	EVENT_DOUBT,
	EVENT_SURE,
	/*
	 * An interrupt hit one of our programs, and some of its calls lack an end. All its events are left out:
	 * lost_cnt of them (NFG_TASK_TID: at least that many). Nothing else is missing, in the interrupted task or
	 * elsewhere.
	 */
	EVENT_TORN,
	/* A tracepoint was hit (-e): func_id is its index among the trace's points, frame is below its caller's. */
	EVENT_POINT,
};

/* One event of the merged stream of all CPUs. */
struct event {
	uint64_t time_ns;
	union {
		struct {
			uint32_t tid;
			uint16_t func_id;
			uint16_t frame; /* identifies the call of func_id, see nfg_rec */
		};
		uint64_t lost_cnt;
	};
	uint16_t cpu;
	uint8_t kind;    /* enum event_kind */
	uint8_t flags;   /* EVENT_* */
	uint32_t values; /* number for values_get; 0: none */
};

/* event_is_call - whether it is the entry or the exit of a call. */
static inline bool event_is_call(const struct event *ev)
{
	return ev->kind == EVENT_ENTRY || ev->kind == EVENT_EXIT;
}

/* event_is_recorded - whether it is a call's end or a tracepoint: something that a program recorded for the user. */
static inline bool event_is_recorded(const struct event *ev)
{
	return event_is_call(ev) || ev->kind == EVENT_POINT;
}

/* event_task - a number for the task, never 0. All idle tasks have tid 0, so their numbers depend on the CPU. */
static inline uint64_t event_task(uint32_t tid, uint32_t cpu)
{
	return 1 + (tid ? tid : 1ull << 32 | cpu);
}

/* event_call - identifies the call of an ENTRY or EXIT within its task. */
static inline uint32_t event_call(const struct event *ev)
{
	return (uint32_t)ev->frame << 16 | ev->func_id;
}

/*
 * In a softirq the packet decides what is traced (bpf/packet.bpf.h): everything between the entry and the exit marked
 * ROOT belongs to the packet; events are UNSURE while its owner is unknown; DROP at the ROOT exit: the owner was not
 * in scope.
 */
#define EVENT_MARKED      1 /* EXIT: the call matches nfg_cfg.marks; ENTRY of a recording: --packet */
#define EVENT_TREE_DROP   2 /* the same order as NFG_TREE_* */
#define EVENT_TREE_UNSURE 4
#define EVENT_TREE_ROOT   8
#define EVENT_TREE        16 /* recorded because of a packet */

#endif
