/* function_graph text, whatever was done to it. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/lines.h"
#include "base/log.h"
#include "base/privdrop.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "base/verdict.h"
#include "format/text_kind.h"
#include "format/text_loose.h"
#include "format/text_parse.h"
#include "options/opts.h"
#include "options/opttab.h"
#include "report/choose.h"
#include "report/pipeline.h"
#include "report/report_parts.h"

#define WARN_MAX_CNT 200u
#define ODD_MAX_CNT  2
#define DASHES       " ------------------------------------------"
#define BANNER_LINES 4 /* of a task switch */
#define FLUSH_ROWS   4096
#define KIND_LINES   1000 /* lines of a file that are looked at for what it is */

/* ---- state ---- */

/* An open call. */
struct opened {
	char *names; /* function, then module; memory that is used again */
	size_t names_cap;
	uint16_t name_len;
	uint16_t module_len;
};

#define KEY_IDLE 0x80000000u /* and the CPU */
#define KEY_UNKNOWN \
	0x40000000u /* the same: of a text without tasks, before the CPU's first banner */

/* The open calls of a task. The next nameless } at the depth of one of them ends it, and no } ends a call that has ended. */
struct text_task {
	uint32_t key;
	uint32_t cpu; /* of its last row */
	struct opened *opened;
	size_t opened_cap;
	uint32_t depth;    /* of the open calls, the number, if nothing was lost since */
	uint64_t loss_cnt; /* of its CPU, then */
};

struct text_cpu {
	struct braces braces;
	uint32_t *
		shown; /* of each depth, 1 and the index of the task that opened a call there last; 0: none */
	size_t shown_cnt;
	size_t shown_cap;
	uint64_t loss_cnt; /* so often rows are missing */
	uint32_t task;     /* 1 and the index of the last row's task; 0: none */
	bool has_task;     /* a banner showed the task */
	uint32_t tid;
	size_t comm_len;
	char comm[16];
};

#define EARLY_MAX 16

/* "CPU:1 [LOST 17 EVENTS]" at the beginning of a text: a sink has to know the columns first. */
struct early_loss {
	uint32_t cpu;
	uint64_t lost_cnt;
};

struct import {
	const struct report_config *config;
	struct lines *lines;
	struct report_stats *stats;
	struct trace_facts facts;
	struct pipeline *pipeline;
	struct text_parse ft;
	struct text_cpu *cpus;
	size_t cpu_cnt;
	struct text_task *tasks;
	uint32_t task_cnt;
	size_t task_cap;
	struct hash by_key; /* of tasks */
	uint32_t cpu;       /* of the last row */
	uint64_t line;
	const struct text_kind *kind; /* what else it may be; NULL: no line said so */
	bool in_header;
	bool is_gap;                        /* the line before is not a row: columns may change */
	bool has_header;                    /* or other lines that are printed as they are */
	bool has_rows;                      /* other rows */
	bool has_calls;                     /* in the text */
	bool lacks_depth;                   /* a row has no blanks that show its depth */
	bool has_shown;                     /* a call or a return was shown */
	struct choose_rows *choice;         /* NULL: all rows are shown */
	struct early_loss early[EARLY_MAX]; /* before the first row, which shows the columns */
	unsigned int early_cnt;
	unsigned int odd_cnt; /* rows in other columns than im->ft's since the last good one */
	int err;
	/* a call without any column, until the next row shows whether it is one */
	struct strbuf held;
	uint64_t held_line;
	/* a row that the next line may end */
	struct strbuf broken;
	uint64_t broken_line;
	const char *broken_why;
	struct text_loose loose;
	struct text_values values; /* of the row that is shown */
	/* warnings that go together */
	const char *warn_reason;
	uint64_t warn_first;
	uint64_t warn_last;
	uint64_t warn_cnt;
};

static const char other_columns[] = "other columns than the rows before";
static const char no_cpu[] = "the CPU column is missing; taken for the one before";
static const char no_row[] = "not function_graph text";
static const char odd_blanks[] = "blanks are missing, or there are too many";

static void warn_flush(struct import *im)
{
	const char *reason = im->warn_reason;

	im->warn_reason = NULL;
	if (!reason || ++im->warn_cnt > WARN_MAX_CNT)
		return;
	if (im->warn_first == im->warn_last)
		log_warn("%s:%" PRIu64 ": %s", im->config->path, im->warn_first, reason);
	else
		log_warn("%s:%" PRIu64 "-%" PRIu64 ": %s", im->config->path, im->warn_first,
			 im->warn_last, reason);
	if (im->warn_cnt == WARN_MAX_CNT)
		log_warn("further damage of '%s' is only counted", im->config->path);
}

