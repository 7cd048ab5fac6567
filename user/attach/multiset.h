#ifndef NFG_ATTACH_MULTISET_H
#define NFG_ATTACH_MULTISET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fdlist.h"

/* Functions for one link at each end. The arrays have one element per function; the caller owns them. */
struct multiset {
	uint32_t *ids;     /* BTF ids, all of one BTF object */
	uint64_t *cookies; /* as the program gets them */
	uint32_t *idxs;    /* places in the function table */
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
 * The kernel refuses a whole link for one function and does not say which, so the set is halved until it is found. A
 * function refused at one end is not linked at the other either: a lone exit would be recorded as the end of a call
 * that never began. Afterwards @set holds the functions that are linked at both ends. Descriptors are added to
 * @links.
 * Return: 0, also when all were refused; -EINTR after @should_stop; or an error for which multiset_is_fatal.
 */
int multiset_link(struct multiset *set, struct fd_list *links, const struct multiset_ops *ops);

/* multiset_is_fatal - whether other functions would meet @err, too: no memory, no descriptors. */
bool multiset_is_fatal(int err);

#endif
