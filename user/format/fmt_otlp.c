#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "base/vec.h"
#include "format/calltree.h"
#include "format/fmt.h"
#include "format/format.h"
#include "format/render.h"
#include "trace/userstack.h"

/* ---- attributes, and events that wait for the end of the call they occurred in ---- */

#define OTLP_EVENTS_MAX 64

#define NAME_BYTES      64

struct otlp_event {
	uint64_t span; /* number of its span; 0: not known yet */
	uint32_t
		track; /* while span is 0: it belongs to the next outermost call of this track's task */
	bool is_waiting; /* for its span's end, or for that call */
	bool is_alone;   /* it cannot wait: write it as a span before the next otlp_event_new */
	char name[NAME_BYTES];    /* a copy: names of a recording may be gone when the span ends */
	uint64_t time_ns;         /* of the trace's clock */
	struct strbuf attributes; /* JSON, by otlp_text() and others */
	struct jsonw json;        /* writes the attributes */
};

/* Zeroed: none. At most OTLP_EVENTS_MAX wait. */
struct otlp_events {
	struct otlp_event items[OTLP_EVENTS_MAX];
	size_t waiting_cnt;
	struct otlp_event alone;
};

/* ---- attributes ---- */

/* {"key": @prefix @name, "value": {"TYPE": VALUE}}; VALUE is the caller's. */
static void begin_attribute(struct jsonw *out, const char *prefix, struct text name,
			    const char *type)
{
	jsonw_object(out);
	jsonw_key(out, "key");
	jsonw_quote(out);
	strbuf_str(out->out, prefix);
	jsonw_part(out, name);
	jsonw_quote_end(out);
	jsonw_key(out, "value");
	jsonw_object(out);
	jsonw_key(out, type);
}

static void end_attribute(struct jsonw *out)
{
	jsonw_object_end(out);
	jsonw_object_end(out);
}

/* 64-bit numbers are strings in protobuf's JSON */
static void otlp_put_u64(struct jsonw *out, uint64_t value)
{
	jsonw_quote(out);
	strbuf_u64(out->out, value);
	jsonw_quote_end(out);
}

static void put_i64(struct jsonw *out, int64_t value)
{
	jsonw_quote(out);
	strbuf_i64(out->out, value);
	jsonw_quote_end(out);
}

/* otlp_text, otlp_int - append an attribute. */
static void otlp_text(struct jsonw *out, const char *key, struct text value)
{
	begin_attribute(out, "", text_from(key), "stringValue");
	jsonw_text(out, value);
	end_attribute(out);
}

static void otlp_int(struct jsonw *out, const char *key, int64_t value)
{
	begin_attribute(out, "", text_from(key), "intValue");
	put_i64(out, value);
	end_attribute(out);
}

/* otlp_value - the same, with the key @prefix and @name and the value's type; a pointer is text. */
static void otlp_value(struct jsonw *out, const char *prefix, struct text name,
		       const struct value *value)
{
	char bytes[VALUE_TEXT_MAX];

	if (value->kind == VALUE_INT) {
		begin_attribute(out, prefix, name, "intValue");
		put_i64(out, (int64_t)value->number);
	} else if (value->kind == VALUE_BOOL) {
		begin_attribute(out, prefix, name, "boolValue");
		jsonw_bool(out, value->number);
	} else {
		begin_attribute(out, prefix, name, "stringValue");
		jsonw_text(out, value_text(value, bytes));
	}
	end_attribute(out);
}

/* otlp_stack - code.stacktrace from a row's frames, a line for each caller. */
static void otlp_stack(struct jsonw *out, const struct row *row)
{
	struct strbuf lines = { 0 };

	render_frames(row->frames, row->frame_cnt, "\n", &lines);
	out->out->failed |= !strbuf_ok(&lines);
	otlp_text(out, "code.stacktrace", (struct text){ lines.ptr, lines.len });
	strbuf_release(&lines);
}

