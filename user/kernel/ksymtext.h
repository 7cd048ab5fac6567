#ifndef NFG_KERNEL_KSYMTEXT_H
#define NFG_KERNEL_KSYMTEXT_H

#include "base/strbuf.h"

/*
 * ksymtext_read - the symbols of a file in the form of /proc/kallsyms or System.map, appended as records (ksymrec.h).
 *
 * Addresses have sixteen digits. What is no symbol is passed over, as are names of more than 2,039 bytes.
 * Return: 0 or -errno; then @recs is of no use.
 */
int ksymtext_read(struct strbuf *recs, const char *path);

#endif
