/* layer 53: kernel */
#ifndef NFG_SWITCHES_H
#define NFG_SWITCHES_H

#include "bpfobj.h"

/* The programs at context switches. */
struct switches {
	int prog_fds[2];
	int link_fds[2];
};

#define SWITCHES_NONE ((struct switches){ .prog_fds = { -1, -1 }, .link_fds = { -1, -1 } })

/*
 * switches_attach - follow who runs where: gates (task.bpf.h) and, with want_switches, EVENT_OUT and EVENT_IN.
 *
 * @obj: after bpfobj_follow, and before functions are attached: a task that is preempted inside one of their
 * programs must be seen. Return: 0, or -errno said on stderr. switches_detach undoes it, and does
 * nothing to SWITCHES_NONE.
 */
int switches_attach(struct switches *switches, const struct bpfobj *obj);
void switches_detach(struct switches *switches);

#endif