static void otlp_user_stack(struct jsonw *out, const struct user_stack *stack)
{
	const char *note = user_stack_note(stack->state);
	struct strbuf lines = { 0 };

	render_user_stack(stack, "\n", &lines);
	out->out->failed |= !strbuf_ok(&lines);
	otlp_text(out, "code.stacktrace", (struct text){ lines.ptr, lines.len });
	if (note)
		otlp_text(out, "netfgraph.user_stack.note", text_from(note));
	strbuf_release(&lines);
}

/* ---- events ---- */

static void clear_attributes(struct otlp_event *event)
{
	strbuf_reset(&event->attributes);
	event->json = (struct jsonw){ .out = &event->attributes };
}

/* NULL: no room */
static struct otlp_event *wait_for(struct otlp_events *events, uint64_t span, uint32_t track)
{
	for (size_t i = 0; i < OTLP_EVENTS_MAX; i++) {
		struct otlp_event *event = &events->items[i];

		if (event->is_waiting)
			continue;
		event->span = span;
		event->track = track;
		event->is_waiting = true;
		events->waiting_cnt++;
		clear_attributes(event);
		return event;
	}
	return NULL;
}

static struct otlp_event *alone(struct otlp_events *events)
{
	events->alone.is_alone = true;
	clear_attributes(&events->alone);
	return &events->alone;
}

/*
 * otlp_event_new - an event of span @span (0: none), without attributes. The caller sets name, time and attributes.
 * Never NULL; without a span or room to wait it is_alone.
 */
static struct otlp_event *otlp_event_new(struct otlp_events *events, uint64_t span)
{
	struct otlp_event *event = span ? wait_for(events, span, 0) : NULL;

	return event ? event : alone(events);
}

/* otlp_event_for_next - the same, for the next outermost call of the task with @track. */
static struct otlp_event *otlp_event_for_next(struct otlp_events *events, uint32_t track)
{
	struct otlp_event *event = wait_for(events, 0, track);

	return event ? event : alone(events);
}

/* otlp_events_bind - assign events that wait for the outermost call of the task with @track to @span. */
static void otlp_events_bind(struct otlp_events *events, uint32_t track, uint64_t span)
{
	if (!events->waiting_cnt)
		return;
	for (size_t i = 0; i < OTLP_EVENTS_MAX; i++) {
		struct otlp_event *event = &events->items[i];

		if (event->is_waiting && !event->span && event->track == track)
			event->span = span;
	}
}

static void put_attributes(struct jsonw *out, const struct otlp_event *event)
{
	jsonw_key(out, "attributes");
	jsonw_array(out);
	jsonw_raw(out, (struct text){ event->attributes.ptr, event->attributes.len });
	jsonw_array_end(out);
	out->out->failed |= !strbuf_ok(&event->attributes);
}

static void stop_waiting(struct otlp_events *events, struct otlp_event *event)
{
	event->is_waiting = false;
	events->waiting_cnt--;
}

/*
 * otlp_events_put - append "events" of span @span, if it has any, with @offset_ns added to times, and remove them.
 */
static void otlp_events_put(struct otlp_events *events, struct jsonw *out, uint64_t span,
			    uint64_t offset_ns)
{
	bool has_events = false;

	for (size_t i = 0; events->waiting_cnt && i < OTLP_EVENTS_MAX; i++) {
		struct otlp_event *event = &events->items[i];

		if (!event->is_waiting || event->span != span)
			continue;
		if (!has_events) {
			jsonw_key(out, "events");
			jsonw_array(out);
		}
		has_events = true;
		jsonw_object(out);
		jsonw_key(out, "timeUnixNano");
		otlp_put_u64(out, event->time_ns + offset_ns);
		jsonw_key(out, "name");
		jsonw_string(out, event->name);
		put_attributes(out, event);
		jsonw_object_end(out);
		stop_waiting(events, event);
	}
	if (has_events)
		jsonw_array_end(out);
}

/* otlp_events_take - remove and return a waiting event, valid until the next call. NULL: none waits. */
static const struct otlp_event *otlp_events_take(struct otlp_events *events)
{
	for (size_t i = 0; events->waiting_cnt && i < OTLP_EVENTS_MAX; i++) {
		if (events->items[i].is_waiting) {
			stop_waiting(events, &events->items[i]);
			return &events->items[i];
		}
	}
	return NULL;
}

