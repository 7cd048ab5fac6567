#ifndef NFG_ATTACH_ATTACH_H
#define NFG_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "trace/functab.h"

/* The programs and links at the traced functions. */
struct attach;

/*
 * attach_new - attach every function of @tab at both ends, the way @obj was loaded for.
 *
 * A function the kernel refuses is left out, with the reason (a warning when it was asked for by
 * name, else at -vv); is_attached says which are in.
 * @stop_cnt: polled between functions; nonzero ends early with -EINTR.
 * Return: 0 when at least one function is attached; else -errno, said on stderr.
 */
int attach_new(struct attach **out, const struct bpfobj *obj, struct functab *tab,
	       const volatile int *stop_cnt);

/*
 * attach_free - detach, in the order that is safe before 7.2.10 too: links first, then
 * time for tasks inside our trampolines to leave, then the programs.
 *
 * @waits, @stop_cnt: see detach_all.
 */
void attach_free(struct attach *at, bool waits, const volatile int *stop_cnt);

/*
 * attach_leave_out - detach @cnt functions of @tab while the rest goes on.
 *
 * A function with programs of its own is let go in the background. With tracing_multi, where functions share
 * links, all links are made anew: until this returns calls may be missed, so the caller disarms before.
 * @out_fd: see detach_aside.
 * is_attached and is_left_out are updated. Return: 0, or what multi_attach says.
 */
int attach_leave_out(struct attach *at, const struct bpfobj *obj, struct functab *tab,
		     const uint32_t *ids, size_t cnt, int out_fd, const volatile int *stop_cnt);

/* attach_count_missed - the trace begins: what was missed before is no loss. */
void attach_count_missed(struct attach *at);

/* attach_missed - calls that the kernel's recursion guard kept from our programs (5.12+) since attach_count_missed. */
uint64_t attach_missed(const struct attach *at);

#endif
