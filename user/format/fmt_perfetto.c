/*
 * Perfetto's protobuf: TracePackets with track events. The field numbers are those of perfetto's
 * protos; tests/golden/perfetto_min.proto names them again.
 *
 * A thread has a track below its process. Softirqs and hard interrupts have one for each CPU, if a trace shows them
 * (callcontext.h); so do losses, and tasks that the trace does not identify. Threads of unknown processes have tracks
 * with only a name: an invented process number could be taken for another trace's process.
 *
 * Names are interned: the first event has the name, later ones its number.
 */
#include "format/perfetto_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleantext.h"
#include "format/format.h"

/* ---- names ---- */

static void put_interned(struct strbuf *out, unsigned int field, uint64_t iid, struct text name)
{
	size_t mark = protobuf_begin(out, field);

	protobuf_uint(out, INTERNED_IID, iid);
	protobuf_string(out, INTERNED_NAME, name);
	protobuf_end(out, mark);
}

static void put_sym_name(struct perfetto *pf, const struct callsym *sym)
{
	size_t mark = protobuf_begin(pf->out, INTERNED_EVENT_NAMES);
	size_t name;

	protobuf_uint(pf->out, INTERNED_IID, IID_SYM_BASE + sym->id);
	name = protobuf_begin(pf->out, INTERNED_NAME);
	fmt_sym(pf->out, sym, CLEAN_WORD);
	protobuf_end(pf->out, name);
	protobuf_end(pf->out, mark);
}

/* The names that @sym's packet must bring. */
static void put_new_names(struct perfetto *pf, const struct callsym *sym)
{
	size_t mark;

	if (!sym || sym->id < pf->interned_cnt)
		return;
	mark = protobuf_begin(pf->out, PACKET_INTERNED_DATA);
	while (pf->interned_cnt <= sym->id)
		put_sym_name(pf, calltree_sym(pf->tree, pf->interned_cnt++));
	protobuf_end(pf->out, mark);
}

/* ---- events ---- */

static void put_flow(struct perfetto *pf, const struct calltask *task, struct call *call)
{
	struct packetflow_step step;
	int err = packetflow_step(&pf->flows, task, call, &step);

	if (err)
		pf->err = err;
	else if (step.id)
		protobuf_fixed64(pf->out, step.is_end ? EVENT_LAST_FLOW_IDS : EVENT_FLOW_IDS,
				 step.id);
}

/* The task that an interrupt or softirq interrupted: the task on the CPU. */
static void put_interrupted(struct perfetto *pf, const struct calltask *task,
			    const struct call *call)
{
	size_t mark;
	size_t value;

	if (call->user <= TRACK_TASK ||
	    (call->depth && task->calls[call->depth - 1].user == call->user))
		return;
	mark = protobuf_begin(pf->out, EVENT_ANNOTATIONS);
	protobuf_string(pf->out, ANNOTATION_NAME, (struct text){ "task", 4 });
	value = protobuf_begin(pf->out, ANNOTATION_STRING);
	fmt_task(pf->out, task, CLEAN_WORD);
	strbuf_char(pf->out, '-');
	strbuf_u64(pf->out, task->tid);
	protobuf_end(pf->out, value);
	protobuf_end(pf->out, mark);
}

static void put_begin(struct perfetto *pf, const struct calltask *task, struct call *call,
		      uint64_t type, bool is_whole)
{
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t event;

	protobuf_uint(pf->out, PACKET_TIMESTAMP, call->begin_ns);
	put_new_names(pf, call->sym);
	event = protobuf_begin(pf->out, PACKET_TRACK_EVENT);
	protobuf_uint(pf->out, EVENT_TYPE, type);
	protobuf_uint(pf->out, EVENT_TRACK_UUID, perfetto_call_uuid(task, call));
	protobuf_uint(pf->out, EVENT_NAME_IID,
		      call->sym ? IID_SYM_BASE + call->sym->id : IID_UNKNOWN);
	perfetto_annotations(pf, task, call, true, is_whole);
	put_interrupted(pf, task, call);
	if (call->has_entry)
		put_flow(pf, task, call);
	protobuf_end(pf->out, event);
	protobuf_end(pf->out, packet);
}

