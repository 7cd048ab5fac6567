#include "report/choose.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "format/details.h"
#include "format/profile.h"
#include "kernel/sleep.h"
#include "kernel/tracepoint.h"
#include "options/graphopts.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "report/pipeline.h"
#include "report/report_parts.h"
#include "report/valuematch.h"
#include "select/presets.h"
#include "select/select.h"
#include "trace/event.h"
#include "trace/graph.h"
#include "trace/row.h"
#include "trace/rowbuf.h"
#include "trace/starts.h"

/*
 * Turns the rows chosen from a text back into a trace: a call becomes a leaf if all its callees are
 * left out, banners appear where the remaining rows change tasks, and a } has its name where it needs one, or
 * everywhere if the text has it everywhere. Pure: no clock, no I/O.
 */
struct show_rows;

struct show_rows_config {
	/* Called once per row, in order. row is borrowed for the call. */
	void (*emit)(void *ctx, struct row *row);
	void *ctx;
};

/* Rows that may wait for an ENTRY; with more, the ENTRY is not a leaf. */
#define WAITING_MAX_CNT 65536u

/* A task's name, in memory of its own. */
struct task_copy {
	uint32_t tid;
	uint32_t comm_len;
	char comm[16];
};

struct cpu {
	struct braces read;     /* of the text's rows */
	struct braces shown;    /* of the rows that are shown */
	bool has_entry;         /* its last row is an ENTRY, whose call is a leaf if it ends next */
	size_t entry_at;        /* the place of that row in the queue ... */
	uint64_t entry_call;    /* ... and the call */
	bool has_banners;       /* the text has banners of this CPU */
	bool has_shown;         /* any row was shown */
	struct task_copy task;  /* of the row shown last */
	struct task_copy first; /* of the rows before the text's first banner */
};

struct show_rows {
	struct show_rows_config config;
	struct cpu **cpus; /* NULL: no row of that CPU came yet */
	size_t cpu_cnt;
	struct rowbuf queue; /* rows from the first one that waits */
	size_t queue_at;     /* how many of these are emitted */
	bool has_tail;       /* in the text, a } has a name that it need not have ... */
	bool lacks_names;    /* ... or lacks one that it must have */
};

/* show_rows_new - Return: 0 or -ENOMEM. Caller frees with show_rows_free. */
static int show_rows_new(struct show_rows **out, const struct show_rows_config *config)
{
	struct show_rows *sr = calloc(1, sizeof(*sr));

	if (!sr)
		return -ENOMEM;
	sr->config = *config;
	*out = sr;
	return 0;
}

static void show_rows_free(struct show_rows *sr)
{
	if (!sr)
		return;
	for (size_t cpu = 0; cpu < sr->cpu_cnt; cpu++)
		free(sr->cpus[cpu]);
	free(sr->cpus);
	rowbuf_release(&sr->queue);
	free(sr);
}

/* NULL: no memory */
static struct cpu *choose_cpu_get(struct show_rows *sr, uint32_t id)
{
	if (VEC_RESERVE_ZEROED(sr->cpus, sr->cpu_cnt, (size_t)id + 1))
		return NULL;
	if (!sr->cpus[id])
		sr->cpus[id] = calloc(1, sizeof(struct cpu));
	return sr->cpus[id];
}

static struct task_copy task_copy(const struct task_name *task)
{
	struct task_copy copy = { .tid = task->tid, .comm_len = sizeof(copy.comm) };

	if (task->comm.len < sizeof(copy.comm))
		copy.comm_len = (uint32_t)task->comm.len;
	if (copy.comm_len)
		memcpy(copy.comm, task->comm.ptr, copy.comm_len);
	return copy;
}

/*
 * show_rows_read - take the text's next ENTRY, LEAF, RETURN or BANNER, before show_rows_add of the same row, to learn
 * which names and banners the text has. Return: 0 or -ENOMEM.
 */
static int show_rows_read(struct show_rows *sr, const struct row *row)
{
	struct cpu *cpu = choose_cpu_get(sr, row->cpu);
	bool needs_name;

	if (!cpu)
		return -ENOMEM;
	if (row->kind == ROW_BANNER) {
		if (!cpu->has_banners)
			cpu->first = task_copy(&row->prev);
		cpu->has_banners = true;
		return 0;
	}
	needs_name = braces_row(&cpu->read, row->kind, row->depth, brace_func(row));
	if (row->kind == ROW_RETURN) {
		sr->has_tail |= row->is_named && !needs_name;
		sr->lacks_names |= !row->is_named && needs_name;
	}
	return 0;
}

/* show_rows_has_banners - whether the text has had a banner of that CPU. */
static bool show_rows_has_banners(const struct show_rows *sr, uint32_t cpu)
{
	return cpu < sr->cpu_cnt && sr->cpus[cpu] && sr->cpus[cpu]->has_banners;
}

/* ---- functions that options select ---- */

static int rules_init(struct funcrules *rules, const struct str_list *list)
{
	return funcrules_init(rules, list->items, list->cnt);
}

