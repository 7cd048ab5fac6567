#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleantext.h"
#include "base/vec.h"
#include "format/calltree.h"
#include "format/fmt.h"
#include "format/format.h"
#include "format/render.h"
#include "format/packetflow.h"

/* ---- the wire format of protocol buffers, appended to a strbuf ---- */

enum {
	WIRE_VARINT = 0,
	WIRE_64 = 1,
	WIRE_BYTES = 2,
};

static void put_varint(struct strbuf *out, uint64_t value)
{
	char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	strbuf_add(out, bytes, len);
}

/* A varint field. */
static void protobuf_uint(struct strbuf *out, unsigned int field, uint64_t value)
{
	put_varint(out, field << 3 | WIRE_VARINT);
	put_varint(out, value);
}

/* The same; a negative number takes ten bytes, as int64 has it. */
static void protobuf_int(struct strbuf *out, unsigned int field, int64_t value)
{
	protobuf_uint(out, field, (uint64_t)value);
}

/* A field of eight bytes. */
static void protobuf_fixed64(struct strbuf *out, unsigned int field, uint64_t value)
{
	char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(value >> 8 * i);
	put_varint(out, field << 3 | WIRE_64);
	strbuf_add(out, bytes, sizeof(bytes));
}

/* Begin a message or string. Return: a mark for protobuf_end, which inserts the length before it. */
static size_t protobuf_begin(struct strbuf *out, unsigned int field)
{
	put_varint(out, field << 3 | WIRE_BYTES);
	strbuf_char(out, 0);
	return out->len;
}

static void protobuf_end(struct strbuf *out, size_t mark)
{
	size_t len = out->len - mark;
	size_t more = 0;

	if (!strbuf_ok(out))
		return;
	for (size_t rest = len >> 7; rest; rest >>= 7)
		more++;
	strbuf_fill(out, 0, more);
	if (!strbuf_ok(out))
		return;
	if (more)
		memmove(out->ptr + mark + more, out->ptr + mark, len);
	for (size_t i = 0; i < more; i++, len >>= 7)
		out->ptr[mark - 1 + i] = (char)(len | 0x80);
	out->ptr[mark - 1 + more] = (char)len;
}

/* ---- the trace ---- */

enum {
	TRACE_PACKET = 1,

	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,

	SNAPSHOT_CLOCKS = 1,
	SNAPSHOT_PRIMARY_CLOCK = 2,
	SNAPSHOT_CLOCK_ID = 1,
	SNAPSHOT_TIMESTAMP = 2,
	DEFAULTS_CLOCK_ID = 58,
	CLOCK_ID_REALTIME = 1,
	CLOCK_ID_MONOTONIC = 3,

	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_IID = 1,
	INTERNED_NAME = 2,

	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
	DESCRIPTOR_PARENT = 5,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,

	EVENT_ANNOTATIONS = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11,
	EVENT_NAME = 23,
	EVENT_FLOW_IDS = 47,
	EVENT_LAST_FLOW_IDS = 48,
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_INT = 4,
	ANNOTATION_STRING = 6,
	ANNOTATION_POINTER = 7,
	ANNOTATION_NAME = 10,
	ANNOTATION_DICT = 11,
};

enum {
	TYPE_SLICE_BEGIN = 1,
	TYPE_SLICE_END = 2,
	TYPE_INSTANT = 3,
};

enum {
	FLAG_STATE_CLEARED = 1, /* interning begins here */
	FLAG_NEEDS_STATE = 2,
};

#define SEQUENCE_ID  1
#define IID_UNKNOWN  1 /* of "[unknown]"; functions follow */
#define IID_SYM_BASE 2

/* Track numbers: a kind and a number within the kind. */
enum uuid_kind {
	UUID_THREAD = 1, /* process << 24 | tid */
	UUID_PROCESS,
	UUID_LONE, /* threads of unknown processes; also their group */
	UUID_CPU,  /* this and all below: by CPU */
	UUID_IDLE,
	UUID_UNTOLD, /* calls before the trace shows which task made them */
	UUID_SOFTIRQ,
	UUID_HARDIRQ,
	UUID_LOSS,
};

