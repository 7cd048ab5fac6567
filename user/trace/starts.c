#include "trace/starts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/start_gate.h"

#define HELD_CNT_MAX   (1u << 20) /* events of one root call that are held at most */
#define FIRST_SLOT_CNT 8u
#define FULL_SLOT_CNT  1024u /* with fewer no task is forgotten */

struct events {
	struct event *list;
	size_t cnt;
	size_t cap;
};

struct task {
	uint64_t key;           /* tid, or CPU of an idle task; + 1, for 0 is an empty slot */
	struct callstack stack; /* callframe.user: whether the call is shown */
	struct start_gate gate;
	uint32_t cut_cnt; /* stack.cut_cnt as it was last seen */
	bool is_huge;
	struct events held;
};

struct starts {
	struct starts_config config;
	struct task *tasks; /* open addressing by key */
	size_t task_cnt;
	size_t slot_cnt; /* a power of two */
	struct events out;
	struct callstack_losses losses;
	struct callstack_stats pairs;
	struct starts_stats stats;
};

int starts_new(struct starts **out, const struct starts_config *config)
{
	struct starts *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return -ENOMEM;
	rs->config = *config;
	rs->slot_cnt = FIRST_SLOT_CNT;
	rs->tasks = calloc(rs->slot_cnt, sizeof(*rs->tasks));
	if (!rs->tasks) {
		free(rs);
		return -ENOMEM;
	}
	*out = rs;
	return 0;
}

static void task_release(struct task *task)
{
	callstack_release(&task->stack);
	free(task->held.list);
}

void starts_free(struct starts *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < rs->slot_cnt; i++)
		task_release(&rs->tasks[i]);
	free(rs->tasks);
	free(rs->out.list);
	free(rs);
}

static int events_add(struct events *evs, const struct event *events, size_t cnt)
{
	if (evs->cap - evs->cnt < cnt) {
		size_t cap = evs->cap ? evs->cap : 64;
		struct event *list;

		while (cap - evs->cnt < cnt)
			cap *= 2;
		list = realloc(evs->list, cap * sizeof(*list));
		if (!list)
			return -ENOMEM;
		evs->list = list;
		evs->cap = cap;
	}
	if (cnt)
		memcpy(evs->list + evs->cnt, events, cnt * sizeof(*events));
	evs->cnt += cnt;
	return 0;
}

/* ---- tasks ---- */

static struct task *slot_find(struct task *tasks, size_t slot_cnt, uint64_t key)
{
	size_t idx = key * 0x9e3779b97f4a7c15ull >> 20 & (slot_cnt - 1);

	while (tasks[idx].key && tasks[idx].key != key)
		idx = (idx + 1) & (slot_cnt - 1);
	return &tasks[idx];
}

/* A task that is in no call is as one never seen; most of them have ended. */
static bool is_busy(const struct starts *rs, const struct task *task)
{
	return task->key && !callstack_is_idle(&task->stack, &rs->losses);
}

/* Room for more: of many tasks those that are in no call go. */
static int tasks_grow(struct starts *rs)
{
	const bool are_few = rs->slot_cnt < FULL_SLOT_CNT;
	size_t kept_cnt = 0;
	size_t slot_cnt = rs->slot_cnt;
	struct task *tasks;

	for (size_t i = 0; i < rs->slot_cnt; i++)
		kept_cnt += are_few ? rs->tasks[i].key != 0 : is_busy(rs, &rs->tasks[i]);
	if (kept_cnt * 4 > slot_cnt)
		slot_cnt *= 2;
	tasks = calloc(slot_cnt, sizeof(*tasks));
	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < rs->slot_cnt; i++) {
		if (are_few ? rs->tasks[i].key != 0 : is_busy(rs, &rs->tasks[i])) {
			*slot_find(tasks, slot_cnt, rs->tasks[i].key) = rs->tasks[i];
			continue;
		}
		rs->stats.broken_cnt += rs->tasks[i].gate.start_depth > 0;
		task_release(&rs->tasks[i]);
	}
	free(rs->tasks);
	rs->tasks = tasks;
	rs->slot_cnt = slot_cnt;
	rs->task_cnt = kept_cnt;
	return 0;
}

static struct task *task_of(struct starts *rs, const struct event *ev)
{
	uint64_t key = event_task(ev->tid, ev->cpu);
	struct task *task = slot_find(rs->tasks, rs->slot_cnt, key);

	if (task->key)
		return task;
	if (rs->task_cnt * 2 >= rs->slot_cnt) {
		if (tasks_grow(rs))
			return NULL;
		task = slot_find(rs->tasks, rs->slot_cnt, key);
	}
	rs->task_cnt++;
	task->key = key;
	task->stack.loss_cnt = rs->losses.cnt;
	return task;
}

/* ---- one event ---- */

static enum starts_kind kind_of(const struct starts *rs, const struct event *ev)
{
	return ev->func_id < rs->config.func_cnt ? rs->config.kinds[ev->func_id] : ROOTS_PLAIN;
}

/* Whether a root's return decides if it is shown. */
static bool is_holding(const struct starts *rs)
{
	return rs->config.slower_ns || rs->config.marked_only;
}