/* Consecutive lines of the same kind share a warning. */
static void warn_line(struct import *im, uint64_t line, const char *reason)
{
	if (im->warn_reason != reason)
		warn_flush(im);
	if (!im->warn_reason)
		im->warn_first = line;
	im->warn_reason = reason;
	im->warn_last = line;
}

static void bad_line(struct import *im, uint64_t line, const char *reason)
{
	im->stats->bad_line_cnt++;
	warn_line(im, line, reason);
}

/* NULL: no memory */
static struct text_cpu *text_cpu(struct import *im, uint32_t cpu)
{
	if (VEC_RESERVE_ZEROED(im->cpus, im->cpu_cnt, (size_t)cpu + 1)) {
		im->err = -ENOMEM;
		return NULL;
	}
	return &im->cpus[cpu];
}

static bool task_find(const struct import *im, uint32_t key, uint32_t *idx)
{
	for (uint32_t at = 0, item; hash_next(&im->by_key, hash_u64(key), &at, &item);) {
		if (im->tasks[item].key == key) {
			*idx = item;
			return true;
		}
	}
	return false;
}

static uint32_t key_of(const struct import *im, const struct text_cpu *cpu, const struct row *row)
{
	if (im->facts.columns.proc && task_is_known(&row->task))
		return row->task.tid ? row->task.tid & (KEY_UNKNOWN - 1) : KEY_IDLE | row->cpu;
	if (!cpu->has_task)
		return KEY_UNKNOWN | row->cpu;
	return cpu->tid ? cpu->tid & (KEY_UNKNOWN - 1) : KEY_IDLE | row->cpu;
}

/* The task of a row. NULL: no memory */
static struct text_task *text_task(struct import *im, struct text_cpu *cpu, const struct row *row)
{
	const uint32_t key = key_of(im, cpu, row);
	uint32_t idx;

	if (cpu->task && im->tasks[cpu->task - 1].key == key)
		return &im->tasks[cpu->task - 1];
	if (!task_find(im, key, &idx)) {
		if (VEC_RESERVE(im->tasks, im->task_cap, im->task_cnt + 1u) ||
		    hash_add(&im->by_key, hash_u64(key), im->task_cnt)) {
			im->err = -ENOMEM;
			return NULL;
		}
		idx = im->task_cnt++;
		im->tasks[idx] = (struct text_task){ .key = key };
	}
	cpu->task = idx + 1;
	return &im->tasks[idx];
}

/* A CPU's first banner names the task whose calls came before it. */
static void task_rename(struct import *im, const struct row *banner)
{
	const uint32_t old = KEY_UNKNOWN | banner->cpu;
	const uint32_t key =
		banner->prev.tid ? banner->prev.tid & (KEY_UNKNOWN - 1) : KEY_IDLE | banner->cpu;
	uint32_t other;
	uint32_t idx;

	if (!task_find(im, old, &idx) || task_find(im, key, &other))
		return;
	hash_remove(&im->by_key, hash_u64(old), idx);
	im->tasks[idx].key = key;
	if (hash_add(&im->by_key, hash_u64(key), idx))
		im->err = -ENOMEM;
}

/* Rows of @cpu are missing: which of its calls are open is not known any more, of any of its tasks (open_depth). */
static void tasks_forget(struct import *im, uint32_t cpu, bool is_all)
{
	for (size_t i = 0; i < im->cpu_cnt; i++) {
		if (!is_all && i != cpu)
			continue;
		im->cpus[i].loss_cnt++;
		im->cpus[i].shown_cnt = 0;
	}
}

/* How many calls of @task are open, as far as that is known. */
static uint32_t open_depth(const struct import *im, const struct text_task *task)
{
	return task->depth && task->loss_cnt == im->cpus[task->cpu].loss_cnt ? task->depth : 0;
}

/* ---- rows ---- */

/* Pass a row that is shown to the pipeline. */
static void report_show_row(struct import *im, struct row *row)
{
	if (im->err)
		return;
	if (row_is_call(row)) {
		im->stats->call_cnt += row->kind != ROW_RETURN;
		im->has_shown = true;
		if (im->config->depth_max && row->depth >= im->config->depth_max)
			return;
		if (im->config->sink->wants_values)
			im->err = text_values_take(&im->values, row);
	}
	if (im->err)
		return;
	pipeline_row(im->pipeline, row);
	if (pipeline_row_cnt(im->pipeline) % FLUSH_ROWS == 0)
		im->err = pipeline_flush(im->pipeline, false);
}