#define UUID(kind, number) ((uint64_t)(kind) << 56 | (number))

/* call.user: the call's track, 0 for callers that the trace does not show. */
#define TRACK_TASK                 1u
#define TRACK_OF_CPU(cpu, context) (2 * (cpu) + (uint32_t)(context) + 1)

/* A CPU's tracks. One task at a time uses those of interrupts, because slices on a track must nest. */
struct cputracks {
	uint64_t last_ns; /* end of the last row */
	bool has_group;
	bool has_loss;
	struct {
		bool is_named;
		uint32_t owner;    /* id of the task + 1 */
		uint32_t open_cnt; /* its open calls here */
	} irqs[2];                 /* by enum call_context - 1 */
};

struct perfetto {
	struct strbuf *out;
	struct calltree *tree;
	uint32_t interned_cnt; /* functions whose names were written */
	uint8_t *contexts;     /* enum call_context of each function + 1 */
	size_t context_cap;
	struct cputracks **cpus;
	size_t cpu_cnt;
	uint64_t *processes; /* a bit by pid: it was named */
	struct packetflow flows;
	bool has_lone;
	bool has_clock; /* times are of CLOCK_MONOTONIC, and ... */
	uint64_t real_offset_ns;
	int err;
};

/* Begin a packet. Return: the mark for protobuf_end. */
static size_t perfetto_packet(struct perfetto *pf, uint64_t flags)
{
	size_t mark = protobuf_begin(pf->out, TRACE_PACKET);

	protobuf_uint(pf->out, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	protobuf_uint(pf->out, PACKET_SEQUENCE_FLAGS, flags);
	return mark;
}

/* A string; invalid UTF-8 and invisible characters are escaped. */
static void protobuf_string(struct strbuf *out, unsigned int field, struct text text)
{
	size_t mark = protobuf_begin(out, field);

	clean_add(out, text.ptr, text.len, CLEAN_WORD);
	protobuf_end(out, mark);
}

/* ---- the values of a call as Perfetto's annotations ---- */

static void perfetto_put_value(struct strbuf *out, const struct value *value)
{
	char bytes[VALUE_TEXT_MAX];

	if (value->kind == VALUE_INT)
		protobuf_int(out, ANNOTATION_INT, (int64_t)value->number);
	else if (value->kind == VALUE_POINTER)
		protobuf_uint(out, ANNOTATION_POINTER, value->number);
	else
		protobuf_string(out, ANNOTATION_STRING, value_text(value, bytes));
}

/* A value under its name; @member: of the message that has it. */
static void put_named(struct strbuf *out, uint32_t member, const struct value *value)
{
	size_t mark = protobuf_begin(out, member);

	protobuf_string(out, ANNOTATION_NAME,
			value->name.len ? value->name : (struct text){ "value", 5 });
	perfetto_put_value(out, value);
	protobuf_end(out, mark);
}

/* A value for each argument, under its name. */
static void perfetto_put_args(struct strbuf *out, const struct fmt_value *args)
{
	for (uint32_t i = 0; i < args->value_cnt; i++)
		put_named(out, ANNOTATION_DICT, &args->values[i]);
}

static void put_annotation(struct strbuf *out, size_t idx, const struct fmt_value *value)
{
	size_t mark = protobuf_begin(out, EVENT_ANNOTATIONS);

	protobuf_uint(out, ANNOTATION_NAME_IID, idx + 1);
	if (value->kind == FMT_ARGS)
		perfetto_put_args(out, value);
	else if (value->kind == FMT_VALUE)
		perfetto_put_value(out, value->values);
	else
		protobuf_uint(out, value->kind == FMT_BOOL ? ANNOTATION_BOOL : ANNOTATION_UINT,
			      value->number);
	protobuf_end(out, mark);
}

/* Append a call's values: of its beginning, of its end, or both. */
static void perfetto_annotations(struct perfetto *pf, const struct calltask *task,
				 const struct call *call, bool has_begin, bool has_end)
{
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		const struct fmt_field *field = &fmt_fields[i];
		struct fmt_value value;

		if (!(has_begin && (field->side == FMT_BEGIN || field->side == FMT_DETAIL)) &&
		    !(has_end && field->side == FMT_END))
			continue;
		field->get(task, call, &value);
		if (value.kind != FMT_NULL && !(value.kind == FMT_BOOL && value.number))
			put_annotation(pf->out, i, &value);
	}
}

