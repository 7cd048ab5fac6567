#ifndef NFG_FORMAT_PERFETTO_PARTS_H
#define NFG_FORMAT_PERFETTO_PARTS_H

#include <stdint.h>

#include "format/fmt.h"
#include "format/stages.h"
#include "format/fmt_perfetto.h"

/* Shared by the files of --format perfetto. Private to them. */

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
	UUID_CPU,  /* all below by CPU */
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

/* perfetto_packet - a packet begins. Return: the mark for protobuf_end. */
static inline size_t perfetto_packet(struct perfetto *pf, uint64_t flags)
{
	size_t mark = protobuf_begin(pf->out, TRACE_PACKET);

	protobuf_uint(pf->out, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	protobuf_uint(pf->out, PACKET_SEQUENCE_FLAGS, flags);
	return mark;
}

/* perfetto_annotations - append a call's values: of its beginning, of its end, or both. */
void perfetto_annotations(struct perfetto *pf, const struct calltask *task, const struct call *call,
			  bool has_begin, bool has_end);

/* perfetto_cpu - the CPU's tracks; NULL: no memory (pf->err is set), or an impossible CPU number. */
struct cputracks *perfetto_cpu(struct perfetto *pf, uint32_t cpu);

/* perfetto_put_track - describe a track without a thread. @number: follows the name; UINT32_MAX: none. */
void perfetto_put_track(struct perfetto *pf, uint64_t uuid, uint64_t parent, const char *name,
			uint32_t number);

/* perfetto_name_cpu - describe the parent track of the CPU's tracks, once. */
void perfetto_name_cpu(struct perfetto *pf, uint32_t cpu);

/*
 * perfetto_name_task - describe the task's track and process, if new or renamed.
 *
 * @has_callers: the task is inside a call, and stays on its track.
 */
void perfetto_name_task(struct perfetto *pf, struct calltask *task, bool has_callers);

/* perfetto_choose_track - set the call's track, in call->user. */
void perfetto_choose_track(struct perfetto *pf, const struct calltask *task, struct call *call);

/* perfetto_count_open - count that the call begins (+1) or ends (-1) on its track. */
void perfetto_count_open(struct perfetto *pf, const struct call *call, int change);

/* perfetto_task_uuid, perfetto_call_uuid - the number of the task's own track, and of the one the call is on. */
uint64_t perfetto_task_uuid(const struct calltask *task);
uint64_t perfetto_call_uuid(const struct calltask *task, const struct call *call);

#endif
