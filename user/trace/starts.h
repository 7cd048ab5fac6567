#ifndef NFG_TRACE_STARTS_H
#define NFG_TRACE_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/callstack.h"
#include "trace/event.h"

/*
 * Opens and closes the graph by what functions run: only below some (-G), not below others (-g),
 * and only calls of roots that took long (--slower-than). Per task, for calls sleep and migrate; each CPU's
 * idle task is one of its own. Pure: no clock, no I/O.
 *
 * Without slower_ns the order of events is kept. With it a root's calls are held until it
 * returns and then given out together: whole trees in the order in which they ended. Calls are paired by
 * callstack.h: a root whose return is not certain is not shown with it, nor is one that begins where nothing
 * is certain.
 */
struct starts;

enum starts_kind {
	ROOTS_PLAIN,
	ROOTS_OPEN,  /* a root: the graph is open below it */
	ROOTS_CLOSE, /* nothing of it or below it is shown */
};

struct starts_config {
	const uint8_t *kinds; /* enum starts_kind by func_id; borrowed */
	size_t func_cnt;
	bool has_roots;     /* some are ROOTS_OPEN; else every outermost call is a root */
	uint64_t slower_ns; /* 0: show roots however long they took */
	bool marked_only;   /* show roots that return with EVENT_MARKED */
};

struct starts_stats {
	uint64_t root_cnt;  /* root calls that returned */
	uint64_t shown_cnt; /* of these: slow enough */
	uint64_t
		broken_cnt; /* not shown, or not whole: events may be missing until they returned */
	uint64_t huge_cnt;  /* not shown: too many calls to hold until they returned */
};

/* starts_new - Return: 0 or -ENOMEM. Caller frees with starts_free. */
int starts_new(struct starts **out, const struct starts_config *config);
void starts_free(struct starts *rs);

/*
 * starts_feed - of @cnt events, what is to be shown.
 *
 * @out, @out_cnt: borrowed until the next call. Return: 0 or -ENOMEM, after which it may only be freed.
 */
int starts_feed(struct starts *rs, const struct event *events, size_t cnt, const struct event **out,
		size_t *out_cnt);

const struct starts_stats *starts_stats_get(const struct starts *rs);

#endif
