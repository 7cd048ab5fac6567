#ifndef NFG_FORMAT_STAGECOST_H
#define NFG_FORMAT_STAGECOST_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/netcost.h"

/*
 * What tracing added to the time between two places in a packet's way. The task that comes to the second place has come there later
 * for each of its own calls that began or ended meanwhile; what other tasks record does not hold it up, or nobody knows by how
 * much. An event counts as half a call, as its clock reading is somewhere within its cost.
 *
 * Pure: no clock, no I/O. Zeroed: nothing is known; free with stagecost_release.
 */
struct stagecost {
	struct stagecost_task *tasks; /* a cache, by track */
	struct netcost cost;
};

/* Stretches of time, added up. Zeroed: none. */
struct stretch {
	uint64_t ns;
	uint64_t event_cnt;
	uint32_t part_cnt; /* stretches in which there were events */
	bool is_unknown;   /* of a part, the events are not known any more */
};

/* stagecost_event - a call of the task @track (calltask) begins or ends. Return: 0 or -ENOMEM. */
int stagecost_event(struct stagecost *sc, uint32_t track, uint64_t time_ns);

/* stagecost_stretch - the stretch that task @track ends: behind @from_ns, up to and with @to_ns. */
struct stretch stagecost_stretch(const struct stagecost *sc, uint32_t track, uint64_t from_ns,
				 uint64_t to_ns);

/* stretch_add - add @more to @sum. */
void stretch_add(struct stretch *sum, const struct stretch *more);

/* stagecost_net - without the cost; unknown if that, or the events, are. */
struct net_time stagecost_net(const struct stagecost *sc, const struct stretch *stretch);

void stagecost_release(struct stagecost *sc);

#endif
