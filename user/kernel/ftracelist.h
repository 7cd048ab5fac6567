#ifndef NFG_KERNEL_FTRACELIST_H
#define NFG_KERNEL_FTRACELIST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* The sites where the kernel's tracers, and so programs, can attach: ftrace's own list, read from kernel memory. */
struct ftrace_list;

/*
 * ftrace_list_new - read the list: struct ftrace_page, from ftrace_pages_start on (kernel/trace/ftrace.c).
 *
 * Modules may be loaded or removed during the read, so an implausible list counts as unavailable.
 * Return: 0; -ENOENT when its address is hidden, it cannot be read, or its layout is unknown; -ENOMEM. Caller frees
 * with ftrace_list_free.
 */
int ftrace_list_new(struct ftrace_list **out, const struct ktext *kt, const struct ksyms *ks,
		    const struct kbtf *kb);
void ftrace_list_free(struct ftrace_list *list);

/* ftrace_list_has - whether the list contains the function that begins at @addr. */
bool ftrace_list_has(const struct ftrace_list *list, uint64_t addr);

/* ---- live patches ---- */

/* Functions replaced by live patches: attaching to them fails, or has crashed kernels. */
struct livepatch;

#define LIVEPATCH_ROOT "/sys/kernel/livepatch"

/* livepatch_new - read LIVEPATCH_ROOT, or a tree like it. Return: NULL: no memory. */
struct livepatch *livepatch_new(const char *root);
void livepatch_free(struct livepatch *lp);

/* livepatch_has - whether a live patch replaced @name; @lp may be NULL. */
bool livepatch_has(const struct livepatch *lp, const char *name);

#endif
