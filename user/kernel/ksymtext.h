#ifndef NFG_KERNEL_KSYMTEXT_H
#define NFG_KERNEL_KSYMTEXT_H

#include "base/strbuf.h"

/*
 * ksymtext_read - append the symbols of a file in the format of /proc/kallsyms or System.map as records (ksymrec.h).
 *
 * Addresses have sixteen digits. Lines that are not symbols and names longer than 2,039 bytes are skipped. Return: 0,
 * or -errno, after which @recs is unusable.
 */
int ksymtext_read(struct strbuf *recs, const char *path);

#endif
