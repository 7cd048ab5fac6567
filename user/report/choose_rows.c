#include "report/choose_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace/event.h"
#include "report/funcfilter.h"
#include "base/hash.h"
#include "base/log.h"
#include "options/taskfilter.h"
#include "trace/brace.h"
#include "trace/rowbuf.h"
#include "trace/start_gate.h"

#define NAME_BYTES (ROW_NAME_MAX + 1)
#define COMM_BYTES 7
#define QUEUE_MAX  65536u
#define HELD_MAX   (1u << 20) /* rows of all roots that are open */
#define HELD_KEPT  1024u      /* the memory of fewer is kept for the next root */

/* A call that is open. */
struct frame {
	bool is_open;
	bool is_shown;
	uint32_t serial; /* never 0 */
};

/* The rows of one task, or of a CPU where tasks are not known. */
struct lane {
	struct lane *next;
	uint64_t key;
	struct frame *frames; /* by depth */
	uint32_t frame_cnt;
	uint32_t used_cnt; /* the frames from here on are zero */
	bool is_huge;      /* there was no room for all of held */
	struct start_gate gate;
	uint32_t entry_cpu;    /* where its last ENTRY was shown ... */
	uint32_t entry_serial; /* ... and of which call; 0: none */
	struct rowbuf held;    /* of the root that is open, until it is known how long it took */
	struct rowbuf comment; /* the last row, if it is one outside of any root */
};

/* What is going on on a CPU. */
struct seat {
	struct braces read; /* in the text */
	struct braces shown;
	bool has_entry;  /* its last row is an ENTRY, that is a leaf if the call ends next */
	size_t entry_at; /* where that is in the queue */
	uint32_t entry_serial;
	/* whose rows were shown last */
	bool has_banners;
	bool is_taken;
	struct task_name task;
	struct task_name before; /* the first banner */
	char comm[16];
	char comm_before[16];
};

struct choose_rows {
	struct choose_rows_config config;
	struct funcfilter pick;
	bool has_roots;
	struct lane **buckets; /* a power of two, not fewer than there are lanes */
	size_t bucket_cnt;
	size_t lane_cnt;
	size_t held_cnt;     /* in all lanes */
	uint64_t huge_cnt;   /* roots that are not shown, for they were not held */
	struct seat **seats; /* by CPU; NULL: nothing was shown there */
	uint32_t seat_cnt;
	struct rowbuf
		queue; /* rows to be shown, behind one that is not known to be a leaf or not */
	size_t queue_at;
	uint32_t serial;   /* of the last frame */
	bool was_shown;    /* the last call */
	bool has_tail;     /* each } says which call it ends */
	bool has_no_names; /* none does */
	bool has_tasks;
	int err;
};

int choose_rows_new(struct choose_rows **out, const struct choose_rows_config *config)
{
	struct choose_rows *rc = calloc(1, sizeof(*rc));

	if (!rc)
		return -ENOMEM;
	rc->config = *config;
	rc->has_roots = config->opts->graph_funcs.cnt || config->opts->presets.cnt;
	if (funcfilter_init(&rc->pick, config->opts)) {
		choose_rows_free(rc);
		return -ENOMEM;
	}
	*out = rc;
	return 0;
}

void choose_rows_free(struct choose_rows *rc)
{
	if (!rc)
		return;
	for (size_t i = 0; i < rc->bucket_cnt; i++) {
		while (rc->buckets[i]) {
			struct lane *lane = rc->buckets[i];

			rc->buckets[i] = lane->next;
			rowbuf_release(&lane->held);
			rowbuf_release(&lane->comment);
			free(lane->frames);
			free(lane);
		}
	}
	free(rc->buckets);
	rowbuf_release(&rc->queue);
	funcfilter_release(&rc->pick);
	for (uint32_t cpu = 0; cpu < rc->seat_cnt; cpu++)
		free(rc->seats[cpu]);
	free(rc->seats);
	free(rc);
}

