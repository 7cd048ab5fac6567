#ifndef NFG_OPTIONS_STAGEOPTS_H
#define NFG_OPTIONS_STAGEOPTS_H

#include "options/opts.h"

/*
 * stageopts_settle - set the values and functions that latency --by stage needs; no effect without it.
 *
 * Return: NULL, or the complaint.
 */
const char *stageopts_settle(struct opts *opts);

#endif
