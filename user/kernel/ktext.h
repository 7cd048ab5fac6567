#ifndef NFG_KERNEL_KTEXT_H
#define NFG_KERNEL_KTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "base/strbuf.h"
#include "kernel/ksyms.h"

/* Kernel text: an ELF file whose segments have kernel addresses. */
struct ktext;

/* The running kernel and its modules: the code that runs, with patched calls and alternatives. */
#define KTEXT_RUNNING "/proc/kcore"

/*
 * ktext_new - open the text of KTEXT_RUNNING, or of an uncompressed kernel image, at the addresses it was linked for.
 *
 * Return: 0 or -errno: -EACCES or -EPERM without CAP_SYS_RAWIO or under lockdown, -ENOENT if the kernel was built
 * without it; -ENOEXEC: @path is not a little-endian ELF64 file with segments, or is for an unknown architecture.
 * Caller frees with ktext_free.
 */
int ktext_new(struct ktext **out, const char *path);
void ktext_free(struct ktext *kt);

/*
 * ktext_read - copy @len bytes from kernel address @addr.
 *
 * Return: 0, or -errno with @buf undefined: -EFAULT: the range is not within one segment; -EPERM: the kernel refuses.
 */
int ktext_read(const struct ktext *kt, uint64_t addr, void *buf, size_t len);

/*
 * ktext_has_probe_site - whether the function at @addr begins with the site that ftrace and trampolines patch
 * (base/arch.c), perhaps after an endbr64 or bti. An ordinary call at the start is not a site.
 *
 * Also true when the text cannot be read (the kernel will refuse if needed), and for an untraceable function that
 * begins with a disabled static branch, which is the same nop.
 */
bool ktext_has_probe_site(const struct ktext *kt, const struct ksyms *ks, uint64_t addr);

/* ktext_arch - the architecture of the text; for an image it may differ from the host's. */
const struct arch *ktext_arch(const struct ktext *kt);

/* ---- return addresses ---- */

/* Names of return addresses: "tcp_v4_connect+0x1f5/0x4a0", "veth_xmit+0x4b/0x4f [veth]". */
struct retaddr;

/* retaddr_new - @ks: the symbols; NULL: only addresses of retaddr_add have names. Return: 0 or -ENOMEM. */
int retaddr_new(struct retaddr **out, const struct ksyms *ks);
void retaddr_free(struct retaddr *ra);

/* retaddr_is_hidden - whether the kernel hides addresses, so no caller has a name. */
bool retaddr_is_hidden(const struct retaddr *ra);

/* retaddr_add - let @name be the name of @addr. Return: 0 or -ENOMEM. */
int retaddr_add(struct retaddr *ra, uint64_t addr, struct text name);

/*
 * retaddr_get - the name of @addr.
 *
 * An address outside all functions is in a trampoline: a function reached by a jump returns to the trampoline of the
 * traced function that jumped. "?" if the kernel hides addresses; len 0: no memory.
 */
struct text retaddr_get(struct retaddr *ra, uint64_t addr);

/*
 * retaddr_is_tracing - whether a place, "NAME" or "NAME+0x1/0x2", is of what tracing puts between a traced function and its caller:
 * a trampoline, or the function to which calls return that kprobe.session or kprobe.multi traces. Who called is not known then.
 */
bool retaddr_is_tracing(struct text place);

/*
 * retaddr_get_new - as retaddr_get, for a caller that writes each address once. Return: false if it has returned @addr
 * before.
 */
bool retaddr_get_new(struct retaddr *ra, uint64_t addr, struct text *name);

/* retaddr_forget_given - let retaddr_get_new return each address once more. */
void retaddr_forget_given(struct retaddr *ra);

/*
 * Kernel stacks by number. The key of a frame differs from every return address; retaddr_add and retaddr_get_new accept
 * it as an address, so recordings store frames like addresses.
 */
#define RETADDR_FRAME(nr, idx) (1ull << 62 | (uint64_t)(nr) << 8 | (idx))
#define RETADDR_IS_FRAME(key)  ((key) >> 62 == 1)

/* Reads a stack. @addrs: room for NFG_STACK_FRAMES. Return: the number of frames. */
typedef uint32_t (*retaddr_stack)(void *ctx, uint32_t nr, uint64_t *addrs);

/* retaddr_follow - call @stack for stacks that are not yet known. */
void retaddr_follow(struct retaddr *ra, retaddr_stack stack, void *ctx);

/* retaddr_frame - the name of frame @idx of the stack @nr, innermost first. Return: whether it exists. */
bool retaddr_frame(struct retaddr *ra, uint32_t nr, uint32_t idx, struct text *name);

#endif