static void on_chosen(void *ctx, struct row *row)
{
	report_show_row(ctx, row);
}

static void choose_row(struct import *im, struct row *row)
{
	int err;

	im->has_header |= row->kind == ROW_OTHER;
	im->has_rows |= row->kind != ROW_OTHER;
	im->has_calls |= row_is_call(row);
	if (!im->choice) {
		report_show_row(im, row);
		return;
	}
	err = im->err ? 0 : choose_rows_row(im->choice, row);
	im->err = im->err ? im->err : err;
}

/* The call of @row is open from now on. The reader's names are short: ROW_NAME_MAX, ROW_MODULE_MAX. Return: 0 or -ENOMEM. */
static int opened_set(struct text_task *task, const struct row *row)
{
	struct opened *opened;

	if (VEC_RESERVE_ZEROED(task->opened, task->opened_cap, (size_t)row->depth + 1))
		return -ENOMEM;
	/* calls around it that the text does not show have no names */
	for (; task->depth < row->depth; task->depth++)
		task->opened[task->depth].name_len = 0;
	opened = &task->opened[row->depth];
	if (VEC_RESERVE(opened->names, opened->names_cap, row->name.len + row->module.len + 1))
		return -ENOMEM;
	text_keep(opened->names, row->name);
	text_keep(opened->names + row->name.len, row->module);
	opened->name_len = (uint16_t)row->name.len;
	opened->module_len = (uint16_t)row->module.len;
	task->depth = row->depth + 1;
	return 0;
}

/* Name a nameless } after the call of @task that is open at its depth. Return: whether there is one. */
static bool opened_name(const struct import *im, const struct text_task *task, struct row *row)
{
	const struct opened *opened;

	if (row->depth >= open_depth(im, task))
		return false;
	opened = &task->opened[row->depth];
	if (!row->name.len && opened->name_len) {
		row->name = (struct text){ opened->names, opened->name_len };
		row->module = (struct text){ opened->names + opened->name_len, opened->module_len };
	}
	return true;
}

/*
 * A } ends the open call of its task. If the text does not show that one, a nameless } ends a call of the function that the CPU
 * showed last at this depth, of whatever task: else the kernel would have printed the name.
 */
static void opened_end(const struct import *im, struct text_task *task, const struct text_cpu *cpu,
		       struct row *row)
{
	if (opened_name(im, task, row))
		task->depth = row->depth;
	else if (row->depth < cpu->shown_cnt && cpu->shown[row->depth])
		opened_name(im, &im->tasks[cpu->shown[row->depth] - 1], row);
	row->is_named &= row->name.len != 0;
}

/* The CPU shows a call of its task. Return: 0 or -ENOMEM. */
static int shown_set(struct text_cpu *cpu, const struct row *row)
{
	if (row->depth < cpu->shown_cnt)
		cpu->shown_cnt = row->depth;
	if (row->kind != ROW_ENTRY)
		return 0;
	if (VEC_RESERVE(cpu->shown, cpu->shown_cap, (size_t)row->depth + 1))
		return -ENOMEM;
	while (cpu->shown_cnt < row->depth)
		cpu->shown[cpu->shown_cnt++] = 0;
	cpu->shown[cpu->shown_cnt++] = cpu->task;
	return 0;
}

/* Take away the name that a } has only because the text was written with tail. */
static void tail_drop(struct text_cpu *cpu, struct row *row)
{
	bool needs_name = braces_row(&cpu->braces, row->kind, row->depth, brace_func(row));

	if (row->kind == ROW_RETURN && row->name.len && !row->note.len)
		row->is_named = needs_name;
}

static void row_task(const struct import *im, const struct text_cpu *cpu, struct row *row)
{
	if (im->facts.columns.proc || !cpu->has_task)
		return;
	row->task.tid = cpu->tid;
	row->task.comm = (struct text){ cpu->comm, cpu->comm_len };
}

