#ifndef NFG_KERNEL_LIVEPATCH_H
#define NFG_KERNEL_LIVEPATCH_H

#include <stdbool.h>

/* Functions replaced by live patches: attaching to them fails, or has crashed kernels. */
struct livepatch;

#define LIVEPATCH_ROOT "/sys/kernel/livepatch"

/* livepatch_new - read LIVEPATCH_ROOT, or a tree like it. Return: NULL: no memory. */
struct livepatch *livepatch_new(const char *root);
void livepatch_free(struct livepatch *lp);

/* livepatch_has - whether a live patch replaced @name; @lp may be NULL. */
bool livepatch_has(const struct livepatch *lp, const char *name);

#endif
