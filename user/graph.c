#include "graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows that may wait behind one undecided entry before it is printed as nested. */
#define WAITING_MAX_CNT 65536
/* FTRACE_RETFUNC_DEPTH: how deep the kernel remembers what it opened on a CPU */
#define NAMED_DEPTH_CNT 50
/* Tasks that are kept before those without open calls are forgotten. */
#define FORGET_CNT 1024
#define NO_FUNC    UINT32_MAX
#define NO_ITEM    UINT64_MAX
#define NO_TID     UINT32_MAX
/* frame: the five high bits tell stacks apart (16 KiB each, 8-byte steps) */
#define FRAME_STACK(frame) ((frame) >> 11)

struct frame {
	uint64_t time_ns; /* on the task's clock: without task.slept_ns */
	uint64_t item;    /* the entry's place in the queue */
	uint16_t func_id;
	uint16_t frame;
	uint32_t unsure_cnt; /* task.unsure_cnt at entry */
};

struct task {
	uint32_t key;        /* tid, or for an idle task IDLE_KEY | cpu */
	bool has_loss;       /* events may be missing since the stack was last empty */
	bool is_out;         /* between EVENT_OUT and EVENT_IN */
	uint32_t unsure_cnt; /* sleeps of unknown length: the other end was lost */
	uint64_t out_ns;
	uint64_t slept_ns; /* in all sleeps so far */
	uint32_t depth;
	uint32_t cap;
	struct frame *frames;
};

#define IDLE_KEY 0x80000000u

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
	uint64_t duration_ns;
	uint64_t slept_ns; /* see row */
};

struct cpu_state {
	uint64_t waiting;  /* item id of the undecided entry, or NO_ITEM */
	uint32_t last_tid; /* of the last row printed */
	struct task *last_task;
	uint32_t opened[NAMED_DEPTH_CNT];
};

struct graph {
	struct graph_config config;
	struct graph_stats stats;
	struct cpu_state *cpus;
	struct task **tasks; /* open addressing by key */
	size_t task_cap;
	size_t task_cnt;
	size_t forget_cnt;  /* so many tasks are too many */
	struct item *items; /* queue; item id modulo item_cap */
	size_t item_cap;
	uint64_t head; /* next item id to print */
	uint64_t tail; /* next item id to give out */
	bool has_loss;
	/* The call being printed. It is large, and what a call never has stays empty. */
	struct row row;
};

int graph_new(struct graph **out, const struct graph_config *config)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->config = *config;
	g->task_cap = 256;
	g->forget_cnt = FORGET_CNT;
	g->item_cap = 4096;
	g->cpus = calloc(config->cpu_cnt, sizeof(*g->cpus));
	g->tasks = calloc(g->task_cap, sizeof(*g->tasks));
	g->items = calloc(g->item_cap, sizeof(*g->items));
	if (!g->cpus || !g->tasks || !g->items) {
		graph_free(g);
		return -ENOMEM;
	}
	for (uint32_t cpu = 0; cpu < config->cpu_cnt; cpu++) {
		g->cpus[cpu].waiting = NO_ITEM;
		g->cpus[cpu].last_tid = NO_TID;
		for (int i = 0; i < NAMED_DEPTH_CNT; i++)
			g->cpus[cpu].opened[i] = NO_FUNC;
	}
	*out = g;
	return 0;
}

void graph_free(struct graph *g)
{
	if (!g)
		return;
	for (size_t i = 0; g->tasks && i < g->task_cap; i++) {
		if (g->tasks[i])
			free(g->tasks[i]->frames);
		free(g->tasks[i]);
	}
	free(g->tasks);
	free(g->items);
	free(g->cpus);
	free(g);
}

const struct graph_stats *graph_stats_get(const struct graph *g)
{
	return &g->stats;
}

static struct item *item_at(struct graph *g, uint64_t id)
{
	return &g->items[id & (g->item_cap - 1)];
}

/* ---- tasks ---- */

