#ifndef NFG_SESSION_CHECK_H
#define NFG_SESSION_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "format/datarow.h"
#include "kernel/attachmode.h"

/* A feature that a trace may use. */
struct check_row {
	const char *feature;
	bool available;
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

/* check_text - append a line per row: feature, yes or no, and the reason. check_json - append an array of objects. */
void check_text(const struct check_row *rows, size_t cnt, struct strbuf *out);
void check_json(const struct check_row *rows, size_t cnt, struct strbuf *out);

/* check_data - append the first @cnt rows as data, CSV with its header; @host: uname -n. */
void check_data(const struct check_row *rows, size_t cnt, const char *host, enum datarow_kind kind,
		struct strbuf *out);

#endif
