#ifndef NFG_ATTACH_RING_IRQ_H
#define NFG_ATTACH_RING_IRQ_H

#include <stdbool.h>

#include "attach/rings.h"

/*
 * ring_irq_take - handle an interrupt inside a program (bpf/irq.bpf.h); the record at the tail of @cur marks its
 * beginning or end.
 *
 * If each of its calls has both ends, only the marks are dropped. Otherwise its calls are dropped too, and one record
 * counts them.
 * Return: false when the interrupt has not ended: nothing was done, and later records must wait.
 */
bool ring_irq_take(const struct rings *rs, struct ring_cursor *cur);

#endif
