#ifndef NFG_TRACE_STILLS_H
#define NFG_TRACE_STILLS_H

#include <stddef.h>
#include <stdint.h>

/*
 * Times in which the whole host seems to have stood still: a timer of this process came late, although the process did not wait
 * for a CPU, and no CPU had an event. Zeroed: none. Pure.
 */
#define STILLS_MAX   64
#define STILL_MIN_NS 200000000ull /* shorter ones are not kept */

struct still {
	uint64_t begin_ns;
	uint64_t end_ns;
};

struct stills {
	struct still items[STILLS_MAX]; /* ascending, and apart */
	size_t cnt;
};

/*
 * stills_of_sleep - when the host may have stood still while this process slept from @begin_ns to @end_ns, instead of @asked_ns.
 * @waited_ns: for a CPU meanwhile, at most. Return: begin_ns is 0 if it did not for STILL_MIN_NS.
 */
struct still stills_of_sleep(uint64_t begin_ns, uint64_t asked_ns, uint64_t end_ns,
			     uint64_t waited_ns);

/* stills_add - add one that is later than all others. Beyond STILLS_MAX the shortest one is forgotten. */
void stills_add(struct stills *stills, struct still still);

/* stills_cut - a CPU had an event at @time_ns: of the time around it only the longer side is left, if it is long enough. */
void stills_cut(struct stills *stills, uint64_t time_ns);

#endif
