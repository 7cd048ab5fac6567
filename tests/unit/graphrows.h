#ifndef NFG_TEST_GRAPHROWS_H
#define NFG_TEST_GRAPHROWS_H

/* Events for a graph, and its rows as short text: CPU, a dot per level, function and duration; one row a line. */
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/graph.h"

enum { A, B, C }; /* the functions of tab */
extern const struct functab tab;

extern struct strbuf text; /* the rows so far */

struct graph *start_graph(uint32_t depth_max);

/* The entry of a call. @frame tells calls of a task apart; stacks grow down, one step a call. */
struct event entry(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func, uint16_t frame);

/* A task leaves or enters its CPU, or calls of it may be missing from here on: whatever @kind says. */
struct event change(uint64_t time_ns, uint32_t cpu, uint32_t tid, enum event_kind kind);

/* The return of the call that entered with @frame. */
struct event leave(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func, uint16_t frame);

struct event lost(uint64_t time_ns, uint32_t cpu, uint64_t cnt);

/* All rows so far as a string. */
const char *rows(void);

#define PAIRS(g) (&graph_stats_get(g)->pairs)

#define FEED(g, ...)                                                         \
	do {                                                                 \
		const struct event evs_[] = { __VA_ARGS__ };                 \
		CHECK(!graph_feed(g, evs_, sizeof(evs_) / sizeof(evs_[0]))); \
	} while (0)

#endif
