#ifndef NFG_KERNEL_KSYMITER_H
#define NFG_KERNEL_KSYMITER_H

#include "base/strbuf.h"

struct kbtf;

/*
 * ksymiter_read - the symbols that /proc/kallsyms has, in its order, into the empty @recs as records (ksymrec.h).
 *
 * A BPF program is called for each of them: kernel 6.0, commit 647cafa22349 ("bpf: add a ksym BPF iterator"). That is
 * a third of the work of the text, whose lines the kernel prints one by one. Addresses are hidden where they are there.
 * Takes CAP_BPF and CAP_PERFMON, and no lockdown that forbids reading the kernel's memory.
 * Return: 0, or -errno when anything at all was odd; then @recs is of no use.
 */
int ksymiter_read(struct strbuf *recs, const struct kbtf *kb);

/*
 * ksymiter_accept - what the program wrote becomes records for everyone.
 *
 * The symbols are numbered, and a mark follows the last one: nothing may be missing.
 * Return: 0, or -EIO when those are not all the symbols and nothing else.
 */
int ksymiter_accept(struct strbuf *recs);

#endif