static struct task **task_slot(struct task **tasks, size_t cap, uint32_t key)
{
	size_t idx = (key * 2654435761u) & (cap - 1);

	while (tasks[idx] && tasks[idx]->key != key)
		idx = (idx + 1) & (cap - 1);
	return &tasks[idx];
}

static int tasks_grow(struct graph *g)
{
	size_t cap = g->task_cap * 2;
	struct task **tasks = calloc(cap, sizeof(*tasks));

	if (!tasks)
		return -ENOMEM;
	for (size_t i = 0; i < g->task_cap; i++) {
		if (g->tasks[i])
			*task_slot(tasks, cap, g->tasks[i]->key) = g->tasks[i];
	}
	free(g->tasks);
	g->tasks = tasks;
	g->task_cap = cap;
	return 0;
}

/* A task without open calls is as one never seen; most of them have ended. */
static void tasks_forget(struct graph *g)
{
	struct task **tasks = calloc(g->task_cap, sizeof(*tasks));
	size_t kept = 0;

	if (!tasks)
		return;
	for (size_t i = 0; i < g->task_cap; i++) {
		struct task *task = g->tasks[i];

		if (task && task->depth) {
			*task_slot(tasks, g->task_cap, task->key) = task;
			kept++;
		} else if (task) {
			free(task->frames);
			free(task);
		}
	}
	free(g->tasks);
	g->tasks = tasks;
	g->task_cnt = kept;
	for (uint32_t cpu = 0; cpu < g->config.cpu_cnt; cpu++)
		g->cpus[cpu].last_task = NULL;
	g->forget_cnt = kept * 2 > FORGET_CNT ? kept * 2 : FORGET_CNT;
}

/* NULL: no memory */
static struct task *task_look_up(struct graph *g, uint32_t key)
{
	struct task **slot = task_slot(g->tasks, g->task_cap, key);

	if (!*slot) {
		if (g->task_cnt >= g->forget_cnt) {
			tasks_forget(g);
			slot = task_slot(g->tasks, g->task_cap, key);
		}
		if (g->task_cnt * 2 >= g->task_cap) {
			if (tasks_grow(g))
				return NULL;
			slot = task_slot(g->tasks, g->task_cap, key);
		}
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return NULL;
		(*slot)->key = key;
		(*slot)->has_loss = g->has_loss;
		g->task_cnt++;
	}
	return *slot;
}

/* A CPU stays with a task for many events. NULL: no memory */
static inline struct task *task_get(struct graph *g, const struct event *ev)
{
	uint32_t key = ev->tid ? ev->tid : IDLE_KEY | ev->cpu;
	struct cpu_state *cpu = &g->cpus[ev->cpu];

	if (!cpu->last_task || cpu->last_task->key != key)
		cpu->last_task = task_look_up(g, key);
	return cpu->last_task;
}

static int task_push(struct task *task, const struct event *ev, uint64_t item)
{
	struct frame *frames = task->frames;

	if (task->depth == task->cap) {
		uint32_t cap = task->cap ? task->cap * 2 : 32;

		frames = realloc(frames, cap * sizeof(*frames));
		if (!frames)
			return -ENOMEM;
		task->frames = frames;
		task->cap = cap;
	}
	frames[task->depth++] = (struct frame){
		.time_ns = ev->time_ns - task->slept_ns,
		.item = item,
		.func_id = ev->func_id,
		.frame = ev->frame,
		.unsure_cnt = task->unsure_cnt,
	};
	return 0;
}

/*
 * After a loss the stack may hold calls whose return is among what was lost. A new
 * call on the same stack cannot lie above its caller, so those frames are over.
 */
static void task_drop_stale(struct graph *g, struct task *task, const struct event *ev)
{
	while (task->depth) {
		const struct frame *top = &task->frames[task->depth - 1];

		if (FRAME_STACK(top->frame) != FRAME_STACK(ev->frame) || top->frame > ev->frame)
			return;
		task->depth--;
		g->stats.unclosed_cnt++;
	}
}

