#ifndef NFG_REPORT_VALUE_MATCH_H
#define NFG_REPORT_VALUE_MATCH_H

#include <stdint.h>

#include "annotate/details.h"
#include "trace/event.h"
#include "options/opts.h"

/* Of a recording with values: which calls --errors-only and --filter ask for, as the kernel tells it in a trace. */
struct value_match;

/* value_match_new - what is given is borrowed. Return: 0 or -ENOMEM. Caller frees with value_match_free. */
int value_match_new(struct value_match **out, const struct opts *opts,
		    const struct details *details);
void value_match_free(struct value_match *cm);

/* value_match_event - the next event, of a function that --filter fits; at the end of a call that is asked for it gets EVENT_MARKED. */
void value_match_event(struct value_match *cm, struct event *ev);

/* value_match_missed_cnt - calls that could not be asked: what it takes is not in the recording. */
uint64_t value_match_missed_cnt(const struct value_match *cm);

#endif
