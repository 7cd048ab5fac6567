#ifndef NFG_ATTACH_CALIBRATE_H
#define NFG_ATTACH_CALIBRATE_H

#include "attach/bpfobj.h"
#include "base/vec.h"

/* A function of the kernel that only BPF_PROG_TEST_RUN of an fentry program calls (da00d2f117a0, 5.7). */
#define CALIBRATE_FUNC "bpf_fentry_test1"

/*
 * calibrate_call_ps - measure what an unrecorded call costs on this host: programs of plan.mode are attached to CALIBRATE_FUNC,
 * which is called some hundred times before, with them, and after. A gate must be shut for the calling task.
 *
 * @btf_id, @addr: the function's; 0: not known. The programs are added to @progs, which keeps them until tasks have left them.
 * Return: picoseconds by the fastest calls; 0: not measurable here, or not now.
 */
uint32_t calibrate_call_ps(struct fd_list *progs, const struct bpfobj *obj, uint32_t btf_id,
			   uint64_t addr);

/*
 * calibrate_clock_ps - what reading the clock costs beyond the processor's own counter, which the instructions of an event
 * include: where the clock source is a device, some hundred nanoseconds.
 */
uint32_t calibrate_clock_ps(void);

#endif
