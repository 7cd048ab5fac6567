#ifndef NFG_SESSION_VERBS_H
#define NFG_SESSION_VERBS_H

#include "attach/attach_plan.h"
#include "kernel/srcline.h"
#include "options/opts.h"
#include "select/select.h"

struct facts;
struct functab;

/*
 * verbs_attach_want - what decides how programs are attached, with these options on the kernel of @facts.
 *
 * @tab: the functions; NULL: they are not known yet.
 */
struct attach_want verbs_attach_want(const struct opts *opts, const struct facts *facts,
				     const struct functab *tab);

/*
 * verbs_rules - the functions that the command line asks for, on the kernel of @facts; without verdict.
 *
 * Return: 0 or -ENOMEM; verbs_rules_release frees what it made.
 */
int verbs_rules(struct select_rules *rules, const struct opts *opts, const struct facts *facts);
void verbs_rules_release(struct select_rules *rules);

/* verbs_srcline - what --source needs; *@out is NULL without that option. Return: as srcline_new. */
int verbs_srcline(struct srcline **out, const struct opts *opts);

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

/* verbs_looks_like_text - whether a file to read is function_graph text; only regular files are looked into. */
bool verbs_looks_like_text(const char *path);

#endif
