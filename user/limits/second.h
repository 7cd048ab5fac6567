#ifndef NFG_LIMITS_SECOND_H
#define NFG_LIMITS_SECOND_H

#include <stdbool.h>
#include <stdint.h>

/*
 * One second of a trace on the clock of its events, as --max-events counts them. A second begins with the first event
 * after the previous one; a late event counts in the current second. Zeroed: none has begun.
 */
struct second {
	bool has_begun;
	uint64_t begin_ns;
	uint64_t event_cnt; /* counted by the owner */
};

/* second_is_over - whether an event at @time_ns is the first of a new second. */
static inline bool second_is_over(const struct second *sec, uint64_t time_ns)
{
	return !sec->has_begun ||
	       (time_ns > sec->begin_ns && time_ns - sec->begin_ns >= 1000000000);
}

/* second_begin - begin a new second with an event at @time_ns, which is not counted yet. */
static inline void second_begin(struct second *sec, uint64_t time_ns)
{
	*sec = (struct second){ .has_begun = true, .begin_ns = time_ns };
}

#endif
