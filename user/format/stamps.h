#ifndef NFG_FORMAT_STAMPS_H
#define NFG_FORMAT_STAMPS_H

#include <stdbool.h>
#include <stdint.h>

/* Time stamps of packets (--show stamps) on the clock of the trace, which is CLOCK_MONOTONIC. */

#define STAMP_MAX_NS \
	1000000000ull /* a stamp that is older is of another clock, or of another packet */

/*
 * stamp_wait - how long before @now_ns the stamp was made.
 *
 * @stamp: of CLOCK_REALTIME, as the kernel's are and those of a card should be. A card's may also be of TAI, which
 * is 37 s ahead: @may_be_tai.
 * @real_offset_ns: from the trace's clock to ns since 1970; 0: unknown. Return: false: it was not made in the second before.
 */
bool stamp_wait(int64_t stamp, bool may_be_tai, uint64_t real_offset_ns, uint64_t now_ns,
		uint64_t *wait_ns);

/*
 * stamp_due - when a packet that left at @now_ns should leave at the earliest, if that was after @since_ns.
 *
 * @stamp: of any of the clocks that a socket can choose for it. Return: 0: it has no such time.
 */
uint64_t stamp_due(int64_t stamp, uint64_t real_offset_ns, uint64_t since_ns, uint64_t now_ns);

#endif
