#ifndef NFG_TEST_GOVERNED_H
#define NFG_TEST_GOVERNED_H

/* A governor over five functions. The test makes the calls and lets the time pass. */
#include <stdint.h>

#include "trace/governor.h"

#define MS 1000000ull

/* 0: start function; 1: asked for by name; 2, 3, 4: found by a pattern */
extern struct func governed_funcs[5];

extern const struct functab governed_functab;

extern struct governed {
	struct governor *gv;
	uint64_t now_ns;
	uint64_t reader_ns;
	uint64_t event_cnts[2];
	uint64_t event_ns; /* the time of the next event */
	uint64_t step_ns;  /* from one event to the next */
	uint8_t flags;     /* EVENT_* of the next events ... */
	uint16_t cpu;      /* ... and their CPU; costs are those of 1 */
} gov;

/* Begins, with a first tick. An event costs a microsecond; with @max_events_sec one happens each 0.1 ms. */
void governed_start(uint32_t max_pct, uint64_t max_events_sec);

void event(enum event_kind kind, uint16_t func_id);

/* @cnt calls of @func_id that call nothing. */
void leaves(uint16_t func_id, int cnt);

/* Leaves as a text, "2*100 3*600", and then a tick. */
enum governor_verdict after(const char *calls, uint64_t ms, uint64_t event_cnt, uint64_t reader_ms);

/* @ms go by with @event_cnt events, of which the reader took @reader_ms of CPU time. */
enum governor_verdict tick(uint64_t ms, uint64_t event_cnt, uint64_t reader_ms);

/* What a tick gets that comes @ms later. Valid until the next call. */
const struct governor_sample *sample_after(uint64_t ms);

/* Frees the governor: for AFTER(). */
void governed_end(void);

/* The ids of the functions that the last verdict leaves out; valid until the next call. */
const char *left_out(void);

#endif