/* ---- who is at work ---- */

static bool is_known(const struct task_name *task)
{
	return task->tid || task->comm.len;
}

static uint64_t lane_key(const struct row *row)
{
	return is_known(&row->task) ? event_task(row->task.tid, row->cpu) : 1ull << 33 | row->cpu;
}

/* Where the lane of that key is, or would be put. There are buckets. */
static struct lane **lane_slot(const struct choose_rows *rc, uint64_t key)
{
	struct lane **slot = &rc->buckets[hash_u64(key) & (rc->bucket_cnt - 1)];

	while (*slot && (*slot)->key != key)
		slot = &(*slot)->next;
	return slot;
}

static bool buckets_grow(struct choose_rows *rc)
{
	struct choose_rows grown = { .bucket_cnt = rc->bucket_cnt ? rc->bucket_cnt * 2 : 64 };

	grown.buckets = calloc(grown.bucket_cnt, sizeof(struct lane *));
	if (!grown.buckets)
		return false;
	for (size_t i = 0; i < rc->bucket_cnt; i++) {
		while (rc->buckets[i]) {
			struct lane *lane = rc->buckets[i];
			struct lane **slot = lane_slot(&grown, lane->key);

			rc->buckets[i] = lane->next;
			lane->next = NULL;
			*slot = lane;
		}
	}
	free(rc->buckets);
	rc->buckets = grown.buckets;
	rc->bucket_cnt = grown.bucket_cnt;
	return true;
}

static struct lane *lane_of(struct choose_rows *rc, const struct row *row)
{
	const uint64_t key = lane_key(row);
	struct lane **slot;

	if (rc->lane_cnt == rc->bucket_cnt && !buckets_grow(rc)) {
		rc->err = -ENOMEM;
		return NULL;
	}
	slot = lane_slot(rc, key);
	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot) {
			rc->err = -ENOMEM;
			return NULL;
		}
		(*slot)->key = key;
		rc->lane_cnt++;
	}
	return *slot;
}

static struct frame *frame_at(struct choose_rows *rc, struct lane *lane, uint32_t depth)
{
	if (depth >= lane->frame_cnt) {
		uint32_t cnt = depth + 16;
		struct frame *frames = realloc(lane->frames, cnt * sizeof(*frames));

		if (!frames) {
			rc->err = -ENOMEM;
			return NULL;
		}
		memset(frames + lane->frame_cnt, 0, (cnt - lane->frame_cnt) * sizeof(*frames));
		lane->frames = frames;
		lane->frame_cnt = cnt;
	}
	if (depth >= lane->used_cnt)
		lane->used_cnt = depth + 1;
	return &lane->frames[depth];
}

static struct seat *seat_of(struct choose_rows *rc, uint32_t cpu)
{
	if (cpu >= rc->seat_cnt) {
		uint32_t cnt = cpu + 16;
		struct seat **seats = realloc(rc->seats, cnt * sizeof(struct seat *));

		if (!seats) {
			rc->err = -ENOMEM;
			return NULL;
		}
		memset(seats + rc->seat_cnt, 0, (cnt - rc->seat_cnt) * sizeof(struct seat *));
		rc->seats = seats;
		rc->seat_cnt = cnt;
	}
	if (!rc->seats[cpu])
		rc->seats[cpu] = calloc(1, sizeof(struct seat));
	if (!rc->seats[cpu])
		rc->err = -ENOMEM;
	return rc->seats[cpu];
}

static bool is_wanted_cpu(const struct choose_rows *rc, uint32_t cpu)
{
	const struct opts *opts = rc->config.opts;

	return !opts->has_cpus || cpu_set_list_has(&opts->cpus, cpu);
}

static bool is_wanted_task(const struct choose_rows *rc, const struct task_name *task)
{
	const struct opts *opts = rc->config.opts;

	return (!opts->tids.cnt || (is_known(task) && taskfilter_has_tid(opts, task->tid))) &&
	       taskfilter_has_comm(opts, task->comm, COMM_BYTES);
}

