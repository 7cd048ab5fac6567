#ifndef NFG_TEST_GOVERNED_H
#define NFG_TEST_GOVERNED_H

/* A governor and five functions; time passes and calls happen as a test says. */
#include <stdint.h>

#include "limits/governor.h"

#define MS 1000000ull

/* 0: start function; 1: asked for by name; 2, 3, 4: found by a pattern */
extern struct func governed_funcs[5];

extern const struct functab governed_functab;

struct bench {
	struct governor *gv;
	uint64_t now_ns;
	uint64_t reader_ns;
	uint64_t event_cnts[2];
	uint64_t event_ns; /* the clock of events ... */
	uint64_t step_ns;  /* ... which goes on so much with each */
};

/* An event costs a microsecond. */
struct bench governed_start(uint32_t max_pct);

void event(struct bench *b, enum event_kind kind, uint16_t func_id);
void leaves(struct bench *b, uint16_t func_id, int cnt);
enum governor_verdict tick(struct bench *b, uint64_t ms, uint64_t event_cnt, uint64_t reader_ms);
const char *left_out(const struct bench *b);

#endif