/* funcfilter_init - @opts is borrowed. Return: 0 or -ENOMEM. Call funcfilter_release in both cases. */
static int funcfilter_init(struct funcfilter *filter, const struct opts *opts)
{
	int err;

	*filter = (struct funcfilter){ .opts = opts };
	err = rules_init(&filter->trace, &opts->trace_funcs);
	if (!err)
		err = rules_init(&filter->notrace, &opts->notrace_funcs);
	if (!err)
		err = rules_init(&filter->graph, &opts->graph_funcs);
	return err ? err : rules_init(&filter->nograph, &opts->nograph_funcs);
}

static void funcfilter_release(struct funcfilter *filter)
{
	funcrules_release(&filter->trace);
	funcrules_release(&filter->notrace);
	funcrules_release(&filter->graph);
	funcrules_release(&filter->nograph);
}

/* The function's FUNCFILTER_* bits. @module: NULL for a function of the kernel itself. */
static unsigned int funcfilter_kind(struct funcfilter *filter, const char *func, const char *module)
{
	bool is_traced = funcrules_match(&filter->trace, func, module);
	unsigned int kind = 0;

	if (funcrules_match(&filter->graph, func, module) ||
	    preset_list_has_start(filter->opts->presets.items, filter->opts->presets.cnt, func))
		kind |= FUNCFILTER_START;
	if (funcrules_match(&filter->nograph, func, module))
		kind |= FUNCFILTER_SHUT;
	is_traced |= !wants_part_by_trace(filter->opts) || kind & FUNCFILTER_START;
	if (is_traced && !funcrules_match(&filter->notrace, func, module))
		kind |= FUNCFILTER_CHOSEN;
	return kind;
}

/* The first -T or -G that matched no function so far, or NULL. */
static const struct funcrule *funcfilter_unmatched(const struct funcfilter *filter)
{
	const struct funcrule *rule = funcrules_unmatched(&filter->trace);

	return rule ? rule : funcrules_unmatched(&filter->graph);
}

/*
 * Warn of each -N and -g that matched no function, as select_funcs does. @among: where they
 * were looked for, "function of the recording". @tab: its functions; NULL: unknown.
 */
static void funcfilter_warn_unused(const struct funcfilter *filter, const char *among,
				   const struct functab *tab)
{
	if (opts_is_given(filter->opts, "notrace-funcs"))
		misses_warn_unused("-N", &filter->notrace, among, tab);
	misses_warn_unused("-g", &filter->nograph, among, tab);
}

/* @among: "text" or "recording". */
static void say_unmatched(const char *path, const char *among, const struct funcrule *rule)
{
	struct strbuf text = { 0 };

	funcrule_put(&text, rule);
	log_error("'%s': no function of the %s %s '%s'", path, among,
		  rule->is_exact && !rule->module ? "is called" : "matches", strbuf_cstr(&text));
	strbuf_release(&text);
}

/* ---- rows that come out ---- */

/* Emit a banner before @row, if rows of another task precede it on that CPU. */
static void emit_banner(struct show_rows *sr, struct cpu *cpu, const struct row *row)
{
	const struct task_copy *prev =
		cpu->task.tid || cpu->task.comm_len ? &cpu->task : &cpu->first;
	struct row banner = { .kind = ROW_BANNER,
			      .cpu = row->cpu,
			      .task = row->task,
			      .prev = { prev->tid, { prev->comm, prev->comm_len } } };

	if (cpu->has_banners && cpu->has_shown && task_is_known(&row->task) &&
	    prev->tid != row->task.tid)
		sr->config.emit(sr->config.ctx, &banner);
	cpu->has_shown = true;
	cpu->task = task_copy(&row->task);
}

static void emit_call(struct show_rows *sr, struct row *row)
{
	struct cpu *cpu = sr->cpus[row->cpu];
	bool needs_name = braces_row(&cpu->shown, row->kind, row->depth, brace_func(row));

	emit_banner(sr, cpu, row);
	if (row->kind == ROW_RETURN && !sr->has_tail)
		row->is_named = needs_name && !sr->lacks_names;
	sr->config.emit(sr->config.ctx, row);
}

/* Emit rows up to the next one that may still become a leaf. */
static void queue_flush(struct show_rows *sr)
{
	struct rowbuf *queue = &sr->queue;

	for (; sr->queue_at < queue->cnt && !queue->rows[sr->queue_at].may_be_leaf;
	     sr->queue_at++) {
		struct row row = rowbuf_get(queue, sr->queue_at);

		if (row_is_call(&row))
			emit_call(sr, &row);
		else
			sr->config.emit(sr->config.ctx, &row);
	}
	if (sr->queue_at < queue->cnt)
		return;
	rowbuf_clear(queue);
	sr->queue_at = 0;
}

/* ---- rows that go in ---- */

static void decide_entry(struct show_rows *sr, struct cpu *cpu)
{
	if (cpu->has_entry)
		sr->queue.rows[cpu->entry_at].may_be_leaf = false;
	cpu->has_entry = false;
}

/*
 * show_rows_has_callees - @call, which began on @cpu, is not a leaf: its task continued with another call on another
 * CPU. (get_return_for_leaf of kernel/trace/trace_functions_graph.c sees only one CPU, and makes it a leaf.)
 */
static void show_rows_has_callees(struct show_rows *sr, uint32_t cpu_id, uint64_t call)
{
	struct cpu *cpu = cpu_id < sr->cpu_cnt ? sr->cpus[cpu_id] : NULL;

	if (cpu && cpu->has_entry && cpu->entry_call == call)
		decide_entry(sr, cpu);
}

