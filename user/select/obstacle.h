#ifndef NFG_SELECT_OBSTACLE_H
#define NFG_SELECT_OBSTACLE_H

#include <stdbool.h>

#include "kernel/ftracelist.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "kernel/livepatch.h"
#include "select/deny.h"

/* Why a function cannot be traced. */

/* The kernel's data that decide it; borrowed. */
struct obstacle_kernel {
	const struct kbtf *kb;
	const struct ksyms *ks;
	const struct ktext *text; /* NULL: not trustworthy */
	struct ftrace_list *list; /* NULL: unknown; text is used */
	struct livepatch *livepatch;
};

/*
 * obstacle_of - why a function with a type cannot be traced; @shape: its kbtf_shape.
 *
 * Return: NULL: it can.
 */
const char *obstacle_of(const struct obstacle_kernel *kernel, const struct kbtf_func *func,
			const struct kbtf_shape *shape, enum deny_for by);

/* obstacle_of_copy - the same for a compiler's copy (f.isra.0), which only kprobe.session takes. */
const char *obstacle_of_copy(const struct obstacle_kernel *kernel, const struct kbtf_func *func);

#endif
