#ifndef NFG_TEST_GRAPHROWS_H
#define NFG_TEST_GRAPHROWS_H

/* A graph of scripts (script.h), its rows, and what it counts, as text. Functions a, b and c are called alpha, beta, gamma. */
#include <stdint.h>

#include "base/strbuf.h"
#include "script.h"
#include "trace/graph.h"

/*
 * The rows so far, one a line: CPU, a dot per level, function and duration. With the numbers of values: "v1" behind an
 * entry, "^2" behind a return; a leaf that slept: "slept 5".
 */
extern struct strbuf text;
extern uint64_t leaf_begin_ns; /* of the last row that is a leaf */

extern struct graph *g; /* between start_graph() and end_graph() */

void start_graph(uint32_t depth_max);

/* For the next graphs: rows have the net duration behind the other one, "net 5", "net <2", where it is known. */
extern struct netcost graph_cost;

void feed_script(const char *script);

#define feed(...) feed_script(script_of(__VA_ARGS__))

/* All rows so far as a string. */
const char *rows(void);

/*
 * Ends and frees the graph. @rows: if not NULL, the rows. @counts: what graph_stats has that is not 0: "pairs 2 open 1".
 * Fails too where an entry is counted twice or not at all.
 */
void end_graph(const char *rows, const char *counts);

/* All of it, without a limit of depth. */
void check_graph(const char *script, const char *rows, const char *counts);

#endif
