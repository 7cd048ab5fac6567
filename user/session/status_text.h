#ifndef NFG_SESSION_STATUS_TEXT_H
#define NFG_SESSION_STATUS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/color.h"
#include "base/strbuf.h"

/* The texts about a running trace for a terminal. Pure: numbers to text. */

enum status_kind {
	STATUS_TRACE,
	STATUS_RECORD,
	STATUS_COUNT, /* profile, latency */
};

/* Facts of a trace. */
struct status_trace {
	enum status_kind kind;
	uint64_t func_cnt;
	const char *path;    /* its output; NULL: standard output */
	const char *command; /* ends it; NULL: none does */
	uint64_t timeout_ns; /* ends it; 0: none does */
};

/* Its current numbers. */
struct status_now {
	uint64_t elapsed_ns;
	uint64_t call_cnt;
	uint64_t calls_sec;
	uint64_t lost_cnt;       /* events */
	uint32_t share_permille; /* of a CPU's time, as defined by --max-overhead */
	bool is_mean;            /* not of the busiest CPU, but the mean of some */
	bool has_file;
	uint64_t file_bytes;
};

/* status_begin - "recording 40 functions to 'web.rec', Ctrl-C ends it". */
void status_begin(struct strbuf *out, const struct status_trace *trace);

/*
 * status_line - "0:12  84.1K calls/s, 1.02M calls, 0 events lost, 3.4 % of a CPU, 18.3 MiB"; a narrow terminal cuts
 * it off.
 *
 * @alarm: the part to highlight, the losses; len 0: none.
 */
void status_line(struct strbuf *out, const struct status_now *now, struct color_span *alarm);

/* status_end - "recorded 1.02M calls in 12.3 s to 'web.rec', 18.3 MiB; nothing was lost". */
void status_end(struct strbuf *out, const struct status_trace *trace, const struct status_now *now);

#endif