/* show_rows_finish - emit all waiting rows; no row may follow. */
static void show_rows_finish(struct show_rows *sr)
{
	for (size_t cpu = 0; cpu < sr->cpu_cnt; cpu++) {
		if (sr->cpus[cpu])
			decide_entry(sr, sr->cpus[cpu]);
	}
	queue_flush(sr);
}

static int end_leaf(struct show_rows *sr, struct cpu *cpu, const struct row *row)
{
	if (rowbuf_end(&sr->queue, cpu->entry_at, row))
		return -ENOMEM;
	decide_entry(sr, cpu);
	return 0;
}

static int queue_add(struct show_rows *sr, struct cpu *cpu, const struct row *row, uint64_t call)
{
	if (rowbuf_add(&sr->queue, row, call))
		return -ENOMEM;
	decide_entry(sr, cpu);
	if (row->kind != ROW_ENTRY)
		return 0;
	cpu->has_entry = true;
	cpu->entry_at = sr->queue.cnt - 1;
	cpu->entry_call = call;
	sr->queue.rows[cpu->entry_at].may_be_leaf = true;
	return 0;
}

/*
 * show_rows_add - take a row to show, with its final depth. It is emitted once it is known which of the rows up to it
 * are leaves: an ENTRY waits for the next row of its CPU, and later rows wait for it.
 *
 * @call: a unique number for the call that an ENTRY begins or a RETURN ends; 0: unknown. Return: 0 or -ENOMEM.
 */
static int show_rows_add(struct show_rows *sr, const struct row *row, uint64_t call)
{
	struct cpu *cpu = choose_cpu_get(sr, row->cpu);
	bool is_leaf;
	int err;

	if (!cpu)
		return -ENOMEM;
	is_leaf = row->kind == ROW_RETURN && call && cpu->has_entry && cpu->entry_call == call;
	err = is_leaf ? end_leaf(sr, cpu, row) : queue_add(sr, cpu, row, call);
	if (err)
		return err;
	if (sr->queue.cnt < WAITING_MAX_CNT)
		queue_flush(sr);
	else
		show_rows_finish(sr); /* no ENTRY waits for ever */
	return 0;
}

#define NAME_BYTES   (ROW_NAME_MAX + 1)
#define MODULE_BYTES (ROW_MODULE_MAX + 1)
#define COMM_BYTES   7          /* bytes of a task's name in a text */
#define HELD_MAX     (1u << 20) /* rows held for --slower-than, of all tasks */
#define HELD_KEPT    1024u      /* memory for at most this many is kept for the next call */

/* A call that has begun. */
struct frame {
	bool is_open;
	bool is_shown;
	uint64_t call; /* its number, never 0 */
};

/* A task, or a CPU if the text does not show tasks. */
struct task {
	uint64_t key;
	struct frame *frames; /* by depth */
	size_t frame_cap;
	uint32_t frame_cnt;
	struct start_gate gate;
	bool is_huge;       /* not all rows of the outermost call could be held */
	struct rowbuf held; /* rows of the outermost call, until it is known how long it took */
	struct rowbuf
		comment; /* the task's last row, if it is a comment outside all calls that are shown */
	uint64_t entry_call; /* its last ENTRY that was shown, as the call's number ... */
	uint32_t entry_cpu;  /* ... and its position */
};

struct choose_rows {
	struct choose_rows_config config;
	struct funcfilter filter;
	struct show_rows *shown;
	struct task *tasks;
	size_t task_cnt;
	size_t task_cap;
	struct hash task_index; /* by key */
	bool has_starts;        /* only start functions and the calls below them are shown */
	uint64_t call_cnt;      /* calls that began; the number of the last one */
	size_t held_cnt;        /* rows held of all tasks */
	uint64_t huge_cnt;      /* slow calls that could not be held, and are not shown */
	bool was_shown;         /* the last row that begins or ends a call */
	bool has_tasks;         /* the text shows tasks */
};

/* A default from a configuration file does not apply to what has no such column. */
static bool sorts_by_net(const struct opts *opts)
{
	return opts_is_given(opts, "sort") &&
	       (opts->profile_sort == PROFILE_BY_NET || opts->profile_sort == PROFILE_BY_NET_SELF);
}

int choose_rows_check(const struct opts *opts)
{
	const struct selector *selector = selector_of(opts, SELECTS_BY_VALUES);
	const char *option = selector                  ? selector->option
			     : opts->has_source        ? "--source"
			     : opts->events.cnt        ? "--event"
			     : opts->packet.insn_cnt   ? "--packet"
			     : opts->input_is_followed ? "--follow"
			     : sorts_by_net(opts)      ? "--sort net"
						       : NULL;
	bool is_dat;

	if (!opts->input_is_text || !option)
		return 0;
	is_dat = report_dat_knows(opts->input_path);
	log_error("%s needs a recording%s, and '%s' is %s", option, is_dat ? " of netfgraph" : "",
		  opts->input_path, is_dat ? "one of trace-cmd (trace.dat)" : "a text");
	log_hint("'netfgraph record -o FILE' makes one");
	return VERDICT_USAGE;
}

