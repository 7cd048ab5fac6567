#ifndef NFG_FORMAT_EXPLAIN_H
#define NFG_FORMAT_EXPLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "format/leftfuncs.h"
#include "format/slowcalls.h"
#include "format/slowgroups.h"
#include "format/slowstarts.h"
#include "kernel/netstat.h"

/* How it is said. */
enum explain_form {
	EXPLAIN_TEXT,
	EXPLAIN_JSON, /* one object */
	EXPLAIN_HTML, /* a page for a browser; it needs trees */
};

/* Causes of slow calls, as docs/explain.md describes them. Pure. */
struct explain_view {
	const char *input;  /* the file's name; NULL: a live trace */
	uint64_t slower_ns; /* 0: the limits, */
	const struct slow_limit *
		limits; /* and of functions without one, or that no call exceeds: the rule of slowgroups.h */
	size_t limit_cnt;
	const struct slow_waited *waited; /* what a flight recorder waited for, in that order */
	size_t waited_cnt;
	const struct leftfuncs *left; /* NULL: none */
	int64_t untraced_ns;          /* for so long nothing was traced */
	const struct still *stills;   /* when the whole host stood still, ascending */
	size_t still_cnt;
	bool needs_limited; /* without a call that reaches one of limits nothing is explained */
	uint32_t
		start_max; /* of start functions with slow calls; 0: those of limits, or without any EXPLAIN_STARTS */
	uint64_t lost_cnt;             /* events that the trace lacks */
	const struct netstat *counted; /* while it was traced; NULL: not known */
	bool has_sleeps;               /* the trace would have had sleeps */
	bool lacks_tasks;              /* of a text: a call that moves to another CPU falls apart */
	bool has_trees;                /* slowcalls_keep_trees: show them, */
	unsigned int cpu_width;        /* with the same cpu_width */
};

#define EXPLAIN_STARTS 3 /* start functions, unless the user wants more or less */

/* What was found. */
struct explain_result {
	uint32_t
		slow_start_cnt; /* start functions with slow calls; 0: none, or of none that limits name */
	/* if there are none: the start function whose calls took the most time; NULL: none */
	const struct startfunc *most;
	int64_t most_usual_ns; /* the median of its calls */
	int64_t most_longest_ns;
	bool has_limited; /* one of those with slow calls has a limit of view.limits, which a call reached */
};

/* explain_put - append what is to be said, after slowcalls_finish. Return: 0 or -ENOMEM. */
int explain_put(struct slowcalls *sc, const struct explain_view *view, enum explain_form form,
		struct strbuf *out, struct explain_result *result);

/* explain_gap_words - ", open when functions were left out": why the return of a call is not known. */
const char *explain_gap_words(enum slowgap gap);

/* span_put - append a length in the unit that suits it: 0.4 us, 12.31 ms, 1.012 s. */
void span_put(struct strbuf *out, int64_t ns);

#endif
