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

const volatile struct nfg_cfg cfg = { 0 };

/* The logical switch: attach is slow, this is not. It closes or opens the gates (task.bpf.h). */
__u32 armed SEC(".data");

#include "hot.bpf.h"
#include "task.bpf.h"

/*
 * Templates: loaded once against any function to learn their relocated
 * instructions, then once more per function with the id patched in (attach.c).
 */
#define TEMPLATE(section, name, kind, record_fn, ...)               \
	SEC(section)                                                \
	int name(void)                                              \
	{                                                           \
		struct nfg_cpu *cpu = this_cpu();                   \
		__u32 task = cpu->gate;                             \
                                                                    \
		if (task)                                           \
			record_fn(cpu, task | kind, ##__VA_ARGS__); \
		return 0;                                           \
	}

TEMPLATE("?fentry", entry_inline, 0, record_open, RESERVE_ATOMIC)
TEMPLATE("?fexit", exit_inline, NFG_TASK_EXIT, record_open, RESERVE_ATOMIC)
TEMPLATE("?fentry", entry_atomic, 0, record_open_atomic)
TEMPLATE("?fexit", exit_atomic, NFG_TASK_EXIT, record_open_atomic)
TEMPLATE("?fentry", entry_nested, 0, record_open_nested)
TEMPLATE("?fexit", exit_nested, NFG_TASK_EXIT, record_open_nested)
