#ifndef NFG_SCOPE_STATEFILE_H
#define NFG_SCOPE_STATEFILE_H

#include <stdint.h>

#include "base/strbuf.h"

/*
 * Files in which container runtimes keep their state. Those of a user's own runtime are that user's to write, so they
 * are read with that user's rights. Private to user/scope/.
 */
#define STATEFILE_BYTES_MAX (16 << 20) /* a larger one is refused */

/*
 * statefile_enter - look at files as user @uid does from now on, if we are root; 0 as ourselves.
 *
 * Affects this thread. Return: what statefile_leave takes to undo it.
 */
uint32_t statefile_enter(uint32_t uid);
void statefile_leave(uint32_t before);

/*
 * statefile_read - the content of the regular file at @path; a device or a pipe in its place is neither read nor waited for.
 *
 * Says nothing. Return: 0, -EINVAL not a regular file, -EFBIG, -ENOMEM, or what opening or reading it failed with; the
 * caller releases @out in any case.
 */
int statefile_read(const char *path, struct strbuf *out);

#endif
