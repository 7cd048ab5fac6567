#ifndef NFG_ATTACH_ATTACH_H
#define NFG_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "attach/calibrate.h"
#include "base/vec.h"
#include "kernel/kbtf.h"
#include "kernel/tracepoint.h"
#include "trace/functab.h"
#include "trace/netcost.h"

/* Programs and links at the traced functions. */
struct attach;

/*
 * attach_new - attach every function of @tab at entry and return, by the modes of @obj's plan.
 *
 * A function that the kernel refuses is left out, and the reason is logged (a warning if it was requested by name, else
 * at -vv); is_attached is set for the others.
 * @stop_cnt: polled between functions; nonzero ends early with -EINTR.
 * Return: 0 if at least one function is attached; else -errno, already logged.
 */
int attach_new(struct attach **out, const struct bpfobj *obj, struct functab *tab,
	       const volatile int *stop_cnt);

/*
 * attach_free - detach in an order that is safe even before 7.2.10: close the links, wait for tasks to leave our
 * trampolines, close the programs.
 *
 * @waits, @stop_cnt: see detach_all.
 */
void attach_free(struct attach *at, bool waits, const volatile int *stop_cnt);

/*
 * attach_add_progs - attach the functions of BPF programs that were added to @tab, from @first on; what is refused is
 * left out, as by attach_new.
 *
 * attach_takes_progs - whether there may be any, by the plan and by what else is attached.
 *
 * Return: 0, -EINTR, or an error that all others would have, too.
 */
bool attach_takes_progs(const struct attach *at);
int attach_add_progs(struct attach *at, const struct bpfobj *obj, struct functab *tab, size_t first,
		     const volatile int *stop_cnt);

/*
 * attach_leave_out - detach @cnt functions of @tab; the others stay attached.
 *
 * A function with its own programs is detached in the background. If functions share links (attach_is_shared), all
 * links are replaced: calls may be missed until this returns, so the caller disarms first. is_attached and is_left_out
 * are updated. Return: 0, or the -errno of multi_attach or kprobe_attach.
 */
int attach_leave_out(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		     const uint32_t *ids, size_t cnt, const volatile int *stop_cnt);

/*
 * attach_pause - detach the functions of @tab that share links (attach_is_shared), all at once; attach_resume - attach
 * them again. Calls in between are neither recorded nor lost, so the caller disarms first.
 *
 * Return: as attach_leave_out; -ENODATA, logged, if no function, or no start function, can be attached any longer.
 */
void attach_pause(struct attach *at, struct functab *tab);
int attach_resume(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		  const volatile int *stop_cnt);

/*
 * attach_call_ps - measure the cost of an unrecorded call; see calibrate_call_ps. If functions are attached one by one,
 * this takes four grace periods, so it is skipped for few functions. Return: 0 if skipped.
 */
uint32_t attach_call_ps(struct attach *at, const struct bpfobj *obj, uint32_t btf_id,
			uint64_t addr);

/*
 * attach_net - measure what a call costs in @obj's plan.mode, before attach_new; see calibrate_net. @kp: where calls are summed up;
 * zeroed: they are recorded. Return: NULL, or why it is unknown (static).
 */
const char *attach_net(struct fd_list *progs, struct bpfobj *obj, const struct functab *tab,
		       const struct calibrate_func funcs[2], const struct kprofile *kp,
		       struct netcost *out);

/* attach_own_link_cnt - the number of links of a function that has its own. */
size_t attach_own_link_cnt(const struct attach *at);

/* attach_own_cnt - the number of functions with their own programs: attach_pause leaves them attached. */
size_t attach_own_cnt(const struct attach *at);

/*
 * attach_may_pause - whether attach_pause detaches all functions of the kernel; those of BPF programs have their own
 * links in any mode.
 */
bool attach_may_pause(const struct attach *at, const struct functab *tab);

/* attach_count_missed - the trace begins: calls missed so far do not count as losses. */
void attach_count_missed(struct attach *at);

/* attach_missed_at_kprobes - the part of attach_missed that the currently attached kprobes skipped. */
uint64_t attach_missed_at_kprobes(const struct attach *at);

/* attach_missed - calls that the kernel's recursion guard (5.12+) skipped since attach_count_missed. */
uint64_t attach_missed(const struct attach *at);

/* ---- programs at tracepoints ---- */

/* Zeroed: none. */
struct point_links {
	struct fd_list progs;
	struct fd_list links;
	uint64_t early_missed_cnt; /* skipped while nothing was to be recorded */
};

/*
 * points_attach - attach a program to each of @points (kernel/tracepoint.h), whose index is in its records.
 *
 * Call it before switches_attach: at sched_switch the gate is then still that of the task that leaves. A tracepoint that
 * the kernel refuses is left out with a warning. Return: 0, or -errno, already logged unless -ENOMEM: none is left.
 * points_detach undoes it.
 */
int points_attach(struct point_links *at, const struct bpfobj *obj,
		  const struct tracepoint_list *points);
void points_detach(struct point_links *at);

/* points_count_missed, points_missed - as attach_count_missed and attach_missed. */
void points_count_missed(struct point_links *at);
uint64_t points_missed(const struct point_links *at);

/* ---- programs at context switches and interrupts ---- */

#define SWITCHES_CNT (2u + PROGS_IRQ_CNT)

/* The programs at context switches and interrupts. */
struct switches {
	int prog_fds[SWITCHES_CNT];
	int link_fds[SWITCHES_CNT];
};

#define SWITCHES_NONE                                                      \
	((struct switches){ .prog_fds = { [0 ... SWITCHES_CNT - 1] = -1 }, \
			    .link_fds = { [0 ... SWITCHES_CNT - 1] = -1 } })

/*
 * switches_attach - follow which task runs on which CPU: gates (task.bpf.h), with want_switches EVENT_OUT and EVENT_IN,
 * with follows_irqs interrupts inside programs. With -v, logs if this kernel cannot record these interrupts.
 *
 * @obj: after bpfobj_follow and before functions are attached, so that a task preempted inside one of their programs is
 * seen. Return: 0, or -errno, already logged. switches_detach undoes it, and does nothing to SWITCHES_NONE.
 */
int switches_attach(struct switches *switches, const struct bpfobj *obj, const struct kbtf *kb);
void switches_detach(struct switches *switches);

/* switches_detach_irqs - detach only the programs at interrupts, which are useless without bpfobj_needs_guard. */
void switches_detach_irqs(struct switches *switches);

#endif