static void otlp_events_release(struct otlp_events *events)
{
	for (size_t i = 0; i < OTLP_EVENTS_MAX; i++)
		strbuf_release(&events->items[i].attributes);
	strbuf_release(&events->alone.attributes);
}

/*
 * OpenTelemetry's OTLP as JSON lines, as a collector's file exporter writes them: an ExportTraceServiceRequest a line
 * (opentelemetry-proto 1.x, docs/specification.md "JSON Protobuf Encoding"). A tree of calls is a trace, a call a
 * span. If calls have the number of a packet (--track), they and what they call are in a trace of the packet instead,
 * which has roots in several trees.
 *
 * A line has ended calls of one process, and ends with the tree or after LINE_SPANS of them, so that memory does not
 * grow with a tree. A span gets its number when it, or something inside it, has to be named for the first time. Ids
 * are made of these numbers, so that none comes twice and the same rows give the same ids.
 */

#define LINE_SPANS 256
#define NODE_MAX   128
#define SCHEMA_URL "https://opentelemetry.io/schemas/1.37.0"

/* The process that the spans of a line share. Zeroed: the host, and no process of it. */
struct owner {
	uint32_t pid; /* 0: not known */
	struct text name;
};

/* The innermost open call of the task that had the CPU's last call. */
struct otlp_cpu {
	uint32_t track;
	uint64_t trace; /* of the innermost call */
	uint64_t span;  /* 0: no call is open */
};

struct otlp {
	struct strbuf *out;
	struct calltree *tree;
	struct strbuf line; /* begun, without its end */
	struct jsonw json;  /* writes the line */
	uint32_t line_cnt;  /* spans of the line */
	struct owner owner; /* of the line */
	char owner_bytes[CALLTREE_COMM_MAX];
	struct otlp_events events;
	struct otlp_cpu *cpus;
	size_t cpu_cnt;
	const char *node;    /* until the first row */
	char host[NODE_MAX]; /* a copy: a recording is closed before its last lines are written */
	size_t host_len;     /* 0: unknown */
	uint64_t real_offset_ns; /* 0: unknown */
	bool lacks_time;
	uint64_t file_id; /* the first half of trace ids, part of all ids */
	bool has_file_id;
	uint64_t span_cnt;
};

/* ---- ids ---- */

/* A bijection: different numbers stay different (the finalizer of SplitMix64). */
static uint64_t otlp_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t mix_bytes(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i++)
		seed = otlp_mix(seed + p[i] + 1);
	return seed;
}

/* Make the file's id of the host and the first row, so that other files have other ids. */
static void make_file_id(struct otlp *o, const struct row *row)
{
	const uint64_t parts[] = { row->time_ns + o->real_offset_ns,
				   (uint64_t)row->task.tid << 32 | row->cpu };

	o->host_len = o->node ? strnlen(o->node, NODE_MAX) : 0;
	if (o->host_len)
		memcpy(o->host, o->node, o->host_len);
	o->file_id = o->host_len ? mix_bytes(0, o->host, o->host_len) : 0;
	o->file_id = mix_bytes(o->file_id, parts, sizeof(parts));
	o->file_id = mix_bytes(o->file_id, row->name.ptr, row->name.len);
	o->file_id >>= 1; /* no sum with a number is 0 */
	o->has_file_id = true;
}

static void otlp_put_hex(struct strbuf *out, uint64_t value)
{
	char digits[16];

	for (unsigned int i = 0; i < sizeof(digits); i++)
		digits[i] = digit_hex[value >> (60 - 4 * i) & 15];
	strbuf_add(out, digits, sizeof(digits));
}

static void put_span_id(struct otlp *o, const char *key, uint64_t span)
{
	jsonw_key(&o->json, key);
	jsonw_quote(&o->json);
	otlp_put_hex(&o->line, otlp_mix(o->file_id + span));
	jsonw_quote_end(&o->json);
}

/* The numbers of traces are those of their outermost spans or, with this bit, of their packets. */
#define TRACE_OF_PACKET (UINT64_C(1) << 63)

