#ifndef NFG_ATTACH_CALIBRATE_H
#define NFG_ATTACH_CALIBRATE_H

#include "attach/bpfobj.h"
#include "attach/template.h"
#include "base/vec.h"
#include "trace/netcost.h"

/*
 * Kernel functions that are called only by BPF_PROG_TEST_RUN of an fentry program, one after the other
 * (da00d2f117a0, 5.7).
 */
#define CALIBRATE_FUNC      "bpf_fentry_test1"
#define CALIBRATE_NEXT_FUNC "bpf_fentry_test2"

/* Link @prog_fd, a copy for @spec, at a function. Return: the link's descriptor, owned by the caller, or -errno. */
typedef int calibrate_link(const struct template_spec *spec, int prog_fd, uint32_t btf_id,
			   uint64_t addr);

/*
 * calibrate_call_ps - measure the cost of an unrecorded call on this host: call CALIBRATE_FUNC some hundred times
 * before, with, and after the programs of plan.mode. The calling task's gate must be closed.
 *
 * @btf_id, @addr: of the function; 0: unknown. The programs are added to @progs, which keeps them until tasks have left
 * them.
 * Return: picoseconds, from the fastest calls; 0: not measurable here, or not now.
 */
uint32_t calibrate_call_ps(struct fd_list *progs, const struct bpfobj *obj, uint32_t btf_id,
			   uint64_t addr, calibrate_link *link);

/* A function that is called by calibration. 0: unknown. */
struct calibrate_func {
	uint32_t btf_id;
	uint64_t addr;
};

/* The ids of these functions in records that only calibration reads. */
#define CALIBRATE_ID(i) (NFG_FUNC_CNT - 1 - (i))

/*
 * calibrate_net - measure what a recorded call costs, or one that is summed up: some hundred calls of CALIBRATE_FUNC and
 * CALIBRATE_NEXT_FUNC with the programs of plan.mode, on the CPU on which the caller runs, with its gate open for these calls alone.
 * Before anything else is attached to functions: afterwards the CPU's ring, or its table, is as if nothing had been recorded or
 * lost.
 *
 * @progs: as for calibrate_call_ps. @sums: what may be used of tables; .sums NULL: calls are recorded.
 * Return: NULL, or why it is unknown (static).
 */
const char *calibrate_net(struct netcost *out, struct fd_list *progs, struct bpfobj *obj,
			  const struct calibrate_func funcs[2], const struct kprofile_spare *sums,
			  calibrate_link *link);

/*
 * calibrate_clock_ps - the cost of reading the clock beyond the CPU's own counter, which is included in an event's
 * instructions: some hundred nanoseconds if the clock source is a device.
 */
uint32_t calibrate_clock_ps(void);

#endif
