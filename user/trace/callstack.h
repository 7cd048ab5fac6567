#ifndef NFG_TRACE_CALLSTACK_H
#define NFG_TRACE_CALLSTACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/event.h"

/*
 * The open calls of a task, and the pairing of returns with entries. The first rule: an entry and a return are not a
 * pair if events may have been lost between them, because the lost events may include another call.
 *
 * - Where events may be missing, a task's open calls are set aside: they can no longer be completed, and the next call
 *   starts at depth 0.
 * - A stack grows down and contains a frame once: an entry of the same function in the same place ends the earlier call
 *   there, and all calls inside it. Another function with the same 16 bits is on another stack.
 * - A task's calls lie on few stacks: its own, that of interrupts, that of exceptions.
 * - A return without an open call reveals a loss that was not reported.
 *
 * Pure: no clock, no I/O.
 */

/*
 * The limit of nesting: there are two stacks of 16 KiB (task and interrupts), and a traced call takes at least 96 bytes
 * (two return addresses, the trampoline's saved registers, arguments, the program's own calls).
 */
#define CALLSTACK_DEPTH_MAX 512

/* Losses on all CPUs; tasks migrate, so a loss on one CPU concerns every task. */
struct callstack_losses {
	uint64_t cnt; /* grows with each begin and end of a loss: all open calls are set aside */
	uint32_t gap_cnt;    /* CPUs with events missing at this point */
	uint64_t gaps[1024]; /* these CPUs, one bit each */
	bool had_doubt;      /* callstack_forget dropped a task that had been in doubt */
};

struct callstack_stats {
	uint64_t pair_cnt;   /* calls with both ends, with nothing missing in between */
	uint64_t unsure_cnt; /* returns that may belong to an entry; a loss between is possible */
	uint64_t orphan_cnt; /* returns without a known entry */
	uint64_t
		early_return_cnt; /* of these: calls that began before the trace, since nothing was lost or open */
	uint64_t unclosed_cnt;    /* entries whose return is missing */
	uint64_t deep_cnt;        /* calls too deep for any stack; neither shown nor paired */
	uint64_t deep_return_cnt; /* returns of such calls */
};

struct callframe {
	uint64_t time_ns; /* on the task's clock, which excludes callstack.slept_ns */
	uint64_t user;    /* for use by the caller */
	uint16_t func_id;
	uint16_t frame;
	uint16_t run; /* number of its stack, from 1; within a stack frames only decrease */
	uint32_t nr;  /* callstack.enter_cnt when it began */
};

/* The calls of one task. Zeroed: empty. */
struct callstack {
	struct callframe *frames; /* calls set aside, then calls that can be completed */
	size_t cap;
	uint32_t cnt;
	uint32_t aside_cnt;
	uint32_t deep_cnt;  /* entries above the last frame that were too deep */
	uint32_t cut_cnt;   /* number of times that open calls were set aside */
	uint32_t enter_cnt; /* calls that began so far, modulo 2^32 */
	bool is_doubtful;   /* between EVENT_DOUBT and EVENT_SURE */
	bool had_doubt;
	bool is_out;       /* between EVENT_OUT and EVENT_IN */
	uint64_t loss_cnt; /* callstack_losses.cnt as last seen */
	uint64_t out_ns;
	uint64_t slept_ns; /* total of all sleeps so far */
};

enum callstack_end {
	CALLSTACK_PAIR,   /* return of the call in @ended, with a certain duration */
	CALLSTACK_UNSURE, /* possibly the return of the call in @ended */
	CALLSTACK_ORPHAN,
	CALLSTACK_EARLY, /* return of a call that began before the trace */
	CALLSTACK_DEEP,
};

/* callstack_lose - handle an EVENT_GAP or EVENT_LOST. */
void callstack_lose(struct callstack_losses *losses, const struct event *ev);

/* callstack_can_pair - whether calls can be paired with certainty now. */
static inline bool callstack_can_pair(const struct callstack *cs,
				      const struct callstack_losses *losses)
{
	return !losses->gap_cnt && !cs->is_doubtful;
}

/* callstack_depth - number of open calls that can be completed, after the last event. */
static inline uint32_t callstack_depth(const struct callstack *cs)
{
	return cs->cnt - cs->aside_cnt;
}

int callstack_enter_slow(struct callstack *cs, struct callstack_stats *stats,
			 const struct callstack_losses *losses, const struct event *ev,
			 uint64_t user);
enum callstack_end callstack_leave_slow(struct callstack *cs, struct callstack_stats *stats,
					const struct callstack_losses *losses,
					const struct event *ev, struct callframe *ended,
					uint64_t *duration_ns);

/* Whether no loss or switch has to be handled first. */
static inline bool callstack_is_quiet(const struct callstack *cs,
				      const struct callstack_losses *losses)
{
	return !cs->is_out && cs->loss_cnt == losses->cnt && callstack_can_pair(cs, losses);
}

/*
 * callstack_enter - handle an EVENT_ENTRY.
 *
 * Return: the call's depth; CALLSTACK_DEPTH_MAX: the call is too deep to be kept; or -ENOMEM.
 */
