#ifndef NFG_SELECT_CHOSEN_H
#define NFG_SELECT_CHOSEN_H

#include <stddef.h>

#include "kernel/kbtf.h"
#include "trace/functab.h"

/*
 * chosen_add - append @func with @shape to the traced functions. @cap: the room in @tab, grown as needed.
 *
 * Names are borrowed from where @func's are: the kbtf, or for a copy without a type the ksyms. Return: the new entry,
 * in which the caller fills in the address, is_named and is_extra; NULL: no memory.
 */
struct func *chosen_add(struct functab *tab, size_t *cap, const struct kbtf_func *func,
			const struct kbtf_shape *shape);

/* functab_release - free the functions of chosen_add. */
void functab_release(struct functab *tab);

#endif
