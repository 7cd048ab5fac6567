/* layer 12: facts */
#ifndef NFG_CALLERS_H
#define NFG_CALLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "ksyms.h"
#include "row.h"

/* Return addresses and how they are written: "tcp_v4_connect+0x1f5/0x4a0", "veth_xmit+0x4b/0x4f [veth]". */
struct callers;

/* callers_new - @ks: where to look; NULL: only what callers_add says is known. Return: 0 or -ENOMEM. */
int callers_new(struct callers **out, const struct ksyms *ks);
void callers_free(struct callers *cs);

/* callers_are_hidden - whether the kernel's symbols came without addresses: no caller has a name. */
bool callers_are_hidden(const struct callers *cs);

/* callers_add - address @addr is written like this. Return: 0 or -ENOMEM. */
int callers_add(struct callers *cs, uint64_t addr, struct text name);

/*
 * callers_get - how @addr is written.
 *
 * An address in no function's text is in a trampoline: a function that was reached by a jump returns to that
 * of the traced function which jumped. "?" when the kernel hides addresses; len 0 when memory runs out.
 */
struct text callers_get(struct callers *cs, uint64_t addr);

/* callers_tell - the same; false when that was told before. For who writes a table of them. */
bool callers_tell(struct callers *cs, uint64_t addr, struct text *name);

/* callers_untell - forget what was told: another table is written. */
void callers_untell(struct callers *cs);

#endif
