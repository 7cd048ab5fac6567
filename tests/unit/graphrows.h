#ifndef NFG_TEST_GRAPHROWS_H
#define NFG_TEST_GRAPHROWS_H

/* Events for the graph, and the rows it makes of them as short text, one per line. */
#include <stdint.h>

#include "base/strbuf.h"
#include "trace/graph.h"

extern const struct functab tab;

enum { A, B, C };

extern struct strbuf text;

struct graph *start_graph(uint32_t depth_max);

/* frame addresses: a stack grows down, one step a call */
struct event entry(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func, uint16_t frame);

struct event change(uint64_t time_ns, uint32_t cpu, uint32_t tid, enum event_kind kind);
struct event leave(uint64_t time_ns, uint32_t cpu, uint32_t tid, uint16_t func, uint16_t frame);
struct event lost(uint64_t time_ns, uint32_t cpu, uint64_t cnt);
const char *rows(void);

#define PAIRS(g) (&graph_stats_get(g)->pairs)

#define FEED(g, ...)                                                         \
	do {                                                                 \
		const struct event evs_[] = { __VA_ARGS__ };                 \
		CHECK(!graph_feed(g, evs_, sizeof(evs_) / sizeof(evs_[0]))); \
	} while (0)

#endif