/* ---- tracks, and the one that a call is on ---- */

/* Describe a track without a thread. @number: follows the name; UINT32_MAX: none. */
static void perfetto_put_track(struct perfetto *pf, uint64_t uuid, uint64_t parent,
			       const char *name, uint32_t number)
{
	char bytes[64];
	struct strbuf full = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t descriptor = protobuf_begin(pf->out, PACKET_TRACK_DESCRIPTOR);

	strbuf_str(&full, name);
	if (number != UINT32_MAX)
		strbuf_u64(&full, number);
	protobuf_uint(pf->out, DESCRIPTOR_UUID, uuid);
	protobuf_string(pf->out, DESCRIPTOR_NAME, (struct text){ full.ptr, full.len });
	if (parent)
		protobuf_uint(pf->out, DESCRIPTOR_PARENT, parent);
	protobuf_end(pf->out, descriptor);
	protobuf_end(pf->out, packet);
}

/* The CPU's tracks; NULL: no memory (pf->err is set), or an impossible CPU number. */
static struct cputracks *perfetto_cpu(struct perfetto *pf, uint32_t cpu)
{
	if (cpu >= CALLTREE_CPU_MAX)
		return NULL;
	if (VEC_RESERVE_ZEROED(pf->cpus, pf->cpu_cnt, (size_t)cpu + 1)) {
		pf->err = -ENOMEM;
		return NULL;
	}
	if (!pf->cpus[cpu])
		pf->cpus[cpu] = calloc(1, sizeof(struct cputracks));
	if (!pf->cpus[cpu])
		pf->err = -ENOMEM;
	return pf->cpus[cpu];
}

/* Describe the parent track of the CPU's tracks, once. */
static void perfetto_name_cpu(struct perfetto *pf, uint32_t cpu)
{
	struct cputracks *tracks = perfetto_cpu(pf, cpu);

	if (tracks && !tracks->has_group)
		perfetto_put_track(pf, UUID(UUID_CPU, cpu), 0, "CPU ", cpu);
	if (tracks)
		tracks->has_group = true;
}

static bool is_thread(const struct calltask *task)
{
	return task->kind == CALLTASK_NORMAL;
}

/* user_renames: the process that the task's track has. It stays the same while calls are open. */
static uint64_t perfetto_task_uuid(const struct calltask *task)
{
	if (!is_thread(task))
		return UUID(task->kind == CALLTASK_IDLE ? UUID_IDLE : UUID_UNTOLD, task->cpu);
	if (!task->user_renames)
		return UUID(UUID_LONE, task->tid);
	return UUID(UUID_THREAD, (uint64_t)task->user_renames << 24 | task->tid);
}

