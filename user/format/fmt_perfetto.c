/*
 * Perfetto's protobuf: TracePackets with track events, a track for each task. The field
 * numbers are those of perfetto's protos; tests/golden/perfetto_min.proto names them again.
 *
 * Names are interned: an event brings each name once, and later ones its number. Rows know
 * no process, so all threads belong to one that no kernel has.
 */
#include "format/fmt.h"

#include <errno.h>

#include "base/cleantext.h"
#include "format/format.h"

enum {
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,

	INTERNED_EVENT_NAMES = 2,
	INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_IID = 1,
	INTERNED_NAME = 2,

	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_THREAD = 4,
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
	ANNOTATION_NAME_IID = 1,
	ANNOTATION_BOOL = 2,
	ANNOTATION_UINT = 3,
	ANNOTATION_STRING = 6,
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

struct perfetto {
	struct strbuf *out;
	struct calltree *tree;
	uint32_t interned_cnt; /* functions whose names were written */
};

/* ---- protobuf ---- */

static void put_varint(struct strbuf *out, uint64_t value)
{
	char bytes[10];
	size_t len = 0;

	for (; value >= 0x80; value >>= 7)
		bytes[len++] = (char)(value | 0x80);
	bytes[len++] = (char)value;
	strbuf_add(out, bytes, len);
}

static void put_uint(struct strbuf *out, unsigned int field, uint64_t value)
{
	put_varint(out, field << 3);
	put_varint(out, value);
}

/* Return: a mark for end_message(), which puts the length before what was written since. */
static size_t begin_message(struct strbuf *out, unsigned int field)
{
	put_varint(out, field << 3 | 2);
	strbuf_char(out, 0);
	return out->len;
}

static void end_message(struct strbuf *out, size_t mark)
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

/* A string, which has to be UTF-8. */
static void put_string(struct strbuf *out, unsigned int field, struct text text)
{
	size_t mark = begin_message(out, field);

	clean_add(out, text.ptr, text.len, CLEAN_WORD);
	end_message(out, mark);
}

/* ---- pieces of packets ---- */

static size_t begin_packet(struct perfetto *pf, uint64_t flags)
{
	size_t mark = begin_message(pf->out, TRACE_PACKET);

	put_uint(pf->out, PACKET_SEQUENCE_ID, SEQUENCE_ID);
	put_uint(pf->out, PACKET_SEQUENCE_FLAGS, flags);
	return mark;
}

static void put_interned(struct strbuf *out, unsigned int field, uint64_t iid, struct text name)
{
	size_t mark = begin_message(out, field);

	put_uint(out, INTERNED_IID, iid);
	put_string(out, INTERNED_NAME, name);
	end_message(out, mark);
}

static void put_sym_name(struct perfetto *pf, const struct callsym *sym)
{
	size_t mark = begin_message(pf->out, INTERNED_EVENT_NAMES);
	size_t name;

	put_uint(pf->out, INTERNED_IID, IID_SYM_BASE + sym->id);
	name = begin_message(pf->out, INTERNED_NAME);
	fmt_sym(pf->out, sym, CLEAN_WORD);
	end_message(pf->out, name);
	end_message(pf->out, mark);
}

/* The names that @sym's packet must bring. */
static void put_new_names(struct perfetto *pf, const struct callsym *sym)
{
	size_t mark;

	if (!sym || sym->id < pf->interned_cnt)
		return;
	mark = begin_message(pf->out, PACKET_INTERNED_DATA);
	while (pf->interned_cnt <= sym->id)
		put_sym_name(pf, calltree_sym(pf->tree, pf->interned_cnt++));
	end_message(pf->out, mark);
}

static uint64_t track_uuid(uint32_t track)
{
	return (uint64_t)track + 1;
}

static void put_annotations(struct perfetto *pf, const struct calltask *task,
			    const struct call *call, bool has_begin, bool has_end)
{
	struct strbuf *out = pf->out;

	for (size_t i = 0; i < fmt_field_cnt; i++) {
		const struct fmt_field *field = &fmt_fields[i];
		struct fmt_value value;
		size_t mark;

		if (!(has_begin && (field->side == FMT_BEGIN || field->side == FMT_DETAIL)) &&
		    !(has_end && field->side == FMT_END))
			continue;
		field->get(task, call, &value);
		if (value.kind == FMT_NULL || (value.kind == FMT_BOOL && value.number))
			continue;
		mark = begin_message(out, EVENT_ANNOTATIONS);
		put_uint(out, ANNOTATION_NAME_IID, i + 1);
		if (value.kind == FMT_TEXT)
			put_string(out, ANNOTATION_STRING, value.text);
		else
			put_uint(out, value.kind == FMT_BOOL ? ANNOTATION_BOOL : ANNOTATION_UINT,
				 value.number);
		end_message(out, mark);
	}
}

static void name_thread(struct perfetto *pf, struct calltask *task)
{
	size_t packet;
	size_t descriptor;
	size_t thread;
	size_t name;

	if (task->user == task->renames + 1)
		return;
	task->user = task->renames + 1;
	packet = begin_packet(pf, FLAG_NEEDS_STATE);
	descriptor = begin_message(pf->out, PACKET_TRACK_DESCRIPTOR);
	put_uint(pf->out, DESCRIPTOR_UUID, track_uuid(task->track));
	thread = begin_message(pf->out, DESCRIPTOR_THREAD);
	put_uint(pf->out, THREAD_PID, CALLTREE_TRACK_GROUP);
	put_uint(pf->out, THREAD_TID, task->track);
	name = begin_message(pf->out, THREAD_NAME);
	fmt_task(pf->out, task, CLEAN_WORD);
	end_message(pf->out, name);
	end_message(pf->out, thread);
	end_message(pf->out, descriptor);
	end_message(pf->out, packet);
}

/* ---- events ---- */

static void put_begin(struct perfetto *pf, const struct calltask *task, const struct call *call,
		      uint64_t type, bool is_whole)
{
	size_t packet = begin_packet(pf, FLAG_NEEDS_STATE);
	size_t event;

	put_uint(pf->out, PACKET_TIMESTAMP, call->begin_ns);
	put_new_names(pf, call->sym);
	event = begin_message(pf->out, PACKET_TRACK_EVENT);
	put_uint(pf->out, EVENT_TYPE, type);
	put_uint(pf->out, EVENT_TRACK_UUID, track_uuid(task->track));
	put_uint(pf->out, EVENT_NAME_IID, call->sym ? IID_SYM_BASE + call->sym->id : IID_UNKNOWN);
	put_annotations(pf, task, call, true, is_whole);
	end_message(pf->out, event);
	end_message(pf->out, packet);
}

static void on_begin(void *ctx, struct calltask *task, struct call *call)
{
	struct perfetto *pf = ctx;

	name_thread(pf, task);
	put_begin(pf, task, call, TYPE_SLICE_BEGIN, false);
}

static void on_end(void *ctx, struct calltask *task, struct call *call)
{
	struct perfetto *pf = ctx;
	bool is_whole = call->is_leaf || !call->has_entry;
	size_t packet;
	size_t event;

	name_thread(pf, task);
	if (!call->has_entry && !call->has_duration) {
		put_begin(pf, task, call, TYPE_INSTANT, true);
		return;
	}
	if (is_whole)
		put_begin(pf, task, call, TYPE_SLICE_BEGIN, true);
	packet = begin_packet(pf, FLAG_NEEDS_STATE);
	put_uint(pf->out, PACKET_TIMESTAMP, call->end_ns);
	event = begin_message(pf->out, PACKET_TRACK_EVENT);
	put_uint(pf->out, EVENT_TYPE, TYPE_SLICE_END);
	put_uint(pf->out, EVENT_TRACK_UUID, track_uuid(task->track));
	if (!is_whole)
		put_annotations(pf, task, call, false, true);
	end_message(pf->out, event);
	end_message(pf->out, packet);
}

static void put_instant(struct perfetto *pf, uint32_t track, uint64_t time_ns, struct text name)
{
	size_t packet = begin_packet(pf, FLAG_NEEDS_STATE);
	size_t event;

	put_uint(pf->out, PACKET_TIMESTAMP, time_ns);
	event = begin_message(pf->out, PACKET_TRACK_EVENT);
	put_uint(pf->out, EVENT_TYPE, TYPE_INSTANT);
	put_uint(pf->out, EVENT_TRACK_UUID, track_uuid(track));
	put_string(pf->out, EVENT_NAME, name);
	end_message(pf->out, event);
	end_message(pf->out, packet);
}

static void put_lost(struct perfetto *pf, const struct row *row)
{
	char bytes[64];
	struct strbuf name = { .ptr = bytes, .cap = sizeof(bytes) }; /* never full */

	strbuf_str(&name, "CPU:");
	strbuf_u64(&name, row->cpu);
	strbuf_str(&name, " [LOST ");
	if (row->lost_cnt) {
		strbuf_u64(&name, row->lost_cnt);
		strbuf_char(&name, ' ');
	}
	strbuf_str(&name, "EVENTS]");
	put_instant(pf, CALLTREE_TRACK_GROUP, calltree_time(pf->tree, row),
		    (struct text){ name.ptr, name.len });
}

static int put_comment(struct perfetto *pf, const struct row *row)
{
	struct calltask *task = calltree_task(pf->tree, row);

	if (!task)
		return -ENOMEM;
	name_thread(pf, task);
	put_instant(pf, task->track, calltree_time(pf->tree, row), row->text);
	return 0;
}

/* The first packet: numbers of the fields' names, and the process. */
static void put_start(struct perfetto *pf)
{
	size_t packet = begin_packet(pf, FLAG_STATE_CLEARED);
	size_t data = begin_message(pf->out, PACKET_INTERNED_DATA);
	size_t process;

	put_interned(pf->out, INTERNED_EVENT_NAMES, IID_UNKNOWN, (struct text){ "[unknown]", 9 });
	for (size_t i = 0; i < fmt_field_cnt; i++) {
		if (fmt_fields[i].side != FMT_SLICE)
			put_interned(pf->out, INTERNED_ANNOTATION_NAMES, i + 1,
				     (struct text){ fmt_fields[i].name,
						    strlen(fmt_fields[i].name) });
	}
	end_message(pf->out, data);
	data = begin_message(pf->out, PACKET_TRACK_DESCRIPTOR);
	put_uint(pf->out, DESCRIPTOR_UUID, track_uuid(CALLTREE_TRACK_GROUP));
	process = begin_message(pf->out, DESCRIPTOR_PROCESS);
	put_uint(pf->out, PROCESS_PID, CALLTREE_TRACK_GROUP);
	put_string(pf->out, PROCESS_NAME, (struct text){ "kernel", 6 });
	end_message(pf->out, process);
	end_message(pf->out, data);
	end_message(pf->out, packet);
}

static int perfetto_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct perfetto *pf = self;

	pf->out = out;
	put_start(pf);
	return fmt_tree(&pf->tree, config, on_begin, on_end, pf);
}

static int perfetto_row(void *self, const struct row *row)
{
	struct perfetto *pf = self;

	if (row->kind == ROW_LOST)
		put_lost(pf, row);
	if (row->kind == ROW_COMMENT)
		return put_comment(pf, row);
	return calltree_row(pf->tree, row);
}

static int perfetto_finish(void *self)
{
	struct perfetto *pf = self;

	calltree_finish(pf->tree);
	return 0;
}

static void perfetto_release(void *self)
{
	struct perfetto *pf = self;

	calltree_free(pf->tree);
}

const struct fmt_ops fmt_perfetto = {
	.name = "perfetto",
	.size = sizeof(struct perfetto),
	.start = perfetto_start,
	.row = perfetto_row,
	.finish = perfetto_finish,
	.release = perfetto_release,
};