int choose_rows_new(struct choose_rows **out, const struct choose_rows_config *config)
{
	const struct show_rows_config shown = { .emit = config->emit, .ctx = config->ctx };
	struct choose_rows *cr = calloc(1, sizeof(*cr));

	if (!cr)
		return -ENOMEM;
	cr->config = *config;
	cr->has_starts = config->opts->graph_funcs.cnt || config->opts->presets.cnt;
	if (show_rows_new(&cr->shown, &shown) || funcfilter_init(&cr->filter, config->opts)) {
		choose_rows_free(cr);
		return -ENOMEM;
	}
	*out = cr;
	return 0;
}

void choose_rows_free(struct choose_rows *cr)
{
	if (!cr)
		return;
	for (size_t i = 0; i < cr->task_cnt; i++) {
		rowbuf_release(&cr->tasks[i].held);
		rowbuf_release(&cr->tasks[i].comment);
		free(cr->tasks[i].frames);
	}
	free(cr->tasks);
	hash_release(&cr->task_index);
	show_rows_free(cr->shown);
	funcfilter_release(&cr->filter);
	free(cr);
}

/* ---- tasks ---- */

static uint64_t choose_task_key(const struct task_name *task, uint32_t cpu)
{
	return task_is_known(task) ? event_task(task->tid, cpu) : 1ull << 33 | cpu;
}

/* NULL: there is none */
static struct task *choose_task_find(const struct choose_rows *cr, uint64_t key)
{
	for (uint32_t at = 0, item; hash_next(&cr->task_index, hash_u64(key), &at, &item);) {
		if (cr->tasks[item].key == key)
			return &cr->tasks[item];
	}
	return NULL;
}

/* The task of a row, valid until the next call. NULL: no memory */
static struct task *choose_task_get(struct choose_rows *cr, const struct row *row)
{
	const uint64_t key = choose_task_key(&row->task, row->cpu);
	struct task *task = choose_task_find(cr, key);

	if (task)
		return task;
	if (VEC_RESERVE(cr->tasks, cr->task_cap, cr->task_cnt + 1) ||
	    hash_add(&cr->task_index, hash_u64(key), (uint32_t)cr->task_cnt))
		return NULL;
	task = &cr->tasks[cr->task_cnt++];
	*task = (struct task){ .key = key };
	return task;
}

/*
 * A CPU's first banner names the task of the calls before it, which was unknown. If other calls of that task were
 * seen already, these stay separate. Return: 0 or -ENOMEM.
 */
static int task_identify(struct choose_rows *cr, const struct row *banner)
{
	const struct task_name unknown = { 0 };
	struct task *task = choose_task_find(cr, choose_task_key(&unknown, banner->cpu));
	const uint64_t key = choose_task_key(&banner->prev, banner->cpu);
	uint32_t item;

	if (!task || !task_is_known(&banner->prev) || choose_task_find(cr, key))
		return 0;
	item = (uint32_t)(task - cr->tasks);
	hash_remove(&cr->task_index, hash_u64(task->key), item);
	task->key = key;
	return hash_add(&cr->task_index, hash_u64(key), item);
}

/* NULL: no memory */
static struct frame *frame_at(struct task *task, uint32_t depth)
{
	if (VEC_RESERVE_ZEROED(task->frames, task->frame_cap, (size_t)depth + 1))
		return NULL;
	if (depth >= task->frame_cnt)
		task->frame_cnt = depth + 1;
	return &task->frames[depth];
}

/* ---- rows that are shown ---- */

static int choose_show_row(struct choose_rows *cr, struct task *task, const struct row *row,
			   uint64_t call)
{
	bool is_callee = row->kind == ROW_ENTRY || row->kind == ROW_LEAF;

	if (is_callee && task->entry_call && task->entry_cpu != row->cpu)
		show_rows_has_callees(cr->shown, task->entry_cpu, task->entry_call);
	if (row->kind == ROW_ENTRY) {
		task->entry_cpu = row->cpu;
		task->entry_call = call;
	}
	return show_rows_add(cr->shown, row, call);
}

static void held_release(struct choose_rows *cr, struct task *task)
{
	cr->held_cnt -= task->held.cnt;
	rowbuf_release(&task->held);
}

static int show_or_hold(struct choose_rows *cr, struct task *task, const struct row *row,
			uint64_t call)
{
	if (!cr->config.opts->starts.slower_ns)
		return choose_show_row(cr, task, row, call);
	task->is_huge |= cr->held_cnt == HELD_MAX;
	if (task->is_huge) {
		held_release(cr, task);
		return 0;
	}
	cr->held_cnt++;
	return rowbuf_add(&task->held, row, call);
}

/* The outermost call has ended: show its held rows, if it took long enough. Return: 0 or -ENOMEM. */
static int outermost_ended(struct choose_rows *cr, struct task *task, uint64_t duration_ns)
{
	bool is_shown = duration_ns >= cr->config.opts->starts.slower_ns;
	int err = 0;

	cr->huge_cnt += task->is_huge && is_shown;
	task->is_huge = false;
	for (size_t i = 0; i < task->held.cnt && is_shown && !err; i++) {
		struct row row = rowbuf_get(&task->held, i);

		err = choose_show_row(cr, task, &row, task->held.rows[i].call);
	}
	if (task->held.cnt > HELD_KEPT)
		held_release(cr, task);
	cr->held_cnt -= task->held.cnt;
	rowbuf_clear(&task->held);
	return err;
}

