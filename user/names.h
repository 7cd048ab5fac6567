/* layer 13: facts */
#ifndef NFG_NAMES_H
#define NFG_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "row.h"

/*
 * What tasks are called. As in the kernel's tracer a name is looked up when a row is
 * printed; a task that is gone by then is known from its exit record.
 */
struct names;

/* names_new - Return: 0 or -ENOMEM. Caller frees with names_free. */
int names_new(struct names **out);
void names_free(struct names *ns);

/* names_set - @comm, up to 16 bytes, is what the kernel says @tid is called now. */
void names_set(struct names *ns, uint32_t tid, const char *comm);

/* names_get - the name of @tid, read from /proc once; len 0 when nobody knows. Borrowed until
 * the next names_set of that tid. */
struct text names_get(struct names *ns, uint32_t tid);

#endif
