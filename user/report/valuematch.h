#ifndef NFG_REPORT_VALUEMATCH_H
#define NFG_REPORT_VALUEMATCH_H

#include <stdint.h>

#include "format/details.h"
#include "options/opts.h"
#include "trace/event.h"

/* Selects the calls of a recording for --errors-only and --filter, by their values. In a live trace the programs do. */
struct value_match;

/* value_match_new - @opts and @details are borrowed. Return: 0 or -ENOMEM. Caller frees with value_match_free. */
int value_match_new(struct value_match **out, const struct opts *opts,
		    const struct details *details);
void value_match_free(struct value_match *vm);

/* value_match_event - take the next event of a function that --filter fits: EVENT_MARKED at the exit of a selected call. */
void value_match_event(struct value_match *vm, struct event *ev);

/* value_match_missed_cnt - calls not marked because the recording lacks their values. */
uint64_t value_match_missed_cnt(const struct value_match *vm);

#endif
