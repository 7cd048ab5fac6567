#ifndef NFG_SCOPE_STATEFILE_H
#define NFG_SCOPE_STATEFILE_H

#include <stdint.h>

#include "base/strbuf.h"

/*
 * State files of container runtimes. A user's own runtime has files that the user can write, so they are read with
 * that user's rights. Private to user/scope/.
 */
#define STATEFILE_BYTES_MAX (16 << 20) /* a larger one is refused */

/*
 * statefile_enter - access files with user @uid's rights from now on, if we are root; 0: with our own.
 *
 * Affects only this thread. Return: the argument of statefile_leave, which undoes it.
 */
uint32_t statefile_enter(uint32_t uid);
void statefile_leave(uint32_t before);

/*
 * statefile_read - read the regular file at @path; never reads or waits for a device or a pipe.
 *
 * Logs nothing. Return: 0, -EINVAL not a regular file, -EFBIG, -ENOMEM, or -errno of opening or reading it; the
 * caller releases @out in all cases.
 */
int statefile_read(const char *path, struct strbuf *out);

#endif
