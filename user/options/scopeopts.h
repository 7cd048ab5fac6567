#ifndef NFG_OPTIONS_SCOPEOPTS_H
#define NFG_OPTIONS_SCOPEOPTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "nfg_abi.h"
#include "options/opts.h"
#include "trace/row.h"

/*
 * The options that say whose calls are traced: -p, --tid, --cgroup, --container, --pod, --netns and --comm. Each kind
 * narrows the others. With one of them, a COMMAND only says how long the trace runs. -C and --packet are none: they
 * select among the calls of whatever is traced.
 */

/* scopeopts_are_given - whether there is such an option. */
bool scopeopts_are_given(const struct opts *opts);

/* scopeopts_is_command - whether the command and its descendants are what is traced. */
bool scopeopts_is_command(const struct opts *opts);

/* scopeopts_names - append the given options' names: "--cgroup and --comm". */
void scopeopts_names(struct strbuf *out, const struct opts *opts);

/*
 * scopeopts_text - append what is traced, in the user's words and with a blank before it: " by process 12 in cgroup
 * /web", " by the command". Nothing if all tasks are traced. A list of many is cut.
 */
void scopeopts_text(struct strbuf *out, const struct opts *opts);

#define COMMGLOB_PATTERN_MAX 255

/*
 * commglob_make - translate @pattern, of at most COMMGLOB_PATTERN_MAX bytes, for the program that exec runs.
 *
 * It then selects the names that taskfilter_has_comm does with TASKFILTER_COMM_BYTES.
 */
void commglob_make(struct nfg_comm_glob *glob, const char *pattern);

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
