#ifndef NFG_TRACE_LEFTOUT_H
#define NFG_TRACE_LEFTOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/functab.h"
#include "base/strbuf.h"

/* Which limit was exceeded. Recordings hold these numbers. */
enum leftout_limit {
	LEFTOUT_OVERHEAD = 1,   /* --max-overhead, percent of a CPU's time */
	LEFTOUT_EVENTS = 2,     /* --max-events, events per second */
	LEFTOUT_NEIGHBOURS = 3, /* --max-overhead, percent that tasks pay which are not traced */
	LEFTOUT_LEARNED =
		4, /* --learn, ns: nobody called them; the functions that stay are measured */
	LEFTOUT_WINDOW =
		5, /* --duty, percent of the time, or 0: all of them, for the measured ns */
};
#define LEFTOUT_LIMIT_CNT 6

/* Functions that a trace stopped recording because a limit was exceeded, or because nobody called them; or that it records in windows. */
struct leftout {
	uint64_t time_ns;
	uint32_t cpu;   /* in whose column the comment appears */
	uint32_t limit; /* enum leftout_limit */
	bool is_end;    /* no more functions could be left out: the trace ends here */
	uint64_t measured;
	uint64_t max;
	const uint32_t *func_ids; /* hottest first; borrowed */
	size_t func_cnt;
};

/* leftout_option - the option that sets the limit. */
const char *leftout_option(enum leftout_limit limit);

/* leftout_first - the first limit of the same option: functions that are left out are counted there. */
enum leftout_limit leftout_first(enum leftout_limit limit);

/* leftout_text - append the text of the trace's comment. Functions that @functab lacks, and learned ones, are not named. */
void leftout_text(struct strbuf *out, const struct leftout *lo, const struct functab *functab);

/*
 * leftout_say - warn how many functions were left out by a limit; @cnts: by enum leftout_limit.
 *
 * @path: of the recording; NULL: this trace.
 */
void leftout_say(const uint32_t cnts[LEFTOUT_LIMIT_CNT], const char *path);

#endif