/* ---- calls ---- */

/* The depth to show a row at: callers that are not shown do not count. */
static uint32_t depth_shown(const struct choose_rows *cr, const struct task *task, uint32_t depth)
{
	uint32_t first = cr->has_starts && task->gate.start_depth ? task->gate.start_depth - 1 : 0;
	uint32_t shown = depth < first ? 0 : depth - first; /* a comment may be anywhere */

	for (uint32_t i = first; i < depth && i < task->frame_cnt; i++)
		shown -= task->frames[i].is_open && !task->frames[i].is_shown;
	return shown;
}

/* Close the calls at @depth and deeper: they have ended, even if the text lacks their end. Return: 0 or -ENOMEM. */
static int frames_close(struct choose_rows *cr, struct task *task, uint32_t depth)
{
	for (uint32_t i = depth; i < task->frame_cnt; i++)
		task->frames[i] = (struct frame){ 0 };
	if (task->frame_cnt > depth)
		task->frame_cnt = depth;
	return start_gate_close(&task->gate, depth) ? outermost_ended(cr, task, 0) : 0;
}

static unsigned int choose_kind_of(struct choose_rows *cr, const struct row *row)
{
	char name[NAME_BYTES];
	char module[MODULE_BYTES];

	snprintf(name, sizeof(name), "%.*s", (int)row->name.len,
		 row->name.len ? row->name.ptr : "");
	snprintf(module, sizeof(module), "%.*s", (int)row->module.len,
		 row->module.len ? row->module.ptr : "");
	return funcfilter_kind(&cr->filter, name, row->module.len ? module : NULL);
}

static bool is_in_graph(const struct choose_rows *cr, const struct task *task)
{
	bool needs_start = cr->has_starts || cr->config.opts->starts.slower_ns;

	return !task->gate.shut_depth && (!needs_start || task->gate.start_depth);
}

/* Show or hold a row that begins a call, with the comment just before it. */
static int show_begin(struct choose_rows *cr, struct task *task, const struct row *row,
		      uint64_t call)
{
	int err = 0;

	if (task->comment.cnt) {
		struct row comment = rowbuf_get(&task->comment, 0);

		comment.depth = row->depth;
		err = show_or_hold(cr, task, &comment, 0);
	}
	return err ? err : show_or_hold(cr, task, row, row->kind == ROW_ENTRY ? call : 0);
}

static int choose_on_begin(struct choose_rows *cr, struct task *task, const struct row *row)
{
	const struct opts *opts = cr->config.opts;
	const unsigned int kind = choose_kind_of(cr, row);
	bool is_start = cr->has_starts ? kind & FUNCFILTER_START : opts->starts.slower_ns != 0;
	struct frame *frame = frame_at(task, row->depth);
	struct row shown = *row;
	int err;

	if (!frame)
		return -ENOMEM;
	err = frames_close(cr, task, row->depth);
	if (kind & FUNCFILTER_CHOSEN)
		start_gate_enter(&task->gate, row->depth, is_start, kind & FUNCFILTER_SHUT);
	shown.depth = depth_shown(cr, task, row->depth);
	cr->was_shown = kind & FUNCFILTER_CHOSEN && is_in_graph(cr, task) &&
			(!opts->graph_depth || shown.depth < opts->graph_depth);
	*frame = (struct frame){ .is_open = row->kind == ROW_ENTRY,
				 .is_shown = cr->was_shown,
				 .call = ++cr->call_cnt };
	if (!err && cr->was_shown)
		err = show_begin(cr, task, &shown, frame->call);
	return err;
}

static int choose_on_return(struct choose_rows *cr, struct task *task, const struct row *row)
{
	struct frame *frame = frame_at(task, row->depth);
	struct row shown = *row;
	int err;

	if (!frame)
		return -ENOMEM;
	/* without a duration the return may be of another call than the one that is open at its depth */
	err = frames_close(cr, task, row->depth + !row->lacks_duration);
	/* if no call is open, its beginning was before the text, or is damaged */
	cr->was_shown = frame->is_open ? frame->is_shown
				       : choose_kind_of(cr, row) & FUNCFILTER_CHOSEN &&
						 is_in_graph(cr, task);
	shown.depth = depth_shown(cr, task, row->depth);
	if (!err && cr->was_shown)
		err = show_or_hold(cr, task, &shown, frame->is_open ? frame->call : 0);
	return err;
}

/* A call ends with a row of its own, or as a leaf. */
static int choose_on_end(struct choose_rows *cr, struct task *task, const struct row *row)
{
	int err = 0;

	if (row->kind == ROW_RETURN)
		err = choose_on_return(cr, task, row);
	if (!err && start_gate_close(&task->gate, row->depth))
		err = outermost_ended(cr, task, row->duration_ns);
	return err ? err : frames_close(cr, task, row->depth);
}

static int choose_on_call(struct choose_rows *cr, struct task *task, const struct row *row)
{
	int err = 0;

	if (row->kind != ROW_RETURN)
		err = choose_on_begin(cr, task, row);
	if (!err && row->kind != ROW_ENTRY)
		err = choose_on_end(cr, task, row);
	rowbuf_clear(&task->comment);
	return err;
}

