#ifndef NFG_ATTACH_KPROFILE_TOLD_H
#define NFG_ATTACH_KPROFILE_TOLD_H

#include <stdint.h>

#include "format/profile.h"
#include "nfg_abi.h"

/*
 * What of the kernel's sums was told before: sums only grow, so what came since is a difference. The kernel's side is
 * not touched. All of what is told adds up to the sums.
 */
struct kprofile_told;

/* kprofile_told_new - nothing of @func_cnt functions. Return: 0 or -ENOMEM. Caller frees with kprofile_told_free. */
int kprofile_told_new(struct kprofile_told **out, uint32_t func_cnt);
void kprofile_told_free(struct kprofile_told *told);

/*
 * kprofile_told_sums - @sums of function @func_id become what was not told yet, and all is told now.
 *
 * Where no call is new, nothing is: what was added before its call was counted comes with that call. min_ns and max_ns
 * are exact where they are the extremes of the whole trace, else the middles of buckets.
 * @new_buckets: NFG_HIST_CNT of them, overwritten; @sums borrows them.
 */
void kprofile_told_sums(struct kprofile_told *told, uint32_t func_id, struct profile_sums *sums,
			uint64_t *new_buckets);

/* kprofile_told_pair - the same for the pair of @key, caller << 16 | func_id. Return: 0 or -ENOMEM. */
int kprofile_told_pair(struct kprofile_told *told, uint32_t key, struct nfg_caller_sums *sums);

#endif