/* A file's id has less than 64 bits, so that both halves of the ids of packets' traces differ from all others. */
static void put_trace_id(struct otlp *o, uint64_t trace)
{
	jsonw_key(&o->json, "traceId");
	jsonw_quote(&o->json);
	otlp_put_hex(&o->line, otlp_mix(o->file_id + (trace & TRACE_OF_PACKET)));
	otlp_put_hex(&o->line, otlp_mix(o->file_id + trace));
	jsonw_quote_end(&o->json);
}

/* The ids of the numbers; @parent 0: none. */
static void put_ids(struct otlp *o, uint64_t trace, uint64_t span, uint64_t parent)
{
	put_trace_id(o, trace);
	put_span_id(o, "spanId", span);
	if (parent)
		put_span_id(o, "parentSpanId", parent);
}

/* The span that a span of another trace was called by. */
static void put_link(struct otlp *o, uint64_t trace, uint64_t span)
{
	jsonw_key(&o->json, "links");
	jsonw_array(&o->json);
	jsonw_object(&o->json);
	put_trace_id(o, trace);
	put_span_id(o, "spanId", span);
	jsonw_object_end(&o->json);
	jsonw_array_end(&o->json);
}

/* The trace of the call: its packet's, or its caller's. The spans of the outermost call's trace have numbers. */
static uint64_t trace_of(const struct calltask *task, uint32_t depth)
{
	for (uint32_t i = depth + 1; i-- > 0;) {
		const uint64_t packet = call_packet(&task->calls[i]);

		if (packet)
			return TRACE_OF_PACKET | packet;
	}
	return task->calls[0].user_ns;
}

/* The number of a call's span, in user_ns. If a call has a number, so have its callers. */
static uint64_t span_of(struct otlp *o, struct calltask *task, uint32_t depth)
{
	uint32_t first = depth + 1;

	while (first && !task->calls[first - 1].user_ns)
		first--;
	for (uint32_t i = first; i <= depth; i++)
		task->calls[i].user_ns = ++o->span_cnt;
	if (!first)
		otlp_events_bind(&o->events, task->track, task->calls[0].user_ns);
	return task->calls[depth].user_ns;
}

/* ---- lines ---- */

static void otlp_begin_line(struct otlp *o)
{
	struct jsonw *line = &o->json;
	const char *clock = o->lacks_time ? "none" : o->real_offset_ns ? NULL : "monotonic";

	*line = (struct jsonw){ .out = &o->line };
	jsonw_object(line);
	jsonw_key(line, "resourceSpans");
	jsonw_array(line);
	jsonw_object(line);
	jsonw_key(line, "resource");
	jsonw_object(line);
	jsonw_key(line, "attributes");
	jsonw_array(line);
	otlp_text(line, "service.name",
		  o->owner.name.len ? o->owner.name : (struct text){ "unknown_service", 15 });
	if (o->host_len)
		otlp_text(line, "host.name", (struct text){ o->host, o->host_len });
	if (o->owner.pid)
		otlp_int(line, "process.pid", o->owner.pid);
	if (o->owner.pid && o->owner.name.len)
		otlp_text(line, "process.executable.name", o->owner.name);
	if (clock)
		otlp_text(line, "netfgraph.clock", text_from(clock));
	jsonw_array_end(line);
	jsonw_object_end(line);
	jsonw_key(line, "scopeSpans");
	jsonw_array(line);
	jsonw_object(line);
	jsonw_key(line, "scope");
	jsonw_object(line);
	jsonw_key(line, "name");
	jsonw_string(line, "netfgraph");
	jsonw_key(line, "version");
	jsonw_string(line, NFG_VERSION);
	jsonw_object_end(line);
	jsonw_key(line, "spans");
	jsonw_array(line);
}

static void otlp_end_line(struct otlp *o)
{
	if (!o->line_cnt)
		return;
	jsonw_array_end(&o->json); /* spans */
	jsonw_object_end(&o->json);
	jsonw_array_end(&o->json); /* scopeSpans */
	jsonw_key(&o->json, "schemaUrl");
	jsonw_string(&o->json, SCHEMA_URL);
	jsonw_object_end(&o->json);
	jsonw_array_end(&o->json); /* resourceSpans */
	jsonw_object_end(&o->json);
	jsonw_end(&o->json);
	o->out->failed |= !strbuf_ok(&o->line);
	strbuf_add(o->out, o->line.ptr, o->line.len);
	strbuf_reset(&o->line);
	o->line_cnt = 0;
}