/* The open call that @ev ends: its depth, or -1. Calls above it lost their returns. */
static int task_find(const struct task *task, const struct event *ev)
{
	for (uint32_t i = task->depth; i-- > 0;) {
		if (task->frames[i].frame == ev->frame && task->frames[i].func_id == ev->func_id)
			return (int)i;
	}
	return -1;
}

/* A loss anywhere can hit any task, for tasks migrate. */
static void note_loss(struct graph *g)
{
	g->has_loss = true;
	for (size_t i = 0; i < g->task_cap; i++) {
		if (g->tasks[i])
			g->tasks[i]->has_loss = true;
	}
}

/* ---- printing: what only the order of printed rows decides ---- */

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
		};

		g->config.emit(g->config.ctx, &row);
	}
	cpu->last_tid = item->event.tid;
}

/* Whether a closing brace needs its name: what was opened here is not what closes. */
static bool closes_other(struct cpu_state *cpu, const struct item *item)
{
	bool is_other;

	if (item->depth >= NAMED_DEPTH_CNT)
		return false;
	is_other = cpu->opened[item->depth] != item->event.func_id;
	cpu->opened[item->depth] = NO_FUNC;
	return is_other;
}

static void print_lost(struct graph *g, const struct item *item)
{
	struct row row = {
		.kind = ROW_LOST,
		.cpu = item->event.cpu,
		.time_ns = item->event.time_ns,
		.lost_cnt = item->event.lost_cnt,
	};

	g->config.emit(g->config.ctx, &row);
}

static void print_call(struct graph *g, const struct item *item)
{
	const struct func *func = &g->config.functab->funcs[item->event.func_id];
	struct cpu_state *cpu = &g->cpus[item->event.cpu];
	struct row *row = &g->row;

	print_banner(g, item);
	row->kind = item->kind;
	row->cpu = item->event.cpu;
	row->depth = item->depth;
	row->time_ns = item->event.time_ns;
	row->duration_ns = item->duration_ns;
	row->slept_ns = item->slept_ns;
	row->task = (struct task_name){ .tid = item->event.tid };
	row->prev = (struct task_name){ 0 };
	row->func_id = item->event.func_id;
	row->entry_values = item->kind == ROW_RETURN ? 0 : item->event.values;
	row->exit_values = item->kind == ROW_RETURN ? item->event.values : item->exit_values;
	row->args = (struct text){ 0 };
	row->note = (struct text){ 0 };
	row->name = func->name;
	row->module = func->module;
	row->is_named = item->kind == ROW_RETURN && closes_other(cpu, item);
	if (item->kind != ROW_RETURN && item->depth < NAMED_DEPTH_CNT)
		cpu->opened[item->depth] = item->kind == ROW_ENTRY ? item->event.func_id : NO_FUNC;
	g->stats.row_cnt++;
	g->config.emit(g->config.ctx, row);
}

static void print_item(struct graph *g, const struct item *item)
{
	if (item->kind == ROW_LOST)
		print_lost(g, item);
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
	item->duration_ns = duration_ns;
	item->slept_ns = 0;
	return 0;
}

/* Whatever comes on a CPU decides the entry that waited there. */
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

/* It runs, so its sleep is over, and the event that said so was lost. */
static void task_runs(struct task *task)
{
	if (!task->is_out)
		return;
	task->is_out = false;
	task->unsure_cnt++;
}

static int feed_switch(struct graph *g, const struct event *ev)
{
	struct task *task = task_get(g, ev);

	if (!task)
		return -ENOMEM;
	if (ev->kind == EVENT_OUT) {
		task_runs(task);
		task->is_out = true;
		task->out_ns = ev->time_ns;
	} else if (task->is_out) {
		task->is_out = false;
		task->slept_ns += ev->time_ns - task->out_ns;
	} else {
		task->unsure_cnt++; /* calls it has open began while it was watched */
	}
	return 0;
}

