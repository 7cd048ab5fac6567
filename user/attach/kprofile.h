#ifndef NFG_ATTACH_KPROFILE_H
#define NFG_ATTACH_KPROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/profile.h"
#include "nfg_abi.h"
#include "trace/functab.h"

struct netfgraph_bpf;
struct kprofile_delta;

/*
 * Tables of live calls that programs sum up in the kernel (bpf/kprofile.bpf.h), instead of sending each call to user
 * space; so no ring can overflow, and no reader uses CPU time.
 */

/* The sizes of the maps. */
struct kprofile_plan {
	uint32_t func_cnt;
	uint32_t cpu_cnt;
	uint32_t table_cnt;  /* of sums; CPUs share them if there are fewer tables than CPUs */
	uint32_t task_cnt;   /* tasks that may have a stack of open calls at once */
	uint32_t caller_cnt; /* pairs of caller and function; 0: not requested */
};

/* What the options require of the table. */
struct kprofile_want {
	const char *needs_events; /* why every call must reach user space; NULL: not required */
	uint32_t task_cnt;        /* as in the plan; 0: the default */
	bool has_callers;
};

/* Facts of the host that the plan depends on. */
struct kprofile_host {
	uint32_t cpu_cnt;
	bool has_fetching_atomics; /* if not, only one CPU may update a maximum */
};

/*
 * kprofile_plan - decide whether calls are summed up in the kernel, and how. No other code decides this. Pure.
 *
 * They are summed up only if the table is the same as if every call reached user space.
 * Return: NULL with *@plan filled in; else the reason why every call must reach it.
 */
const char *kprofile_plan(struct kprofile_plan *plan, const struct kprofile_want *want,
			  uint32_t func_cnt, const struct kprofile_host *host);

/* kprofile_stacks_bytes - the size of the stacks of so many tasks; 0: the default. */
uint64_t kprofile_stacks_bytes(uint32_t task_cnt);

/* kprofile_bytes - the size of @plan's maps. */
uint64_t kprofile_bytes(const struct kprofile_plan *plan);

/*
 * kprofile_configure - set the sizes of the maps, which otherwise have one element each. Call it before load. Return: 0
 * or -errno.
 */
int kprofile_configure(struct netfgraph_bpf *skel, const struct kprofile_plan *plan);

/* The maps of a loaded object. Zeroed: none. */
struct kprofile {
	struct kprofile_plan plan;
	struct netfgraph_bpf *skel; /* borrowed */
	const struct netcost *cost; /* of a call, borrowed, for net durations; NULL: not known */
	const struct nfg_sums *sums;
	const struct nfg_stack *stacks;
	size_t sums_bytes; /* as mapped */
	size_t stacks_bytes;
	struct kprofile_delta *delta; /* NULL without kprofile_keep */
};

/*
 * kprofile_open - call it after load and rings_init, before anything is attached.
 *
 * Return: 0, or -errno, already logged. kprofile_close undoes it; call it before the object is closed.
 */
int kprofile_open(struct kprofile *kp, struct netfgraph_bpf *skel,
		  const struct kprofile_plan *plan);
void kprofile_close(struct kprofile *kp);

/* What calibration may use before anything is attached. */
struct kprofile_spare {
	const struct nfg_sums *sums;    /* the tables, mapped; NULL: there are none */
	const struct nfg_stack *stacks; /* mapped, too */
	int fd;                         /* of the tables' map */
	int callers_fd;                 /* of the sums by caller; -1: there are none */
	int stacks_fd;
	struct nfg_sums_lost *lost;
	uint32_t func_cnt; /* in each table */
	uint32_t stack;    /* the number of a stack that no task has */
};

/* kprofile_spare_of - of an open @kp; .sums is NULL if it is zeroed. */
struct kprofile_spare kprofile_spare_of(const struct kprofile *kp);

/* Contents of a table, and what is missing from it. */
struct kprofile_stats {
	struct nfg_sums_lost lost;
	uint64_t call_cnt; /* in the table */
	uint64_t open_cnt; /* still running, or open when their task ended */
};

/*
 * kprofile_keep - from now on each kprofile_read returns only the calls since the previous one. Return: 0 or -ENOMEM.
 */
int kprofile_keep(struct kprofile *kp);

/*
 * kprofile_read - add the kernel's sums to @profile. Without kprofile_keep, call it once, after the gates are closed.
 * With it, also while programs sum up: nothing is reset, so no call is lost; a call that is being added comes with the
 * next read.
 *
 * Return: 0 or -errno; stats->call_cnt grows.
 */
int kprofile_read(const struct kprofile *kp, const struct functab *tab, struct profile *profile,
		  struct kprofile_stats *stats);

/*
 * kprofile_call_cnts - the number of calls in each table so far, over all CPUs that share it, for the status line.
 *
 * @cnts: plan.table_cnt elements, overwritten. Reads all tables, which takes milliseconds if they are large.
 * Return: their sum.
 */
uint64_t kprofile_call_cnts(const struct kprofile *kp, uint64_t *cnts);

/* kprofile_lost_cnt - the number of calls so far that are in no table because something was full. */
uint64_t kprofile_lost_cnt(const struct nfg_sums_lost *lost);

/* kprofile_lost - losses of the tables so far; valid until kprofile_close. */
const struct nfg_sums_lost *kprofile_lost(const struct kprofile *kp);

/* kprofile_account - after the last read, count calls without a beginning or an end in @profile as partial. */
void kprofile_account(const struct kprofile *kp, struct profile *profile,
		      struct kprofile_stats *stats);

/*
 * kprofile_merge - the sums of the function @func_id in all tables. Pure.
 *
 * @buckets: NFG_HIST_CNT of them, overwritten; @out borrows them.
 */
void kprofile_merge(const struct nfg_sums *sums, uint32_t table_cnt, uint32_t func_cnt,
		    uint32_t func_id, uint64_t *buckets, struct profile_sums *out);

/*
 * Remembers the sums already reported. Sums only grow, so each report is the difference; the reports add up to the
 * sums. The kernel's side is not touched.
 */
struct kprofile_delta;

/*
 * kprofile_delta_new - start without reported sums, for @func_cnt functions. Return: 0 or -ENOMEM. Caller frees with
 * kprofile_delta_free.
 */
int kprofile_delta_new(struct kprofile_delta **out, uint32_t func_cnt);
void kprofile_delta_free(struct kprofile_delta *delta);

/*
 * kprofile_delta_sums - replace @sums of function @func_id by the increase since the last report.
 *
 * Without a new call it reports nothing: times that are added before their call is counted come with that call. min_ns
 * and max_ns are exact if they are the extremes of the whole trace, else the middles of buckets.
 * @new_buckets: NFG_HIST_CNT of them, overwritten; @sums borrows them.
 */
void kprofile_delta_sums(struct kprofile_delta *delta, uint32_t func_id, struct profile_sums *sums,
			 uint64_t *new_buckets);

/* kprofile_delta_pair - as kprofile_delta_sums, for the pair of @key, caller << 16 | func_id. Return: 0 or -ENOMEM. */
int kprofile_delta_pair(struct kprofile_delta *delta, uint32_t key, struct nfg_caller_sums *sums);

#endif