/* Begin a span of @owner, in the current line if that has room and is of the same owner. */
static void begin_span(struct otlp *o, struct owner owner)
{
	if (o->line_cnt == LINE_SPANS ||
	    (o->line_cnt && (o->owner.pid != owner.pid || !text_equal(o->owner.name, owner.name))))
		otlp_end_line(o);
	if (!o->line_cnt) {
		o->owner.pid = owner.pid;
		o->owner.name = text_keep(o->owner_bytes, owner.name);
		otlp_begin_line(o);
	}
	o->line_cnt++;
	jsonw_object(&o->json);
}

static struct owner otlp_owner_of(const struct calltask *task)
{
	if (task->kind == CALLTASK_IDLE)
		return (struct owner){ .name = { "swapper", 7 } };
	return (struct owner){ .pid = task->tgid, .name = task->process };
}

static void put_span_head(struct otlp *o, uint64_t begin_ns, uint64_t end_ns)
{
	jsonw_key(&o->json, "kind");
	jsonw_u64(&o->json, 1);
	jsonw_key(&o->json, "startTimeUnixNano");
	otlp_put_u64(&o->json, begin_ns + o->real_offset_ns);
	jsonw_key(&o->json, "endTimeUnixNano");
	otlp_put_u64(&o->json, end_ns + o->real_offset_ns);
}

/* ---- calls ---- */

static void otlp_put_task(struct otlp *o, const struct calltask *task)
{
	if (task->kind != CALLTASK_UNKNOWN)
		otlp_int(&o->json, "thread.id", task->tid);
	otlp_text(&o->json, "thread.name", task->comm);
	if (task->place.cgroup_id)
		otlp_int(&o->json, "netfgraph.cgroup_id", task->place.cgroup_id);
	if (task->place.netns)
		otlp_int(&o->json, "netfgraph.netns", task->place.netns);
}

static void otlp_put_args(struct jsonw *line, const struct fmt_value *args)
{
	for (uint32_t i = 0; i < args->value_cnt; i++) {
		const struct value *value = &args->values[i];
		char number[16];
		struct text key = value->name;

		if (!key.len) {
			key.ptr = number;
			key.len = (size_t)snprintf(number, sizeof(number), "%u", i);
		}
		otlp_value(line, "netfgraph.arg.", key, value);
	}
}

/* The attribute of a number. */
static const char *otlp_number_name(const struct fmt_field *field)
{
	static const char *const names[][2] = {
		{ "cpu", "cpu.logical_number" },
		{ "net_ns", "netfgraph.net_ns" },
		{ "net_error_ns", "netfgraph.net_error_ns" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(names[i][0], field->name))
			return names[i][1];
	}
	return field->name;
}

/* The fmt_fields for which a span has no member. */
static void put_fields(struct otlp *o, const struct calltask *task, const struct call *call)
{
	struct jsonw *line = &o->json;

	for (size_t i = 0; i < fmt_field_cnt; i++) {
		const struct fmt_field *field = &fmt_fields[i];
		const struct text name = text_from(field->name);
		const struct value no = { .kind = VALUE_BOOL };
		struct fmt_value value;

		if (field->side == FMT_SLICE)
			continue;
		field->get(task, call, &value);
		/* absent and implied values */
		if (value.kind == FMT_NULL || (value.kind == FMT_BOOL && value.number))
			continue;
		if (value.kind == FMT_ARGS)
			otlp_put_args(line, &value);
		else if (value.kind == FMT_U64)
			otlp_int(line, otlp_number_name(field), (int64_t)value.number);
		else
			otlp_value(line, "netfgraph.", name,
				   value.kind == FMT_BOOL ? &no : value.values);
	}
}