static void on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct perfetto *pf = ctx;

	perfetto_name_task(pf, task, call->depth > 0);
	perfetto_choose_track(pf, task, call);
	perfetto_count_open(pf, call, 1);
	put_begin(pf, task, call, TYPE_SLICE_BEGIN, false);
}

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct perfetto *pf = ctx;
	bool is_whole = call->is_leaf || !call->has_entry;
	size_t packet;
	size_t event;

	perfetto_name_task(pf, task, call->depth > 0 || !is_whole);
	if (is_whole)
		perfetto_choose_track(pf, task, call);
	else
		perfetto_count_open(pf, call, -1);
	if (!call->has_entry && !call->has_duration) {
		put_begin(pf, task, call, TYPE_INSTANT, true);
		return;
	}
	if (is_whole)
		put_begin(pf, task, call, TYPE_SLICE_BEGIN, true);
	packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	protobuf_uint(pf->out, PACKET_TIMESTAMP, call->end_ns);
	event = protobuf_begin(pf->out, PACKET_TRACK_EVENT);
	protobuf_uint(pf->out, EVENT_TYPE, TYPE_SLICE_END);
	protobuf_uint(pf->out, EVENT_TRACK_UUID, perfetto_call_uuid(task, call));
	if (!is_whole)
		perfetto_annotations(pf, task, call, false, true);
	protobuf_end(pf->out, event);
	protobuf_end(pf->out, packet);
}

/* An event of a type without a function; len 0: an end. */
static void put_event(struct perfetto *pf, uint64_t type, uint64_t uuid, uint64_t time_ns,
		      struct text name)
{
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t event;

	protobuf_uint(pf->out, PACKET_TIMESTAMP, time_ns);
	event = protobuf_begin(pf->out, PACKET_TRACK_EVENT);
	protobuf_uint(pf->out, EVENT_TYPE, type);
	protobuf_uint(pf->out, EVENT_TRACK_UUID, uuid);
	if (name.len)
		protobuf_string(pf->out, EVENT_NAME, name);
	protobuf_end(pf->out, event);
	protobuf_end(pf->out, packet);
}

/* Events of a CPU are missing between its last row and this one. */
static void put_lost(struct perfetto *pf, const struct row *row)
{
	char bytes[64];
	struct strbuf name = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	struct cputracks *tracks = perfetto_cpu(pf, row->cpu);
	uint64_t end_ns = calltree_time(pf->tree, row);
	uint64_t begin_ns = end_ns;

	if (!tracks)
		return;
	strbuf_str(&name, "LOST ");
	if (row->lost_cnt) {
		strbuf_u64(&name, row->lost_cnt);
		strbuf_char(&name, ' ');
	}
	strbuf_str(&name, "EVENTS");
	perfetto_name_cpu(pf, row->cpu);
	if (!tracks->has_loss)
		perfetto_put_track(pf, UUID(UUID_LOSS, row->cpu), UUID(UUID_CPU, row->cpu),
				   "lost events, CPU ", row->cpu);
	tracks->has_loss = true;
	if (tracks->last_ns && tracks->last_ns < end_ns)
		begin_ns = tracks->last_ns;
	put_event(pf, TYPE_SLICE_BEGIN, UUID(UUID_LOSS, row->cpu), begin_ns,
		  (struct text){ name.ptr, name.len });
	put_event(pf, TYPE_SLICE_END, UUID(UUID_LOSS, row->cpu), end_ns, (struct text){ "", 0 });
	tracks->last_ns = end_ns;
}

/* Of a task or, where no task has this comment, of its CPU. */
static int put_comment(struct perfetto *pf, const struct row *row)
{
	struct calltask *task = calltree_task(pf->tree, row);
	const struct call *call;

	if (!task)
		return -ENOMEM;
	perfetto_name_task(pf, task, task->call_cnt > 0);
	call = task->call_cnt ? &task->calls[task->call_cnt - 1] : NULL;
	put_event(pf, TYPE_INSTANT,
		  call ? perfetto_call_uuid(task, call) : perfetto_task_uuid(task),
		  calltree_time(pf->tree, row), row->text);
	return 0;
}

/* ---- beginning ---- */