/* A comment belongs to the call around it, or to the start function that begins next. */
static int on_comment(struct choose_rows *cr, struct task *task, const struct row *row)
{
	struct row shown = *row;

	rowbuf_clear(&task->comment);
	shown.depth = depth_shown(cr, task, row->depth);
	if (is_in_graph(cr, task))
		return show_or_hold(cr, task, &shown, 0);
	return task->gate.shut_depth ? 0 : rowbuf_add(&task->comment, row, 0);
}

/* ---- rows ---- */

static bool is_wanted_cpu(const struct choose_rows *cr, uint32_t cpu)
{
	const struct opts *opts = cr->config.opts;

	return !opts->has_cpus || cpu_set_list_has(&opts->cpus, cpu);
}

static bool is_wanted_task(const struct choose_rows *cr, const struct task_name *task)
{
	const struct opts *opts = cr->config.opts;

	return (!opts->tids.cnt || (task_is_known(task) && taskfilter_has_tid(opts, task->tid))) &&
	       taskfilter_has_comm(opts, task->comm, COMM_BYTES);
}

static int on_task_row(struct choose_rows *cr, const struct row *row)
{
	struct task *task;
	int err = row_is_call(row) ? show_rows_read(cr->shown, row) : 0;

	cr->has_tasks |= task_is_known(&row->task);
	if (err)
		return err;
	if (!is_wanted_cpu(cr, row->cpu) || !is_wanted_task(cr, &row->task)) {
		cr->was_shown = false;
		return 0;
	}
	task = choose_task_get(cr, row);
	if (!task)
		return -ENOMEM;
	return row->kind == ROW_COMMENT ? on_comment(cr, task, row) : choose_on_call(cr, task, row);
}

static int choose_on_banner(struct choose_rows *cr, const struct row *row)
{
	int err = 0;

	if (!show_rows_has_banners(cr->shown, row->cpu))
		err = task_identify(cr, row);
	return err ? err : show_rows_read(cr->shown, row);
}

int choose_rows_row(struct choose_rows *cr, const struct row *row)
{
	switch (row->kind) {
	case ROW_BANNER:
		return choose_on_banner(cr, row);
	case ROW_LOST:
		return is_wanted_cpu(cr, row->cpu) ? show_rows_add(cr->shown, row, 0) : 0;
	case ROW_OVERRUN: /* it belongs to the } before it; whether that is shown is unknown while it is held */
		return cr->was_shown && !cr->config.opts->starts.slower_ns
			       ? show_rows_add(cr->shown, row, 0)
			       : 0;
	case ROW_OTHER:
		return show_rows_add(cr->shown, row, 0);
	default:
		return on_task_row(cr, row);
	}
}

int choose_rows_finish(struct choose_rows *cr)
{
	const struct opts *opts = cr->config.opts;
	const struct funcrule *rule = funcfilter_unmatched(&cr->filter);

	show_rows_finish(cr->shown);
	if (cr->huge_cnt)
		log_warn("'%s': %" PRIu64 " %s left out: too many rows to hold until the return",
			 cr->config.path, cr->huge_cnt,
			 plural(cr->huge_cnt, "call is", "calls are"));
	if (!cr->has_tasks && (opts->tids.cnt || opts->comms.cnt)) {
		log_error("'%s' does not show tasks: no TASK/PID column, no banners",
			  cr->config.path);
		log_hint("omit --tid and --comm");
		return VERDICT_NOTHING;
	}
	if (!rule) {
		funcfilter_warn_unused(&cr->filter,
				       cr->config.opts->tids.cnt || cr->config.opts->comms.cnt ||
						       cr->config.opts->has_cpus
					       ? "function of the chosen tasks and CPUs"
					       : "function of the text",
				       NULL);
		return 0;
	}
	say_unmatched(cr->config.path, "text", rule);
	log_hint(
		"netfgraph profile --from ftrace --input FILE lists the functions that were called");
	return VERDICT_NOTHING;
}

/* ---- events of a recording ---- */

#define AWAY_TID_CNT (1u << 22) /* PID_MAX_LIMIT */

struct choose_events {
	struct choose_events_config config;
	struct funcfilter filter;
	/* by func_id, of the functions in functab, and of the tracepoints that were named before the first event */
	bool *is_chosen, *is_point_chosen;
	size_t chosen_cap, point_cnt;
	/* a bit for each tid: its last event was on a CPU that was not asked for; NULL without -C */
	uint8_t *is_away;
	struct functab functab; /* a copy, because start functions are marked in it */
	size_t func_cap;
	uint8_t *kinds; /* by func_id; NULL without starts */
	size_t kind_cap;
	bool has_starts; /* SELECTS_BY_STARTS */
	struct starts
		*starts; /* NULL: the options ask for no start functions, durations or results */
	struct event *kept;
	size_t kept_cap;
	struct value_match *match; /* NULL: the options ask for no values */
};

/* ---- which functions ---- */

static int check_matched(const struct funcfilter *filter, const struct functab *functab,
			 const char *path)
{
	const struct funcrule *rule = funcfilter_unmatched(filter);

	if (!rule) {
		funcfilter_warn_unused(filter, "function of the recording", functab);
		return 0;
	}
	say_unmatched(path, "recording", rule);
	if (!misses_hint(functab, rule))
		log_hint("netfgraph profile --input FILE lists the functions that were called");
	return VERDICT_NOTHING;
}

