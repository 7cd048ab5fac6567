/*
 * What truly happened, and what a tracer saw of it: random call trees of tasks that sleep and migrate between
 * CPUs, with softirqs on stacks of their own; then events go missing as a full ring loses them (EVENT_GAP to
 * EVENT_LOST of a CPU) and as the kernel's recursion guard does (EVENT_DOUBT to EVENT_SURE of a task, and
 * TRUTH_IRQ_BEGINS to TRUTH_IRQ_ENDS of softirqs that come inside programs). Signals are never lost themselves. Include
 * it in one source file.
 */
#ifndef NFG_TEST_TRUTH_H
#define NFG_TEST_TRUTH_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/event.h"

#define TRUTH_FUNC_CNT  12
#define TRUTH_CPU_CNT   4
#define TRUTH_TASK_CNT  16 /* the first ones are the CPUs' idle tasks */
#define TRUTH_DEPTH_MAX 40
#define TRUTH_RUN       24 /* events that are lost at once, on average */
#define TRUTH_KEPT_CNT \
	(1u << 19)        /* ends of calls that are remembered, by the number of their event */
#define TRUTH_TIME_STEP 8 /* an event's number is its time by this */

/* Not events but what rings have: see NFG_SWITCH_IRQ. With truth_config.irq_loss alone. */
enum truth_kind {
	TRUTH_IRQ_BEGINS = 100,
	TRUTH_IRQ_ENDS,
};

struct truth_config {
	uint64_t seed;
	uint64_t call_cnt;
	double ring_loss; /* of 1, events that are lost, about */
	double guard_loss;
	double irq_loss;   /* of 1, softirqs that come inside a program */
	bool has_switches; /* EVENT_OUT and EVENT_IN tell of sleeps */
	bool is_late;      /* the trace begins in the middle of calls */
	bool is_silent;    /* nobody tells of what is lost, as in recordings of old */
};

struct truth_call {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t duration_ns;
	uint64_t caller_ns; /* its start; 0: none */
	uint64_t child_ns;  /* durations of what it called */
	uint64_t slept_ns;
	uint16_t func;
	uint16_t frame;
};

struct truth_func {
	uint64_t call_cnt; /* that ended */
	uint64_t self_ns;
	uint64_t max_ns;
	bool is_called_by[TRUTH_FUNC_CNT];
};

struct truth_task {
	bool is_running;
	bool is_away; /* asleep since out_ns */
	uint32_t depth;
	uint32_t irq_depth; /* where the calls of a softirq begin, + 1; 0: in none */
	uint16_t stack;
	uint64_t out_ns;
	uint64_t slept_ns;
	struct truth_call calls[TRUTH_DEPTH_MAX];
};

struct truth_cpu {
	uint32_t task;
	uint16_t irq_stack;
	uint32_t ring_left;     /* events still to be lost */
	uint32_t ring_lost;     /* in this gap */
	uint32_t guard_left;    /* events until the guard is off */
	uint16_t guard_entries; /* functions whose entries it skips, a bit each ... */
	uint16_t guard_exits;
	bool is_irq_skipped;  /* it serves a softirq that came inside a program ... */
	uint16_t irq_entries; /* ... which is for one end of these functions */
	uint16_t irq_exits;
};

struct truth {
	struct truth_config config;
	uint64_t random;
	uint64_t number; /* of the last event */
	uint64_t late_cnt;
	struct truth_cpu cpus[TRUTH_CPU_CNT];
	struct truth_task tasks[TRUTH_TASK_CNT];
	struct truth_func funcs[TRUTH_FUNC_CNT];
	struct truth_call *kept;
	struct event out[16];
	uint32_t out_at;
	uint32_t out_cnt;
	uint64_t outermost_cnt
		[2]; /* that ended in the trace, and of these those that took slow_ns */
	uint64_t slow_ns;
	/* of the trace */
	uint64_t entry_cnt;
	uint64_t exit_cnt;
	uint64_t lost_entry_cnt;
	uint64_t lost_exit_cnt;
};

static uint64_t truth_random(struct truth *t, uint64_t below)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (t->random >> 11) % below;
}

