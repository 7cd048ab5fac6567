#ifndef NFG_ATTACH_KPROBE_H
#define NFG_ATTACH_KPROBE_H

#include "attach/bpfobj.h"
#include "attach/template.h"
#include "base/vec.h"
#include "trace/functab.h"

/* Descriptors of programs and links. kprobe_attach adds to all lists. */
struct kprobe_fds {
	struct fd_list *progs;
	/*
	 * Programs of func.runs_around functions. The kernel also calls these functions around each program, skips
	 * their program then, and counts that as missed, so their missed calls are not losses.
	 */
	struct fd_list *around_progs;
	struct fd_list *links;
	size_t counted_cnt; /* calls missed by the @links before this index are losses */
};

/*
 * Up to 6.13 a link has two return hooks for each address and CPU (fprobe_init_rethook), and each open call uses one.
 * With few functions, sleeping tasks could use all of them, so addresses are repeated in the link: it then has at least
 * this many hooks.
 */
#define KPROBE_OPEN_MAX 16384u

/*
 * kprobe_attach - attach functions of @tab by kprobe.session links (6.10): one for start functions, one for all others,
 * one for func.runs_around; with plan.extras ATTACH_KPROBES by two links each, for entries and for exits.
 *
 * Attaches all functions, or only the func.is_extra ones if plan.mode is another mode.
 *
 * Refused functions are found by bisection; @refused is called for each of them, and for a function without a known
 * address (-ENOENT) or whose entry in the table of sites is taken (-EEXIST). is_attached is set for the others.
 * Functions already attached, left out, and with plan.starts_by_pair start functions are skipped.
 * @fds: its programs are empty, or those of an earlier call for the same @tab, which are used again.
 * Return: 0, -ENOMEM, -EINTR: @should_stop became nonzero, or the -errno of a load.
 */
int kprobe_attach(struct kprobe_fds *fds, const struct bpfobj *obj, struct functab *tab,
		  void (*refused)(const struct func *func, int err),
		  const volatile int *should_stop);

/*
 * kprobe_link - link @prog_fd, which handles @ends, at @cnt addresses. @way: one that is_by_site. Return: the link's
 * descriptor, owned by the caller, or -errno: the kernel refuses the whole link if it refuses one address.
 */
int kprobe_link(int prog_fd, const struct attach_way *way, enum template_ends ends,
		const uint64_t *addrs, uint32_t cnt);

/*
 * kprobe_missed - calls for which the kernel did not run the link's program. 0: none, or @link_fd is not such a link.
 */
uint64_t kprobe_missed(int link_fd);

#endif
