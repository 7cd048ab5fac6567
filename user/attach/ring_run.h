#ifndef NFG_ATTACH_RING_RUN_H
#define NFG_ATTACH_RING_RUN_H

#include "attach/rings.h"

/*
 * ring_run - take plain records from @cur, whose next event (cur->next_ns) is the oldest of all rings, as long as they
 * are not younger than @until_ns.
 *
 * Plain is most of a trace: a record of a call without values, in order, with nothing lost before it and another
 * record written after it. For these records it replaces cursor_peek and take_event at less than half of the
 * instructions. It stops at the first other record and sets cur->next_ns to its time.
 *
 * Return: the number of events, at most @cap.
 */
size_t ring_run(struct rings *rs, struct ring_cursor *cur, struct event *events, size_t cap,
		uint64_t until_ns);

#endif
