#ifndef NFG_ATTACH_KPROFILE_H
#define NFG_ATTACH_KPROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/functab.h"
#include "nfg_abi.h"
#include "format/profile.h"

struct netfgraph_bpf;
struct kprofile_told;

/*
 * Tables of live calls that the programs sum up where the calls happen (bpf/kprofile.bpf.h), instead of sending
 * each to user space: nothing is lost to a full ring, and no reader costs anything meanwhile.
 */

/* How large the maps are. */
struct kprofile_plan {
	uint32_t func_cnt;
	uint32_t cpu_cnt;
	uint32_t table_cnt;  /* of sums; CPUs share them when there are less than CPUs */
	uint32_t task_cnt;   /* tasks that may have a stack of open calls at once */
	uint32_t caller_cnt; /* pairs of caller and function; 0: not asked for */
};

/* What the table is for. */
struct kprofile_want {
	const char *needs_events; /* why every call has to come to user space; NULL: none has */
	uint32_t task_cnt;        /* as in the plan; 0: the default */
	bool has_callers;
};

/* What is known of the host when the plan is made. */
struct kprofile_host {
	uint32_t cpu_cnt;
	bool has_fetching_atomics; /* else a maximum is kept by one CPU only */
};

/*
 * kprofile_plan - the one place that decides whether calls are summed up in the kernel, and how. Pure.
 *
 * Only where the table is what it would be if every call came to user space.
 * Return: NULL and *@plan filled in; else why every call has to come.
 */
const char *kprofile_plan(struct kprofile_plan *plan, const struct kprofile_want *want,
			  uint32_t func_cnt, const struct kprofile_host *host);

/* kprofile_bytes - what the maps of @plan take. */
uint64_t kprofile_bytes(const struct kprofile_plan *plan);

/* kprofile_configure - before load: the sizes of the maps, which else have one element each. Return: 0 or -errno. */
int kprofile_configure(struct netfgraph_bpf *skel, const struct kprofile_plan *plan);

/* The maps of a loaded object. Zeroed: none. */
struct kprofile {
	struct kprofile_plan plan;
	struct netfgraph_bpf *skel; /* borrowed */
	const struct nfg_sums *sums;
	const struct nfg_stack *stacks;
	size_t sums_bytes; /* as mapped */
	size_t stacks_bytes;
	struct kprofile_told *told; /* NULL without kprofile_keep */
};

/*
 * kprofile_open - after load and rings_init, before anything is attached.
 *
 * Return: 0, or -errno said on stderr. kprofile_close undoes it, before the object goes.
 */
int kprofile_open(struct kprofile *kp, struct netfgraph_bpf *skel,
		  const struct kprofile_plan *plan);
void kprofile_close(struct kprofile *kp);

/* What is not in the table, besides what nfg_sums_lost tells. */
struct kprofile_stats {
	struct nfg_sums_lost lost;
	uint64_t call_cnt; /* in the table */
	uint64_t open_cnt; /* still running, or their task ended in them */
};

/* kprofile_keep - from now on each kprofile_read gives only what came since the one before. Return: 0 or -ENOMEM. */
int kprofile_keep(struct kprofile *kp);

/*
 * kprofile_read - put all that was summed up into @profile. Without kprofile_keep, once, when the gates are closed; with it
 * also while programs sum up: nothing is reset, so that no call is lost, and one under way comes with the next read.
 *
 * Return: 0 or -errno; stats->call_cnt grows.
 */
int kprofile_read(const struct kprofile *kp, const struct functab *tab, struct profile *profile,
		  struct kprofile_stats *stats);

/* kprofile_account - after the last read: calls without beginning or end count in @profile as partial. */
void kprofile_account(const struct kprofile *kp, struct profile *profile,
		      struct kprofile_stats *stats);

/*
 * kprofile_merge - the sums of the function @func_id in all tables. Pure.
 *
 * @buckets: NFG_HIST_CNT of them, overwritten; @out borrows them.
 */
void kprofile_merge(const struct nfg_sums *sums, uint32_t table_cnt, uint32_t func_cnt,
		    uint32_t func_id, uint64_t *buckets, struct profile_sums *out);

#endif
