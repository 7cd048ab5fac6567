/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_RANGES_H
#define NFG_RANGES_H

/*
 * Which of some functions an address of the kernel is in. Pure: no maps; programs of the kernel include it, and its test.
 *
 * The search has no branches: a verifier before 6.2 follows both ways of each branch anew for each way that led to it, and there are many
 * addresses on a stack.
 */
#include "nfg_abi.h"
#include "nfg_runs.h"

/*
 * nfg_unless_below - 0 if the address @a is below @b, else @value.
 *
 * Both are addresses of the kernel, in the upper half of all; 0, where a list has ended, is above them.
 */
static inline __u64 nfg_unless_below(__u64 value, __u64 a, __u64 b)
{
	__s64 sign = (__s64)(a - b) >> 63;

	__asm__("" : "+r"(sign)); /* the compiler would make a branch of it, */
	value &= ~(__u64)sign;
	__asm__(""
		: "+r"(value)); /* or an OR of a sum, of which verifiers before 6.9 do not know the bounds */
	return value;
}

/*
 * nfg_range_at - the number of the last range that begins at or below @addr; 0: the first one, or none does.
 *
 * @ranges: @cnt elements of @bytes, a power of two of them, each of which begins with a struct nfg_range; by address, the unused ones at the
 * end are { 0, 0 }.
 */
static inline __u64 nfg_range_at(const void *ranges, __u64 bytes, __u64 cnt, __u64 addr)
{
	__u64 at = 0;

	NFG_UNROLL
	for (__u64 step = cnt / 2; step; step /= 2) {
		const struct nfg_range *range = ranges + (at + step) * bytes;

		at += nfg_unless_below(step, addr, range->begin);
	}
	return at;
}

/* nfg_if_in - @value if the address @addr is inside, else 0. None is in { 0, 0 }. */
static inline __u64 nfg_if_in(__u64 value, const struct nfg_range *range, __u64 addr)
{
	return nfg_unless_below(value, addr, range->begin) -
	       nfg_unless_below(value, addr, range->end);
}

#endif
