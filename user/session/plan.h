#ifndef NFG_SESSION_PLAN_H
#define NFG_SESSION_PLAN_H

#include <stdbool.h>

#include "attach/attach_plan.h"
#include "kernel/bpfprog.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "kernel/srcline.h"
#include "kernel/tracepoint.h"
#include "options/opts.h"
#include "select/select.h"

/* The plan of a trace, from the command line and the kernel: for the trace itself, list --plan and reports. */

struct facts;
struct functab;

/*
 * plan_filter_cnt - the number of functions that --filter gives programs of their own where others share them; BPF programs
 * have these anyway. plan_member_cnt - the same of the others, by --show. Both after start_setup_check_filter and
 * details_funcs.
 */
size_t plan_filter_cnt(const struct opts *opts, const struct functab *tab);
size_t plan_member_cnt(const struct opts *opts, const struct functab *tab);

/*
 * plan_attach_want - the attach requirements of these options on the kernel of @facts.
 *
 * @tab: the functions; NULL: not known yet.
 */
struct attach_want plan_attach_want(const struct opts *opts, const struct facts *facts,
				    const struct functab *tab);

/*
 * plan_forgoes_lengths - whether a table by key is made without the lengths of packets, which opts->shown then is alone: no option
 * asks for them, and calls may be missed for them.
 */
bool plan_forgoes_lengths(const struct opts *opts, const struct facts *facts,
			  const struct functab *tab);

/*
 * plan_are_too_many - whether a trace refuses so many functions unless --max-funcs says so: they are most of the
 * kernel.
 */
bool plan_are_too_many(const struct opts *opts, size_t func_cnt);

/*
 * plan_attach_is_long - whether a trace refuses to attach @shares unless --max-funcs says so: it would take minutes.
 *
 * @out: then says how long.
 */
bool plan_attach_is_long(const struct opts *opts, const struct attach_shares *shares, char *out,
			 size_t size);

/*
 * plan_rules - set @rules to the functions that the command line asks for, on the kernel of @facts; without verdict.
 *
 * Return: 0 or -ENOMEM; plan_rules_release frees the rules.
 */
int plan_rules(struct select_rules *rules, const struct opts *opts, const struct facts *facts);
void plan_rules_release(struct select_rules *rules);

/*
 * plan_points - the tracepoints of -e; none without it. Return: 0, -ENOMEM, or VERDICT_NOTHING, already logged: a pattern
 * matches none. Caller releases the list.
 */
int plan_points(struct tracepoint_list *out, const struct opts *opts, const struct facts *facts);

/* plan_point_fields - find the fields of @list; see tracepoint_fields. Return: 0 or -errno. */
int plan_point_fields(struct tracepoint_list *list, const struct facts *facts,
		      struct proto_table *types);

/*
 * plan_self_bytes - memory that a trace with these options takes at its peak besides rings and functions' programs: what is
 * read of the kernel, and the tables that programs share.
 */
uint64_t plan_self_bytes(const struct opts *opts);

/* plan_table_bytes - the same for a table of the same functions (profile, latency). */
uint64_t plan_table_bytes(const struct opts *opts);

/* plan_ring_bytes - the size of each CPU's ring. */
uint64_t plan_ring_bytes(const struct opts *opts, uint32_t cpu_cnt);

/* plan_smaller_rings_help - whether such a trace fits in so much memory with the smallest --buffer-size. */
bool plan_smaller_rings_help(const struct opts *opts, uint32_t cpus, uint64_t left_bytes);

/* plan_program_bytes - memory of functions' programs on this kernel. */
uint64_t plan_program_bytes(const struct attach_shares *shares);

/*
 * plan_check_memory - whether a trace has room in the limits of its cgroups.
 *
 * @memory: what they left before the trace took any. @program_bytes: of functions' programs; 0: not known yet. Return: 0, or
 * VERDICT_FAILED, already logged.
 */
int plan_check_memory(const struct opts *opts, const struct host_memory *memory,
		      uint64_t program_bytes);

/* plan_srcline - create the srcline for --source; *@out is NULL without that option. Return: as srcline_new. */
int plan_srcline(struct srcline **out, const struct opts *opts);

/* ---- what the kernel tells ---- */

/* What this kernel tells about its functions. Zeroed storage may be closed. */
struct facts {
	struct kbtf *kbtf;
	struct ksyms *ksyms;
	struct bpfprogs progs;
	struct ktext *text; /* NULL: unreadable or unwanted */
	int text_err;       /* why not */
};

/*
 * facts_open - read them all.
 *
 * @wants_text: also open the kernel's text; failing to is not an error.
 * Return: 0, or -errno, already logged. Call facts_close in both cases.
 */
int facts_open(struct facts *facts, bool wants_text);
void facts_close(struct facts *facts);

/* cpus_check - Return: whether this host has all CPUs of --cpu; if false, already logged. */
bool cpus_check(const struct opts *opts);

#endif
