/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_COMM_BPF_H
#define NFG_COMM_BPF_H

/* Whether --comm selects a task's name. Called only at exec. */
#include "cpu.bpf.h"

/* Has nfg_cfg.comm_glob_cnt elements. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct nfg_comm_glob);
} comm_globs SEC(".maps");

static __always_inline bool is_glob_matched(const struct nfg_comm_glob *glob,
					    const struct task_struct *task)
{
	__u64 state = glob->begin;

#pragma unroll
	for (int i = 0; i < NFG_COMM_BYTES; i++)
		state = nfg_comm_next(glob, state, task->comm[i]);
	return state & glob->match;
}

static __always_inline bool is_comm_in_scope(const struct task_struct *task)
{
	for (__u32 i = 0; i < NFG_COMM_GLOB_CNT; i++) {
		const struct nfg_comm_glob *glob;
		__u32 key = i;

		if (i >= cfg.comm_glob_cnt)
			break;
		glob = bpf_map_lookup_elem(&comm_globs, &key);
		if (glob && is_glob_matched(glob, task))
			return true;
	}
	return false;
}

#endif