static void truth_init(struct truth *t, const struct truth_config *config)
{
	*t = (struct truth){ .config = *config, .random = config->seed * 2 + 1, .number = 100 };
	t->kept = calloc(TRUTH_KEPT_CNT, sizeof(*t->kept));
	t->late_cnt = config->is_late ? 2000 : 0;
	for (int i = 0; i < 20; i++)
		truth_random(t, 2);
	for (uint32_t i = 0; i < TRUTH_TASK_CNT; i++)
		t->tasks[i].stack = (uint16_t)(truth_random(t, 4) << 14 | 16000);
	for (uint32_t i = 0; i < TRUTH_CPU_CNT; i++) {
		t->cpus[i].task = i;
		t->tasks[i].is_running = true;
		/* pages, not aligned to the size of a stack: one may go past a multiple of 64 KiB */
		t->cpus[i].irq_stack = (uint16_t)(truth_random(t, 16) << 12 | 0xf00);
	}
}

static void truth_release(struct truth *t)
{
	free(t->kept);
}

static uint32_t truth_tid(uint32_t task)
{
	return task < TRUTH_CPU_CNT ? 0 : 1000 + task;
}

static void truth_put(struct truth *t, const struct event *ev)
{
	if (!t->config.is_silent || ev->kind < EVENT_LOST)
		t->out[t->out_cnt++] = *ev;
}

static void truth_signal(struct truth *t, uint32_t cpu, uint32_t task, enum event_kind kind)
{
	const struct event ev = { .time_ns = t->number * TRUTH_TIME_STEP,
				  .tid = truth_tid(task),
				  .cpu = (uint16_t)cpu,
				  .kind = kind };

	if (!t->late_cnt)
		truth_put(t, &ev);
}

/* Whether the ring has no room for it, and what is said of that. */
static bool truth_ring_loses(struct truth *t, struct truth_cpu *cpu, uint32_t id)
{
	struct event ev = { .time_ns = t->number * TRUTH_TIME_STEP, .cpu = (uint16_t)id };

	if (cpu->ring_left && --cpu->ring_left) {
		cpu->ring_lost++;
		return true;
	}
	if (cpu->ring_lost) {
		ev.kind = EVENT_LOST;
		ev.lost_cnt = cpu->ring_lost;
		truth_put(t, &ev);
		cpu->ring_lost = 0;
		return false;
	}
	if ((double)truth_random(t, 1000000) >= t->config.ring_loss / TRUTH_RUN * 1000000)
		return false;
	/* mostly few; but tasks that come and go while it lasts need long ones */
	cpu->ring_left = (uint32_t)truth_random(t, truth_random(t, 10) ? 9 : 400) + 1;
	cpu->ring_lost = 1;
	ev.kind = EVENT_GAP;
	truth_put(t, &ev);
	return true;
}

static bool truth_guard_skips(struct truth_cpu *cpu, const struct event *ev)
{
	uint16_t skipped = ev->kind == EVENT_ENTRY ? cpu->guard_entries : cpu->guard_exits;

	if (cpu->is_irq_skipped &&
	    (ev->kind == EVENT_ENTRY ? cpu->irq_entries : cpu->irq_exits) >> ev->func_id & 1)
		return true;
	return ev->kind < EVENT_LOST && cpu->guard_left && skipped >> ev->func_id & 1;
}

/* Something happens. Return: when. */
static uint64_t truth_event(struct truth *t, uint32_t cpu_id, enum event_kind kind,
			    const struct truth_call *call)
{
	struct truth_cpu *cpu = &t->cpus[cpu_id];
	struct event ev = { .tid = truth_tid(cpu->task), .cpu = (uint16_t)cpu_id, .kind = kind };
	bool is_lost;

	ev.time_ns = ++t->number * TRUTH_TIME_STEP + truth_random(t, TRUTH_TIME_STEP);
	if (call) {
		ev.func_id = call->func;
		ev.frame = call->frame;
	}
	if (t->late_cnt) {
		t->late_cnt--;
		return ev.time_ns;
	}
	is_lost = truth_guard_skips(cpu, &ev) || truth_ring_loses(t, cpu, cpu_id);
	t->entry_cnt += kind == EVENT_ENTRY;
	t->exit_cnt += kind == EVENT_EXIT;
	t->lost_entry_cnt += is_lost && kind == EVENT_ENTRY;
	t->lost_exit_cnt += is_lost && kind == EVENT_EXIT;
	if (!is_lost)
		truth_put(t, &ev);
	if (cpu->guard_left && !--cpu->guard_left)
		truth_signal(t, cpu_id, cpu->task, EVENT_SURE);
	return ev.time_ns;
}

