#ifndef NFG_OPTIONS_TASKFILTER_H
#define NFG_OPTIONS_TASKFILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "options/opts.h"
#include "trace/row.h"

/* taskfilter_has_tid - whether --tid names the task, or is not given. */
bool taskfilter_has_tid(const struct opts *opts, uint32_t tid);

/*
 * taskfilter_has_comm - whether --comm fits the name of a task, or is not given.
 *
 * @comm: the name; empty where it is not known.
 * @cut_bytes: where @comm comes from cuts names after so many bytes, so that a plain name of --comm fits by its
 * beginning; 0: it is whole.
 */
bool taskfilter_has_comm(const struct opts *opts, struct text comm, size_t cut_bytes);

#endif
