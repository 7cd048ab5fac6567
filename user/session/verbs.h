#ifndef NFG_SESSION_VERBS_H
#define NFG_SESSION_VERBS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "options/opts.h"

/* verbs_list - netfgraph list. verbs_check - netfgraph check. Return: the exit status. */
int verbs_list(const struct opts *opts);
int verbs_check(const struct opts *opts);

/* verbs_list_containers - write the table of netfgraph list --containers to @out. Return: the exit status. */
int verbs_list_containers(const struct opts *opts, struct strbuf *out);

/* verbs_report - netfgraph report, and profile and latency from a file. Return: the exit status. */
int verbs_report(const struct opts *opts);

/* verbs_info - netfgraph info. Return: the exit status. */
int verbs_info(const struct opts *opts);

/* verbs_diff - netfgraph diff. Return: the exit status. */
int verbs_diff(const struct opts *opts);

/* verbs_looks_like_text - whether an input file is function_graph text; only regular files are inspected. */
bool verbs_looks_like_text(const char *path);

#endif
