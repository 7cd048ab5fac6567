#ifndef NFG_OPTIONS_COMMGLOB_H
#define NFG_OPTIONS_COMMGLOB_H

#include "nfg_abi.h"

#define COMMGLOB_PATTERN_MAX 255

/*
 * commglob_make - translate @pattern, of at most COMMGLOB_PATTERN_MAX bytes, for the program that exec runs.
 *
 * It then selects the names that taskfilter_has_comm does with TASKFILTER_COMM_BYTES.
 */
void commglob_make(struct nfg_comm_glob *glob, const char *pattern);

#endif
