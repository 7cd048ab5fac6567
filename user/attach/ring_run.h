#ifndef NFG_ATTACH_RING_RUN_H
#define NFG_ATTACH_RING_RUN_H

#include "attach/rings.h"

/*
 * ring_run - take plain records from @cur, whose next event (cur->next_ns) is the oldest of all rings, as long as they
 * are not younger than @until_ns.
 *
 * Most events of a trace are such: a record of a call without values, in order, nothing lost before it and another one
 * written behind it. For them this does what cursor_peek and take_event do, in less than half of the instructions. It stops at
 * the first that is not, and cur->next_ns is that one's time.
 *
 * Return: how many events, at most @cap.
 */
size_t ring_run(struct rings *rs, struct ring_cursor *cur, struct event *events, size_t cap,
		uint64_t until_ns);

#endif
