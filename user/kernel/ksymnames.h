#ifndef NFG_KERNEL_KSYMNAMES_H
#define NFG_KERNEL_KSYMNAMES_H

/*
 * ksymnames_visit - call @visit for each function of the kernel and its modules whose name begins with @begin.
 *
 * Reads the text of /proc/kallsyms at @path in one pass, without storing it; reading ksyms takes three times as long.
 * Leaves out __init functions of the kernel, compiler clones (with a dot), padding, and symbols of BPF and ftrace. A
 * name may occur twice. Return: 0 or -errno.
 */
int ksymnames_visit(const char *path, const char *begin, void (*visit)(void *ctx, const char *name),
		    void *ctx);

#endif
