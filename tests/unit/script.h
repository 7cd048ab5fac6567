#ifndef NFG_TEST_SCRIPT_H
#define NFG_TEST_SCRIPT_H

/*
 * Events from a text, for all tests that need some. Its words:
 *
 *   100 +5 +20ms   when the next event happens: ns, us, ms or s; + is after the one before. Without: 1 ns after it
 *   cpu1 tid7      where the next events happen; at first cpu0 tid7
 *   a{ }a          entry and return of function 0; a letter's place in script_funcs is the function's number
 *   a90{ }a90      the same with the frame of the call. Without: 8 less than that of the task's innermost call
 *   }              the return of the task's innermost call
 *   a{/tu          with flags: t EVENT_TREE, u UNSURE, r ROOT, d DROP, m EVENT_MARKED
 *   v5             the number of the values of the next event
 *   lost17 torn5 gap out in doubt sure
 *   point3 point3/tr  tracepoint number 3, and with flags
 *
 * A script goes on where the one before ended.
 */
#include <stddef.h>

#include "trace/event.h"

extern const char *script_funcs; /* "abc..." at first */

/* Begins anew; @funcs becomes script_funcs. */
void script_begin(const char *funcs);

/* A script after a format, valid until the next call. */
const char *script_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Return: the number of events; the test fails when there are more than @cap, or on a word that is none. */
size_t script_events(const char *script, struct event *events, size_t cap);

/* The same events as words, without times and places: "a{ lost3 }a". Valid until the next call. */
const char *script_text(const struct event *events, size_t cnt);

/* Runs a statement with each event of @script, as @ev. */
#define SCRIPT_EACH(script, ev)                                                                 \
	for (struct event evs_[64], *ev = evs_, *end_ = evs_ + script_events(script, evs_, 64); \
	     ev < end_; ev++)

#endif
