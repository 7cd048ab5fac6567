#ifndef NFG_OPTIONS_TASKFILTER_H
#define NFG_OPTIONS_TASKFILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "options/opts.h"
#include "trace/row.h"

/* What the kernel keeps of a task's name. */
#define TASKFILTER_COMM_BYTES 15

/* taskfilter_has_tid - whether --tid names the task or is absent. */
bool taskfilter_has_tid(const struct opts *opts, uint32_t tid);

/*
 * taskfilter_has_comm - whether --comm matches the name of a task or is absent.
 *
 * @comm: the name; empty: unknown.
 * @cut_bytes: the source of @comm cuts names to this length, so a plain name of --comm matches by its beginning; 0:
 * not cut.
 */
bool taskfilter_has_comm(const struct opts *opts, struct text comm, size_t cut_bytes);

#endif