/* ---- which } must say its name ---- */

/* As the text does it. */
static void row_name(struct choose_rows *rc, struct seat *seat, struct row *row)
{
	bool has_to = braces_row(&seat->shown, row->kind, row->depth, brace_func(row));

	if (row->kind == ROW_RETURN && !rc->has_tail)
		row->is_named = has_to && !rc->has_no_names;
}

static void names_learn(struct choose_rows *rc, const struct row *row)
{
	struct seat *seat = seat_of(rc, row->cpu);
	bool has_to = seat && braces_row(&seat->read, row->kind, row->depth, brace_func(row));

	if (row->kind != ROW_RETURN)
		return;
	rc->has_tail |= row->is_named && !has_to;
	rc->has_no_names |= !row->is_named && has_to;
}

/* ---- rows that are shown ---- */

static void seat_take(struct seat *seat, const struct task_name *task)
{
	size_t len = task->comm.len < sizeof(seat->comm) ? task->comm.len : sizeof(seat->comm);

	seat->is_taken = true;
	memcpy(seat->comm, len ? task->comm.ptr : "", len);
	seat->task = (struct task_name){ task->tid, { seat->comm, len } };
}

/* A banner before @row, if another task's rows stood before it on that CPU. */
static void show_banner(struct choose_rows *rc, const struct row *row)
{
	struct seat *seat = seat_of(rc, row->cpu);
	struct row banner = { .kind = ROW_BANNER, .cpu = row->cpu, .task = row->task };

	if (!seat)
		return;
	banner.prev = is_known(&seat->task) ? seat->task : seat->before;
	if (seat->has_banners && seat->is_taken && is_known(&row->task) &&
	    banner.prev.tid != row->task.tid)
		rc->config.emit(rc->config.ctx, &banner);
	seat_take(seat, &row->task);
}

/* Until the next call that may yet become a leaf. */
static void queue_flush(struct choose_rows *rc)
{
	struct rowbuf *queue = &rc->queue;

	for (; rc->queue_at < queue->cnt && !queue->rows[rc->queue_at].is_pending; rc->queue_at++) {
		struct row row = rowbuf_get(queue, rc->queue_at);

		if (row_is_call(&row)) {
			show_banner(rc, &row);
			row_name(rc, rc->seats[row.cpu], &row);
		}
		rc->config.emit(rc->config.ctx, &row);
	}
	if (rc->queue_at < queue->cnt)
		return;
	rowbuf_clear(queue);
	rc->queue_at = 0;
}

/* Nobody waits for ever: what may be a leaf is none. */
static void queue_settle(struct choose_rows *rc)
{
	for (uint32_t cpu = 0; cpu < rc->seat_cnt; cpu++) {
		struct seat *seat = rc->seats[cpu];

		if (!seat || !seat->has_entry)
			continue;
		rc->queue.rows[seat->entry_at].is_pending = false;
		seat->has_entry = false;
	}
	queue_flush(rc);
}

/* On whatever CPU its call began: what has calls inside is no leaf. */
static void decide_caller(struct choose_rows *rc, struct lane *lane, const struct row *row)
{
	struct seat *seat = lane->entry_serial ? seat_of(rc, lane->entry_cpu) : NULL;

	if (row->kind == ROW_RETURN)
		return;
	if (seat && seat->has_entry && seat->entry_serial == lane->entry_serial &&
	    lane->entry_cpu != row->cpu) {
		rc->queue.rows[seat->entry_at].is_pending = false;
		seat->has_entry = false;
	}
}

/*
 * @serial: of the call that begins or ends, else 0. As in the kernel, one that ends next on its CPU is a leaf;
 * but not when it called something on another (get_return_for_leaf of kernel/trace/trace_functions_graph.c
 * makes a leaf of that).
 */
