#include "trace/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

/* Rows that may wait for one undecided entry before it is printed as nested. */
#define WAITING_MAX_CNT 65536
/* Initial room for items. */
#define FIRST_ITEM_CNT 64
/* Number of tasks kept before those without open calls are forgotten. */
#define FORGET_CNT  1024
#define NO_ITEM     UINT64_MAX
#define NO_TID      UINT32_MAX
#define NO_DURATION UINT64_MAX

struct task {
	uint64_t key;           /* event_task */
	struct callstack stack; /* callframe.user: the id of the entry's item, or NO_ITEM */
};

enum item_state {
	ITEM_WAITING, /* an entry whose CPU has not shown its next event */
	ITEM_READY,
};

struct item {
	struct event event;
	enum row_kind kind;
	enum item_state state;
	uint32_t depth;
	uint32_t exit_values; /* of a leaf */
	uint32_t below_cnt;   /* of a leaf or a return: traced calls inside */
	uint64_t duration_ns; /* NO_DURATION: a return with an uncertain entry */
	uint64_t slept_ns;    /* see row */
};

struct cpu_state {
	uint64_t waiting;       /* item id of the undecided entry, or NO_ITEM */
	uint32_t last_tid;      /* of the last row printed */
	uint64_t last_ns;       /* the same */
	struct task *last_task; /* of the last event */
	struct braces braces;
};

struct graph {
	struct graph_config config;
	struct graph_stats stats;
	struct cpu_state *cpus;
	struct task **tasks;
	size_t task_cnt;
	size_t task_cap;
	struct hash task_index; /* by key */
	size_t forget_cnt;      /* limit for tasks before some are forgotten */
	struct item *items;     /* queue; item id modulo item_cap */
	size_t item_cap;
	uint64_t head; /* next item id to print */
	uint64_t tail; /* next item id to assign */
	struct callstack_losses losses;
	/* The call being printed. The struct is large; fields that calls never use stay empty. */
	struct row row;
};

int graph_new(struct graph **out, const struct graph_config *config)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->config = *config;
	g->forget_cnt = FORGET_CNT;
	g->item_cap = FIRST_ITEM_CNT;
	g->cpus = calloc(config->cpu_cnt, sizeof(*g->cpus));
	g->items = calloc(g->item_cap, sizeof(*g->items));
	if (!g->cpus || !g->items) {
		graph_free(g);
		return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < config->cpu_cnt; cpu++) {
		g->cpus[cpu].waiting = NO_ITEM;
		g->cpus[cpu].last_tid = NO_TID;
	}
	*out = g;
	return 0;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->task_cnt; i++) {
		callstack_release(&g->tasks[i]->stack);
		free(g->tasks[i]);
	}
	free(g->tasks);
	hash_release(&g->task_index);
	free(g->items);
	free(g->cpus);
	free(g);
}

const struct graph_stats *graph_stats_get(const struct graph *g)
{
	return &g->stats;
}

const char *graph_early_words(bool has_command)
{
	return has_command ? "returned without an entry" : "began before the trace";
}

static struct item *item_at(struct graph *g, uint64_t id)
{
	return &g->items[id & (g->item_cap - 1)];
}

/* ---- tasks ---- */

/* A task without open calls that can be completed needs no memory; most such tasks have ended. */
static int graph_tasks_forget(struct graph *g)
{
	size_t kept_cnt = 0;
	int err = 0;

	hash_clear(&g->task_index);
	for (size_t i = 0; i < g->task_cnt; i++) {
		struct task *task = g->tasks[i];

		if (callstack_is_idle(&task->stack, &g->losses)) {
			g->stats.pairs.unclosed_cnt += task->stack.cnt;
			callstack_forget(&task->stack, &g->losses);
			free(task);
			continue;
		}
		g->tasks[kept_cnt] = task;
		if (hash_add(&g->task_index, hash_u64(task->key), (uint32_t)kept_cnt))
			err = -ENOMEM;
		kept_cnt++;
	}
	g->task_cnt = kept_cnt;
	for (uint32_t cpu = 0; cpu < g->config.cpu_cnt; cpu++)
		g->cpus[cpu].last_task = NULL;
	g->forget_cnt = kept_cnt * 2 > FORGET_CNT ? kept_cnt * 2 : FORGET_CNT;
	return err;
}

/* Return: NULL: no memory */
static struct task *graph_task_add(struct graph *g, uint64_t key)
{
	struct task *task;