/* Add what the row does not show itself: its task, and the name of the call that it ends. */
static void row_complete(struct import *im, struct text_cpu *cpu, struct row *row)
{
	struct text_task *task = text_task(im, cpu, row);

	row_task(im, cpu, row);
	if (!task)
		return;
	task->depth = open_depth(im, task);
	task->cpu = row->cpu;
	task->loss_cnt = cpu->loss_cnt;
	if (im->config->sink->drops_tail)
		tail_drop(cpu, row);
	if (row->kind == ROW_RETURN)
		opened_end(im, task, cpu, row);
	else if (row->depth < task->depth)
		task->depth = row->depth;
	if ((row->kind == ROW_ENTRY && opened_set(task, row)) || shown_set(cpu, row))
		im->err = -ENOMEM;
}

static void report_on_banner(struct import *im, const struct row *row)
{
	struct text_cpu *cpu = text_cpu(im, row->cpu);

	if (!cpu)
		return;
	if (!cpu->has_task)
		task_rename(im, row);
	cpu->has_task = true;
	cpu->tid = row->task.tid;
	cpu->comm_len =
		row->task.comm.len < sizeof(cpu->comm) ? row->task.comm.len : sizeof(cpu->comm);
	memcpy(cpu->comm, row->task.comm.ptr, cpu->comm_len);
}

/* Keep a loss until the columns are known. Return: whether it is kept. */
static bool early_keep(struct import *im, const struct row *row)
{
	if (row->kind != ROW_LOST || im->ft.has_columns || row->text.len ||
	    im->early_cnt == EARLY_MAX)
		return false;
	im->early[im->early_cnt++] = (struct early_loss){ row->cpu, row->lost_cnt };
	return true;
}

static void early_flush(struct import *im)
{
	for (unsigned int i = 0; i < im->early_cnt; i++) {
		struct row row;

		text_parse_clear(&row);
		row.kind = ROW_LOST;
		row.cpu = im->early[i].cpu;
		row.lost_cnt = im->early[i].lost_cnt;
		choose_row(im, &row);
	}
	im->early_cnt = 0;
}

static void report_take_row(struct import *im, struct row *row)
{
	struct text_cpu *cpu;

	if (early_keep(im, row))
		return;
	if (im->early_cnt && row->kind != ROW_OTHER)
		early_flush(im);
	im->is_gap = false;
	if (row->kind == ROW_BANNER)
		report_on_banner(im, row);
	if (row->kind == ROW_LOST)
		tasks_forget(im, row->cpu, row->text.len);
	if (row_is_call(row)) {
		cpu = text_cpu(im, row->cpu);
		if (cpu)
			row_complete(im, cpu, row);
		im->cpu = row->cpu;
	} else if (row->kind == ROW_COMMENT) {
		cpu = text_cpu(im, row->cpu);
		if (cpu)
			row_task(im, cpu, row);
	}
	choose_row(im, row);
}

/* ---- damaged lines ---- */

/* Fill in columns that a row lacks compared with the rows around it. Return: which, or NULL. */
static const char *fill_columns(const struct import *im, const struct text_parse *alone,
				struct row *row)
{
	const struct render_columns *want = &im->facts.columns;
	const struct render_columns *have = &alone->columns;

	if (want->cpu && !have->cpu) {
		row->cpu = im->cpu;
		return have->abstime == want->abstime && have->proc == want->proc ? no_cpu
										  : other_columns;
	}
	if (want->abstime != have->abstime || want->proc != have->proc ||
	    want->latency != have->latency || want->duration != have->duration ||
	    want->cpu != have->cpu)
		return other_columns;
	if (have->cpu && im->ft.has_width && alone->cpu_width != im->ft.cpu_width)
		return other_columns;
	return NULL;
}

/* What is wrong with a row that was read by its words. Return: NULL: nothing, or what older kernels do. */
static const char *row_damage(const struct import *im, const struct loose_line *ll,
			      const struct text_parse *alone, struct row *row, struct text line)
{
	const char *lack = im->ft.has_columns ? fill_columns(im, alone, row) : NULL;

	if (lack)
		return lack;
	if (ll->reason || im->loose.is_on)
		return ll->reason;
	if (line.len && strchr(" \t\r", line.ptr[line.len - 1]))
		return "blanks behind the row";
	if (line.len && line.ptr[0] != ' ' && alone->columns.cpu && !alone->columns.abstime)
		return "the blank before the CPU is missing";
	return ll->has_old_mark ? NULL : odd_blanks;
}

/* ---- one line ---- */

static bool report_begins(struct text line, const char *what)
{
	return line.len >= strlen(what) && !memcmp(line.ptr, what, strlen(what));
}