static void show(struct choose_rows *rc, const struct row *row, uint32_t serial)
{
	struct seat *seat = seat_of(rc, row->cpu);
	bool is_leaf = row->kind == ROW_RETURN && serial && seat && seat->has_entry &&
		       seat->entry_serial == serial;

	if (!seat)
		return;
	if (is_leaf ? rowbuf_end(&rc->queue, seat->entry_at, row) : rowbuf_add(&rc->queue, row)) {
		rc->err = -ENOMEM;
		return;
	}
	if (seat->has_entry)
		rc->queue.rows[seat->entry_at].is_pending = false;
	seat->has_entry = !is_leaf && row->kind == ROW_ENTRY;
	if (seat->has_entry) {
		seat->entry_at = rc->queue.cnt - 1;
		seat->entry_serial = serial;
		rc->queue.rows[seat->entry_at].is_pending = true;
	}
	if (rc->queue.cnt < QUEUE_MAX)
		queue_flush(rc);
	else
		queue_settle(rc);
}

static void show_call(struct choose_rows *rc, struct lane *lane, const struct row *row,
		      uint32_t serial)
{
	if (row_is_call(row))
		decide_caller(rc, lane, row);
	show(rc, row, serial);
	if (row->kind == ROW_ENTRY) {
		lane->entry_cpu = row->cpu;
		lane->entry_serial = serial;
	}
}

static void held_drop(struct choose_rows *rc, struct lane *lane)
{
	rc->held_cnt -= lane->held.cnt;
	rowbuf_release(&lane->held);
}

static void show_or_hold(struct choose_rows *rc, struct lane *lane, const struct row *row,
			 uint32_t serial)
{
	if (!rc->config.opts->slower_ns) {
		show_call(rc, lane, row, serial);
		return;
	}
	lane->is_huge |= rc->held_cnt == HELD_MAX;
	if (lane->is_huge) {
		held_drop(rc, lane);
		return;
	}
	if (rowbuf_add(&lane->held, row)) {
		rc->err = -ENOMEM;
		return;
	}
	lane->held.rows[lane->held.cnt - 1].serial = serial;
	rc->held_cnt++;
}

static void root_returned(struct choose_rows *rc, struct lane *lane, uint64_t duration_ns)
{
	bool is_shown = duration_ns >= rc->config.opts->slower_ns;

	rc->huge_cnt += lane->is_huge && is_shown;
	lane->is_huge = false;
	for (size_t i = 0; i < lane->held.cnt && is_shown && !rc->err; i++) {
		struct row row = rowbuf_get(&lane->held, i);

		show_call(rc, lane, &row, lane->held.rows[i].serial);
	}
	if (lane->held.cnt > HELD_KEPT) {
		held_drop(rc, lane);
		return;
	}
	rc->held_cnt -= lane->held.cnt;
	rowbuf_clear(&lane->held);
}

/* ---- calls ---- */

/* Callers that are not shown make no room. */
static uint32_t depth_shown(const struct lane *lane, uint32_t depth, bool has_roots)
{
	uint32_t first = has_roots && lane->gate.start_depth ? lane->gate.start_depth - 1 : 0;
	uint32_t shown = depth < first ? 0 : depth - first; /* a comment may stand anywhere */

	for (uint32_t i = first; i < depth && i < lane->used_cnt; i++)
		shown -= lane->frames[i].is_open && !lane->frames[i].is_shown;
	return shown;
}

/* Calls whose end never came are over when a call begins, or another ends, at their depth or above. */
static void frames_close(struct choose_rows *rc, struct lane *lane, uint32_t depth)
{
	for (uint32_t i = depth; i < lane->used_cnt; i++)
		lane->frames[i] = (struct frame){ 0 };
	if (lane->used_cnt > depth)
		lane->used_cnt = depth;
	if (start_gate_close(&lane->gate, depth))
		root_returned(rc, lane, 0);
}