	if (g->task_cnt >= g->forget_cnt && graph_tasks_forget(g))
		return NULL;
	if (VEC_RESERVE(g->tasks, g->task_cap, g->task_cnt + 1))
		return NULL;
	task = calloc(1, sizeof(*task));
	if (!task || hash_add(&g->task_index, hash_u64(key), (uint32_t)g->task_cnt)) {
		free(task);
		return NULL;
	}
	task->key = key;
	task->stack.loss_cnt = g->losses.cnt;
	g->tasks[g->task_cnt++] = task;
	return task;
}

/* Rarely needed, so kept out of the loop that handles events. Return: NULL: no memory */
static __attribute__((noinline)) struct task *graph_task_look_up(struct graph *g, uint64_t key)
{
	for (uint32_t at = 0, item; hash_next(&g->task_index, hash_u64(key), &at, &item);) {
		if (g->tasks[item]->key == key)
			return g->tasks[item];
	}
	return graph_task_add(g, key);
}

/* Fast path: a CPU stays with a task for many events. Return: NULL: no memory */
static inline struct task *graph_task_get(struct graph *g, const struct event *ev)
{
	uint64_t key = event_task(ev->tid, ev->cpu);
	struct cpu_state *cpu = &g->cpus[ev->cpu];

	if (!cpu->last_task || cpu->last_task->key != key)
		cpu->last_task = graph_task_look_up(g, key);
	return cpu->last_task;
}

/* ---- printing: state that depends only on the order of printed rows ---- */

static void print_banner(struct graph *g, const struct item *item)
{
	struct cpu_state *cpu = &g->cpus[item->event.cpu];

	if (cpu->last_tid != item->event.tid && cpu->last_tid != NO_TID) {
		struct row row = {
			.kind = ROW_BANNER,
			.cpu = item->event.cpu,
			.time_ns = item->event.time_ns,
			.task.tid = item->event.tid,
			.prev.tid = cpu->last_tid,
			.prev_ns = cpu->last_ns,
		};

		g->config.emit(g->config.ctx, &row);
	}
	cpu->last_tid = item->event.tid;
	cpu->last_ns = item->event.time_ns;
}

static void print_lost(struct graph *g, const struct item *item)
{
	struct row row = {
		.kind = ROW_LOST,
		.cpu = item->event.cpu,
		.time_ns = item->event.time_ns,
		.lost_cnt = item->event.lost_cnt,
		.keeps_open = item->event.kind == EVENT_TORN,
	};

	g->config.emit(g->config.ctx, &row);
}

static void print_call(struct graph *g, const struct item *item)
{
	const struct func *func = &g->config.functab->funcs[item->event.func_id];
	struct row *row = &g->row;

	print_banner(g, item);
	row->kind = item->kind;
	row->cpu = item->event.cpu;
	row->depth = item->depth;
	row->time_ns = item->event.time_ns;
	row->lacks_duration = item->duration_ns == NO_DURATION;
	row->duration_ns = row->lacks_duration ? 0 : item->duration_ns;
	row->slept_ns = item->slept_ns;
	row->net = (struct net_time){ 0 };
	if (item->kind != ROW_ENTRY && !row->lacks_duration)
		row->net = netcost_net(g->config.cost, row->duration_ns, item->below_cnt);
	row->task = (struct task_name){ .tid = item->event.tid };
	row->prev = (struct task_name){ 0 };
	row->func_id = item->event.func_id;
	row->entry_values = item->kind == ROW_RETURN ? 0 : item->event.values;
	row->exit_values = item->kind == ROW_RETURN ? item->event.values : item->exit_values;
	row->args = NULL;
	row->arg_cnt = 0;
	row->caller = NULL;
	row->ret = NULL;
	row->name = func->name;
	row->module = func->module;
	row->has_clean_name = func->has_clean_name;
	row->is_named =
		braces_row(&g->cpus[row->cpu].braces, row->kind, row->depth, row->func_id + 1);
	row->is_named |= row->lacks_duration;
	g->stats.row_cnt++;
	g->config.emit(g->config.ctx, row);
}

static void print_point(struct graph *g, const struct item *item)
{
	const struct point *point = &g->config.points->points[item->event.func_id];
	struct row row = {
		.kind = ROW_POINT,
		.cpu = item->event.cpu,
		.depth = item->depth,
		.time_ns = item->event.time_ns,
		.task.tid = item->event.tid,
		.func_id = item->event.func_id,
		.entry_values = item->event.values,
		.name = point->name,
		.module = point->system,
	};

	print_banner(g, item);
	g->stats.row_cnt++;
	g->config.emit(g->config.ctx, &row);
}

