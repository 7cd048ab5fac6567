#include "trace/callstack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "nfg_abi.h"

/*
 * Stacks of one task: its own, that of interrupts, which may extend past a multiple of 64 KiB, and that of exceptions.
 */
#define RUN_MAX 4
/* Limit for calls set aside. They are remembered to distinguish their returns from returns without an entry. */
#define ASIDE_MAX 128

void callstack_lose(struct callstack_losses *losses, const struct event *ev)
{
	uint64_t *gaps = &losses->gaps[ev->cpu / 64];
	uint64_t bit = 1ull << ev->cpu % 64;

	losses->cnt++;
	losses->gap_cnt -= (*gaps & bit) != 0;
	*gaps &= ~bit;
	if (ev->kind != EVENT_GAP)
		return;
	*gaps |= bit;
	losses->gap_cnt++;
}

/* The open calls can no longer be completed. */
static void set_aside(struct callstack *cs, struct callstack_stats *stats)
{
	cs->deep_cnt = 0;
	if (cs->aside_cnt == cs->cnt)
		return;
	cs->cut_cnt++;
	if (cs->cnt > 2 * ASIDE_MAX) {
		stats->unclosed_cnt += cs->cnt - ASIDE_MAX;
		memmove(cs->frames, cs->frames + cs->cnt - ASIDE_MAX,
			ASIDE_MAX * sizeof(*cs->frames));
		cs->cnt = ASIDE_MAX;
	}
	cs->aside_cnt = cs->cnt;
}

/* Note that events may be missing between the task's last event and this one. */
static void callstack_settle(struct callstack *cs, struct callstack_stats *stats,
			     const struct callstack_losses *losses)
{
	if (cs->loss_cnt == losses->cnt && callstack_can_pair(cs, losses))
		return;
	cs->loss_cnt = losses->cnt;
	set_aside(cs, stats);
}

/* The task runs, so its sleep is over and the EVENT_IN was lost: the length of the sleep is unknown. */
static void runs(struct callstack *cs, struct callstack_stats *stats)
{
	if (!cs->is_out)
		return;
	cs->is_out = false;
	set_aside(cs, stats);
}

static void shrink(struct callstack *cs, struct callstack_stats *stats, uint32_t cnt)
{
	stats->unclosed_cnt += cs->cnt - cnt;
	cs->deep_cnt = 0;
	cs->cnt = cnt;
	if (cs->aside_cnt > cnt)
		cs->aside_cnt = cnt;
}

/* Whether @frame is the place of a return address, which a tail call shares with its caller (NFG_FRAME_SITE). */
static bool is_site(uint16_t frame)
{
	return frame & NFG_FRAME_SITE;
}

/*
 * The frames of the stack used last decrease. If the new frame is among them and belongs to the same function, the
 * calls there have ended. Other functions are on another stack, such as that of a softirq, whose frame may have the
 * same 16 bits. Calls at probes have not ended either: there an entry always has its return (NFG_FRAME_SITE).
 */
static void end_in_place(struct callstack *cs, struct callstack_stats *stats,
			 const struct event *ev)
{
	const uint16_t frame = ev->frame;
	uint32_t at = cs->cnt;

	if (at == cs->aside_cnt || cs->frames[at - 1].frame > frame || is_site(frame))
		return;
	while (at > cs->aside_cnt + 1 && cs->frames[at - 1].frame < frame &&
	       cs->frames[at - 2].run == cs->frames[at - 1].run)
		at--;
	if (cs->frames[at - 1].frame == frame && cs->frames[at - 1].func_id == ev->func_id)
		shrink(cs, stats, at - 1);
}

/*
 * The number of the stack that contains the new frame. Return: 0: more stacks than a task has, so some of these calls
 * are over.
 */
