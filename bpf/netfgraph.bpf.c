// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel side: maps, settings and programs. What runs on every traced call is
 * in hot.bpf.h; what runs when a task starts, execs or ends is in task.bpf.h.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "nfg_abi.h"

char LICENSE[] SEC("license") = "GPL";

const volatile struct nfg_cfg cfg = { .ring_mask = 4095, .level_cnt = 1 };

/* The logical switch: attach is slow, this is not. */
__u32 armed SEC(".data");

#include "hot.bpf.h"
#include "task.bpf.h"

/*
 * Templates: loaded once against any function to learn their relocated
 * instructions, then once more per function with the id patched in (attach.c).
 */
SEC("?fentry")
int entry_atomic(void *ctx)
{
	return record_atomic(ctx, patched_func_id(), 0);
}

SEC("?fexit")
int exit_atomic(void *ctx)
{
	return record_atomic(ctx, patched_func_id(), NFG_TASK_EXIT);
}

/* The same for kernels before 5.12, whose BPF has no fetching atomics. */
SEC("?fentry")
int entry_level(void *ctx)
{
	return record_level(ctx, patched_func_id(), 0);
}

SEC("?fexit")
int exit_level(void *ctx)
{
	return record_level(ctx, patched_func_id(), NFG_TASK_EXIT);
}
