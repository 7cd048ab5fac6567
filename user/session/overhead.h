#ifndef NFG_SESSION_OVERHEAD_H
#define NFG_SESSION_OVERHEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/functab.h"
#include "limits/governor.h"
#include "limits/leftout.h"
#include "options/opts.h"
#include "attach/bpfobj.h"

/* The governor of a running trace (--max-overhead, --max-events), with what it measures. Zeroed: no limit. */
struct overhead {
	struct governor *governor; /* NULL: no limit */
	const struct functab *functab;
	const struct rings *rings;
	uint64_t *slot_cnts;
	uint32_t limit_cnts[LEFTOUT_LIMIT_CNT]; /* functions left out, by enum leftout_limit */
	uint64_t looked_ns;                     /* when the governor was asked last ... */
	enum governor_verdict verdict; /* ... and what it said, until overhead_judge tells */
};

/* overhead_slot_ps - picoseconds that one recorded event is taken to cost its task. Takes less than a millisecond. */
uint32_t overhead_slot_ps(const struct bpfobj *obj);

/* overhead_init - Return: 0 or -ENOMEM. overhead_release undoes it. Everything given is borrowed. */
int overhead_init(struct overhead *ov, const struct opts *opts, const struct functab *functab,
		  const struct bpfobj *obj);
void overhead_release(struct overhead *ov);

/*
 * overhead_watch - count what a pass brings. With a backlog it takes longer than a decision may, so
 * it is judged meanwhile; overhead_judge tells.
 */
void overhead_watch(struct overhead *ov, const struct event *events, size_t cnt);

/* overhead_judge - what to do now; to be asked after every pass. */
enum governor_verdict overhead_judge(struct overhead *ov);

/* overhead_resume - what was left out is detached: begin to measure anew. */
void overhead_resume(struct overhead *ov);

/* overhead_skip - instead of overhead_judge where the output's reader does not keep up. */
void overhead_skip(struct overhead *ov);

/*
 * overhead_tell - say on stderr what is left out after GOVERNOR_LEAVE_OUT, or, as an error, that the trace ends after
 * GOVERNOR_STOP.
 */
void overhead_tell(const struct overhead *ov);

/*
 * overhead_drop - take out of @cnt events what functions that were left out still recorded: their two ends are not
 * detached at once. Return: how many are left.
 */
size_t overhead_drop(const struct overhead *ov, struct event *events, size_t cnt);

#endif
