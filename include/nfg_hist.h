/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_HIST_H
#define NFG_HIST_H

/*
 * The histogram bucket of a value: 32 steps per doubling, exact below 64. Kernel and user space use this function, so
 * that their tables agree. BPF has no instruction that counts leading zeros.
 */
#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define NFG_HIST_STEP_BITS 5
#define NFG_HIST_STEP_CNT  (1u << NFG_HIST_STEP_BITS)

static inline __u32 nfg_hist_bucket(__u64 value)
{
	__u32 shift = 0;

/* the empty instruction keeps the compiler from computing both results of each step */
#define NFG_HIST_HALVE(bits)                                             \
	do {                                                             \
		if (value >> (NFG_HIST_STEP_BITS + (bits))) {            \
			value >>= (bits);                                \
			shift += (bits);                                 \
			__asm__ volatile("" : "+r"(value), "+r"(shift)); \
		}                                                        \
	} while (0)
	NFG_HIST_HALVE(32);
	NFG_HIST_HALVE(16);
	NFG_HIST_HALVE(8);
	NFG_HIST_HALVE(4);
	NFG_HIST_HALVE(2);
	NFG_HIST_HALVE(1);
#undef NFG_HIST_HALVE
	return shift * NFG_HIST_STEP_CNT + (__u32)value;
}

/* Buckets in the kernel: up to 2^40 ns, about 18 minutes. Longer calls count in the last bucket. */
#define NFG_HIST_CNT ((40 - NFG_HIST_STEP_BITS + 1) * NFG_HIST_STEP_CNT)

#endif
