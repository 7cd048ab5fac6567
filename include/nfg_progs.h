/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NFG_PROGS_H
#define NFG_PROGS_H

/*
 * The words of programs' names. The BPF side makes the programs (bpf/netfgraph.bpf.c has those at functions), and user
 * space finds them by name (user/attach/bpfobj.c).
 */

/*
 * How a program finds its slot in the ring. nested is for kernels before 5.12: no atomic operation returns a value, but
 * programs on one CPU nest strictly, because preemption is off around them.
 */
#define NFG_SLOTS(SLOT)                                                                 \
	SLOT(nested)                                                                    \
	SLOT(lookup) /* a fetching atomic operation; contexts may preempt each other */ \
	SLOT(flat)   /* the same in one array, which needs no lookup */

/* The job of a program at one end of a function. */
#define NFG_JOBS(JOB)                                                                                  \
	JOB(record)                                                                                    \
	JOB(packet) /* first looks at the packet or the result; if functions share it, only at that */ \
	JOB(start)  /* the same at start functions, and opens and closes the gate */                   \
	JOB(values) /* records it with values */                                                       \
	JOB(values_start)                                                                              \
	JOB(sums) /* sums calls up */                                                                  \
	JOB(sums_start)                                                                                \
	JOB(follow) /* with --track: an entry of a start function; its exit has the job of others */

#define NFG_SLOT(slot) NFG_SLOT_##slot,
#define NFG_JOB(job)   NFG_JOB_##job,

enum nfg_slot { NFG_SLOTS(NFG_SLOT) };
enum nfg_job { NFG_JOBS(NFG_JOB) };

/*
 * COPIED(name, section): the programs NAME_1 to NAME_3, which do the same, and may repeat it; bpfobj.c loads some of
 * them. While a task is preempted inside a program, the kernel skips it for other tasks on that CPU: a call is missed
 * only if each copy has such a task. From 5.12 on at functions, from 7.0 on at tracepoints. Those from skb_copied on
 * follow packets (--track), the others the scope.
 */
#define NFG_COPY_CNT 3
#define NFG_COPIED(COPIED)                                   \
	COPIED(task_exec, "tp_btf/sched_process_exec")       \
	COPIED(cgroup_made, "tp_btf/cgroup_mkdir")           \
	COPIED(cgroup_joined, "tp_btf/cgroup_attach_task")   \
	COPIED(socket_made, "func/sk_alloc")                 \
	COPIED(owner_found, "func/sk_filter_trim_cap")       \
	COPIED(skb_copied, "func/__copy_skb_header")         \
	COPIED(skb_cut, "func/ip_copy_metadata")             \
	COPIED(skb_cut6, "func/ip6_copy_metadata")           \
	COPIED(skb_released, "func/skb_release_head_state")  \
	COPIED(skb_freed, "func/kfree_skbmem")               \
	COPIED(skb_stolen, "func/napi_skb_free_stolen_head") \
	COPIED(skb_reused, "func/napi_reuse_skb")

#endif
