#ifndef NFG_KERNEL_LIVEPATCH_H
#define NFG_KERNEL_LIVEPATCH_H

#include <stdbool.h>

/* Functions that live patches have replaced: attaching to one fails, or has crashed kernels. */
struct livepatch;

#define LIVEPATCH_ROOT "/sys/kernel/livepatch"

/* livepatch_new - read LIVEPATCH_ROOT, or a tree like it. Return: NULL for want of memory. */
struct livepatch *livepatch_new(const char *root);
void livepatch_free(struct livepatch *lp);

/* livepatch_has - whether @name is one of them; @lp may be NULL. */
bool livepatch_has(const struct livepatch *lp, const char *name);

#endif