static void adopt_columns(struct import *im)
{
	im->facts.columns = im->ft.columns;
	im->facts.cpu_width = im->ft.cpu_width;
}

/* The held line without columns was a call if the next row lies within it. */
static void held_settle(struct import *im, const struct row *next)
{
	struct row row = { .kind = ROW_ENTRY };
	struct strbuf *held = &im->held;
	size_t start = 0;

	if (!held->len)
		return;
	if (next && next->depth && next->kind != ROW_RETURN && row_is_call(next)) {
		while (held->ptr[start] == ' ')
			start++;
		row.cpu = next->cpu;
		row.depth = next->depth - 1;
		row.time_ns = next->time_ns;
		row.task = next->task;
		row.name = (struct text){ held->ptr + start, held->len - start - 4 };
		im->stats->mended_line_cnt++;
		warn_line(im, im->held_line, "all columns are missing; taken from the next row");
		report_take_row(im, &row);
	} else {
		bad_line(im, im->held_line, no_row);
	}
	strbuf_reset(held);
}

/* Lines that are no rows tell what the file is instead. */
static void note_kind(struct import *im, struct text line)
{
	if (!im->kind && im->line <= KIND_LINES)
		im->kind = text_kind_of_line(line);
}

/* The beginning of a row did not go on: say so. */
static void broken_drop(struct import *im)
{
	if (im->broken.len)
		bad_line(im, im->broken_line, im->broken_why);
	strbuf_reset(&im->broken);
}

static void take_good_row(struct import *im, struct row *row)
{
	if (row->kind == ROW_OTHER)
		note_kind(im, row->text);
	im->odd_cnt = 0;
	adopt_columns(im);
	if (row->duration_ns > TEXT_REPAIR_OLD_MARK_MAX_NS)
		im->facts.old_marks = false;
	broken_drop(im);
	held_settle(im, row);
	warn_flush(im);
	report_take_row(im, row);
}

/* A row that was read by its words. */
static void take_loose_row(struct import *im, const struct loose_line *ll, struct text_parse *alone,
			   struct row *row, struct text line)
{
	const char *reason;

	if (!row_is_call(row) && row->kind != ROW_COMMENT) {
		report_take_row(im, row);
		return;
	}
	if (ll->has_old_mark)
		alone->columns.overhead = im->facts.old_marks = true;
	reason = row_damage(im, ll, alone, row, line);
	im->odd_cnt += reason == other_columns || reason == no_cpu;
	/* the first row of a section shows its columns, and so does a run of more than ODD_MAX_CNT odd rows */
	if (!im->ft.has_columns || im->odd_cnt > ODD_MAX_CNT ||
	    (im->is_gap && reason == other_columns)) {
		im->ft = *alone;
		im->ft.has_columns = true;
	} else if (im->loose.is_on && alone->cpu_width > im->ft.cpu_width) {
		im->ft.cpu_width = alone->cpu_width;
	}
	adopt_columns(im);
	held_settle(im, row);
	if (reason) {
		im->stats->mended_line_cnt++;
		warn_line(im, im->line, reason);
	} else {
		im->odd_cnt = 0;
		warn_flush(im);
	}
	report_take_row(im, row);
}

/* Rows were left out here, on purpose: no call above is certain to be whole. */
static void take_cut(struct import *im, struct text line, const struct row *at)
{
	struct row row = { .kind = ROW_LOST, .cpu = at->cpu ? at->cpu : im->cpu, .text = line };

	warn_line(im, im->line, "rows were cut out here");
	im->stats->bad_line_cnt++;
	report_take_row(im, &row);
	im->is_gap = true;
}

static void take_no_row(struct import *im, struct text line, const char *why)
{
	if (text_repair_is_bare_call(line)) {
		strbuf_add(&im->held, line.ptr, line.len);
		im->held_line = im->line;
		return;
	}
	im->is_gap = true;
	note_kind(im, line);
	im->lacks_depth |= why == text_loose_no_depth || text_kind_lacks_depth(line);
	if (!why || !text_repair_looks_like_row(line))
		why = no_row;
	bad_line(im, im->line, why);
}

static void broken_keep(struct import *im, struct text line, const char *why)
{
	if (!im->broken.len) {
		im->broken_line = im->line;
		im->broken_why = why ? why : "the row has no end";
	}
	strbuf_reset(&im->broken);
	strbuf_add(&im->broken, line.ptr, line.len);
}

