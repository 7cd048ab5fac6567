/* layer 53: kernel */
#ifndef NFG_OFFCPU_H
#define NFG_OFFCPU_H

#include "bpfobj.h"

/* Records when tasks in scope leave and get a processor: EVENT_OUT and EVENT_IN in the rings. */
struct offcpu {
	int prog_fd;
	int link_fd;
};

#define OFFCPU_NONE ((struct offcpu){ .prog_fd = -1, .link_fd = -1 })

/*
 * offcpu_attach - start, as soon as @obj is armed.
 *
 * @obj: loaded with want_switches, after bpfobj_follow. Return: 0, or -errno said on stderr.
 * offcpu_detach undoes it, and does nothing to OFFCPU_NONE.
 */
int offcpu_attach(struct offcpu *off, const struct bpfobj *obj);
void offcpu_detach(struct offcpu *off);

#endif