static void print_item(struct graph *g, const struct item *item)
{
	if (item->kind == ROW_LOST)
		print_lost(g, item);
	else if (item->kind == ROW_POINT)
		print_point(g, item);
	else
		print_call(g, item);
}

static void print_ready(struct graph *g)
{
	while (g->head != g->tail) {
		struct item *item = item_at(g, g->head);

		if (item->state == ITEM_WAITING)
			return;
		print_item(g, item);
		g->head++;
	}
}

/* ---- the queue ---- */

static void item_decide(struct graph *g, struct item *item)
{
	item->state = ITEM_READY;
	g->cpus[item->event.cpu].waiting = NO_ITEM;
}

static int items_grow(struct graph *g)
{
	size_t cap = g->item_cap * 2;
	struct item *items = malloc(cap * sizeof(*items));

	if (!items)
		return -ENOMEM;
	for (uint64_t id = g->head; id != g->tail; id++)
		items[id & (cap - 1)] = *item_at(g, id);
	free(g->items);
	g->items = items;
	g->item_cap = cap;
	return 0;
}

static int item_push(struct graph *g, const struct event *ev, enum row_kind kind, uint32_t depth,
		     uint64_t duration_ns)
{
	struct item *item;

	if (g->tail - g->head >= WAITING_MAX_CNT) {
		item_decide(g, item_at(g, g->head));
		print_ready(g);
	}
	if (g->tail - g->head == g->item_cap && items_grow(g))
		return -ENOMEM;
	item = item_at(g, g->tail++);
	item->event = *ev;
	item->kind = kind;
	item->state = kind == ROW_ENTRY ? ITEM_WAITING : ITEM_READY;
	item->depth = depth;
	item->exit_values = 0;
	item->below_cnt = 0;
	item->duration_ns = duration_ns;
	item->slept_ns = 0;
	return 0;
}

/* Any event of a CPU decides the entry that waited there. */
static void decide_waiting(struct graph *g, uint32_t cpu)
{
	uint64_t waiting = g->cpus[cpu].waiting;

	if (waiting != NO_ITEM)
		item_decide(g, item_at(g, waiting));
}

static bool is_hidden(const struct graph *g, uint32_t depth)
{
	return g->config.depth_max && depth >= g->config.depth_max;
}

/* On any CPU: a call with calls inside it is not a leaf. */
static void decide_caller(struct graph *g, const struct callstack *stack)
{
	uint64_t id = stack->frames[stack->cnt - 2].user;

	if (id != NO_ITEM && id >= g->head && item_at(g, id)->state == ITEM_WAITING)
		item_decide(g, item_at(g, id));
}

static int feed_entry(struct graph *g, struct task *task, const struct event *ev)
{
	int depth = callstack_enter(&task->stack, &g->stats.pairs, &g->losses, ev, g->tail);
	int err;

	g->stats.call_cnt++;
	if (depth < 0)
		return depth;
	if (depth == CALLSTACK_DEPTH_MAX)
		return 0;
	if (is_hidden(g, (uint32_t)depth)) {
		task->stack.frames[task->stack.cnt - 1].user = NO_ITEM;
		return 0;
	}
	decide_waiting(g, ev->cpu);
	if (depth)
		decide_caller(g, &task->stack);
	err = item_push(g, ev, ROW_ENTRY, (uint32_t)depth, 0);
	if (!err)
		g->cpus[ev->cpu].waiting = g->tail - 1;
	return err;
}

/* Print a return with an uncertain entry: only its name, without duration and caller. */
static int feed_unmatched(struct graph *g, const struct event *ev)
{
	decide_waiting(g, ev->cpu);
	return item_push(g, ev, ROW_RETURN, 0, NO_DURATION);
}

static int push_return(struct graph *g, const struct task *task, const struct event *ev,
		       uint32_t below_cnt, uint64_t duration_ns)
{
	int err;

	decide_waiting(g, ev->cpu);
	err = item_push(g, ev, ROW_RETURN, callstack_depth(&task->stack), duration_ns);
	if (!err)
		item_at(g, g->tail - 1)->below_cnt = below_cnt;
	return err;
}

static int feed_pair(struct graph *g, const struct task *task, const struct event *ev,
		     const struct callframe *ended, uint64_t duration_ns)
{
	const uint32_t below_cnt = callstack_below(&task->stack, ended);
	const uint64_t entry_id = ended->user;
	struct item *entry;

	if (entry_id == NO_ITEM)
		return 0;
	if (g->cpus[ev->cpu].waiting != entry_id)
		return push_return(g, task, ev, below_cnt, duration_ns);
	entry = item_at(g, entry_id);
	entry->kind = ROW_LEAF;
	entry->duration_ns = duration_ns;
	entry->exit_values = ev->values;
	entry->below_cnt = below_cnt; /* not shown: deeper than depth_max */
	entry->slept_ns = ev->time_ns - entry->event.time_ns - duration_ns;
	item_decide(g, entry);
	return 0;
}