/* Join the line with the beginning of a row before it. Return: whether that makes a row. */
static bool broken_join(struct import *im, struct text line)
{
	const size_t len = im->broken.len;
	struct text_parse alone;
	struct loose_line ll;
	struct row row;

	while (line.len && *line.ptr == ' ')
		line = (struct text){ line.ptr + 1, line.len - 1 };
	for (int blank_cnt = 1; line.len && blank_cnt >= 0; blank_cnt--) {
		im->broken.len = len;
		strbuf_fill(&im->broken, ' ', (size_t)blank_cnt);
		strbuf_add(&im->broken, line.ptr, line.len);
		if (!strbuf_ok(&im->broken))
			break;
		ll = text_loose_line((struct text){ im->broken.ptr, im->broken.len }, &alone, &row);
		if (ll.kind != LOOSE_ROW)
			continue;
		ll.reason = "the row was wrapped: joined with the next line";
		take_loose_row(im, &ll, &alone, &row, line);
		strbuf_reset(&im->broken);
		return true;
	}
	im->broken.len = len;
	return false;
}

/* A line that the strict parser does not take, or of a text that needs to be read by words. */
static void take_odd_line(struct import *im, struct text raw, const char *why)
{
	const struct text line = text_loose_clean(&im->loose, raw);
	struct text_parse alone;
	struct row row;
	struct loose_line ll = text_loose_line(line, &alone, &row);

	if (ll.is_event && !im->loose.is_on)
		ll.kind = LOOSE_OTHER;
	if (im->broken.len && ll.kind != LOOSE_ROW && broken_join(im, line))
		return;
	broken_drop(im);
	if (ll.kind == LOOSE_NOTHING)
		return;
	if (ll.kind != LOOSE_ROW)
		held_settle(im, NULL);
	if (ll.kind == LOOSE_ROW)
		take_loose_row(im, &ll, &alone, &row, raw);
	else if (ll.kind == LOOSE_CUT)
		take_cut(im, line, &row);
	else if (ll.kind == LOOSE_PART)
		broken_keep(im, line, why);
	else
		take_no_row(im, line, why && ll.reason != text_loose_no_depth ? why : ll.reason);
}

static void say_prefix(const struct import *im)
{
	if (*im->loose.shape)
		log_warn("'%s': each row has '%s' in front of it, which is taken off",
			 im->config->path, im->loose.sample);
	else
		log_info("'%s': its blanks are not the kernel's: it is read by its words",
			 im->config->path);
}

/* Whether the text around this line has to be read by its words. */
static bool needs_words(struct import *im, struct text line)
{
	if (!text_loose_look(&im->loose, line, lines_ahead(im->lines)))
		return false;
	say_prefix(im);
	im->ft.banner_line = 0;
	im->ft.has_columns = false;
	return true;
}

static void take_header(struct import *im, struct text line)
{
	struct row row = { .kind = ROW_OTHER, .text = line };

	note_kind(im, line);
	text_parse_line(&im->ft, line.ptr, line.len, &row);
	row = (struct row){ .kind = ROW_OTHER, .text = line };
	held_settle(im, NULL);
	adopt_columns(im);
	choose_row(im, &row);
}

static bool is_header(struct import *im, struct text line)
{
	im->in_header =
		report_begins(line, "# tracer: ") || (im->in_header && report_begins(line, "#"));
	return im->in_header;
}

/* A line of a text that is read by its words. */
static void take_clean_line(struct import *im, struct text raw)
{
	struct text line = text_loose_clean(&im->loose, raw);
	struct text_parse alone;
	struct row row;

	/* another prefix, if there is one, begins where rows end */
	if (memchr(line.ptr, '|', line.len) &&
	    text_loose_line(line, &alone, &row).kind == LOOSE_OTHER) {
		needs_words(im, raw);
		line = text_loose_clean(&im->loose, raw);
	}
	if (!is_header(im, line)) {
		take_odd_line(im, raw, NULL);
		return;
	}
	take_header(im, line);
	im->ft.has_columns = false; /* rows show which they have */
}

/* A line that looks like no row to the strict parser, but like one of another program. */
static bool is_foreign_row(struct import *im, const struct row *row)
{
	return row->kind == ROW_OTHER && row->text.len &&
	       memchr(row->text.ptr, '|', row->text.len) && needs_words(im, row->text);
}

