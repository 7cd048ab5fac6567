#ifndef NFG_SESSION_STATUS_H
#define NFG_SESSION_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "session/loss_report.h"

/*
 * What a terminal shows of a running trace: a line at the start, a line with numbers that is renewed once a second, and
 * a summary. All of it only if standard error is a terminal that has us in its foreground.
 *
 * The line with numbers is left out where others write to that terminal: with a command, or if rows go to a terminal, a
 * pipe or a socket. It needs no wakeup of its own.
 */
struct session;

struct status {
	bool is_shown;       /* the line with numbers */
	uint64_t begin_ns;   /* of the trace */
	uint64_t end_ns;     /* likewise */
	uint64_t last_ns;    /* the line's interval began there, with these numbers: */
	uint64_t call_cnt;   /* calls */
	uint64_t reader_ns;  /* our CPU time */
	uint64_t *slot_cnts; /* events of each CPU ... */
	uint64_t *last_cnts; /* ... and then; NULL: their cost is not shown */
	uint32_t slot_ps;    /* what one of them takes its task */
	uint64_t
		missed_at_ns; /* when to ask next what programs missed: that takes a system call for each */
	struct loss_report losses;
};

/* status_start - the trace begins; the line for it. Return: 0 or -ENOMEM. */
int status_start(struct session *ses);

/* status_tick - renew the line, if it is time. */
void status_tick(struct session *ses, uint64_t now_ns);

/* status_stop - the trace is over; the line goes. */
void status_stop(struct session *ses);

/* status_say - the summary; session.account says what was lost, and the output is closed. */
void status_say(const struct session *ses);

void status_release(struct status *status);

#endif