/* ---- calls ---- */

/* Where a call stands: several functions share a place, and each has the same one below the same caller. */
static uint16_t truth_frame(const struct truth_cpu *cpu, const struct truth_task *task,
			    uint16_t func)
{
	bool begins_irq = task->depth + 1 == task->irq_depth;
	uint16_t from = begins_irq    ? cpu->irq_stack
			: task->depth ? task->calls[task->depth - 1].frame
				      : task->stack;
	uint16_t frame = (uint16_t)(from - 96 - 8 * (func % 4));

	/* where a softirq's first call has the low bits of an open one of the same function nobody can tell them apart */
	for (uint32_t i = 0; begins_irq && i < task->depth; i++) {
		if (task->calls[i].frame == frame && task->calls[i].func == func) {
			frame = (uint16_t)(frame - 8);
			i = UINT32_MAX;
		}
	}
	return frame;
}

static void truth_enter(struct truth *t, uint32_t cpu_id)
{
	struct truth_cpu *cpu = &t->cpus[cpu_id];
	struct truth_task *task = &t->tasks[cpu->task];
	struct truth_call *call = &task->calls[task->depth];
	uint16_t func = (uint16_t)truth_random(t, TRUTH_FUNC_CNT);

	*call = (struct truth_call){ .func = func,
				     .frame = truth_frame(cpu, task, func),
				     .slept_ns = task->slept_ns };
	if (task->depth) {
		call->caller_ns = call[-1].start_ns;
		t->funcs[func].is_called_by[call[-1].func] = true;
	}
	call->start_ns = truth_event(t, cpu_id, EVENT_ENTRY, call);
	task->depth++;
}

static void truth_leave(struct truth *t, uint32_t cpu_id)
{
	struct truth_task *task = &t->tasks[t->cpus[cpu_id].task];
	struct truth_call *call = &task->calls[--task->depth];
	struct truth_func *func = &t->funcs[call->func];

	if (task->irq_depth == task->depth + 1 && !t->cpus[cpu_id].is_irq_skipped)
		task->irq_depth = 0;
	call->end_ns = truth_event(t, cpu_id, EVENT_EXIT, call);
	call->duration_ns = call->end_ns - call->start_ns - (task->slept_ns - call->slept_ns);
	if (task->depth)
		call[-1].child_ns += call->duration_ns;
	t->outermost_cnt[0] += !task->depth;
	t->outermost_cnt[1] += !task->depth && call->duration_ns >= t->slow_ns;
	func->call_cnt++;
	func->self_ns += call->duration_ns - call->child_ns;
	if (call->duration_ns > func->max_ns)
		func->max_ns = call->duration_ns;
	t->kept[call->end_ns / TRUTH_TIME_STEP % TRUTH_KEPT_CNT] = *call;
}

/* The call that ended then, or NULL. */
static const struct truth_call *truth_ended(const struct truth *t, uint64_t end_ns)
{
	const struct truth_call *call = &t->kept[end_ns / TRUTH_TIME_STEP % TRUTH_KEPT_CNT];

	return call->end_ns == end_ns ? call : NULL;
}

/* ---- tasks ---- */

/* A task that was preempted inside a program leaves it active: the guard skips it for whoever comes. */
static void truth_guard_turn(struct truth *t, uint32_t cpu_id)
{
	struct truth_cpu *cpu = &t->cpus[cpu_id];

	if (cpu->guard_left || t->late_cnt ||
	    (double)truth_random(t, 1000000) >= t->config.guard_loss * 1000000)
		return;
	cpu->guard_left = (uint32_t)truth_random(t, 60) + 1;
	cpu->guard_entries = cpu->guard_exits = 0;
	if (truth_random(t, 3))
		cpu->guard_entries = (uint16_t)truth_random(t, 65536);
	if (truth_random(t, 3))
		cpu->guard_exits = (uint16_t)truth_random(t, 65536);
}

