#ifndef NFG_SESSION_VERBS_H
#define NFG_SESSION_VERBS_H

#include "attach/attach_plan.h"
#include "kernel/srcline.h"
#include "options/opts.h"
#include "select/select.h"

struct facts;
struct functab;

/*
 * verbs_attach_want - the attach requirements of these options on the kernel of @facts.
 *
 * @tab: the functions; NULL: not known yet.
 */
struct attach_want verbs_attach_want(const struct opts *opts, const struct facts *facts,
				     const struct functab *tab);

/*
 * verbs_attach_is_long - whether a trace refuses to attach @shares unless --max-funcs says so: it would take minutes.
 *
 * @out: then says how long.
 */
bool verbs_attach_is_long(const struct opts *opts, const struct attach_shares *shares, char *out,
			  size_t size);

/*
 * verbs_rules - set @rules to the functions that the command line asks for, on the kernel of @facts; without verdict.
 *
 * Return: 0 or -ENOMEM; verbs_rules_release frees the rules.
 */
int verbs_rules(struct select_rules *rules, const struct opts *opts, const struct facts *facts);
void verbs_rules_release(struct select_rules *rules);

/* verbs_srcline - create the srcline for --source; *@out is NULL without that option. Return: as srcline_new. */
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

/* verbs_looks_like_text - whether an input file is function_graph text; only regular files are inspected. */
bool verbs_looks_like_text(const char *path);

#endif
