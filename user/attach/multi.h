#ifndef NFG_ATTACH_MULTI_H
#define NFG_ATTACH_MULTI_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/bpfobj.h"
#include "base/vec.h"
#include "trace/functab.h"

/* Functions for one link at each end. The arrays have one element per function; the caller owns them. */
struct multiset {
	uint32_t *ids;     /* BTF ids, all of one BTF object */
	uint64_t *cookies; /* for the program */
	uint32_t *idxs;    /* indexes in the function table */
	uint32_t cnt;
};

enum multiset_end {
	MULTISET_EXIT,
	MULTISET_ENTRY,
};

struct multiset_ops {
	/* Create one link for @cnt functions. Return: its descriptor, or -errno. */
	int (*link)(void *ctx, enum multiset_end end, const uint32_t *ids, const uint64_t *cookies,
		    uint32_t cnt);
	/* Called once for each function that the kernel refuses; @idx: its index in the function table. */
	void (*refused)(void *ctx, uint32_t idx, int err);
	void *ctx;
	const volatile int *should_stop; /* polled before each link */
};

/*
 * multiset_link - link all of @set at its exits, then at its entries.
 *
 * The kernel refuses a whole link for one function and does not say which, so the set is halved until the function is
 * found. A function refused at one end is not linked at the other either: a lone exit would be recorded as the end of a
 * call that never began. Afterwards @set contains the functions that are linked at both ends. Descriptors are added to
 * @links.
 * Return: 0, even if all were refused; -EINTR after @should_stop; or an error for which multiset_is_fatal.
 */
int multiset_link(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops);

/* multiset_is_fatal - whether @err would also occur with other functions: no memory, no descriptors. */
bool multiset_is_fatal(int err);

/*
 * multi_attach - attach all of @tab by tracing_multi links (7.2).
 *
 * The functions are distributed over several pairs of programs: while a program runs on a CPU, the kernel does not run
 * it there again, so calls of the same program's functions by an interrupt or another task would be missed. A set that
 * the kernel refuses is halved until single functions are refused; @refused is called for those. is_attached is set for
 * the others. Functions already attached, left out, and with plan.starts_by_pair start functions are skipped.
 * Descriptors are added to @progs and @links.
 * @progs: empty, or the programs of an earlier call for the same @tab, which are used again.
 * Return: 0, -ENOMEM, -EINTR: @should_stop became nonzero, or the -errno of the first load.
 */
int multi_attach(struct fd_list *progs, struct fd_list *links, const struct bpfobj *obj,
		 struct functab *tab, void (*refused)(const struct func *func, int err),
		 const volatile int *should_stop);

/*
 * multi_link - link @prog_fd at one end of the @cnt functions of its BTF object with these ids. Return: the link's
 * descriptor, owned by the caller, or -errno: the kernel refuses the whole link if it refuses one function.
 */
int multi_link(int prog_fd, enum multiset_end end, const uint32_t *ids, const uint64_t *cookies,
	       uint32_t cnt);

#endif