static void take_line(struct import *im, struct text line)
{
	struct text_parse before = im->ft;
	struct row row;

	if (im->loose.is_on) {
		take_clean_line(im, line);
		return;
	}
	if (is_header(im, line)) {
		take_header(im, line);
		return;
	}
	if (!line.len && !im->ft.banner_line)
		return;
	if (line.len && im->ft.banner_line == BANNER_LINES - 1) /* its empty line is missing */
		take_line(im, (struct text){ "", 0 });
	/* a line that is not a row must not decide the columns */
	if (!im->ft.has_columns && !im->ft.banner_line && !text_repair_looks_like_row(line) &&
	    !report_begins(line, DASHES) && !report_begins(line, "CPU:")) {
		if (needs_words(im, line))
			take_clean_line(im, line);
		else
			take_odd_line(im, line, NULL);
		return;
	}
	switch (text_parse_line(&im->ft, line.ptr, line.len, &row)) {
	case TEXT_PARSE_ROW:
		if (is_foreign_row(im, &row)) {
			im->ft = before;
			im->ft.has_columns = false;
			take_clean_line(im, line);
			return;
		}
		take_good_row(im, &row);
		break;
	case TEXT_PARSE_MORE:
		break;
	default:
		before.reason = im->ft.reason;
		im->ft = before;
		im->ft.banner_line = 0;
		if (needs_words(im, line))
			take_clean_line(im, line);
		else
			take_odd_line(im, line, im->ft.reason);
	}
}

/* The next line of the file. */
static void next_line(struct import *im, struct text line)
{
	im->line++;
	im->stats->line_cnt++;
	take_line(im, line);
}

/* ---- from start to end ---- */

static void task_release(struct text_task *task)
{
	for (size_t i = 0; i < task->opened_cap; i++)
		free(task->opened[i].names);
	free(task->opened);
}

static void import_release(struct import *im)
{
	for (uint32_t i = 0; i < im->task_cnt; i++)
		task_release(&im->tasks[i]);
	for (size_t i = 0; i < im->cpu_cnt; i++)
		free(im->cpus[i].shown);
	free(im->tasks);
	hash_release(&im->by_key);
	free(im->cpus);
	text_values_release(&im->values);
	choose_rows_free(im->choice);
	pipeline_free(im->pipeline);
	strbuf_release(&im->held);
	strbuf_release(&im->broken);
	text_loose_release(&im->loose);
}

static int replaytext_choice_begin(struct import *im)
{
	const struct choose_rows_config config = {
		.opts = im->config->opts, .path = im->config->path, .emit = on_chosen, .ctx = im
	};

	if (!config.opts || (!selector_of(config.opts, 0) && !config.opts->graph_depth))
		return 0;
	return choose_rows_new(&im->choice, &config);
}

static const struct text_kind empty_kind = { "empty", "a trace was not written, or not yet" };

/* Return: VERDICT_NOTHING. */
static int refuse_as(const char *path, const struct text_kind *kind)
{
	log_error("'%s' is %s", path, kind->what);
	log_hint("%s", kind->hint);
	return VERDICT_NOTHING;
}

/* Say what the file is, since it has no call. @kind: NULL: nobody knows. Return: VERDICT_NOTHING. */
static int refuse(const struct import *im, const struct text_kind *kind)
{
	static const struct text_kind unknown = {
		"neither a recording nor function_graph text",
		"such text comes from netfgraph, perf ftrace and the kernel's tracer function_graph"
	};

	if (!kind)
		kind = im->stats->line_cnt ? &unknown : &empty_kind;
	return refuse_as(im->config->path, kind);
}

/* A text without a call. In a comparison, an empty trace is a side like any other. Return: 0 or VERDICT_NOTHING. */
static int on_no_call(const struct import *im)
{
	static const struct text_kind empty = { "an empty trace of function_graph: it has no call",
						"nothing was traced, or it was read before" };
	static const struct text_kind collapsed = {
		"function_graph text whose blanks were collapsed, so the depth of its calls is not known",
		"copy it as text that keeps its blanks"
	};
	static const struct text_kind bare = { "a trace of function_graph without a call",
					       "it has comments, events or losses alone" };

	if (!im->kind && im->lacks_depth)
		return refuse(im, &collapsed);
	if (im->kind || (!im->has_rows && (!im->has_header || im->stats->bad_line_cnt)))
		return refuse(im, im->kind);
	if (im->config->opts && im->config->opts->verb == VERB_DIFF)
		return 0;
	return refuse(im, im->has_rows ? &bare : &empty);
}

