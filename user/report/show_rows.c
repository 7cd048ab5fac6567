#include "report/show_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "trace/brace.h"
#include "trace/rowbuf.h"

/* Rows that may wait for an ENTRY; with more, the ENTRY is not a leaf. */
#define WAITING_MAX_CNT 65536u

/* A task's name, in memory of its own. */
struct task_copy {
	uint32_t tid;
	uint32_t comm_len;
	char comm[16];
};

struct cpu {
	struct braces read;     /* as the text goes */
	struct braces shown;    /* as the rows go that are shown */
	bool has_entry;         /* its last row is an ENTRY, whose call is a leaf if it ends next */
	size_t entry_at;        /* of that one, the place in the queue ... */
	uint64_t entry_call;    /* ... and the call */
	bool has_banners;       /* the text has, of this CPU */
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
	bool has_tail;       /* of the text: a } has its name where it need not ... */
	bool lacks_names;    /* ... or lacks it where it must */
};

int show_rows_new(struct show_rows **out, const struct show_rows_config *config)
{
	struct show_rows *sr = calloc(1, sizeof(*sr));

	if (!sr)
		return -ENOMEM;
	sr->config = *config;
	*out = sr;
	return 0;
}

void show_rows_free(struct show_rows *sr)
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
static struct cpu *cpu_get(struct show_rows *sr, uint32_t id)
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

int show_rows_read(struct show_rows *sr, const struct row *row)
{
	struct cpu *cpu = cpu_get(sr, row->cpu);
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

bool show_rows_has_banners(const struct show_rows *sr, uint32_t cpu)
{
	return cpu < sr->cpu_cnt && sr->cpus[cpu] && sr->cpus[cpu]->has_banners;
}

/* ---- rows that come out ---- */

/* A banner before @row, if rows of another task precede it on that CPU. */
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

/* Up to the next row that may yet become a leaf. */
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

void show_rows_has_callees(struct show_rows *sr, uint32_t cpu_id, uint64_t call)
{
	struct cpu *cpu = cpu_id < sr->cpu_cnt ? sr->cpus[cpu_id] : NULL;

	if (cpu && cpu->has_entry && cpu->entry_call == call)
		decide_entry(sr, cpu);
}

void show_rows_finish(struct show_rows *sr)
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

int show_rows_add(struct show_rows *sr, const struct row *row, uint64_t call)
{
	struct cpu *cpu = cpu_get(sr, row->cpu);
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
