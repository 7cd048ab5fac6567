#ifndef NFG_KERNEL_RETADDR_H
#define NFG_KERNEL_RETADDR_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/ksyms.h"
#include "base/text.h"

/* Return addresses and how they are written: "tcp_v4_connect+0x1f5/0x4a0", "veth_xmit+0x4b/0x4f [veth]". */
struct retaddr;

/* retaddr_new - @ks: where to look; NULL: only what retaddr_add says is known. Return: 0 or -ENOMEM. */
int retaddr_new(struct retaddr **out, const struct ksyms *ks);
void retaddr_free(struct retaddr *cs);

/* retaddr_is_hidden - whether the kernel's symbols came without addresses: no caller has a name. */
bool retaddr_is_hidden(const struct retaddr *cs);

/* retaddr_add - @addr is written as @name. Return: 0 or -ENOMEM. */
int retaddr_add(struct retaddr *cs, uint64_t addr, struct text name);

/*
 * retaddr_get - how @addr is written.
 *
 * An address in no function's text is in a trampoline: a function that was reached by a jump returns to that
 * of the traced function which jumped. "?" when the kernel hides addresses; len 0 when memory runs out.
 */
struct text retaddr_get(struct retaddr *cs, uint64_t addr);

/* retaddr_tell - the same, for a caller that writes each address once. Return: false for one it returned before. */
bool retaddr_tell(struct retaddr *cs, uint64_t addr, struct text *name);

/* retaddr_untell - from now on retaddr_tell returns all of them once more. */
void retaddr_untell(struct retaddr *cs);

/*
 * Kernel stacks by number. A frame has a key in place of an address, which no return address can be; retaddr_add and
 * retaddr_tell take it, so frames go into recordings as addresses do.
 */
#define RETADDR_FRAME(nr, idx) (1ull << 62 | (uint64_t)(nr) << 8 | (idx))

/* Where stacks come from. @addrs: room for NFG_STACK_FRAMES. Return: how many there are. */
typedef uint32_t (*retaddr_stack)(void *ctx, uint32_t nr, uint64_t *addrs);

/* retaddr_follow - stacks that are not known yet are asked of @stack. */
void retaddr_follow(struct retaddr *cs, retaddr_stack stack, void *ctx);

/* retaddr_frame - how frame @idx of the stack @nr is written, innermost first. Return: whether there is one. */
bool retaddr_frame(struct retaddr *cs, uint32_t nr, uint32_t idx, struct text *name);

#endif
