#ifndef NFG_ATTACH_MULTI_H
#define NFG_ATTACH_MULTI_H

#include "attach/bpfobj.h"
#include "base/fdlist.h"
#include "trace/functab.h"

/*
 * multi_attach - attach all of @tab by tracing_multi links (7.2).
 *
 * The functions are distributed over several pairs of programs: while a program runs on a CPU, the kernel does not
 * run it there again, so calls of the same program's functions by an interrupt or another task would be missed. A set
 * the kernel refuses is halved until single functions are refused; @refused is called for those. is_attached is set
 * for the others. Functions already attached, left out, and with plan.starts_by_pair start functions are skipped.
 * Descriptors are added to @progs and @links.
 * @progs: empty, or the programs of an earlier call for the same @tab, which are used again.
 * Return: 0, -ENOMEM, -EINTR when @should_stop became nonzero, or the -errno of the first load.
 */
int multi_attach(struct fd_list *progs, struct fd_list *links, const struct bpfobj *obj,
		 struct functab *tab, void (*refused)(const struct func *func, int err),
		 const volatile int *should_stop);

#endif
