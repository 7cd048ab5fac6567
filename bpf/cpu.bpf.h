/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_CPU_BPF_H
#define NFG_CPU_BPF_H

/* What all programs share: the settings, the switch, and what each CPU decides by. */
#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include "nfg_abi.h"

#define unlikely(cond) __builtin_expect(!!(cond), 0)

/* Load or store @lvalue exactly here, whatever the compiler knows of it. */
#define ALWAYS(lvalue) (*(volatile typeof(lvalue) *)&(lvalue))

const volatile struct nfg_cfg cfg = { 0 };

/* Tracing is on or off. Attaching is slow; this switch only opens or closes the gates (task.bpf.h). */
__u32 armed SEC(".data");

/* Everything a CPU needs to decide and to find its slot; user space maps it too. */
struct nfg_cpu cpus[NFG_CPU_CNT] SEC(".data.cpus");

/* The first instructions of every traced call; with the load of the gate, all that an unwanted call costs. */
static __always_inline struct nfg_cpu *this_cpu(void)
{
	return &cpus[bpf_get_smp_processor_id() & (NFG_CPU_CNT - 1)];
}

#endif