static void otlp_put_call(void *ctx, struct calltask *task, struct call *call)
{
	struct otlp *o = ctx;
	const uint64_t span = span_of(o, task, call->depth);
	const uint64_t end_ns = call->end_ns > call->begin_ns ? call->end_ns : call->begin_ns;
	const uint64_t trace = trace_of(task, call->depth);
	const uint64_t caller = call->depth ? call[-1].user_ns : 0;
	const uint64_t callers_trace = caller ? trace_of(task, call->depth - 1) : 0;

	begin_span(o, otlp_owner_of(task));
	put_ids(o, trace, span, callers_trace == trace ? caller : 0);
	jsonw_key(&o->json, "name");
	jsonw_text(&o->json, call->sym ? call->sym->name : (struct text){ "[unknown]", 9 });
	put_span_head(o, call->begin_ns, end_ns);
	jsonw_key(&o->json, "attributes");
	jsonw_array(&o->json);
	if (call->sym)
		otlp_text(&o->json, "code.function.name", call->sym->name);
	if (call->sym && call->sym->module.len)
		otlp_text(&o->json, "netfgraph.module", call->sym->module);
	otlp_put_task(o, task);
	put_fields(o, task, call);
	if (!(call->has_entry && call->has_return) && call->has_return)
		otlp_value(&o->json, "netfgraph.", (struct text){ "returned", 8 },
			   &(struct value){ .kind = VALUE_BOOL, .number = true });
	/* times of a text have microseconds, and --nosleep-time leaves time out */
	if (call->has_duration && call->duration_ns != end_ns - call->begin_ns)
		otlp_int(&o->json, "netfgraph.duration_ns", (int64_t)call->duration_ns);
	jsonw_array_end(&o->json);
	otlp_events_put(&o->events, &o->json, span, o->real_offset_ns);
	if (caller && callers_trace != trace)
		put_link(o, callers_trace, caller);
	jsonw_object_end(&o->json);
	if (!call->depth)
		otlp_end_line(o);
}

/* ---- rows that are not calls ---- */

/* A span without duration for an event without a call; @trace and @parent 0: a separate trace. */
static void put_alone(struct otlp *o, struct owner owner, const struct otlp_event *event,
		      uint64_t trace, uint64_t parent)
{
	const uint64_t span = ++o->span_cnt;

	begin_span(o, owner);
	put_ids(o, trace ? trace : span, span, parent);
	jsonw_key(&o->json, "name");
	jsonw_string(&o->json, event->name);
	put_span_head(o, event->time_ns, event->time_ns);
	put_attributes(&o->json, event);
	jsonw_object_end(&o->json);
	if (!trace)
		otlp_end_line(o);
}

static void otlp_put_lost(struct otlp *o, const struct row *row)
{
	const struct otlp_cpu *cpu = row->cpu < o->cpu_cnt ? &o->cpus[row->cpu] : NULL;
	struct otlp_event *event = otlp_event_new(&o->events, cpu ? cpu->span : 0);

	snprintf(event->name, sizeof(event->name), "lost events");
	event->time_ns = calltree_time(o->tree, row);
	otlp_int(&event->json, "cpu.logical_number", row->cpu);
	if (row->lost_cnt)
		otlp_int(&event->json, "netfgraph.lost.count", (int64_t)row->lost_cnt);
	if (event->is_alone)
		put_alone(o, (struct owner){ 0 }, event, cpu ? cpu->trace : 0, cpu ? cpu->span : 0);
}

static void name_event(struct otlp_event *event, const struct row *row)
{
	const struct text name = row->kind == ROW_POINT ? row->name
				 : row->frame_cnt       ? text_from("stack")
				 : row->user_stack      ? text_from("user stack")
							: text_from("comment");

	snprintf(event->name, sizeof(event->name), "%.*s", (int)name.len, name.ptr);
}

/* The attributes of a tracepoint: its system, and its fields under their names. */
static void otlp_put_point(struct jsonw *line, const struct row *row)
{
	if (row->module.len)
		otlp_text(line, "netfgraph.system", row->module);
	for (uint32_t i = 0; i < row->arg_cnt; i++)
		otlp_value(line, "netfgraph.field.", row->args[i].name, &row->args[i]);
}

