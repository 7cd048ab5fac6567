#ifndef NFG_SELECT_OBSTACLE_H
#define NFG_SELECT_OBSTACLE_H

#include <stdbool.h>

#include "kernel/ftracelist.h"
#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"
#include "kernel/livepatch.h"

/* Why a function cannot be traced. */

/* What of the kernel decides; borrowed. */
struct obstacle_kernel {
	const struct kbtf *kb;
	const struct ksyms *ks;
	const struct ktext *text; /* NULL: not to be trusted */
	struct ftrace_list *list; /* NULL: not known; text is asked */
	struct livepatch *livepatch;
};

/*
 * obstacle_of - of a function with a type; @shape is its kbtf_shape, @by_kprobe: kprobe.session takes it, not a trampoline.
 *
 * Return: NULL: it can be traced.
 */
const char *obstacle_of(const struct obstacle_kernel *kernel, const struct kbtf_func *func,
			const struct kbtf_shape *shape, bool by_kprobe);

/* obstacle_of_copy - of one that the compiler made of another (f.isra.0), which only kprobe.session takes. */
const char *obstacle_of_copy(const struct obstacle_kernel *kernel, const struct kbtf_func *func);

#endif
