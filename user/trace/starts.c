#include "trace/starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

#define HELD_CNT_MAX  (1u << 20) /* limit for the events held for one call of a start function */
#define FORGET_CNT    512u /* number of tasks kept before those outside all calls are forgotten */
#define LAST_TASK_CNT 64u

struct events {
	struct event *list;
	size_t cnt;
	size_t cap;
};

struct task {
	uint64_t key;           /* event_task */
	struct callstack stack; /* callframe.user: whether the call is shown */
	struct start_gate gate;
	uint32_t cut_cnt; /* stack.cut_cnt as last seen */
	bool is_huge;
	struct events held;
	uint64_t begun_cnt; /* calls that began in the one that may be shown, with it */
};

struct starts {
	struct starts_config config;
	uint32_t free_point; /* index, plus one, of a tracepoint that passes everywhere; 0: none */
	struct task *tasks;
	size_t task_cnt;
	size_t task_cap;
	size_t forget_cnt;                  /* limit for tasks before some are forgotten */
	struct hash task_index;             /* by key */
	uint32_t last_tasks[LAST_TASK_CNT]; /* the last task of a CPU, by the CPU's lowest bits */
	struct events out;
	struct callstack_losses losses;
	struct callstack_stats pairs;
	struct starts_stats stats;
};

int starts_new(struct starts **out, const struct starts_config *config)
{
	struct starts *st = calloc(1, sizeof(*st));

	if (!st)
		return -ENOMEM;
	st->config = *config;
	st->forget_cnt = FORGET_CNT;
	*out = st;
	return 0;
}

void starts_let_point(struct starts *st, uint32_t point)
{
	st->free_point = point + 1;
}

static void task_release(struct task *task)
{
	callstack_release(&task->stack);
	free(task->held.list);
}

void starts_add(struct starts *st, const uint8_t *kinds, size_t func_cnt)
{
	st->config.kinds = kinds;
	st->config.func_cnt = func_cnt;
}

void starts_free(struct starts *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < st->task_cnt; i++)
		task_release(&st->tasks[i]);
	free(st->tasks);
	hash_release(&st->task_index);
	free(st->out.list);
	free(st);
}

static int events_add(struct events *evs, const struct event *events, size_t cnt)
{
	if (VEC_RESERVE(evs->list, evs->cap, evs->cnt + cnt))
		return -ENOMEM;
	if (cnt)
		memcpy(evs->list + evs->cnt, events, cnt * sizeof(*events));
	evs->cnt += cnt;
	return 0;
}

/* Whether a start function's return decides if its calls are shown. */
static bool is_holding(const struct starts *st)
{
	return st->config.want.slower_ns || st->config.marked_only;
}

/* With -g alone nothing is broken: the next call begins a graph, whatever was lost. */
static void count_broken(struct starts *st)
{
	st->stats.broken_cnt += st->config.has_starts || is_holding(st);
}

/* ---- tasks ---- */

/* A task that is in no call needs no memory; most such tasks have ended. Return: 0 or -ENOMEM. */
static int starts_tasks_forget(struct starts *st)
{
	size_t kept_cnt = 0;
	int err = 0;

	hash_clear(&st->task_index);
	for (size_t i = 0; i < st->task_cnt; i++) {
		struct task *task = &st->tasks[i];

		if (callstack_is_idle(&task->stack, &st->losses)) {
			if (task->gate.start_depth > 0)
				count_broken(st);
			task_release(task);
			continue;
		}
		st->tasks[kept_cnt] = *task;
		if (hash_add(&st->task_index, hash_u64(task->key), (uint32_t)kept_cnt))
			err = -ENOMEM;
		kept_cnt++;
	}
	st->task_cnt = kept_cnt;
	if (kept_cnt * 2 > st->forget_cnt)
		st->forget_cnt *= 2;
	return err;
}

/* Add a task and return its number in *@idx. Return: 0 or -ENOMEM. */
static int starts_task_add(struct starts *st, uint64_t key, uint32_t *idx)
{
	if (st->task_cnt >= st->forget_cnt && starts_tasks_forget(st))
		return -ENOMEM;
	*idx = (uint32_t)st->task_cnt;
	if (VEC_RESERVE(st->tasks, st->task_cap, st->task_cnt + 1) ||
	    hash_add(&st->task_index, hash_u64(key), *idx))
		return -ENOMEM;
	st->tasks[*idx] = (struct task){ .key = key, .stack.loss_cnt = st->losses.cnt };
	st->task_cnt++;
	return 0;
}