static int show(struct starts *rs, struct task *task, const struct event *ev)
{
	if (!is_holding(rs))
		return events_add(&rs->out, ev, 1);
	if (task->held.cnt >= HELD_CNT_MAX)
		task->is_huge = true;
	return task->is_huge ? 0 : events_add(&task->held, ev, 1);
}

/*
 * What is no longer open, because its return is missing or something may be: of @open_cnt calls none is
 * deeper. Nobody knows how long such a root took, and it begins anew with the next one.
 */
static void cut(struct starts *rs, struct task *task, uint32_t open_cnt)
{
	if (task->cut_cnt != task->stack.cut_cnt)
		open_cnt = 0;
	task->cut_cnt = task->stack.cut_cnt;
	if (start_gate_close(&task->gate, open_cnt)) {
		rs->stats.broken_cnt++;
		task->held.cnt = 0;
	}
}

/* @depth: the call's. A start function whose return could not be told opens nothing. */
static void gate_enter(struct starts *rs, struct task *task, const struct event *ev, uint32_t depth)
{
	enum starts_kind kind = kind_of(rs, ev);
	bool is_start = rs->config.has_roots ? kind == ROOTS_OPEN : depth == 0;
	bool can_end = callstack_can_pair(&task->stack, &rs->losses) ||
		       (!rs->config.has_roots && !is_holding(rs));

	if (!start_gate_enter(&task->gate, depth, is_start, kind == ROOTS_CLOSE))
		return;
	if (!can_end) {
		start_gate_close(&task->gate, depth);
		rs->stats.broken_cnt++;
		return;
	}
	task->is_huge = false;
	task->held.cnt = 0;
}

static int on_entry(struct starts *rs, struct task *task, const struct event *ev)
{
	int depth = callstack_enter(&task->stack, &rs->pairs, &rs->losses, ev, false);

	if (depth < 0 || depth == CALLSTACK_DEPTH_MAX)
		return depth < 0 ? depth : 0;
	cut(rs, task, (uint32_t)depth);
	gate_enter(rs, task, ev, (uint32_t)depth);
	if (!task->gate.start_depth || task->gate.shut_depth)
		return 0;
	task->stack.frames[task->stack.cnt - 1].user = true;
	return show(rs, task, ev);
}

static int root_returned(struct starts *rs, struct task *task, const struct event *ev,
			 uint64_t took_ns)
{
	bool is_wanted = took_ns >= rs->config.slower_ns &&
			 (!rs->config.marked_only || ev->flags & EVENT_MARKED);

	rs->stats.root_cnt++;
	rs->stats.shown_cnt += is_wanted && !task->is_huge;
	rs->stats.huge_cnt += is_wanted && task->is_huge;
	if (!is_holding(rs) || !is_wanted || task->is_huge)
		return 0;
	return events_add(&rs->out, task->held.list, task->held.cnt);
}

static int on_exit_event(struct starts *rs, struct task *task, const struct event *ev)
{
	struct callframe ended;
	uint64_t took_ns;
	enum callstack_end end =
		callstack_leave(&task->stack, &rs->pairs, &rs->losses, ev, &ended, &took_ns);
	uint32_t open_cnt = callstack_depth(&task->stack);
	int err = 0;

	cut(rs, task, open_cnt + (end == CALLSTACK_PAIR));
	if (end == CALLSTACK_UNSURE && ended.user && !is_holding(rs))
		return events_add(&rs->out, ev, 1);
	if (end != CALLSTACK_PAIR)
		return 0;
	if (ended.user)
		err = show(rs, task, ev);
	if (start_gate_close(&task->gate, open_cnt) && !err)
		err = root_returned(rs, task, ev, took_ns);
	return err;
}

/* Of a root that is open its sleeps are, also those in calls that are not shown. */
static int on_turn(struct starts *rs, struct task *task, const struct event *ev)
{
	bool is_switch = ev->kind == EVENT_OUT || ev->kind == EVENT_IN;

	callstack_turn(&task->stack, &rs->pairs, &rs->losses, ev);
	cut(rs, task, callstack_depth(&task->stack));
	if (!is_switch)
		return events_add(&rs->out, ev, 1);
	return task->gate.start_depth ? show(rs, task, ev) : 0;
}

static int take(struct starts *rs, const struct event *ev)
{
	struct task *task;

	if (ev->kind == EVENT_LOST || ev->kind == EVENT_GAP || ev->kind == EVENT_TORN) {
		if (ev->kind != EVENT_TORN)
			callstack_lose(&rs->losses, ev);
		return events_add(&rs->out, ev, 1);
	}
	task = task_of(rs, ev);
	if (!task)
		return -ENOMEM;
	if (ev->kind == EVENT_ENTRY)
		return on_entry(rs, task, ev);
	return ev->kind == EVENT_EXIT ? on_exit_event(rs, task, ev) : on_turn(rs, task, ev);
}

int starts_feed(struct starts *rs, const struct event *events, size_t cnt, const struct event **out,
		size_t *out_cnt)
{
	rs->out.cnt = 0;
	for (size_t i = 0; i < cnt; i++) {
		int err = take(rs, &events[i]);

		if (err)
			return err;
	}
	*out = rs->out.list;
	*out_cnt = rs->out.cnt;
	return 0;
}

const struct starts_stats *starts_stats_get(const struct starts *rs)
{
	return &rs->stats;
}
