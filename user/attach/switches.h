#ifndef NFG_ATTACH_SWITCHES_H
#define NFG_ATTACH_SWITCHES_H

#include "attach/bpfobj.h"
#include "kernel/kbtf.h"

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
 * switches_attach - follow which task runs on which CPU: gates (task.bpf.h), with want_switches EVENT_OUT and
 * EVENT_IN, with follows_irqs interrupts inside programs. With -v, logs if this kernel cannot record those.
 *
 * @obj: after bpfobj_follow and before functions are attached, so that a task preempted inside one of their programs
 * is seen. Return: 0, or -errno, already logged. switches_detach undoes it, and does nothing to SWITCHES_NONE.
 */
int switches_attach(struct switches *switches, const struct bpfobj *obj, const struct kbtf *kb);
void switches_detach(struct switches *switches);

/* switches_detach_irqs - of these only the programs at interrupts, which have nothing to do without bpfobj_needs_guard. */
void switches_detach_irqs(struct switches *switches);

#endif
