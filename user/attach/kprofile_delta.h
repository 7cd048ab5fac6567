#ifndef NFG_ATTACH_KPROFILE_DELTA_H
#define NFG_ATTACH_KPROFILE_DELTA_H

#include <stdint.h>

#include "format/profile.h"
#include "nfg_abi.h"

/*
 * Remembers the sums already reported. Sums only grow, so each report is the difference; the reports add up to the
 * sums. The kernel's side is not touched.
 */
struct kprofile_delta;

/* kprofile_delta_new - nothing reported yet, for @func_cnt functions. Return: 0 or -ENOMEM. Caller frees with kprofile_delta_free. */
int kprofile_delta_new(struct kprofile_delta **out, uint32_t func_cnt);
void kprofile_delta_free(struct kprofile_delta *delta);

/*
 * kprofile_delta_sums - replace @sums of function @func_id by what was added since the last report.
 *
 * Without a new call it reports nothing: times added before their call was counted come with that call. min_ns and
 * max_ns are exact if they are the extremes of the whole trace, else the middles of buckets.
 * @new_buckets: NFG_HIST_CNT of them, overwritten; @sums borrows them.
 */
void kprofile_delta_sums(struct kprofile_delta *delta, uint32_t func_id, struct profile_sums *sums,
			 uint64_t *new_buckets);

/* kprofile_delta_pair - the same for the pair of @key, caller << 16 | func_id. Return: 0 or -ENOMEM. */
int kprofile_delta_pair(struct kprofile_delta *delta, uint32_t key, struct nfg_caller_sums *sums);

#endif
