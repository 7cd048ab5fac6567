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

/* The governor of a running trace (--max-overhead, --max-events), with its measurements. Zeroed: no limit. */
struct overhead {
	struct governor *governor; /* NULL: no limit */
	const struct functab *functab;
	const struct rings *rings;
	uint64_t *slot_cnts;
	uint32_t limit_cnts[LEFTOUT_LIMIT_CNT]; /* functions left out, by enum leftout_limit */
	uint64_t looked_ns;                     /* when the governor last judged ... */
	enum governor_verdict verdict; /* ... and its verdict, until overhead_judge returns it */
};

/* overhead_slot_ps - estimate the picoseconds that one recorded event costs its task. Takes less than a millisecond. */
uint32_t overhead_slot_ps(const struct bpfobj *obj);

/* overhead_sum_ps - the same for one call that is summed up in the kernel. */
uint32_t overhead_sum_ps(const struct bpfobj *obj);

/* overhead_init - Return: 0 or -ENOMEM. overhead_release undoes it. All arguments are borrowed. */
int overhead_init(struct overhead *ov, const struct opts *opts, const struct functab *functab,
		  const struct bpfobj *obj);
void overhead_release(struct overhead *ov);

/*
 * overhead_watch - count the events of a pass. With a backlog a pass takes longer than a decision may, so this also
 * judges; overhead_judge returns the verdict.
 */
void overhead_watch(struct overhead *ov, const struct event *events, size_t cnt);

/* overhead_judge - the verdict; call it after every pass. */
enum governor_verdict overhead_judge(struct overhead *ov);

/* overhead_resume - the left-out functions are detached: start measuring again. */
void overhead_resume(struct overhead *ov);

/* overhead_skip - call it instead of overhead_judge if the output's reader does not keep up. */
void overhead_skip(struct overhead *ov);

/*
 * overhead_tell - after GOVERNOR_LEAVE_OUT, log what is left out; after GOVERNOR_STOP, log as an error that the trace
 * ends.
 */
void overhead_tell(const struct overhead *ov);

/*
 * overhead_drop - remove events of left-out functions from @events: their two ends are not detached at once. Return:
 * the number of remaining events.
 */
size_t overhead_drop(const struct overhead *ov, struct event *events, size_t cnt);

#endif
