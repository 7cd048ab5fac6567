#ifndef NFG_ATTACH_MULTI_H
#define NFG_ATTACH_MULTI_H

#include "attach/bpfobj.h"
#include "base/fdlist.h"
#include "trace/functab.h"

/*
 * multi_attach - attach all of @tab by tracing_multi links (7.2).
 *
 * The functions are dealt out to several pairs of programs: while one program runs on a CPU,
 * the kernel keeps it from running there again, and an interrupt or another task that calls a function
 * of the same program at that moment would be missed. A set the kernel refuses is halved until what is
 * refused is single functions; @refused is called for those.
 * is_attached says which functions are in; those attached already, those left out, and with plan.starts_by_pair start
 * functions are skipped. Descriptors are added to
 * @progs and @links.
 * @progs: empty, or what an earlier call for the same @tab began it with: the programs are used again.
 * Return: 0, -ENOMEM, -EINTR when @should_stop became nonzero, or what the first load said.
 */
int multi_attach(struct fd_list *progs, struct fd_list *links, const struct bpfobj *obj,
		 struct functab *tab, void (*refused)(const struct func *func, int err),
		 const volatile int *should_stop);

#endif