/* A row that is neither call nor loss. */
static int otlp_put_comment(struct otlp *o, const struct row *row)
{
	const bool is_stack = row->frame_cnt || row->user_stack;
	struct calltask *task =
		is_stack ? calltree_task_before_entry(o->tree, row) : calltree_task(o->tree, row);
	struct otlp_event *event;
	uint64_t span;

	if (!task)
		return -ENOMEM;
	span = task->call_cnt ? span_of(o, task, task->call_cnt - 1) : 0;
	if (is_stack && !span)
		event = otlp_event_for_next(&o->events, task->track);
	else
		event = otlp_event_new(&o->events, span);
	name_event(event, row);
	event->time_ns = calltree_time(o->tree, row);
	otlp_int(&event->json, "cpu.logical_number", row->cpu);
	if (row->kind == ROW_POINT)
		otlp_put_point(&event->json, row);
	else if (row->frame_cnt)
		otlp_stack(&event->json, row);
	else if (row->user_stack)
		otlp_user_stack(&event->json, row->user_stack);
	else
		otlp_text(&event->json, "netfgraph.comment", row->text);
	if (event->is_alone)
		put_alone(o, otlp_owner_of(task), event, span ? task->calls[0].user_ns : 0, span);
	return 0;
}

/* task->user: the CPU of its last call, plus 1. Return: 0 or -ENOMEM. */
static int note_open_call(struct otlp *o, const struct row *row)
{
	struct calltask *task = calltree_task(o->tree, row);
	struct otlp_cpu *cpu;

	if (row->cpu >= CALLTREE_CPU_MAX)
		return 0;
	if (!task || VEC_RESERVE_ZEROED(o->cpus, o->cpu_cnt, row->cpu + 1u))
		return -ENOMEM;
	cpu = task->user ? &o->cpus[task->user - 1] : NULL;
	if (cpu && cpu->track == task->track)
		*cpu = (struct otlp_cpu){ 0 };
	task->user = row->cpu + 1;
	cpu = &o->cpus[row->cpu];
	cpu->track = task->track;
	cpu->span = task->call_cnt ? span_of(o, task, task->call_cnt - 1) : 0;
	cpu->trace = task->call_cnt ? trace_of(task, task->call_cnt - 1) : 0;
	return 0;
}

/* ---- the format ---- */

static int otlp_start(void *self, const struct format_config *config, struct strbuf *out)
{
	struct otlp *o = self;

	o->out = out;
	o->node = config->node;
	o->real_offset_ns = config->lacks_time ? 0 : config->real_offset_ns;
	o->lacks_time = config->lacks_time;
	return fmt_tree(&o->tree, config, NULL, otlp_put_call, o);
}

static int otlp_row(void *self, const struct row *row)
{
	struct otlp *o = self;
	int err;

	if (!o->has_file_id)
		make_file_id(o, row);
	if (row->kind == ROW_LOST)
		otlp_put_lost(o, row);
	if (row->kind == ROW_COMMENT || row->kind == ROW_POINT)
		return otlp_put_comment(o, row);
	err = calltree_row(o->tree, row);
	return !err && row_is_call(row) ? note_open_call(o, row) : err;
}

static int otlp_finish(void *self)
{
	struct otlp *o = self;
	const struct otlp_event *event;

	calltree_finish(o->tree);
	/* events of callers that were implied and never seen */
	while ((event = otlp_events_take(&o->events)))
		put_alone(o, (struct owner){ 0 }, event, 0, 0);
	otlp_end_line(o);
	return 0;
}

static void otlp_release(void *self)
{
	struct otlp *o = self;

	calltree_free(o->tree);
	otlp_events_release(&o->events);
	strbuf_release(&o->line);
	free(o->cpus);
}

const struct fmt_ops fmt_otlp = {
	.traits = { .name = "otlp", .wants_process = true, .has_net = true, .has_values = true },
	.size = sizeof(struct otlp),
	.has_frames = true,
	.has_points = true,
	.forgets_tasks = true,
	.start = otlp_start,
	.row = otlp_row,
	.finish = otlp_finish,
	.release = otlp_release,
};
