#ifndef NFG_KERNEL_KSYMITER_H
#define NFG_KERNEL_KSYMITER_H

#include "base/strbuf.h"

struct kbtf;

/*
 * ksymiter_read - read the symbols of /proc/kallsyms, in its order, into the empty @recs as records (ksymrec.h).
 *
 * The kernel calls a BPF program for each of them: 6.0, commit 647cafa22349 ("bpf: add a ksym BPF iterator"). That is
 * a third of the work of parsing the text. It hides addresses exactly when the text does. Needs CAP_BPF and
 * CAP_PERFMON, and no lockdown that forbids reading kernel memory.
 * Return: 0, or -errno after any irregularity; then @recs is unusable.
 */
int ksymiter_read(struct strbuf *recs, const struct kbtf *kb);

/*
 * ksymiter_accept - check the program's output and turn it into records.
 *
 * The symbols are numbered, and a mark follows the last one, so a missing one is noticed.
 * Return: 0, or -EIO when they are not exactly all symbols.
 */
int ksymiter_accept(struct strbuf *recs);

#endif
