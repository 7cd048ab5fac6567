#ifndef NFG_SESSION_FROMFILE_H
#define NFG_SESSION_FROMFILE_H

#include <stdbool.h>

#include "base/output.h"
#include "options/opts.h"

/* What report and diff, and profile and latency with --input, have in common besides the file itself. */

/* fromfile_paged - @run(@opts), through a pager if the output is for a terminal. Return: its exit status. */
int fromfile_paged(const struct opts *opts, int (*run)(const struct opts *opts));

/*
 * fromfile_exit - the exit status, once @output is closed: @status, unless closing failed (@close_err) where nothing
 * else did (@err). Who left the pager early has seen enough, which is no error. Logs what is not logged yet.
 */
int fromfile_exit(const struct output *output, int status, int err, int close_err);

#endif