static uint16_t run_of(const struct callstack *cs, uint16_t frame)
{
	const struct callframe *top;

	if (cs->cnt == cs->aside_cnt)
		return 1;
	top = &cs->frames[cs->cnt - 1];
	if (frame < top->frame || (frame == top->frame && is_site(frame)))
		return top->run;
	return top->run < RUN_MAX ? top->run + 1 : 0;
}

int callstack_enter_slow(struct callstack *cs, struct callstack_stats *stats,
			 const struct callstack_losses *losses, const struct event *ev,
			 uint64_t user)
{
	uint32_t at;
	uint16_t run;

	cs->enter_cnt++;
	runs(cs, stats);
	callstack_settle(cs, stats, losses);
	end_in_place(cs, stats, ev);
	run = run_of(cs, ev->frame);
	if (!run) {
		set_aside(cs, stats);
		run = 1;
	}
	if (cs->cnt == cs->aside_cnt) {
		/* a call set aside has ended if another call takes its place */
		at = cs->cnt;
		while (at > 0 && cs->frames[at - 1].frame != ev->frame)
			at--;
		if (at && !is_site(ev->frame))
			shrink(cs, stats, at - 1);
	} else if (callstack_depth(cs) == CALLSTACK_DEPTH_MAX) {
		cs->deep_cnt++;
		stats->deep_cnt++;
		return CALLSTACK_DEPTH_MAX;
	}
	if (VEC_RESERVE(cs->frames, cs->cap, (size_t)cs->cnt + 1))
		return -ENOMEM;
	cs->frames[cs->cnt++] = (struct callframe){
		.time_ns = ev->time_ns - cs->slept_ns,
		.user = user,
		.func_id = ev->func_id,
		.frame = ev->frame,
		.run = run,
		.nr = cs->enter_cnt,
	};
	return (int)(callstack_depth(cs) - 1);
}

static bool is_of(const struct callframe *frame, const struct event *ev)
{
	return frame->frame == ev->frame && frame->func_id == ev->func_id;
}

/* A return that belongs to no call that can be completed. */
static enum callstack_end leave_unknown(struct callstack *cs, struct callstack_stats *stats,
					const struct callstack_losses *losses,
					const struct event *ev, struct callframe *ended)
{
	uint32_t at = cs->aside_cnt;

	if (cs->deep_cnt) {
		cs->deep_cnt--;
		stats->deep_return_cnt++;
		return CALLSTACK_DEEP;
	}
	while (at && !is_of(&cs->frames[at - 1], ev))
		at--;
	if (at) {
		*ended = cs->frames[at - 1];
		if (cs->cnt != cs->aside_cnt)
			cs->cut_cnt++;
		shrink(cs, stats, at - 1);
		stats->unclosed_cnt--; /* counted as unsure instead */
		stats->unsure_cnt++;
		return CALLSTACK_UNSURE;
	}
	if (!cs->cnt && !losses->cnt && !cs->had_doubt && !losses->had_doubt) {
		stats->early_return_cnt++;
		return CALLSTACK_EARLY;
	}
	set_aside(cs, stats);
	stats->orphan_cnt++;
	return CALLSTACK_ORPHAN;
}

enum callstack_end callstack_leave_slow(struct callstack *cs, struct callstack_stats *stats,
					const struct callstack_losses *losses,
					const struct event *ev, struct callframe *ended,
					uint64_t *duration_ns)
{
	uint32_t at;

	runs(cs, stats);
	callstack_settle(cs, stats, losses);
	for (at = cs->cnt; at > cs->aside_cnt && !is_of(&cs->frames[at - 1], ev);)
		at--;
	if (at == cs->aside_cnt)
		return leave_unknown(cs, stats, losses, ev, ended);
	*ended = cs->frames[at - 1];
	if (at != cs->cnt)
		shrink(cs, stats, at);
	cs->deep_cnt = 0;
	cs->cnt--;
	*duration_ns = ev->time_ns - cs->slept_ns - ended->time_ns;
	if (*duration_ns > INT64_MAX) { /* the clock went back */
		set_aside(cs, stats);
		stats->unsure_cnt++;
		return CALLSTACK_UNSURE;
	}
	stats->pair_cnt++;
	return CALLSTACK_PAIR;
}