static void perfetto_name_process(struct perfetto *pf, const struct calltask *task)
{
	uint32_t pid = task->user_renames;
	size_t packet;
	size_t descriptor;
	size_t process;

	if (pid >= CALLTREE_TRACK_GROUP)
		return;
	if (!pf->processes)
		pf->processes = calloc(CALLTREE_TRACK_GROUP / 64, sizeof(uint64_t));
	if (!pf->processes) {
		pf->err = -ENOMEM;
		return;
	}
	if (pf->processes[pid / 64] & 1ull << pid % 64)
		return;
	pf->processes[pid / 64] |= 1ull << pid % 64;
	packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	descriptor = protobuf_begin(pf->out, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(pf->out, DESCRIPTOR_UUID, UUID(UUID_PROCESS, pid));
	process = protobuf_begin(pf->out, DESCRIPTOR_PROCESS);
	protobuf_uint(pf->out, PROCESS_PID, pid);
	protobuf_string(pf->out, PROCESS_NAME, task->process.len ? task->process : task->comm);
	protobuf_end(pf->out, process);
	protobuf_end(pf->out, descriptor);
	protobuf_end(pf->out, packet);
}

static void put_thread(struct perfetto *pf, const struct calltask *task)
{
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t descriptor = protobuf_begin(pf->out, PACKET_TRACK_DESCRIPTOR);
	size_t thread = 0;
	size_t name;

	protobuf_uint(pf->out, DESCRIPTOR_UUID, perfetto_task_uuid(task));
	if (task->user_renames) {
		thread = protobuf_begin(pf->out, DESCRIPTOR_THREAD);
		protobuf_uint(pf->out, THREAD_PID, task->user_renames);
		protobuf_uint(pf->out, THREAD_TID, task->tid);
	}
	name = protobuf_begin(pf->out, thread ? THREAD_NAME : DESCRIPTOR_NAME);
	fmt_task(pf->out, task, CLEAN_WORD);
	if (!thread) {
		strbuf_char(pf->out, ' ');
		strbuf_u64(pf->out, task->tid);
	}
	protobuf_end(pf->out, name);
	if (thread)
		protobuf_end(pf->out, thread);
	else
		protobuf_uint(pf->out, DESCRIPTOR_PARENT, UUID(UUID_LONE, 0));
	protobuf_end(pf->out, descriptor);
	protobuf_end(pf->out, packet);
}

/*
 * Describe the task's track and process, if new or renamed.
 *
 * @has_callers: the task is inside a call, and stays on its track.
 */
static void perfetto_name_task(struct perfetto *pf, struct calltask *task, bool has_callers)
{
	bool is_new = !task->user;

	if (task->user == task->renames + 1)
		return;
	if (!has_callers || is_new)
		task->user_renames = task->tgid;
	if (!has_callers || is_new || task->user_renames == task->tgid)
		task->user = task->renames + 1;
	if (!is_thread(task)) {
		perfetto_name_cpu(pf, task->cpu);
		if (is_new)
			perfetto_put_track(pf, perfetto_task_uuid(task), UUID(UUID_CPU, task->cpu),
					   task->kind == CALLTASK_IDLE ? "swapper/" : "cpu ",
					   task->cpu);
		return;
	}
	if (task->user_renames)
		perfetto_name_process(pf, task);
	else if (!pf->has_lone)
		perfetto_put_track(pf, UUID(UUID_LONE, 0), 0, "threads of unknown processes",
				   UINT32_MAX);
	pf->has_lone |= !task->user_renames;
	put_thread(pf, task);
}

/* ---- which track a call is on ---- */

static enum call_context context_of(struct perfetto *pf, const struct callsym *sym)
{
	if (!sym)
		return CALL_CONTEXT_TASK;
	if (VEC_RESERVE_ZEROED(pf->contexts, pf->context_cap, (size_t)sym->id + 1)) {
		pf->err = -ENOMEM;
		return CALL_CONTEXT_TASK;
	}
	if (!pf->contexts[sym->id])
		pf->contexts[sym->id] = (uint8_t)(call_context_entered(sym->name) + 1);
	return (enum call_context)(pf->contexts[sym->id] - 1);
}

static enum call_context context_of_track(uint32_t track)
{
	return track <= TRACK_TASK ? CALL_CONTEXT_TASK
				   : (enum call_context)((track - 2) % 2 + CALL_CONTEXT_SOFTIRQ);
}

static uint64_t perfetto_call_uuid(const struct calltask *task, const struct call *call)
{
	bool is_soft = context_of_track(call->user) == CALL_CONTEXT_SOFTIRQ;

	if (call->user <= TRACK_TASK)
		return perfetto_task_uuid(task);
	return UUID(is_soft ? UUID_SOFTIRQ : UUID_HARDIRQ, (call->user - 2) / 2);
}

/* Whether @task may use the CPU's track for @context now; if so, name the track. */
static bool take_track(struct perfetto *pf, const struct calltask *task, uint32_t cpu,
		       enum call_context context)
{
	bool is_soft = context == CALL_CONTEXT_SOFTIRQ;
	struct cputracks *tracks = perfetto_cpu(pf, cpu);
	unsigned int idx = context - CALL_CONTEXT_SOFTIRQ;

	if (!tracks || (tracks->irqs[idx].open_cnt && tracks->irqs[idx].owner != task->id + 1))
		return false;
	tracks->irqs[idx].owner = task->id + 1;
	perfetto_name_cpu(pf, cpu);
	if (!tracks->irqs[idx].is_named)
		perfetto_put_track(pf, UUID(is_soft ? UUID_SOFTIRQ : UUID_HARDIRQ, cpu),
				   UUID(UUID_CPU, cpu),
				   is_soft ? "softirq, CPU " : "hard interrupt, CPU ", cpu);
	tracks->irqs[idx].is_named = true;
	return true;
}

/*
 * Set the call's track, in call->user. A call without a beginning in the trace stays on the task's track, where its
 * callees are, too.
 */
static void perfetto_choose_track(struct perfetto *pf, const struct calltask *task,
				  struct call *call)
{
	enum call_context context = call->has_entry ? context_of(pf, call->sym) : CALL_CONTEXT_TASK;

	call->user = TRACK_TASK;
	if (call->depth && task->calls[call->depth - 1].user)
		call->user = task->calls[call->depth - 1].user;
	if (context == CALL_CONTEXT_TASK)
		context = call_context_outermost(task, call);
	if (context != CALL_CONTEXT_TASK && context != context_of_track(call->user) &&
	    take_track(pf, task, call->cpu, context))
		call->user = TRACK_OF_CPU(call->cpu, context);
}

/* Count that the call begins (+1) or ends (-1) on its track. */
static void perfetto_count_open(struct perfetto *pf, const struct call *call, int change)
{
	enum call_context context = context_of_track(call->user);

	if (context != CALL_CONTEXT_TASK)
		pf->cpus[(call->user - 2) / 2]->irqs[context - CALL_CONTEXT_SOFTIRQ].open_cnt +=
			(uint32_t)change;
}

/*
 * Perfetto's protobuf: TracePackets with track events. The field numbers are those of perfetto's
 * protos; tests/golden/perfetto_min.proto names them again.
 *
 * A thread has a track below its process. Softirqs and hard interrupts have one for each CPU, if a trace shows them
 * (calltree.h); so do losses, and tasks that the trace does not identify. Threads of unknown processes have tracks
 * with only a name: an invented process number could be taken for another trace's process.
 *
 * Names are interned: the first event has the name, later ones its number.
 */

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

/* Put the names that the packet of @sym must define: those not yet defined, up to its own. */
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

static void perfetto_put_flow(struct perfetto *pf, const struct calltask *task, struct call *call)
{
	struct packetflow_step step;
	int err = packetflow_step(&pf->flows, task, call, &step);

	if (err)
		pf->err = err;
	else if (step.id)
		protobuf_fixed64(pf->out, step.is_end ? EVENT_LAST_FLOW_IDS : EVENT_FLOW_IDS,
				 step.id);
}

/* Put the task that an interrupt or softirq interrupted: the task on the CPU. */
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
		perfetto_put_flow(pf, task, call);
	protobuf_end(pf->out, event);
	protobuf_end(pf->out, packet);
}

