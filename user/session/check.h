#ifndef NFG_SESSION_CHECK_H
#define NFG_SESSION_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/table.h"
#include "kernel/attachmode.h"

/* A feature that a trace may use. */
struct check_row {
	const char *feature;
	bool available;
	bool needed;      /* nothing can be traced without it */
	char reason[128]; /* why not; "" if available */
};

/* The rows of check_fill, in display order. */
enum check_feature {
	CHECK_BTF,
	CHECK_MODULE_BTF,
	CHECK_MAP_MEMORY,
	CHECK_FENTRY,
	CHECK_FEXIT,
	CHECK_ATTACH, /* the ways to attach, except pairs */
	CHECK_ATTACH_END = CHECK_ATTACH + ATTACH_PAIR - ATTACH_WAY_FIRST - 1,
	CHECK_FETCHING_ATOMICS,
	CHECK_LARGE_ELEMENTS,
	CHECK_RECURSION_COUNTERS,
	CHECK_PREEMPT_COUNT,
	CHECK_NO_PREEMPTION,
	CHECK_MEMORY_READS,
	CHECK_ADDRESSES,
	CHECK_TEXT,
	CHECK_CGROUP2,
	CHECK_NAMESPACES,
	CHECK_NO_LOCKDOWN,
	CHECK_UNPRIVILEGED_BPF,
	CHECK_CAPABILITIES,
	CHECK_ROW_CNT,
};

/* check_fill - probe this kernel; logs nothing. */
void check_fill(struct check_row rows[CHECK_ROW_CNT]);

/* check_is_possible - whether a trace can work at all. */
bool check_is_possible(const struct check_row rows[CHECK_ROW_CNT]);

/* check_put - append the table of the first @cnt rows. */
void check_put(struct tablew *w, const struct check_row *rows, size_t cnt);

#endif