static int feed_exit(struct graph *g, struct task *task, const struct event *ev)
{
	struct callframe ended;
	uint64_t duration_ns;

	switch (callstack_leave(&task->stack, &g->stats.pairs, &g->losses, ev, &ended,
				&duration_ns)) {
	case CALLSTACK_PAIR:
		return feed_pair(g, task, ev, &ended, duration_ns);
	case CALLSTACK_UNSURE:
		return ended.user == NO_ITEM ? 0 : feed_unmatched(g, ev);
	case CALLSTACK_ORPHAN:
		return feed_unmatched(g, ev);
	default: /* it began before the trace, and the kernel's tracer does not show such returns either */
		return 0;
	}
}

/* A tracepoint inside a call, on whichever CPU it was entered: that is no leaf. */
static int feed_point(struct graph *g, struct task *task, const struct event *ev)
{
	struct callstack *stack = &task->stack;
	uint32_t depth = callstack_look(stack, &g->stats.pairs, &g->losses);
	uint64_t id = depth ? stack->frames[stack->cnt - 1].user : NO_ITEM;

	g->stats.point_cnt++;
	decide_waiting(g, ev->cpu);
	if (id != NO_ITEM && id >= g->head && item_at(g, id)->state == ITEM_WAITING)
		item_decide(g, item_at(g, id));
	if (g->config.depth_max && depth > g->config.depth_max)
		depth = g->config.depth_max;
	return item_push(g, ev, ROW_POINT, depth, 0);
}

static bool is_unknown(const struct graph *g, const struct event *ev)
{
	if (ev->kind == EVENT_POINT)
		return !g->config.points || ev->func_id >= g->config.points->cnt;
	return event_is_call(ev) && ev->func_id >= g->config.functab->cnt;
}

static int graph_feed_lost(struct graph *g, const struct event *ev)
{
	callstack_lose(&g->losses, ev);
	decide_waiting(g, ev->cpu);
	return ev->kind == EVENT_LOST ? item_push(g, ev, ROW_LOST, 0, 0) : 0;
}

static __attribute__((noinline)) int feed_mark(struct graph *g, const struct event *ev)
{
	struct task *task;

	if (ev->kind == EVENT_LOST || ev->kind == EVENT_GAP)
		return graph_feed_lost(g, ev);
	if (ev->kind == EVENT_TORN) {
		decide_waiting(g, ev->cpu);
		return item_push(g, ev, ROW_LOST, 0, 0);
	}
	task = graph_task_get(g, ev);
	if (!task)
		return -ENOMEM;
	callstack_turn(&task->stack, &g->stats.pairs, &g->losses, ev);
	return 0;
}

static int graph_feed_one(struct graph *g, const struct event *ev)
{
	struct task *task;

	if (ev->cpu >= g->config.cpu_cnt || is_unknown(g, ev)) {
		g->stats.bad_cnt++;
		return 0;
	}
	if (event_is_recorded(ev)) {
		task = graph_task_get(g, ev);
		if (!task)
			return -ENOMEM;
		if (ev->kind == EVENT_POINT)
			return feed_point(g, task, ev);
		return ev->kind == EVENT_ENTRY ? feed_entry(g, task, ev) : feed_exit(g, task, ev);
	}
	return feed_mark(g, ev);
}

int graph_feed(struct graph *g, const struct event *events, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		const struct event *ev = &events[i];

		err = graph_feed_one(g, ev);
		if (g->head != g->tail && item_at(g, g->head)->state != ITEM_WAITING)
			print_ready(g);
	}
	return err;
}

void graph_release(struct graph *g, uint64_t time_ns)
{
	for (uint64_t id = g->head; id != g->tail; id++) {
		struct item *item = item_at(g, id);

		if (item->event.time_ns >= time_ns)
			break;
		if (item->state == ITEM_WAITING)
			item_decide(g, item);
	}
	print_ready(g);
}

void graph_finish(struct graph *g)
{
	graph_release(g, UINT64_MAX);
	g->stats.open_cnt = 0;
	for (size_t i = 0; i < g->task_cnt; i++)
		g->stats.open_cnt +=
			callstack_finish(&g->tasks[i]->stack, &g->stats.pairs, &g->losses);
}