static unsigned int kind_of(struct choose_rows *rc, const struct row *row)
{
	char name[NAME_BYTES];
	char module[64];

	snprintf(name, sizeof(name), "%.*s", (int)row->name.len,
		 row->name.len ? row->name.ptr : "");
	snprintf(module, sizeof(module), "%.*s", (int)row->module.len,
		 row->module.len ? row->module.ptr : "");
	return funcfilter_kind(&rc->pick, name, row->module.len ? module : NULL);
}

static bool is_in_graph(const struct choose_rows *rc, const struct lane *lane)
{
	bool needs_root = rc->has_roots || rc->config.opts->slower_ns;

	return !lane->gate.shut_depth && (!needs_root || lane->gate.start_depth);
}

/* What was said just before the root began is said of it. */
static void show_comment(struct choose_rows *rc, struct lane *lane, uint32_t depth)
{
	struct row comment;

	if (!lane->comment.cnt)
		return;
	comment = rowbuf_get(&lane->comment, 0);
	comment.depth = depth;
	show_or_hold(rc, lane, &comment, 0);
}

static void on_begin(struct choose_rows *rc, struct lane *lane, const struct row *row)
{
	const unsigned int kind = kind_of(rc, row);
	bool is_start = rc->has_roots ? kind & FUNCPICK_ROOT : rc->config.opts->slower_ns != 0;
	struct frame *frame = frame_at(rc, lane, row->depth);
	struct row shown = *row;
	bool is_shown;

	if (!frame)
		return;
	frames_close(rc, lane, row->depth);
	if (kind & FUNCPICK_CHOSEN)
		start_gate_enter(&lane->gate, row->depth, is_start, kind & FUNCPICK_SHUT);
	shown.depth = depth_shown(lane, row->depth, rc->has_roots);
	is_shown = kind & FUNCPICK_CHOSEN && is_in_graph(rc, lane) &&
		   (!rc->config.opts->graph_depth || shown.depth < rc->config.opts->graph_depth);
	rc->serial += rc->serial + 1 ? 1 : 2;
	*frame = (struct frame){ .is_open = row->kind == ROW_ENTRY,
				 .is_shown = is_shown,
				 .serial = rc->serial };
	rc->was_shown = is_shown;
	if (is_shown) {
		show_comment(rc, lane, shown.depth);
		show_or_hold(rc, lane, &shown, row->kind == ROW_ENTRY ? rc->serial : 0);
	}
}

/* The end of a call, its own row's or a leaf's. */
static void on_end(struct choose_rows *rc, struct lane *lane, const struct row *row)
{
	struct frame *frame = frame_at(rc, lane, row->depth);
	struct row shown = *row;
	bool is_shown;

	if (!frame)
		return;
	if (row->kind == ROW_RETURN) {
		/* what it called has ended, seen or not; and what is open at its depth may be another call */
		frames_close(rc, lane, row->depth + !row->lacks_duration);
		/* its beginning was before the text, or is damaged */
		is_shown = frame->is_open
				   ? frame->is_shown
				   : kind_of(rc, row) & FUNCPICK_CHOSEN && is_in_graph(rc, lane);
		shown.depth = depth_shown(lane, row->depth, rc->has_roots);
		rc->was_shown = is_shown;
		if (is_shown)
			show_or_hold(rc, lane, &shown, frame->is_open ? frame->serial : 0);
	}
	if (start_gate_close(&lane->gate, row->depth))
		root_returned(rc, lane, row->duration_ns);
	frames_close(rc, lane, row->depth);
}

static void on_comment(struct choose_rows *rc, struct lane *lane, const struct row *row)
{
	struct row shown = *row;

	shown.depth = depth_shown(lane, row->depth, rc->has_roots);
	if (is_in_graph(rc, lane))
		show_or_hold(rc, lane, &shown, 0);
	else if (!lane->gate.shut_depth && rowbuf_add(&lane->comment, row))
		rc->err = -ENOMEM;
}

