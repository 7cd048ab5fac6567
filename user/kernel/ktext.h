#ifndef NFG_KERNEL_KTEXT_H
#define NFG_KERNEL_KTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arch.h"
#include "kernel/ksyms.h"

/* A source of kernel text: an ELF file whose segments have kernel addresses. */
struct ktext;

/*
 * ktext_new - open the text of the running kernel and its modules, /proc/kcore.
 *
 * It is the code as it runs, with patched calls and alternatives.
 * Return: 0 or -errno: -EACCES or -EPERM without CAP_SYS_RAWIO or under lockdown,
 * -ENOENT when the kernel was built without it. Caller frees with ktext_free.
 */
int ktext_new(struct ktext **out);

/*
 * ktext_new_image - open the text of an uncompressed kernel image, at the addresses it was linked for.
 *
 * Return: 0 or -errno; -ENOEXEC when @path is not a little-endian ELF64 file with segments, or is for an unknown
 * architecture.
 */
int ktext_new_image(struct ktext **out, const char *path);
void ktext_free(struct ktext *kt);

/*
 * ktext_read - copy @len bytes from kernel address @addr.
 *
 * Return: 0, or -errno with @buf undefined: -EFAULT when the range is not within one segment, -EPERM when the kernel
 * refuses.
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

/* ktext_arch - the text's architecture; an image's may differ from the host's. */
const struct arch *ktext_arch(const struct ktext *kt);

#endif