static void truth_switch(struct truth *t, uint32_t cpu_id)
{
	struct truth_cpu *cpu = &t->cpus[cpu_id];
	struct truth_task *task = &t->tasks[cpu->task];
	uint32_t next = cpu_id;

	if (truth_random(t, 4))
		next = TRUTH_CPU_CNT + (uint32_t)truth_random(t, TRUTH_TASK_CNT - TRUTH_CPU_CNT);
	if (t->tasks[next].is_running)
		return;
	if (t->config.has_switches && truth_tid(cpu->task))
		task->out_ns = truth_event(t, cpu_id, EVENT_OUT, NULL);
	if (cpu->guard_left)
		truth_signal(t, cpu_id, cpu->task, EVENT_SURE);
	task->is_running = false;
	truth_guard_turn(t, cpu_id);
	cpu->task = next;
	task = &t->tasks[next];
	task->is_running = true;
	if (cpu->guard_left)
		truth_signal(t, cpu_id, next, EVENT_DOUBT);
	if (!t->config.has_switches || !truth_tid(next))
		return;
	t->number++; /* so that a sleep takes time */
	if (task->out_ns)
		task->slept_ns += truth_event(t, cpu_id, EVENT_IN, NULL) - task->out_ns;
	else
		truth_event(t, cpu_id, EVENT_IN, NULL);
}

static void truth_mark(struct truth *t, uint32_t cpu_id, enum truth_kind kind)
{
	t->number++;
	truth_signal(t, cpu_id, t->cpus[cpu_id].task, (enum event_kind)kind);
}

static void truth_irq_begin(struct truth *t, uint32_t cpu_id)
{
	struct truth_cpu *cpu = &t->cpus[cpu_id];
	struct truth_task *task = &t->tasks[cpu->task];

	task->irq_depth = task->depth + 1;
	if (!t->config.irq_loss || t->late_cnt ||
	    (double)truth_random(t, 1000000) >= t->config.irq_loss * 1000000) {
		truth_enter(t, cpu_id);
		return;
	}
	truth_mark(t, cpu_id, TRUTH_IRQ_BEGINS);
	cpu->is_irq_skipped = true;
	cpu->irq_entries = (uint16_t)truth_random(t, 1u << TRUTH_FUNC_CNT);
	cpu->irq_entries &= (uint16_t)truth_random(t, 1u << TRUTH_FUNC_CNT);
	cpu->irq_exits = 0;
	if (truth_random(t, 2)) {
		cpu->irq_exits = cpu->irq_entries;
		cpu->irq_entries = 0;
	}
}

/* Between two calls of such a softirq. Return: false in the middle of one, or elsewhere. */
static bool truth_irq_step(struct truth *t, uint32_t cpu_id)
{
	struct truth_cpu *cpu = &t->cpus[cpu_id];
	struct truth_task *task = &t->tasks[cpu->task];

	if (!cpu->is_irq_skipped || task->depth + 1 != task->irq_depth)
		return false;
	if (truth_random(t, 3)) {
		truth_enter(t, cpu_id);
		return true;
	}
	cpu->is_irq_skipped = false;
	task->irq_depth = 0;
	truth_mark(t, cpu_id, TRUTH_IRQ_ENDS);
	return true;
}

static void truth_step(struct truth *t)
{
	uint32_t cpu_id = (uint32_t)truth_random(t, TRUTH_CPU_CNT);
	struct truth_task *task = &t->tasks[t->cpus[cpu_id].task];
	uint64_t chance = truth_random(t, 100);
	bool may_enter = task->depth < TRUTH_DEPTH_MAX - 12;

	if (truth_irq_step(t, cpu_id))
		return;
	if (task->irq_depth) {
		may_enter = task->depth + 1 < task->irq_depth + 10;
	} else if (chance < 3 && may_enter) {
		truth_irq_begin(t, cpu_id);
		return;
	} else if (chance < 9) {
		truth_switch(t, cpu_id);
		return;
	} else if (t->cpus[cpu_id].task < TRUTH_CPU_CNT) {
		return; /* an idle task has but softirqs */
	}
	if (task->depth && (!may_enter || truth_random(t, 100) < 52))
		truth_leave(t, cpu_id);
	else
		truth_enter(t, cpu_id);
}

/* The next event that is seen. Return: false at the end. */
static bool truth_next(struct truth *t, struct event *ev)
{
	while (t->out_at == t->out_cnt) {
		t->out_at = t->out_cnt = 0;
		if (t->entry_cnt >= t->config.call_cnt)
			return false;
		truth_step(t);
	}
	*ev = t->out[t->out_at++];
	return true;
}

#endif