static void perfetto_on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct perfetto *pf = ctx;

	perfetto_name_task(pf, task, call->depth > 0);
	perfetto_choose_track(pf, task, call);
	perfetto_count_open(pf, call, 1);
	put_begin(pf, task, call, TYPE_SLICE_BEGIN, false);
}

static void perfetto_on_end(void *ctx, struct calltask *task, struct call *call)
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
/* @fields: annotations, @field_cnt of them. */
static void perfetto_put_event_with(struct perfetto *pf, uint64_t type, uint64_t uuid,
				    uint64_t time_ns, struct text name, const struct value *fields,
				    uint32_t field_cnt)
{
	size_t packet = perfetto_packet(pf, FLAG_NEEDS_STATE);
	size_t event;

	protobuf_uint(pf->out, PACKET_TIMESTAMP, time_ns);
	event = protobuf_begin(pf->out, PACKET_TRACK_EVENT);
	protobuf_uint(pf->out, EVENT_TYPE, type);
	protobuf_uint(pf->out, EVENT_TRACK_UUID, uuid);
	if (name.len)
		protobuf_string(pf->out, EVENT_NAME, name);
	for (uint32_t i = 0; i < field_cnt; i++)
		put_named(pf->out, EVENT_ANNOTATIONS, &fields[i]);
	protobuf_end(pf->out, event);
	protobuf_end(pf->out, packet);
}

