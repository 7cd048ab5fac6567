#ifndef NFG_FORMAT_OTLP_EVENTS_H
#define NFG_FORMAT_OTLP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "format/callvalues.h"

/* Attributes in OTLP/JSON, and events that wait for the end of the call they occurred in. */

#define OTLP_EVENTS_MAX 64

struct otlp_event {
	uint64_t span; /* number of its span; 0: not known yet */
	uint32_t
		track; /* while span is 0: it belongs to the next outermost call of this track's task */
	bool is_waiting;  /* for its span's end, or for that call */
	bool is_alone;    /* it cannot wait: write it as a span before the next otlp_event_new */
	const char *name; /* a literal */
	uint64_t time_ns; /* of the trace's clock */
	struct strbuf attributes; /* JSON, by otlp_text() and others */
};

/* Zeroed: none. At most OTLP_EVENTS_MAX wait. */
struct otlp_events {
	struct otlp_event items[OTLP_EVENTS_MAX];
	size_t waiting_cnt;
	struct otlp_event alone;
};

/*
 * otlp_event_new - an event of span @span (0: none), without attributes. The caller sets name, time and attributes.
 * Never NULL; without a span or room to wait it is_alone.
 */
struct otlp_event *otlp_event_new(struct otlp_events *events, uint64_t span);

/* otlp_event_for_next - the same, for the next outermost call of the task with @track. */
struct otlp_event *otlp_event_for_next(struct otlp_events *events, uint32_t track);

/* otlp_events_bind - assign events that wait for the outermost call of the task with @track to @span. */
void otlp_events_bind(struct otlp_events *events, uint32_t track, uint64_t span);

/*
 * otlp_events_put - append ,"events":[...] of span @span, if it has any, with @offset_ns added to times, and remove
 * them.
 */
void otlp_events_put(struct otlp_events *events, struct strbuf *out, uint64_t span,
		     uint64_t offset_ns);

/* otlp_events_take - remove and return a waiting event, valid until the next call. NULL: none waits. */
const struct otlp_event *otlp_events_take(struct otlp_events *events);
void otlp_events_release(struct otlp_events *events);

/* otlp_text, otlp_int - append an attribute, with a comma if another precedes it. */
void otlp_text(struct strbuf *out, const char *key, struct text value);
void otlp_int(struct strbuf *out, const char *key, int64_t value);

/* otlp_value - the same, with the key @prefix and @name and the value's type; a pointer is text. */
void otlp_value(struct strbuf *out, const char *prefix, struct text name,
		const struct callvalue *value);

/* otlp_stack - code.stacktrace from a row's text ("stack: f+0x1/0x2 <-g+0x3/0x4"), a line for each caller. */
void otlp_stack(struct strbuf *out, struct text text);

#endif