/* ---- rows ---- */

/* Before its first banner a CPU's task was not known; now it is. */
static void lane_rename(struct choose_rows *rc, const struct row *banner)
{
	const struct row unknown = { .cpu = banner->cpu };
	struct row known = { .cpu = banner->cpu, .task = banner->prev };
	struct lane **slot;
	struct lane *lane;

	if (!rc->lane_cnt || !is_known(&banner->prev))
		return;
	slot = lane_slot(rc, lane_key(&unknown));
	lane = *slot;
	if (!lane || *lane_slot(rc, lane_key(&known)))
		return; /* nothing was seen here, or it has run elsewhere before */
	*slot = lane->next;
	lane->key = lane_key(&known);
	lane->next = NULL;
	*lane_slot(rc, lane->key) = lane;
}

static void on_banner(struct choose_rows *rc, const struct row *row)
{
	struct seat *seat = seat_of(rc, row->cpu);
	size_t len = row->prev.comm.len;

	if (!seat || seat->has_banners)
		return;
	lane_rename(rc, row);
	len = len < sizeof(seat->comm_before) ? len : sizeof(seat->comm_before);
	memcpy(seat->comm_before, len ? row->prev.comm.ptr : "", len);
	seat->before = (struct task_name){ row->prev.tid, { seat->comm_before, len } };
	seat->has_banners = true;
}

static void on_lane_row(struct choose_rows *rc, const struct row *row)
{
	struct lane *lane;

	if (row_is_call(row))
		names_learn(rc, row);
	rc->has_tasks |= is_known(&row->task);
	if (!is_wanted_cpu(rc, row->cpu) || !is_wanted_task(rc, &row->task)) {
		rc->was_shown = false;
		return;
	}
	lane = lane_of(rc, row);
	if (!lane)
		return;
	if (row->kind == ROW_COMMENT) {
		rowbuf_clear(&lane->comment);
		on_comment(rc, lane, row);
		return;
	}
	if (row->kind != ROW_RETURN)
		on_begin(rc, lane, row);
	if (row->kind != ROW_ENTRY)
		on_end(rc, lane, row);
	rowbuf_clear(&lane->comment);
}

int choose_rows_row(struct choose_rows *rc, const struct row *row)
{
	struct row shown = *row;

	switch (row->kind) {
	case ROW_BANNER:
		on_banner(rc, row);
		break;
	case ROW_LOST:
		if (is_wanted_cpu(rc, row->cpu))
			show(rc, &shown, 0);
		break;
	case ROW_OVERRUN:
		if (rc->was_shown && !rc->config.opts->slower_ns)
			show(rc, &shown, 0);
		break;
	case ROW_OTHER:
		show(rc, &shown, 0);
		break;
	default:
		on_lane_row(rc, row);
	}
	return rc->err;
}

int choose_rows_finish(struct choose_rows *rc)
{
	const struct funcrule *rule = funcfilter_unmatched(&rc->pick);

	queue_settle(rc);
	if (rc->err)
		return rc->err;
	if (rc->huge_cnt)
		log_warn("'%s': %" PRIu64
			 " calls are left out: too many rows to hold until they return",
			 rc->config.path, rc->huge_cnt);
	if (!rc->has_tasks && (rc->config.opts->tids.cnt || rc->config.opts->comms.cnt)) {
		log_error("'%s' does not tell tasks: it has no TASK/PID column and no banners",
			  rc->config.path);
		log_hint("leave --tid and --comm out");
		return -ENOMSG;
	}
	if (!rule)
		return 0;
	log_error("'%s': no function of the text %s '%s'", rc->config.path,
		  rule->is_exact ? "is called" : "matches", rule->func);
	log_hint(
		"netfgraph profile --from ftrace --input FILE lists the functions that were called");
	return -ENOMSG;
}