/* Whether the options show function @id, and which values --filter finds in it. */
static int func_choose(struct choose_events *ch, uint32_t id)
{
	const struct details *details = ch->config.details;
	struct func *func = &ch->functab.funcs[id];
	const char *module = func->module.len ? func->module.ptr : NULL;
	struct text missing;

	ch->is_chosen[id] =
		funcfilter_kind(&ch->filter, func->name.ptr, module) & FUNCFILTER_CHOSEN;
	if (!ch->config.opts->filter || !details || !details->protos)
		return 0;
	return start_setup_fit(ch->config.opts->filter, func, id, details->protos, NULL, &missing);
}

/* Take the functions that the recording has named since the last time. */
static int funcs_add(struct choose_events *ch)
{
	const struct functab *from = ch->config.functab;
	struct functab *tab = &ch->functab;
	const size_t first = tab->cnt;
	int err = 0;

	if (VEC_RESERVE(ch->is_chosen, ch->chosen_cap, from->cnt) ||
	    VEC_RESERVE(tab->funcs, ch->func_cap, from->cnt) ||
	    (ch->kinds && VEC_RESERVE(ch->kinds, ch->kind_cap, from->cnt)))
		return -ENOMEM;
	for (; tab->cnt < from->cnt && !err; tab->cnt++) {
		tab->funcs[tab->cnt] = from->funcs[tab->cnt];
		err = func_choose(ch, (uint32_t)tab->cnt);
	}
	if (err || !ch->starts)
		return err;
	start_setup_add(ch->kinds, ch->config.opts, tab, first);
	starts_add(ch->starts, ch->kinds, tab->cnt);
	return 0;
}

/* Mark the tracepoints of the recording that match @glob. Return: whether there is one. */
static bool points_match(struct choose_events *ch, const char *glob)
{
	const struct pointtab *points = ch->config.points;
	bool has_any = false;

	for (size_t i = 0; points && i < points->cnt; i++) {
		const struct point *point = &points->points[i];

		if (!tracepoint_matches(glob, point->system.ptr, point->name.ptr))
			continue;
		ch->is_point_chosen[i] = has_any = true;
	}
	return has_any;
}

/* Without -e all of them, except sleeps with --graph-opts nosleep. */
static int points_choose(struct choose_events *ch)
{
	const struct str_list *globs = &ch->config.opts->events;
	const bool hides_sleeps = graphopts_hides_sleeps(ch->config.opts);
	const size_t cnt = ch->config.points ? ch->config.points->cnt : 0;

	ch->is_point_chosen = calloc(cnt + 1, sizeof(*ch->is_point_chosen));
	ch->point_cnt = cnt;
	if (!ch->is_point_chosen)
		return -ENOMEM;
	for (size_t i = 0; i < cnt; i++)
		ch->is_point_chosen[i] =
			!globs->cnt &&
			!(hides_sleeps && sleep_is_point(&ch->config.points->points[i]));
	for (size_t i = 0; i < globs->cnt; i++) {
		if (points_match(ch, globs->items[i]))
			continue;
		log_error("'%s': no tracepoint of the recording matches '%s'", ch->config.path,
			  globs->items[i]);
		log_hint(cnt ? "without -e it shows all that were recorded"
			     : "record -e records tracepoints; this recording has none");
		return VERDICT_NOTHING;
	}
	return 0;
}

static int values_choose(struct choose_events *ch)
{
	const struct opts *opts = ch->config.opts;
	const struct details *details = ch->config.details;
	bool has_types = details && details->protos && proto_table_get(details->protos, 0);
	const struct selector *selector = selector_of(opts, SELECTS_BY_VALUES);

	if (selector && !has_types) {
		log_error("'%s' has no values, which %s needs", ch->config.path, selector->option);
		log_hint("record --graph-opts %s keeps them; record %s asks the kernel",
			 selector->values, selector->option);
		return VERDICT_NOTHING;
	}
	return selector ? value_match_new(&ch->match, opts, details) : 0;
}

static int filter_check(struct choose_events *ch)
{
	return ch->config.opts->filter ? start_setup_check_filter(ch->config.opts, &ch->functab,
								  ch->config.details->protos, NULL)
				       : 0;
}

static int starts_choose(struct choose_events *ch)
{
	const int err = start_setup_new(&ch->starts, &ch->kinds, ch->config.opts, &ch->functab,
					ch->config.cost);

	ch->kind_cap = ch->kinds ? ch->functab.cnt : 0;
	return err;
}

int choose_events_new(struct choose_events **out, const struct choose_events_config *config)
{
	struct choose_events *ch = calloc(1, sizeof(*ch));
	int err = 0;

	if (!ch)
		return -ENOMEM;
	ch->config = *config;
	ch->has_starts = selector_of(config->opts, SELECTS_BY_STARTS);
	if (config->opts->has_cpus)
		ch->is_away = calloc(1, AWAY_TID_CNT / 8);
	if (config->opts->has_cpus && !ch->is_away)
		err = -ENOMEM;
	if (!err)
		err = funcfilter_init(&ch->filter, config->opts);
	if (!err)
		err = funcs_add(ch);
	if (!err && !config->may_grow)
		err = check_matched(&ch->filter, config->functab, config->path);
	if (!err)
		err = points_choose(ch);
	if (!err)
		err = values_choose(ch);
	if (!err && !config->may_grow)
		err = filter_check(ch);
	if (!err)
		err = starts_choose(ch);
	if (err)
		choose_events_free(ch);
	else
		*out = ch;
	return err;
}

