#ifndef NFG_ATTACH_KPROBE_H
#define NFG_ATTACH_KPROBE_H

#include "attach/bpfobj.h"
#include "base/fdlist.h"
#include "trace/functab.h"

/*
 * kprobe_attach - attach what of @tab goes to kprobe.session links (6.10): one for start functions, one for all others;
 * with plan.extras ATTACH_KPROBES to two links each, for entries and for exits.
 *
 * That is all of it, or, when plan.mode is another, what is func.is_extra.
 *
 * What the kernel refuses is found by halves; @refused is called for it, and for a function of which no address is known
 * (-ENOENT) or whose place in the table of sites another has (-EEXIST). is_attached says which functions are in; those
 * attached already, those left out, and with plan.starts_by_pair start functions are skipped. Descriptors are added to
 * @progs and @links.
 * @progs: empty, or what an earlier call for the same @tab began it with: the programs are used again.
 * Return: 0, -ENOMEM, -EINTR when @should_stop became nonzero, or what a load said.
 */
int kprobe_attach(struct fd_list *progs, struct fd_list *links, const struct bpfobj *obj,
		  struct functab *tab, void (*refused)(const struct func *func, int err),
		  const volatile int *should_stop);

/* kprobe_missed - calls that the kernel did not give to the link's program. 0: none, or @link_fd is no such link. */
uint64_t kprobe_missed(int link_fd);

#endif
