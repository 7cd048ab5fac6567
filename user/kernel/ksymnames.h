#ifndef NFG_KERNEL_KSYMNAMES_H
#define NFG_KERNEL_KSYMNAMES_H

/*
 * ksymnames_visit - call @visit for each function of the kernel and its modules whose name begins with @begin.
 *
 * From the text of /proc/kallsyms at @path, in one pass and without keeping it: what ksyms.h knows takes three times as
 * long. Left out are __init functions of the kernel, compiler clones (with a dot), padding, and what BPF and ftrace
 * made. A name may come twice. Return: 0 or -errno.
 */
int ksymnames_visit(const char *path, const char *begin, void (*visit)(void *ctx, const char *name),
		    void *ctx);

#endif