uint32_t callstack_look(struct callstack *cs, struct callstack_stats *stats,
			const struct callstack_losses *losses)
{
	callstack_settle(cs, stats, losses);
	return callstack_depth(cs);
}

void callstack_turn(struct callstack *cs, struct callstack_stats *stats,
		    const struct callstack_losses *losses, const struct event *ev)
{
	callstack_settle(cs, stats, losses);
	switch (ev->kind) {
	case EVENT_OUT:
		runs(cs, stats);
		cs->is_out = true;
		cs->out_ns = ev->time_ns;
		break;
	case EVENT_IN:
		/* if its EVENT_OUT is missing, or later, the length of the sleep is unknown */
		if (cs->is_out && ev->time_ns >= cs->out_ns)
			cs->slept_ns += ev->time_ns - cs->out_ns;
		else
			set_aside(cs, stats);
		cs->is_out = false;
		break;
	case EVENT_DOUBT:
	case EVENT_SURE:
		set_aside(cs, stats);
		cs->is_doubtful = ev->kind == EVENT_DOUBT;
		cs->had_doubt = true;
		break;
	}
}

bool callstack_is_idle(const struct callstack *cs, const struct callstack_losses *losses)
{
	return !cs->is_doubtful &&
	       (cs->cnt == cs->aside_cnt || cs->loss_cnt != losses->cnt || losses->gap_cnt);
}

uint32_t callstack_finish(struct callstack *cs, struct callstack_stats *stats,
			  const struct callstack_losses *losses)
{
	callstack_settle(cs, stats, losses);
	stats->unclosed_cnt += cs->aside_cnt;
	return callstack_depth(cs);
}

void callstack_forget(struct callstack *cs, struct callstack_losses *losses)
{
	losses->had_doubt |= cs->had_doubt;
	callstack_release(cs);
}

void callstack_release(struct callstack *cs)
{
	free(cs->frames);
	*cs = (struct callstack){ 0 };
}

/* ---- how deep kernel stacks are ---- */

#define STEP_MAX_BYTES 4096

int stackwatch_init(struct stackwatch *sw, uint32_t stack_bytes, uint32_t cpu_cnt)
{
	*sw = (struct stackwatch){
		.stack_bytes = stack_bytes <= UINT16_MAX + 1u ? stack_bytes : 0,
		.cpu_cnt = cpu_cnt,
		.least_bytes = UINT32_MAX,
		.cpus = calloc(cpu_cnt, sizeof(*sw->cpus)),
	};
	return sw->cpus ? 0 : -ENOMEM;
}

void stackwatch_release(struct stackwatch *sw)
{
	free(sw->cpus);
	*sw = (struct stackwatch){ 0 };
}

void stackwatch_feed(struct stackwatch *sw, const struct event *events, size_t cnt)
{
	for (size_t i = 0; i < cnt && sw->stack_bytes; i++) {
		const struct event *ev = &events[i];
		const uint32_t left_bytes = ev->frame % sw->stack_bytes;
		struct stackwatch_cpu *cpu;
		bool is_same_stack;

		if (!event_is_call(ev) || ev->cpu >= sw->cpu_cnt)
			continue;
		cpu = &sw->cpus[ev->cpu];
		is_same_stack = cpu->is_followed && cpu->tid == ev->tid &&
				cpu->frame / sw->stack_bytes == ev->frame / sw->stack_bytes &&
				abs(cpu->frame - ev->frame) <= STEP_MAX_BYTES;
		if (left_bytes < sw->stack_bytes / 4 * 3 && !is_same_stack)
			continue;
		*cpu = (struct stackwatch_cpu){ ev->tid, ev->frame, true };
		if (left_bytes < sw->least_bytes) {
			sw->least_bytes = left_bytes;
			sw->func_id = ev->func_id;
		}
	}
}
