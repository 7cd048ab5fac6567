#include "roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define HELD_CNT_MAX (1u << 20) /* events of one root call that are held at most */

struct events {
	struct event *list;
	size_t cnt;
	size_t cap;
};

struct task {
	uint64_t key;        /* tid, or CPU of an idle task; + 1, for 0 is an empty slot */
	uint32_t depth;      /* traced calls that are open, shown or not */
	uint32_t root_call;  /* frame << 16 | func_id of the root that is open ... */
	uint32_t root_depth; /* ... and its depth + 1; 0: none is */
	uint32_t shut_call;  /* the same of a closing function */
	uint32_t shut_depth;
	uint64_t root_ns; /* without the sleeps before it */
	uint64_t out_ns;  /* when it left the processor; 0: it has one */
	uint64_t slept_ns;
	bool is_huge;
	struct events held;
};

struct roots {
	struct roots_config config;
	struct task *tasks; /* open addressing by key */
	size_t task_cnt;
	size_t slot_cnt; /* a power of two */
	struct events out;
	struct roots_stats stats;
};

int roots_new(struct roots **out, const struct roots_config *config)
{
	struct roots *rs = calloc(1, sizeof(*rs));

	if (!rs)
		return -ENOMEM;
	rs->config = *config;
	rs->slot_cnt = 1024;
	rs->tasks = calloc(rs->slot_cnt, sizeof(*rs->tasks));
	if (!rs->tasks) {
		free(rs);
		return -ENOMEM;
	}
	*out = rs;
	return 0;
}

void roots_free(struct roots *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < rs->slot_cnt; i++)
		free(rs->tasks[i].held.list);
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

static int tasks_grow(struct roots *rs)
{
	size_t slot_cnt = rs->slot_cnt * 2;
	struct task *tasks = calloc(slot_cnt, sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < rs->slot_cnt; i++) {
		if (rs->tasks[i].key)
			*slot_find(tasks, slot_cnt, rs->tasks[i].key) = rs->tasks[i];
	}
	free(rs->tasks);
	rs->tasks = tasks;
	rs->slot_cnt = slot_cnt;
	return 0;
}

static struct task *task_of(struct roots *rs, const struct event *ev)
{
	uint64_t key = event_task(ev->tid, ev->cpu);
	struct task *task = slot_find(rs->tasks, rs->slot_cnt, key);

	if (task->key)
		return task;
	if (++rs->task_cnt * 2 > rs->slot_cnt) {
		if (tasks_grow(rs))
			return NULL;
		task = slot_find(rs->tasks, rs->slot_cnt, key);
	}
	task->key = key;
	return task;
}

/* After a loss nobody knows who returned: all begin anew with their next root. */
static void break_all(struct roots *rs)
{
	for (size_t i = 0; i < rs->slot_cnt; i++) {
		struct task *task = &rs->tasks[i];

		rs->stats.broken_cnt += task->root_depth > 0;
		task->depth = 0;
		task->root_depth = 0;
		task->shut_depth = 0;
		task->out_ns = 0;
		task->held.cnt = 0;
	}
}

/* ---- one event ---- */

static enum roots_kind kind_of(const struct roots *rs, const struct event *ev)
{
	return ev->func_id < rs->config.func_cnt ? rs->config.kinds[ev->func_id] : ROOTS_PLAIN;
}

/* Whether a root's return decides if it is shown. */
static bool is_holding(const struct roots *rs)
{
	return rs->config.slower_ns || rs->config.marked_only;
}

static int show(struct roots *rs, struct task *task, const struct event *ev)
{
	if (!is_holding(rs))
		return events_add(&rs->out, ev, 1);
	if (task->held.cnt >= HELD_CNT_MAX)
		task->is_huge = true;
	return task->is_huge ? 0 : events_add(&task->held, ev, 1);
}

static bool opens_root(const struct roots *rs, const struct task *task, const struct event *ev)
{
	if (task->root_depth || task->shut_depth)
		return false;
	return rs->config.has_roots ? kind_of(rs, ev) == ROOTS_OPEN : task->depth == 0;
}

static int on_entry(struct roots *rs, struct task *task, const struct event *ev)
{
	if (!task->shut_depth && kind_of(rs, ev) == ROOTS_CLOSE) {
		task->shut_call = event_call(ev);
		task->shut_depth = task->depth + 1;
	}
	if (opens_root(rs, task, ev)) {
		task->root_call = event_call(ev);
		task->root_depth = task->depth + 1;
		task->root_ns = ev->time_ns - task->slept_ns;
		task->is_huge = false;
		task->held.cnt = 0;
	}
	task->depth++;
	return task->root_depth && !task->shut_depth ? show(rs, task, ev) : 0;
}

static int root_returned(struct roots *rs, struct task *task, const struct event *ev)
{
	uint64_t took_ns = ev->time_ns - task->slept_ns - task->root_ns;
	bool is_wanted = took_ns >= rs->config.slower_ns &&
			 (!rs->config.marked_only || ev->flags & EVENT_MARKED);

	rs->stats.root_cnt++;
	rs->stats.shown_cnt += is_wanted && !task->is_huge;
	rs->stats.huge_cnt += is_wanted && task->is_huge;
	task->root_depth = 0;
	if (!is_holding(rs) || !is_wanted || task->is_huge)
		return 0;
	return events_add(&rs->out, task->held.list, task->held.cnt);
}

static int on_exit_event(struct roots *rs, struct task *task, const struct event *ev)
{
	bool is_shown = task->root_depth && !task->shut_depth;
	int err;

	if (!task->depth)
		return 0; /* its entry was before the trace, or lost */
	task->depth--;
	if (task->shut_depth && task->shut_call == event_call(ev)) {
		task->depth = task->shut_depth - 1;
		task->shut_depth = 0;
	}
	err = is_shown ? show(rs, task, ev) : 0;
	if (!err && task->root_depth && task->root_call == event_call(ev)) {
		task->depth = task->root_depth - 1;
		task->shut_depth = 0;
		err = root_returned(rs, task, ev);
	}
	return err;
}

/* Of a root that is open its sleeps are, also those in calls that are not shown. */
static int on_switch(struct roots *rs, struct task *task, const struct event *ev)
{
	if (ev->kind == EVENT_OUT) {
		task->out_ns = ev->time_ns;
	} else if (task->out_ns) {
		task->slept_ns += ev->time_ns - task->out_ns;
		task->out_ns = 0;
	}
	return task->root_depth ? show(rs, task, ev) : 0;
}

static int take(struct roots *rs, const struct event *ev)
{
	struct task *task;

	if (ev->kind == EVENT_LOST) {
		break_all(rs);
		return events_add(&rs->out, ev, 1);
	}
	task = task_of(rs, ev);
	if (!task)
		return -ENOMEM;
	if (ev->kind == EVENT_OUT || ev->kind == EVENT_IN)
		return on_switch(rs, task, ev);
	return ev->kind == EVENT_ENTRY ? on_entry(rs, task, ev) : on_exit_event(rs, task, ev);
}

int roots_feed(struct roots *rs, const struct event *events, size_t cnt, const struct event **out,
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

const struct roots_stats *roots_stats_get(const struct roots *rs)
{
	return &rs->stats;
}