/* Rarely needed, so kept out of the loop that handles events. Valid until the next call. NULL: no memory */
static __attribute__((noinline)) struct task *starts_task_look_up(struct starts *st, uint64_t key,
								  uint32_t *idx)
{
	for (uint32_t at = 0; hash_next(&st->task_index, hash_u64(key), &at, idx);) {
		if (st->tasks[*idx].key == key)
			return &st->tasks[*idx];
	}
	return starts_task_add(st, key, idx) ? NULL : &st->tasks[*idx];
}

/* Fast path: a CPU stays with a task for many events. */
static inline struct task *starts_task_get(struct starts *st, const struct event *ev)
{
	uint64_t key = event_task(ev->tid, ev->cpu);
	uint32_t *last = &st->last_tasks[ev->cpu % LAST_TASK_CNT];

	if (*last < st->task_cnt && st->tasks[*last].key == key)
		return &st->tasks[*last];
	return starts_task_look_up(st, key, last);
}

/* ---- one event ---- */

static enum starts_kind starts_kind_of(const struct starts *st, const struct event *ev)
{
	return ev->func_id < st->config.func_cnt ? st->config.kinds[ev->func_id] : STARTS_PLAIN;
}

static int show(struct starts *st, struct task *task, const struct event *ev)
{
	if (!is_holding(st))
		return events_add(&st->out, ev, 1);
	task->begun_cnt += ev->kind == EVENT_ENTRY;
	if (task->held.cnt >= HELD_CNT_MAX)
		task->is_huge = true;
	return task->is_huge ? 0 : events_add(&task->held, ev, 1);
}

/*
 * Only @open_cnt calls are open; the returns of deeper calls are missing, or may be. If a start function was among
 * these, its duration is unknown, so nothing of it is shown.
 */
static void cut(struct starts *st, struct task *task, uint32_t open_cnt)
{
	if (task->cut_cnt != task->stack.cut_cnt)
		open_cnt = 0;
	task->cut_cnt = task->stack.cut_cnt;
	if (start_gate_close(&task->gate, open_cnt)) {
		count_broken(st);
		task->held.cnt = 0;
	}
}

/* @depth: the depth of the call. A start function does not open the graph if its return could not be identified. */
static void gate_enter(struct starts *st, struct task *task, const struct event *ev, uint32_t depth)
{
	enum starts_kind kind = starts_kind_of(st, ev);
	bool is_start = (st->config.has_starts ? kind == STARTS_OPEN : depth == 0) &&
			(!st->config.marked_begin || ev->flags & EVENT_MARKED);
	bool can_end = callstack_can_pair(&task->stack, &st->losses) ||
		       (!st->config.has_starts && !is_holding(st));

	if (!start_gate_enter(&task->gate, depth, is_start, kind == STARTS_CLOSE))
		return;
	st->stats.begun_cnt++;
	if (!can_end) {
		start_gate_close(&task->gate, depth);
		count_broken(st);
		return;
	}
	task->is_huge = false;
	task->held.cnt = 0;
	task->begun_cnt = 0;
}

static int starts_on_entry(struct starts *st, struct task *task, const struct event *ev)
{
	int depth = callstack_enter(&task->stack, &st->pairs, &st->losses, ev, false);

	if (depth < 0 || depth == CALLSTACK_DEPTH_MAX)
		return depth < 0 ? depth : 0;
	cut(st, task, (uint32_t)depth);
	gate_enter(st, task, ev, (uint32_t)depth);
	if (!task->gate.start_depth || task->gate.shut_depth)
		return 0;
	task->stack.frames[task->stack.cnt - 1].user = true;
	return show(st, task, ev);
}

/* The duration that has to be long enough. */
static uint64_t tested_ns(const struct starts *st, const struct task *task, uint64_t took_ns)
{
	struct net_time net;

	if (!st->config.want.slower_ns || !netcost_is_known(st->config.cost))
		return took_ns;
	net = netcost_net(st->config.cost, took_ns, task->begun_cnt ? task->begun_cnt - 1 : 0);
	return net.ns;
}

static int start_returned(struct starts *st, struct task *task, const struct event *ev,
			  uint64_t took_ns)
{
	bool is_wanted = tested_ns(st, task, took_ns) >= st->config.want.slower_ns &&
			 (!st->config.marked_only || ev->flags & EVENT_MARKED);

	st->stats.start_cnt++;
	st->stats.shown_cnt += is_wanted && !task->is_huge;
	st->stats.huge_cnt += is_wanted && task->is_huge;
	if (!is_holding(st) || !is_wanted || task->is_huge)
		return 0;
	return events_add(&st->out, task->held.list, task->held.cnt);
}

