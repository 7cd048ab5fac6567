#ifndef NFG_FORMAT_PROFILE_PARTS_H
#define NFG_FORMAT_PROFILE_PARTS_H

#include "base/hash.h"
#include "format/calltree.h"
#include "format/profile.h"

/* The counts that profile.c makes and profile_table.c prints. Private to user/format/. */

#define OUTERMOST PROFILE_OUTERMOST

struct func_stat {
	uint64_t total_ns;
	uint64_t self_ns;
	/* what tracing added to them, and how wrong that may be */
	uint64_t total_cost_ns;
	uint64_t total_error_ns;
	uint64_t self_cost_ns;
	uint64_t net_cnt; /* calls of which it is known */
	struct hist hist;
	struct hist net_hist; /* with profile_config.has_net_median: of net durations */
	uint64_t untimed_cnt; /* calls of a trace without durations, in nothing else */
};

struct caller_stat {
	uint32_t func;
	uint32_t caller; /* OUTERMOST: none */
	uint64_t call_cnt;
	uint64_t duration_ns;
	bool is_timed; /* false: the trace has no durations */
};

struct profile {
	struct profile_config config;
	struct calltree *tree;
	bool failed;
	struct func_stat *funcs; /* [0]: without name; then by the callsym's id, plus 1 */
	size_t func_cap;         /* zeroed if not called */
	struct caller_stat *callers;
	size_t caller_cnt;
	size_t caller_cap;
	struct hash caller_idx; /* of callers, by func and caller */
	uint64_t gap_cnt;
	uint64_t partial_cnt;
	uint64_t stray_cnt;
};

/* profile_func_at - fill in the function with number @func, even if it was not called. */
void profile_func_at(const struct profile *p, uint32_t func, struct profile_func *out);

#endif
