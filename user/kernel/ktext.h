#ifndef NFG_KERNEL_KTEXT_H
#define NFG_KERNEL_KTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "kernel/ksyms.h"

/* Where bytes of kernel text are read from: an ELF file whose segments have kernel addresses. */
struct ktext;

/*
 * ktext_new - text of the running kernel and its modules, from /proc/kcore.
 *
 * What is read is what runs: patched calls and alternatives are in it.
 * Return: 0 or -errno: -EACCES or -EPERM without CAP_SYS_RAWIO or under lockdown,
 * -ENOENT when the kernel was built without it. Caller frees with ktext_free.
 */
int ktext_new(struct ktext **out);

/*
 * ktext_new_image - text of an uncompressed kernel image, at the addresses it was linked for.
 *
 * Return: 0 or -errno; -ENOEXEC when @path is no little-endian ELF64 file with segments,
 * or one of an unknown architecture.
 */
int ktext_new_image(struct ktext **out, const char *path);
void ktext_free(struct ktext *kt);

/*
 * ktext_read - copy @len bytes from kernel address @addr.
 *
 * Return: 0, or -errno and @buf undefined: -EFAULT when the range does not lie within one
 * segment, -EPERM when the kernel refuses.
 */
int ktext_read(const struct ktext *kt, uint64_t addr, void *buf, size_t len);

/*
 * ktext_has_probe_site - whether the function at @addr begins with the place that ftrace and
 * trampolines patch (arch/), perhaps behind an endbr64 or bti. A function that just begins by calling another has none.
 *
 * True also when it cannot be read: the kernel will say. And where a function that may not be traced begins
 * with a static branch that is off: the same nop.
 */
bool ktext_has_probe_site(const struct ktext *kt, const struct ksyms *ks, uint64_t addr);

/* ktext_arch - that of the text, which for an image need not be the host's. */
const struct arch *ktext_arch(const struct ktext *kt);

#endif