static int on_exit_event(struct starts *st, struct task *task, const struct event *ev)
{
	struct callframe ended;
	uint64_t took_ns;
	enum callstack_end end =
		callstack_leave(&task->stack, &st->pairs, &st->losses, ev, &ended, &took_ns);
	uint32_t open_cnt = callstack_depth(&task->stack);
	int err = 0;

	cut(st, task, open_cnt + (end == CALLSTACK_PAIR));
	if (end == CALLSTACK_UNSURE && ended.user && !is_holding(st))
		return events_add(&st->out, ev, 1);
	if (end != CALLSTACK_PAIR)
		return 0;
	if (ended.user)
		err = show(st, task, ev);
	if (start_gate_close(&task->gate, open_cnt) && !err)
		err = start_returned(st, task, ev, took_ns);
	return err;
}

/* Tracepoints pass where calls would: below a start function, or with -g alone outside what it hides. */
static int starts_on_point(struct starts *st, struct task *task, const struct event *ev)
{
	const bool is_free = !st->config.has_starts || ev->func_id + 1u == st->free_point;
	const bool is_outside = is_free && !is_holding(st) && !task->gate.start_depth;

	if (task->gate.shut_depth)
		return 0;
	if (is_outside)
		return events_add(&st->out, ev, 1);
	return task->gate.start_depth ? show(st, task, ev) : 0;
}

/* Below a start function all sleeps pass, including those in calls that are not shown. */
static int on_turn(struct starts *st, struct task *task, const struct event *ev)
{
	bool is_switch = ev->kind == EVENT_OUT || ev->kind == EVENT_IN;

	callstack_turn(&task->stack, &st->pairs, &st->losses, ev);
	cut(st, task, callstack_depth(&task->stack));
	if (!is_switch)
		return events_add(&st->out, ev, 1);
	return task->gate.start_depth ? show(st, task, ev) : 0;
}

static int starts_take(struct starts *st, const struct event *ev)
{
	struct task *task;

	if (ev->kind == EVENT_LOST || ev->kind == EVENT_GAP || ev->kind == EVENT_TORN) {
		if (ev->kind != EVENT_TORN)
			callstack_lose(&st->losses, ev);
		return events_add(&st->out, ev, 1);
	}
	task = starts_task_get(st, ev);
	if (!task)
		return -ENOMEM;
	if (ev->kind == EVENT_ENTRY)
		return starts_on_entry(st, task, ev);
	if (ev->kind == EVENT_POINT)
		return starts_on_point(st, task, ev);
	return ev->kind == EVENT_EXIT ? on_exit_event(st, task, ev) : on_turn(st, task, ev);
}

int starts_feed(struct starts *st, const struct event *events, size_t cnt, const struct event **out,
		size_t *out_cnt)
{
	st->out.cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		int err = starts_take(st, &events[i]);

		if (err)
			return err;
	}
	*out = st->out.list;
	*out_cnt = st->out.cnt;
	return 0;
}

/* How long the call whose events are held has been open at @end_ns; --nosleep-time records sleeps. */
static uint64_t open_ns(const struct task *task, uint64_t end_ns)
{
	const struct events *held = &task->held;
	uint64_t slept_ns = 0;
	uint64_t out_ns = 0;

	for (size_t i = 0; i < held->cnt; i++) {
		const struct event *ev = &held->list[i];

		if (ev->kind == EVENT_OUT)
			out_ns = ev->time_ns;
		else if (ev->kind == EVENT_IN && out_ns)
			slept_ns += ev->time_ns - out_ns;
		if (ev->kind == EVENT_IN)
			out_ns = 0;
	}
	if (out_ns && out_ns < end_ns)
		end_ns = out_ns;
	slept_ns += held->list[0].time_ns;
	return end_ns > slept_ns ? end_ns - slept_ns : 0;
}

int starts_open_calls(struct starts *st, uint64_t end_ns, struct starts_open **open, size_t *cnt)
{
	*cnt = 0;
	*open = calloc(st->task_cnt + 1, sizeof(**open));
	if (!*open)
		return -ENOMEM;
	for (size_t i = 0; i < st->task_cnt && st->config.want.slower_ns; i++) {
		const struct task *task = &st->tasks[i];
		uint64_t took_ns;

		if (!task->gate.start_depth || !task->held.cnt || task->is_huge ||
		    st->config.marked_only || task->stack.loss_cnt != st->losses.cnt ||
		    !callstack_can_pair(&task->stack, &st->losses))
			continue;
		took_ns = open_ns(task, end_ns);
		if (took_ns < st->config.want.slower_ns)
			continue;
		(*open)[(*cnt)++] =
			(struct starts_open){ task->held.list, task->held.cnt, took_ns };
		st->stats.shown_cnt++;
	}
	return 0;
}

const struct starts_stats *starts_stats_get(const struct starts *st)
{
	return &st->stats;
}