int choose_events_finish(struct choose_events *ch)
{
	int err;

	if (!ch->config.may_grow)
		return 0;
	err = funcs_add(ch); /* those that were named after the last event */
	if (!err)
		err = check_matched(&ch->filter, ch->config.functab, ch->config.path);
	return err ? err : filter_check(ch);
}

void choose_events_free(struct choose_events *ch)
{
	if (!ch)
		return;
	starts_free(ch->starts);
	value_match_free(ch->match);
	funcfilter_release(&ch->filter);
	free(ch->kinds);
	free(ch->functab.funcs);
	free(ch->is_chosen);
	free(ch->is_point_chosen);
	free(ch->is_away);
	free(ch->kept);
	free(ch);
}

/* ---- which events ---- */

static bool has_comm(const struct choose_events *ch, const struct event *ev)
{
	const struct opts *opts = ch->config.opts;

	return !opts->comms.cnt ||
	       taskfilter_has_comm(opts, ch->config.comm(ch->config.comm_ctx, ev->tid, ev->time_ns),
				   TASKFILTER_COMM_BYTES);
}

/*
 * A task's events on CPUs that were not asked for count like lost ones: no call can be completed across them. The
 * first of them becomes an EVENT_SURE, which has that effect.
 */
static bool is_of_cpus(struct choose_events *ch, struct event *ev)
{
	const struct opts *opts = ch->config.opts;
	uint8_t bit = (uint8_t)(1u << ev->tid % 8);
	uint8_t *away;

	if (!opts->has_cpus)
		return true;
	away = &ch->is_away[ev->tid % AWAY_TID_CNT / 8];
	if (cpu_set_list_has(&opts->cpus, ev->cpu)) {
		*away &= (uint8_t)~bit;
		return true;
	}
	if (!ev->tid || ev->kind == EVENT_DOUBT || *away & bit)
		return false;
	*away |= bit;
	*ev = (struct event){
		.time_ns = ev->time_ns, .tid = ev->tid, .cpu = ev->cpu, .kind = EVENT_SURE
	};
	return true;
}

static bool is_chosen(struct choose_events *ch, struct event *ev)
{
	bool is_doubt = ev->kind == EVENT_DOUBT || ev->kind == EVENT_SURE;

	if (ev->kind == EVENT_LOST || ev->kind == EVENT_GAP || ev->kind == EVENT_TORN)
		return true;
	if (event_is_call(ev) && (ev->func_id >= ch->functab.cnt || !ch->is_chosen[ev->func_id]))
		return false;
	if (ev->kind == EVENT_POINT &&
	    (ev->func_id >= ch->point_cnt || !ch->is_point_chosen[ev->func_id]))
		return false;
	/* calls may be missing whatever name the task has by then */
	return taskfilter_has_tid(ch->config.opts, ev->tid) && (is_doubt || has_comm(ch, ev)) &&
	       is_of_cpus(ch, ev);
}

static bool may_be_start(const struct choose_events *ch, const struct event *ev)
{
	return event_is_call(ev) && (!ch->has_starts || ch->functab.funcs[ev->func_id].is_start);
}

int choose_events_feed(struct choose_events *ch, const struct event *events, size_t cnt,
		       const struct event **out, size_t *out_cnt)
{
	size_t kept_cnt = 0;
	int err = 0;

	if (ch->functab.cnt < ch->config.functab->cnt)
		err = funcs_add(ch);
	if (err || VEC_RESERVE(ch->kept, ch->kept_cap, cnt))
		return err ? err : -ENOMEM;
	for (size_t i = 0; i < cnt; i++) {
		ch->kept[kept_cnt] = events[i];
		if (!is_chosen(ch, &ch->kept[kept_cnt]))
			continue;
		if (ch->config.details)
			start_setup_mark(ch->config.opts, ch->config.details->values,
					 &ch->kept[kept_cnt]);
		if (ch->match && may_be_start(ch, &ch->kept[kept_cnt]))
			value_match_event(ch->match, &ch->kept[kept_cnt]);
		kept_cnt++;
	}
	*out = ch->kept;
	*out_cnt = kept_cnt;
	return ch->starts ? starts_feed(ch->starts, ch->kept, kept_cnt, out, out_cnt) : 0;
}

struct starts *choose_events_starts(struct choose_events *ch)
{
	return ch->starts;
}

void choose_events_account(const struct choose_events *ch)
{
	if (ch->match && value_match_missed_cnt(ch->match))
		log_warn(
			"'%s': the values of %" PRIu64
			" %s are not in it, so %s skips these: record --graph-opts args,retval keeps them",
			ch->config.path, value_match_missed_cnt(ch->match),
			plural(value_match_missed_cnt(ch->match), "call", "calls"),
			selector_of(ch->config.opts, SELECTS_BY_VALUES)->option);
	if (ch->starts)
		start_setup_say(ch->starts, ch->config.opts, ch->config.path);
}
