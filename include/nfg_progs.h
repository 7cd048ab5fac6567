/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PROGS_H
#define NFG_PROGS_H

/*
 * Programs with several variants: the BPF side generates the programs from these lists, and user space generates its
 * table of them (user/attach/bpfobj.c). A new line in a list is a new program on both sides.
 */

/* How a program finds its slot in the ring. */
enum nfg_slot {
	/*
	 * Before 5.12. No atomic operation returns a value, but programs on one CPU nest strictly, because preemption
	 * is off around them.
	 */
	NFG_SLOT_nested,
	NFG_SLOT_lookup, /* a fetching atomic operation; contexts may preempt each other */
	NFG_SLOT_flat,   /* the same in one array, which needs no lookup */
	NFG_SLOT_CNT,
};

/* The job of a program at one end of a function. */
enum nfg_job {
	NFG_JOB_record, /* records it */
	NFG_JOB_packet, /* first looks at the packet or the result; if functions share a program, only at the result */
	NFG_JOB_start,  /* the same at start functions, and opens and closes the gate */
	NFG_JOB_values, /* records it with values */
	NFG_JOB_values_start,
	NFG_JOB_sums, /* sums calls up */
	NFG_JOB_sums_start,
	NFG_JOB_CNT,
};

/*
 * The programs at functions, by how they are attached. All but pairs need a kernel whose rings are flat.
 *
 * PAIR(job, slot): the programs JOB_entry_SLOT and JOB_exit_SLOT, at the two ends of a function. If a family has no line for
 * flat, that for lookup is used: sums have no slots, and depend only on whether atomic operations return a value.
 *
 * MULTI(job): the programs JOB_entry_multi and JOB_exit_multi, each at one end of many functions, which are known by their
 * cookies (7.2).
 */
#define NFG_PAIRS(PAIR, MULTI)     \
	PAIR(record, nested)       \
	PAIR(record, lookup)       \
	PAIR(record, flat)         \
	MULTI(record)              \
	PAIR(packet, nested)       \
	PAIR(packet, lookup)       \
	PAIR(packet, flat)         \
	MULTI(packet)              \
	PAIR(start, nested)        \
	PAIR(start, lookup)        \
	PAIR(start, flat)          \
	MULTI(start)               \
	PAIR(values, nested)       \
	PAIR(values, lookup)       \
	PAIR(values, flat)         \
	MULTI(values)              \
	PAIR(values_start, nested) \
	PAIR(values_start, lookup) \
	PAIR(values_start, flat)   \
	MULTI(values_start)        \
	PAIR(sums, nested)         \
	PAIR(sums, lookup)         \
	MULTI(sums)                \
	PAIR(sums_start, nested)   \
	PAIR(sums_start, lookup)   \
	MULTI(sums_start)

/* BOTH(job): the program JOB_session, for both ends of a function (7.0). */
#define NFG_BOTHS(BOTH) BOTH(record) BOTH(packet) BOTH(start)

/* SITE(job): the program JOB_kprobe, for both ends of many functions, which are known by their addresses (6.10). */
#define NFG_SITES(SITE) \
	SITE(record)    \
	SITE(packet) SITE(start) SITE(values) SITE(values_start) SITE(sums) SITE(sums_start)

/* SWITCHES(slot): task_switch_SLOT, always at sched_switch, and record_switch_SLOT after it (bpf/offcpu.bpf.h). */
#define NFG_SWITCHES(SWITCHES) SWITCHES(nested) SWITCHES(lookup) SWITCHES(flat)

/*
 * COPIED(name, section): the programs NAME_1 to NAME_3, which do the same, and may repeat it; bpfobj.c loads some of
 * them. While a task is preempted inside a program, the kernel skips it for other tasks on that CPU: a call is missed
 * only if each copy has such a task. From 5.12 on at functions, from 7.0 on at tracepoints.
 */
#define NFG_COPY_CNT 3
#define NFG_COPIED(COPIED)                                 \
	COPIED(task_exec, "tp_btf/sched_process_exec")     \
	COPIED(cgroup_made, "tp_btf/cgroup_mkdir")         \
	COPIED(cgroup_joined, "tp_btf/cgroup_attach_task") \
	COPIED(socket_made, "func/sk_alloc")               \
	COPIED(owner_found, "func/sk_filter_trim_cap")

/*
 * IRQ(level, tracepoint, slot): LEVEL_begins_SLOT and LEVEL_ends_SLOT, at TRACEPOINT_entry and _exit. None for nested:
 * before 5.12 the kernel skips no program when an interrupt arrives inside it.
 */
#define NFG_IRQS(IRQ)                     \
	IRQ(softirq, softirq, lookup)     \
	IRQ(softirq, softirq, flat)       \
	IRQ(hardirq, irq_handler, lookup) \
	IRQ(hardirq, irq_handler, flat)

#endif
