#include "report/choose_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/event.h"
#include "report/funcfilter.h"
#include "report/show_rows.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/vec.h"
#include "options/taskfilter.h"
#include "trace/rowbuf.h"
#include "trace/start_gate.h"

#define NAME_BYTES   (ROW_NAME_MAX + 1)
#define MODULE_BYTES (ROW_MODULE_MAX + 1)
#define COMM_BYTES   7          /* bytes of a task's name in a text */
#define HELD_MAX     (1u << 20) /* rows held for --slower-than, of all tasks */
#define HELD_KEPT    1024u      /* the memory of fewer is kept for the next call */

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
	struct rowbuf held; /* its rows, until it is known how long it took */
	struct rowbuf
		comment; /* the task's last row, if it is a comment that no call shown is around */
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
	bool has_starts;        /* only what start functions call is shown */
	uint64_t call_cnt;      /* calls that began; the number of the last one */
	size_t held_cnt;        /* rows held of all tasks */
	uint64_t huge_cnt;      /* slow calls that could not be held, and are not shown */
	bool was_shown;         /* the last row that begins or ends a call */
	bool has_tasks;         /* the text shows tasks */
};

int choose_rows_check(const struct opts *opts)
{
	const char *option = opts->filter              ? "--filter"
			     : opts->errors_only       ? "--errors-only"
			     : opts->has_source        ? "--source"
			     : opts->input_is_followed ? "--follow"
						       : NULL;

	if (!opts->input_is_text || !option)
		return 0;
	log_error("%s needs a recording, and '%s' is a text", option, opts->input_path);
	log_hint("'netfgraph record -o FILE' makes one");
	return -EINVAL;
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

static uint64_t task_key(const struct task_name *task, uint32_t cpu)
{
	return task_is_known(task) ? event_task(task->tid, cpu) : 1ull << 33 | cpu;
}

/* NULL: there is none */
static struct task *task_find(const struct choose_rows *cr, uint64_t key)
{
	for (uint32_t at = 0, item; hash_next(&cr->task_index, hash_u64(key), &at, &item);) {
		if (cr->tasks[item].key == key)
			return &cr->tasks[item];
	}
	return NULL;
}

/* The task of a row, valid until the next one's. NULL: no memory */
static struct task *task_get(struct choose_rows *cr, const struct row *row)
{
	const uint64_t key = task_key(&row->task, row->cpu);
	struct task *task = task_find(cr, key);

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
 * Before a CPU's first banner its task was not known; now it is. If calls of that task were seen elsewhere, those here
 * stay apart. Return: 0 or -ENOMEM.
 */
static int task_identify(struct choose_rows *cr, const struct row *banner)
{
	const struct task_name unknown = { 0 };
	struct task *task = task_find(cr, task_key(&unknown, banner->cpu));
	const uint64_t key = task_key(&banner->prev, banner->cpu);
	uint32_t item;

	if (!task || !task_is_known(&banner->prev) || task_find(cr, key))
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

static int show_row(struct choose_rows *cr, struct task *task, const struct row *row, uint64_t call)
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
	if (!cr->config.opts->slower_ns)
		return show_row(cr, task, row, call);
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
	bool is_shown = duration_ns >= cr->config.opts->slower_ns;
	int err = 0;

	cr->huge_cnt += task->is_huge && is_shown;
	task->is_huge = false;
	for (size_t i = 0; i < task->held.cnt && is_shown && !err; i++) {
		struct row row = rowbuf_get(&task->held, i);

		err = show_row(cr, task, &row, task->held.rows[i].call);
	}
	if (task->held.cnt > HELD_KEPT)
		held_release(cr, task);
	cr->held_cnt -= task->held.cnt;
	rowbuf_clear(&task->held);
	return err;
}

/* ---- calls ---- */

/* Callers that are not shown take no room. */
static uint32_t depth_shown(const struct choose_rows *cr, const struct task *task, uint32_t depth)
{
	uint32_t first = cr->has_starts && task->gate.start_depth ? task->gate.start_depth - 1 : 0;
	uint32_t shown = depth < first ? 0 : depth - first; /* a comment may be anywhere */

	for (uint32_t i = first; i < depth && i < task->frame_cnt; i++)
		shown -= task->frames[i].is_open && !task->frames[i].is_shown;
	return shown;
}

/* Calls at @depth and deeper have ended, also those whose end the text lacks. Return: 0 or -ENOMEM. */
static int frames_close(struct choose_rows *cr, struct task *task, uint32_t depth)
{
	for (uint32_t i = depth; i < task->frame_cnt; i++)
		task->frames[i] = (struct frame){ 0 };
	if (task->frame_cnt > depth)
		task->frame_cnt = depth;
	return start_gate_close(&task->gate, depth) ? outermost_ended(cr, task, 0) : 0;
}

static unsigned int kind_of(struct choose_rows *cr, const struct row *row)
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
	bool needs_start = cr->has_starts || cr->config.opts->slower_ns;

	return !task->gate.shut_depth && (!needs_start || task->gate.start_depth);
}

/* With the comment just before it. */
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

static int on_begin(struct choose_rows *cr, struct task *task, const struct row *row)
{
	const struct opts *opts = cr->config.opts;
	const unsigned int kind = kind_of(cr, row);
	bool is_start = cr->has_starts ? kind & FUNCFILTER_START : opts->slower_ns != 0;
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

static int on_return(struct choose_rows *cr, struct task *task, const struct row *row)
{
	struct frame *frame = frame_at(task, row->depth);
	struct row shown = *row;
	int err;

	if (!frame)
		return -ENOMEM;
	/* without a duration it may be of another call than the one that is open at its depth */
	err = frames_close(cr, task, row->depth + !row->lacks_duration);
	/* its beginning was before the text, or is damaged */
	cr->was_shown = frame->is_open
				? frame->is_shown
				: kind_of(cr, row) & FUNCFILTER_CHOSEN && is_in_graph(cr, task);
	shown.depth = depth_shown(cr, task, row->depth);
	if (!err && cr->was_shown)
		err = show_or_hold(cr, task, &shown, frame->is_open ? frame->call : 0);
	return err;
}

/* A call ends with a row of its own, or as a leaf. */
static int on_end(struct choose_rows *cr, struct task *task, const struct row *row)
{
	int err = 0;

	if (row->kind == ROW_RETURN)
		err = on_return(cr, task, row);
	if (!err && start_gate_close(&task->gate, row->depth))
		err = outermost_ended(cr, task, row->duration_ns);
	return err ? err : frames_close(cr, task, row->depth);
}

static int on_call(struct choose_rows *cr, struct task *task, const struct row *row)
{
	int err = 0;

	if (row->kind != ROW_RETURN)
		err = on_begin(cr, task, row);
	if (!err && row->kind != ROW_ENTRY)
		err = on_end(cr, task, row);
	rowbuf_clear(&task->comment);
	return err;
}

/* It belongs to the call around it, or to the start function that begins next. */
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
	task = task_get(cr, row);
	if (!task)
		return -ENOMEM;
	return row->kind == ROW_COMMENT ? on_comment(cr, task, row) : on_call(cr, task, row);
}

static int on_banner(struct choose_rows *cr, const struct row *row)
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
		return on_banner(cr, row);
	case ROW_LOST:
		return is_wanted_cpu(cr, row->cpu) ? show_rows_add(cr->shown, row, 0) : 0;
	case ROW_OVERRUN: /* of the } before it; unknown while that is held */
		return cr->was_shown && !cr->config.opts->slower_ns
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
		return -ENOMSG;
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
	log_error("'%s': no function of the text %s '%s'", cr->config.path,
		  rule->is_exact ? "is called" : "matches", rule->func);
	log_hint(
		"netfgraph profile --from ftrace --input FILE lists the functions that were called");
	return -ENOMSG;
}
