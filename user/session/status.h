#ifndef NFG_SESSION_STATUS_H
#define NFG_SESSION_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/color.h"
#include "base/strbuf.h"
#include "session/loss_report.h"

/*
 * The status of a running trace: a line at the start, always unless --quiet is given; and if standard error is a terminal
 * that has us in its foreground, a line with numbers that is updated once a second, and a summary.
 *
 * The line with numbers is omitted if others write to that terminal: with a command, or if rows go to a terminal, a
 * pipe or a socket. It needs no extra wakeups.
 */
struct session;

struct status {
	bool is_shown;           /* the line with numbers */
	uint64_t begin_ns;       /* of the trace */
	uint64_t end_ns;         /* of the trace */
	uint64_t shown_ns;       /* when the line was updated */
	uint64_t count_at_ns;    /* when to count calls next: takes time if tables are large */
	uint64_t last_ns;        /* when they were counted, with these numbers: */
	uint64_t call_cnt;       /* calls */
	uint64_t calls_sec;      /* a second, before last_ns */
	uint32_t share_permille; /* of a CPU's time, before last_ns */
	uint64_t reader_ns;      /* our CPU time */
	uint64_t *busy_cnts;     /* events of each CPU, or calls in each table */
	uint64_t *last_cnts;     /* the same at last_ns */
	uint32_t busy_ps;        /* the cost of one to its task, picoseconds */
	uint64_t missed_at_ns; /* when to read missed calls next: takes a system call per program */
	struct loss_report losses;
};

/* status_start - the trace begins: print the first line. Return: 0 or -ENOMEM. */
int status_start(struct session *ses);

/* status_tick - update the line, if it is time. */
void status_tick(struct session *ses, uint64_t now_ns);

/* status_stop - the trace is over: remove the line. */
void status_stop(struct session *ses);

/* status_say - print the summary; session.loss_report says what was lost, and the output is closed. */
void status_say(const struct session *ses);

void status_release(struct status *status);

/* The texts about a running trace for a terminal. Pure: numbers to text. */

enum status_kind {
	STATUS_TRACE,
	STATUS_RECORD,
	STATUS_COUNT, /* profile, latency */
};

/* Facts of a trace. */
struct status_trace {
	enum status_kind kind;
	uint64_t func_cnt;   /* 0: of tracepoints alone */
	const char *path;    /* its output; NULL: standard output */
	const char *command; /* ends it; NULL: none does */
	uint64_t timeout_ns; /* ends it; 0: none does */
	bool is_watched;     /* by somebody who may press Ctrl-C */
};

/* Its current numbers. */
struct status_now {
	uint64_t elapsed_ns;
	uint64_t call_cnt;
	uint64_t calls_sec;
	uint64_t lost_cnt;       /* events */
	uint32_t share_permille; /* of a CPU's time, as defined by --max-overhead */
	bool is_mean;            /* not of the busiest CPU, but the mean of some */
	bool has_others;
	uint32_t others_permille; /* cost of calls that are not traced: now; at the end, the most */
	bool has_file;
	uint64_t file_bytes;
};

/* status_begin - "recording 40 functions to 'web.rec', Ctrl-C ends it"; where nobody watches, without Ctrl-C. */
void status_begin(struct strbuf *out, const struct status_trace *trace);

/*
 * status_line - "0:12  84.1K calls/s, 1.02M calls, 0 events lost, 3.4 % of a CPU, others 0.8 %, 18.3 MiB"; a narrow
 * terminal cuts it off.
 *
 * @alarm: the part to highlight, the losses; len 0: none.
 */
void status_line(struct strbuf *out, const struct status_now *now, struct color_span *alarm);

/*
 * status_end - "recorded 1.02M calls in 12.3 s to 'web.rec', 18.3 MiB; nothing was lost; calls not traced cost up to
 * 3.1 % of a CPU".
 */
void status_end(struct strbuf *out, const struct status_trace *trace, const struct status_now *now);

#endif