static void perfetto_put_event(struct perfetto *pf, uint64_t type, uint64_t uuid, uint64_t time_ns,
			       struct text name)
{
	perfetto_put_event_with(pf, type, uuid, time_ns, name, NULL, 0);
}

/* Put a loss: events of the CPU are missing between its last row and this one. */
static void perfetto_put_lost(struct perfetto *pf, const struct row *row)
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
	perfetto_put_event(pf, TYPE_SLICE_BEGIN, UUID(UUID_LOSS, row->cpu), begin_ns,
			   (struct text){ name.ptr, name.len });
	perfetto_put_event(pf, TYPE_SLICE_END, UUID(UUID_LOSS, row->cpu), end_ns,
			   (struct text){ "", 0 });
	tracks->last_ns = end_ns;
}

/* Put a comment or a tracepoint on the track of the task's innermost call or, outside calls, of the task. */
static int perfetto_put_comment(struct perfetto *pf, const struct row *row)
{
	struct calltask *task = calltree_task(pf->tree, row);
	const struct call *call;

	if (!task)
		return -ENOMEM;
	perfetto_name_task(pf, task, task->call_cnt > 0);
	call = task->call_cnt ? &task->calls[task->call_cnt - 1] : NULL;
	perfetto_put_event_with(pf, TYPE_INSTANT,
				call ? perfetto_call_uuid(task, call) : perfetto_task_uuid(task),
				calltree_time(pf->tree, row),
				row->kind == ROW_POINT ? row->name : row->text, row->args,
				row->arg_cnt);
	return 0;
}

/* ---- beginning ---- */

static void perfetto_put_clock(struct strbuf *out, uint64_t id, uint64_t time_ns)
{
	size_t clock = protobuf_begin(out, SNAPSHOT_CLOCKS);

	protobuf_uint(out, SNAPSHOT_CLOCK_ID, id);
	protobuf_uint(out, SNAPSHOT_TIMESTAMP, time_ns);
	protobuf_end(out, clock);
}

/* Relate the clock of the events to real time, so that a trace can be shown together with others. */
static void put_clocks(struct perfetto *pf, uint64_t time_ns)
{
	size_t packet = protobuf_begin(pf->out, TRACE_PACKET);
	size_t snapshot;

	protobuf_uint(pf->out, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	snapshot = protobuf_begin(pf->out, PACKET_CLOCK_SNAPSHOT);
	perfetto_put_clock(pf->out, CLOCK_ID_MONOTONIC, time_ns);
	perfetto_put_clock(pf->out, CLOCK_ID_REALTIME, time_ns + pf->real_offset_ns);
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
	return fmt_tree(&pf->tree, config, perfetto_on_begin, perfetto_on_end, pf);
}

/* Note when the CPU's last row was, for losses. */
static void perfetto_note_time(struct perfetto *pf, const struct row *row)
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
		perfetto_put_lost(pf, row);
	if (row->kind == ROW_COMMENT || row->kind == ROW_POINT)
		return perfetto_put_comment(pf, row);
	err = calltree_row(pf->tree, row);
	perfetto_note_time(pf, row);
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
	.traits = { .name = "perfetto",
		    .is_binary = true,
		    .wants_process = true,
		    .has_net = true,
		    .has_values = true },
	.size = sizeof(struct perfetto),
	.has_points = true,
	.start = perfetto_start,
	.row = perfetto_row,
	.finish = perfetto_finish,
	.release = perfetto_release,
};