static void put_clock(struct strbuf *out, uint64_t id, uint64_t time_ns)
{
	size_t clock = protobuf_begin(out, SNAPSHOT_CLOCKS);

	protobuf_uint(out, SNAPSHOT_CLOCK_ID, id);
	protobuf_uint(out, SNAPSHOT_TIMESTAMP, time_ns);
	protobuf_end(out, clock);
}

/* What the clock of the events is, so that a trace can be shown together with others. */
static void put_clocks(struct perfetto *pf, uint64_t time_ns)
{
	size_t packet = protobuf_begin(pf->out, TRACE_PACKET);
	size_t snapshot;

	protobuf_uint(pf->out, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	snapshot = protobuf_begin(pf->out, PACKET_CLOCK_SNAPSHOT);
	put_clock(pf->out, CLOCK_ID_MONOTONIC, time_ns);
	put_clock(pf->out, CLOCK_ID_REALTIME, time_ns + pf->real_offset_ns);
	protobuf_uint(pf->out, SNAPSHOT_PRIMARY_CLOCK, CLOCK_ID_MONOTONIC);
	protobuf_end(pf->out, snapshot);
	protobuf_end(pf->out, packet);
}

/* The first packet: the clock, and numbers of the fields' names. */
static void put_start(struct perfetto *pf)
{
	size_t packet = perfetto_packet(pf, FLAG_STATE_CLEARED);
	size_t data;

	if (pf->real_offset_ns) {
		data = protobuf_begin(pf->out, PACKET_DEFAULTS);
		protobuf_uint(pf->out, DEFAULTS_CLOCK_ID, CLOCK_ID_MONOTONIC);
		protobuf_end(pf->out, data);
	}
	data = protobuf_begin(pf->out, PACKET_INTERNED_DATA);
	put_interned(pf->out, INTERNED_EVENT_NAMES, IID_UNKNOWN, (struct text){ "[unknown]", 9 });
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		if (fmt_fields[i].side != FMT_SLICE)
			put_interned(pf->out, INTERNED_ANNOTATION_NAMES, i + 1,
				     (struct text){ fmt_fields[i].name,
						    strlen(fmt_fields[i].name) });
	}
	protobuf_end(pf->out, data);
	protobuf_end(pf->out, packet);
}

static int perfetto_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct perfetto *pf = self;

	pf->out = out;
	pf->real_offset_ns = config->real_offset_ns;
	put_start(pf);
	return fmt_tree(&pf->tree, config, on_begin, on_end, pf);
}

/* When the CPU's last row was, for losses. */
static void note_time(struct perfetto *pf, const struct row *row)
{
	struct cputracks *tracks = row_is_call(row) ? perfetto_cpu(pf, row->cpu) : NULL;
	uint64_t time_ns = calltree_time(pf->tree, row);

	if (row->kind == ROW_LEAF && row->time_ns)
		time_ns += row->duration_ns + row->slept_ns;
	if (tracks && time_ns > tracks->last_ns)
		tracks->last_ns = time_ns;
}

static int perfetto_row(void *self, const struct row *row)
{
	struct perfetto *pf = self;
	int err;

	if (pf->real_offset_ns && !pf->has_clock && row->time_ns) {
		pf->has_clock = true;
		put_clocks(pf, row->time_ns);
	}
	if (row->kind == ROW_LOST)
		put_lost(pf, row);
	if (row->kind == ROW_COMMENT)
		return put_comment(pf, row);
	err = calltree_row(pf->tree, row);
	note_time(pf, row);
	return err ? err : pf->err;
}

static int perfetto_finish(void *self)
{
	struct perfetto *pf = self;

	calltree_finish(pf->tree);
	return pf->err;
}

static void perfetto_release(void *self)
{
	struct perfetto *pf = self;

	for (size_t i = 0; i < pf->cpu_cnt; i++)
		free(pf->cpus[i]);
	free(pf->cpus);
	free(pf->contexts);
	free(pf->processes);
	packetflow_release(&pf->flows);
	calltree_free(pf->tree);
}

const struct fmt_ops fmt_perfetto = {
	.name = "perfetto",
	.size = sizeof(struct perfetto),
	.is_binary = true,
	.wants_process = true,
	.start = perfetto_start,
	.row = perfetto_row,
	.finish = perfetto_finish,
	.release = perfetto_release,
};
