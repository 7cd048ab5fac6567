#ifndef NFG_ATTACH_RING_IRQ_H
#define NFG_ATTACH_RING_IRQ_H

#include <stdbool.h>

#include "attach/rings.h"

/*
 * ring_irq_take - what to make of an interrupt that came inside a program (bpf/irq.bpf.h), whose beginning or end is
 * marked by the record at the tail of @cur.
 *
 * Where each of its calls has both ends the marks go and its calls stay. Else its calls go too, and one record counts
 * them (slot_is_torn).
 * Return: false when the interrupt is not through: nothing was done, and what is behind has to wait.
 */
bool ring_irq_take(const struct rings *rs, struct ring_cursor *cur);

#endif
