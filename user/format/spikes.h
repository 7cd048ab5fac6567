#ifndef NFG_FORMAT_SPIKES_H
#define NFG_FORMAT_SPIKES_H

#include <stddef.h>
#include <stdint.h>

#include "format/slowcalls.h"

/*
 * Where the tail of usual calls ends, and spikes begin.
 *
 * Timer ticks, softirqs and preemption make some usual calls longer; of these there are fewer and fewer the longer they are.
 * In such an exponential tail the gap between a call and the next longer one, times the calls above it, is in the mean what
 * the calls of the tail are longer than where it begins. A gap is too wide for the tail if it is SPIKES_RATIO_NUM to
 * SPIKES_RATIO_DEN or more, and has a probability below 10^-SPIKES_CLEAR there. The lowest such gap counts; below it, or if there
 * is none, the clearest one of those with a probability below 10^-SPIKES_LIKELY. SPIKES_PRIOR calls that are as much longer as the median are added
 * to the tail: usual calls that differ little have hardly one.
 *
 * The calls above the gap have at least SPIKES_SHARE of what all calls that may be spikes are longer; fewer than SPIKES_FEW
 * of them SPIKES_FEW_SHARE: one that was disturbed by chance does not hide others that are slow.
 *
 * Pure: no clock, no I/O. Time: linear.
 */
#define SPIKES_RATIO_NUM 13
#define SPIKES_RATIO_DEN 10
#define SPIKES_CLEAR     6
#define SPIKES_LIKELY    4
#define SPIKES_PRIOR     4
#define SPIKES_STRAY     4
#define SPIKES_SHARE     0.1
#define SPIKES_FEW       3
#define SPIKES_FEW_SHARE 0.65

/*
 * spikes_begin - @calls: by duration; those from the one at @slow_at on may be spikes. @median_ns: of all. A few calls at the
 * edge of the tail, a SPIKES_STRAYth of the spikes at most, half as many if they took twice as long as the tail, are no spikes if
 * the gap above them is the clearer one.
 *
 * Return: the index of the shortest spike; @cnt: there is no such gap.
 */
size_t spikes_begin(const struct slowcall *const *calls, size_t cnt, size_t slow_at,
		    int64_t median_ns);

#endif
