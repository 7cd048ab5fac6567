#ifndef NFG_SESSION_VERBS_H
#define NFG_SESSION_VERBS_H

#include <stdbool.h>

#include "base/verdict.h"
#include "options/opts.h"

/* The commands. */

enum verdict verbs_list(const struct opts *opts);
enum verdict verbs_check(const struct opts *opts);
enum verdict verbs_info(const struct opts *opts);
enum verdict verbs_diff(const struct opts *opts);

/* verbs_explain - of a file or, without one, of what is traced meanwhile: then with sleeps, and near the start functions. */
enum verdict verbs_explain(const struct opts *opts);

/* verbs_trace - everything that traces, but explain. */
enum verdict verbs_trace(const struct opts *opts);

/* verbs_report - also profile and latency from a file. */
enum verdict verbs_report(const struct opts *opts);

#endif
