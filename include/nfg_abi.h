/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_ABI_H
#define NFG_ABI_H

/*
 * The wire: what the BPF programs write and user space reads, and nothing else.
 * The BPF side includes it after vmlinux.h, which brings the __u types along.
 */
#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define NFG_ABI_VERSION 1

/*
 * One event, 16 bytes. The first field is written last: a slot whose time_ns is
 * 0 has not been written yet (or has been consumed; the reader zeroes it).
 *
 * frame names the call: bits 3..18 of the trampoline's stack frame address, which
 * is the same for the entry and the exit of one call (both programs get the same
 * ctx pointer) and lower for every call nested on the same stack. So a pair is
 * recognised with no state in the kernel, across sleeping and migration.
 */
struct nfg_rec {
	__u64 time_ns; /* bpf_ktime_get_ns(), CLOCK_MONOTONIC */
	__u32 task;    /* tid in the initial pid namespace | NFG_TASK_EXIT */
	__u32 call;    /* func_id | frame << NFG_FRAME_SHIFT */
};

#define NFG_TASK_EXIT	0x80000000u
#define NFG_TASK_TID	0x003fffffu /* PID_MAX_LIMIT is 4,194,304 */
#define NFG_FUNC_CNT	65536u
#define NFG_FUNC_MASK	0xffffu
#define NFG_FRAME_SHIFT 16

/*
 * A run of events that found the ring full: they would have stood before the
 * record at position pos.
 */
struct nfg_gap {
	__u64 pos;
	__u64 lost_cnt;
};

#define NFG_GAP_CNT 128u

/*
 * The control page in front of each ring. head counts records ever reserved;
 * the reader alone keeps the tail. A ring is full when the slot NFG_RING_SLACK
 * places ahead is still unread: the slack is for contexts that were interrupted
 * between looking and reserving.
 */
struct nfg_ring_ctl {
	__u64 head;
	__u32 busy;  /* kernels without fetching atomics: how many programs are nested here */
	__u32 muted; /* CPU is not in the chosen list */
	__u8 pad0_[48];
	__u64 lost_full;  /* events that found this ring full */
	__u64 lost_depth; /* events nested deeper than NFG_LEVEL_CNT */
	__u64 gap_cnt;	  /* gaps ever opened; the newest is gaps[(gap_cnt - 1) % NFG_GAP_CNT] */
	__u8 pad1_[40];
	struct nfg_gap gaps[NFG_GAP_CNT];
	__u8 pad2_[4096 - 128 - NFG_GAP_CNT * 16];
};

#define NFG_RING_SLACK 64u
#define NFG_LEVEL_CNT  4u /* task, softirq, hardirq, and one more */

struct nfg_ring {
	struct nfg_ring_ctl ctl;
	struct nfg_rec recs[];
};

/* A task got a new name, or ends with this one. */
struct nfg_task_rec {
	__u64 time_ns;
	__u32 tid;
	__u32 kind; /* enum nfg_task_kind */
	__u8 comm[16];
};

enum nfg_task_kind {
	NFG_TASK_NAMED = 1,
	NFG_TASK_ENDED = 2,
};

/* One byte per tid: whether its calls are recorded. */
#define NFG_SCOPE_IN	  1 /* this task */
#define NFG_SCOPE_INHERIT 2 /* and the processes it starts (threads always inherit) */
#define NFG_SCOPE_CNT	  4194304u

/* Settings the programs read as constants: written before load, frozen after. */
struct nfg_cfg {
	__u32 ring_mask;    /* records per ring - 1; a power of two - 1 */
	__u32 level_cnt;    /* rings per CPU: 1, or NFG_LEVEL_CNT without fetching atomics */
	__u32 scope_tasks;  /* 1: only tasks whose byte is set */
	__u32 scope_cpus;   /* 1: honour nfg_ring_ctl.muted */
	__u32 self_tgid;    /* the tracer; never recorded when scope_tasks is 0 */
	__u32 skip_hardirq; /* 1: nothing that runs in a hardware interrupt */
};

_Static_assert(sizeof(struct nfg_rec) == 16, "nfg_rec is ABI");
_Static_assert(sizeof(struct nfg_ring_ctl) == 4096, "nfg_ring_ctl is ABI");
_Static_assert(sizeof(struct nfg_task_rec) == 32, "nfg_task_rec is ABI");
_Static_assert(sizeof(struct nfg_cfg) == 24, "nfg_cfg is ABI");

#endif