/* Whether the file was read to its end. Return: 0, -errno or a verdict, already logged. */
static int read_error(const char *path, const struct lines *ls)
{
	const char *why;
	const int err = lines_error(ls, &why);

	if (err && why) {
		log_error("'%s': %s", path, why);
	} else if (err == -EISDIR) {
		log_error("'%s' is a directory", path);
		log_hint("give the name of a file in this directory");
		return VERDICT_NOTHING;
	} else if (err && err != -ENOMEM) {
		log_error("cannot read '%s': %s", path, strerror(-err));
	}
	return err;
}

static int import_lines(struct import *im, struct lines *ls)
{
	struct text line;

	im->lines = ls;
	while (!im->err && !report_is_stopped(im->config) && lines_next(ls, &line)) {
		if (!im->line)
			im->kind = text_kind_of_head(lines_head(ls));
		if (im->kind && !im->line)
			return refuse(im, im->kind);
		next_line(im, line);
	}
	if (im->ft.banner_line == BANNER_LINES - 1) /* its empty line is easily lost at the end */
		next_line(im, (struct text){ "", 0 });
	broken_drop(im);
	held_settle(im, NULL);
	early_flush(im);
	/* of a file of which no line is one, on_no_call says it */
	if (im->has_calls || im->has_rows || im->warn_cnt || im->warn_reason != no_row)
		warn_flush(im);
	if (!im->err)
		im->err = read_error(im->config->path, ls);
	if (!im->err && !im->has_calls)
		im->err = on_no_call(im);
	if (!im->err && im->choice)
		im->err = choose_rows_finish(im->choice);
	if (!im->err && im->has_calls && !im->has_shown)
		im->err = report_no_match(im->config);
	if (!im->err)
		im->err = pipeline_flush(im->pipeline, true);
	/* do not replace a file with comments alone, without a call */
	im->stats->row_cnt = im->err && !im->has_shown ? 0 : pipeline_row_cnt(im->pipeline);
	log_info("%" PRIu64 " %s: %" PRIu64 " %s in %" PRIu64 " %s; %" PRIu64 " mended, %" PRIu64
		 " left out",
		 im->stats->line_cnt, plural(im->stats->line_cnt, "line", "lines"),
		 im->stats->call_cnt, plural(im->stats->call_cnt, "call", "calls"),
		 im->stats->row_cnt, plural(im->stats->row_cnt, "row", "rows"),
		 im->stats->mended_line_cnt, im->stats->bad_line_cnt);
	return im->err;
}

static int import_new(struct import *im)
{
	const struct pipeline_config config = {
		.facts = &im->facts,
		.sink = im->config->sink,
	};
	int err;

	im->facts.is_text = true;
	im->facts.node = im->config->opts ? im->config->opts->host : NULL;
	text_parse_init(&im->ft);
	adopt_columns(im);
	err = replaytext_choice_begin(im);
	return err ? err : pipeline_new(&im->pipeline, &config);
}

/* Return: 0 or -errno, already logged. */
static int open_lines(struct lines **out, const char *path)
{
	const int err = lines_open(out, path);

	if (err && err != -ENOMEM) {
		log_error("cannot read '%s': %s", path, strerror(-err));
		openhint_read(err);
	}
	return err;
}

int report_text_run(const struct report_config *config, struct report_stats *stats)
{
	struct import im = { .config = config, .stats = stats };
	struct lines *ls = NULL;
	int err = open_lines(&ls, config->path);

	if (!err)
		err = report_check_input(config, lines_fd(ls));
	if (!err && config->opened)
		config->opened();
	if (!err)
		err = import_new(&im);
	if (!err)
		err = import_lines(&im, ls);
	lines_free(ls);
	import_release(&im);
	return err;
}

int report_text_refuse(const char *path, void (*opened)(void))
{
	const struct text_kind *kind;
	struct lines *ls = NULL;
	struct text line;
	bool has_line;
	int err = open_lines(&ls, path);

	if (err)
		return err;
	opened();
	has_line = lines_next(ls, &line);
	err = read_error(path, ls);
	kind = has_line ? text_kind_of_head(lines_head(ls)) : &empty_kind;
	if (!err && kind) {
		err = refuse_as(path, kind);
	} else if (!err) {
		log_error("'%s': this is not a recording", path);
		log_hint(
			"'netfgraph report FILE' and 'netfgraph diff A B' read texts of function_graph");
		err = -EBADMSG;
	}
	lines_free(ls);
	return err;
}
