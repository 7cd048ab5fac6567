#ifndef NFG_KERNEL_FTRACELIST_H
#define NFG_KERNEL_FTRACELIST_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/kbtf.h"
#include "kernel/ksyms.h"
#include "kernel/ktext.h"

/* Where the kernel's tracers, hence programs too, can be attached: ftrace's own list, read from the kernel's memory. */
struct ftrace_list;

/*
 * ftrace_list_new - read the list: struct ftrace_page, from ftrace_pages_start on (kernel/trace/ftrace.c).
 *
 * Modules may come and go meanwhile, so a list that is not plausible is none.
 * Return: 0; -ENOENT when the kernel does not show where it is, does not let it be read, or has it in a form that is not
 * known; -ENOMEM. Caller frees with ftrace_list_free.
 */
int ftrace_list_new(struct ftrace_list **out, const struct ktext *kt, const struct ksyms *ks,
		    const struct kbtf *kb);
void ftrace_list_free(struct ftrace_list *list);

/* ftrace_list_has - whether the function that begins at @addr is in it. */
bool ftrace_list_has(const struct ftrace_list *list, uint64_t addr);

#endif
