#ifndef NFG_OPTIONS_SCOPEOPTS_H
#define NFG_OPTIONS_SCOPEOPTS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "options/opts.h"

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

#endif
