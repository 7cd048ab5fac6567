#ifndef NFG_REPORT_VALUE_MATCH_H
#define NFG_REPORT_VALUE_MATCH_H

#include <stdint.h>

#include "annotate/details.h"
#include "trace/event.h"
#include "options/opts.h"

/* Which calls of a recording --errors-only and --filter ask for, by their values. In a trace the programs decide it. */
struct value_match;

/* value_match_new - @opts and @details are borrowed. Return: 0 or -ENOMEM. Caller frees with value_match_free. */
int value_match_new(struct value_match **out, const struct opts *opts,
		    const struct details *details);
void value_match_free(struct value_match *vm);

/*
 * value_match_event - take the next event of a function that --filter fits. The exit of a call that is asked for gets
 * EVENT_MARKED.
 */
void value_match_event(struct value_match *vm, struct event *ev);

/* value_match_missed_cnt - calls that were not marked because the recording lacks their values. */
uint64_t value_match_missed_cnt(const struct value_match *vm);

#endif