static int feed_entry(struct graph *g, const struct event *ev)
{
	struct task *task = task_get(g, ev);
	uint32_t depth;
	int err;

	if (!task)
		return -ENOMEM;
	g->stats.call_cnt++;
	task_runs(task);
	if (task->has_loss)
		task_drop_stale(g, task, ev);
	depth = task->depth;
	if (!depth)
		task->has_loss = false;
	if (is_hidden(g, depth))
		return task_push(task, ev, NO_ITEM);
	decide_waiting(g, ev->cpu);
	err = item_push(g, ev, ROW_ENTRY, depth, 0);
	if (err)
		return err;
	g->cpus[ev->cpu].waiting = g->tail - 1;
	return task_push(task, ev, g->tail - 1);
}

/*
 * A return whose entry is unknown. With nothing lost and nothing open it belongs to
 * a call that was under way when the trace began, which the kernel's tracer does not
 * show either; else its entry was missed.
 */
static int feed_orphan(struct graph *g, const struct task *task, const struct event *ev)
{
	if (!task->depth && !g->has_loss) {
		g->stats.early_return_cnt++;
		return 0;
	}
	g->stats.orphan_cnt++;
	if (is_hidden(g, task->depth))
		return 0;
	decide_waiting(g, ev->cpu);
	return item_push(g, ev, ROW_RETURN, task->depth, 0);
}

static int feed_exit(struct graph *g, const struct event *ev)
{
	struct task *task = task_get(g, ev);
	struct cpu_state *cpu = &g->cpus[ev->cpu];
	const struct frame *frame;
	uint64_t duration_ns;
	int depth;

	if (!task)
		return -ENOMEM;
	task_runs(task);
	depth = task_find(task, ev);
	if (depth < 0)
		return feed_orphan(g, task, ev);
	frame = &task->frames[depth];
	g->stats.unclosed_cnt += task->depth - 1 - (uint32_t)depth;
	task->depth = (uint32_t)depth;
	if (frame->item == NO_ITEM)
		return 0;
	duration_ns = ev->time_ns - task->slept_ns - frame->time_ns;
	g->stats.unsure_cnt += task->unsure_cnt != frame->unsure_cnt;
	if (cpu->waiting == frame->item) {
		struct item *entry = item_at(g, frame->item);

		entry->kind = ROW_LEAF;
		entry->duration_ns = duration_ns;
		entry->exit_values = ev->values;
		entry->slept_ns = ev->time_ns - entry->event.time_ns - duration_ns;
		item_decide(g, entry);
		return 0;
	}
	decide_waiting(g, ev->cpu);
	return item_push(g, ev, ROW_RETURN, (uint32_t)depth, duration_ns);
}

static int feed_lost(struct graph *g, const struct event *ev)
{
	note_loss(g);
	decide_waiting(g, ev->cpu);
	return item_push(g, ev, ROW_LOST, 0, 0);
}

static int feed_one(struct graph *g, const struct event *ev)
{
	if (ev->cpu >= g->config.cpu_cnt) {
		g->stats.bad_cnt++;
		return 0;
	}
	if (ev->kind == EVENT_LOST)
		return feed_lost(g, ev);
	if (ev->kind == EVENT_OUT || ev->kind == EVENT_IN)
		return feed_switch(g, ev);
	if (ev->func_id >= g->config.functab->cnt) {
		g->stats.bad_cnt++;
		return 0;
	}
	return ev->kind == EVENT_ENTRY ? feed_entry(g, ev) : feed_exit(g, ev);
}

int graph_feed(struct graph *g, const struct event *events, size_t cnt)
{
	int err = 0;

	for (size_t i = 0; i < cnt && !err; i++) {
		const struct event *ev = &events[i];

		err = feed_one(g, ev);
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
	for (size_t i = 0; i < g->task_cap; i++) {
		if (g->tasks[i])
			g->stats.open_cnt += g->tasks[i]->depth;
	}
}