static inline int callstack_enter(struct callstack *cs, struct callstack_stats *stats,
				  const struct callstack_losses *losses, const struct event *ev,
				  uint64_t user)
{
	uint32_t depth = callstack_depth(cs);
	struct callframe *frame;

	/* the common case: on the stack of the innermost call, below it */
	if (!depth || depth == CALLSTACK_DEPTH_MAX || cs->cnt == cs->cap ||
	    cs->frames[cs->cnt - 1].frame <= ev->frame || !callstack_is_quiet(cs, losses))
		return callstack_enter_slow(cs, stats, losses, ev, user);
	frame = &cs->frames[cs->cnt];
	frame->time_ns = ev->time_ns - cs->slept_ns;
	frame->user = user;
	frame->func_id = ev->func_id;
	frame->frame = ev->frame;
	frame->run = frame[-1].run;
	frame->nr = ++cs->enter_cnt;
	cs->cnt++;
	return (int)depth;
}

/*
 * callstack_leave - handle an EVENT_EXIT. PAIR: callstack_depth() is the depth of the call that ended, @duration_ns its
 * duration.
 */
static inline enum callstack_end callstack_leave(struct callstack *cs,
						 struct callstack_stats *stats,
						 const struct callstack_losses *losses,
						 const struct event *ev, struct callframe *ended,
						 uint64_t *duration_ns)
{
	const struct callframe *top;

	if (cs->cnt == cs->aside_cnt || cs->deep_cnt || !callstack_is_quiet(cs, losses))
		return callstack_leave_slow(cs, stats, losses, ev, ended, duration_ns);
	top = &cs->frames[cs->cnt - 1];
	if (top->frame != ev->frame || top->func_id != ev->func_id ||
	    ev->time_ns - cs->slept_ns - top->time_ns > INT64_MAX)
		return callstack_leave_slow(cs, stats, losses, ev, ended, duration_ns);
	*ended = *top;
	*duration_ns = ev->time_ns - cs->slept_ns - top->time_ns;
	cs->cnt--;
	stats->pair_cnt++;
	return CALLSTACK_PAIR;
}

/* callstack_below - after PAIR: how many calls began inside the call in @ended, at whatever depth. */
static inline uint32_t callstack_below(const struct callstack *cs, const struct callframe *ended)
{
	return cs->enter_cnt - ended->nr;
}

/* callstack_look - callstack_depth() for an event that is no call: calls whose returns may be lost do not count. */
uint32_t callstack_look(struct callstack *cs, struct callstack_stats *stats,
			const struct callstack_losses *losses);

/* callstack_turn - handle an OUT, IN, DOUBT or SURE event of the task. */
void callstack_turn(struct callstack *cs, struct callstack_stats *stats,
		    const struct callstack_losses *losses, const struct event *ev);

/* callstack_is_idle - whether the task can be forgotten: none of its open calls can be completed. */
bool callstack_is_idle(const struct callstack *cs, const struct callstack_losses *losses);

/* callstack_finish - count the calls set aside as unclosed. Return: the number of calls still open. */
uint32_t callstack_finish(struct callstack *cs, struct callstack_stats *stats,
			  const struct callstack_losses *losses);

/* callstack_forget - callstack_release for a task that may run again. */
void callstack_forget(struct callstack *cs, struct callstack_losses *losses);

void callstack_release(struct callstack *cs);

/* ---- how deep kernel stacks are ---- */

/*
 * The stack space that traced calls leave. Each open call that has a trampoline around it takes some 100 bytes more of its
 * task's stack than it does untraced: where calls nest deeply, such as on stacked devices, tracing could overflow the stack.
 *
 * An event has the low 16 bits of its call's position (struct nfg_rec). A stack is aligned to its size, except the
 * stack of interrupts on x86-64, which is only aligned to a page. So a call counts if it lies in the highest
 * quarter of such a stack, or within a page of its task's previous call that counted. A task that migrates or wakes up
 * deep inside is not followed until it is near the top again. A softirq on a stack of interrupts whose low address bits
 * are near those of its task's calls may be taken for a part of them: the result is a reason to look, not a proof. Pure: no clock, no I/O.
 */
struct stackwatch {
	uint32_t stack_bytes; /* 0: unknown, then nothing is watched */
	uint32_t cpu_cnt;
	uint32_t least_bytes; /* space below the deepest call so far; UINT32_MAX: none */
	uint16_t func_id;     /* function of the deepest call */
	bool is_told;         /* for use by the owner */
	struct stackwatch_cpu {
		uint32_t tid;
		uint16_t frame; /* position of the last call */
		bool is_followed;
	} * cpus;
};

/* The space that must remain: for callees that are not traced, and for interrupts on their way to their own stack. */
#define STACKWATCH_MIN_BYTES 2048u

/* stackwatch_init - @stack_bytes: size of a kernel stack, a power of two; 0: unknown. Return: 0 or -ENOMEM. */
int stackwatch_init(struct stackwatch *sw, uint32_t stack_bytes, uint32_t cpu_cnt);
void stackwatch_release(struct stackwatch *sw);

/* stackwatch_feed - take the next @cnt events. */
void stackwatch_feed(struct stackwatch *sw, const struct event *events, size_t cnt);

/* stackwatch_is_low - whether a call left less than STACKWATCH_MIN_BYTES. */
static inline bool stackwatch_is_low(const struct stackwatch *sw)
{
	return sw->least_bytes < STACKWATCH_MIN_BYTES;
}

#endif
