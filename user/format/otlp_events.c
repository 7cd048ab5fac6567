#include "format/otlp_events.h"

#include <inttypes.h>

#include "format/fmt.h"

/* ---- attributes ---- */

static void begin_attribute(struct strbuf *out)
{
	strbuf_str(out, out->len && out->ptr[out->len - 1] == '}' ? ",{\"key\":" : "{\"key\":");
}

void otlp_text(struct strbuf *out, const char *key, struct text value)
{
	begin_attribute(out);
	fmt_json_text(out, text_from(key));
	strbuf_str(out, ",\"value\":{\"stringValue\":");
	fmt_json_text(out, value);
	strbuf_str(out, "}}");
}

/* 64-bit numbers are strings in protobuf's JSON */
static void put_int(struct strbuf *out, int64_t value)
{
	strbuf_printf(out, ",\"value\":{\"intValue\":\"%" PRId64 "\"}}", value);
}

void otlp_int(struct strbuf *out, const char *key, int64_t value)
{
	begin_attribute(out);
	fmt_json_text(out, text_from(key));
	put_int(out, value);
}

void otlp_value(struct strbuf *out, const char *prefix, struct text name,
		const struct callvalue *value)
{
	begin_attribute(out);
	strbuf_char(out, '"');
	strbuf_str(out, prefix);
	if (strbuf_ok(out)) {
		const size_t mark = out->len;

		fmt_json_text(out, name); /* "name": without its first quote */
		if (strbuf_ok(out)) {
			memmove(out->ptr + mark, out->ptr + mark + 1, out->len - mark - 1);
			out->len--;
		}
	}
	if (value->kind == CALLVALUE_INT) {
		put_int(out, value->number);
		return;
	}
	strbuf_str(out, value->kind == CALLVALUE_BOOL ? ",\"value\":{\"boolValue\":"
						      : ",\"value\":{\"stringValue\":");
	if (value->kind == CALLVALUE_BOOL)
		strbuf_add(out, value->text.ptr, value->text.len);
	else
		fmt_json_text(out, value->text);
	strbuf_str(out, "}}");
}

void otlp_stack(struct strbuf *out, struct text text)
{
	const char *at = text.ptr + strlen("stack: ");
	const char *end = text.ptr + text.len;
	struct strbuf lines = { 0 };

	while (at < end) {
		const char *next = memmem(at, (size_t)(end - at), " <-", 3);

		strbuf_add(&lines, at, (size_t)((next ? next : end) - at));
		at = next ? next + 3 : end;
		if (next)
			strbuf_char(&lines, '\n');
	}
	out->failed |= !strbuf_ok(&lines);
	otlp_text(out, "code.stacktrace", (struct text){ lines.ptr, lines.len });
	strbuf_release(&lines);
}

/* ---- events ---- */

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
		strbuf_reset(&event->attributes);
		return event;
	}
	return NULL;
}

static struct otlp_event *alone(struct otlp_events *events)
{
	events->alone.is_alone = true;
	strbuf_reset(&events->alone.attributes);
	return &events->alone;
}

struct otlp_event *otlp_event_new(struct otlp_events *events, uint64_t span)
{
	struct otlp_event *event = span ? wait_for(events, span, 0) : NULL;

	return event ? event : alone(events);
}

struct otlp_event *otlp_event_for_next(struct otlp_events *events, uint32_t track)
{
	struct otlp_event *event = wait_for(events, 0, track);

	return event ? event : alone(events);
}

void otlp_events_bind(struct otlp_events *events, uint32_t track, uint64_t span)
{
	if (!events->waiting_cnt)
		return;
	for (size_t i = 0; i < OTLP_EVENTS_MAX; i++) {
		struct otlp_event *event = &events->items[i];

		if (event->is_waiting && !event->span && event->track == track)
			event->span = span;
	}
}

static void stop_waiting(struct otlp_events *events, struct otlp_event *event)
{
	event->is_waiting = false;
	events->waiting_cnt--;
}

void otlp_events_put(struct otlp_events *events, struct strbuf *out, uint64_t span,
		     uint64_t offset_ns)
{
	const char *before = ",\"events\":[";

	for (size_t i = 0; events->waiting_cnt && i < OTLP_EVENTS_MAX; i++) {
		struct otlp_event *event = &events->items[i];

		if (!event->is_waiting || event->span != span)
			continue;
		strbuf_str(out, before);
		before = ",";
		strbuf_str(out, "{\"timeUnixNano\":\"");
		strbuf_u64(out, event->time_ns + offset_ns);
		strbuf_str(out, "\",\"name\":\"");
		strbuf_str(out, event->name);
		strbuf_str(out, "\",\"attributes\":[");
		strbuf_add(out, event->attributes.ptr, event->attributes.len);
		strbuf_str(out, "]}");
		out->failed |= !strbuf_ok(&event->attributes);
		stop_waiting(events, event);
	}
	if (*before == ',' && !before[1])
		strbuf_char(out, ']');
}

const struct otlp_event *otlp_events_take(struct otlp_events *events)
{
	for (size_t i = 0; events->waiting_cnt && i < OTLP_EVENTS_MAX; i++) {
		if (events->items[i].is_waiting) {
			stop_waiting(events, &events->items[i]);
			return &events->items[i];
		}
	}
	return NULL;
}

void otlp_events_release(struct otlp_events *events)
{
	for (size_t i = 0; i < OTLP_EVENTS_MAX; i++)
		strbuf_release(&events->items[i].attributes);
	strbuf_release(&events->alone.attributes);
}
