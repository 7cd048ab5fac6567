#ifndef NFG_OPTIONS_STAGEOPTS_H
#define NFG_OPTIONS_STAGEOPTS_H

#include "options/opts.h"

/*
 * stageopts_settle - latency --by stage: what it needs to know of calls, and of which functions; nothing without it.
 *
 * Return: NULL, or the complaint.
 */
const char *stageopts_settle(struct opts *opts);

#endif
