/* layer 34: view */
#ifndef NFG_CALLMARK_H
#define NFG_CALLMARK_H

#include <stdint.h>

#include "details.h"
#include "event.h"
#include "opts.h"

/* Of a recording with values: which calls --errors-only and --filter ask for, as the kernel tells it in a trace. */
struct callmark;

/* callmark_new - what is given is borrowed. Return: 0 or -ENOMEM. Caller frees with callmark_free. */
int callmark_new(struct callmark **out, const struct opts *opts, const struct details *details);
void callmark_free(struct callmark *cm);

/* callmark_event - the next event, of a function that --filter fits; at the end of a call that is asked for it gets EVENT_MARKED. */
void callmark_event(struct callmark *cm, struct event *ev);

/* callmark_missed_cnt - calls that could not be asked: what it takes is not in the recording. */
uint64_t callmark_missed_cnt(const struct callmark *cm);

#endif
