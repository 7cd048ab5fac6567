#ifndef NFG_FORMAT_OTLP_EVENTS_H
#define NFG_FORMAT_OTLP_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "format/callvalues.h"

/* Attributes in OTLP/JSON, and the events that wait for the end of the call inside which they came. */

#define OTLP_EVENTS_MAX 64

struct otlp_event {
	uint64_t span;   /* number of the span that it is of; 0: not known yet */
	uint32_t track;  /* of the task whose next outermost call it is of, while span is 0 */
	bool is_waiting; /* for one of both */
	bool is_alone;   /* it cannot wait: to be written as a span, before the next is asked for */
	const char *name;         /* a literal */
	uint64_t time_ns;         /* of the trace's clock */
	struct strbuf attributes; /* JSON, by otlp_text() and others */
};

/* Zeroed: none. At most OTLP_EVENTS_MAX wait. */
struct otlp_events {
	struct otlp_event items[OTLP_EVENTS_MAX];
	size_t waiting_cnt;
	struct otlp_event alone;
};

/*
 * otlp_event_new - an event of span @span (0: of none), without attributes. Its owner sets name, time and attributes.
 * Never NULL; without a span or room to wait it is_alone.
 */
struct otlp_event *otlp_event_new(struct otlp_events *events, uint64_t span);

/* otlp_event_for_next - likewise, of the next outermost call of the task with @track. */
struct otlp_event *otlp_event_for_next(struct otlp_events *events, uint32_t track);

/* otlp_events_bind - the outermost call of the task with @track is @span: what waits for it is of that span. */
void otlp_events_bind(struct otlp_events *events, uint32_t track, uint64_t span);

/* otlp_events_put - append ,"events":[...] of span @span, if it has any, with times @offset_ns later; they wait no longer. */
void otlp_events_put(struct otlp_events *events, struct strbuf *out, uint64_t span,
		     uint64_t offset_ns);

/* otlp_events_take - one that waits and now no longer does; valid until the next call. NULL: none waits. */
const struct otlp_event *otlp_events_take(struct otlp_events *events);
void otlp_events_release(struct otlp_events *events);

/* otlp_text, otlp_int - append an attribute, with a comma behind one before it. */
void otlp_text(struct strbuf *out, const char *key, struct text value);
void otlp_int(struct strbuf *out, const char *key, int64_t value);

/* otlp_value - likewise, called @prefix and @name, with the value's type; a pointer is text. */
void otlp_value(struct strbuf *out, const char *prefix, struct text name,
		const struct callvalue *value);

/* otlp_stack - code.stacktrace of a row's text ("stack: f+0x1/0x2 <-g+0x3/0x4"), a line for each caller. */
void otlp_stack(struct strbuf *out, struct text text);

#endif
